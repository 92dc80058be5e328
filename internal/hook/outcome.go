package hook

import (
	"encoding/json"
	"slices"
	"strings"
)

// Decisions of a hook about a call. A hook that defers is heard as one that asks.
const (
	Allow   = "allow"
	AskUser = "ask"
	Deny    = "deny"
)

// Outcome is what the hooks of one event had to say together. Its texts are plain and
// of limited length; a model gets them as in [Wrap].
type Outcome struct {
	// Blocked holds back what the event is about; Block says why, and is not empty then.
	Blocked bool
	Block   string
	// Stop ends the run ("continue": false).
	Stop       bool
	StopReason string

	Context  []string // for the model
	Messages []string // for people, who have been told already

	Decision     string // Allow, AskUser, Deny or empty
	Reason       string
	UpdatedInput json.RawMessage // an object

	// UpdatedOutput, a string or any other JSON, takes the place of a result.
	UpdatedOutput json.RawMessage

	Action  string          // of Elicitation: accept, decline or cancel
	Content json.RawMessage // of Elicitation, an object

	Permission *Permission // of PermissionRequest

	Title          string // sessionTitle
	FirstPrompt    string // initialUserMessage
	SuppressPrompt bool   // suppressOriginalPrompt
}

// Permission is an answer in the place of a person.
type Permission struct {
	Behavior           string // Allow or Deny
	UpdatedInput       json.RawMessage
	UpdatedPermissions json.RawMessage // a list, for the permission rules to judge
	Message            string
	Interrupt          bool
}

// strict returns the stricter of two words: the one that stands earlier in order. What
// is not in order loses.
func strict(order []string, a, b string) string {
	at := func(s string) int {
		if i := slices.Index(order, s); i >= 0 {
			return i
		}
		return len(order)
	}
	if at(b) < at(a) {
		return b
	}
	return a
}

// add puts o behind what is there, and reports whether it replaced an input that an
// earlier hook had changed too.
func (all *Outcome) add(o Outcome) (replaced bool) {
	all.Blocked = all.Blocked || o.Blocked
	all.Block = join(all.Block, o.Block)
	all.Stop = all.Stop || o.Stop
	all.StopReason = join(all.StopReason, o.StopReason)
	all.Context = append(all.Context, o.Context...)
	all.Messages = append(all.Messages, o.Messages...)
	all.decide(o)
	all.act(o)
	all.permit(o.Permission)
	if o.UpdatedInput != nil {
		replaced = all.UpdatedInput != nil
		all.UpdatedInput = o.UpdatedInput
	}
	if o.UpdatedOutput != nil {
		all.UpdatedOutput = o.UpdatedOutput
	}
	if o.Title != "" {
		all.Title = o.Title
	}
	all.FirstPrompt = join(all.FirstPrompt, o.FirstPrompt)
	all.SuppressPrompt = all.SuppressPrompt || o.SuppressPrompt
	return replaced
}

// decide keeps the strictest decision and the reasons of those who made it.
func (all *Outcome) decide(o Outcome) {
	switch {
	case o.Decision == "":
	case o.Decision == all.Decision:
		all.Reason = join(all.Reason, o.Reason)
	case strict([]string{Deny, AskUser, Allow}, all.Decision, o.Decision) == o.Decision:
		all.Decision, all.Reason = o.Decision, o.Reason
	}
}

// act keeps the strictest action, of several the last with its content.
func (all *Outcome) act(o Outcome) {
	if o.Action != "" && strict([]string{"decline", "cancel", "accept"}, all.Action, o.Action) == o.Action {
		all.Action, all.Content = o.Action, o.Content
	}
}

// permit keeps the strictest answer, of several that allow the last, of several that
// deny the messages of all.
func (all *Outcome) permit(p *Permission) {
	switch known := all.Permission; {
	case p == nil:
	case known == nil || known.Behavior != Deny:
		all.Permission = p
	case p.Behavior == Deny:
		known.Message = join(known.Message, p.Message)
		known.Interrupt = known.Interrupt || p.Interrupt
	}
}

func join(a, b string) string {
	return strings.Trim(a+"\n"+b, "\n")
}
