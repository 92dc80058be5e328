package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heddle/internal/task"
	"heddle/internal/task/tasktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// room is a session with tasks, and its socket.
type room struct {
	t      *testing.T
	folder string
	tasks  *task.Runtime
	server *Server
}

func newRoom(t *testing.T) *room {
	t.Helper()
	rt, _ := tasktest.NewRuntime(t)
	r := &room{t: t, folder: filepath.Join(t.TempDir(), "run"), tasks: rt}
	s, err := Listen(Options{Folder: r.folder, Session: "s1", Dir: "/project", Tasks: rt})
	if err != nil {
		t.Fatal(err)
	}
	r.server = s
	t.Cleanup(func() { _ = s.Close() }) // some tests close it themselves
	return r
}

func (r *room) start(release <-chan struct{}) task.ID {
	r.t.Helper()
	tk, err := r.tasks.Start(task.Spec{Kind: task.LocalBash, Background: true, Description: "work"},
		task.RunnerFunc(func(ctx context.Context, _ *task.Task) error {
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}))
	if err != nil {
		r.t.Fatal(err)
	}
	return tk.ID
}

func (r *room) dial() *Client {
	r.t.Helper()
	c, err := Dial(r.t.Context(), r.folder, "s1")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// raw is a connection of a client that keeps to no rules.
func (r *room) raw() (*net.UnixConn, *bufio.Reader) {
	r.t.Helper()
	conn, err := net.Dial("unix", filepath.Join(r.folder, "s1.sock"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	lines := bufio.NewReader(conn)
	if _, err := lines.ReadString('\n'); err != nil {
		r.t.Fatal(err)
	}
	return conn.(*net.UnixConn), lines
}

func TestTasksAreSeenAndSteered(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	c := r.dial()
	if c.Hello.Session != "s1" || c.Hello.Dir != "/project" || c.Hello.PID != os.Getpid() || time.Since(c.Hello.Started) > time.Minute {
		t.Errorf("greeting: %+v", c.Hello)
	}
	release := make(chan struct{})
	a, b := r.start(release), r.start(nil)
	got, err := c.Do(t.Context(), Request{Op: List})
	if err != nil || len(got) != 2 || got[0].ID != a || got[0].Description != "work" {
		t.Errorf("list: %+v, %v", got, err)
	}
	ended := make(chan []task.Record, 1)
	go func() {
		recs, err := c.Do(t.Context(), Request{Op: Wait, Tasks: []task.ID{a, b}, Count: 1})
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		ended <- recs
	}()
	if got, err = c.Do(t.Context(), Request{Op: Stop, Tasks: []task.ID{b}}); err != nil || got[0].Status != task.Killed || got[0].Reason != task.ReasonStoppedByUser {
		t.Errorf("stop: %+v, %v", got, err)
	}
	if recs := <-ended; len(recs) != 2 || recs[1].Status != task.Killed || recs[0].Status.Terminal() {
		t.Errorf("wait for one of two: %+v", recs)
	}
	close(release)
	if got, err = c.Do(t.Context(), Request{Op: Wait, Tasks: []task.ID{a, b}}); err != nil || got[0].Status != task.Completed {
		t.Errorf("wait for both: %+v, %v", got, err)
	}
	if got, err = c.Do(t.Context(), Request{Op: Stop, Tasks: []task.ID{a}}); err == nil || len(got) != 1 {
		t.Errorf("stop of what has ended: %+v, %v", got, err)
	}
	if got, err = c.Do(t.Context(), Request{Op: Show, Tasks: []task.ID{a, "b00000000"}}); err == nil || len(got) != 1 || !strings.Contains(err.Error(), "b00000000") {
		t.Errorf("show: %+v, %v", got, err)
	}
	running := r.start(nil)
	if got, err = c.Do(t.Context(), Request{Op: Wait, Tasks: []task.ID{running, "b00000000"}}); err == nil || len(got) != 1 || got[0].Status.Terminal() {
		t.Errorf("wait for one that nobody knows: %+v, %v", got, err)
	}
	if got, err = c.Do(t.Context(), Request{Op: Stop, Tasks: []task.ID{running, running}}); err != nil || len(got) != 1 {
		t.Errorf("stop of one named twice: %+v, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Do(ctx, Request{Op: Wait, Tasks: []task.ID{r.start(nil)}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait with a deadline: %v", err)
	}
}

// Nobody else gets in, and nothing of a dead session is in the way.
func TestSocketIsPrivateAndReplaced(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	path := filepath.Join(r.folder, "s1.sock")
	for name, want := range map[string]os.FileMode{r.folder: 0o700, path: 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %o", name, info.Mode(), err, want)
		}
	}
	if _, err := Listen(Options{Folder: r.folder, Session: "s1", Tasks: r.tasks}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second server: %v", err)
	}
	if err := r.server.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := Dial(t.Context(), r.folder, "s1"); !errors.Is(err, ErrNoServer) {
		t.Errorf("Dial of nobody: %v", err)
	}
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	if err := stale.Close(); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	if err := os.Chmod(r.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Listen(Options{Folder: r.folder, Session: "s1", Tasks: r.tasks})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if info, err := os.Stat(r.folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder stays open to others: %v, %v", info.Mode(), err)
	}
}

func TestLongPathsFallBack(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	t.Cleanup(func() { _ = os.Remove(filepath.Dir(socketPath(folder, "s1"))) })
	rt, _ := tasktest.NewRuntime(t)
	s, err := Listen(Options{Folder: folder, Session: "s1", Tasks: rt})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := Dial(t.Context(), folder, "s1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Do(t.Context(), Request{Op: List}); err != nil {
		t.Error(err)
	}
	// A folder that is a link may be somebody's trap.
	trap := filepath.Join(t.TempDir(), "trap")
	if err := os.Symlink(t.TempDir(), trap); err != nil {
		t.Fatal(err)
	}
	if err := ownFolder(trap); err == nil {
		t.Error("a link passes for a folder of ours")
	}
}

// A client that keeps to no rules gets an answer that says so, and costs only itself.
func TestBadClientsCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	good := r.dial()
	for in, want := range map[string]string{
		"nonsense":             "not a JSON object",
		`{"id":1,"op":"fly"}`:  `no operation \"fly\"`,
		`{"id":1,"op":"stop"}`: "no task is named",
		`{"id":"x","op":1}`:    "not a JSON object",
		`{"id":1,"op":"show","tasks":[` + strings.Repeat(`"b",`, 300) + `"b"]}`: "256 tasks at most",
	} {
		conn, lines := r.raw()
		fmt.Fprintln(conn, in)
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("%.40s: %q, %v; want %q", in, line, err, want)
		}
	}
	conn, lines := r.raw()
	go func() { _, _ = conn.Write(make([]byte, maxLine+10)) }() // ends when the server hangs up
	if line, _ := lines.ReadString('\n'); !strings.Contains(line, "bytes long at most") {
		t.Errorf("an endless line: %q", line)
	}
	conn, lines = r.raw()
	go func() { _, _ = conn.Write([]byte(strings.Repeat("{\"id\":1,\"op\":\"list\"}\n", 5*maxRate))) }()
	told := false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		told = told || strings.Contains(line, "too many requests")
	}
	if !told {
		t.Error("a flood is answered to its end")
	}
	for range maxClients { // these never read and never leave
		r.idle()
	}
	if _, err := good.Do(t.Context(), Request{Op: List}); err != nil {
		t.Errorf("meanwhile: %v", err)
	}
}

