package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"heddle/internal/task"
	"heddle/internal/task/shell"
	"heddle/internal/tool"
)

//go:embed bash.md
var bashPrompt string

var bashSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"command":{"type":"string","description":"The command to run"},` +
	`"timeout":{"type":"integer","description":"Milliseconds to wait for the end before the command goes on in the background; 120000 by default, 600000 at most. With run_in_background: after which it is ended"},` +
	`"description":{"type":"string","description":"What the command does, in five to ten words"},` +
	`"run_in_background":{"type":"boolean","description":"Do not wait: return at once, and be told when it ends"}},` +
	`"required":["command"],"additionalProperties":false}`)

const (
	bashTimeout    = 120 * time.Second
	bashTimeoutMax = 600 * time.Second
	// bashLife is how long a command in the background may run, if nothing else is said.
	bashLife = 24 * time.Hour
	// bashOutput is how much output a result holds, in bytes.
	bashOutput = 30_000
	// bashDescription is how long a description may be that is made of the command.
	bashDescription = 200
)

// BashOptions say how commands run.
type BashOptions struct {
	Tasks *task.Runtime
	Env   func() []string // see [shell.Environment]
	// Life is how long a command in the background may run at most; 0 is a day.
	Life time.Duration
	// Budget is how long a call may wait for a command at most, whatever its timeout
	// says, before the command goes on in the background; 0 is no such limit.
	Budget time.Duration
	// Foreground keeps commands from going to the background: the timeout ends them.
	Foreground bool
	// Closing says, to the model, what becomes of commands in the background when
	// it has given its final answer; empty: they run on.
	Closing string
}

// Bash returns the tool that runs commands.
func Bash(o BashOptions) tool.Tool {
	return tool.Tool{
		Name: "Bash", Description: strings.TrimSpace(bashPrompt), Schema: bashSchema,
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			in, err := decodeBash(c)
			return []tool.Effect{{Action: tool.Run, Target: in.Command}}, err
		},
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decodeBash(c)
			if err != nil {
				return failed(err)
			}
			return o.run(ctx, c, in)
		},
	}
}

type bashInput struct {
	Command     string `json:"command"`
	Timeout     number `json:"timeout"`
	Description string `json:"description"`
	Background  flag   `json:"run_in_background"`

	life time.Duration // after which it is ended
}

func decodeBash(c tool.Call) (bashInput, error) {
	in, err := decode[bashInput](c)
	switch {
	case err != nil:
		return in, err
	case strings.TrimSpace(in.Command) == "":
		return in, refuse("Bash: command is missing or empty. Call again with a command.")
	case strings.ContainsRune(in.Command, 0):
		return in, refuse("Bash: the command holds a NUL byte, which no command can. Call again without it.")
	}
	return in, nil
}

// limit is how long the call waits.
func (in bashInput) limit() time.Duration {
	if in.Timeout <= 0 {
		return bashTimeout
	}
	return min(time.Duration(in.Timeout)*time.Millisecond, bashTimeoutMax)
}

// life is after which time the command is ended.
func (o BashOptions) life(in bashInput) time.Duration {
	life := o.Life
	if life == 0 {
		life = bashLife
	}
	switch {
	case o.Foreground:
		return in.limit()
	case bool(in.Background) && in.Timeout > 0:
		return min(life, time.Duration(min(in.Timeout, number(life.Milliseconds())))*time.Millisecond)
	}
	return life
}

func (o BashOptions) run(ctx context.Context, c tool.Call, in bashInput) tool.Result {
	dir, notice := standing(c.Scope)
	in.Background = in.Background && !flag(o.Foreground)
	in.life = o.life(in)
	description := in.Description
	if description == "" {
		description = clipMiddle(strings.Join(strings.Fields(in.Command), " "), bashDescription)
	}
	t, err := o.Tasks.Start(
		task.Spec{
			Kind: task.LocalBash, Owner: task.ID(c.Scope.Agent), Description: description, ToolUseID: c.ID,
			Background: bool(in.Background), Timer: isTimer(in.Command),
		},
		&shell.Runner{Command: in.Command, Dir: dir, Env: c.Scope.Environ(o.Env()), Timeout: in.life},
	)
	if err != nil {
		return tool.Failf("The command was not started: %v", err)
	}
	outcome := task.Backgrounded
	if !in.Background {
		outcome = t.Attach(ctx, o.budget(in))
	}
	r := newBashReport(t.Snapshot(), in)
	r.remark(notice)
	if outcome == task.Backgrounded {
		return r.background(o)
	}
	r.remark(follow(c.Scope, dir, r.detail.Dir))
	return r.result()
}

// budget is how long a call waits for its command; 0 is to its end.
func (o BashOptions) budget(in bashInput) time.Duration {
	switch {
	case o.Foreground:
		return 0
	case o.Budget > 0:
		return min(o.Budget, in.limit())
	}
	return in.limit()
}

// isTimer reports whether a command does nothing but let time pass, and perhaps say so.
func isTimer(command string) bool { return timer().MatchString(command) }

var timer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*sleep\s+[0-9.]+[smhd]?\s*((;|&&)\s*(echo\b[^;&|<>$]*|true|:)\s*)?;?\s*$`)
})

// standing returns the directory where a command starts: the one that the last
// command left or, if that is gone, the nearest one above it that is still there.
func standing(s *tool.Scope) (dir, notice string) {
	dir = s.Dir()
	if isDir(dir) {
		return dir, ""
	}
	// Gone with the project as a whole? Then somewhere above it, until it is back.
	nearest := s.Root
	if inside(s, dir) {
		nearest = dir
	}
	for !isDir(nearest) && nearest != filepath.Dir(nearest) {
		nearest = filepath.Dir(nearest)
	}
	if !inside(s, nearest) && isDir(s.Root) {
		nearest = s.Root
	}
	if inside(s, nearest) {
		s.SetDir(nearest)
	}
	return nearest, fmt.Sprintf("The working directory %s is gone; the command ran in %s.", show(dir), show(nearest))
}

// follow remembers the directory in which a command ended, if tools may work there.
func follow(s *tool.Scope, start, end string) (notice string) {
	switch {
	case end == "" || end == start:
		return ""
	case !inside(s, end):
		return fmt.Sprintf("The command ended in %s, outside of the project. The next one runs in %s again.", show(end), show(s.Dir()))
	}
	s.SetDir(end)
	return ""
}

// inside reports whether dir is in a folder that the agent works in.
func inside(s *tool.Scope, dir string) bool {
	for _, root := range append([]string{s.Root}, s.Extra...) {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
