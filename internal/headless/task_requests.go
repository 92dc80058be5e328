package headless

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"heddle/internal/task"
)

// taskRequest names a task.
type taskRequest struct {
	ID task.ID `json:"task_id"`
}

// stopTask ends a task, as the host's wish. That can take seconds, and other requests are
// answered meanwhile.
func (c *conversation) stopTask(body json.RawMessage) (any, error) {
	var req taskRequest
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	if req.ID == "" {
		return nil, errors.New("stop_task: task_id is missing: it names the task, as in task_started")
	}
	err := c.s.StopTask(req.ID)
	if errors.Is(err, task.ErrNotRunning) {
		err = c.notRunning(req.ID)
	}
	c.tasks.catchUp()
	return nil, err
}

// moveToBackground lets the conversation go on without the commands that it waits for.
func (c *conversation) moveToBackground(body json.RawMessage) (any, error) {
	var req taskRequest
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	tasks, err := c.s.Background(req.ID)
	if err != nil {
		return nil, c.notRunning(req.ID)
	}
	moved := []task.ID{}
	for _, t := range tasks {
		if t.Backgrounded { // otherwise it ended in this moment, and its call tells the end
			moved = append(moved, t.ID)
		}
	}
	c.tasks.catchUp()
	return fields{"moved": moved}, nil
}

// notRunning says why nothing can be done to a task.
func (c *conversation) notRunning(id task.ID) error {
	list := tasksOf(c.s)
	i := slices.IndexFunc(list, func(s task.Snapshot) bool { return s.ID == id })
	switch {
	case i < 0:
		return fmt.Errorf("task %s is not running: it ended a while ago, or there never was one", brief(string(id), 40))
	case list[i].Status.Terminal():
		return fmt.Errorf("task %s is not running: it ended before (%s)", id, endWord(list[i].Status))
	}
	return fmt.Errorf("task %s is in the background already", id)
}
