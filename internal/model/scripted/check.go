package scripted

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"heddle/internal/message"
)

// UnmarshalYAML reads a rule and checks that it makes sense.
func (a *Agent) UnmarshalYAML(n ast.Node) error {
	type fields Agent
	if err := yaml.NodeToValue(n, (*fields)(a), yaml.Strict()); err != nil {
		return err
	}
	if len(a.Turns) == 0 {
		return problem(n, "this agent has no turns")
	}
	known := map[string]bool{}
	for i, t := range a.Turns {
		if t.Repeat == forever && i < len(a.Turns)-1 {
			return problem(turnNode(n, i), "this turn repeats forever, so those after it are never played")
		}
		if name := t.unknown(known); name != "" {
			return problem(turnNode(n, i), "%s is captured by no turn up to here; write $%s for the text itself", name, name)
		}
	}
	return nil
}

// turnNode is turn i of an agent.
func turnNode(agent ast.Node, i int) ast.Node {
	if m, ok := agent.(*ast.MappingNode); ok {
		for _, v := range m.Values {
			if list, ok := v.Value.(*ast.SequenceNode); ok && v.Key.GetToken().Value == "turns" && i < len(list.Values) {
				return list.Values[i]
			}
		}
	}
	return agent
}

// unknown returns a reference in t that stands for nothing. known is what was
// captured before, and gets what t captures.
func (t Turn) unknown(known map[string]bool) (ref string) {
	look := func(s string) {
		for _, found := range reference().FindAllString(s, -1) {
			name, plain := found[2:len(found)-1], strings.HasPrefix(found, "$$")
			if !plain && !known[name] && !isResult(name) && ref == "" {
				ref = found
			}
		}
	}
	look(t.Wait.source)
	look(t.Expect.source)
	for _, p := range t.Capture {
		look(p.source)
	}
	for name := range t.Capture {
		known[name] = true
	}
	look(t.Text)
	look(t.Thinking)
	for _, c := range t.Calls {
		for _, s := range c.Input {
			look(s.text)
		}
	}
	return ref
}

// isResult reports whether name is result.last or result.N.
func isResult(name string) bool {
	n, ok := strings.CutPrefix(name, "result.")
	i, err := strconv.Atoi(n)
	return ok && (n == "last" || err == nil && i > 0)
}

var stops = []message.StopReason{
	"", message.EndTurn, message.StopToolUse, message.MaxTokens, message.StopSequence,
	message.PauseTurn, message.Refusal, message.ContextExceeded,
}

// UnmarshalYAML reads a turn and checks that it makes sense.
func (t *Turn) UnmarshalYAML(n ast.Node) error {
	type fields Turn
	if err := yaml.NodeToValue(n, (*fields)(t), yaml.Strict()); err != nil {
		return err
	}
	switch {
	case !slices.Contains(stops, t.Stop):
		return problem(n, "stop: there is no reason %q", t.Stop)
	case t.Refusal != nil && t.Stop != "" && t.Stop != message.Refusal:
		return problem(n, "a refusal cannot stop for another reason")
	case t.Chunk < 0:
		return problem(n, "chunk: want a number of characters from 1")
	case t.Text == waiting:
		return problem(n, "text: %q is what a turn says that is held back", waiting)
	}
	for name := range t.Capture {
		ref := "${" + name + "}"
		if reference().FindString(ref) != ref || strings.HasPrefix(name, "result.") {
			return problem(n, "capture: %q is no name for a value", name)
		}
	}
	return nil
}

// UnmarshalYAML reads a call and checks that it makes sense.
func (c *Call) UnmarshalYAML(n ast.Node) error {
	type fields Call
	if err := yaml.NodeToValue(n, (*fields)(c), yaml.Strict()); err != nil {
		return err
	}
	if c.Tool == "" {
		return problem(n, "a call names its tool")
	}
	if c.InputRaw != nil && c.Input != nil {
		return problem(n, "a call has either input or input_raw")
	}
	return nil
}

// UnmarshalYAML reads a failure and checks that it is one.
func (f *Failure) UnmarshalYAML(n ast.Node) error {
	type fields Failure
	if err := yaml.NodeToValue(n, (*fields)(f), yaml.Strict()); err != nil {
		return err
	}
	ways := 0
	for _, set := range []bool{f.Status != 0, f.HTML != 0, f.Cut != "", f.ErrorEvent != "", f.Silence > 0, f.Pings > 0, f.Disorder} {
		if set {
			ways++
		}
	}
	switch status := max(f.Status, f.HTML); {
	case ways != 1:
		return problem(n, "a failure is one of status, html, cut, error_event, silence, pings and disorder")
	case status != 0 && (status < 300 || status > 599):
		return problem(n, "want a status from 300 to 599, not %d", status)
	case f.After < 0 || f.After > 0 && status != 0:
		return problem(n, "after: a number of pieces from 0, and not with a status")
	}
	return nil
}
