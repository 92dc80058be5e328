package headless

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/session"
)

// inputMessage is one line of standard input.
type inputMessage struct {
	Type    string          `json:"type"`
	UUID    string          `json:"uuid"`
	Message json.RawMessage `json:"message"`
	// Query false adds the message to the conversation without a turn.
	Query     *bool `json:"shouldQuery"`
	Synthetic bool  `json:"isSynthetic"`

	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	Response  json.RawMessage `json:"response"`
}

// RunStream drives s by the messages on in until it ends: each user message is a
// turn of its own, and those that come while one runs wait in order. asks
// connects the session's questions to the host, if the host wants them.
func RunStream(ctx context.Context, s *session.Session, in io.Reader, asks bool, o Options) error {
	over, release := newPatience(ctx)
	defer release()
	d := newDriver(s, o.through(over))
	c := &conversation{driver: d, host: newHost(d.w), arrived: make(chan struct{}, 1)}
	if asks {
		s.SetAsker(&asker{host: c.host})
	}
	defer d.w.end()
	wait, cancel := context.WithCancel(ctx)
	c.cut = cancel
	go c.read(in) // ends with in; a read cannot be interrupted, and the program ends with its turns
	s.Ready(wait)
	c.begin()
	d.init()
	defer d.tasks.watch()()
	defer c.leave()
	for {
		next, open := c.next(ctx)
		if !open {
			return c.finish(ctx)
		}
		if err := c.run(ctx, next); err != nil {
			return err
		}
	}
}

// run runs one queued input.
func (c *conversation) run(ctx context.Context, next queued) error {
	switch {
	case next.bad != nil:
		c.notice("warning", next.bad.Error())
		return nil
	case next.woken != nil:
		return c.turn(ctx, next.woken...)
	case next.silent:
		if err := c.s.Note(next.input); err != nil {
			return err
		}
		c.added(agent.Added{
			Message: message.Message{Role: message.User, Content: next.input.Content},
			Origin:  next.input.Origin, InputID: next.input.ID,
		})
		return nil
	}
	if next.interrupted {
		interrupted, cancel := context.WithCancelCause(ctx)
		cancel(session.ErrInterrupted)
		ctx = interrupted
	}
	return c.turn(ctx, next.input)
}

// conversation is a driver with a queue that a reader fills.
type conversation struct {
	*driver
	host    *host
	arrived chan struct{}  // something changed, look again
	slow    sync.WaitGroup // requests that are answered when they have been carried out

	mu     sync.Mutex
	queue  []queued
	cut    context.CancelFunc // ends the wait before the first turn; nil when that is over
	closed bool               // no more input
	left   bool               // nobody works on requests any more
}

// later carries out a request that takes its time.
func (c *conversation) later(carryOut func()) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.left {
		c.slow.Go(carryOut)
	}
	return !c.left
}

// leave waits for requests that are still carried out, and takes no more such.
func (c *conversation) leave() {
	c.mu.Lock()
	c.left = true
	c.mu.Unlock()
	c.slow.Wait()
}

// begin says that turns begin.
func (c *conversation) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut()
	c.cut = nil
}

// interruptFirst interrupts the turn that could not begin yet, if there is to be one. It is
// called with the lock held.
func (c *conversation) interruptFirst() {
	if c.cut == nil {
		return
	}
	i := slices.IndexFunc(c.queue, func(q queued) bool { return q.bad == nil && !q.silent && !q.interrupted })
	if i >= 0 {
		c.queue[i].interrupted = true
		c.cut()
	}
}

// queued is an input that waits for its turn.
type queued struct {
	input  agent.Input
	silent bool // no turn
	// interrupted says that the turn is to end at once: it was interrupted before it began.
	interrupted bool
	woken       []agent.Input // what background work has to tell, instead
	bad         error         // a line that could not be used, told in its place
}

