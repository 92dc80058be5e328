package shell

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"heddle/internal/task"
	"heddle/internal/task/tasktest"
)

// Each silence that looks like a question is told once, with what was asked and what to
// do; other silences are not.
func TestStallIsToldOnce(t *testing.T) {
	t.Parallel()
	rt, rec := tasktest.NewRuntime(t)
	say := make(chan string)
	tk, err := rt.Start(task.Spec{Kind: task.LocalBash, Background: true, Description: "install"},
		task.RunnerFunc(func(ctx context.Context, t *task.Task) error {
			for {
				select {
				case s := <-say:
					fmt.Fprint(t.Output, s)
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{}
	size := int64(0)
	print := func(s string) {
		say <- s
		say <- "" // the first is written by now
		size += int64(len(s))
	}
	look := func(quiet time.Duration) (news []task.Notification) {
		before := len(rec.All())
		r.Quiet(tk, size, quiet)
		return rec.All()[before:]
	}
	if n := look(time.Hour); len(n) != 0 {
		t.Errorf("nothing was printed: %+v", n)
	}
	print("Unpacking...\n")
	if n := look(time.Hour); len(n) != 0 {
		t.Errorf("no question: %+v", n)
	}
	print("\x1b[1mOverwrite config? [y/N]\x1b[0m ")
	if n := look(44 * time.Second); len(n) != 0 {
		t.Errorf("too soon: %+v", n)
	}
	n := look(46 * time.Second)
	if len(n) != 1 || n[0].Priority != task.Next || n[0].Data != "Overwrite config? [y/N]" || !strings.Contains(n[0].Text, "a confirmation") || n[0].ID() != "" {
		t.Errorf("told %+v", n)
	}
	if n := look(time.Hour); len(n) != 0 {
		t.Errorf("the same silence again: %+v", n)
	}
	print("n\nPassword: ")
	if n := look(time.Minute); len(n) != 1 || !strings.Contains(n[0].Text, "a password") {
		t.Errorf("another question: %+v", n)
	}
}
