package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"heddle/internal/tool"
)

//go:embed skill.md
var skillPrompt string

const skillSchema = `{"type":"object","properties":{` +
	`"skill":{"type":"string","description":"The name of the skill"},` +
	`"args":{"type":"string","description":"Arguments for it"}},` +
	`"required":["skill"],"additionalProperties":false}`

// Skills are the instructions that an agent can load.
type Skills interface {
	// Use returns what a skill says, with args in its places.
	Use(ctx context.Context, c tool.Call, name, args string) tool.Result
}

// Skill returns the tool that loads instructions.
func Skill(skills Skills) tool.Tool {
	return tool.Tool{
		Name: "Skill", Description: strings.TrimSpace(skillPrompt), Schema: json.RawMessage(skillSchema),
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decode[struct {
				Skill string `json:"skill"`
				Args  string `json:"args"`
			}](c)
			if err != nil {
				return failed(err)
			}
			name := strings.TrimPrefix(strings.TrimSpace(in.Skill), "/")
			if name == "" {
				return tool.Failf("Skill: skill is missing. Call again with the name of a skill that the first message lists.")
			}
			return skills.Use(ctx, c, name, in.Args)
		},
	}
}
