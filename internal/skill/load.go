package skill

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"heddle/internal/config"
	"heddle/internal/definition"
)

// nameRule is that of the specification of skills.
var nameRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
})

// argumentRule is what the name of an argument may be.
var argumentRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*$`)
})

// badName says what is wrong with a name that could not be typed, or "".
func badName(name string) string {
	for _, c := range name {
		if c == '/' || c == '\\' || c == ':' || unicode.IsSpace(c) || !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			return fmt.Sprintf("the name %q cannot be called, because of the character %q in it: rename it", name, c)
		}
	}
	if name == "" || name == "." || name == ".." {
		return fmt.Sprintf("%q is no name: rename it", name)
	}
	return ""
}

// loader reads the front matter of one file.
type loader struct {
	file     *definition.File
	source   Source
	skill    *Skill
	problem  error // the first; the file is left out
	warnings []*config.Problem
}

// load returns nil and an error for a file that cannot be used.
func load(s Source, f found, command bool) (*Skill, []*config.Problem, error) {
	disk := files{s.FS, s.Within}
	file, err := disk.read(s.Layer, f.path)
	if err != nil {
		return nil, nil, err
	}
	l := &loader{file: file, source: s, warnings: slices.Clone(file.Warnings)}
	l.skill = &Skill{
		Command: command, Path: f.path, Dir: filepath.Dir(f.path), Source: s.Name, Layer: s.Layer,
		vars: s.Vars, files: disk,
	}
	l.name(f)
	l.words()
	l.boundaries()
	l.trust()
	if l.problem != nil {
		return nil, nil, l.problem
	}
	return l.skill, l.warnings, nil
}

// name decides what the skill is called by.
func (l *loader) name(f found) {
	name := f.name
	written := ""
	if !l.skill.Command {
		written = l.text("name")
	}
	if f.root && written != "" && badName(written) == "" {
		name = written
	}
	if problem := badName(name); problem != "" && !l.skill.Command { // the walk looked at those of commands
		l.fail(at(l.source.Layer, l.skill.Path, problem))
	}
	if written != "" && written != name {
		l.warn("name", fmt.Sprintf("%q is not the name of the folder, %q, which is what the skill is called by: make them the same", written, name))
	}
	if !l.skill.Command && (len(name) > 64 || !nameRule().MatchString(name)) {
		l.warn("name", fmt.Sprintf("%q breaks the rule for names of skills: at most 64 lower-case letters, digits and single hyphens", name))
	}
	if l.source.Plugin != "" {
		name = l.source.Plugin + ":" + name
	}
	l.skill.Name = name
}

// words reads what a mistake in does no harm to.
func (l *loader) words() {
	s := l.skill
	s.Description = cmp.Or(oneLine(l.text("description")), firstParagraph(l.file.Body))
	s.WhenToUse = oneLine(l.text("when_to_use"))
	s.ArgumentHint = l.hint()
	s.Model = l.text("model")
	s.Agent = l.text("agent")
	s.Effort = l.text("effort")
	if s.Effort != "" && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, s.Effort) {
		l.warn("effort", fmt.Sprintf("%q is ignored: expected low, medium, high, xhigh or max", s.Effort))
		s.Effort = ""
	}
	background, err := l.file.Bool("background", true)
	l.ignore(err)
	s.Background = background
	s.Arguments, err = l.file.Words("arguments")
	l.ignore(err)
	for i, name := range s.Arguments {
		if !argumentRule().MatchString(name) {
			l.warn("arguments", fmt.Sprintf("%q cannot be the name of an argument: use letters, digits and underscores", name))
			s.Arguments[i] = ""
		}
	}
}

// hint is shown as it is written: [file] is no list.
func (l *loader) hint() string {
	hint := oneLine(l.text("argument-hint"))
	if value, _, ok := l.file.Value("argument-hint"); ok && strings.HasPrefix(strings.TrimSpace(string(value)), "[") {
		return "[" + hint + "]"
	}
	return hint
}

// boundaries reads who may call the skill and what it may do. A mistake there leaves the
// skill out: a guess could allow what its author meant to forbid.
func (l *loader) boundaries() {
	s := l.skill
	var disabled bool
	var context string
	var errs [5]error
	s.Allowed, errs[0] = l.file.Words("allowed-tools")
	s.Disallowed, errs[1] = l.file.Words("disallowed-tools")
	disabled, errs[2] = l.file.Bool("disable-model-invocation", false)
	s.UserMayCall, errs[3] = l.file.Bool("user-invocable", true)
	context, errs[4] = l.file.Text("context")
	for _, err := range errs {
		l.fail(err)
	}
	s.ModelMayCall = !disabled
	s.Fork = context == "fork"
	if context != "" && !s.Fork {
		l.fail(l.file.Problem("context", fmt.Sprintf("expected fork, found %q", context)))
	}
	if hooks, _, ok := l.file.Value("hooks"); ok {
		s.Hooks = hooks
		if !strings.HasPrefix(strings.TrimSpace(string(hooks)), "{") {
			l.fail(l.file.Problem("hooks", "expected a map of events"))
		}
	}
}

// trust leaves out what only trusted files may say.
func (l *loader) trust() {
	if l.source.Trusted {
		return
	}
	if len(l.skill.Allowed) > 0 {
		l.skill.Allowed = nil
		l.warn("allowed-tools", "is ignored, because the files of "+l.source.Name+" are not trusted")
	}
	if l.skill.Hooks != nil {
		l.skill.Hooks = nil
		l.warn("hooks", "are ignored, because the files of "+l.source.Name+" are not trusted")
	}
}

func (l *loader) text(key string) string {
	text, err := l.file.Text(key)
	l.ignore(err)
	return strings.TrimSpace(text)
}

func (l *loader) fail(err error) {
	if l.problem == nil {
		l.problem = err
	}
}

func (l *loader) warn(key, text string) {
	l.warnings = append(l.warnings, l.file.Problem(key, text))
}

// ignore makes a warning of what is wrong with a value.
func (l *loader) ignore(err error) {
	if p, ok := errors.AsType[*config.Problem](err); ok {
		l.warnings = append(l.warnings, &config.Problem{Origin: p.Origin, Text: p.Text + "; it is ignored"})
	}
}

// firstParagraph is the first one that is not a heading, or the first heading.
func firstParagraph(body string) string {
	heading := ""
	var lines []string
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			heading = cmp.Or(heading, strings.TrimSpace(strings.TrimLeft(line, "#")))
			line = ""
			fallthrough
		case line == "":
			if len(lines) > 0 {
				return oneLine(strings.Join(lines, " "))
			}
		default:
			lines = append(lines, line)
		}
	}
	return cmp.Or(oneLine(strings.Join(lines, " ")), oneLine(heading))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
