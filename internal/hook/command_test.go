package hook

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stubborn leaves the session of its parent, ignores the request to end, and goes on for
// ever. Its process id is in the file "pid" when the command behind it runs.
const stubborn = `mkfifo up; setsid sh -c 'trap "" TERM HUP INT; echo $$ > pid; : > up; while :; do sleep 1000; done' & : < up; `

func needSetsid(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
}

// expectDead checks that the process whose id is in the file is gone.
func expectDead(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(text))
	if _, err := strconv.Atoi(pid); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	state, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output() // it fails if there is none
	if s := strings.TrimSpace(string(state)); s != "" && s[0] != 'Z' {
		t.Errorf("the process %s is alive, in state %s", pid, s)
	}
}

func TestFireEndsTheTree(t *testing.T) {
	t.Parallel()
	needSetsid(t)
	const atLimit = "hook UserPromptSubmit (hooks.json:3:5): ended at its time limit of 500ms"
	cases := []struct {
		command string
		limit   time.Duration
		want    []string
		lines   []string
	}{
		{"sleep 1000", 500 * time.Millisecond, nil, []string{atLimit}},
		{"sleep 1000 | cat", 500 * time.Millisecond, nil, []string{atLimit}},
		{"echo hello", time.Minute, []string{"hello"}, nil},
		{"exec >&- 2>&- <&-", time.Minute, nil, nil},
	}
	// All at once, since each takes the whole grace.
	var all sync.WaitGroup
	said := make([]told, len(cases))
	dirs := make([]string, len(cases))
	outs := make([]Outcome, len(cases))
	for i, c := range cases {
		o := options(t, &said[i])
		dirs[i] = o.Dir
		h := sh(UserPromptSubmit, stubborn+c.command)
		h.Timeout = c.limit
		r := runner(t, o, h)
		all.Go(func() { outs[i] = r.Fire(t.Context(), UserPromptSubmit, "", nil, nil) })
	}
	all.Wait()
	for i, c := range cases {
		expectDead(t, filepath.Join(dirs[i], "pid"))
		if diff := cmp.Diff(Outcome{Context: c.want}, outs[i]); diff != "" {
			t.Errorf("%s: outcome: %s", c.command, diff)
		}
		if diff := cmp.Diff(c.lines, said[i].all()); diff != "" {
			t.Errorf("%s: told: %s", c.command, diff)
		}
	}
}

// A person who gives up is not told what they know, and leaves nothing running.
func TestCancel(t *testing.T) {
	t.Parallel()
	needSetsid(t)
	var said told
	o := options(t, &said)
	running := fifo(t, filepath.Join(o.Dir, "running"))
	r := runner(t, o, sh(PreToolUse, stubborn+": > running; sleep 1000"))
	ctx, cancel := context.WithCancel(t.Context())
	fired := make(chan Outcome, 1)
	go func() { fired <- r.Fire(ctx, PreToolUse, "Bash", nil, nil) }()
	running()
	cancel()
	if diff := cmp.Diff(Outcome{}, <-fired); diff != "" || len(said.all()) > 0 {
		t.Errorf("outcome %s, told %q", diff, said.all())
	}
	expectDead(t, filepath.Join(o.Dir, "pid"))

	started := r.Fire(ctx, PreToolUse, "Bash", nil, nil)
	if diff := cmp.Diff(Outcome{}, started); diff != "" {
		t.Errorf("fired after it was cancelled: %s", diff)
	}
}

// fifo makes a named pipe. wait returns when somebody has opened it to write.
func fifo(t *testing.T, path string) (wait func()) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if _, err := os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A hook need not read what it is told, may read only some, and gets all if it wants.
func TestLongInput(t *testing.T) {
	t.Parallel()
	input := map[string]any{"prompt": strings.Repeat("0123456789", 500_000)}
	for command, want := range map[string]string{
		"echo done":                    "done",
		"exec <&-; echo done":          "done",
		"head -c 100 | wc -c":          "100",
		"wc -c":                        "5000", // and more
		"sleep 1000 < /dev/null & : &": "",
		"sleep 1000 & echo done":       "done", // it holds the pipe
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var said told
			out := runner(t, options(t, &said), sh(UserPromptSubmit, command)).Fire(t.Context(), UserPromptSubmit, "", input, nil)
			if got := strings.Join(out.Context, ""); !strings.HasPrefix(strings.TrimSpace(got), want) || len(said.all()) > 0 {
				t.Errorf("context %q, want %q; told %q", got, want, said.all())
			}
		})
	}
}

const flood = `head -c 20000000 /dev/zero | tr '\0' x; `

func TestFloodOfOutput(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	out := runner(t, o, sh(UserPromptSubmit, flood)).Fire(t.Context(), UserPromptSubmit, "", nil, nil)
	if len(out.Context) != 1 || len(out.Context[0]) > previewLimit+500 || len(said.all()) > 0 {
		t.Fatalf("context %.3000q, told %q", out.Context, said.all())
	}
	_, file, _ := strings.Cut(out.Context[0], "read the whole in ")
	info, err := os.Stat(strings.TrimSuffix(file, "]"))
	if err != nil || info.Size() != 20_000_000 || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the output: %v, %v", info, err)
	}
}

