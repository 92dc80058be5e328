package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"heddle/internal/hook"
	"heddle/internal/permission"
	"heddle/internal/tool"
)

// Asker lets hooks answer questions before next does, and tells them of those that wait
// for an answer. next may be nil: nobody.
func (h *Hooks) Asker(next permission.Asker) permission.Asker { return hookAsker{h, next} }

type hookAsker struct {
	hooks *Hooks
	next  permission.Asker
}

// Ask asks the hooks and, if they have no answer, whoever comes next.
func (a hookAsker) Ask(ctx context.Context, q permission.Question) (permission.Answer, error) {
	if !q.Person {
		if answer, ok, err := a.hooks.decide(ctx, q); ok || err != nil {
			return answer, err
		}
	}
	if a.next == nil {
		return permission.Answer{}, permission.ErrNobody
	}
	done := a.hooks.notify(ctx, "permission_prompt", fmt.Sprintf("heddle asks for permission: %s (%s)", q.Call.Name, q.Reason))
	defer done()
	return a.next.Ask(ctx, q)
}

// decide asks the hooks of PermissionRequest. ok is false if they leave it open.
func (h *Hooks) decide(ctx context.Context, q permission.Question) (a permission.Answer, ok bool, err error) {
	if !h.runner.Has(hook.PermissionRequest) {
		return a, false, nil
	}
	fields := map[string]any{"tool_name": q.Call.Name, "tool_input": input(q.Call.Input), "permission_suggestions": q.Suggestions}
	o := h.runner.Fire(ctx, hook.PermissionRequest, q.Call.Name, fields, &q.Call)
	if ctx.Err() != nil {
		return a, false, ctx.Err()
	}
	p := o.Permission
	if p == nil {
		return a, false, nil
	}
	if p.Behavior != hook.Allow {
		return permission.Answer{Message: p.Message, Interrupt: p.Interrupt}, true, nil
	}
	if !h.mayConsent(q.Call) || p.UpdatedInput != nil && !h.mayConsent(withInput(q.Call, p.UpdatedInput)) {
		return a, false, nil
	}
	a = permission.Answer{Allow: true, Input: p.UpdatedInput}
	if len(p.UpdatedPermissions) > 0 {
		if err := json.Unmarshal(p.UpdatedPermissions, &a.Updates); err != nil {
			return permission.Answer{}, false, fmt.Errorf("updatedPermissions of a hook cannot be used: %w", err)
		}
	}
	for _, u := range a.Updates {
		if h.lifts(u) {
			return permission.Answer{}, false, fmt.Errorf("updatedPermissions of a hook cannot be used: %s would lift what the user has set; a hook may add rules and directories", u.Type)
		}
	}
	return a, true, nil
}

// lifts reports whether an update could take away what the user has forbidden.
func (h *Hooks) lifts(u permission.Update) bool {
	switch u.Type {
	case permission.AddRules, permission.AddDirectories, permission.RemoveDirectories:
		return false
	case permission.SetMode:
		now := h.o.Gate.Mode()
		return u.Mode == permission.Bypass || now == permission.Plan || now == permission.DontAsk
	}
	return true
}

// mayConsent reports whether a hook's consent to a call counts.
func (h *Hooks) mayConsent(c tool.Call) bool {
	t, ok := h.o.Tool(c.Name)
	return ok && h.o.Gate.MayConsent(t, c)
}

func withInput(c tool.Call, input json.RawMessage) tool.Call {
	c.Input = input
	return c
}

// notify tells hooks that something waits, while it does: done ends those that still run.
func (h *Hooks) notify(ctx context.Context, kind, text string) (done func()) {
	if !h.runner.Has(hook.Notification) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() {
		h.runner.Fire(ctx, hook.Notification, kind, map[string]any{"message": text, "title": "heddle", "notification_type": kind}, nil)
	})
	return func() {
		cancel()
		wait.Wait()
	}
}
