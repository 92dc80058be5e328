package search

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// member reads one character of a set, which a backslash may protect.
func member(p string) (r rune, n int) {
	if p[0] == '\\' {
		if len(p) == 1 {
			return 0, 0
		}
		r, n = utf8.DecodeRuneInString(p[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(p)
}

// writeRange adds lo to hi to a set of a regexp, less the slash, which no set of
// git matches. A range that ends before it begins has no members.
func writeRange(b *strings.Builder, lo, hi rune) {
	put := func(lo, hi rune) {
		if lo <= hi {
			fmt.Fprintf(b, `\x{%x}-\x{%x}`, lo, hi)
		}
	}
	if lo <= '/' && '/' <= hi {
		put(lo, '/'-1)
		put('/'+1, hi)
		return
	}
	put(lo, hi)
}

// posixClass reads a class such as [:alpha:] inside a set.
func posixClass(p string) (class string, n int) {
	rest, ok := strings.CutPrefix(p, "[:")
	if !ok {
		return "", 0
	}
	name, _, ok := strings.Cut(rest, ":]")
	if !ok {
		return "", 0
	}
	switch name {
	case "alnum", "alpha", "blank", "cntrl", "digit", "lower", "space", "upper", "xdigit":
		class = "[:" + name + ":]"
	case "graph", "print", "punct": // these would hold the slash
		class = map[string]string{"graph": `!-.0-~`, "print": ` -.0-~`, "punct": "!-.:-@\\[-`{-~"}[name]
	default:
		return "", 0
	}
	return class, len(name) + 4
}
