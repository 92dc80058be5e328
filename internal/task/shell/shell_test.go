package shell

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/internal/task"
	"heddle/internal/task/tasktest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	command := func(text string) func(*testing.T) task.Runner {
		return func(t *testing.T) task.Runner {
			return &Runner{Command: text, Dir: t.TempDir(), Env: Environment(os.Environ(), nil, nil)}
		}
	}
	tasktest.Run(t, tasktest.Kind{
		Kind:    task.LocalBash,
		Quick:   command("echo quick"),
		Endless: command("echo ready; sleep 300 & wait"),
		Broken:  command("exit 3"),
	})
}

func TestEndings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command string
		status        task.Status
		reason        task.Reason
		code          int
		signal        string
		output        string
	}{
		{"well", "echo out; echo err >&2", task.Completed, "", 0, "", "out\nerr\n"},
		{"no output", "true", task.Completed, "", 0, "", ""},
		{"exit", "echo a; exit 3; echo b", task.Failed, task.ReasonExit, 3, "", "a\n"},
		{"code of the last command", "false; (exit 7)", task.Failed, task.ReasonExit, 7, "", ""},
		{"set -e", "set -e; false; echo b", task.Failed, task.ReasonExit, 1, "", ""},
		{"set -x", "set -x; true", task.Completed, "", 0, "", "+ true\n"},
		{"exec", "exec echo a", task.Completed, "", 0, "", "a\n"},
		{"killed by itself", "kill -KILL $$", task.Failed, task.ReasonSignal, -1, "killed", ""},
		// The whole group, which this program must not be in.
		{"kill 0", "kill -TERM 0; sleep 5", task.Failed, task.ReasonSignal, -1, "terminated", ""},
		{"nobody types", "cat; read x; echo rc=$?", task.Completed, "", 0, "", "rc=1\n"},
		{"here document at the end", "cat <<EOF\na\nEOF", task.Completed, "", 0, "", "a\n"},
		{"comment at the end", "echo a # b", task.Completed, "", 0, "", "a\n"},
		{"trap of its own", "trap 'echo bye' EXIT; exit 4", task.Failed, task.ReasonExit, 4, "", "bye\n"},
		{"quotes", `echo "it's" '$HOME'`, task.Completed, "", 0, "", "it's $HOME\n"},
		{"a function named pwd", "pwd() { echo no; return 9; }; cd /", task.Completed, "", 0, "", ""},
		{"nothing to say", "", task.Completed, "", 0, "", ""},
		{"bytes", `printf 'a\377\376\000b'`, task.Completed, "", 0, "", "a\xff\xfe\x00b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := run(t, &Runner{Command: tt.command})
			if e.Status != tt.status || e.Reason != tt.reason || e.Code != tt.code || e.Signal != tt.signal {
				t.Errorf("%s, %q, code %d, signal %q (%s)", e.Status, e.Reason, e.Code, e.Signal, e.Error)
			}
			if e.output != tt.output {
				t.Errorf("output = %q, want %q", e.output, tt.output)
			}
			if !e.Ended || e.PID == 0 || e.Identity.PID != e.PID || len(e.Left) != 0 {
				t.Errorf("detail = %+v", e.Detail)
			}
		})
	}
}

// What bash itself says is what it says without us.
func TestErrorsOfTheShellAreItsOwn(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	for _, command := range []string{"if then", "echo 'abc", "a=(", "cat <<EOF\nx", "nosuchprogram", "echo $LINENO\n\necho $LINENO; nosuchprogram", "echo $0 $# $-"} {
		c := exec.Command(bash, "-c", command)
		c.Args[0] = "bash"
		c.Env = Environment(os.Environ(), nil, nil)
		want, _ := c.CombinedOutput() // the exit code is compared below
		e := run(t, &Runner{Command: command})
		if e.output != string(want) || e.Code != c.ProcessState.ExitCode() {
			t.Errorf("%q gives %q, code %d; bare bash %q, code %d", command, e.output, e.Code, want, c.ProcessState.ExitCode())
		}
	}
}

func TestDirectoryAfterTheCommand(t *testing.T) {
	t.Parallel()
	dir := resolved(t, t.TempDir())
	if err := os.MkdirAll(filepath.Join(dir, "it's $a \"q\"", "end\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, command, want string }{
		{"where it was", "true", ""},
		{"there and back", "cd it*; cd ..", "."},
		{"changed", `cd "it's \$a \"q\""`, "it's $a \"q\""},
		{"line break at the end", `cd it*/end*`, "it's $a \"q\"/end\n"},
		{"exit", "cd it*; exit 3", "it's $a \"q\""},
		{"set -e", "cd it*; set -e; false", "it's $a \"q\""},
		{"set -C and -u", "set -Cu; cd it*", "it's $a \"q\""},
		{"subshell only", "(cd it*)", ""},
		{"pushd", "pushd it* >/dev/null", "it's $a \"q\""},
		{"here document", "cd it*; cat <<E\nE", "it's $a \"q\""},
		{"unknown after exec", "cd it*; exec true", ""},
		{"unknown after a kill", "cd it*; kill -KILL $$", ""},
		{"unknown if deleted", "mkdir gone; cd gone; rmdir ../gone", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want != "" {
				want = filepath.Join(dir, want)
			}
			if e := run(t, &Runner{Command: tt.command, Dir: dir}); e.Dir != want {
				t.Errorf("directory = %q, want %q (output %q)", e.Dir, want, e.output)
			}
		})
	}
}

