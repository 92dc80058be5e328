package permission

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"heddle/internal/tool"
)

// Source is where a rule came from.
type Source struct {
	Name   string // for people: "/home/me/.heddle/settings.json:4"
	Anchor string // the directory that "/path" in a rule starts from
	// Destination is the name that updates have for the source. Rules without one
	// are not removed or replaced by updates.
	Destination Destination
}

// Rule is one line of a list of rules: a tool, and which of its calls.
type Rule struct {
	Source Source

	tool    string   // name, perhaps with *
	also    []string // names that deny and ask rules mean, too: see [tool.ServerNames]
	content string   // between the parentheses, or empty
	kind    ruleKind
	param   string  // of paramRule
	text    pattern // of command, param, type, skill and domain rules
	path    glob    // of pathRule
	anchor  anchor  // of pathRule
	why     string  // of deadRule: why it can never match
}

// ruleKind says what the content of a rule is compared with.
type ruleKind int

const (
	everyCall   ruleKind = iota // the tool, whatever the call
	commandRule                 // a shell command
	pathRule                    // a file
	domainRule                  // the host of a URL
	typeRule                    // the type of a sub-agent
	skillRule                   // a skill, perhaps with arguments
	paramRule                   // a parameter of the input
	deadRule                    // nothing: the rule is kept, and warned of
)

// anchor is what a path in a rule is relative to.
type anchor int

const (
	atCurrent anchor = iota // the working directory
	atRoot                  // //path
	atHome                  // ~/path
	atSource                // /path
)

// String is the rule as it was written.
func (r Rule) String() string {
	return RuleText{ToolName: r.tool, RuleContent: r.content}.String()
}

// Expressions are compiled when they are first needed, not at every start.
var (
	toolName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z_*][A-Za-z0-9_.*-]*$`)
	})
	paramText = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_-]*)\s*:\s*(.*?)\s*$`)
	})
)

// ParseRule reads a rule: Tool or Tool(content).
func ParseRule(source Source, text string) (Rule, error) {
	text = strings.TrimSpace(text)
	name, rest, scoped := strings.Cut(text, "(")
	name = strings.TrimSpace(name)
	if scoped && !strings.HasSuffix(rest, ")") {
		return Rule{}, fmt.Errorf("permission rule %q: the closing parenthesis is missing at its end", text)
	}
	names := tool.ServerNames(name)
	if !toolName().MatchString(names[0]) || strings.ContainsFunc(name, unicode.IsControl) {
		return Rule{}, fmt.Errorf("permission rule %q: it must begin with the name of a tool, as in Bash(git log *)", text)
	}
	r := Rule{Source: source, tool: canonical(names[0]), also: names[1:], content: strings.TrimSuffix(rest, ")")}
	if err := r.parseContent(scoped); err != nil {
		return Rule{}, fmt.Errorf("permission rule %q: %w", text, err)
	}
	return r, nil
}

// canonical is the name that a tool has today.
func canonical(name string) string {
	if name == "Task" {
		return "Agent"
	}
	return name
}

func (r *Rule) parseContent(scoped bool) error {
	content := strings.TrimSpace(r.content)
	if !scoped || r.tool == "Bash" && (content == "*" || content == "") {
		return nil
	}
	if content == "" {
		return errors.New("nothing stands between the parentheses; leave them out to mean every call")
	}
	if strings.ContainsRune(content, 0) {
		return errors.New("it holds a zero byte")
	}
	if r.parseParam(content) {
		return nil
	}
	switch r.tool {
	case "Bash", "Monitor":
		r.kind, r.text = commandRule, parseCommandPattern(content)
	case "Read", "Edit":
		return r.parsePath(content)
	case "Write", "NotebookEdit":
		r.dead("write Edit(%s): it covers Edit, Write and NotebookEdit", content)
	case "Grep", "Glob", "LSP":
		r.dead("write Read(%s): it covers Read, Grep and Glob", content)
	case "WebFetch":
		r.dead("write WebFetch(domain:%s)", content)
	case "Agent":
		r.kind, r.text = typeRule, parsePattern(content)
	case "Skill":
		r.kind, r.text = skillRule, parseCommandPattern(content)
	default:
		r.dead("%s takes no content, only parameter:value in ask and deny rules", r.tool)
	}
	return nil
}

