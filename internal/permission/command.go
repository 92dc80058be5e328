package permission

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxBases is in how many directories a relative path is looked for, if a
// command changes directory.
const maxBases = 8

// run is the judgement of one command.
type run struct {
	*judge
	script *script
	whole  *Rule // allows the whole text, exactly as it is
	bases  []string
	lost   bool // it goes to a directory that is not known
}

// command judges a shell command, part by part.
func (j *judge) command(text string) {
	text = strings.TrimSpace(text)
	r := &run{judge: j}
	whole := forms{src: text, plain: text, canon: text, base: text}
	if f, ok := j.commandRule(whole); ok {
		j.add(f)
	}
	r.whole = j.exactRule(whole)
	s, err := parseScript(text)
	if err != nil {
		j.keepOffUnread(text, err)
		j.add(r.unjudged(err.Error()))
		return
	}
	r.script = s
	r.findBases()
	for _, d := range s.doubts {
		j.add(r.doubt(d))
	}
	for _, p := range s.parts {
		r.stayOff(p)
		r.part(p)
	}
}

// unjudged is for a command of which nothing is known.
func (r *run) unjudged(why string) finding {
	switch {
	case r.mode == Plan:
		return inPlan(why)
	case r.whole != nil:
		return byRule(Allow, r.whole)
	case r.mode == Bypass && !r.guarded:
		return finding{behavior: Allow}
	}
	return finding{behavior: Ask, reason: why}
}

// doubt is for a part of a command that cannot be judged. Who allows everything
// allows it, too, unless there are rules for commands that it might hide from.
func (r *run) doubt(why string) finding {
	if r.allowed != nil && !r.guarded && r.mode != Plan {
		return byRule(Allow, r.allowed)
	}
	return r.unjudged(why)
}

// allows is the rule that allows whatever the command does, or nil.
func (r *run) allows() *Rule {
	if r.whole != nil {
		return r.whole
	}
	return r.allowed
}

// commandRule returns the finding of a deny rule, else of an ask rule, for a command.
func (j *judge) commandRule(views ...forms) (finding, bool) {
	for _, l := range []struct {
		b     Behavior
		rules []*compiled
	}{{Deny, j.deny}, {Ask, j.ask}} {
		for _, r := range l.rules {
			if r.kind != commandRule || !r.names(j.tool.Name) && r.tool != "Bash" {
				continue
			}
			for _, f := range views {
				if r.text.match(f.src) || r.text.match(f.plain) || r.text.match(f.canon) || r.text.match(f.base) {
					return byRule(l.b, r.Rule), true
				}
			}
		}
	}
	return finding{}, false
}

// exactRule returns an allow rule without a star for a command.
func (j *judge) exactRule(f forms) *Rule {
	for _, r := range j.allow {
		if r.kind == commandRule && r.text.exact() && (r.text.match(f.src) || r.text.match(f.canon)) {
			return r.Rule
		}
	}
	return nil
}

// hiding reports whether a deny or ask rule may be about a command once its
// unknown words are known.
func (j *judge) hiding(f forms) *Rule {
	if !f.open {
		return nil
	}
	for _, rules := range [][]*compiled{j.deny, j.ask} {
		for _, r := range rules {
			h := r.text.head()
			if r.kind == commandRule && h != "" && (strings.HasPrefix(h, f.head) || !r.text.exact() && strings.HasPrefix(f.head, h)) {
				return r.Rule
			}
		}
	}
	return nil
}

// part judges one simple command and the files that are opened for it.
func (r *run) part(p *part) {
	for _, d := range p.redirects {
		r.redirect(p, d)
	}
	if len(p.words) == 0 {
		return
	}
	views := r.views(p)
	if f, ok := r.commandRule(views...); ok {
		r.add(f)
		if f.behavior == Deny {
			return
		}
	}
	for _, f := range views {
		if rule := r.hiding(f); rule != nil {
			r.add(finding{behavior: Ask, reason: "it cannot be told whether the rule " + rule.String() + " is about " + f.src})
			break
		}
	}
	r.fileArguments(p)
	r.protectWritten(p, views)
	if why := r.critical(p); why != "" {
		r.add(finding{behavior: Ask, firm: true, reason: why})
	}
	if !p.scanOnly {
		r.add(r.permit(p, views))
	}
}

