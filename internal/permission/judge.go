package permission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"heddle/internal/tool"
)

// finding is what is to be said about one part of a call.
type finding struct {
	behavior Behavior
	// final says that no rule, mode or answer counts beside the refusal.
	final bool
	// firm says that no mode may turn the question into consent.
	firm    bool
	reason  string
	rule    *Rule
	path    string
	suggest []Update
}

// weight orders findings: the heaviest decides.
func (f finding) weight() int {
	switch {
	case f.final:
		return 5
	case f.behavior == Deny && f.rule != nil:
		return 4
	case f.behavior == Deny:
		return 3
	case f.behavior == Ask && f.firm:
		return 2
	case f.behavior == Ask:
		return 1
	}
	return 0
}

// judge looks at one call.
type judge struct {
	*state
	tool    tool.Tool
	call    tool.Call
	allowed *Rule    // the allow rule for every call of this tool, if there is one
	root    string   // the project, symlinks resolved
	dir     string   // where commands run
	off     []string // folders in which the agent may change nothing
	more    []string // the other working directories, symlinks resolved
	spill   string   // where reading is always allowed, too
	looked  bool     // more and spill are filled in
	advice  Advice
	found   []finding
}

// Judge says whether a call of t may run. It asks nobody and changes nothing.
func (g *Gate) Judge(t tool.Tool, c tool.Call) Verdict { return g.judge(t, c, Advice{}) }

func (g *Gate) judge(t tool.Tool, c tool.Call, a Advice) Verdict {
	j := &judge{state: g.state.Load(), tool: t, call: c, advice: a}
	if c.Scope != nil {
		j.state = j.state.of(c.Scope.Agent)
		j.root, j.dir, j.off = c.Scope.Root, c.Scope.Dir(), c.Scope.OffLimits
	}
	j.byTool()
	var effects []tool.Effect
	if t.Effects != nil {
		var err error
		if effects, err = t.Effects(c); err != nil {
			return Verdict{Behavior: Deny, Reason: err.Error(), Invalid: true}
		}
	}
	for _, e := range effects {
		j.effect(e)
	}
	v := j.verdict()
	v.Effects = effects
	return v
}

// others fills in the working directories besides the project. Most calls stay
// in the project and never need them.
func (j *judge) others() []string {
	if j.looked {
		return j.more
	}
	j.looked, j.more = true, j.dirs
	if s := j.call.Scope; s != nil {
		for _, d := range s.Extra {
			j.more = append(j.more[:len(j.more):len(j.more)], resolve(j.root, d))
		}
		if s.Spill != "" {
			j.spill = resolve(j.root, s.Spill)
		}
	}
	return j.more
}

// inside reports whether a file really lies in a working directory.
func (j *judge) inside(l location) bool {
	if _, ok := below(j.root, l.real); ok {
		return true
	}
	return slices.ContainsFunc(j.others(), func(d string) bool {
		_, ok := below(d, l.real)
		return ok
	})
}

// readable reports whether a file may be read without asking.
func (j *judge) readable(l location) bool {
	if j.inside(l) {
		return true
	}
	_, ok := below(j.spill, l.real)
	return ok
}

// current are the directories that a plain path in a rule starts from. A cd
// must not lift a deny, so that one counts where the project is, too.
func (j *judge) current(b Behavior) []string {
	if b == Allow || j.dir == j.root {
		return []string{j.root}
	}
	return []string{j.root, j.dir}
}

// verdict puts the findings together.
func (j *judge) verdict() Verdict {
	worst := finding{behavior: Allow}
	var suggest []Update
	if j.advice.Behavior == Ask {
		j.add(finding{behavior: Ask, firm: true, reason: j.advice.Reason})
	}
	for _, f := range j.found {
		if f.weight() > worst.weight() || worst.rule == nil && f.behavior == Allow && worst.behavior == Allow {
			worst = f
		}
		if f.behavior == Ask {
			suggest = append(suggest, f.suggest...)
		}
	}
	if j.advice.Behavior == Allow && worst.behavior == Ask && !worst.firm {
		return Verdict{Behavior: Allow, Reason: j.advice.Reason}
	}
	v := Verdict{Behavior: worst.behavior, Reason: worst.reason, Rule: worst.rule, Path: worst.path, final: worst.final, firm: worst.firm}
	if v.Behavior != Ask {
		return v
	}
	if j.mode == DontAsk {
		v.Behavior = Deny
		v.Reason += ", and the mode dontAsk refuses what would be asked"
		v.Rule = nil
		return v
	}
	if !worst.firm {
		v.Suggestions = merge(suggest)
	}
	return v
}

