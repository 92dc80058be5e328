package headless

import "heddle/internal/task"

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

// changes are the messages by which a reader who knows of seen learns of list, and what it
// knows then. States may have been missed in between, but no start and no end. A command
// that ends within its call is nobody's business but the call's.
func changes(w *writer, seen map[task.ID]task.Snapshot, list []task.Snapshot) (news []any, now map[task.ID]task.Snapshot) {
	now = make(map[task.ID]task.Snapshot, len(list))
	for _, s := range list {
		old, known := seen[s.ID]
		if !known && !s.Backgrounded && (s.Kind == task.LocalBash || s.Kind == task.MonitorMCP) {
			continue
		}
		now[s.ID] = s
		if !known || s.Attempt != old.Attempt {
			news = append(news, taskStarted{w.head("system", "task_started"), s.ID, s.ToolUseID, s.Description, s.Kind, s.Backgrounded})
			old = task.Snapshot{Status: task.Pending, Description: s.Description, Backgrounded: s.Backgrounded}
		}
		news = append(news, update(w, old, s)...)
	}
	return news, now
}

// update tells how a task has changed.
func update(w *writer, old, s task.Snapshot) (news []any) {
	var p taskPatch
	if s.Status != old.Status && !(old.Status == task.Pending && s.Status == task.Running) { // task_started says that it runs
		p.Status = s.Status
	}
	if s.Description != old.Description {
		p.Description = s.Description
	}
	p.Backgrounded = s.Backgrounded && !old.Backgrounded
	ended := s.Status.Terminal() && !old.Status.Terminal()
	if ended {
		p.End, p.Error = s.EndedAt.UnixMilli(), s.Error
	}
	if p != (taskPatch{}) {
		news = append(news, taskUpdated{w.head("system", "task_updated"), s.ID, p})
	}
	if ended && s.Backgrounded {
		news = append(news, taskNotification{
			envelope: w.head("system", "task_notification"), ID: s.ID, Use: s.ToolUseID,
			Status: endWord(s.Status), Reason: string(s.Reason), Output: s.OutputFile, Summary: summary(s),
		})
	}
	return news
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
