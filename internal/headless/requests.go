package headless

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// control handles a request of the host. None waits for a turn, and only the end of a task
// is waited for, beside all others.
func (c *conversation) control(id string, body json.RawMessage) {
	var req struct {
		Subtype string `json:"subtype"`
	}
	if err := decode(body, &req); err != nil {
		c.w.answer(id, nil, fmt.Errorf("a control request without a subtype: %v", err))
		return
	}
	handle, ok := map[string]func(json.RawMessage) (any, error){
		"initialize":          c.initialize,
		"interrupt":           c.interrupt,
		"set_permission_mode": c.setMode,
		"set_model":           c.setModel,
		"get_context_usage":   c.contextUsage,
		"stop_task":           c.stopTask,
		"move_to_background":  c.moveToBackground,
		"mcp_status":          c.serverStatus,
	}[req.Subtype]
	if !ok {
		c.w.answer(id, nil, fmt.Errorf("control request %q is not supported", req.Subtype))
		return
	}
	carryOut := func() {
		response, err := handle(body)
		c.w.answer(id, response, err)
	}
	switch {
	case req.Subtype != "stop_task":
		carryOut()
	case !c.later(carryOut):
		c.w.answer(id, nil, errors.New("the session is ending, and its tasks with it"))
	}
}

func (c *conversation) initialize(body json.RawMessage) (any, error) {
	var req struct {
		Hooks  map[string]json.RawMessage `json:"hooks"`
		Agents map[string]json.RawMessage `json:"agents"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	// A host relies on its hooks to stop what must not happen: better no session
	// than one that ignores them.
	if len(req.Hooks) > 0 {
		return nil, errors.New("hooks are not supported yet; decide in can_use_tool instead (--permission-prompt-tool stdio)")
	}
	if len(req.Agents) > 0 {
		return nil, errors.New("agents are not supported yet")
	}
	models := []fields{}
	for _, m := range c.s.Models() {
		models = append(models, fields{"value": m.Provider + "/" + m.ID, "displayName": m.ID, "description": fmt.Sprintf("%d tokens", m.Window)})
	}
	commands := []fields{}
	for _, cmd := range c.s.About().Commands {
		commands = append(commands, fields{"name": cmd.Name, "description": cmd.Description, "argumentHint": cmd.ArgumentHint})
	}
	return fields{
		"commands":      commands,
		"agents":        []fields{},
		"output_style":  "default",
		"models":        models,
		"account":       fields{},
		"pid":           c.s.About().PID,
		"hooks_applied": false,

		"available_output_styles": []string{"default"},
	}, nil
}

// interrupt ends the running turn; what waits goes on, unless it is cancelled too.
func (c *conversation) interrupt(body json.RawMessage) (any, error) {
	var req struct {
		CancelQueued bool `json:"cancel_queued"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	still, cancelled := []string{}, []string{}
	c.mu.Lock()
	c.interruptFirst()
	for _, q := range c.queue {
		if q.bad != nil || q.interrupted {
			continue
		}
		if req.CancelQueued {
			cancelled = append(cancelled, q.input.ID)
		} else {
			still = append(still, q.input.ID)
		}
	}
	if req.CancelQueued {
		c.queue = slices.DeleteFunc(c.queue, func(q queued) bool { return q.bad == nil && !q.interrupted })
	}
	c.mu.Unlock()
	c.s.Interrupt()
	return fields{"still_queued": still, "cancelled": cancelled}, nil
}

func (c *conversation) setMode(body json.RawMessage) (any, error) {
	var req struct {
		Mode string `json:"mode"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	if err := c.s.SetMode(req.Mode); err != nil {
		return nil, err
	}
	c.w.write(statusMessage{envelope: c.w.head("system", "status"), Mode: req.Mode})
	return fields{"mode": req.Mode}, nil
}

func (c *conversation) setModel(body json.RawMessage) (any, error) {
	var req struct {
		Model *string `json:"model"`
	}
	if err := decode(body, &req); err != nil {
		return nil, err
	}
	name := ""
	if req.Model != nil && *req.Model != "default" {
		name = *req.Model
	}
	return nil, c.s.SetModel(name)
}

func (c *conversation) serverStatus(json.RawMessage) (any, error) {
	servers := []fields{}
	for _, s := range c.s.About().Servers {
		f := fields{"name": s.Name, "status": s.Status}
		if s.Error != "" {
			f["error"] = s.Error
		}
		servers = append(servers, f)
	}
	return fields{"mcpServers": servers}, nil
}

func (c *conversation) contextUsage(json.RawMessage) (any, error) {
	u := c.s.ContextUsage()
	return fields{
		"totalTokens": u.Tokens, "maxTokens": u.Window, "model": u.Model,
		"percentage": percent(u.Tokens, u.Window), "messages": u.Messages,
	}, nil
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