func (j *judge) add(f finding) { j.found = append(j.found, f) }

// byTool judges by the name of the tool and by its input.
func (j *judge) byTool() {
	fields := fieldsOf(j.call.Input)
	for _, l := range []struct {
		b     Behavior
		rules []*compiled
	}{{Deny, j.deny}, {Ask, j.ask}} {
		for _, r := range l.rules {
			if r.forbids(j.tool.Name) && r.aboutCall(fields) {
				j.add(byRule(l.b, r.Rule))
			}
		}
	}
	for _, r := range j.allow {
		if r.names(j.tool.Name) && r.aboutCall(fields) {
			j.allowed = r.Rule
			return
		}
	}
}

// aboutCall reports whether the rule decides by the tool and its input alone, and fits.
func (r *Rule) aboutCall(fields func(string) (string, bool)) bool {
	switch r.kind {
	case everyCall:
		return true
	case paramRule:
		v, ok := fields(r.param)
		return ok && r.text.match(v)
	case typeRule:
		v, ok := fields("subagent_type")
		return ok && r.text.match(v)
	case skillRule:
		v, ok := fields("skill")
		args, _ := fields("args")
		return ok && (r.text.match(v) || r.text.match(strings.TrimSpace(v+" "+args)))
	}
	return false
}

// fieldsOf gives the top-level scalars of an input as they were sent.
func fieldsOf(input json.RawMessage) func(string) (string, bool) {
	var fields map[string]json.RawMessage
	read := false
	return func(name string) (string, bool) {
		if !read {
			read = true
			if json.Unmarshal(input, &fields) != nil {
				return "", false // the tool will say what is wrong with it
			}
		}
		raw, ok := fields[name]
		if !ok || len(raw) == 0 || strings.ContainsRune("{[n", rune(raw[0])) {
			return "", false
		}
		var s string
		if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
			return s, true
		}
		return string(raw), true
	}
}

// byRule is the finding of a rule that fits.
func byRule(b Behavior, r *Rule) finding {
	f := finding{behavior: b, rule: r, firm: b == Ask}
	from := ""
	if r.Source.Name != "" {
		from = " (" + r.Source.Name + ")"
	}
	switch b {
	case Deny:
		f.reason = fmt.Sprintf("the rule %s%s denies it", r, from)
	case Ask:
		f.reason = fmt.Sprintf("the rule %s%s wants it to be asked", r, from)
	case Allow:
		f.reason = fmt.Sprintf("the rule %s%s allows it", r, from)
	}
	return f
}

// effect judges one thing that the call would do.
func (j *judge) effect(e tool.Effect) {
	switch e.Action {
	case tool.Read:
		j.add(j.readFile(j.locate(e.Target)))
	case tool.Write:
		l := j.locate(e.Target)
		j.keepOff(l)
		j.add(j.writeFile(l, j.allowed))
	case tool.Run:
		j.command(e.Target)
	case tool.Fetch:
		j.add(j.fetch(e.Target))
	case tool.Ask:
		j.add(finding{behavior: Ask, firm: true, reason: j.tool.Name + " always needs a person"})
	default:
		j.add(j.other())
	}
}

// locate finds a file; a relative path starts where commands run.
func (j *judge) locate(path string) location { return locate(j.root, j.dir, path) }

// fileRule returns the finding of the first deny rule, else ask rule, of a tool
// that is about the file.
func (j *judge) fileRule(l location, tools ...string) (finding, bool) {
	for _, list := range []struct {
		b     Behavior
		rules []*compiled
	}{{Deny, j.deny}, {Ask, j.ask}} {
		for _, r := range list.rules {
			if r.kind == pathRule && slices.Contains(tools, r.tool) && r.matches(list.b, l, j.current(list.b)) {
				f := byRule(list.b, r.Rule)
				f.path = l.named
				return f, true
			}
		}
	}
	return finding{}, false
}

