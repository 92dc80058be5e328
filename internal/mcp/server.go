package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	firstPause = time.Second // before a server that died is started again; doubles
	lastPause  = time.Minute
	steady     = time.Minute // who was up for this long starts again with the first pause
	// A server that says all the time that its lists changed is asked this often at most.
	listPause = 500 * time.Millisecond
)

// server is one server through all its connections.
type server struct {
	Config
	shown  string // in the names of its tools
	opts   Options
	cancel context.CancelFunc
	tell   func()

	settled chan struct{} // closed when it came up or failed for the first time
	over    chan struct{} // closed when it is gone
	lists   chan struct{} // capacity 1: what it offers has changed
	again   chan struct{} // capacity 1: start anew
	// survivors says what could not be ended. Written before over is closed.
	survivors error

	mu        sync.Mutex
	state     State
	err       error
	conn      *connection // nil unless connected
	offers    offer
	took      time.Duration
	reporters map[string]func(string) // of running calls, by progress token
	calls     int
	uses      int             // what is being asked of it
	busy      context.Context // until uses is 0
	idle      context.CancelFunc
	asking    bool // it asks the user something
}

// offer is what a server has.
type offer struct {
	tools        []Tool
	prompts      []Prompt
	resources    bool
	instructions string
	version      string
	warnings     []string
}

// errAnew ends a connection that is to be made anew.
var errAnew = errors.New("it is started anew")

// run keeps the server up until ctx is done. One that never came up is left alone, until it
// is asked for; one that was up may be back at any time.
func (v *server) run(ctx context.Context) {
	defer close(v.over)
	known := false
	for pause := firstPause; ; {
		began := time.Now()
		wasUp, err := v.live(ctx)
		if ctx.Err() != nil {
			break
		}
		known = known || wasUp
		if time.Since(began) > steady || errors.Is(err, errAnew) {
			pause = firstPause
		}
		switch {
		case errors.Is(err, errAnew):
		case !known, v.stateOf(err) == NeedsAuth && !wasUp:
			v.rest(ctx, nil)
		default:
			v.become(Pending, fmt.Errorf("%w; it is started again in %v", err, pause))
			timer := time.NewTimer(pause)
			v.rest(ctx, timer.C)
			timer.Stop()
			pause = min(2*pause, lastPause)
		}
		if ctx.Err() != nil {
			break
		}
		v.become(Pending, nil)
	}
	v.become(Failed, errors.New("it was ended"))
}

// rest waits until the server is to be started again, or ctx is done.
func (v *server) rest(ctx context.Context, over <-chan time.Time) {
	select {
	case <-over:
	case <-v.again:
	case <-ctx.Done():
	}
}

// live is one connection from its start to its end. wasUp reports whether it came up.
func (v *server) live(ctx context.Context) (wasUp bool, err error) {
	began := time.Now()
	conn, err := v.connect(ctx)
	if err != nil {
		v.become(v.stateOf(err), err)
		return false, err
	}
	defer func() { v.survivors = conn.end() }()
	offers, err := v.look(ctx, conn)
	if err != nil {
		err = v.explain(conn, err)
		v.become(v.stateOf(err), err)
		return false, err
	}
	v.up(conn, offers, time.Since(began))
	gone := make(chan error, 1)
	go func() { gone <- conn.Wait() }() // ends with the connection
	for {
		select {
		case err := <-gone:
			return true, v.explain(conn, cmp.Or(err, errors.New("it closed the connection")))
		case <-v.lists:
			v.refresh(ctx, conn)
		case <-v.again:
			return true, errAnew
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
	}
}

// stateOf says what became of a server that did not come up.
func (v *server) stateOf(err error) State {
	if errors.Is(err, errDenied) {
		return NeedsAuth
	}
	return Failed
}

// become changes the state. The first time that it is not pending settles the server.
func (v *server) become(s State, err error) {
	v.mu.Lock()
	v.state, v.err, v.conn = s, err, nil
	v.mu.Unlock()
	v.settle()
	v.opts.Logger.Info("mcp server", "server", v.Name, "state", string(s), "error", errorText(err))
	v.tell()
}

func (v *server) up(conn *connection, o offer, took time.Duration) {
	v.mu.Lock()
	v.state, v.err, v.conn, v.offers, v.took = Connected, nil, conn, o, took
	v.mu.Unlock()
	v.settle()
	v.opts.Logger.Info("mcp server", "server", v.Name, "state", string(Connected), "tools", len(o.tools))
	v.tell()
}

// settle is only called by the goroutine of run.
func (v *server) settle() {
	select {
	case <-v.settled:
	default:
		close(v.settled)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// refresh looks anew at what the server offers. What it had stays if that does not work.
func (v *server) refresh(ctx context.Context, conn *connection) {
	wait := time.NewTimer(listPause) // more changes come together
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return
	}
	o, err := v.look(ctx, conn)
	if err != nil {
		v.opts.Logger.Warn("mcp server: look at what changed", "server", v.Name, "error", v.redact(err.Error()))
		return
	}
	v.mu.Lock()
	v.offers = o
	v.mu.Unlock()
	v.tell()
}

// offer returns what the server has, nothing while it is not up.
func (v *server) offer() offer {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn == nil {
		return offer{}
	}
	return v.offers
}

func (v *server) status() Status {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := Status{
		Name: v.Name, Shown: v.shown, State: v.state, Error: errorText(v.err), Source: v.Source, Took: v.took,
	}
	if v.conn != nil {
		o := v.offers
		s.Version, s.Instructions, s.Warnings = o.version, o.instructions, o.warnings
		s.Tools, s.Prompts, s.Resources = len(o.tools), len(o.prompts), o.resources
	}
	return s
}

// connected returns the connection, or why there is none.
func (v *server) connected() (*connection, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.conn != nil:
		return v.conn, nil
	case v.err != nil:
		return nil, fmt.Errorf("the MCP server %q is not there: %w", v.Name, v.err)
	}
	return nil, fmt.Errorf("the MCP server %q is still starting; try again later", v.Name)
}

// client answers what the server asks, and hears what it tells.
func (v *server) client() *sdk.Client {
	changed := func() {
		select {
		case v.lists <- struct{}{}:
		default:
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "heddle", Version: v.opts.Version}, &sdk.ClientOptions{
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { changed() },
		PromptListChangedHandler:    func(context.Context, *sdk.PromptListChangedRequest) { changed() },
		ResourceListChangedHandler:  func(context.Context, *sdk.ResourceListChangedRequest) { changed() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { v.progress(r.Params) },
		ElicitationHandler:          v.elicit,
		Capabilities:                capabilities(),
	})
	return client
}
