package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"heddle/internal/task"
)

func parent(path string) string { return filepath.Dir(path) }

// A Client is a connection to a session. Its methods may be called from several
// goroutines.
type Client struct {
	Hello Hello

	conn *net.UnixConn
	done chan struct{} // closed when read has returned

	mu      sync.Mutex
	last    int64
	waiting map[int64]chan Answer // of capacity 1; closed when the connection is gone
	gone    error
}

// Dial connects to the session whose socket is in folder. If nobody listens there, that
// is [ErrNoServer].
func Dial(ctx context.Context, folder, session string) (*Client, error) {
	path := socketPath(folder, session)
	if err := ownFolder(parent(path)); err != nil {
		return nil, fmt.Errorf("connect to session %s: %w", session, err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case vacant(err):
		return nil, fmt.Errorf("connect to session %s: %w", session, ErrNoServer)
	default:
		return nil, fmt.Errorf("connect to session %s: %w", session, err)
	}
	c := &Client{conn: conn.(*net.UnixConn), done: make(chan struct{}), waiting: map[int64]chan Answer{}}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	lines := bufio.NewReader(conn)
	err = c.greet(lines, patience)
	if !stop() && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to session %s: %w", session, err), conn.Close())
	}
	go c.read(lines) // Close waits for it
	return c, nil
}

// greet reads the greeting. A process that was stopped (^Z) lets others connect, but says
// nothing.
func (c *Client) greet(lines *bufio.Reader, patience time.Duration) error {
	if err := sameUser(c.conn); err != nil {
		return err
	}
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	line, err := lines.ReadBytes('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("it does not answer: nothing came within %v", patience)
	}
	if err != nil {
		return fmt.Errorf("no greeting: %w", err)
	}
	var refusal Answer
	switch err := json.Unmarshal(line, &c.Hello); {
	case err == nil && c.Hello.Version != 0:
	case json.Unmarshal(line, &refusal) == nil && refusal.Error != "":
		return fmt.Errorf("it refuses: %s", refusal.Error)
	default:
		return errors.New("what listens there is no heddle")
	}
	if c.Hello.Version != Version {
		return fmt.Errorf("it speaks version %d of the protocol, this program version %d: use the same heddle for both", c.Hello.Version, Version)
	}
	return c.conn.SetReadDeadline(time.Time{})
}

// Close ends the connection, and returns when nothing of it is left.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.done
	return err
}

// Do sends a request and returns the tasks of its answer. The id of r is ours to set.
func (c *Client) Do(ctx context.Context, r Request) ([]task.Record, error) {
	id, answer, err := c.send(r)
	if err != nil {
		return nil, err
	}
	select {
	case a, ok := <-answer:
		switch {
		case !ok:
			return nil, c.gone
		case a.Error != "":
			return a.Tasks, errors.New(a.Error)
		}
		return a.Tasks, nil
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, id) // the answer may still come
		c.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// send sends a request. Its answer arrives on the channel, which is closed instead when
// the connection is gone.
func (c *Client) send(r Request) (int64, <-chan Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone != nil {
		return 0, nil, c.gone
	}
	c.last++
	r.ID = c.last
	line, err := json.Marshal(r)
	if err != nil {
		return 0, nil, fmt.Errorf("ask session %s: %w", c.Hello.Session, err)
	}
	answer := make(chan Answer, 1)
	c.waiting[r.ID] = answer
	err = c.conn.SetWriteDeadline(time.Now().Add(patience)) // the lock is held
	if err == nil {
		_, err = c.conn.Write(append(line, '\n'))
	}
	if err != nil {
		_ = c.conn.Close() // half a line may be out
		return 0, nil, fmt.Errorf("ask session %s: %w", c.Hello.Session, errors.Join(ErrLost, err))
	}
	return r.ID, answer, nil
}

// read hands answers to those who wait for them.
func (c *Client) read(lines *bufio.Reader) {
	defer close(c.done)
	var err error
	for {
		var line []byte
		if line, err = lines.ReadBytes('\n'); err != nil {
			break
		}
		var a Answer
		if json.Unmarshal(line, &a) != nil {
			continue // of a later version
		}
		c.mu.Lock()
		if w := c.waiting[a.ID]; w != nil {
			delete(c.waiting, a.ID)
			w <- a
		}
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = fmt.Errorf("session %s: %w (%w)", c.Hello.Session, ErrLost, err)
	for id, w := range c.waiting {
		delete(c.waiting, id)
		close(w)
	}
}
