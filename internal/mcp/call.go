package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"heddle/internal/tool"
)

// Call calls a tool by the server's name and its own. report, which may be nil, hears how
// far the call is. What the model reads when it does not work is in the result.
func (s *Set) Call(ctx context.Context, server, name string, input json.RawMessage, report func(text string)) tool.Result {
	v, err := s.get(server)
	if err != nil {
		return tool.Failf("%v.", err)
	}
	conn, err := v.connected()
	if err != nil {
		return tool.Failf("%v. Do what you can without it.", err)
	}
	if v.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, v.Timeout, fmt.Errorf("no answer within %v, the timeout of the server", v.Timeout))
		defer cancel()
	}
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	params := &sdk.CallToolParams{Name: name, Arguments: input}
	defer v.use()()
	token, done := v.reporting(report)
	defer done()
	params.SetProgressToken(token)
	res, err := conn.CallTool(ctx, params)
	if err != nil {
		return v.callFailed(ctx, conn, name, err)
	}
	return resultOf(res)
}

// callFailed words what kept a call from having a result.
func (v *server) callFailed(ctx context.Context, conn *connection, name string, err error) tool.Result {
	if ctx.Err() != nil {
		return tool.Failf("The call of %s was ended: %v. The server was told; what it has done already stays done.", name, context.Cause(ctx))
	}
	if errors.Is(err, sdk.ErrSessionMissing) {
		select {
		case v.again <- struct{}{}:
		default:
		}
		return tool.Failf("The MCP server %q has forgotten this session, and is being connected anew. The call did not run: try again in a moment.", v.Name)
	}
	if conn.carrier.refused() {
		return tool.Failf("The MCP server %q did not let this be called: %v.", v.Name, v.explain(conn, err))
	}
	if unreadable(err) {
		return tool.Failf("The answer of the MCP server %q cannot be read: %v. The call may have taken effect; look before you call again.", v.Name, v.explain(conn, err))
	}
	var refusal *jsonrpc.Error
	if !errors.As(err, &refusal) { // the connection is over; how it ended is known a moment later
		ctx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		conn.carrier.wait(ctx)
		return tool.Failf("The MCP server %q was gone before it had answered: %v. Whether the call took effect is not known; look before you call again. The server is started again in a while.", v.Name, v.explain(conn, err))
	}
	return tool.Failf("The MCP server %q refused the call of %s: %v", v.Name, name, v.explain(conn, err))
}

// unreadable reports whether an answer came and made no sense.
func unreadable(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	var encoding base64.CorruptInputError
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.As(err, &encoding) || strings.Contains(err.Error(), "unmarshal")
}

// use says that something was asked of the server until done is called: only then may it
// ask the user something.
func (v *server) use() (done func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.uses++; v.uses == 1 {
		v.busy, v.idle = context.WithCancel(context.Background())
	}
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.uses--; v.uses == 0 {
			v.idle()
		}
	}
}

// reporting lets report hear of the progress of a call until done is called.
func (v *server) reporting(report func(string)) (token string, done func()) {
	if report == nil {
		report = func(string) {}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	token = fmt.Sprintf("call-%d", v.calls)
	if v.reporters == nil {
		v.reporters = map[string]func(string){}
	}
	v.reporters[token] = report
	return token, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.reporters, token)
	}
}

// progress passes on how far a call is.
func (v *server) progress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	v.mu.Lock()
	report := v.reporters[token]
	v.mu.Unlock()
	if report == nil {
		return
	}
	text := fmt.Sprintf("%g", p.Progress)
	if p.Total > 0 {
		text += fmt.Sprintf(" of %g", p.Total)
	}
	if p.Message != "" {
		text += ": " + plain(p.Message, 200)
	}
	report(text)
}

// Deadline is how long calls of a server may take; 0 is for ever.
func (s *Set) Deadline(server string) time.Duration {
	v, err := s.get(server)
	if err != nil {
		return 0
	}
	return v.Timeout
}
