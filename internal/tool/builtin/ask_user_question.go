package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"heddle/internal/tool"
)

//go:embed ask_user_question.md
var askPrompt string

const askSchema = `{"type":"object","properties":{"questions":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","properties":{` +
	`"question":{"type":"string","description":"The whole question"},` +
	`"header":{"type":"string","description":"One or two words that name it"},` +
	`"options":{"type":"array","minItems":2,"maxItems":4,"items":{"type":"object","properties":{` +
	`"label":{"type":"string","description":"The answer, in a few words"},` +
	`"description":{"type":"string","description":"What choosing it means"}},` +
	`"required":["label","description"],"additionalProperties":false}},` +
	`"multiSelect":{"type":"boolean","description":"Whether several answers may be chosen; false if not given"}},` +
	`"required":["question","header","options"],"additionalProperties":false}}},` +
	`"required":["questions"],"additionalProperties":false}`

// Questioner asks a person. The input of the call holds the questions and nothing
// else that the model may have written. The answers are by the text of the
// question; several chosen labels are separated by ", ".
type Questioner interface {
	Ask(ctx context.Context, c tool.Call) (answers map[string]string, err error)
}

// Question is something to decide, with answers to choose from.
type Question struct {
	Question    string
	Header      string
	Options     []Option
	MultiSelect bool
}

// Option is an answer to choose.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description"`
}

// MarshalJSON writes the question as the input of the tool does.
func (q Question) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Question    string   `json:"question"`
		Header      string   `json:"header"`
		Options     []Option `json:"options"`
		MultiSelect bool     `json:"multiSelect"`
	}{q.Question, q.Header, q.Options, q.MultiSelect})
}

// AskUserQuestion returns the tool that asks the person at q. If q is nil,
// nobody is there, and the model is told to decide itself.
func AskUserQuestion(q Questioner) tool.Tool {
	return tool.Tool{
		Name:        "AskUserQuestion",
		Description: strings.TrimSpace(askPrompt),
		Schema:      json.RawMessage(askSchema),
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			questions, err := decodeQuestions(c)
			if err != nil {
				return failed(err)
			}
			if q == nil {
				return tool.Failf("Nobody is there to answer. Decide yourself, say in your report what you decided and why, and go on.")
			}
			if c.Input, err = json.Marshal(map[string]any{"questions": questions}); err != nil {
				return failed(err)
			}
			answers, err := q.Ask(ctx, c)
			if err != nil {
				return tool.Failf("The questions were not answered: %v. Decide yourself and go on, or end your turn if you cannot.", err)
			}
			return answered(questions, answers)
		},
	}
}

func decodeQuestions(c tool.Call) ([]Question, error) {
	type question struct {
		Question    string       `json:"question"`
		Header      string       `json:"header"`
		Options     list[Option] `json:"options"`
		MultiSelect flag         `json:"multiSelect"`
	}
	in, err := decode[struct {
		Questions list[question] `json:"questions"`
	}](c)
	if err != nil {
		return nil, err
	}
	if n := len(in.Questions); n < 1 || n > 4 {
		return nil, refuse("AskUserQuestion: ask one to four questions, not %d.", n)
	}
	var questions []Question
	seen := map[string]bool{}
	for i, q := range in.Questions {
		switch {
		case strings.TrimSpace(q.Question) == "":
			return nil, refuse("AskUserQuestion: question %d has no text.", i+1)
		case seen[q.Question]:
			return nil, refuse("AskUserQuestion: question %d is there twice.", i+1)
		case len(q.Options) < 2 || len(q.Options) > 4:
			return nil, refuse("AskUserQuestion: question %d needs two to four options, not %d.", i+1, len(q.Options))
		}
		for _, o := range q.Options {
			if strings.TrimSpace(o.Label) == "" {
				return nil, refuse("AskUserQuestion: an option of question %d has no label.", i+1)
			}
		}
		seen[q.Question] = true
		questions = append(questions, Question{q.Question, q.Header, q.Options, bool(q.MultiSelect)})
	}
	return questions, nil
}

func answered(questions []Question, answers map[string]string) tool.Result {
	var b strings.Builder
	b.WriteString("The user answered:\n")
	for _, q := range questions {
		answer, ok := answers[q.Question]
		if !ok || answer == "" {
			answer = "(no answer)"
		}
		fmt.Fprintf(&b, "- %s\n  %s\n", q.Question, answer)
	}
	r := tool.Text(b.String())
	r.Data = struct {
		Questions []Question        `json:"questions"`
		Answers   map[string]string `json:"answers"`
	}{questions, answers}
	return r
}
