package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"heddle/internal/tool"
)

// The text of a PDF comes from pdftotext, of Poppler. The libraries that could do
// it here cost every start of heddle more than the rest of it together.
const (
	pdfTime   = 20 * time.Second // for one call
	pdfPages  = 20               // pages of one call, unless pages says which
	pagesHint = `Say which pages to read, for example pages "1-5".`
)

// readPDF gives the text of the pages that were asked for. real is the path of a
// regular file, absolute.
func readPDF(ctx context.Context, real string, in readInput) (tool.Result, error) {
	program, err := exec.LookPath("pdftotext")
	if err != nil {
		return tool.Result{}, refuse("%s is a PDF file. Reading its text needs the program pdftotext (package poppler-utils), which is not installed. Ask the user to install it.", show(in.path))
	}
	first, last, err := pageRange(in.Pages)
	if err != nil {
		return tool.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, pdfTime)
	defer cancel()
	text, err := pdfText(ctx, program, real, first, last)
	if err != nil {
		return tool.Result{}, refuse("%s: its text could not be read: %v.", show(in.path), err)
	}
	return tool.Text(pagesOf(text, first, in.Pages == "")), nil
}

// pdfText runs pdftotext, and stops reading when there is enough.
func pdfText(ctx context.Context, program, real string, first, last int) (string, error) {
	cmd := exec.CommandContext(ctx, program, "-q", "-enc", "UTF-8", "-f", strconv.Itoa(first), "-l", strconv.Itoa(last), real, "-")
	out := &limitedBuffer{left: textLimit}
	var problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &problem
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case out.left <= 0:
		return out.text.String() + "\n[Cut here. Read fewer pages at once.]\n", nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("it took longer than %v", pdfTime)
	case err != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(problem.String()), "\n")
		return "", fmt.Errorf("pdftotext: %w %s", err, line)
	}
	return out.text.String(), nil
}

// limitedBuffer takes so many bytes and then fails, which ends the program that
// writes. It must not be a [bytes.Buffer] itself: that would be filled past us.
type limitedBuffer struct {
	text strings.Builder
	left int
}

var errFull = errors.New("enough")

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left <= 0 {
		return 0, errFull
	}
	return b.text.Write(p)
}

// pagesOf numbers the pages, which a form feed ends.
func pagesOf(text string, first int, unasked bool) string {
	pages := strings.Split(strings.TrimSuffix(strings.ToValidUTF8(text, "\uFFFD"), "\f"), "\f")
	var b strings.Builder
	empty := true
	for i, page := range pages {
		empty = empty && strings.TrimSpace(page) == ""
		fmt.Fprintf(&b, "--- page %d\n%s\n", first+i, strings.TrimRight(page, "\n"))
	}
	if empty {
		return "These pages hold no text; they may be scanned pictures, or not be there."
	}
	if unasked && len(pages) == pdfPages {
		fmt.Fprintf(&b, "[There may be more pages. %s]\n", pagesHint)
	}
	return b.String()
}

// pageRange reads "3" or "2-5"; without a range it is the first pages.
func pageRange(s string) (first, last int, err error) {
	if s = strings.TrimSpace(s); s == "" {
		return 1, pdfPages, nil
	}
	from, to, isRange := strings.Cut(s, "-")
	first, err = strconv.Atoi(strings.TrimSpace(from))
	last = first
	if err == nil && isRange {
		last, err = strconv.Atoi(strings.TrimSpace(to))
	}
	if err != nil || first < 1 || last < first {
		return 0, 0, refuse("pages %q is not a range of pages. %s", s, pagesHint)
	}
	return first, last, nil
}
