package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"heddle/internal/agent"
	"heddle/internal/briefing"
	"heddle/internal/permission"
	"heddle/internal/process"
	"heddle/internal/session"
	"heddle/internal/task"
	"heddle/internal/task/shell"
	"heddle/internal/tool"
	"heddle/internal/tool/builtin"
	"heddle/internal/transcript"
)

// open wires a session from the flags, the settings and the environment. Nothing is
// written to disk before everything that the user may have got wrong was checked.
func open(p place, o *options, std stdio) (*session.Session, error) {
	layers, err := layersOf(p, o)
	if err != nil {
		return nil, err
	}
	set, err := readSettings(layers, std.err)
	if err != nil {
		return nil, err
	}
	models, err := newModels(set)
	if err != nil {
		return nil, err
	}
	gate, err := newGate(p, o, layers, set)
	if err != nil {
		return nil, err
	}
	prompt, err := o.systemPrompt(agent.MainPrompt())
	if err != nil {
		return nil, err
	}
	log, err := openLog(p, o, set.Model)
	if err != nil {
		return nil, err
	}
	if set.Model == "" && log.model == "" {
		if _, err := models.Choose(""); err != nil {
			return nil, errors.Join(err, log.discard())
		}
	}
	release, err := process.Adopt()
	if err != nil {
		return nil, errors.Join(err, log.discard())
	}
	state := filepath.Join(p.projectDir(), log.id)
	tasks, err := task.NewRuntime(task.Options{Dir: filepath.Join(state, "tasks")})
	if err != nil {
		return nil, errors.Join(err, log.discard())
	}
	scope := tool.NewScope(p.dir, filepath.Join(state, "tasks"))
	scope.Extra = absolute(p.dir, set.Permissions.Directories)
	strays, dialog := &shell.Strays{}, session.NewDialog(gate)
	pool, err := newTools(o, set, tasks, strays, models, gate, dialog)
	if err != nil {
		return nil, errors.Join(err, log.discard())
	}
	s, err := session.New(session.Parts{
		ID: log.id, Dir: p.dir, Version: version(), KeySource: models.keySource("anthropic"),
		Prompt: prompt, Model: set.Model, Effort: set.Effort,
		Limits: agent.Limits{Turns: o.maxTurns, USD: o.maxBudget},
		Models: models, Scope: scope, Tools: pool, Gate: gate, Dialog: dialog, Tasks: tasks,
		Brief: brief(p, o), Log: log.writer, Past: log.past,
		OnClose: []func(context.Context) error{strays.End, func(context.Context) error { release(); return nil }},
	})
	if err != nil {
		return nil, errors.Join(err, log.discard())
	}
	return s, nil
}

// brief returns what every history begins with. It is read anew for each, since
// files and dates change.
func brief(p place, o *options) func() string {
	return func() string {
		b, err := briefing.Read(context.Background(), briefing.Options{
			Dir: p.dir, Home: p.home, Now: time.Now(), Version: version(), NoMemory: o.bare,
		})
		if err != nil {
			return "" // the conversation can do without; its tools will meet the same problem, and say so
		}
		return b.String()
	}
}

// newTools returns the tools of the main conversation, behind the gate.
func newTools(o *options, set settings, tasks *task.Runtime, strays *shell.Strays, m *models, gate *permission.Gate, dialog *session.Dialog) (*tool.Pool, error) {
	files := builtin.NewLocks()
	env := func() []string { return shell.Environment(os.Environ(), m.keyVariables(), environ(set.Env)) }
	pool, err := tool.NewPool(
		builtin.Read(),
		builtin.Write(files),
		builtin.Edit(files),
		builtin.NotebookEdit(files),
		builtin.Glob(),
		builtin.Grep(),
		builtin.Bash(builtin.BashOptions{Tasks: tasks, Strays: strays, Env: env}),
		builtin.WebFetch(builtin.WebOptions{AllowPrivate: set.Web.AllowPrivate}),
		builtin.TodoWrite(),
		builtin.AskUserQuestion(dialog),
		builtin.EnterPlanMode(dialog),
		builtin.ExitPlanMode(dialog),
	)
	if err != nil {
		return nil, err
	}
	keep, err := chosenTools(o, pool)
	if err != nil {
		return nil, err
	}
	return pool.Keep(func(t tool.Tool) bool { return keep(t.Name) && !gate.Hidden(t) }).Wrap(gate.Middleware), nil
}

