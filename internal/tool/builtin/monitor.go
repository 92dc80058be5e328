package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"heddle/internal/task"
	"heddle/internal/task/shell"
	"heddle/internal/tool"
)

//go:embed monitor.md
var monitorPrompt string

const monitorSchema = `{"type":"object","properties":{` +
	`"command":{"type":"string","description":"The command whose lines are told"},` +
	`"description":{"type":"string","description":"What is watched, in five to ten words"},` +
	`"timeout_ms":{"type":"integer","description":"Milliseconds after which it is ended; 300000 by default, 3600000 at most"},` +
	`"persistent":{"type":"boolean","description":"Let it run until the session ends"}},` +
	`"required":["command","description"],"additionalProperties":false}`

const (
	monitorLife    = 5 * time.Minute
	monitorLifeMax = time.Hour
)

type monitorInput struct {
	Command     string          `json:"command"`
	Description string          `json:"description"`
	Timeout     number          `json:"timeout_ms"`
	Persistent  flag            `json:"persistent"`
	Socket      json.RawMessage `json:"ws"`
}

// Monitor returns the tool that follows what a command prints.
func Monitor(o BashOptions) tool.Tool {
	return tool.Tool{
		Name: "Monitor", Description: strings.TrimSpace(monitorPrompt), Schema: json.RawMessage(monitorSchema),
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			in, err := decodeMonitor(c)
			return []tool.Effect{{Action: tool.Run, Target: in.Command}}, err
		},
		Run: func(_ context.Context, c tool.Call) tool.Result {
			in, err := decodeMonitor(c)
			if err != nil {
				return failed(err)
			}
			return o.monitor(c, in)
		},
	}
}

func decodeMonitor(c tool.Call) (monitorInput, error) {
	in, err := decode[monitorInput](c)
	switch {
	case err != nil:
		return in, err
	case len(in.Socket) > 0 && string(in.Socket) != "null":
		return in, refuse("Monitor: ws is not supported. Call again with a command.")
	case strings.TrimSpace(in.Command) == "":
		return in, refuse("Monitor: command is missing or empty. Call again with a command.")
	case strings.ContainsRune(in.Command, 0):
		return in, refuse("Monitor: the command holds a NUL byte, which no command can. Call again without it.")
	}
	return in, nil
}

// life is after which time the command is ended; 0 is never.
func (in monitorInput) life() time.Duration {
	switch {
	case bool(in.Persistent):
		return 0
	case in.Timeout <= 0:
		return monitorLife
	}
	return time.Duration(min(int64(in.Timeout), monitorLifeMax.Milliseconds())) * time.Millisecond
}

func (o BashOptions) monitor(c tool.Call, in monitorInput) tool.Result {
	dir, notice := standing(c.Scope)
	description := in.Description
	if description == "" {
		description = clipMiddle(strings.Join(strings.Fields(in.Command), " "), bashDescription)
	}
	t, err := o.Tasks.Start(
		task.Spec{
			Kind: task.LocalBash, Owner: task.ID(c.Scope.Agent), Description: description, ToolUseID: c.ID,
			Background: true, Awaited: true,
		},
		&shell.Monitor{Command: shell.Runner{Command: in.Command, Dir: dir, Env: c.Scope.Environ(o.Env()), Timeout: in.life()}},
	)
	if err != nil {
		return tool.Failf("The command was not started: %v", err)
	}
	until := "until the session ends"
	if d := in.life(); d > 0 {
		until = fmt.Sprintf("for %v at most", d)
	}
	text := fmt.Sprintf("Monitoring as task %s, %s. You will be told each line; all output goes to %s. TaskStop ends it.",
		t.ID, until, t.Snapshot().OutputFile)
	if notice != "" {
		text += "\n" + notice
	}
	r := tool.Text(text)
	r.Data = struct {
		ID         task.ID `json:"taskId"`
		Timeout    int64   `json:"timeoutMs"`
		Persistent bool    `json:"persistent"`
	}{t.ID, in.life().Milliseconds(), bool(in.Persistent)}
	return r
}
