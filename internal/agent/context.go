package agent

import (
	"maps"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/tool"
)

// Context is what an agent knows and has used. It belongs to one run at a time.
type Context struct {
	History *History
	Scope   *tool.Scope
	Tally   Tally
	// LastModel is the id of the model that answered last. Its reasoning can be read
	// by no other.
	LastModel string
}

// NewContext returns the context of an agent that knows nothing yet.
func NewContext(prompt model.Prompt, scope *tool.Scope) *Context {
	return &Context{History: NewHistory(prompt), Scope: scope}
}

// Tally adds up what a conversation costs. Only responses count, each once.
type Tally struct {
	Prompt   int     // tokens of the newest prompt and its answer; prompts are cumulative, so they are not summed
	Output   int     // tokens of all answers
	USD      float64 // of all requests, as far as prices are known
	Requests int
	ByModel  map[string]ModelTally
}

// ModelTally is the share of one model.
type ModelTally struct {
	Usage message.Usage
	USD   float64
	Info  model.Info
}

// Clone returns a copy that does not change.
func (t Tally) Clone() Tally {
	t.ByModel = maps.Clone(t.ByModel)
	return t
}

// Merge adds what another conversation has used. The newest prompt stays that of this one.
func (t *Tally) Merge(o Tally) {
	t.Output += o.Output
	t.USD += o.USD
	t.Requests += o.Requests
	for id, theirs := range o.ByModel {
		if t.ByModel == nil {
			t.ByModel = map[string]ModelTally{}
		}
		m := t.ByModel[id]
		m.Usage, m.USD, m.Info = m.Usage.Add(theirs.Usage), m.USD+theirs.USD, theirs.Info
		t.ByModel[id] = m
	}
}

// add counts one response.
func (t *Tally) add(info model.Info, u message.Usage) (usd float64) {
	usd = info.Cost(u)
	t.Prompt = u.Prompt() + u.Output
	t.Output += u.Output
	t.USD += usd
	t.Requests++
	if t.ByModel == nil {
		t.ByModel = map[string]ModelTally{}
	}
	m := t.ByModel[info.ID]
	m.Usage = m.Usage.Add(u)
	m.USD += usd
	m.Info = info
	t.ByModel[info.ID] = m
	return usd
}
