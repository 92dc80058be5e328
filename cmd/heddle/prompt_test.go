package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A prompt on standard input may have 10 MB and not a byte more: a part of it is none.
func TestPromptHasALimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "prompt")
	for _, c := range []struct {
		size int
		ok   bool
	}{{limitInput, true}, {limitInput + 1, false}} {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", c.size)), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readPrompt([]string{"look:"}, in, io.Discard)
		in.Close()
		var usage usageError
		switch {
		case c.ok && (err != nil || len(got) != len("look:\n\n")+c.size):
			t.Errorf("%d bytes: a prompt of %d bytes, %v", c.size, len(got), err)
		case !c.ok && (!errors.As(err, &usage) || !strings.Contains(err.Error(), "10 MB")):
			t.Errorf("%d bytes: %v", c.size, err)
		}
	}
}
