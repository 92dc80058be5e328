package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/internal/message"
	"heddle/internal/task"
	"heddle/internal/task/shell"
	"heddle/internal/task/tasktest"
	"heddle/internal/tool"
)

func newBash(t testing.TB) tool.Tool {
	rt, _ := tasktest.NewRuntime(t)
	return Bash(BashOptions{Tasks: rt, Env: func() []string {
		return shell.Environment(os.Environ(), []string{"ANTHROPIC_API_KEY"}, nil)
	}})
}

func TestBashSaysHowItEnded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command, want string
		isError       bool
	}{
		{"echo a; echo b >&2", "a\nb", false},
		{"true", "(no output)", false},
		{"echo", "(no output)", false},
		{"printf '\\n  a\\n\\n'", "\n  a\n", false},
		{"echo a; exit 3", "a\nExit code 3", true},
		{"exit 3", "(no output)\nExit code 3", true},
		{"false", "(no output)\nExit code 1", true},
		{"kill -KILL $$", "(no output)\nEnded by signal: killed", true},
		{"kill -TERM 0", "(no output)\nEnded by signal: terminated", true},
		// Standard input is empty: nothing waits for it.
		{"cat; read x; echo rc=$?", "rc=1", false},
		// What a program redraws is shown as it stood at the end.
		{`for i in $(seq 500); do printf '\rp %d' $i; done; echo; echo done; printf 'a\r\nb\r\n'; printf '\033]0;x\007\033[2J'`, "p 500\ndone\na\nb", false},
		{`printf 'a\377\376\000b\n'`, "a\uFFFD\uFFFDb", false},
		{"grep x /dev/null", "(no output)\nExit code 1 (no match)", false},
		{"diff <(echo a) <(echo b)", "1c1\n< a\n---\n> b\nExit code 1 (there are differences)", false},
		{"grep -c 'a|b' /nonexistent", "grep: /nonexistent: No such file or directory\nExit code 2", true},
	} {
		t.Run(tt.command, func(t *testing.T) {
			t.Parallel()
			r := newBench(t).call(newBash(t), args{"command": tt.command})
			if got := textOf(r); got != tt.want || r.IsError != tt.isError {
				t.Errorf("got %q (error: %v), want %q (error: %v)", got, r.IsError, tt.want, tt.isError)
			}
		})
	}
}

func TestMeaningOfExitCodeOne(t *testing.T) {
	t.Parallel()
	for command, known := range map[string]bool{
		"grep x f": true, "grep -E 'a|b;c' f": true, "/usr/bin/grep x f": true, "LC_ALL=C grep x f": true, "rg x": true, "egrep x f": true, "fgrep x f": true,
		"find . -name x": true, "diff a b": true, "test -f x": true, "[ -f x ]": true, "git diff --quiet": true, "git grep x": true,
		"git -C dir -c a=b --no-pager diff": true, "ps aux | grep x": true, "cat f |\n grep x": true,
		"git status": false, "git": false, "git -C": false, "grep x f && make": false, "cd d; grep x f": false, "grep x f || false": false,
		"! grep x f": false, "grep x f | wc -l": false, "(grep x f)": false, "make": false, "$grep x": false, "": false, "if then": false, "grep x f &": false,
	} {
		if got := meaningOfOne(command); (got != "") != known {
			t.Errorf("meaningOfOne(%q) = %q, want one: %v", command, got, known)
		}
	}
}

func FuzzMeaningOfExitCodeOne(f *testing.F) {
	f.Add("git -C a grep x | cat <<E | diff\nE")
	f.Add("! ( [ a ]")
	f.Fuzz(func(t *testing.T, command string) {
		if meaning := meaningOfOne(command); meaning != "" && !strings.HasPrefix(meaning, "(") {
			t.Errorf("meaningOfOne(%q) = %q", command, meaning)
		}
	})
}

func TestBashRefusesBadInput(t *testing.T) {
	t.Parallel()
	b, bash := newBench(t), newBash(t)
	b.fails(bash, args{}, "command is missing")
	b.fails(bash, args{"command": " \n"}, "command is missing")
	b.fails(bash, args{"command": 7}, "command must be a string")
	b.fails(bash, args{"command": "true", "timeout": "soon"}, "timeout must be a whole number")
	b.fails(bash, args{"command": "echo \x00"}, "NUL byte")
	if _, err := bash.Effects(tool.Call{Name: "Bash", Input: json.RawMessage(`[1]`)}); err == nil {
		t.Error("effects of nonsense")
	}
	effects, err := bash.Effects(tool.Call{Name: "Bash", Input: json.RawMessage(`{"command":"ls","timeout":"5"}`)})
	if err != nil || len(effects) != 1 || effects[0] != (tool.Effect{Action: tool.Run, Target: "ls"}) {
		t.Errorf("effects = %v, %v", effects, err)
	}
}

