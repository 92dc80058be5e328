package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"heddle/internal/agent"
	"heddle/internal/hook"
	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/permission"
	"heddle/internal/task"
	"heddle/internal/tool"
)

// HookOptions are what hooks are told of the session.
type HookOptions struct {
	Scope *tool.Scope
	Model func() string          // that is in use
	Tasks func() []task.Snapshot // that run in the background
	// Gate and Tool tell whether a call needs a person. Tool is not called before the
	// session has its tools.
	Gate *permission.Gate
	Tool func(name string) (tool.Tool, bool)
}

// Hooks runs the hooks of one agent at the turning points of its session. It is the
// [session.Hooks] of the main conversation.
type Hooks struct {
	runner *hook.Runner
	o      HookOptions

	mu      sync.Mutex
	pending []string // for the model, wrapped
	dir     string   // the working directory that hooks were last told
}

// NewHooks returns hooks that r runs.
func NewHooks(r *hook.Runner, o HookOptions) *Hooks {
	return &Hooks{runner: r, o: o, dir: o.Scope.Dir()}
}

// Started tells that the session begins.
func (h *Hooks) Started(ctx context.Context, resumed bool) {
	source := "startup"
	if resumed {
		source = "resume"
	}
	h.sessionStart(ctx, source)
}

func (h *Hooks) sessionStart(ctx context.Context, source string) {
	if !h.runner.Has(hook.SessionStart) {
		return
	}
	o := h.runner.Fire(ctx, hook.SessionStart, source, map[string]any{"source": source, "model": h.o.Model()}, nil)
	h.keep(hook.SessionStart, o.Context)
	if o.FirstPrompt != "" {
		h.keep(hook.SessionStart, []string{o.FirstPrompt})
	}
}

// keep holds texts for the model until it is told something anyway.
func (h *Hooks) keep(e hook.Event, texts []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range texts {
		h.pending = append(h.pending, hook.Wrap(e, t))
	}
}

// Context takes what hooks have to say to the model.
func (h *Hooks) Context() string {
	h.mu.Lock()
	pending := h.pending
	h.pending = nil
	h.mu.Unlock()
	return strings.Join(append(pending, h.runner.Delayed()...), "\n")
}

// Submitted asks about a prompt.
func (h *Hooks) Submitted(ctx context.Context, prompt string) (add string, err error) {
	if !h.runner.Has(hook.UserPromptSubmit) {
		return "", nil
	}
	o := h.runner.Fire(ctx, hook.UserPromptSubmit, "", map[string]any{"prompt": prompt}, nil)
	if err := held(o, "the prompt"); err != nil {
		return "", err
	}
	return wrapped(hook.UserPromptSubmit, o.Context), nil
}

// held says why something must not happen, if it must not.
func held(o hook.Outcome, what string) error {
	switch {
	case o.Blocked:
		return fmt.Errorf("a hook refused %s: %s", what, o.Block)
	case o.Stop && o.StopReason != "":
		return fmt.Errorf("a hook ended the turn: %s", o.StopReason)
	case o.Stop:
		return errors.New("a hook ended the turn")
	}
	return nil
}

func wrapped(e hook.Event, texts []string) string {
	var list []string
	for _, t := range texts {
		list = append(list, hook.Wrap(e, t))
	}
	return strings.Join(list, "\n")
}

// Stopping asks whether the model is done.
func (h *Hooks) Stopping(ctx context.Context, text string, again int) []agent.Input {
	if !h.runner.Has(hook.Stop) {
		return nil
	}
	o := h.runner.Fire(ctx, hook.Stop, "", map[string]any{
		"stop_hook_active": again > 0, "last_assistant_message": text, "background_tasks": h.background(), "session_crons": []any{},
	}, nil)
	if !o.Blocked || o.Stop {
		h.keep(hook.Stop, o.Context)
		return nil
	}
	content := wrapped(hook.Stop, append([]string{o.Block}, o.Context...))
	return []agent.Input{{Content: message.FromUser(content).Content, Origin: agent.System}}
}

