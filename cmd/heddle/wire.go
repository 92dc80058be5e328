package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"heddle/internal/agent"
	"heddle/internal/briefing"
	"heddle/internal/control"
	"heddle/internal/mail"
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
	granted, err := distrust(p, o, layers, &set, std.err)
	if err != nil {
		return nil, err
	}
	models, err := newModels(set)
	if err != nil {
		return nil, err
	}
	if err := process.Scrub(models.keyVariables()...); err != nil {
		fmt.Fprintf(std.err, "heddle: commands may be able to read the keys of providers: %v\n", err)
	}
	gate, err := newGate(p, o, layers, granted, set)
	if err != nil {
		return nil, err
	}
	prompt, err := o.systemPrompt(agent.MainPrompt())
	if err != nil {
		return nil, err
	}
	for _, dir := range absolute(p.dir, o.addDirs) {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, usagef("--add-dir: there is no directory %s", dir)
		}
	}
	log, err := chooseLog(p, o)
	if err != nil {
		return nil, err
	}
	first := brief(p, o, std.err) // is read while the rest goes on
	found, err := bring(p, o, layers, granted, set)
	if err != nil {
		return nil, err
	}
	parts := session.Parts{
		ID: log.id, Dir: p.dir, Moved: log.moved, Version: version(), Prompt: prompt, Effort: set.Effort,
		Limits: agent.Limits{Turns: o.maxTurns, USD: o.maxBudget},
		Ledger: agent.NewLedger(agent.Spending{USD: o.maxBudget}), Models: models, Gate: gate, Dialog: session.NewDialog(gate), Brief: first,
	}
	env := func() []string { return shell.Environment(os.Environ(), models.keyVariables(), environ(set.Env)) }
	pool, err := addTools(&parts, p, o, set, env, std.err)
	if err != nil {
		return nil, err
	}
	a := attachment{place: p, options: o, set: set, found: found, models: models, log: log, env: env, stderr: std.err}
	start, err := a.attachTo(&parts, pool)
	if err != nil {
		return nil, err
	}
	name := set.Model
	if log.old != "" {
		name = o.model // the session keeps its model, whatever the settings say by now
	}
	if name != "" || log.old == "" {
		c, err := models.Choose(name)
		if err != nil {
			return nil, err
		}
		if o.maxBudget > 0 && c.Info.PriceUnknown {
			return nil, usagef("--max-budget-usd: the price of %s/%s is not known, so its costs cannot be limited; settings can name it under models, or use --max-turns", c.Info.Provider, c.Info.ID)
		}
		parts.Model = c.Info.Provider + "/" + c.Info.ID
		log.header.Model = parts.Model
	}
	tellFound(p, found, std.err)
	cleanUp(p, log.id, std.err)
	sweepTasks(p, time.Duration(set.Tasks.KeepDays*24*float64(time.Hour)), std.err)
	return begin(p, parts, start, log, o, std.err)
}

// begin is the first step that leaves traces: the transcript is opened, heddle becomes
// the parent of what its commands leave behind, other runs can see the session, and what
// people brought along starts.
func begin(p place, parts session.Parts, start func() error, log logChoice, o *options, stderr io.Writer) (*session.Session, error) {
	logger, closeLogger, err := o.logger()
	if err != nil {
		return nil, err
	}
	release, err := process.Adopt()
	if err != nil {
		return nil, err
	}
	undo := []func() error{func() error { release(); return nil }}
	fail := func(err error) (*session.Session, error) {
		for _, f := range undo {
			err = errors.Join(err, f())
		}
		return nil, err
	}
	if parts.Log, parts.Past, err = log.open(); err != nil {
		return fail(err)
	}
	if parts.Log != nil {
		undo = append(undo, parts.Log.Close)
	}
	if crashed(p, parts.ID) {
		if err := endExtensions(parts.ID); err != nil {
			fmt.Fprintf(stderr, "heddle: end what this session left running when it died: %v\n", err)
		}
	}
	leave, err := present(p, parts.ID)
	if err != nil { // the conversation can do without
		fmt.Fprintf(stderr, "heddle: what commands leave running cannot be found after a crash: %v\n", err)
		leave = func() error { return nil }
	}
	undo = append(undo, leave)
	hangUp := func() error { return nil }
	if socket, err := control.Listen(control.Options{Folder: p.runDir(), Session: parts.ID, Dir: p.dir, Tasks: parts.Tasks}); err == nil {
		hangUp = socket.Close
		undo = append(undo, hangUp)
	} else { // the conversation can do without
		fmt.Fprintf(stderr, "heddle: this session cannot be reached from another terminal: %v\n", err)
	}
	parts.Logger, parts.Heir = logger, shell.Heir{}
	parts.OnClose = append(parts.OnClose, func(context.Context) error { release(); return errors.Join(hangUp(), leave()) }, closeLogger)
	s, err := session.New(parts)
	if err != nil {
		return fail(err)
	}
	if err := start(); err != nil {
		return nil, errors.Join(err, closeSession(s))
	}
	return s, nil
}