// views are the forms in which rules may name the command.
func (r *run) views(p *part) []forms {
	list := make([]forms, 0, len(p.chain.views)+len(p.chain.hidden))
	for _, v := range p.chain.views {
		f := formsOf(v)
		if p.chain.extra && !f.open { // more words follow
			f.open, f.head = true, f.canon+" "
		}
		list = append(list, f)
	}
	if len(r.deny)+len(r.ask) > 0 {
		for _, v := range p.chain.hidden {
			list = append(list, formsOf(v))
		}
	}
	return list
}

// permit says whether a command may run that no deny or ask rule is about.
func (r *run) permit(p *part, views []forms) finding {
	c := &p.chain
	switch {
	case r.whole != nil && r.mode != Plan:
		return byRule(Allow, r.whole)
	case c.unknown != "" && !p.function:
		if rule := r.exactRule(views[0]); rule != nil && r.mode != Plan && len(p.assigns) == 0 {
			return byRule(Allow, rule)
		}
		return r.doubt(c.unknown)
	case r.mode == Bypass:
		return finding{behavior: Allow}
	case r.readOnly(p):
		pried, private := r.pries(c.core())
		if !private || r.allowed != nil || r.allowsPart(p, views) != nil {
			return finding{behavior: Allow}
		}
		return pried
	case r.mode == Plan:
		return inPlan("it runs " + brief(views[0].src))
	case r.allowed != nil:
		return byRule(Allow, r.allowed)
	}
	if rule := r.allowsPart(p, views); rule != nil {
		return byRule(Allow, rule)
	}
	if set := unsafeAssign(p); set != "" {
		return finding{behavior: Ask, reason: "it sets " + set + " for " + brief(views[0].src), suggest: suggestCommand(assigned(p, views[0].canon), true)}
	}
	if r.mode == AcceptEdits {
		if files, ok := edits(c.core()); ok && !c.exec && !c.extra {
			return r.edit(files)
		}
	}
	core := views[len(c.views)-1].canon
	if c.exec {
		core = views[0].canon
	}
	return finding{behavior: Ask, reason: "it runs " + brief(views[0].src), suggest: suggestCommand(core, c.exec)}
}

// readOnly reports whether the command is known to change nothing.
func (r *run) readOnly(p *part) bool {
	c := &p.chain
	if unsafeAssign(p) != "" || slices.ContainsFunc(p.redirects, func(r redirect) bool { return aboutProcesses(r.target) }) {
		return false
	}
	switch {
	case p.function:
		return true // its body is judged
	case c.exec:
		return false
	case c.nested:
		return true // what it holds is judged
	}
	core := c.core()
	if core[0].text == "git" && r.astray() {
		return false // a repository elsewhere may name programs for git to run
	}
	return readOnly(core, c.extra)
}

// astray reports whether the command may run outside the working directories.
func (r *run) astray() bool {
	return r.lost || slices.ContainsFunc(r.bases, func(d string) bool { return !r.inside(locate(r.root, "/", d)) })
}

// allowsPart returns the allow rule for a command. A variable set for it must be
// harmless, or stand in the rule.
func (r *run) allowsPart(p *part, views []forms) *Rule {
	set := unsafeAssign(p)
	own := views[:len(p.chain.views)]
	for _, rule := range r.allow {
		if rule.kind != commandRule || !rule.names(r.tool.Name) && rule.tool != "Bash" {
			continue
		}
		if p.chain.exec && !rule.text.exact() {
			continue
		}
		if len(p.assigns) > 0 && strings.HasPrefix(rule.text.head(), p.assigns[0].name+"=") &&
			(rule.text.match(assigned(p, own[0].src)) || rule.text.match(assigned(p, own[0].canon))) {
			return rule.Rule
		}
		if set != "" {
			continue
		}
		for i, f := range own {
			if p.chain.exec && i > 0 {
				break
			}
			if p.chain.extra && i > 0 && !rule.text.open() {
				continue // xargs adds words that the rule does not have
			}
			if rule.text.match(f.src) || rule.text.match(f.canon) {
				return rule.Rule
			}
		}
	}
	return nil
}

