package search

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ripgrep answers q with the program at rg. Its parallel order does not matter:
// the collector sorts.
func ripgrep(ctx context.Context, rg string, q Query, pattern string, names *filter, globs []string, c *collector) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, rg, arguments(q, pattern, globs)...)
	cmd.Dir = q.Root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	var complaint bytes.Buffer
	cmd.Stderr = &limitedWriter{&complaint, 4 << 10}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	take := func(f File) {
		rel := filepath.ToSlash(filepath.Clean(f.Path))
		if names.takes(rel) {
			f.Path = filepath.Join(q.Root, rel)
			c.add(f)
		}
	}
	parseErr := parse(q, bufio.NewReaderSize(out, 64<<10), take)
	if parseErr != nil {
		cancel()
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 1 || exit.ExitCode() == 2 && complaint.Len() == 0) {
		err = nil // nothing found; or some files could not be read
	}
	return errors.Join(parseErr, err)
}

func arguments(q Query, pattern string, globs []string) []string {
	args := []string{"--no-config", "--no-messages", "--hidden", "--glob=!.git", "--no-require-git",
		"--no-ignore-global", "--no-ignore-exclude", "--no-ignore-dot", "--crlf",
		"--max-filesize=" + strconv.Itoa(fileLimit), "--color=never"}
	if _, ok := checkout(q.Root); !ok {
		args = append(args, "--no-ignore-parent")
	}
	for i, g := range globs {
		if i == 0 {
			args = append(args, "--type=wanted")
		}
		args = append(args, "--type-add=wanted:"+g)
	}
	switch q.Mode {
	case Files:
		args = append(args, "--files-with-matches", "--null")
	case Counts:
		args = append(args, "--count", "--null")
	default:
		args = append(args, "--json")
		if q.Limit > 0 {
			args = append(args, "--max-count="+strconv.Itoa(q.Limit+1))
		}
		if !q.OnlyMatch {
			args = append(args, "--before-context="+strconv.Itoa(q.Before), "--after-context="+strconv.Itoa(q.After))
		}
	}
	if q.Mode == Lines && !q.OnlyMatch {
		// One match to a line, however often it matches: each is reported.
		pattern = "(?:" + pattern + ").*"
	}
	return append(args, "--regexp="+pattern, "--", ".")
}

func parse(q Query, r *bufio.Reader, take func(File)) error {
	switch q.Mode {
	case Files:
		return parseFiles(r, take)
	case Counts:
		return parseCounts(r, take)
	default:
		return parseJSON(q, r, take)
	}
}

func parseFiles(r *bufio.Reader, take func(File)) error {
	for {
		name, err := r.ReadString(0)
		if err == io.EOF && name == "" {
			return nil
		}
		if err != nil {
			return err
		}
		take(File{Path: strings.TrimSuffix(name, "\x00"), Count: 1})
	}
}

func parseCounts(r *bufio.Reader, take func(File)) error {
	for {
		name, err := r.ReadString(0)
		if err == io.EOF && name == "" {
			return nil
		}
		if err != nil {
			return err
		}
		count, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSpace(count))
		if err != nil {
			return err
		}
		take(File{Path: strings.TrimSuffix(name, "\x00"), Count: n})
	}
}

// event is a line of ripgrep's JSON output.
type event struct {
	Type string `json:"type"`
	Data struct {
		Path       rgText `json:"path"`
		Lines      rgText `json:"lines"`
		Number     int    `json:"line_number"`
		Submatches []struct {
			Match rgText `json:"match"`
		} `json:"submatches"`
		BinaryOffset *int `json:"binary_offset"`
	} `json:"data"`
}

// rgText is text, or what is not valid UTF-8 as base64.
type rgText struct {
	Text  string `json:"text"`
	Bytes []byte `json:"bytes"`
}

func (t rgText) String() string {
	if t.Bytes != nil {
		return string(t.Bytes)
	}
	return t.Text
}

func parseJSON(q Query, r io.Reader, take func(File)) error {
	dec := json.NewDecoder(r)
	var f File
	for {
		var e event
		err := dec.Decode(&e)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("output of ripgrep: %w", err)
		}
		switch e.Type {
		case "begin":
			f = File{Path: e.Data.Path.String()}
		case "context", "match":
			f.take(e, q)
		case "end":
			if e.Data.BinaryOffset == nil && len(f.Lines) > 0 {
				take(f)
			}
		}
	}
}

// take adds the lines of an event.
func (f *File) take(e event, q Query) {
	context := e.Type == "context"
	if !context {
		f.Count++
	}
	if q.OnlyMatch {
		for _, m := range e.Data.Submatches {
			if text := strings.TrimRight(m.Match.String(), "\r\n"); text != "" {
				f.Lines = append(f.Lines, Line{Number: e.Data.Number, Text: clean(text)})
			}
		}
		return
	}
	l := Line{Number: e.Data.Number, Text: clean(e.Data.Lines.String()), Context: context}
	if n := len(f.Lines); n > 0 {
		l.Gap = l.Number > f.Lines[n-1].Number+1
	}
	f.Lines = append(f.Lines, l)
}

// limitedWriter keeps the first bytes and drops the rest.
type limitedWriter struct {
	buf  *bytes.Buffer
	left int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	n := min(w.left, len(p))
	w.buf.Write(p[:n])
	w.left -= n
	return len(p), nil
}