// A command that has more text than an argument may have, with the same behaviour.
func TestLongCommand(t *testing.T) {
	t.Parallel()
	dir := resolved(t, t.TempDir())
	command := "cat <<'EOF' | wc -c\n" + strings.Repeat("x", 300_000) + "\nEOF\nmkdir -p sub; cd sub; exit 5"
	e := run(t, &Runner{Command: command, Dir: dir})
	if strings.TrimSpace(e.output) != "300001" || e.Code != 5 || e.Dir != filepath.Join(dir, "sub") {
		t.Errorf("output %q, code %d, directory %q, %s", e.output, e.Code, e.Dir, e.Error)
	}
	if len(e.Command) > 2000 {
		t.Errorf("the record holds %d bytes of the command", len(e.Command))
	}
}

func TestCommandsThatCannotStart(t *testing.T) {
	t.Parallel()
	for _, r := range []*Runner{{Command: "echo \x00"}, {Command: "true", Dir: "/nonexistent/dir"}} {
		if e := run(t, r); e.Status != task.Failed || e.Error == "" || e.Ended {
			t.Errorf("%q in %q: %s, %q", r.Command, r.Dir, e.Status, e.Error)
		}
	}
}

// The exit of the command is its end, not the end of its output, which others hold open.
func TestProcessesLeftBehind(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"with all outputs":    "sleep %s & echo spawned",
		"with standard error": "sleep %s </dev/null >/dev/null & echo spawned",
		"in its own session":  "setsid sleep %s & echo spawned; exec sleep 0.05",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rt, _ := tasktest.NewRuntime(t)
			mark := forever(t)
			begin := time.Now()
			e := runIn(t, rt, &Runner{Command: fmt.Sprintf(command, mark)})
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if e.Status != task.Completed || e.Code != 0 || e.output != "spawned\n" {
				t.Errorf("%s, code %d, output %q", e.Status, e.Code, e.output)
			}
			if len(e.Left) != 1 || e.Left[0].Command != "sleep "+mark {
				t.Errorf("left = %+v, want sleep %s", e.Left, mark)
			}
			if !alive(t, mark) {
				t.Error("what the command left running was ended with it")
			}
			if err := rt.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if alive(t, mark) {
				t.Error("it runs on after the session")
			}
		})
	}
}

// The session ends everything at once, and knows who was left behind by whom.
func TestProcessesLeftBehindEndWithTheirAgent(t *testing.T) {
	t.Parallel()
	rt, _ := tasktest.NewRuntime(t)
	release := make(chan struct{})
	owner, err := rt.Start(task.Spec{Kind: task.LocalAgent}, agent(release))
	if err != nil {
		t.Fatal(err)
	}
	mark := forever(t)
	tk, err := rt.Start(task.Spec{Kind: task.LocalBash, Owner: owner.ID},
		&Runner{Command: "sleep " + mark + " & echo $!", Dir: t.TempDir(), Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	tk.Attach(t.Context(), 0)
	pid := tk.Snapshot().Detail.(Detail).Left[0].PID
	close(release)
	late := time.After(20 * time.Second)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for syscall.Kill(pid, 0) == nil && alive(t, mark) {
		select {
		case <-look.C:
		case <-late:
			t.Fatal("it runs on after the agent")
		}
	}
}

// What a process substitution writes belongs to the output, although the shell
// does not wait for it.
func TestProcessSubstitutionIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	e := run(t, &Runner{Command: "echo a > >(sleep 0.02; cat)"})
	if e.output != "a\n" || len(e.Left) != 0 {
		t.Errorf("output %q, left %v", e.output, e.Left)
	}
}

// A time-out ends the whole tree, also who left the group, and who does not want to.
func TestTimeoutEndsTheTree(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"obeys":         "echo a; sleep %[1]s; echo b",
		"other session": "setsid sleep %[1]s & echo a; sleep %[1]s",
		"double fork":   "(setsid sh -c 'sleep %[1]s & exit' &); echo a; sleep %[1]s",
		"ignores TERM":  "trap '' TERM; echo a; sleep %[1]s; sleep %[1]s",
		"exits with 0":  "trap 'exit 0' TERM; echo a; sleep %[1]s & wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := forever(t)
			begin := time.Now()
			e := run(t, &Runner{Command: fmt.Sprintf(command, mark), Timeout: 500 * time.Millisecond})
			if took := time.Since(begin); took > 500*time.Millisecond+grace+2*time.Second+time.Second {
				t.Errorf("took %v", took)
			}
			if alive(t, mark) {
				t.Error("something runs on")
			}
			if e.Status != task.Killed || e.Reason != task.ReasonTimeout || !strings.HasPrefix(e.output, "a\n") {
				t.Errorf("%s, %q, output %q; want killed, timeout", e.Status, e.Reason, e.output)
			}
		})
	}
}

