// Package definition reads Markdown files that begin with YAML front matter, as people
// write them for skills, commands and agents. It knows no keys: packages ask for what
// they need, with the type that they need.
//
// Slips that leave no doubt about what was meant cost a warning; anything else is an
// error. Both name the line of the file.
package definition

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"heddle/internal/config"
)

const (
	// MaxSize is how many bytes a file may have.
	MaxSize = 1 << 20
	// maxFront is how many bytes its front matter may have: YAML is read in more than
	// linear time.
	maxFront = 64 << 10
)

// File is one Markdown definition. It does not change.
type File struct {
	Path  string
	Layer config.Layer
	// Body is what stands below the front matter, with line ends as \n and without
	// empty lines at its beginning and end. BodyLine is the line of the file that it
	// begins in.
	Body     string
	BodyLine int
	// Warnings are what was read otherwise than it is written.
	Warnings []*config.Problem

	entries []entry
	byKey   map[string]*entry // by canonical key
}

// Read reads one file like [Parse]. What is not a regular file is not read: it could
// block for ever.
func Read(layer config.Layer, path string) (*File, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, &config.Problem{Origin: config.Origin{Layer: layer, File: path}, Text: "cannot read it: " + reason(err)}
	}
	return Parse(layer, path, text)
}

// Parse reads text as the content of a file; path names it in messages. The error is a
// [*config.Problem].
func Parse(layer config.Layer, path string, text []byte) (*File, error) {
	r := &reader{layer: layer, path: path}
	if err := r.check(text); err != nil {
		return nil, err
	}
	front, body, bodyLine, err := r.split(lines(text))
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, Layer: layer, Body: body, BodyLine: bodyLine, byKey: map[string]*entry{}}
	if f.entries, err = r.front(front); err != nil {
		return nil, err
	}
	f.index(r)
	f.Warnings = r.warnings
	return f, nil
}

// index drops entries whose key was there before in another spelling.
func (f *File) index(r *reader) {
	kept := f.entries[:0]
	for _, e := range f.entries {
		if first, ok := f.byKey[canonical(e.key)]; ok {
			r.again(e, first.line)
			continue
		}
		kept = append(kept, e)
		f.byKey[canonical(e.key)] = &e
	}
	f.entries = kept
}

// reader collects what there is to say about one file.
type reader struct {
	layer    config.Layer
	path     string
	warnings []*config.Problem
}

func (r *reader) problem(line, column int, format string, args ...any) *config.Problem {
	at := config.Origin{Layer: r.layer, File: r.path, Line: line, Column: max(column, 1)}
	return &config.Problem{Origin: at, Text: fmt.Sprintf(format, args...)}
}

func (r *reader) warn(line, column int, format string, args ...any) {
	r.warnings = append(r.warnings, r.problem(line, column, format, args...))
}

// again warns of a key that was set before.
func (r *reader) again(e entry, first int) {
	r.warn(e.line, e.column, "%s: is set already in line %d, which counts: remove one of them", e.key, first)
}

// check finds what no text file has.
func (r *reader) check(text []byte) error {
	if len(text) > MaxSize {
		return r.problem(1, 1, "the file is larger than %d MiB", MaxSize>>20)
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return r.problem(lineAt(text, i), 1, "the file holds a NUL byte, so it is not text")
	}
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		if c == utf8.RuneError && size == 1 {
			return r.problem(lineAt(text, i), 1, "the file is not valid UTF-8: save it as UTF-8")
		}
		i += size
	}
	return nil
}

func lineAt(text []byte, i int) int { return len(lines(text[:i])) }

// lines splits text at line ends of any system. There is always at least one line.
func lines(text []byte) []string {
	s := strings.TrimPrefix(string(text), "\ufeff")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(s, "\r", "\n"), "\n")
}

// split finds the front matter, which is nil if there is none. Its first line is the
// second of the file.
func (r *reader) split(all []string) (front []string, body string, bodyLine int, err error) {
	rest := 0
	if fence(all[0]) {
		end := 1
		for end < len(all) && !fence(all[end]) {
			end++
		}
		if end == len(all) {
			return nil, "", 0, r.problem(1, 1, "the front matter that begins here has no end: add a line --- after it")
		}
		front, rest = all[1:end], end+1
	}
	for rest < len(all) && blank(all[rest]) {
		rest++
	}
	body = strings.TrimRight(strings.Join(all[min(rest, len(all)):], "\n"), " \t\n")
	return front, body, rest + 1, nil
}

func fence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

func blank(line string) bool { return strings.Trim(line, " \t") == "" }

func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("expected a regular file")
	}
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

// reason is err without the name of the file, which stands before it.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
