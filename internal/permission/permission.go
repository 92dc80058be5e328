// Package permission answers one question: may this call run? It knows modes,
// rules and the shell, and asks a person where they leave it open.
//
// What decides a call, first to last:
//
//	off limits   a refusal, whatever else is said: what an agent with a checkout of its
//	             own would change in the tree of whoever sent it ([tool.Scope.OffLimits])
//	deny rules   a refusal, in every mode
//	ask rules    a question, in every mode; so are tools that always ask,
//	             and rm on a path such as / or the home directory
//	mode         bypassPermissions allows, plan refuses changes
//	protected    a question about a change of what runs later on its own, such
//	             as a hook of git, unless a rule names exactly the file or command
//	allow rules  and what changes nothing, inside the working directories;
//	             what a skill in use may do, and what a hook has allowed
//	otherwise    a question, and a refusal if nobody is there to answer
//
// Commands are judged by what they say, not by what the programs they start do:
// a rule for rm does not see the rm in a script that is run, and a rule for a
// file sees the files that are named to cat or grep, not those that grep -r finds.
// Commands that only read may read anywhere, except where a rule forbids it.
package permission

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"heddle/internal/tool"
)

// Mode says what may run without asking.
type Mode string

const (
	Default     Mode = "default"           // reads in the working directories, and commands that change nothing
	AcceptEdits Mode = "acceptEdits"       // and edits of files in the working directories
	Plan        Mode = "plan"              // reads only; what would change something is refused
	DontAsk     Mode = "dontAsk"           // what would be asked is refused
	Bypass      Mode = "bypassPermissions" // everything but what the package comment names
)

// ParseMode returns the mode of that name. An empty name is Default, and so is
// its other name, manual.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case "", "manual":
		return Default, nil
	case Default, AcceptEdits, Plan, DontAsk, Bypass:
		return m, nil
	}
	return "", fmt.Errorf("there is no permission mode %q; use default, acceptEdits, plan, dontAsk or bypassPermissions", name)
}

// Settings is what a gate starts with.
type Settings struct {
	Allow, Ask, Deny []Rule
	Mode             Mode     // empty means Default
	Directories      []string // further working directories, absolute
	Home             string   // what ~ means; empty: that of the user

	AllowBypass   bool // bypassPermissions may be switched on in this session
	DisableBypass bool // an administrator forbids bypassPermissions
	// Root reports that this is the superuser outside a sandbox, for whom
	// bypassPermissions is refused.
	Root bool
	// Patience is how long a question of an agent that works for the conversation may go
	// unanswered, before it counts as one that nobody is there to answer: whoever sent the
	// agent waits for it. 0 is for ever.
	Patience time.Duration
	// Advice tells what was said about a call before it came to the gate; nil: nothing
	// ever is.
	Advice func(ctx context.Context) Advice
}

// Behavior is what a rule or a verdict says.
type Behavior string

const (
	Allow Behavior = "allow"
	Ask   Behavior = "ask"
	Deny  Behavior = "deny"
)

// Verdict is the judgement of one call.
type Verdict struct {
	Behavior Behavior
	// Reason is a clause for people and models: "it changes files outside the project".
	Reason string
	Rule   *Rule // that decided, if one did
	// Path is the file that the question is about, if it is about one.
	Path    string
	Effects []tool.Effect
	// Suggestions are updates that would let such calls pass from now on.
	Suggestions []Update
	// Invalid reports that the input made no sense to the tool: nothing to permit.
	Invalid bool

	final bool // an answer cannot lift the refusal either
	firm  bool // no mode lifts the question
}

// Asker is who answers questions: a person, or the program that speaks for one.
// Several questions may be outstanding at once, from several goroutines. Ask
// returns when the question is answered or ctx is done; ctx ends early when
// the answer to another question has settled this one.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question asks whether a call may run.
type Question struct {
	Call        tool.Call
	Agent       string // who wants it; empty for the main conversation
	Dir         string // where it would run
	Effects     []tool.Effect
	Reason      string // why it is asked
	Path        string // the file it is about, if it is about one
	Suggestions []Update
	// Person says that only a person can answer, and no program that speaks for one by
	// rules, such as a hook.
	Person bool
}

// Answer is the answer to a question.
type Answer struct {
	Allow   bool
	Message string          // to the model, with a refusal
	Input   json.RawMessage // what to run instead of the call's input, or nil
	// Updates change the permissions from now on, whatever the answer is.
	Updates   []Update
	Interrupt bool // with a refusal: end the turn
}
