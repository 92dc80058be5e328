package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"heddle/internal/permission"
	"heddle/internal/tool"
)

// Dialog carries what tools have to say to the person, or to the program that
// speaks for one: questions, and plans to approve. Both go the way of a question
// of permission.
type Dialog struct {
	gate *permission.Gate

	mu     sync.Mutex
	asker  permission.Asker
	around func(permission.Asker) permission.Asker
	before permission.Mode // the mode to return to when a plan is approved
}

// NewDialog returns a dialog with nobody. See [Session.SetAsker].
func NewDialog(gate *permission.Gate) *Dialog { return &Dialog{gate: gate, before: permission.Default} }

var errNobody = errors.New("nobody is there to answer")

// Around lets something come between questions and whoever answers them, who may be nil:
// nobody.
func (d *Dialog) Around(wrap func(permission.Asker) permission.Asker) {
	d.mu.Lock()
	d.around = wrap
	a := d.asker
	d.mu.Unlock()
	d.setAsker(a)
}

func (d *Dialog) setAsker(a permission.Asker) {
	d.mu.Lock()
	d.asker = a
	if d.around != nil {
		a = d.around(a)
	}
	d.mu.Unlock()
	d.gate.SetAsker(a)
}

func (d *Dialog) ask(ctx context.Context, c tool.Call, reason string) (permission.Answer, error) {
	d.mu.Lock()
	asker, around := d.asker, d.around
	d.mu.Unlock()
	if asker == nil || d.gate.Mode() == permission.DontAsk {
		return permission.Answer{}, errNobody
	}
	if around != nil {
		asker = around(asker)
	}
	q := permission.Question{Call: c, Reason: reason, Person: true}
	if c.Scope != nil {
		q.Agent, q.Dir = c.Scope.Agent, c.Scope.Dir()
	}
	a, err := asker.Ask(ctx, q)
	if err != nil {
		return a, err
	}
	return a, d.gate.Apply(a.Updates)
}

// Ask asks the questions in the input of c.
func (d *Dialog) Ask(ctx context.Context, c tool.Call) (map[string]string, error) {
	a, err := d.ask(ctx, c, "the model has a question")
	switch {
	case err != nil:
		return nil, err
	case !a.Allow && a.Message != "":
		return nil, fmt.Errorf("the user said: %s", a.Message)
	case !a.Allow:
		return nil, errors.New("the user does not want to answer")
	}
	var in struct {
		Answers map[string]string `json:"answers"`
	}
	if len(a.Input) > 0 {
		err = json.Unmarshal(a.Input, &in)
	}
	if err == nil && len(in.Answers) == 0 {
		err = errors.New("there were no answers")
	}
	return in.Answers, err
}

// Put asks something that is no call of the model's, such as what a server wants to know.
func (d *Dialog) Put(ctx context.Context, c tool.Call, reason string) (permission.Answer, error) {
	return d.ask(ctx, c, reason)
}

// EnterPlan switches plan mode on.
func (d *Dialog) EnterPlan(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asker == nil {
		return errors.New("nobody is there to approve a plan, and so it would never end")
	}
	if m := d.gate.Mode(); m != permission.Plan {
		d.before = m
	}
	return d.gate.SetMode(permission.Plan)
}

// ExitPlan shows a plan. Plan mode ends when it is approved.
func (d *Dialog) ExitPlan(ctx context.Context, c tool.Call, plan string) (approved bool, feedback string, err error) {
	if d.gate.Mode() != permission.Plan {
		return false, "", errors.New("plan mode is not on; go on with the work")
	}
	if c.Input, err = json.Marshal(map[string]string{"plan": plan}); err != nil {
		return false, "", err
	}
	a, err := d.ask(ctx, c, "the model has a plan")
	if err != nil {
		return false, "", err
	}
	if !a.Allow {
		return false, a.Message, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gate.Mode() != permission.Plan {
		return true, a.Message, nil // whoever approved has chosen a mode already
	}
	return true, a.Message, d.gate.SetMode(d.before)
}