func TestBashTimeoutIsBounded(t *testing.T) {
	t.Parallel()
	for in, want := range map[number]time.Duration{0: bashTimeout, -5: bashTimeout, 500: 500 * time.Millisecond, 3_600_000: bashTimeoutMax} {
		if got := (bashInput{Timeout: in}).limit(); got != want {
			t.Errorf("timeout %d gives %v, want %v", in, got, want)
		}
	}
}

// Where nothing may go to the background, the timeout is the end: never a success, it ends
// who does not want to end, and says what to do.
func TestBashTimeoutInTheForeground(t *testing.T) {
	t.Parallel()
	rt, _ := tasktest.NewRuntime(t)
	bash := Bash(BashOptions{Tasks: rt, Env: os.Environ, Foreground: true})
	r := newBench(t).call(bash, args{"command": "trap '' TERM; echo a; sleep 60 & wait; sleep 60", "timeout": 300, "run_in_background": true})
	text := textOf(r)
	if !r.IsError || !strings.HasPrefix(text, "a\nThe command was ended because it had not finished after 300ms.") || !strings.Contains(text, "larger timeout") {
		t.Errorf("got %q", text)
	}
	if d := r.Data.(bashData); !d.Interrupted || d.TimedOut != 300 || d.ExitCode == 0 {
		t.Errorf("data = %+v", d)
	}
}

func TestBashInterrupted(t *testing.T) {
	t.Parallel()
	b, bash := newBench(t), newBash(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	flag := b.path("started")
	go func() {
		look := time.NewTicker(time.Millisecond)
		defer look.Stop()
		for range look.C {
			if _, err := os.Stat(flag); err == nil {
				break
			}
		}
		cancel(errors.New("the user pressed Esc"))
	}()
	r := bash.Run(ctx, tool.Call{ID: "1", Name: "Bash", Scope: b.scope, Input: json.RawMessage(`{"command":"echo a; touch started; sleep 60"}`)})
	if text := textOf(r); !r.IsError || text != "a\nThe command was interrupted (stopped by user)." {
		t.Errorf("got %q", text)
	}
	if d := r.Data.(bashData); !d.Interrupted || d.TimedOut != 0 {
		t.Errorf("data = %+v", d)
	}
}

// A command that leaves a process behind is over when it exits itself; the
// process is named.
func TestBashNamesWhatIsLeftBehind(t *testing.T) {
	t.Parallel()
	b, bash := newBench(t), newBash(t)
	begin := time.Now()
	got := b.ok(bash, args{"command": "sleep 300 & echo spawned"})
	if !regexp.MustCompile(`^spawned\n1 process still running: pid \d+ sleep 300$`).MatchString(got) {
		t.Errorf("got %q", got)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	got = b.ok(bash, args{"command": "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 300 & done"})
	if !strings.Contains(got, "12 processes still running: pid ") || !strings.HasSuffix(got, "; and 2 more") {
		t.Errorf("got %q", got)
	}
}

// TestBashLongOutput: what is left out is counted exactly, and all of it can be read.
func TestBashLongOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command string
		size          int64
		note          string
	}{
		{"many lines", "seq 1 200000", 1288895, `\n\n\[… (\d+) lines omitted \((\d+) bytes\) …\]\n\n`},
		{"more than is held in memory", "seq 1 1000000", 6888896, `\n\n\[… (\d+) lines omitted \((\d+) bytes\) …\]\n\n`},
		{"one giant line", `head -c 300000 /dev/zero | tr '\0' a; echo`, 300001, `a\n\n\[… ()(\d+) bytes omitted …\]\n\na`},
		{"one giant line without an end", `head -c 300000 /dev/zero | tr '\0' a`, 300000, `a\n\n\[… ()(\d+) bytes omitted …\]\n\na`},
		{"one giant line, more than is held in memory", `head -c 3000000 /dev/zero | tr '\0' a`, 3000000, `a\n\n\[… ()(\d+) bytes omitted …\]\n\na`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newBench(t).call(newBash(t), args{"command": tt.command})
			d := r.Data.(bashData)
			m := regexp.MustCompile(tt.note).FindStringSubmatchIndex(d.Stdout)
			if m == nil {
				t.Fatalf("no note in %q", d.Stdout[len(d.Stdout)/2-100:len(d.Stdout)/2+100])
			}
			all, err := os.ReadFile(d.OutputPath)
			if err != nil || int64(len(all)) != tt.size || d.OutputSize != tt.size {
				t.Fatalf("the file holds %d bytes (%v), the result says %d, want %d", len(all), err, d.OutputSize, tt.size)
			}
			head := strings.TrimSuffix(d.Stdout[:m[0]+1], "\n")
			tail := strings.TrimPrefix(d.Stdout[m[1]-1:], "\n")
			if len(head)+len(tail) > bashOutput || !bytes.HasPrefix(all, []byte(head)) || !bytes.HasSuffix(all, []byte(tail)) {
				t.Errorf("head of %d and tail of %d bytes are not those of the file", len(head), len(tail))
			}
			missing := all[len(head) : len(all)-len(tail)]
			if m[2] < m[3] {
				missing = missing[1:] // the line end of the head
				if lines := strconv.Itoa(bytes.Count(missing, []byte("\n"))); lines != d.Stdout[m[2]:m[3]] {
					t.Errorf("%s lines are missing, not %s", lines, d.Stdout[m[2]:m[3]])
				}
			}
			if size := strconv.Itoa(len(missing)); size != d.Stdout[m[4]:m[5]] {
				t.Errorf("%s bytes are missing, not %s", size, d.Stdout[m[4]:m[5]])
			}
			if want := fmt.Sprintf("All %d bytes of it are in %s.", tt.size, d.OutputPath); !strings.Contains(textOf(r), want) {
				t.Errorf("the result does not say %q", want)
			}
		})
	}
}

