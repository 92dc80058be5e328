// Package scripted is a model that plays a script: for tests, demos and bug
// reports. A script is YAML; docs/scripted-models.md describes it.
//
// An [Engine] finds the next answer of an agent by looking at its conversation
// and nothing else, so that a script goes on after a resume as if nothing had
// happened. A [Provider] plays it inside the program; package fakeapi over HTTP.
package scripted

import "heddle/internal/message"

// Script says what each agent answers, turn by turn.
type Script struct {
	// Window is how many tokens a prompt may have. A longer one is refused as a
	// real model refuses it. 0 is no limit.
	Window int    `yaml:"window"`
	Usage  *Usage `yaml:"usage"` // of every turn that has none of its own
	// Quirks make the Chat Completions side of the fake server behave like some
	// local servers.
	Quirks Quirks  `yaml:"quirks"`
	Agents []Agent `yaml:"agents"`

	name string // where it was read from
}

// Agent is a rule: the first that fits an agent plays it.
type Agent struct {
	Main   bool   `yaml:"main"`   // only the main conversation
	Type   string `yaml:"type"`   // only agents of this type
	Name   string `yaml:"name"`   // only the agent of this name
	Prompt Phrase `yaml:"prompt"` // only if the first text of the user matches
	System Phrase `yaml:"system"` // only if the system prompt matches
	// Summary answers a request to summarise the conversation. Such a request
	// takes no turn.
	Summary string `yaml:"summary"`
	Turns   []Turn `yaml:"turns"`
}

// Turn is one answer.
type Turn struct {
	// Wait holds the turn back until a message that matches has arrived.
	Wait Pattern `yaml:"wait"`
	// Expect must match what came since the last answer, or the run fails.
	Expect Pattern `yaml:"expect"`
	// Capture takes values out of what came since the last answer: the first group
	// of a pattern, or the whole match.
	Capture map[string]Pattern `yaml:"capture"`

	Thinking string             `yaml:"thinking"`
	Text     string             `yaml:"text"`
	Calls    []Call             `yaml:"calls"`
	Stop     message.StopReason `yaml:"stop"`
	Refusal  *Refusal           `yaml:"refusal"`
	Usage    *Usage             `yaml:"usage"`

	Pause  Duration `yaml:"pause"`  // before the answer begins
	Pace   Duration `yaml:"pace"`   // between two pieces of it
	Chunk  int      `yaml:"chunk"`  // characters of a piece; 0: 40
	Repeat Count    `yaml:"repeat"` // how many turns like this there are
	Fail   *Failure `yaml:"fail"`
}

// Call is a tool call.
type Call struct {
	Tool  string `yaml:"tool"`
	ID    string `yaml:"id"` // made up if empty
	Input Input  `yaml:"input"`
	// InputRaw is the text of the input as it is sent, JSON or not.
	InputRaw *string `yaml:"input_raw"`
}

// Refusal is what the provider says when the model declines.
type Refusal struct {
	Category    string `yaml:"category"`
	Explanation string `yaml:"explanation"`
}

// Usage stands in for the figures that are derived from lengths.
type Usage struct {
	Input        int `yaml:"input"`
	CacheRead    int `yaml:"cache_read"`
	CacheWrite   int `yaml:"cache_write"`
	CacheWrite1h int `yaml:"cache_write_1h"`
	Output       int `yaml:"output"`
}

// Tokens returns u in the words of a conversation.
func (u Usage) Tokens() message.Usage {
	return message.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CacheWrite1h: u.CacheWrite1h, Output: u.Output}
}

// Failure is a way in which a request fails. It happens Times times, once if that
// is 0, and then the turn is played. One of the other groups is set.
type Failure struct {
	Times Count `yaml:"times"`

	// Instead of an answer: an error of HTTP …
	Status     int      `yaml:"status"`
	Type       string   `yaml:"type"` // what the status means if empty
	Code       string   `yaml:"code"`
	Message    string   `yaml:"message"`
	RetryAfter Duration `yaml:"retry_after"`
	HTML       int      `yaml:"html"` // … or a page with this status, as proxies send

	// Within the answer, after so many of its pieces:
	After      int      `yaml:"after"`
	Cut        Cut      `yaml:"cut"`         // the connection ends
	ErrorEvent string   `yaml:"error_event"` // an error of this type; Message may say more
	Silence    Duration `yaml:"silence"`     // nothing comes for so long, then the connection ends
	Pings      Duration `yaml:"pings"`       // nothing but pings comes for so long, then the answer goes on
	Disorder   bool     `yaml:"disorder"`    // a piece of a block that has not begun
}

// Cut is where a connection ends.
type Cut string

const (
	Between Cut = "between" // two events
	Within  Cut = "within"  // an event
	Clean   Cut = "clean"   // between two events, and as if the answer were whole
)

// Quirks are what local servers do differently.
type Quirks struct {
	ZeroIndex  bool `yaml:"zero_index"`   // every call has index 0
	NoIDs      bool `yaml:"no_ids"`       // calls have no id
	WholeCalls bool `yaml:"whole_calls"`  // a call comes in one piece
	StopOnCall bool `yaml:"stop_on_call"` // finish_reason is stop in spite of calls
	Reasoning  bool `yaml:"reasoning"`    // thinking is called reasoning, not reasoning_content
	NoDone     bool `yaml:"no_done"`      // no [DONE] at the end
	NoUsage    bool `yaml:"no_usage"`     // no usage, whatever is asked for
}

// pieces returns how a block of text is cut for the stream.
func (t Turn) pieces(s string) []string {
	size := t.Chunk
	if size <= 0 {
		size = 40
	}
	var out []string
	for r := []rune(s); len(r) > 0; {
		n := min(size, len(r))
		out = append(out, string(r[:n]))
		r = r[n:]
	}
	return out
}

// times is how many turns t stands for.
func (t Turn) times() int { return max(int(t.Repeat), 1) }
