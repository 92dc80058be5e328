package builtin

import (
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// answersNo says what exit code 1 means for programs with which it is an answer
// and not a failure.
var answersNo = map[string]string{
	"grep": "(no match)", "egrep": "(no match)", "fgrep": "(no match)", "rg": "(no match)", "git grep": "(no match)",
	"diff": "(there are differences)", "git diff": "(there are differences)",
	"test": "(false)", "[": "(false)",
	"find": "(not everything could be searched)",
}

// meaningOfOne returns what exit code 1 of a command means, or "" if it means
// that the command failed. Only of a single program, or of the last one of a pipe, is it
// known whose exit code it is.
func meaningOfOne(command string) string {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) != 1 {
		return ""
	}
	stmt := file.Stmts[0]
	for {
		if stmt.Negated || stmt.Background {
			return ""
		}
		pipe, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		if pipe.Op != syntax.Pipe && pipe.Op != syntax.PipeAll {
			return ""
		}
		stmt = pipe.Y
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	name := filepath.Base(call.Args[0].Lit())
	if name == "git" {
		name = "git " + gitCommand(call.Args[1:])
	}
	return answersNo[name]
}

// gitCommand returns the word behind the options that stand before it.
func gitCommand(args []*syntax.Word) string {
	for i := 0; i < len(args); i++ {
		switch word := args[i].Lit(); {
		case word == "-C" || word == "-c" || word == "--git-dir" || word == "--work-tree":
			i++
		case !strings.HasPrefix(word, "-"):
			return word
		}
	}
	return ""
}
