package hook

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"heddle/internal/config"
	"heddle/internal/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(adopted{m}) }

// adopted runs the tests in a program that adopts orphans.
type adopted struct{ m *testing.M }

func (a adopted) Run() int {
	release, err := process.Adopt()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer release()
	return a.m.Run()
}

// told collects what a person is told.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (t *told) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
}

func (t *told) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// options are what most tests need.
func options(t testing.TB, told *told) Options {
	return Options{
		Session: "s1", Dir: t.TempDir(), Project: "/the project", Transcript: "/t.jsonl",
		Spill: t.TempDir(), Mode: func() string { return "default" }, Tell: told.add,
	}
}

// runner returns a runner of hooks, which is closed with the test.
func runner(t testing.TB, o Options, hooks ...Hook) *Runner {
	r := NewRunner(o, hooks)
	t.Cleanup(func() { r.Close(context.WithoutCancel(t.Context())) })
	return r
}

// sh is a hook that is a shell command.
func sh(e Event, command string) Hook {
	return Hook{Event: e, Kind: Command, Command: command, Origin: config.Origin{File: "hooks.json", Line: 3, Column: 5}}
}

// layers reads settings of a test.
func layers(t testing.TB, text string) *config.Layers {
	t.Helper()
	l, err := config.Text(config.Project, "hooks.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}