// What nobody will read is not kept.
func TestFloodThatIsNoAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event   Event
		command string
		spill   bool
		told    string
	}{
		"of a call":        {PreToolUse, flood, true, "is not used: that is too much for an answer"},
		"like JSON":        {UserPromptSubmit, "printf '{'; " + flood, true, "too much for an answer"},
		"of a failure":     {UserPromptSubmit, flood + "exit 1", true, "exit code 1"},
		"without a folder": {UserPromptSubmit, flood, false, "is not used: the output is longer than its limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said told
			o := options(t, &said)
			folder := o.Spill
			if !c.spill {
				o.Spill = ""
			}
			out := runner(t, o, sh(c.event, c.command)).Fire(t.Context(), c.event, "", nil, nil)
			if diff := cmp.Diff(Outcome{}, out); diff != "" {
				t.Error(diff)
			}
			if lines := strings.Join(said.all(), "\n"); !strings.Contains(lines, c.told) {
				t.Errorf("told %q, want %q", lines, c.told)
			}
			if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
				t.Errorf("left in the folder: %v, %v", left, err)
			}
		})
	}
}

func TestFloodOfErrors(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	command := "{ echo beginning; " + flood + "echo; echo the end; } >&2; " + flood + "exit 2"
	out := runner(t, o, sh(PreToolUse, command)).Fire(t.Context(), PreToolUse, "", nil, nil)
	if !out.Blocked || !strings.HasPrefix(out.Block, "beginning\n") || len(out.Block) > textLimit {
		t.Fatalf("blocked %v: %.200q", out.Blocked, out.Block)
	}
	_, file, _ := strings.Cut(out.Block, "read the whole in ")
	whole, err := os.ReadFile(strings.TrimSuffix(file, "]"))
	if err != nil || !strings.HasSuffix(string(whole), "\nthe end") || len(whole) > 3*errorLimit {
		t.Errorf("the file of the errors has %d bytes and ends with %q, %v", len(whole), whole[max(0, len(whole)-20):], err)
	}
}

func TestCommandsThatCannotStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hook Hook
		dir  string
		told string
	}{
		"program":  {Hook{Command: "no-such-program-here", Args: []string{}}, "", `there is no program "no-such-program-here"`},
		"path":     {Hook{Command: "./none", Args: []string{}}, "", "none"},
		"folder":   {Hook{Command: "true"}, "/no/such/folder", "working directory"},
		"too long": {Hook{Command: strings.Repeat("x", 4<<20)}, "", "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said told
			o := options(t, &said)
			if c.dir != "" {
				o.Dir = c.dir
			}
			c.hook.Event, c.hook.Kind = PreToolUse, Command
			out := runner(t, o, c.hook).Fire(t.Context(), PreToolUse, "", nil, nil)
			if lines := said.all(); out.Blocked || len(lines) != 1 || !strings.Contains(lines[0], c.told) {
				t.Errorf("blocked %v, told %q, want %q", out.Blocked, lines, c.told)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	at := func(seconds float64) *entry {
		return &entry{Hook: Hook{Event: SessionEnd, Timeout: time.Duration(seconds * float64(time.Second))}}
	}
	for _, c := range []struct {
		event Event
		hooks []*entry
		want  time.Duration
	}{
		{Stop, []*entry{at(1)}, longest},
		{SessionEnd, []*entry{at(0)}, 1500 * time.Millisecond},
		{SessionEnd, []*entry{at(1), at(0)}, 1500 * time.Millisecond},
		{SessionEnd, []*entry{at(1), at(5)}, 5 * time.Second},
		{SessionEnd, []*entry{at(500)}, time.Minute},
	} {
		if got := limits(c.event, c.hooks); got != c.want {
			t.Errorf("limits(%s) = %v, want %v", c.event, got, c.want)
		}
	}
	for _, c := range []struct {
		hook Hook
		want time.Duration
	}{
		{Hook{Kind: Command, Event: Stop}, 10 * time.Minute},
		{Hook{Kind: Prompt, Event: Stop}, 30 * time.Second},
		{Hook{Kind: Command, Event: UserPromptSubmit}, 30 * time.Second},
		{Hook{Kind: Prompt, Event: Stop, Timeout: time.Hour}, time.Hour},
	} {
		if got := c.hook.limit(); got != c.want {
			t.Errorf("limit of %s at %s = %v, want %v", c.hook.Kind, c.hook.Event, got, c.want)
		}
	}
}

func TestSpillThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := NewRunner(Options{Spill: file}, nil)
	if got := r.readable(strings.Repeat("ä", 3*textLimit)); len([]rune(got)) > textLimit || !strings.HasSuffix(got, "[… cut off: 30000 characters in all]") {
		t.Errorf("a long text without a folder ends with %q", got[max(0, len(got)-60):])
	}
	if _, err := r.keep("x"); !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("keep in a file: %v", err)
	}
}
