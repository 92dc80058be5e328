package permission

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variables knows the variables that a script sets: true if only to numbers.
// Bash evaluates what a variable holds wherever it expects a number, and
// evaluating a[$(rm x)] runs rm. So other variables are not let into arithmetic.
type variables map[string]bool

func (v variables) set(name string, number bool) {
	if old, ok := v[name]; ok {
		number = number && old
	}
	v[name] = number
}

func (v variables) visit(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Name != nil && !n.Naked {
			v.set(n.Name.Value, n.Array == nil && isNumber(n.Value))
		}
	case *syntax.ForClause:
		if l, ok := n.Loop.(*syntax.WordIter); ok {
			number := len(l.Items) > 0
			for _, w := range l.Items {
				number = number && isNumber(w)
			}
			v.set(l.Name.Value, number)
		}
	case *syntax.ParamExp:
		if n.Param != nil && n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			v.set(n.Param.Value, n.Exp.Word != nil && isNumber(n.Exp.Word))
		}
	case *syntax.CallExpr:
		v.builtin(n)
	}
}

// builtin notices the variables that builtins set to what they read.
func (v variables) builtin(n *syntax.CallExpr) {
	reads := false
	for _, arg := range n.Args {
		w := readWord("", arg, nil)
		switch w.text {
		case "read", "mapfile", "readarray", "getopts", "printf", "wait":
			reads = true // perhaps behind builtin or command
		default:
			if reads && syntax.ValidName(w.text) {
				v.set(w.text, false)
			}
		}
	}
}

// isNumber reports whether a word is a number, or arithmetic, which gives one.
func isNumber(w *syntax.Word) bool {
	if w == nil { // x= is empty, which counts as 0
		return true
	}
	if len(w.Parts) == 1 {
		switch p := w.Parts[0].(type) {
		case *syntax.ArithmExp:
			return true
		case *syntax.ParamExp:
			return p.Length
		}
	}
	lit := strings.TrimPrefix(w.Lit(), "-")
	if n := strings.Index(lit, ".."); strings.HasPrefix(lit, "{") && n > 0 { // {1..9}
		return strings.Trim(lit, "{}.0123456789") == ""
	}
	return lit != "" && strings.Trim(lit, "0123456789") == ""
}

// numeric reports whether a variable can hold nothing but a number. One that the
// script does not set comes from the environment, which the model does not write.
func (v variables) numeric(name string) bool {
	if strings.Trim(name, "0123456789@*") == "" || dangerous(name) {
		return false // arguments of a function, or such as PWD
	}
	switch name {
	case "_", "REPLY", "MAPFILE", "OPTARG", "DIRSTACK", "FUNCNAME", "COPROC":
		return false // set by bash itself, to text
	}
	number, set := v[name]
	return number || !set
}

// arithmetic doubts an expression that could run a command.
func (s *script) arithmetic(x syntax.ArithmExpr) {
	if x != nil && !s.safeArithmetic(x) {
		s.doubt("it calculates with values that are not known to be numbers")
	}
}

func (s *script) safeArithmetic(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		return s.safeArithmetic(x.X) && s.safeArithmetic(x.Y)
	case *syntax.UnaryArithm:
		return s.safeArithmetic(x.X)
	case *syntax.ParenArithm:
		return s.safeArithmetic(x.X)
	case *syntax.Word:
		return s.safeOperand(x)
	}
	return false
}

