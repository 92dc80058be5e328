package builtin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPageRange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in          string
		first, last int
		ok          bool
	}{
		{"", 1, pdfPages, true}, {"3", 3, 3, true}, {" 2 - 5 ", 2, 5, true},
		{"0", 0, 0, false}, {"5-2", 0, 0, false}, {"a", 0, 0, false}, {"1-", 0, 0, false}, {"-3", 0, 0, false}, {"1;rm", 0, 0, false},
	} {
		first, last, err := pageRange(c.in)
		if first != c.first || last != c.last || (err == nil) != c.ok {
			t.Errorf("pageRange(%q) = %d, %d, %v", c.in, first, last, err)
		}
	}
}

// fakeProgram stands in for pdftotext.
func fakeProgram(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pdftotext")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPDFText(t *testing.T) {
	t.Parallel()
	text, err := pdfText(t.Context(), fakeProgram(t, `printf 'one\fargs %s\f' "$*"`), "/x y.pdf", 2, 3)
	if err != nil || text != "one\fargs -q -enc UTF-8 -f 2 -l 3 /x y.pdf -\f" {
		t.Errorf("pdfText = %q, %v", text, err)
	}
	if got := pagesOf(text, 2, false); !strings.HasPrefix(got, "--- page 2\none\n--- page 3\nargs") {
		t.Errorf("pagesOf = %q", got)
	}
	if got := pagesOf("\f\f", 1, false); !strings.Contains(got, "no text") {
		t.Errorf("pagesOf(empty) = %q", got)
	}
	if _, err := pdfText(t.Context(), fakeProgram(t, "echo 'Syntax Error: bad' >&2; exit 1"), "/x", 1, 1); err == nil || !strings.Contains(err.Error(), "Syntax Error: bad") {
		t.Errorf("a damaged file: %v", err)
	}
	if text, err := pdfText(t.Context(), fakeProgram(t, "yes"), "/x", 1, 1); err != nil || !strings.Contains(text, "Cut here") || len(text) > 2*textLimit {
		t.Errorf("endless text: %d bytes, %v", len(text), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pdfText(ctx, fakeProgram(t, "exec sleep 60"), "/x", 1, 1); err == nil {
		t.Error("a cancelled call gave text")
	}
}