// assigned is a command with the variables that are set for it.
func assigned(p *part, command string) string {
	var b strings.Builder
	for _, a := range p.assigns {
		b.WriteString(a.src + " ")
	}
	return b.String() + command
}

// unsafeAssign names a variable set for the command that is not known to be harmless.
func unsafeAssign(p *part) string {
	for _, a := range p.assigns {
		if !harmless(a.name) {
			return a.name
		}
	}
	return ""
}

// brief is a command as it fits in a sentence.
func brief(command string) string {
	command, _, more := strings.Cut(command, "\n")
	if r := []rune(command); len(r) > 100 {
		command, more = string(r[:100]), true
	}
	if more {
		command += "…"
	}
	return command
}

// findBases finds the directories in which the parts may run: where it starts,
// and wherever a cd leads from there. Which part runs where is not followed:
// a path must be right in all of them.
func (r *run) findBases() {
	r.bases = []string{r.dir}
	if r.script.enters != "" {
		r.bases[0] = filepath.Clean(r.script.enters)
	}
	for _, p := range r.script.parts {
		if len(p.words) == 0 || p.chain.unknown != "" {
			continue
		}
		core := p.chain.core()
		switch core[0].text {
		case "cd":
			r.changeDir(core[1:], p.chain.extra)
		case "pushd":
			r.changeDir(core[1:], p.chain.extra)
			r.lost = true
		case "popd":
			r.lost = true
		}
	}
}

func (r *run) changeDir(args []word, extra bool) {
	physical := false
	for len(args) > 0 && args[0].literal && (args[0].text == "-P" || args[0].text == "-L" || args[0].text == "--") {
		physical = physical || args[0].text == "-P"
		args = args[1:]
	}
	if len(args) == 0 && !extra {
		r.bases = append(r.bases, r.home[:min(1, len(r.home))]...)
		return
	}
	if extra || len(args) != 1 {
		r.lost = true
		return
	}
	target, ok := r.path(args[0])
	absolute := strings.HasPrefix(target, "/")
	// With -P, .. goes up from where a link leads.
	if !ok || target == "-" || r.script.loops && !absolute || physical && strings.Contains(target, "..") {
		r.lost = true
		return
	}
	for _, base := range slices.Clone(r.bases) {
		next := target
		if !absolute {
			next = base + "/" + target
		}
		if next = filepath.Clean(next); !slices.Contains(r.bases, next) {
			r.bases = append(r.bases, next)
		}
	}
	if len(r.bases) > maxBases {
		r.lost, r.bases = true, r.bases[:maxBases]
	}
}

// path is the file name that a word stands for, if that is known.
func (r *run) path(w word) (string, bool) {
	if !w.literal || w.text == "" {
		return "", false
	}
	if !w.tilde {
		return w.text, true
	}
	rest := w.text[1:]
	if len(r.home) == 0 || rest != "" && rest[0] != '/' {
		return "", false
	}
	return r.home[0] + rest, true
}

// locations are the files that a name may stand for.
func (r *run) locations(name string) []location {
	if strings.HasPrefix(name, "/") {
		return []location{locate(r.root, "/", name)}
	}
	list := make([]location, 0, len(r.bases))
	for _, b := range r.bases {
		list = append(list, locate(r.root, b, name))
	}
	return list
}

var subcommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(git|go|npm|pnpm|yarn|cargo|make|docker|kubectl|pip|pip3|gh|bun|deno|poetry|uv|dotnet|mvn|gradle|brew|systemctl) ((?:run |compose |stash )?[a-z][a-z0-9:_-]*)(?: |$)`)
})

// suggestCommand lets a command run from now on: with any arguments, if it is one
// that people know by its subcommand, and else only as it is.
func suggestCommand(command string, exact bool) []Update {
	if strings.ContainsAny(command, "\n\x00") || len(command) > 300 {
		return nil
	}
	content := strings.ReplaceAll(command, "*", `\*`)
	if m := subcommand().FindStringSubmatch(command); m != nil && !exact && m[2] != "exec" && m[2] != "x" {
		content = m[1] + " " + m[2] + " *"
	}
	return []Update{allowUpdate(ToLocal, RuleText{ToolName: "Bash", RuleContent: content})}
}
