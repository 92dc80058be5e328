package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"heddle/internal/tool"
)

const (
	textLimit    = 10_000 // characters of one text for the model
	previewLimit = 2_000  // of them, if the rest is in a file
	tellLimit    = 500    // characters of what a person is told

	noReason = "blocked by a hook"
)

// Wrap returns text of a hook as a model may read it. Nothing in it can end the wrapping
// or pass for another part of the conversation.
func Wrap(e Event, text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	return fmt.Sprintf("<hook event=\"%s\">\n%s\n</hook>", e, strings.Trim(text, "\n"))
}

// spill makes sure of the folder for what is too long, and returns it.
func (r *Runner) spill() (string, error) {
	if r.o.Spill == "" {
		return "", errors.New("there is no folder for it")
	}
	return r.o.Spill, os.MkdirAll(r.o.Spill, 0o700)
}

// readable makes text fit for a model: plain, and its whole in a file if it is too long.
func (r *Runner) readable(text string) string {
	text = strings.TrimSpace(tool.Plain([]byte(text)))
	count := utf8.RuneCountInString(text)
	if count <= textLimit {
		return text
	}
	file, err := r.keep(text)
	if err != nil {
		return first(text, textLimit-100) + fmt.Sprintf("\n[… cut off: %d characters in all]", count)
	}
	return preview(text, fmt.Sprintf("%d characters", count), file)
}

// preview is the beginning of a text that is in a file.
func preview(text, size, file string) string {
	return first(text, previewLimit) + fmt.Sprintf("\n[… %s in all: read the whole in %s]", size, file)
}

// keep writes text to a file of its own.
func (r *Runner) keep(text string) (string, error) {
	folder, err := r.spill()
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(folder, "hook-*.txt")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("keep %s: %w", filepath.Base(f.Name()), err)
	}
	return f.Name(), nil
}

// first returns at most n characters from the beginning.
func first(text string, n int) string {
	count := 0
	for i := range text {
		if count == n {
			return text[:i]
		}
		count++
	}
	return text
}

// oneLine is the first line that says something, for a person.
func oneLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(tool.Plain([]byte(first(strings.TrimSpace(text), 4*tellLimit)))), "\n")
	if cut := first(line, tellLimit); cut != line {
		return cut + "…"
	}
	return line
}

// tell tells the person something about a hook.
func (r *Runner) tell(h Hook, format string, args ...any) {
	if r.o.Tell != nil {
		r.o.Tell(h.name() + ": " + oneLine(fmt.Sprintf(format, args...)))
	}
}

// tidy makes all texts of o fit for who reads them.
func (r *Runner) tidy(o *Outcome) {
	for i := range o.Context {
		o.Context[i] = r.readable(o.Context[i])
	}
	o.Context = slices.DeleteFunc(o.Context, func(s string) bool { return s == "" })
	for i := range o.Messages {
		o.Messages[i] = first(tool.Plain([]byte(o.Messages[i])), textLimit)
	}
	same := o.Block == o.Reason
	for _, text := range []*string{&o.Block, &o.StopReason, &o.FirstPrompt} {
		*text = r.readable(*text)
	}
	if o.Blocked && o.Block == "" {
		o.Block = noReason
	}
	if o.Reason = r.readable(o.Reason); same {
		o.Reason = o.Block
	}
	o.Title = oneLine(o.Title)
	if o.Permission != nil {
		o.Permission.Message = r.readable(o.Permission.Message)
	}
	var output string
	if o.UpdatedOutput != nil && json.Unmarshal(o.UpdatedOutput, &output) == nil {
		o.UpdatedOutput, _ = json.Marshal(r.readable(output)) // a string always can be
	}
}
