// Package process runs commands of the operating system: it starts them, waits
// for them, and ends them together with everything they started.
//
// A command and its descendants are a tree. The tree outlives its leader: a
// command that leaves a server behind has exited, and still has members.
//
//	Start ──▶ leader runs ──▶ Done, Wait: the exit of the leader
//	             │ members come and go ────────────▶ Members: who is alive now
//	             └─────────── End: ask, wait, kill, and look until nobody is left
package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// MarkVariable is the environment variable that carries [Spec.Mark]. Where
// commands nest, its value is a path of marks, the outermost first.
const MarkVariable = "HEDDLE_TASK"

// A Spec says what to start.
type Spec struct {
	Path string   // the program, as [os/exec.LookPath] returns it
	Args []string // Args[0] is the name
	Dir  string   // where it starts; empty: where this program is
	Env  []string // nil: the environment of this program

	// The files become those of the child as they are: nothing is copied, and they may
	// be closed once Start has returned. Nil is /dev/null.
	Stdin, Stdout, Stderr *os.File

	// Mark is an unguessable id that goes into the environment of the child, so
	// that its descendants are found wherever they go. Empty: there is no mark.
	Mark string
	// Within is a mark that several trees share, outside of their own, so that they can be
	// ended together, see [EndIdentity]. It counts only with a mark.
	Within string
}

// A Process is a started command. Its methods may be called from several
// goroutines.
type Process struct {
	tree tree
	done chan struct{}

	// Written before done is closed, by the waiter.
	exit Exit
	err  error
}

// Exit says how a process ended.
type Exit struct {
	Code   int            // -1 when a signal ended it
	Signal syscall.Signal // 0 when it exited by itself
}

// String returns "exit code 3" or "signal: terminated".
func (e Exit) String() string {
	if e.Signal != 0 {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Start starts s in a session of its own. The process is collected when it exits,
// whether or not anyone waits for it, and costs no goroutine and no thread until then.
func Start(s Spec) (*Process, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	return start(s, newGroup())
}

// A child is a started process that nobody has collected yet.
type child struct {
	pid    int
	handle int // under which a poller knows it
}

// start starts s in g, which may be nil.
func start(s Spec, g *group) (*Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		g.remove()
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	defer null.Close()
	for _, f := range []**os.File{&s.Stdin, &s.Stdout, &s.Stderr} {
		if *f == nil {
			*f = null
		}
	}
	s.Env = s.environment()

	child, group, err := launch(s, g)
	runtime.KeepAlive(s) // launch took the bare numbers of the files
	if err != nil {
		return nil, s.explain(err)
	}
	// The child cannot vanish before this, because nobody has collected it.
	leader, _ := look(child.pid)
	p := &Process{done: make(chan struct{}), tree: tree{
		leader: Identity{PID: child.pid, StartTime: leader.start, BootID: bootID(), Group: group.path()},
		mark:   s.Mark,
		group:  group,
		ours:   true,
	}}
	exits().watch(p, child.handle)
	return p, nil
}

// PID returns the process id of the leader, which is also the id of its process
// group and session.
func (p *Process) PID() int { return p.tree.leader.PID }

// Identity returns what another run of this program needs to find the process.
func (p *Process) Identity() Identity { return p.tree.leader }

// Done is closed when the leader has exited.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the leader to exit, whatever it leaves behind. When ctx is done
// it stops waiting and returns the cause; the process goes on.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done:
		return p.exit, p.err
	case <-ctx.Done():
	}
	select {
	case <-p.done: // both were ready: the exit is worth more
		return p.exit, p.err
	default:
		return Exit{}, context.Cause(ctx)
	}
}

// check refuses what the kernel would refuse with a bare "invalid argument".
func (s Spec) check() error {
	switch {
	case s.Path == "":
		return errors.New("no program is named")
	case len(s.Args) == 0:
		return fmt.Errorf("%s: Args is empty; Args[0] must be the name", s.Path)
	case strings.ContainsAny(s.Mark+s.Within, "/=\x00"):
		return fmt.Errorf("%s: the mark %q holds a separator", s.Path, s.Mark)
	}
	for _, text := range append([]string{s.Path, s.Dir}, s.Args...) {
		if strings.ContainsRune(text, 0) {
			return fmt.Errorf("%s: %.60q holds a zero byte, which no argument can", s.Path, text)
		}
	}
	return nil
}

// environment returns the environment of the child. Its mark stands behind the
// mark of this program, which may itself run in a command that is to be ended.
func (s Spec) environment() []string {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	if s.Mark == "" {
		return env
	}
	mark := s.Mark
	if s.Within != "" {
		mark = s.Within + "/" + mark
	}
	if outer := os.Getenv(MarkVariable); outer != "" {
		mark = outer + "/" + mark
	}
	marked := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, MarkVariable+"=") {
			marked = append(marked, entry)
		}
	}
	return append(marked, MarkVariable+"="+mark)
}

// explain says what was missing. The kernel reports a missing directory, program
// or interpreter with one and the same number.
func (s Spec) explain(err error) error {
	if s.Dir != "" {
		info, dirErr := os.Stat(s.Dir)
		if dirErr == nil && !info.IsDir() {
			dirErr = &fs.PathError{Op: "enter", Path: s.Dir, Err: syscall.ENOTDIR}
		}
		if dirErr != nil {
			return fmt.Errorf("start %s: working directory: %w", s.Path, dirErr)
		}
	}
	switch {
	case errors.Is(err, syscall.ENOENT):
		if _, statErr := os.Stat(s.Path); statErr == nil {
			return fmt.Errorf("start %s: the interpreter that it names is missing: %w", s.Path, err)
		}
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("start %s: arguments and environment are too long; pass the text in a file: %w", s.Path, err)
	}
	return fmt.Errorf("start %s: %w", s.Path, err)
}