func (s *script) safeOperand(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, `[\`) || syntax.ValidName(p.Value) && !s.vars.numeric(p.Value) {
				return false
			}
		case *syntax.ParamExp:
			plain := p.Param != nil && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && !p.Excl
			if !plain || !p.Length && !s.vars.numeric(p.Param.Value) {
				return false
			}
		case *syntax.ArithmExp: // is looked at for itself
		case *syntax.DblQuoted:
			if !s.safeOperand(&syntax.Word{Parts: p.Parts}) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// comparison doubts [[ $x -eq 1 ]], which calculates.
func (s *script) comparison(t *syntax.BinaryTest) {
	switch t.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
	default:
		return
	}
	for _, x := range []syntax.TestExpr{t.X, t.Y} {
		if w, ok := x.(*syntax.Word); !ok || !s.safeOperand(w) {
			s.doubt("it compares values that are not known to be numbers")
			return
		}
	}
}

// variableName doubts [[ -v name ]] unless it is a plain name.
func (s *script) variableName(x syntax.TestExpr) {
	if w, ok := x.(*syntax.Word); !ok || !syntax.ValidName(w.Lit()) {
		s.doubt("it asks for a variable whose name is not known")
	}
}

// expansion doubts the expansions that evaluate what a variable holds.
func (s *script) expansion(p *syntax.ParamExp) {
	if p.Excl && p.Names == 0 && !listIndex(p.Index) {
		s.doubt("it expands a variable by a name that is not known (${!…})")
	}
	if p.Index != nil && !listIndex(p.Index) {
		s.arithmetic(p.Index)
	}
	if p.Slice != nil {
		s.arithmetic(p.Slice.Offset)
		s.arithmetic(p.Slice.Length)
	}
	if p.Exp == nil || p.Param == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.OtherParamOps:
		if p.Exp.Word == nil || p.Exp.Word.Lit() == "P" {
			s.doubt("it evaluates what a variable holds (${…@P})")
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if dangerous(p.Param.Value) {
			s.doubt("it sets %s", p.Param.Value)
		}
	}
}

func listIndex(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// harmless reports whether a variable changes only how programs print, or a
// choice that is theirs to offer.
func harmless(name string) bool {
	if strings.HasPrefix(name, "LC_") {
		return true
	}
	switch name {
	case "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "COLUMNS", "LINES", "IFS",
		"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI", "DEBIAN_FRONTEND",
		"NODE_ENV", "GOOS", "GOARCH", "GOARM", "GOAMD64", "CGO_ENABLED", "GO111MODULE", "GOMAXPROCS", "GOMEMLIMIT",
		"RUST_BACKTRACE", "RUST_LOG", "CARGO_TERM_COLOR",
		"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONIOENCODING",
		"GIT_PAGER_IN_USE", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS":
		return true
	}
	return false
}

// dangerous reports whether a variable, set in the shell, can make the commands
// after it do something else than they say.
func dangerous(name string) bool {
	if harmless(name) {
		return false
	}
	switch name {
	case "PATH", "HOME", "ENV", "CDPATH", "SHELL", "SHELLOPTS", "EXECIGNORE", "GLOBIGNORE", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4",
		"PAGER", "EDITOR", "VISUAL", "BROWSER", "LESS", "LESSOPEN", "LESSCLOSE", "LESSKEY", "ZDOTDIR", "TAR_OPTIONS", "GREP_OPTIONS", "GZIP", "JQ_LIB_DIR", "INPUTRC", "MANPAGER", "TERMINFO", "LOCPATH", "GCONV_PATH", "NLSPATH",
		"CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "HOSTALIASES", "TMPDIR", "PWD", "OLDPWD":
		return true
	}
	for _, prefix := range []string{
		"BASH", "LD_", "DYLD_", "GIT_", "SSH_", "PYTHON", "NODE_", "NPM_", "npm_", "YARN_", "PERL", "RUBY", "GEM_", "BUNDLE_",
		"JAVA", "JDK_", "_JAVA", "MAVEN_", "GRADLE_", "CARGO", "RUST", "GO", "CGO_", "MAKE", "CMAKE_", "AWK", "RIPGREP_", "FZF_",
		"DOCKER_", "KUBE", "XDG_", "VIM", "EMACS", "MALLOC_", "GLIBC_", "AWS_", "CURL_", "OPENSSL_", "SSL_", "PIP_", "UV_",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasSuffix(strings.ToUpper(name), "_PROXY")
}
