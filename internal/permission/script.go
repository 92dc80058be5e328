package permission

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxCommand is the length of the longest command that is judged.
const maxCommand = 10_000

// maxNesting is how deep commands in commands (bash -c "bash -c …") are followed.
const maxNesting = 6

// script is a command taken apart. Everything that would run is among its parts,
// whether it stands in a pipe, a loop, a function, a substitution or a heredoc.
type script struct {
	source string
	parts  []*part
	// doubts are what the parts do not show, such as a changed PATH.
	doubts []string
	vars   variables
	funcs  map[string]uint // where each function that later lines may call is declared
	loops  bool            // parts may run in another order than they stand in
	enters string          // an absolute directory: nothing runs before the cd to it has worked
	places []word          // what is assigned to variables that lead git elsewhere
}

// part is one simple command.
type part struct {
	at        uint
	assigns   []assign
	words     []word
	redirects []redirect
	chain     chain
	function  bool // it calls a function of the script, whose body is judged
	scanOnly  bool // only deny and ask rules are asked about it
}

// assign is a variable set for a command, or for the rest of the script.
type assign struct {
	name string
	src  string
}

// redirect is a file that the shell itself opens.
type redirect struct {
	target word
	write  bool
}

// maxScripts is how many commands in commands are followed in all.
const maxScripts = 64

// nesting counts the commands in a command.
type nesting struct{ depth, scripts int }

// parseScript takes a command apart.
func parseScript(source string) (*script, error) { return new(nesting).parse(source) }

func (n *nesting) parse(source string) (*script, error) {
	n.depth++
	defer func() { n.depth-- }()
	n.scripts++
	switch {
	case len(source) > maxCommand:
		return nil, fmt.Errorf("the command is longer than %d characters", maxCommand)
	case n.depth > maxNesting || n.scripts > maxScripts:
		return nil, errors.New("the command holds too many commands in commands")
	case strings.ContainsAny(source, "\x00\r"):
		// Shells read these as part of a word, parsers do not agree.
		return nil, errors.New("the command holds a carriage return or a zero byte")
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(source), "")
	if err != nil {
		return nil, fmt.Errorf("the command cannot be parsed: %w", err)
	}
	s := &script{source: source, vars: variables{}, funcs: map[string]uint{}}
	s.enters = s.entered(file)
	s.declare(file)
	syntax.Walk(file, s.visit)
	s.network()
	for _, p := range s.parts {
		p.chain = unwrap(p.words)
		if len(p.words) > 0 && p.words[0].literal {
			end, declared := s.funcs[p.words[0].text]
			p.function = declared && p.at >= end
		}
	}
	for _, p := range s.parts[:len(s.parts):len(s.parts)] {
		if err := n.nest(s, p); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// declare collects the functions that the lines after them call for certain:
// not those of a branch, a subshell or the background.
func (s *script) declare(file *syntax.File) {
	for _, st := range file.Stmts {
		if f, ok := st.Cmd.(*syntax.FuncDecl); ok && !st.Background && !st.Coprocess && f.Name != nil {
			s.funcs[f.Name.Value] = st.End().Offset()
		}
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		s.vars.visit(n)
		return true
	})
}

// entered is the directory of a script that is all of the form cd /dir && ….
func (s *script) entered(file *syntax.File) string {
	if len(file.Stmts) != 1 {
		return ""
	}
	st := file.Stmts[0]
	for {
		and, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		if and.Op != syntax.AndStmt {
			return ""
		}
		st = and.X
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Background || st.Coprocess || len(call.Assigns) > 0 || len(call.Args) != 2 || call.Args[0].Lit() != "cd" {
		return ""
	}
	if dir := readWord(s.source, call.Args[1], s.vars); dir.literal && strings.HasPrefix(dir.text, "/") {
		return dir.text
	}
	return ""
}

// visit takes in one node of the syntax tree.
func (s *script) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		s.statement(n)
	case *syntax.CoprocClause:
		s.doubt("it starts a coprocess")
	case *syntax.WhileClause, *syntax.FuncDecl:
		s.loops = true
	case *syntax.ForClause:
		s.loops = true
		s.forClause(n)
	case *syntax.DeclClause:
		s.declaration(n)
	case *syntax.ParamExp:
		s.expansion(n)
	case *syntax.ArithmExp:
		s.arithmetic(n.X)
	case *syntax.ArithmCmd:
		s.arithmetic(n.X)
	case *syntax.LetClause:
		for _, x := range n.Exprs {
			s.arithmetic(x)
		}
	case *syntax.BinaryTest:
		s.comparison(n)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			s.variableName(n.X)
		}
	}
	return true
}

