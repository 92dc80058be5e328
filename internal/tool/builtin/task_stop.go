package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"heddle/internal/task"
	"heddle/internal/task/subagent"
	"heddle/internal/tool"
)

//go:embed task_stop.md
var taskStopPrompt string

const taskStopSchema = `{"type":"object","properties":{` +
	`"task_id":{"type":"string","description":"The id of the task"},` +
	`"shell_id":{"type":"string","description":"An older name of task_id"}},` +
	`"additionalProperties":false}`

// TaskStop returns the tool that ends tasks.
func TaskStop(tasks *task.Runtime) tool.Tool {
	return tool.Tool{
		Name: "TaskStop", Description: strings.TrimSpace(taskStopPrompt), Schema: json.RawMessage(taskStopSchema),
		Run: func(_ context.Context, c tool.Call) tool.Result {
			in, err := decode[struct {
				ID    string `json:"task_id"`
				Shell string `json:"shell_id"`
			}](c)
			if err != nil {
				return failed(err)
			}
			if in.ID == "" {
				in.ID = in.Shell
			}
			if in.ID == "" {
				return failed(refuse("TaskStop: task_id is missing. Call again with the id of a task."))
			}
			return stopTask(tasks, task.ID(in.ID), c.ID)
		},
	}
}

func stopTask(tasks *task.Runtime, id task.ID, call string) tool.Result {
	claim, err := tasks.Claim([]task.ID{id}, call)
	if err != nil {
		return failed(notRunning(tasks, id))
	}
	killed := tasks.Kill(id, task.ErrStopped)
	s := claim.Take()[0]
	switch {
	case errors.Is(killed, task.ErrNotRunning):
		return failed(notRunning(tasks, id)) // it had ended before; this says how
	case !s.Status.Terminal():
		return tool.Failf("Task %s could not be stopped: %v.", id, killed)
	case s.Reason == task.ReasonLeaked:
		return tool.Failf("Task %s was told to stop, but something of it still runs: %s.", id, s.Error)
	case s.Reason != task.ReasonStoppedByModel:
		return failed(notRunning(tasks, id)) // it ended by itself in this moment
	}
	message := fmt.Sprintf("Stopped task %s (%s): nothing of it runs any more.", id, s.Description)
	text := message + " Its output until then is in " + s.OutputFile + "."
	if d, ok := s.Detail.(subagent.Detail); ok { // what it has found is not lost
		text += saidLast(tool.Clip(d.Result, agentLimit))
		text = strings.Join(append([]string{text}, beside(s, d)...), "\n")
	}
	r := tool.Text(text)
	r.Data = struct {
		Message string    `json:"message"`
		ID      task.ID   `json:"task_id"`
		Kind    task.Kind `json:"task_type"`
		Command string    `json:"command,omitempty"`
	}{message, id, s.Kind, s.Description}
	return r
}

// notRunning says why a task cannot be acted on.
func notRunning(tasks *task.Runtime, id task.ID) error {
	s, ok := tasks.Find(id)
	if !ok {
		return refuse("There is no task %s.%s", show(string(id)), runningNow(tasks))
	}
	return refuse("Task %s is not running: %s, %s ago.", id, outcome(s), time.Since(s.EndedAt).Round(time.Second))
}

// runningNow names the tasks that could have been meant.
func runningNow(tasks *task.Runtime) string {
	var ids []string
	for _, s := range tasks.List() {
		if !s.Status.Terminal() && s.Backgrounded {
			ids = append(ids, string(s.ID))
		}
	}
	if len(ids) == 0 {
		return " Nothing runs in the background."
	}
	return " In the background run: " + strings.Join(ids, ", ") + "."
}

// outcome is the state of a task in a few words.
func outcome(s task.Snapshot) string {
	text := string(s.Status)
	if s.Reason != "" && s.Reason != task.ReasonExit && s.Reason != task.ReasonSignal {
		text += " (" + string(s.Reason) + ")"
	}
	if s.Error != "" && s.Status == task.Failed {
		text += ": " + s.Error
	}
	return text
}