func TestEnvironmentOfACommand(t *testing.T) {
	t.Parallel()
	base := append(os.Environ(), "ANTHROPIC_API_KEY=marker", "OPENAI_API_KEY=marker", "PAGER=less", "A=1", "A=2")
	env := Environment(base, []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}, []string{"MORE=yes", "OPENAI_API_KEY=marker", "GIT_PAGER=less"})
	e := run(t, &Runner{Command: `env | grep -c marker; echo "$A$MORE$PAGER$GIT_PAGER${BASH_ENV-unset}"; X=1; export Y=1`, Env: env})
	if e.output != "0\n2yescatlessunset\n" {
		t.Errorf("output = %q", e.output)
	}
	if e := run(t, &Runner{Command: `echo "$X$Y."`, Env: env}); e.output != ".\n" {
		t.Errorf("variables of an earlier command: %q", e.output)
	}
}

// A person's own BASH_ENV still works, in the command and in what it starts.
func TestBashEnvOfThePerson(t *testing.T) {
	t.Parallel()
	dir := resolved(t, t.TempDir())
	rc := filepath.Join(dir, "it's rc")
	if err := os.WriteFile(rc, []byte("greet() { echo hi; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(Environment(os.Environ(), nil, nil), "PLACE="+dir, "BASH_ENV=$PLACE/it's rc")
	e := run(t, &Runner{Command: "greet; bash -c greet; cd /", Env: env, Dir: dir})
	if e.output != "hi\nhi\n" || e.Dir != "/" {
		t.Errorf("output %q, directory %q", e.output, e.Dir)
	}
	e = run(t, &Runner{Command: "echo a", Env: append(env, "BASH_ENV=/nonexistent/rc")})
	if e.output != "a\n" {
		t.Errorf("with a BASH_ENV that is not there: %q", e.output)
	}
}

// git must fail with its own words instead of asking for a name.
func TestGitDoesNotAsk(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	e := run(t, &Runner{Command: "git ls-remote https://127.0.0.1:1/x; echo rc=$?; printf 'protocol=https\\nhost=127.0.0.1\\n' | git credential fill", Timeout: 20 * time.Second})
	if took := time.Since(begin); took > 10*time.Second || e.Reason == task.ReasonTimeout {
		t.Errorf("took %v", took)
	}
	if !strings.Contains(e.output, "rc=128") || !strings.Contains(e.output, "terminal prompts disabled") {
		t.Errorf("output = %q", e.output)
	}
}

// Where there is no bash, sh has to do.
func TestWithoutBash(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"sh", "mkdir", "cat", "sleep", "env"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("there is no %s here", name)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	dir := resolved(t, t.TempDir())
	e := run(t, &Runner{Command: "mkdir 'it'\"'\"'s'; cd it*; cat <<E\na\nE\nexit 3", Dir: dir})
	if e.output != "a\n" || e.Code != 3 || e.Dir != filepath.Join(dir, "it's") {
		t.Errorf("output %q, code %d, directory %q, %s", e.output, e.Code, e.Dir, e.Error)
	}
	e = run(t, &Runner{Command: "cd /\n: " + strings.Repeat("x", 200_000) + "\nexit 4", Dir: dir})
	if e.output != "" || e.Code != 4 || e.Dir != "/" {
		t.Errorf("long: output %q, code %d, directory %q, %s", e.output, e.Code, e.Dir, e.Error)
	}
	t.Setenv("PATH", "")
	if e := run(t, &Runner{Command: "true", Dir: dir}); e.Status != task.Failed || !strings.Contains(e.Error, "neither bash nor sh") {
		t.Errorf("without any shell: %s, %q", e.Status, e.Error)
	}
}

// The journal knows the process from its start on, so that a later run of the
// program finds it.
func TestJournalKnowsTheProcess(t *testing.T) {
	t.Parallel()
	rt, _ := tasktest.NewRuntime(t)
	tk, err := rt.Start(task.Spec{Kind: task.LocalBash}, &Runner{Command: "exec sleep 300", Dir: t.TempDir(), Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	started := false
	for range rt.Watch(t.Context()) {
		if started = tk.Snapshot().Detail != nil; started {
			break
		}
	}
	records, err := task.ReadJournal(filepath.Dir(tk.Snapshot().OutputFile))
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	d := tk.Snapshot().Detail.(Detail)
	if !strings.Contains(string(records[0].Detail), `"pid":`+strconv.Itoa(d.PID)) || !d.Identity.Alive() {
		t.Errorf("the journal says %s, the process is %+v", records[0].Detail, d.Identity)
	}
	if err := rt.Kill(tk.ID, task.ErrKilled); err != nil {
		t.Error(err)
	}
	if d.Identity.Alive() {
		t.Error("killed and alive")
	}
}