func TestBashOutputIsValidTextWhateverItIs(t *testing.T) {
	t.Parallel()
	r := newBench(t).call(newBash(t), args{"command": "head -c 65536 /dev/urandom"})
	text := textOf(r)
	if clean := strings.ToValidUTF8(text, "?"); clean != text || strings.ContainsAny(text, "\x00\x1b\x07\r") {
		t.Error("the text holds bytes that are not text")
	}
	d := r.Data.(bashData)
	if info, err := os.Stat(d.RawOutputPath); err != nil || info.Size() != 65536 {
		t.Errorf("the file does not hold the bytes as they were: %v, %v", info, err)
	}
	if b, err := json.Marshal(d); err != nil || !json.Valid(b) {
		t.Errorf("data does not marshal: %v", err)
	}
}

func TestBashOutputThatIsGone(t *testing.T) {
	t.Parallel()
	rt, _ := tasktest.NewRuntime(t)
	b := newBench(t)
	dir := t.TempDir()
	bash := Bash(BashOptions{Tasks: rt, Env: func() []string { return append(os.Environ(), "SECRET="+dir) }})
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		`rm -f "$(readlink /proc/$$/fd/1)"`:                            "The output is gone",
		`o=$(readlink /proc/$$/fd/1); ln -sf "$SECRET/secret" "$o"`:    "could not be read",
		`o=$(readlink /proc/$$/fd/1); rm "$o"; mkfifo "$o"; echo made`: "not a regular file",
	} {
		if _, err := os.Stat("/proc/self/fd/1"); err != nil {
			t.Skip("there is no /proc here")
		}
		if got := textOf(b.call(bash, args{"command": command})); !strings.Contains(got, want) || strings.Contains(got, "sesame") {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

func TestBashWorkingDirectory(t *testing.T) {
	t.Parallel()
	b, bash := newBench(t), newBash(t)
	extra, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.scope.Extra = []string{extra}
	root := b.scope.Root
	for _, step := range []struct{ command, want, dir string }{
		{"mkdir -p a/b/c && cd a/b", "(no output)", root + "/a/b"},
		{"pwd; cd c; exit 0", root + "/a/b", root + "/a/b/c"},
		{"pwd; X=1; false; cd ..", root + "/a/b/c", root + "/a/b"},
		{"echo \"$X.\"", ".", root + "/a/b"},
		{"cd /", "(no output)\nThe command ended in /, outside of the project. The next one runs in " + root + "/a/b again.", root + "/a/b"},
		{"cd " + root + "; cd ..", "", root + "/a/b"},
		{"cd " + extra, "(no output)", extra},
		{"pwd; cd " + root + "/a/b/c", extra, root + "/a/b/c"},
		{"rm -rf " + root + "/a/b", "(no output)", root + "/a/b/c"},
		{"pwd", root + "/a\nThe working directory " + root + "/a/b/c is gone; the command ran in " + root + "/a.", root + "/a"},
		{"pwd", root + "/a", root + "/a"},
		{"cd " + root + "; rmdir a; mkdir z; cd z; rmdir ../z", "(no output)", root + "/a"},
		{"pwd", root + "\nThe working directory " + root + "/a is gone; the command ran in " + root + ".", root},
	} {
		got := b.ok(bash, args{"command": step.command})
		if step.want != "" && got != step.want {
			t.Errorf("%s: got %q, want %q", step.command, got, step.want)
		}
		if dir := b.scope.Dir(); dir != step.dir {
			t.Fatalf("%s: the next directory is %s, want %s", step.command, dir, step.dir)
		}
	}
}

// Even a project that was deleted as a whole does not stop commands for ever.
func TestBashWithoutAProject(t *testing.T) {
	t.Parallel()
	b, bash := newBench(t), newBash(t)
	root := b.scope.Root
	b.ok(bash, args{"command": "mkdir sub; cd sub; rm -rf " + root})
	got := b.ok(bash, args{"command": "pwd"})
	if want := filepath.Dir(root) + "\nThe working directory " + root + " is gone; the command ran in " + filepath.Dir(root) + "."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.ok(bash, args{"command": "mkdir " + root})
	if got := b.ok(bash, args{"command": "pwd"}); got != root {
		t.Errorf("with the project back: %q", got)
	}
}

func TestBashSubAgentsGoTheirOwnWay(t *testing.T) {
	t.Parallel()
	b, bash := newBench(t), newBash(t)
	b.ok(bash, args{"command": "mkdir sub"})
	child := b.child()
	child.scope.Agent = "" // no agent runs as a task in this test
	child.ok(bash, args{"command": "cd sub"})
	if got := b.ok(bash, args{"command": "pwd"}); got != b.scope.Root {
		t.Errorf("the directory of the parent is %q", got)
	}
}

func TestBashIsATaskOfItsCaller(t *testing.T) {
	t.Parallel()
	rt, _ := tasktest.NewRuntime(t)
	b := newBench(t)
	bash := Bash(BashOptions{Tasks: rt, Env: os.Environ})
	r := bash.Run(t.Context(), tool.Call{ID: "toolu_7", Name: "Bash", Scope: b.scope, Input: json.RawMessage(`{"command":"echo   a\nexit 4"}`)})
	d := r.Data.(bashData)
	s, ok := rt.Get(task.ID(d.TaskID))
	if !ok || s.Kind != task.LocalBash || s.ToolUseID != "toolu_7" || s.Status != task.Failed || s.Reason != task.ReasonExit || s.Carrier != "toolu_7" || s.Description != "echo a exit 4" {
		t.Errorf("task = %+v", s)
	}
	if d.ExitCode != 4 || d.RawOutputPath != s.OutputFile || d.Stdout != "a\n" || d.Stderr != "Exit code 4" {
		t.Errorf("data = %+v", d)
	}
	b.scope.Agent = "a00000000"
	b.fails(bash, args{"command": "true"}, "owner a00000000")
}

func TestBashHidesKeys(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "marker-of-the-key")
	got := newBench(t).ok(newBash(t), args{"command": "env | cut -d= -f1 | sort; env | grep -c mark[e]r-of; true"})
	if strings.Contains(got, "ANTHROPIC_API_KEY") || !strings.Contains(got, "\n0") {
		t.Errorf("got %q", got)
	}
}

func TestBashSchema(t *testing.T) {
	t.Parallel()
	bash := newBash(t)
	if clean, ok := message.CleanInput(bash.Schema); !ok || string(clean) != string(bash.Schema) {
		t.Error("the schema is not compact")
	}
	if bash.Parallel || bash.Description == "" {
		t.Errorf("tool = %+v", bash)
	}
}

// BenchmarkBashTool compares `bash -c true` through the tool, the task and the
// shell to bare os/exec. The two take turns, because the machine may be busy;
// their medians and the ratio are what counts.
func BenchmarkBashTool(b *testing.B) {
	path, err := exec.LookPath("bash")
	if err != nil {
		b.Skip("there is no bash here")
	}
	bash, scope := newBash(b), tool.NewScope(b.TempDir(), "")
	call := tool.Call{ID: "1", Name: "Bash", Scope: scope, Input: json.RawMessage(`{"command":"true"}`)}
	var bare, ours []time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := exec.Command(path, "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		if r := bash.Run(b.Context(), call); r.IsError {
			b.Fatal(textOf(r))
		}
		bare, ours = append(bare, middle.Sub(begin)), append(ours, time.Since(middle))
	}
	b.ReportMetric(median(bare).Seconds()*1e3, "ms/exec")
	b.ReportMetric(median(ours).Seconds()*1e3, "ms/tool")
	b.ReportMetric(float64(median(ours))/float64(median(bare)), "ratio")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