// allowRule returns an allow rule of the tools that is about the file.
func (j *judge) allowRule(l location, tools ...string) *Rule {
	for _, r := range j.allow {
		if !slices.Contains(tools, r.tool) {
			continue
		}
		if r.kind == everyCall || r.kind == pathRule && r.matches(Allow, l, j.current(Allow)) {
			return r.Rule
		}
	}
	return nil
}

func (j *judge) readFile(l location) finding {
	if f, ok := j.fileRule(l, "Read"); ok {
		return f
	}
	if j.mode == Bypass || j.readable(l) {
		return finding{behavior: Allow}
	}
	r := j.allowed
	if r == nil {
		r = j.allowRule(l, "Read", "Edit")
	}
	if r != nil {
		return byRule(Allow, r)
	}
	f := finding{behavior: Ask, path: l.named, reason: "it reads " + l.named + ", which is outside the working directories"}
	if l.real == "" {
		f.reason = "it reads " + l.named + ", whose symbolic links lead nowhere"
		return f
	}
	if l.real != l.named {
		f.reason += " (it is a link to " + l.real + ")"
	}
	f.suggest = suggestRead(l)
	return f
}

// writeFile judges a change of a file. allowed is the rule that allows whatever
// the tool does, or nil.
func (j *judge) writeFile(l location, allowed *Rule) finding {
	f, ruled := j.fileRule(l, "Edit")
	if ruled && f.behavior == Deny {
		return f
	}
	// What may not be read may not be written.
	if d, ok := j.fileRule(l, "Read"); ok && d.behavior == Deny {
		return d
	}
	switch {
	case j.mode == Plan:
		return inPlan("it changes " + l.named)
	case ruled:
		return f
	case j.mode == Bypass:
		return finding{behavior: Allow}
	}
	inside := j.inside(l)
	if f, ok := j.protect(l, allowed); ok {
		return f
	}
	if allowed == nil {
		allowed = j.allowRule(l, "Edit")
	}
	switch {
	case allowed != nil:
		return byRule(Allow, allowed)
	case j.mode == AcceptEdits && inside:
		return finding{behavior: Allow}
	}
	f = finding{behavior: Ask, path: l.named, reason: "it changes " + l.named, suggest: j.suggestWrite(l, inside)}
	if !inside {
		f.reason += ", which is outside the working directories"
	}
	return f
}

// inPlan refuses what plan mode does not let through.
func inPlan(what string) finding {
	return finding{behavior: Deny, reason: what + ", and plan mode is on: only read and search, and present the plan for approval before anything is changed"}
}

func (j *judge) fetch(address string) finding {
	for _, list := range []struct {
		b     Behavior
		rules []*compiled
	}{{Deny, j.deny}, {Ask, j.ask}} {
		for _, r := range list.rules {
			if r.kind == domainRule && matchDomain(r.text.head(), address) {
				return byRule(list.b, r.Rule)
			}
		}
	}
	if j.mode == Bypass {
		return finding{behavior: Allow}
	}
	if j.allowed != nil {
		return byRule(Allow, j.allowed)
	}
	for _, r := range j.allow {
		if r.kind == domainRule && matchDomain(r.text.head(), address) {
			return byRule(Allow, r.Rule)
		}
	}
	return finding{behavior: Ask, reason: "it fetches " + address, suggest: suggestFetch(address)}
}

// other judges an effect of a kind that has no rules of its own.
func (j *judge) other() finding {
	switch {
	case j.mode == Bypass:
		return finding{behavior: Allow}
	case j.mode == Plan:
		return inPlan("it uses " + j.tool.Name)
	case j.allowed != nil:
		return byRule(Allow, j.allowed)
	}
	return finding{behavior: Ask, reason: "it uses " + j.tool.Name, suggest: []Update{allowUpdate(ToLocal, RuleText{ToolName: j.tool.Name})}}
}
