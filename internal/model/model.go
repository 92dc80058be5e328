// Package model asks a language model and streams its answer.
//
// A [Provider] speaks one wire protocol and makes one attempt. A [Client] adds
// what every provider needs: retries, and one gate per provider so that many
// agents do not each hammer a limited key.
//
// History is append-only and sent as stored bytes. A provider encodes a message
// once, when it enters a history; a request is put together from those bytes,
// so its beginning is byte-identical to the request before it.
package model

import (
	"context"
	"encoding/json"
	"iter"

	"heddle/internal/message"
)

// Provider speaks one wire protocol. It is safe for use by many goroutines.
type Provider interface {
	// Name is the part before the slash in provider/model.
	Name() string

	// EncodePrefix serialises what stands before the messages. It is called
	// once per conversation; the bytes are sent with every request.
	EncodePrefix(Prompt) []byte

	// EncodeMessage serialises one message. Equal messages give equal bytes.
	// The result may be several JSON values joined by commas.
	EncodeMessage(message.Message) []byte

	// Stream makes one attempt. The last element is either a [Response] or an
	// error, which is an [*Error] unless ctx was cancelled. A stream that ends
	// before the provider said that the response is complete is an error.
	Stream(ctx context.Context, r *Request) iter.Seq2[Event, error]
}

// Prompt is what a conversation begins with and never changes.
type Prompt struct {
	System []string // one text block each
	Tools  []Tool   // in the order in which they are sent
}

// Tool is what a model is told of a tool.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // a compact JSON Schema object; sent as it is
}

// Request is one call of a model. All byte slices are shared, not copied.
type Request struct {
	Model  Info
	Prefix []byte // of [Provider.EncodePrefix]
	// Messages are of [Provider.EncodeMessage], in order. The first and the last are a user's.
	Messages [][]byte
	// Marks are indices into Messages after which a later request should be
	// able to start from the cache, in rising order, at most two. The prefix
	// and the last message need no mark. Providers that cache by
	// themselves ignore them.
	Marks     []int
	MaxTokens int    // limit of the answer, thinking included
	Effort    string // low, medium, high, xhigh or max; empty: the model's default
	Agent     Agent
}

// Agent says on whose behalf a request is made. It never influences a real
// model: it is for scripted ones, and goes no further than loopback.
type Agent struct {
	ID   string // empty for the main conversation
	Type string // "main", or the type of a sub-agent
	Name string
}

// Event is an element of a stream: [Started], [TextDelta], [ThinkingDelta],
// [ToolStarted], [InputDelta], [Retrying] or [Response].
type Event interface{ event() }

// Started says that the response began. From here on, the request's prefix can
// be read from the cache.
type Started struct {
	ID    string // the provider's id of the response
	Model string
	Usage message.Usage // of the prompt, where the provider says it now
}

// TextDelta is a piece of the text block at Index.
type TextDelta struct {
	Index int
	Text  string
}

// ThinkingDelta is a piece of the thinking block at Index.
type ThinkingDelta struct {
	Index int
	Text  string
}

// ToolStarted says that a tool call begins. Its input is not there yet.
type ToolStarted struct {
	Index int
	ID    string
	Name  string
}

// InputDelta is a piece of the JSON text of the input of the tool call at Index.
type InputDelta struct {
	Index int
	JSON  string
}

// Response is the whole answer, and always the last event.
type Response struct {
	ID      string
	Model   string
	Message message.Message // complete blocks only
	Stop    message.StopReason
	// Partial is the tool call that the limit of tokens cut off, if any. It is not
	// in Message, and must not run.
	Partial      *message.ToolUse
	StopSequence string
	Refusal      *RefusalDetails // with [message.Refusal], where the provider says more
	Usage        message.Usage
}

// RefusalDetails says why a model declined.
type RefusalDetails struct {
	Category    string
	Explanation string
}

func (Started) event()       {}
func (TextDelta) event()     {}
func (ThinkingDelta) event() {}
func (ToolStarted) event()   {}
func (InputDelta) event()    {}
func (Retrying) event()      {}
func (Response) event()      {}