// background describes the tasks that run, as hooks know them.
func (h *Hooks) background() []map[string]any {
	list := []map[string]any{}
	for _, t := range h.o.Tasks() {
		list = append(list, map[string]any{"id": t.ID, "type": t.Kind, "status": t.Status, "description": tool.Clip(t.Description, 1000)})
	}
	return list
}

// ToolsDone tells what the calls of an answer gave.
func (h *Hooks) ToolsDone(ctx context.Context, calls []agent.Done) (add []message.Block, stop string) {
	if why := h.runner.TakeStop(h.o.Scope.Agent); why != "" {
		return nil, "a hook ended the turn: " + why
	}
	h.moved(ctx)
	if !h.runner.Has(hook.PostToolBatch) {
		return nil, ""
	}
	var list []map[string]any
	for _, c := range calls {
		list = append(list, map[string]any{
			"tool_name": c.Use.Name, "tool_use_id": c.Use.ID, "tool_input": input(c.Use.Input), "tool_response": textOf(c.Result.Content),
		})
	}
	o := h.runner.Fire(ctx, hook.PostToolBatch, "", map[string]any{"tool_calls": list}, nil)
	if err := held(o, "to go on after these calls"); err != nil {
		return nil, err.Error()
	}
	for _, t := range o.Context {
		add = append(add, message.Text{Text: hook.Wrap(hook.PostToolBatch, t)})
	}
	return add, ""
}

// input is what a model wrote as the input of a call, also if that is no JSON.
func input(raw json.RawMessage) any {
	if json.Valid(raw) {
		return raw
	}
	return string(raw)
}

// moved tells hooks when a command has changed the working directory.
func (h *Hooks) moved(ctx context.Context) {
	dir := h.o.Scope.Dir()
	h.mu.Lock()
	old := h.dir
	h.dir = dir
	h.mu.Unlock()
	if dir != old && h.runner.Has(hook.CwdChanged) {
		o := h.runner.Fire(ctx, hook.CwdChanged, "", map[string]any{"old_cwd": old, "new_cwd": dir}, nil)
		h.keep(hook.CwdChanged, o.Context)
	}
}

// Compacting asks about a compaction.
func (h *Hooks) Compacting(ctx context.Context, t agent.Trigger, instructions string) error {
	if !h.runner.Has(hook.PreCompact) {
		return nil
	}
	o := h.runner.Fire(ctx, hook.PreCompact, string(t), map[string]any{"trigger": t, "custom_instructions": instructions}, nil)
	return held(o, "the compaction")
}

// Compacted tells that the conversation goes on from a summary.
func (h *Hooks) Compacted(ctx context.Context, t agent.Trigger, summary string) {
	if h.runner.Has(hook.PostCompact) {
		h.runner.Fire(ctx, hook.PostCompact, string(t), map[string]any{"trigger": t, "compact_summary": summary}, nil)
	}
	h.sessionStart(ctx, "compact")
}

// Failed tells of a turn that the model could not finish.
func (h *Hooks) Failed(ctx context.Context, end agent.Ended) {
	if !h.runner.Has(hook.StopFailure) {
		return
	}
	kind := failure(end.Err)
	fields := map[string]any{"error": kind, "last_assistant_message": end.Text}
	if end.Err != nil {
		fields["error_details"] = end.Err.Error()
	}
	h.runner.Fire(ctx, hook.StopFailure, kind, fields, nil)
}

// failure is the word that hooks know for why a model could not be reached.
func failure(err error) string {
	var me *model.Error
	if !errors.As(err, &me) {
		return "unknown"
	}
	switch me.Class {
	case model.RateLimited, model.Overloaded, model.ServerError, model.UnknownModel, model.BadRequest:
		return string(me.Class)
	case model.QuotaExceeded:
		return "billing_error"
	case model.BadCredential:
		return "authentication_failed"
	case model.ContextFull, model.TooLarge:
		return "invalid_request"
	}
	return "unknown"
}

// Ended tells that the session is over.
func (h *Hooks) Ended(ctx context.Context) {
	if h.runner.Has(hook.SessionEnd) {
		h.runner.Fire(ctx, hook.SessionEnd, "other", map[string]any{"reason": "other"}, nil)
	}
}
