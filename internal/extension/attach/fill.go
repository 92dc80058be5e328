package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"heddle/internal/message"
	"heddle/internal/permission"
	"heddle/internal/skill"
	"heddle/internal/tool"
)

// fill puts the parts of a text together: commands are run and files are read as if the
// model had called Bash and Read, with their permissions, limits and hooks.
func (c *Commands) fill(ctx context.Context, call tool.Call, s *skill.Skill, parts []skill.Part) ([]message.Block, error) {
	var w strings.Builder
	var images []message.Block
	for i, p := range parts {
		switch p.Kind {
		case skill.Text:
			w.WriteString(p.Text)
		case skill.Shell:
			text, err := c.shell(ctx, part(call, i), s, p.Text)
			if err != nil {
				return nil, err
			}
			w.WriteString(text)
		case skill.File:
			text, others, err := c.file(ctx, part(call, i), s, p.Text)
			if err != nil {
				return nil, err
			}
			w.WriteString(text)
			images = append(images, others...)
		}
	}
	return append([]message.Block{message.Text{Text: w.String()}}, images...), nil
}

// part is the call that stands behind a part of a text.
func part(call tool.Call, i int) tool.Call {
	call.ID = fmt.Sprintf("%s-%d", call.ID, i)
	return call
}

// shell returns what a command prints, also if it fails: the text may be about that.
func (c *Commands) shell(ctx context.Context, call tool.Call, s *skill.Skill, command string) (string, error) {
	made, r, err := c.run(ctx, call, "Bash", map[string]string{"command": command, "description": "For /" + s.Name})
	if err != nil {
		return "", err
	}
	if r.Denied || !c.offers("Bash") {
		return "", &refusal{s, fmt.Sprintf("runs `%s`", command), made, textOf(r.Content)}
	}
	return strings.TrimSpace(textOf(r.Content)), nil
}

// file returns a file as the model reads it. What is no file is what it looks like.
func (c *Commands) file(ctx context.Context, call tool.Call, s *skill.Skill, name string) (text string, images []message.Block, err error) {
	path := name
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(call.Scope.Dir(), path)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return "@" + name, nil, nil
	}
	made, r, err := c.run(ctx, call, "Read", map[string]string{"file_path": path})
	switch {
	case err != nil:
		return "", nil, err
	case r.Denied || !c.offers("Read"):
		return "", nil, &refusal{s, "reads " + name, made, textOf(r.Content)}
	case r.IsError:
		return "", nil, fmt.Errorf("/%s (%s) reads %s. %s", s.Name, s.Path, name, textOf(r.Content))
	}
	for _, b := range r.Content {
		if _, isText := b.(message.Text); !isText {
			images = append(images, b)
		}
	}
	return fmt.Sprintf("@%s\n<file path=%q>\n%s\n</file>\n", name, path, escape(textOf(r.Content))), images, nil
}

// run makes a call, and returns it with its result.
func (c *Commands) run(ctx context.Context, call tool.Call, name string, fields map[string]string) (tool.Call, tool.Result, error) {
	raw, err := json.Marshal(fields)
	if err != nil {
		return call, tool.Result{}, err
	}
	call.Name, call.Input = name, raw
	r := c.o.Pool().Call(ctx, call)
	return call, r, context.Cause(ctx)
}

func (c *Commands) offers(name string) bool {
	_, ok := c.o.Pool().Get(name)
	return ok
}

// refusal is the error of a part of a text that may not run. As it stands, it is for a model.
type refusal struct {
	skill *skill.Skill
	what  string // that it does
	call  tool.Call
	text  string // that the model reads
}

func (r *refusal) Error() string {
	return fmt.Sprintf("/%s (%s) %s. %s", r.skill.Name, r.skill.Path, r.what, r.text)
}

// forPerson words an error for whoever called a command and can permit what it needs.
func (c *Commands) forPerson(err error) error {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	what := fmt.Sprintf("/%s (%s) %s", r.skill.Name, r.skill.Path, r.what)
	t, ok := c.o.Pool().Get(r.call.Name)
	if !ok {
		return fmt.Errorf("%s, and the tool %s is not there: flags or rules have taken it away", what, r.call.Name)
	}
	v := c.o.Gate.Judge(t, r.call)
	if v.Behavior == permission.Allow {
		return err // then it was not the rules
	}
	var rules []string
	for _, u := range v.Suggestions {
		for _, rule := range u.Rules {
			rules = append(rules, rule.String())
		}
	}
	permit := ""
	if len(rules) > 0 {
		permit = fmt.Sprintf(". To permit it, add %s to permissions.allow of your settings, or to --allowedTools", strings.Join(rules, ", "))
	}
	return fmt.Errorf("%s, which is not permitted: %s%s", what, v.Reason, permit)
}