// next waits for the next input; open is false when there will be none.
func (c *conversation) next(ctx context.Context) (q queued, open bool) {
	for {
		c.mu.Lock()
		if len(c.queue) > 0 {
			q, c.queue = c.queue[0], c.queue[1:]
			c.mu.Unlock()
			return q, true
		}
		closed := c.closed
		c.mu.Unlock()
		woken, notice := c.s.Wake()
		if notice != "" {
			c.warn(notice)
		}
		if woken != nil {
			return queued{woken: woken}, true
		}
		if closed || ctx.Err() != nil || c.w.err() != nil {
			return queued{}, false
		}
		select {
		case <-c.arrived:
		case <-c.s.Arrived():
		case <-ctx.Done():
			return queued{}, false
		}
	}
}

func (c *conversation) push(q queued) {
	c.mu.Lock()
	c.queue = append(c.queue, q)
	c.mu.Unlock()
	c.wake()
}

func (c *conversation) wake() {
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// maxLine is how long a line of input may be: a message with images.
const maxLine = 64 << 20

// read takes in standard input, line by line, to its end.
func (c *conversation) read(in io.Reader) {
	defer func() {
		c.host.leave()
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		c.wake()
	}()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			c.line(line)
		}
	}
	if err := lines.Err(); err != nil {
		c.push(queued{bad: fmt.Errorf("standard input: %w", err)})
	}
}

// line handles one line of input.
func (c *conversation) line(line []byte) {
	var m inputMessage
	if err := decode(line, &m); err != nil {
		c.push(queued{bad: fmt.Errorf("a line of standard input is no JSON object and was ignored: %v: %s", err, brief(string(line), 80))})
		return
	}
	switch m.Type {
	case "user":
		c.push(userInput(m))
	case "control_request":
		c.control(m.RequestID, bytes.Clone(m.Request))
	case "control_response":
		var a controlAnswer
		if err := decode(m.Response, &a); err == nil {
			c.host.answered(a)
		}
	case "control_cancel_request", "keep_alive":
		// Requests are answered at once, but for the stop of a task, which nobody can undo.
	default:
		c.push(queued{bad: fmt.Errorf("a message of type %q on standard input was ignored", m.Type)})
	}
}

func userInput(m inputMessage) queued {
	var msg message.Message
	if err := decode(m.Message, &msg); err != nil {
		return queued{bad: fmt.Errorf("a user message on standard input was ignored: %v", err)}
	}
	if msg.Role != message.User {
		return queued{bad: errors.New("a message on standard input was ignored: its role is not user")}
	}
	content := msg.Content[:0:0]
	for _, b := range msg.Content {
		switch b := b.(type) {
		case message.Text:
			if strings.TrimSpace(b.Text) != "" { // no API takes a text of nothing
				content = append(content, b)
			}
		case message.Image:
			if err := checkImage(b); err != nil {
				return queued{bad: fmt.Errorf("a user message on standard input was ignored: %v", err)}
			}
			content = append(content, b)
		default: // it would stand in the history, and every later request would be refused
			return queued{bad: errors.New("a user message on standard input was ignored: it may hold blocks of type text and image only")}
		}
	}
	if len(content) == 0 {
		return queued{bad: errors.New("an empty user message on standard input was ignored")}
	}
	origin := agent.Human
	if m.Synthetic {
		origin = agent.System
	}
	return queued{
		input:  agent.Input{Content: content, Origin: origin, ID: cmp.Or(m.UUID, session.NewID())},
		silent: m.Query != nil && !*m.Query,
	}
}

// checkImage reports what a provider would refuse an image for.
func checkImage(i message.Image) error {
	switch i.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return fmt.Errorf("an image has the media type %q: want image/png, image/jpeg, image/gif or image/webp", i.MediaType)
	}
	if _, err := base64.StdEncoding.DecodeString(i.Data); err != nil || i.Data == "" {
		return errors.New("the data of an image is not base64")
	}
	return nil
}

// decode reads JSON, and says what is wrong with it in words of JSON.
func decode(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("it cannot be of type %s", wrong.Value)
	}
	return fmt.Errorf("%s cannot be of type %s", wrong.Field, wrong.Value)
}