func (s *script) doubt(format string, args ...any) {
	s.doubts = append(s.doubts, fmt.Sprintf(format, args...))
}

// statement takes in a simple command and what is redirected around any command.
func (s *script) statement(st *syntax.Stmt) {
	p := &part{at: st.Pos().Offset()}
	if call, ok := st.Cmd.(*syntax.CallExpr); ok {
		for _, a := range call.Assigns {
			s.assignment(a)
			p.assigns = append(p.assigns, assign{a.Name.Value, slice(s.source, a)})
		}
		for _, w := range call.Args {
			p.words = append(p.words, readWord(s.source, w, s.vars))
		}
		if len(call.Args) == 0 {
			for _, a := range p.assigns {
				if dangerous(a.name) {
					s.doubt("it sets %s", a.name)
				}
			}
			p.assigns = nil
		}
	}
	for _, r := range st.Redirs {
		s.redirect(p, r)
	}
	if len(p.words) > 0 || len(p.redirects) > 0 {
		s.parts = append(s.parts, p)
	}
}

func (s *script) redirect(p *part, r *syntax.Redirect) {
	if r.Word == nil {
		return
	}
	if r.N != nil && dangerous(strings.Trim(r.N.Value, "{}")) {
		s.doubt("it sets %s", r.N.Value)
	}
	target := readWord(s.source, r.Word, s.vars)
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		// Bash joins lines before it looks for the delimiter, the parser does not, so
		// they can disagree about where the text ends and commands begin.
		if r.Hdoc != nil && strings.Contains(s.source[r.Hdoc.Pos().Offset():r.Hdoc.End().Offset()], "\\\n") {
			s.doubt("a text in it joins lines with a backslash")
		}
		return
	case syntax.WordHdoc:
		return
	case syntax.DplIn:
		return
	case syntax.DplOut:
		if target.literal && strings.Trim(target.text, "0123456789-") == "" {
			return
		}
	case syntax.RdrIn:
		p.redirects = append(p.redirects, redirect{target: target})
		return
	}
	if target.literal {
		switch target.text {
		case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2":
			return
		}
	}
	p.redirects = append(p.redirects, redirect{target: target, write: true})
}

// network notices the file names with which bash opens connections.
func (s *script) network() {
	if strings.Contains(s.source, "/dev/tcp") || strings.Contains(s.source, "/dev/udp") {
		s.doubt("it may open a network connection (/dev/tcp)")
	}
}

func (s *script) forClause(n *syntax.ForClause) {
	switch l := n.Loop.(type) {
	case *syntax.WordIter:
		if dangerous(l.Name.Value) {
			s.doubt("it sets %s", l.Name.Value)
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			s.arithmetic(x)
		}
	}
}

// declaration takes in export, declare and their like.
func (s *script) declaration(d *syntax.DeclClause) {
	exports := d.Variant.Value == "export"
	for _, a := range d.Args {
		if !a.Naked || a.Name != nil {
			continue
		}
		w := readWord(s.source, a.Value, s.vars)
		switch {
		case !w.literal:
			s.doubt("it declares a variable whose name is not known")
		case !strings.HasPrefix(w.text, "-"): // "PATH=x" in quotes
			s.doubt("it declares %s", w.text)
		case strings.ContainsAny(w.text, "ni"):
			s.doubt("%s %s evaluates what is assigned", d.Variant.Value, w.text)
		case strings.Contains(w.text, "x"):
			exports = true
		}
	}
	for _, a := range d.Args {
		if a.Name == nil {
			continue
		}
		s.assignment(a)
		if name := a.Name.Value; dangerous(name) || exports && !a.Naked && !harmless(name) {
			s.doubt("it sets %s", name)
		}
	}
}

func (s *script) assignment(a *syntax.Assign) {
	if a.Name != nil && a.Value != nil && leadsGit(a.Name.Value) {
		s.places = append(s.places, readWord(s.source, a.Value, s.vars))
	}
	if a.Index != nil {
		s.arithmetic(a.Index)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				s.arithmetic(e.Index)
			}
		}
	}
}
