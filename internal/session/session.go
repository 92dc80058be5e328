// Package session is one sitting: a conversation with its tools, permissions,
// tasks and transcript, wired. It is what a front end talks to.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"heddle/internal/agent"
	"heddle/internal/mail"
	"heddle/internal/model"
	"heddle/internal/permission"
	"heddle/internal/task"
	"heddle/internal/tool"
	"heddle/internal/transcript"
)

// Models finds the model that a name means.
type Models interface {
	Choose(name string) (agent.Choice, error)
	List() []model.Info
	// KeySource names the variable that a provider's key comes from, or "none".
	KeySource(provider string) string
}

// Parts are what a session is made of.
type Parts struct {
	ID      string
	Dir     string // where tools work: absolute, symlinks resolved
	Moved   string // where the conversation was before, if that was another directory
	Version string // of the program
	Prompt  string // system prompt
	Model   string // as the user named it; empty: the default
	Effort  string
	Limits  agent.Limits
	Models  Models
	Scope   *tool.Scope
	Tools   *tool.Pool // wrapped
	// Gather returns the tools once those that are slow to come are there, or have had
	// their time. It is called once, before the first turn. May be nil: Tools are all.
	Gather func(ctx context.Context) *tool.Pool
	// News tells the model what has changed around it since it was last asked for,
	// such as tools that came or went. May be nil.
	News func() string
	// Hooks run at the turning points. May be nil.
	Hooks Hooks
	// Commands are what a person may call with a slash. May be nil.
	Commands Commander
	// Servers are the servers that tools come from, as they are now. May be nil.
	Servers func() []Server
	Gate    *permission.Gate
	Dialog  *Dialog
	Tasks   *task.Runtime
	Inbox   *mail.Queue // of the main conversation
	// Office gives what tasks tell to their owners; Inbox is one of its queues. May be nil.
	Office *mail.Office
	// Ledger is where the costs of this run of the program are written down, also of agents
	// that work for the conversation. May be nil.
	Ledger *agent.Ledger
	// Others says what agents that worked for the conversation have used. May be nil.
	Others func() agent.Tally
	// OthersDenied takes what was refused to them since it was last asked for. May be nil.
	OthersDenied func() []agent.Denial
	// Foreground says that nothing may be moved to the background.
	Foreground bool
	// Heir takes over tasks that an earlier run of the program left. May be nil, if
	// there was none.
	Heir task.Heir
	// Brief is put in front of the first message, and of the first after a
	// compaction. May be nil.
	Brief func() string
	// OnClose ends what else runs for the session, in this order, after its tasks.
	OnClose []func(context.Context) error
	// Logger gets facts for whoever looks for a fault; nil for none.
	Logger *slog.Logger
	// Log is the transcript, nil to keep none, and Past what it holds already.
	Log  *transcript.Writer
	Past []transcript.Record
}

// Session is one sitting. Its methods may be called from any goroutine; turns
// run one after the other.
type Session struct {
	parts Parts
	first string         // the model at the start, which a reset returns to
	conv  *agent.Context // belongs to the running turn
	log   *log

	remind bool // the model is to hear what runs; belongs to the running turn

	ready sync.Once
	begun bool // hooks know that the session goes on; belongs to the running turn

	wakes sync.Mutex
	idle  int // turns in a row that only timers started

	turns sync.Mutex // held by the running turn

	mu        sync.Mutex
	tools     *tool.Pool
	choice    agent.Choice
	once      agent.Choice // what the running turn uses instead, if it has a model
	interrupt context.CancelCauseFunc
	tally     agent.Tally // a copy, as of the newest answer
	messages  int
}

// ErrInterrupted is the cause with which a person ends a turn.
var ErrInterrupted = errors.New("interrupted by the user")