// brief returns what every history begins with. It takes a moment, so the first
// is read while the rest starts; each later one is read anew, since files and
// dates change. The person hears what could not be read.
func brief(p place, o *options, stderr io.Writer) func() string {
	read := func() string {
		b, err := briefing.Read(context.Background(), briefing.Options{
			Dir: p.dir, Home: p.home, Now: time.Now(), Version: version(), NoMemory: o.bare,
		})
		if err != nil {
			return "" // the conversation can do without; its tools will meet the same problem, and say so
		}
		for _, note := range b.Notes {
			fmt.Fprintf(stderr, "heddle: %s\n", note)
		}
		return b.String()
	}
	if o.resume != "" || o.last {
		return read
	}
	first := make(chan string, 1) // room for what nobody may ask for
	go func() { first <- read() }()
	return func() string {
		if text, fresh := <-first; fresh {
			close(first) // from now on, the receive finds nothing
			return text
		}
		return read()
	}
}

// addTools returns the tools of the main conversation, as the flags and rules leave them,
// and adds what their calls work with.
func addTools(parts *session.Parts, p place, o *options, set settings, env func() []string, stderr io.Writer) (*tool.Pool, error) {
	state := p.taskDir(parts.ID)
	parts.Inbox, parts.Foreground = mail.NewQueue(), set.Tasks.Foreground
	parts.Office = mail.NewOffice(parts.Inbox)
	tasks, err := task.NewRuntime(task.Options{
		Dir: state, Notifier: parts.Office,
		Limits: task.Limits{Task: set.Tasks.OutputLimit * 1e6, Session: set.Tasks.SessionLimit * 1e6},
	})
	if err != nil {
		return nil, err
	}
	files := builtin.NewLocks()
	pool, err := tool.NewPool(
		builtin.Read(),
		builtin.Write(files),
		builtin.Edit(files),
		builtin.NotebookEdit(files),
		builtin.Glob(),
		builtin.Grep(),
		builtin.Bash(bashOptions(o, set, tasks, env)),
		builtin.Monitor(bashOptions(o, set, tasks, env)),
		builtin.TaskOutput(tasks),
		builtin.TaskStop(tasks),
		builtin.WebFetch(builtin.WebOptions{AllowPrivate: set.Web.AllowPrivate}),
		builtin.TodoWrite(),
		builtin.AskUserQuestion(parts.Dialog),
		builtin.EnterPlanMode(parts.Dialog),
		builtin.ExitPlanMode(parts.Dialog),
	)
	if err != nil {
		return nil, err
	}
	warn(stderr, parts.Gate, slices.Concat(pool.Tools(), withExtensions()))
	if err := chooseTools(o, pool); err != nil {
		return nil, err
	}
	parts.Office.Lost(tasks.Delivered)
	parts.Tasks = tasks
	parts.Scope = tool.NewScope(p.dir, state)
	parts.Scope.MayRead = parts.Gate.MayRead
	parts.Scope.Extra = absolute(p.dir, set.Permissions.Directories)
	return pool.Keep(func(t tool.Tool) bool { return o.offers(t.Name) && !parts.Gate.Hidden(t) }), nil
}

