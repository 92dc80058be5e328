package process

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func shell(script string) Spec {
	return Spec{Path: "/bin/sh", Args: []string{"sh", "-c", script}}
}

// output runs s to its end and returns what it wrote.
func output(t *testing.T, s Spec) (string, Exit) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s.Stdout, s.Stderr = file, file
	p, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), exit
}

func TestCommandReadsItsStandardInput(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { // more than a pipe holds
		_, _ = io.WriteString(w, strings.Repeat("line\n", 100_000))
		w.Close()
	}()
	s := shell("wc -l")
	s.Stdin = r
	text, _ := output(t, s)
	r.Close()
	if got := strings.TrimSpace(text); got != "100000" {
		t.Errorf("wc -l on a pipe of 100000 lines = %s", got)
	}
	if text, _ := output(t, shell("wc -c")); strings.TrimSpace(text) != "0" {
		t.Errorf("wc -c without a standard input = %s, want 0", text)
	}
}

func TestExitIsThatOfTheCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script, text string
		want         Exit
	}{
		{"true", "exit code 0", Exit{}},
		{"exit 3", "exit code 3", Exit{Code: 3}},
		{"exit 255", "exit code 255", Exit{Code: 255}},
		{"kill -TERM $$", "signal: terminated", Exit{Code: -1, Signal: syscall.SIGTERM}},
		{"kill -KILL $$", "signal: killed", Exit{Code: -1, Signal: syscall.SIGKILL}},
		{"kill -USR1 $$", "signal: user defined signal 1", Exit{Code: -1, Signal: syscall.SIGUSR1}},
		// To its whole process group, which must not be ours.
		{"kill -TERM 0; sleep 10", "signal: terminated", Exit{Code: -1, Signal: syscall.SIGTERM}},
	} {
		_, exit := output(t, shell(c.script))
		if exit != c.want || exit.String() != c.text {
			t.Errorf("%q: %v (%#v), want %s", c.script, exit, exit, c.text)
		}
	}
}

func TestStandardInputIsEmpty(t *testing.T) {
	t.Parallel()
	if text, exit := output(t, shell("cat; read x; echo rc=$?")); text != "rc=1\n" || exit.Code != 0 {
		t.Errorf("output = %q, %v", text, exit)
	}
}

func TestNoDescriptorIsInherited(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip(err)
	}
	count := shell("ls /proc/self/fd | wc -l")
	// What the tests were started with goes on to every child of ours.
	want, err := exec.Command(count.Path, count.Args[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := output(t, count); got != string(want) {
		t.Errorf("the child has %q descriptors, want %q as from os/exec", got, want)
	}
}

func TestMarksNest(t *testing.T) {
	t.Setenv(MarkVariable, "outer")
	s := shell("echo $" + MarkVariable + " $OTHER")
	s.Env, s.Mark, s.Within = []string{"OTHER=kept", MarkVariable + "=stale"}, "inner", "group"
	if text, _ := output(t, s); text != "outer/group/inner kept\n" {
		t.Errorf("environment = %q", text)
	}
}

// A process that stays behind, with the output of the command still open, does not
// keep anyone waiting.
func TestWaitIsForTheLeaderAlone(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			c := run(t, w, "sleep FOREVER & echo ready; exit 5")
			begin := time.Now()
			exit, err := c.Wait(t.Context())
			if err != nil || exit.Code != 5 {
				t.Fatalf("Wait = %v, %v", exit, err)
			}
			if took := time.Since(begin); took > 250*time.Millisecond {
				t.Errorf("Wait took %v", took)
			}
			if found := c.alive(t); len(found) != 1 {
				t.Errorf("alive = %q, want what was left behind", found)
			}
		})
	}
}

func TestWaitEndsWithItsContextOnly(t *testing.T) {
	t.Parallel()
	c := run(t, ways()[0], "echo ready; exec sleep FOREVER")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := c.Wait(ctx); !errors.Is(err, cause) {
		t.Errorf("Wait = %v, want the cause", err)
	}
	if !c.Identity().Alive() {
		t.Error("the process ended with the context of a waiter")
	}
}

func TestStartSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/no/such/shell\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"x"}
	for _, c := range []struct {
		name string
		spec Spec
		want string
		is   error
	}{
		{"program", Spec{Path: "/no/such", Args: args}, "start /no/such: no such file", fs.ErrNotExist},
		{"permission", Spec{Path: file, Args: args}, "permission denied", fs.ErrPermission},
		{"interpreter", Spec{Path: script, Args: args}, "interpreter", fs.ErrNotExist},
		{"directory", Spec{Path: "/bin/sh", Args: args, Dir: dir + "/gone"}, "working directory: stat " + dir + "/gone", fs.ErrNotExist},
		{"file as directory", Spec{Path: "/bin/sh", Args: args, Dir: file}, "not a directory", syscall.ENOTDIR},
		{"too long", Spec{Path: "/bin/sh", Args: []string{strings.Repeat("x", 4<<20)}}, "too long", syscall.E2BIG},
		{"no program", Spec{Args: args}, "no program is named", nil},
		{"no name", Spec{Path: "/bin/sh"}, "Args is empty", nil},
		{"zero byte", Spec{Path: "/bin/sh", Args: []string{"a\x00b"}}, "zero byte", nil},
		{"mark", Spec{Path: "/bin/sh", Args: args, Mark: "a/b"}, "separator", nil},
	} {
		p, err := Start(c.spec)
		if p != nil || err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: error = %v, want %q (%v)", c.name, err, c.want, c.is)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			s := shell("exit " + string(rune('0'+i%10)))
			p, err := Start(s)
			if err != nil {
				t.Error(err)
				return
			}
			var waiters sync.WaitGroup
			for range 3 {
				waiters.Go(func() {
					if exit, err := p.Wait(t.Context()); err != nil || exit.Code != i%10 {
						t.Errorf("Wait = %v, %v, want %d", exit, err, i%10)
					}
				})
			}
			waiters.Wait()
		})
	}
	all.Wait()
}

func TestOutputIsTheFileItself(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := shell("echo out; echo err >&2")
	s.Stdout, s.Stderr = w, nil
	if _, err := Start(s); err != nil {
		t.Fatal(err)
	}
	w.Close() // the child has its own
	if text, err := io.ReadAll(r); string(text) != "out\n" || err != nil {
		t.Errorf("standard output = %q, %v", text, err)
	}
}