// New wires a session from its parts, and continues what the transcript holds.
func New(p Parts) (*Session, error) {
	if p.Inbox == nil {
		p.Inbox = mail.NewQueue()
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Session{parts: p, log: &log{w: p.Log}, tools: p.Tools}
	s.conv = agent.NewContext(PromptOf(p.Prompt, p.Tools), p.Scope)
	past := s.recall(p.Past)
	if err := s.recoverTasks(p.Past); err != nil {
		return nil, err
	}
	s.first = cmp.Or(p.Model, past)
	if err := s.setModel(s.first); err != nil {
		return nil, err
	}
	if past != "" && s.first != past {
		// Also after the next resume. What cannot be written now is written later.
		_ = s.log.append(transcript.Model{Model: s.first})
	}
	return s, nil
}

// PromptOf is what every request begins with.
func PromptOf(system string, tools *tool.Pool) model.Prompt {
	prompt := model.Prompt{System: []string{system}}
	for _, t := range tools.Tools() {
		prompt.Tools = append(prompt.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return prompt
}

// Ready waits until the session has all its tools, or those that are slow to come have had
// their time: from then on the tools do not change any more. Turns wait for it by themselves.
func (s *Session) Ready(ctx context.Context) {
	s.ready.Do(func() {
		if s.parts.Gather == nil {
			return
		}
		pool := s.parts.Gather(ctx)
		s.mu.Lock()
		s.tools = pool
		s.mu.Unlock()
		s.conv.History.SetPrompt(PromptOf(s.parts.Prompt, pool))
	})
}

// NewID returns a new random id, for a session or a message.
func NewID() string { return transcript.NewID() }

// ID is the id of the session.
func (s *Session) ID() string { return s.parts.ID }

// About describes the session to those who watch it.
type About struct {
	Dir, Model, Mode, KeySource, Version string
	Tools                                []string
	Servers                              []Server
	Commands                             []Command
	PID                                  int
}

// Server is a server that tools come from.
type Server struct {
	Name   string
	Status string // connected, failed, needs-auth, pending or disabled
	Error  string
	Tools  int
}

// About returns the description of the session as it is now.
func (s *Session) About() About {
	s.mu.Lock()
	info, tools := s.choice.Info, s.tools
	s.mu.Unlock()
	a := About{
		Dir: s.parts.Dir, Model: modelName(info), Mode: string(s.parts.Gate.Mode()),
		KeySource: s.parts.Models.KeySource(info.Provider), Version: s.parts.Version, PID: os.Getpid(),
	}
	a.Tools = []string{}
	for _, t := range tools.Tools() {
		a.Tools = append(a.Tools, t.Name)
	}
	if s.parts.Servers != nil {
		a.Servers = s.parts.Servers()
	}
	a.Commands = s.commands()
	return a
}

// modelName is a name by which the model can be chosen again: clients know those of the
// first two providers without them.
func modelName(info model.Info) string {
	if info.Provider == "anthropic" || info.Provider == "openai" {
		return info.ID
	}
	return info.Provider + "/" + info.ID
}

// Turn works on input until the model has nothing more to do, and yields what
// happens. Every message is in the transcript before it is yielded. "/compact" as
// the whole text of a person's input compacts the conversation instead. What tasks have
// told meanwhile is read first.
func (s *Session) Turn(ctx context.Context, input ...agent.Input) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		s.turns.Lock()
		defer s.turns.Unlock()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		s.setInterrupt(cancel)
		defer s.setInterrupt(nil)
		defer s.log.sync()
		s.Ready(ctx)
		s.parts.Gate.Begin("") // refusals count from zero
		if s.parts.Commands != nil {
			s.parts.Commands.Begin()
		}
		s.begin(ctx, input)
		for ev, err := range s.events(ctx, input) {
			if err != nil {
				yield(nil, err)
				return
			}
			ev = s.completed(ev)
			s.observe(ev)
			s.hear(ctx, ev)
			explain(s.parts.Logger, ev)
			notices := s.log.record(ev)
			if len(notices) == 0 {
				s.delivered(ev)
			}
			for _, notice := range notices {
				if !yield(agent.Notice{Text: notice}, nil) {
					return
				}
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// completed adds to the end of a turn what became of agents that worked for it.
func (s *Session) completed(ev agent.Event) agent.Event {
	end, ok := ev.(agent.Ended)
	if !ok || s.parts.OthersDenied == nil {
		return ev
	}
	end.Denials = slices.Concat(end.Denials, s.parts.OthersDenied())
	return end
}

// title names the session after the first thing a person says in it that the model reads.
// The message itself begins with what every agent must know, which names nothing.
func (s *Session) title(text string) {
	if s.conv.History.Len() > 0 {
		return
	}
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = firstRunes(line, titleLength)
	// A title that cannot be written now is kept back with the message, which tells it.
	_ = s.log.append(transcript.Title{Title: line})
}

// titleLength is how many characters a title has at most: a prompt may be one line of
// megabytes, and every record of a message repeats the title.
const titleLength = 200

// firstRunes returns the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

func (s *Session) events(ctx context.Context, input []agent.Input) iter.Seq2[agent.Event, error] {
	cfg := s.config()
	if len(input) == 1 {
		if instructions, ok := compactCommand(input[0]); ok {
			return agent.Compact(ctx, cfg, instructions)
		}
	}
	input, over := s.admit(ctx, input)
	if over != nil {
		return one(*over)
	}
	all := s.parts.Inbox.TakeAll()
	for _, in := range input {
		all = append(all, s.reminded(in))
	}
	return agent.Run(ctx, cfg, all...)
}

// one yields the end of a turn that never reached the model.
func one(end agent.Ended) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) { yield(end, nil) }
}

// begin notes what a person says.
func (s *Session) begin(ctx context.Context, input []agent.Input) {
	s.mu.Lock()
	s.once = agent.Choice{}
	s.mu.Unlock()
	if !s.begun && s.parts.Hooks != nil {
		s.parts.Hooks.Started(ctx, s.conv.History.Len() > 0)
	}
	s.begun = true
	for _, in := range input {
		if in.Origin == agent.Human {
			s.wakes.Lock()
			s.idle = 0
			s.wakes.Unlock()
		}
	}
}

func (s *Session) config() agent.Config {
	cfg := agent.Config{
		Ledger:  s.parts.Ledger,
		Context: s.conv, Tools: s.tools, Limits: s.parts.Limits, Brief: s.brief, Inbox: s.parts.Inbox,
		Agent: model.Agent{Type: "main"},
		Choose: func() agent.Choice {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.once.Model != nil {
				return s.once
			}
			return s.choice
		},
	}
	if s.parts.Hooks != nil {
		cfg.Guard = s.parts.Hooks
	}
	return cfg
}

// observe keeps the copies that other goroutines may read.
func (s *Session) observe(ev agent.Event) {
	switch ev.(type) {
	case agent.Added, agent.Compacted, agent.Dropped, agent.Ended:
		s.mu.Lock()
		s.tally = s.conv.Tally.Clone()
		s.messages = s.conv.History.Len()
		s.mu.Unlock()
	}
}

// Note adds input to the conversation without a turn.
func (s *Session) Note(input agent.Input) error {
	s.turns.Lock()
	defer s.turns.Unlock()
	for ev, err := range agent.Note(s.config(), input) {
		if err != nil {
			return err
		}
		s.observe(ev)
		s.log.record(ev)
	}
	return nil
}

// Interrupt ends the running turn, if any. The conversation can go on.
func (s *Session) Interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.interrupt != nil {
		s.interrupt(ErrInterrupted)
	}
}

func (s *Session) setInterrupt(cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = cancel
}

// SetModel makes the session use another model from the next request on. An
// empty name means the one at the start.
func (s *Session) SetModel(name string) error {
	if err := s.setModel(cmp.Or(name, s.first)); err != nil {
		return err
	}
	s.mu.Lock()
	info := s.choice.Info
	s.mu.Unlock()
	return s.log.append(transcript.Model{Model: info.Provider + "/" + info.ID})
}

func (s *Session) setModel(name string) error {
	c, err := s.parts.Models.Choose(name)
	if err != nil {
		return err
	}
	if s.parts.Effort != "" {
		c.Effort = s.parts.Effort
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choice = c
	return nil
}

// SetMode changes the permission mode.
func (s *Session) SetMode(mode string) error {
	m, err := permission.ParseMode(mode)
	if err != nil {
		return err
	}
	if err := s.parts.Gate.SetMode(m); err != nil {
		return err
	}
	return s.log.append(transcript.Mode{Mode: string(m)})
}

// SetAsker says who answers questions of permission.
func (s *Session) SetAsker(a permission.Asker) { s.parts.Dialog.setAsker(a) }

// Models lists the models that the session could use.
func (s *Session) Models() []model.Info { return s.parts.Models.List() }

// Tally says what the session has used so far.
func (s *Session) Tally() agent.Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tally.Clone()
	if s.parts.Others != nil {
		t.Merge(s.parts.Others())
	}
	return t
}

// ContextUsage says how full the context window is.
type ContextUsage struct {
	Tokens, Window, Messages int
	Model                    string
}

// ContextUsage returns the figures as of the newest answer.
func (s *Session) ContextUsage() ContextUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ContextUsage{Tokens: s.tally.Prompt, Window: s.choice.Info.Window, Messages: s.messages, Model: modelName(s.choice.Info)}
}

// Farewell tells hooks that the session is over, once: no turn begins after it. Close
// does so, too; who calls this before gives hooks time of their own.
func (s *Session) Farewell(ctx context.Context) {
	s.Interrupt()
	s.turns.Lock()
	defer s.turns.Unlock()
	s.farewell(ctx)
}

func (s *Session) farewell(ctx context.Context) {
	if s.begun && s.parts.Hooks != nil {
		s.parts.Hooks.Ended(ctx)
	}
	s.begun = false
}

// Close ends what still runs and releases the transcript. It says what it ended, and
// what it could not end.
func (s *Session) Close(ctx context.Context) error {
	s.Interrupt()
	s.turns.Lock()
	defer s.turns.Unlock()
	s.farewell(ctx)
	var errs []error
	if err := s.parts.Tasks.Close(ctx); err != nil {
		errs = append(errs, fmt.Errorf("end tasks: %w", err))
	}
	for _, end := range s.parts.OnClose {
		errs = append(errs, end(ctx))
	}
	if err := s.log.close(); err != nil {
		errs = append(errs, fmt.Errorf("close the transcript: %w", err))
	}
	return errors.Join(errs...)
}