// chosenTools says which tools the flags offer.
func chosenTools(o *options, pool *tool.Pool) (func(name string) bool, error) {
	if o.bare && !o.toolsSet {
		o.tools, o.toolsSet = list{"Bash", "Read", "Edit"}, true
	}
	if !o.toolsSet || slices.Equal(o.tools, list{"default"}) {
		return func(string) bool { return true }, nil
	}
	for _, name := range o.tools {
		if _, ok := pool.Get(name); !ok {
			return nil, usagef("--tools: there is no built-in tool %q", name)
		}
	}
	return func(name string) bool { return slices.Contains(o.tools, name) }, nil
}

// environ returns variables as NAME=value, in a stable order.
func environ(vars map[string]string) []string {
	var out []string
	for k, v := range vars {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// absolute resolves directories that settings or flags name.
func absolute(dir string, dirs []string) []string {
	var out []string
	for _, d := range dirs {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		if real, err := filepath.EvalSymlinks(d); err == nil {
			d = real
		}
		out = append(out, d)
	}
	return out
}

// logState is the transcript of a session that begins or goes on.
type logState struct {
	id     string
	writer *transcript.Writer
	past   []transcript.Record
	model  string // that the past names
	fresh  string // the file, if this process made it
}

// discard removes a transcript in which nothing was said.
func (l logState) discard() error {
	if l.writer == nil {
		return nil
	}
	err := l.writer.Close()
	if l.fresh != "" {
		err = errors.Join(err, os.Remove(l.fresh))
	}
	return err
}

// openLog finds or makes the transcript that the flags ask for.
func openLog(p place, o *options, model string) (logState, error) {
	id := o.sessionID
	if id == "" {
		id = transcript.NewID()
	} else if !transcript.ValidID(id) {
		return logState{}, usagef("--session-id %q: want a UUID in lower case", id)
	}
	dir := p.projectDir()
	old, err := pastSession(p, o)
	if err != nil {
		return logState{}, err
	}
	h := transcript.Header{Session: id, Dir: p.dir, Program: version(), Model: model, Start: time.Now()}
	path := transcript.File(dir, id)
	switch {
	case old == nil && o.noPersist:
		return logState{id: id}, nil
	case old == nil:
		w, err := transcript.Create(path, h)
		if err != nil {
			return logState{}, sessionError(err)
		}
		if o.name != "" {
			err = w.Append(transcript.Name{Name: o.name})
		}
		return logState{id: id, writer: w, fresh: path}, err
	case o.fork && o.noPersist:
		past, err := transcript.Read(old.Path)
		return logState{id: id, past: past, model: old.Model}, sessionError(err)
	case o.fork:
		h.Parent = old.ID
		w, past, err := transcript.Fork(old.Path, path, h)
		return logState{id: id, writer: w, past: past, model: old.Model, fresh: path}, sessionError(err)
	}
	w, past, err := transcript.Open(old.Path)
	return logState{id: old.ID, writer: w, past: past, model: old.Model}, sessionError(err)
}

// pastSession finds the session to go on with, nil if none was asked for.
func pastSession(p place, o *options) (*transcript.Summary, error) {
	switch {
	case o.last:
		s, err := transcript.Newest(p.projectDir())
		if errors.Is(err, transcript.ErrNotFound) {
			return nil, usagef("--continue: there is no session in this directory yet")
		}
		return &s, err
	case o.resume != "":
		s, err := transcript.Find(p.home, o.resume)
		if err != nil {
			return nil, usagef("--resume: %v", err)
		}
		return &s, nil
	}
	return nil, nil
}

// sessionError words what keeps a session from being opened.
func sessionError(err error) error {
	var busy *transcript.InUseError
	if errors.As(err, &busy) {
		return usagef("%v", busy)
	}
	if err != nil {
		return fmt.Errorf("open the transcript: %w", err)
	}
	return nil
}
