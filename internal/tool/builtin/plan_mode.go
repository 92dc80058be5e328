package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"heddle/internal/tool"
)

var (
	//go:embed enter_plan_mode.md
	enterPlanPrompt string
	//go:embed exit_plan_mode.md
	exitPlanPrompt string
)

const (
	enterPlanSchema = `{"type":"object","properties":{},"additionalProperties":false}`
	exitPlanSchema  = `{"type":"object","properties":{` +
		`"plan":{"type":"string","description":"The plan, in Markdown"}},` +
		`"required":["plan"],"additionalProperties":false}`
)

// Planner switches plan mode on, and off once a person has approved a plan.
type Planner interface {
	EnterPlan(ctx context.Context) error
	// ExitPlan shows the plan and says what the person thinks of it.
	ExitPlan(ctx context.Context, c tool.Call, plan string) (approved bool, feedback string, err error)
}

// EnterPlanMode returns the tool with which a model goes into plan mode. A nil
// p means that there is no plan mode.
func EnterPlanMode(p Planner) tool.Tool {
	return tool.Tool{
		Name:        "EnterPlanMode",
		Description: strings.TrimSpace(enterPlanPrompt),
		Schema:      json.RawMessage(enterPlanSchema),
		Run: func(ctx context.Context, _ tool.Call) tool.Result {
			if p == nil {
				return noPlanMode()
			}
			if err := p.EnterPlan(ctx); err != nil {
				return tool.Failf("Plan mode was not entered: %v. Go on without it.", err)
			}
			return tool.Text("You are in plan mode now. Read and search, change nothing, and present your plan with ExitPlanMode.")
		},
	}
}

// ExitPlanMode returns the tool with which a model presents its plan. A nil p
// means that there is no plan mode.
func ExitPlanMode(p Planner) tool.Tool {
	return tool.Tool{
		Name:        "ExitPlanMode",
		Description: strings.TrimSpace(exitPlanPrompt),
		Schema:      json.RawMessage(exitPlanSchema),
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decode[struct {
				Plan string `json:"plan"`
			}](c)
			switch {
			case err != nil:
				return failed(err)
			case strings.TrimSpace(in.Plan) == "":
				return tool.Failf("ExitPlanMode: plan is empty. Call again with the plan, in Markdown.")
			case p == nil:
				return noPlanMode()
			}
			approved, feedback, err := p.ExitPlan(ctx, c, in.Plan)
			if err != nil {
				return tool.Failf("You are still in plan mode: %v.", err)
			}
			return decided(in.Plan, approved, feedback)
		},
	}
}

func noPlanMode() tool.Result {
	return tool.Failf("There is no plan mode here. Say what you are going to do and go on.")
}

func decided(plan string, approved bool, feedback string) tool.Result {
	said := ""
	if feedback != "" {
		said = fmt.Sprintf(" The user said: %s", feedback)
	}
	r := tool.Text("The plan is approved and plan mode is over. Begin." + said)
	if !approved {
		r = tool.Failf("The plan is not approved, and you are still in plan mode. Change the plan and present it again.%s", said)
	}
	r.Data = struct {
		Plan     string `json:"plan"`
		Approved bool   `json:"approved"`
	}{plan, approved}
	return r
}
