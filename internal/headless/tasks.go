package headless

import (
	"context"
	"encoding/json"
	"sync"

	"heddle/internal/task"
)

// The messages about tasks. Names and shapes are those that agent SDKs read.

type taskStarted struct {
	envelope
	ID           task.ID   `json:"task_id"`
	Use          string    `json:"tool_use_id,omitempty"`
	Description  string    `json:"description"`
	Kind         task.Kind `json:"task_type"`
	Backgrounded bool      `json:"is_backgrounded"`
}

type taskUpdated struct {
	envelope
	ID    task.ID   `json:"task_id"`
	Patch taskPatch `json:"patch"`
}

// taskPatch holds only what has changed.
type taskPatch struct {
	Status       task.Status `json:"status,omitempty"`
	Description  string      `json:"description,omitempty"`
	End          int64       `json:"end_time,omitempty"` // milliseconds since 1970
	Error        string      `json:"error,omitempty"`
	Backgrounded bool        `json:"is_backgrounded,omitempty"`
}

type taskNotification struct {
	envelope
	ID      task.ID `json:"task_id"`
	Use     string  `json:"tool_use_id,omitempty"`
	Status  string  `json:"status"` // completed, failed or stopped
	Reason  string  `json:"reason,omitempty"`
	Output  string  `json:"output_file"`
	Summary string  `json:"summary"`
}

type tasksChanged struct {
	envelope
	Tasks []taskBrief `json:"tasks"`
}

// taskTeller tells what becomes of tasks in the background. A command that ends within its
// call is nobody's business but the call's.
type taskTeller struct {
	w    *writer
	seen map[task.ID]task.Snapshot // by their newest state, as long as they are listed
}

// tellTasks tells of the tasks of the session until stop is called; what has changed by
// then is told, too.
func (d *driver) tellTasks() (stop func()) {
	if d.Format != Stream {
		return func() {}
	}
	t := &taskTeller{w: d.w, seen: map[task.ID]task.Snapshot{}}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		for list := range d.s.WatchTasks(ctx) {
			t.look(list)
		}
	})
	return func() {
		cancel()
		work.Wait()
		for list := range d.s.WatchTasks(context.Background()) {
			t.look(list)
			break
		}
	}
}

// look tells what is new in the list. It may have missed states, but no start and no end.
func (t *taskTeller) look(list []task.Snapshot) {
	changed := false
	now := make(map[task.ID]task.Snapshot, len(list))
	for _, s := range list {
		old, known := t.seen[s.ID]
		if !known && !s.Backgrounded && s.Kind == task.LocalBash {
			continue
		}
		now[s.ID] = s
		if !known || s.Attempt != old.Attempt {
			t.w.write(taskStarted{t.w.head("system", "task_started"), s.ID, s.ToolUseID, s.Description, s.Kind, s.Backgrounded})
			old = task.Snapshot{Status: task.Running, Description: s.Description, Backgrounded: s.Backgrounded}
			changed = true
		}
		changed = t.update(old, s) || changed
	}
	t.seen = now
	if changed {
		t.w.write(tasksChanged{t.w.head("system", "background_tasks_changed"), live(list)})
	}
}

// update tells how a task has changed, and reports whether the set of those that run has.
func (t *taskTeller) update(old, s task.Snapshot) (changed bool) {
	var p taskPatch
	if s.Status != old.Status && s.Status != task.Pending {
		p.Status = s.Status
	}
	if s.Description != old.Description {
		p.Description = s.Description
	}
	if s.Backgrounded && !old.Backgrounded {
		p.Backgrounded, changed = true, true
	}
	ended := s.Status.Terminal() && !old.Status.Terminal()
	if ended {
		p.End, p.Error, changed = s.EndedAt.UnixMilli(), s.Error, true
	}
	if p != (taskPatch{}) {
		t.w.write(taskUpdated{t.w.head("system", "task_updated"), s.ID, p})
	}
	if ended && s.Backgrounded {
		t.w.write(taskNotification{
			envelope: t.w.head("system", "task_notification"), ID: s.ID, Use: s.ToolUseID,
			Status: endWord(s.Status), Reason: string(s.Reason), Output: s.OutputFile, Summary: summary(s),
		})
	}
	return changed
}

func endWord(s task.Status) string {
	if s == task.Killed {
		return "stopped"
	}
	return string(s)
}

func summary(s task.Snapshot) string {
	if s.Error != "" {
		return s.Description + ": " + s.Error
	}
	return s.Description
}

// live are the tasks that run in the background.
func live(list []task.Snapshot) []taskBrief {
	running := []taskBrief{}
	for _, s := range list {
		if !s.Status.Terminal() && s.Backgrounded {
			running = append(running, taskBrief{s.ID, s.Kind, s.Description})
		}
	}
	return running
}

// stopTask ends a task, as the host's wish. That can take seconds, and other requests are
// answered meanwhile.
func (c *conversation) stopTask(body json.RawMessage) (any, error) {
	var req struct {
		ID task.ID `json:"task_id"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	return nil, c.s.StopTask(req.ID)
}

// moveToBackground lets the conversation go on without the commands that it waits for.
func (c *conversation) moveToBackground(body json.RawMessage) (any, error) {
	var req struct {
		ID task.ID `json:"task_id"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	tasks, err := c.s.Background(req.ID)
	if err != nil {
		return nil, err
	}
	moved := []task.ID{}
	for _, t := range tasks {
		moved = append(moved, t.ID)
	}
	return fields{"moved": moved}, nil
}
