package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// protocols are what is spoken, in the order in which it is tried. Nearly all servers know
// the first; one that has given it up says so, and is asked anew.
var protocols = [...]string{"2025-11-25", "2026-07-28"}

// connection is a session with a server over a carrier.
type connection struct {
	*sdk.ClientSession
	carrier carrier
}

// carrier brings messages to a server and back.
type carrier interface {
	sdk.Transport
	// end ends what there is of the connection, also while it is being made. It may be
	// called more than once. The error says what could not be ended.
	end() error
	// wait waits until the end of the other side is known, where it can be, or ctx is done.
	wait(ctx context.Context)
	// last says what is known of the end of the other side, such as its exit code, or "".
	last() string
	// refused reports whether the server wants to know who is asking.
	refused() bool
}

// end ends the connection, and whatever runs for it.
func (c *connection) end() error {
	err := c.carrier.end()
	_ = c.Close() // nothing is left to be closed politely
	return err
}

// errUnauthorized says that a server wants to know who is asking.
var errUnauthorized = fmt.Errorf("%w: give it a token under headers, as \"Authorization\": \"Bearer ${TOKEN}\"", errDenied)

var errDenied = errors.New("it wants to know who is asking")

// unauthorized says what to do about it.
func (v *server) unauthorized() error {
	for name := range v.Headers {
		if strings.EqualFold(name, "Authorization") {
			return fmt.Errorf("%w; it refused the token that stands under headers", errDenied)
		}
	}
	return errUnauthorized
}

// connect makes a connection within the limit for starts.
func (v *server) connect(ctx context.Context) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, v.opts.StartLimit)
	defer cancel()
	for i, p := range protocols {
		conn, err := v.try(ctx, p)
		if err == nil || i == len(protocols)-1 || !outdated(err) {
			return conn, err
		}
	}
	panic("unreachable: the last protocol returns")
}

// outdated reports whether a server refused the way it was asked, and may know another.
func outdated(err error) bool {
	var refusal *jsonrpc.Error
	return errors.As(err, &refusal) && (refusal.Code == jsonrpc.CodeMethodNotFound || refusal.Code == sdk.CodeUnsupportedProtocolVersion)
}

// try makes one attempt.
func (v *server) try(ctx context.Context, protocol string) (*connection, error) {
	c := v.carrier()
	stop := context.AfterFunc(ctx, func() { _ = c.end() }) // the attempt fails, which tells why
	session, err := v.client().Connect(ctx, c, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		over := ctx.Err()
		v.survivors = c.end()
		stop()
		if errors.Is(over, context.DeadlineExceeded) {
			err = fmt.Errorf("it did not come up within %v", v.opts.StartLimit)
		}
		return nil, v.explainEnd(c, err)
	}
	if !stop() { // the time was up in the same moment
		v.survivors = c.end()
		_ = session.Close()
		return nil, v.explainEnd(c, fmt.Errorf("it did not come up within %v", v.opts.StartLimit))
	}
	return &connection{session, c}, nil
}

func (v *server) carrier() carrier {
	if v.Type == "stdio" {
		return newStdio(&v.Config, v.opts)
	}
	return newRemote(&v.Config)
}

func (v *server) explain(c *connection, err error) error { return v.explainEnd(c.carrier, err) }

// explainEnd adds to an error what is known of the other side, and takes secrets out.
func (v *server) explainEnd(c carrier, err error) error {
	if c.refused() {
		return v.unauthorized()
	}
	text := err.Error()
	var unreached *url.Error
	var elsewhere *sentOn
	if errors.As(err, &elsewhere) {
		text = elsewhere.Error()
	} else if errors.As(err, &unreached) {
		text = fmt.Sprintf("%s cannot be reached: %v", withoutQuery(unreached.URL), unreached.Err)
	}
	if last := c.last(); last != "" {
		text += "; " + last
		if errors.Is(err, sdk.ErrConnectionClosed) || strings.HasSuffix(err.Error(), "EOF") {
			text = last // the closed connection is only what followed
		}
	}
	said := &toldError{text: ends(v.redact(text), lastWords)}
	var refusal *jsonrpc.Error
	if errors.As(err, &refusal) {
		said.cause = refusal
	}
	return said
}

// toldError is an error in words that may be shown.
type toldError struct {
	text  string
	cause error
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return e.cause }

// lastWords is how much is told of what a server said last, in bytes.
const lastWords = 2000

// ends leaves the middle of a long text out. No character is cut in two.
func ends(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit/2], "") + " … " + strings.ToValidUTF8(text[len(text)-limit/2:], "")
}

// capabilities are what servers may ask this program for.
func capabilities() *sdk.ClientCapabilities {
	return &sdk.ClientCapabilities{
		Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}},
	}
}