// parseParam reads parameter:value, if that is what content is.
func (r *Rule) parseParam(content string) bool {
	m := paramText().FindStringSubmatch(content)
	if m == nil {
		return false
	}
	param, value := m[1], m[2]
	if r.tool == "WebFetch" && param == "domain" {
		r.kind, r.text = domainRule, parseDomain(value)
		return true
	}
	if known, ok := params[r.tool]; ok && !slices.Contains(known, param) {
		return false // a command or a path with a colon in it
	}
	if slices.Contains(primary, param) {
		r.dead("%s is judged by the tool's own kind of rule, not as a parameter", param)
		return true
	}
	r.kind, r.param, r.text = paramRule, param, parsePattern(value)
	return true
}

func (r *Rule) dead(format string, args ...any) {
	r.kind, r.why = deadRule, fmt.Sprintf(format, args...)
}

// params are the parameters of the tools whose content is otherwise free text
// that may hold a colon.
var params = map[string][]string{
	"Bash":    {"command", "timeout", "description", "run_in_background", "dangerouslyDisableSandbox"},
	"Monitor": {"command", "description", "timeout_ms", "persistent"},
	"Read":    {"file_path", "offset", "limit", "pages"},
	"Edit":    {"file_path", "old_string", "new_string", "replace_all"},
	"Skill":   {"skill", "args"},
}

// primary are the fields that rules have their own grammar for.
var primary = []string{"command", "file_path", "path", "notebook_path", "url"}

// parsePath reads a path in the grammar of gitignore.
func (r *Rule) parsePath(content string) error {
	if strings.HasPrefix(content, "!") {
		return errors.New("a deny cannot have exceptions, so ! has no meaning here")
	}
	r.kind = pathRule
	switch {
	case strings.HasPrefix(content, "//"):
		r.anchor, content = atRoot, content[1:]
	case content == "~" || strings.HasPrefix(content, "~/"):
		r.anchor, content = atHome, "/"+strings.TrimPrefix(content[1:], "/")
	case strings.HasPrefix(content, "/"):
		r.anchor = atSource
	case strings.HasPrefix(content, "./"):
		content = content[1:]
	}
	g, err := parseGlob(content)
	r.path = g
	return err
}

// Useless says why the rule can never be about a call; empty: it can.
func (r *Rule) Useless() string { return r.why }

// warning says what is wrong with a rule among those of behavior b, if anything is.
func (r *Rule) warning(b Behavior) string {
	why := r.why
	switch {
	case r.kind == deadRule:
	case b == Allow && r.kind == paramRule:
		why = "parameters are only for ask and deny rules"
	case b == Allow && strings.Contains(r.tool, "*") && !anchored(r.tool):
		why = "in an allow rule a * in the name must come after mcp__server__"
	default:
		return ""
	}
	return fmt.Sprintf("permission rule %s (%s) has no effect: %s", r, r.Source.Name, why)
}

// anchored reports whether name has a glob only after a literal mcp__server__.
func anchored(name string) bool {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return false
	}
	server, _, ok := strings.Cut(rest, "__")
	return ok && server != "" && !strings.Contains(server, "*")
}

// forbids is what names is for a deny or ask rule, which counts in every way it can be read.
func (r *Rule) forbids(name string) bool {
	return r.names(name) || slices.ContainsFunc(r.also, func(also string) bool {
		other := Rule{tool: also, kind: r.kind}
		return other.names(name)
	})
}

// names reports whether the tool part of the rule is about the tool of that name.
func (r *Rule) names(name string) bool {
	name = canonical(name)
	switch {
	case r.tool == name:
		return true
	case strings.Contains(r.tool, "*"):
		return parsePattern(r.tool).match(name)
	case strings.HasPrefix(r.tool, "mcp__"): // mcp__server means all its tools
		return strings.Count(r.tool, "__") == 1 && strings.HasPrefix(name, r.tool+"__")
	case r.kind == everyCall && r.tool == "Read":
		return name == "Grep" || name == "Glob" || name == "LSP"
	case r.kind == everyCall && r.tool == "Edit":
		return name == "Write" || name == "NotebookEdit"
	case r.tool == "Bash":
		return name == "Monitor"
	}
	return false
}
