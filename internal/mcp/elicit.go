package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Elicitation is something that a server wants to know of the user.
type Elicitation struct {
	Message string
	Schema  json.RawMessage // of the answer: an object without nesting; empty for an address
	URL     string          // to be opened by the user, if the server asks that
	ID      string          // of an address
}

// Answer is what the user says to it.
type Answer struct {
	Action  string // accept, decline or cancel
	Content map[string]any
}

// The actions of an [Answer].
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel"
)

// elicit asks whoever answers, one question of a server at a time, and only while it is
// used: a question belongs to a call and ends with it. An answer that does not make sense is a refusal.
func (v *server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	v.mu.Lock()
	refuse := v.opts.Elicit == nil || v.uses == 0 || v.asking
	busy := v.busy
	v.asking = v.asking || !refuse
	v.mu.Unlock()
	if refuse { // nobody has asked it anything, or it asks already
		return &sdk.ElicitResult{Action: Decline}, nil
	}
	defer func() {
		v.mu.Lock()
		v.asking = false
		v.mu.Unlock()
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(busy, cancel)()
	e := Elicitation{Message: plain(r.Params.Message, maxDescription), URL: r.Params.URL, ID: r.Params.ElicitationID}
	if r.Params.RequestedSchema != nil {
		if text, err := json.Marshal(r.Params.RequestedSchema); err == nil && len(text) <= maxSchema {
			e.Schema = text
		}
	}
	a := v.opts.Elicit(ctx, v.Name, e)
	switch a.Action {
	case Accept:
		return &sdk.ElicitResult{Action: Accept, Content: a.Content}, nil
	case Cancel:
		return &sdk.ElicitResult{Action: Cancel}, nil
	}
	return &sdk.ElicitResult{Action: Decline}, nil
}