// idle is a connection that may be refused.
func (r *room) idle() {
	if conn, err := net.Dial("unix", filepath.Join(r.folder, "s1.sock")); err == nil {
		r.t.Cleanup(func() { _ = conn.Close() })
	}
}

// The end of a session ends what waits on it, with an error that says so.
func TestEndOfTheSessionEndsWaiting(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	c := r.dial()
	id := r.start(nil)
	failed := make(chan error, 1)
	go func() {
		_, err := c.Do(t.Context(), Request{Op: Wait, Tasks: []task.ID{id}})
		failed <- err
	}()
	if _, err := c.Do(t.Context(), Request{Op: List}); err != nil { // the wait has been sent before, or follows: both end
		t.Fatal(err)
	}
	if err := r.server.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, ErrLost) {
		t.Errorf("the wait: %v", err)
	}
}

// What ended before the session is told, also when the session ends right after it.
func TestEndsAreToldBeforeTheSessionEnds(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	release := make(chan struct{})
	id := r.start(release)
	const many = 20
	answers := make(chan error, many)
	for range many {
		c := r.dial()
		_, answer, err := c.send(Request{Op: Wait, Tasks: []task.ID{id}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Do(t.Context(), Request{Op: List}); err != nil { // the server has read the wait
			t.Fatal(err)
		}
		go func() {
			if a, ok := <-answer; !ok || a.Error != "" || a.Tasks[0].Status != task.Completed {
				answers <- fmt.Errorf("%+v, %v", a, ok)
				return
			}
			answers <- nil
		}()
	}
	close(release)
	if _, err := r.tasks.Wait(t.Context(), []task.ID{id}, task.Condition{}); err != nil {
		t.Fatal(err)
	}
	if err := r.server.Close(); err != nil {
		t.Error(err)
	}
	for range many {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

// The end of a session does not wait for a client that does not read.
func TestSilentClientDoesNotKeepTheSession(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	conn, _ := r.raw()
	if err := conn.SetWriteBuffer(1 << 20); err != nil {
		t.Fatal(err)
	}
	for range maxRate { // the answers are more than the connection holds
		fmt.Fprintf(conn, `{"id":1,"op":%q}`+"\n", strings.Repeat("x", 4000))
	}
	start := time.Now()
	if err := r.server.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > patience/2 {
		t.Errorf("Close took %v", took)
	}
}

// A client refuses what is no heddle, or one of another version.
func TestClientChecksTheGreeting(t *testing.T) {
	t.Parallel()
	for greeting, want := range map[string]string{
		"hello\n":                 "is no heddle",
		`{"error":"full"}` + "\n": "it refuses: full",
		`{"heddle":2}` + "\n":     "version 2",
		"":                        "no greeting",
	} {
		folder := t.TempDir()
		l, err := net.Listen("unix", filepath.Join(folder, "s1.sock"))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				fmt.Fprint(c, greeting)
				_ = c.Close()
			}
		}()
		if _, err := Dial(t.Context(), folder, "s1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", greeting, err, want)
		}
		_ = l.Close()
	}
}

// What listens but says nothing, such as a stopped process, is given up.
func TestSilentServerIsGivenUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s1.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := &Client{conn: conn.(*net.UnixConn)}
	if err := c.greet(bufio.NewReader(conn), time.Millisecond); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("greet: %v", err)
	}
}

