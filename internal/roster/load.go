package roster

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"heddle/internal/config"
)

// fields are what stands under the keys of a definition, see [definition.File]. A key may
// be asked for in any of its spellings.
type fields interface {
	Has(key string) bool
	Keys() []string
	Text(key string) (string, error)
	Bool(key string, otherwise bool) (bool, error)
	Number(key string) (n int, ok bool, err error)
	List(key string) ([]string, error)
	Words(key string) ([]string, error)
	Value(key string) (text []byte, line int, ok bool)
	Problem(key, text string) *config.Problem
}

// loader makes an agent of a definition.
type loader struct {
	fields
	source   Source
	agent    *Agent
	problem  error // the first; the definition is left out
	warnings []*config.Problem
}

func newLoader(s Source, of fields, a Agent) *loader {
	a.Source, a.Layer, a.Plugin = s.Name, s.Layer, s.Plugin
	return &loader{fields: of, source: s, agent: &a}
}

// load reads one file. An agent that is nil without an error is a file that was written
// for people; the warnings then say if that may be a mistake.
func load(s Source, f found) (*Agent, []*config.Problem, error) {
	file, err := files{s.FS}.read(s.Layer, f.path)
	if err != nil {
		return nil, nil, err
	}
	if len(file.Keys()) == 0 && (s.Plugin == "" || strings.EqualFold(f.base(), "README")) {
		return nil, nil, nil
	}
	l := newLoader(s, file, Agent{Kind: f.kind, Path: f.path, Prompt: file.Body})
	l.warnings = slices.Clone(file.Warnings)
	if f.kind == KindOpenCode {
		return l.openCode(f)
	}
	if !l.named(f) {
		return nil, l.warnings, nil
	}
	return l.finish()
}

// finish reads what files and objects have in common.
func (l *loader) finish() (*Agent, []*config.Problem, error) {
	l.words()
	l.limits()
	l.tools()
	l.powers()
	l.trust()
	l.strangers()
	if l.problem != nil {
		return nil, nil, l.problem
	}
	return l.agent, l.warnings, nil
}

// named decides what the agent of a file is called by. It reports whether the file
// defines one.
func (l *loader) named(f found) bool {
	name := l.text("name")
	switch {
	case l.problem != nil: // it was meant to be one
	case name == "" && l.source.Plugin == "":
		l.warn("name", "is missing, so the file was taken for documentation: add a name to make it an agent")
		return false
	case name == "":
		name = f.base()
	}
	l.call(name, f.groups...)
	return true
}

// call gives the agent its name. Of a plugin, the folders that the file is in are part
// of it.
func (l *loader) call(name string, groups ...string) {
	if problem := badName(name); problem != "" {
		l.fail(l.Problem("name", problem))
	}
	if l.source.Plugin != "" {
		for _, g := range groups {
			if problem := badName(g); problem != "" {
				l.fail(at(l.source.Layer, filepath.Dir(l.agent.Path), "the folder is part of the name of the agent: "+problem))
			}
		}
		name = strings.Join(append(append([]string{l.source.Plugin}, groups...), name), ":")
	}
	l.agent.Name = name
}

const maxName = 64

// nameRule lets a name be a word of a permission rule, a mention and a folder.
var nameRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
})

var notInNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9_.]+`) })

// badName says what is wrong with a name, or "".
func badName(name string) string {
	switch {
	case strings.EqualFold(name, Fork):
		return fmt.Sprintf("%q is the name of the agent that continues a conversation: choose another", name)
	case len(name) > maxName:
		return fmt.Sprintf("%q is longer than %d characters: shorten it", clip(name), maxName)
	case nameRule().MatchString(name):
		return ""
	}
	text := fmt.Sprintf("%q is no name of an agent: use letters, digits and hyphens", name)
	if better := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(name), "-"), "-."); better != "" && better != Fork {
		text += ", as in " + better
	}
	return text
}

// words reads what is said about the agent.
func (l *loader) words() {
	a := l.agent
	a.Description = printable(l.text("description"))
	if a.Description == "" && !a.Hidden {
		l.fail(l.Problem("description", "is missing: say when the agent is to be called"))
	}
	a.Model = l.text("model")
	a.InitialPrompt = l.text("initialPrompt")
	a.Skills = l.read(l.Words("skills"))
	a.Effort = l.effort("effort")
	a.Color = l.text("color")
	colors := []string{"red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"}
	if a.Color != "" && !slices.Contains(colors, a.Color) {
		if a.Kind != KindOpenCode { // where it may be any
			l.warn("color", fmt.Sprintf("%q is ignored: expected one of %s", clip(a.Color), strings.Join(colors, ", ")))
		}
		a.Color = ""
	}
}

func (l *loader) effort(key string) string {
	text := l.text(key)
	known := []string{"low", "medium", "high", "xhigh", "max"}
	if text != "" && !slices.Contains(known, text) {
		l.warn(key, fmt.Sprintf("%q is ignored: expected one of %s", clip(text), strings.Join(known, ", ")))
		return ""
	}
	return text
}

// limits reads how the agent runs.
func (l *loader) limits() {
	a := l.agent
	var err error
	a.MaxTurns = l.turns("maxTurns")
	a.Background, err = l.Bool("background", false)
	l.fail(err)
	a.Isolation = l.oneOf("isolation", "worktree")
	a.Memory = l.oneOf("memory", "user", "project", "local")
	if a.Kind == KindBuiltin {
		a.NoMemoryFiles, err = l.Bool("noMemoryFiles", false)
		l.fail(err)
	}
}

func (l *loader) turns(key string) int {
	n, ok, err := l.Number(key)
	l.fail(err)
	if ok && n < 1 {
		l.fail(l.Problem(key, fmt.Sprintf("expected at least 1, found %d: leave it out for no limit", n)))
	}
	return n
}

// oneOf reads a word that must be one of a few.
func (l *loader) oneOf(key string, known ...string) string {
	text := l.text(key)
	if text != "" && !slices.Contains(known, text) {
		l.fail(l.Problem(key, fmt.Sprintf("expected %s, found %q", choice(known), clip(text))))
	}
	return text
}

// choice is "a, b or c".
func choice(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// text reads a text. One of the wrong type leaves the definition out: a guess could lose
// a limit that its author set.
func (l *loader) text(key string) string {
	text, err := l.Text(key)
	l.fail(err)
	return strings.TrimSpace(text)
}

// read passes a list on, unless it is of the wrong type.
func (l *loader) read(list []string, err error) []string {
	l.fail(err)
	return list
}

func (l *loader) fail(err error) {
	if l.problem == nil && err != nil {
		l.problem = err
	}
}

func (l *loader) warn(key, text string) {
	l.warnings = append(l.warnings, l.Problem(key, text))
}

// clip shortens what a message quotes.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
