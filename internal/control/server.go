package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"heddle/internal/task"
)

// Options say what a server is for.
type Options struct {
	Folder  string // for sockets; made when needed, 0700
	Session string
	Dir     string
	Tasks   Tasks
}

// A Server answers for one session until it is closed.
type Server struct {
	opts     Options
	started  time.Time
	maxIdle  time.Duration
	listener *net.UnixListener
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
	slots    chan struct{} // one for each client
}

// Listen makes the socket of a session and answers on it. A socket that a dead session
// left is replaced.
func Listen(o Options) (*Server, error) { return listen(o, maxIdle) }

func listen(o Options, maxIdle time.Duration) (*Server, error) {
	path := socketPath(o.Folder, o.Session)
	l, err := bind(path)
	if err != nil {
		return nil, fmt.Errorf("open the socket of the session: %w", err)
	}
	s := &Server{opts: o, started: time.Now(), maxIdle: maxIdle, listener: l, slots: make(chan struct{}, maxClients)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.work.Go(s.accept)
	return s, nil
}

// bind makes the socket. The folder lets nobody else in, also before the mode is set.
func bind(path string) (*net.UnixListener, error) {
	if err := ownFolder(parent(path)); err != nil {
		return nil, err
	}
	switch c, err := net.Dial("unix", path); {
	case err == nil:
		_ = c.Close()
		return nil, fmt.Errorf("%s is in use", path)
	case !vacant(err): // somebody may listen, who would never be reached again
		return nil, fmt.Errorf("find out whether it is in use: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Remove removes the socket that a session left when it died. The caller knows that the
// session is dead, and keeps it from starting again meanwhile.
func Remove(folder, session string) error {
	err := os.Remove(socketPath(folder, session))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Close removes the socket and ends all connections. Who waits for a task that has ended
// by now still gets the answer.
func (s *Server) Close() error {
	s.cancel()
	err := s.listener.Close() // removes the file, too
	s.work.Wait()
	return err
}

func (s *Server) accept() {
	for {
		c, err := s.listener.AcceptUnix()
		switch {
		case s.ctx.Err() != nil:
			if err == nil {
				_ = c.Close()
			}
			return
		case err != nil: // for instance, there are too many open files
			select {
			case <-time.After(100 * time.Millisecond):
			case <-s.ctx.Done():
			}
			continue
		}
		if sameUser(c) != nil {
			_ = c.Close()
			continue
		}
		select {
		case s.slots <- struct{}{}:
			s.work.Go(func() {
				defer func() { <-s.slots }()
				s.serve(c)
			})
		default:
			refuse(c)
		}
	}
}

// refuse tells a client that there are too many. A line fits the buffer of a new
// connection, so this does not wait.
func refuse(c *net.UnixConn) {
	if line, err := json.Marshal(Answer{Error: fmt.Sprintf("%d connections are open already", maxClients)}); err == nil {
		_, _ = c.Write(append(line, '\n')) // it learns the same from the end of the connection
	}
	_ = c.Close()
}

// A client is one connection.
type client struct {
	*Server
	conn    *net.UnixConn
	ctx     context.Context // ends with the connection
	pending sync.WaitGroup
	slots   chan struct{} // one for each request without an answer

	mu sync.Mutex // held while a line is written
}

func (s *Server) serve(conn *net.UnixConn) {
	ctx, cancel := context.WithCancel(s.ctx)
	c := &client{Server: s, conn: conn, ctx: ctx, slots: make(chan struct{}, maxPending)}
	context.AfterFunc(ctx, func() { // answers that are ready still go out
		_ = conn.CloseRead()
		time.AfterFunc(parting, func() { _ = conn.Close() })
	})
	defer func() {
		cancel()
		c.pending.Wait()
		_ = conn.Close()
	}()
	if c.write(Hello{Version, s.opts.Session, os.Getpid(), s.opts.Dir, s.started}) != nil {
		return
	}
	c.read()
}

// read takes requests until the client leaves or does not keep to the rules.
func (c *client) read() {
	lines := bufio.NewScanner(c)
	lines.Buffer(make([]byte, 4<<10), maxLine)
	second, count := time.Now(), 0
	for lines.Scan() {
		if now := time.Now(); now.Sub(second) > time.Second {
			second, count = now, 0
		}
		if count++; count > maxRate {
			_ = c.write(Answer{Error: fmt.Sprintf("too many requests: %d in a second at most", maxRate)})
			return
		}
		r, err := parseRequest(lines.Bytes())
		if err != nil {
			_ = c.write(Answer{ID: r.ID, Error: err.Error()})
			continue
		}
		select {
		case c.slots <- struct{}{}:
		default:
			_ = c.write(Answer{ID: r.ID, Error: fmt.Sprintf("%d requests wait for their answers already", maxPending)})
			continue
		}
		c.pending.Go(func() {
			defer func() { <-c.slots }()
			a, err := c.answer(r)
			if err == nil {
				_ = c.write(a) // if the client has left, its read says so
			}
		})
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		_ = c.write(Answer{Error: fmt.Sprintf("a request is %d bytes long at most", maxLine)})
	}
}

// Read reads from the connection. It ends for a client that sends nothing for long and
// waits for nothing, since it takes the place of another.
func (c *client) Read(p []byte) (int, error) {
	for {
		if err := c.conn.SetReadDeadline(time.Now().Add(c.maxIdle)); err != nil {
			return 0, err
		}
		n, err := c.conn.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || len(c.slots) == 0 {
			return n, err
		}
	}
}

func (c *client) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err = c.conn.Write(append(line, '\n')); err != nil {
		_ = c.conn.Close() // half a line may be out
	}
	return err
}

// answer does what a request asks for. It returns an error if the connection ended
// before there was an answer.
func (c *client) answer(r Request) (Answer, error) {
	a := Answer{ID: r.ID}
	var err error
	switch r.Op {
	case List:
		for _, s := range c.opts.Tasks.List() {
			a.Tasks = append(a.Tasks, recordOf(s))
		}
		return a, nil
	case Wait:
		if err = c.wait(r); errors.Is(err, context.Canceled) {
			return a, err
		}
	case Stop:
		err = c.stop(r)
	}
	for _, id := range r.Tasks {
		s, ok := c.opts.Tasks.Find(id)
		if !ok {
			err = errors.Join(err, fmt.Errorf("there is no task %s", id))
			continue
		}
		a.Tasks = append(a.Tasks, recordOf(s))
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a, nil
}

// wait waits for the tasks that run.
func (c *client) wait(r Request) error {
	var running []task.ID
	ended := 0
	for _, id := range r.Tasks {
		switch s, ok := c.opts.Tasks.Find(id); {
		case !ok:
			return nil // at once: answer says so
		case s.Status.Terminal():
			ended++
		default:
			running = append(running, id)
		}
	}
	want := len(running)
	if r.Count > 0 {
		want = min(want, r.Count-ended)
	}
	if want <= 0 {
		return nil
	}
	_, err := c.opts.Tasks.Wait(c.ctx, running, task.Condition{Count: want})
	return err
}

// stop ends the tasks, all at once.
func (c *client) stop(r Request) error {
	errs := make([]error, len(r.Tasks))
	var all sync.WaitGroup
	for i, id := range r.Tasks {
		all.Go(func() { errs[i] = c.opts.Tasks.Kill(id, task.ErrKilled) })
	}
	all.Wait()
	return errors.Join(errs...)
}