// A client that wants nothing loses its place, one that waits for a task keeps it.
func TestIdleClientsAreSentAway(t *testing.T) {
	t.Parallel()
	rt, _ := tasktest.NewRuntime(t)
	r := &room{t: t, folder: filepath.Join(t.TempDir(), "run"), tasks: rt}
	s, err := listen(Options{Folder: r.folder, Session: "s1", Tasks: rt}, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	release := make(chan struct{})
	id := r.start(release)
	waiting, waits := r.raw()
	fmt.Fprintf(waiting, `{"id":1,"op":"wait","tasks":[%q]}`+"\n", id)
	_, idles := r.raw()
	if line, err := idles.ReadString('\n'); !errors.Is(err, io.EOF) {
		t.Errorf("the idle one: %q, %v", line, err)
	}
	close(release)
	if line, err := waits.ReadString('\n'); err != nil || !strings.Contains(line, "completed") {
		t.Errorf("the one that waits: %q, %v", line, err)
	}
}

// One client more than there is room for is told so, and the others go on.
func TestTooManyClientsAreTold(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	good := r.dial()
	for range maxClients - 1 {
		r.raw()
	}
	if _, err := Dial(t.Context(), r.folder, "s1"); err == nil || !strings.Contains(err.Error(), "64 connections are open already") {
		t.Errorf("one too many: %v", err)
	}
	if _, err := good.Do(t.Context(), Request{Op: List}); err != nil {
		t.Errorf("meanwhile: %v", err)
	}
}

// Only a refused connection, or none to refuse it, says that nobody listens.
func TestOtherFailuresAreNotAbsence(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "s1.sock")
	if err := os.Symlink("s1.sock", path); err != nil { // leads nowhere: ELOOP
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), folder, "s1"); err == nil || errors.Is(err, ErrNoServer) {
		t.Errorf("Dial: %v", err)
	}
	if s, err := Listen(Options{Folder: folder, Session: "s1"}); err == nil {
		t.Error("Listen replaced what it could not look at", s.Close())
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("it is gone: %v", err)
	}
}

func FuzzRequest(f *testing.F) {
	for _, line := range []string{`{"id":1,"op":"list"}`, `{"id":2,"op":"wait","tasks":["b1"],"count":1}`, `{}`, `[]`, `null`, `{"op":"stop","tasks":[""]}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseRequest(line)
		if err == nil && r.Op != List && (len(r.Tasks) == 0 || len(r.Tasks) > longestRequest) {
			t.Errorf("%q gives %+v", line, r)
		}
		if _, err := json.Marshal(Answer{ID: r.ID}); err != nil {
			t.Error(err)
		}
	})
}