// bashOptions says how commands run.
func bashOptions(o *options, set settings, tasks *task.Runtime, env func() []string) builtin.BashOptions {
	b := builtin.BashOptions{
		Tasks: tasks, Env: env, Foreground: set.Tasks.Foreground, Budget: o.blockingBudget,
		Life: time.Duration(set.Tasks.LifeHours * float64(time.Hour)),
	}
	if b.Budget == 0 {
		b.Budget = time.Duration(set.Tasks.BlockingBudget * float64(time.Second))
	}
	if o.print && o.inputFormat != "stream-json" {
		b.Closing = fmt.Sprintf("Nobody goes on with this conversation after your final answer: what still runs %v later is ended. Wait with TaskOutput for what the answer needs.", o.shellGrace)
	}
	return b
}

// chooseTools says which tools --bare offers, and checks those that flags name.
func chooseTools(o *options, pool *tool.Pool) error {
	if o.bare && !o.toolsSet {
		o.tools, o.toolsSet = list{"Bash", "Read", "Edit"}, true
	}
	for _, name := range o.tools {
		if _, ok := pool.Get(name); !ok && name != "Skill" && name != "Agent" && name != "default" {
			return usagef("--tools: there is no built-in tool %q", name)
		}
	}
	return nil
}

// offers reports whether --tools lets a built-in tool be there.
func (o *options) offers(name string) bool {
	return !o.toolsSet || slices.Equal(o.tools, list{"default"}) || slices.Contains(o.tools, name)
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

// logChoice says which transcript a session writes and goes on from.
type logChoice struct {
	id     string
	header transcript.Header
	path   string // of this session's own transcript; empty: keep none
	old    string // the transcript to go on from; empty: none
	fork   bool   // the old one stays as it is
	moved  string // where the old one worked, if that is another directory
	name   string
}

// chooseLog finds the transcript that the flags ask for. It opens none.
func chooseLog(p place, o *options) (logChoice, error) {
	c := logChoice{id: o.sessionID, name: o.name, fork: o.fork}
	if c.id == "" {
		c.id = transcript.NewID()
	} else if !transcript.ValidID(c.id) {
		return c, usagef("--session-id %q: want a UUID in lower case", c.id)
	}
	old, err := pastSession(p, o)
	if err != nil {
		return c, err
	}
	if old != nil {
		if old.Dir != p.dir {
			if info, err := os.Stat(old.Dir); err == nil && info.IsDir() && !o.fork {
				return c, usagef("session %s works in %s: go there, or go on here in a copy with --fork-session", old.ID, old.Dir)
			}
			c.moved = old.Dir
		}
		c.old, c.header.Parent = old.Path, old.ID
		if !o.fork {
			c.id, c.path = old.ID, old.Path
			return c, nil
		}
	}
	if !o.noPersist {
		c.path = transcript.File(p.projectDir(), c.id)
	}
	c.header = transcript.Header{
		Session: c.id, Dir: p.dir, Program: version(), Parent: c.header.Parent, Start: time.Now(),
	}
	return c, nil
}

// open opens the transcript, and returns what it holds already.
func (c logChoice) open() (w *transcript.Writer, past []transcript.Record, err error) {
	switch {
	case c.old == "" && c.path == "":
		return nil, nil, nil
	case c.old == "":
		w, err = transcript.Create(c.path, c.header)
	case c.path == "":
		past, err = transcript.Read(c.old)
	case c.fork:
		w, past, err = transcript.Fork(c.old, c.path, c.header)
	default:
		w, past, err = transcript.Open(c.old)
	}
	var busy *transcript.InUseError
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, nil, usagef("--session-id %s: there is a session with this id already; go on with it by --resume", c.id)
	case errors.As(err, &busy):
		return nil, nil, usagef("%v", busy)
	case err != nil:
		return nil, nil, fmt.Errorf("open the transcript (HEDDLE_HOME says where it lies, --no-session-persistence keeps none): %w", err)
	}
	if c.name != "" && w != nil {
		err = w.Append(transcript.Name{Name: c.name})
	}
	return w, past, err
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
		s, err := transcript.Find(filepath.Join(p.home, "projects"), o.resume)
		if err != nil {
			return nil, usagef("--resume: %v", err)
		}
		return &s, nil
	}
	return nil, nil
}
