package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"

	"heddle/internal/task"
)

func parent(path string) string { return filepath.Dir(path) }

// A Client is a connection to a session. Its methods may be called from several
// goroutines.
type Client struct {
	Hello Hello

	conn *net.UnixConn

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
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("connect to session %s: %w", session, ErrNoServer)
	}
	c := &Client{conn: conn.(*net.UnixConn), waiting: map[int64]chan Answer{}}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	lines := bufio.NewReader(conn)
	err = c.greet(lines)
	if !stop() && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to session %s: %w", session, err), conn.Close())
	}
	go c.read(lines) // ends with the connection
	return c, nil
}

func (c *Client) greet(lines *bufio.Reader) error {
	if err := sameUser(c.conn); err != nil {
		return err
	}
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no greeting: %w", err)
	}
	if err := json.Unmarshal(line, &c.Hello); err != nil || c.Hello.Version == 0 {
		return errors.New("what listens there is no heddle")
	}
	if c.Hello.Version != Version {
		return fmt.Errorf("it speaks version %d of the protocol, this program version %d: use the same heddle for both", c.Hello.Version, Version)
	}
	return nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Do sends a request and returns the tasks of its answer. The id of r is ours to set.
func (c *Client) Do(ctx context.Context, r Request) ([]task.Record, error) {
	answer := make(chan Answer, 1)
	c.mu.Lock()
	if c.gone != nil {
		c.mu.Unlock()
		return nil, c.gone
	}
	c.last++
	r.ID = c.last
	c.waiting[r.ID] = answer
	line, err := json.Marshal(r)
	if err == nil {
		_, err = c.conn.Write(append(line, '\n'))
	}
	c.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("ask session %s: %w", c.Hello.Session, err)
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
		return nil, context.Cause(ctx)
	}
}

// read hands answers to those who wait for them.
func (c *Client) read(lines *bufio.Reader) {
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
	c.gone = fmt.Errorf("session %s has ended, or closed the connection: %w", c.Hello.Session, err)
	for id, w := range c.waiting {
		delete(c.waiting, id)
		close(w)
	}
}
