package shell

import (
	"regexp"
	"strings"
	"sync"
)

// wanted is what a program waits for. The text completes "it waits for ...".
type wanted string

const (
	wantConfirmation wanted = "a confirmation"
	wantPassword     wanted = "a password"
	wantPassphrase   wanted = "a passphrase"
	wantCode         wanted = "a one-time code"
	wantUser         wanted = "a user name"
	wantSignIn       wanted = "a sign-in in a browser"
	wantHostKey      wanted = "trust in a host"
	wantPage         wanted = "a key in a pager"
	wantKey          wanted = "a key press"
	wantChoice       wanted = "a choice"
	wantEditor       wanted = "an editor to close"
	wantCommand      wanted = "a command at its prompt"
	wantInput        wanted = "a line of input"
)

// question is what a program asks when it stops to wait for somebody.
type question struct {
	Line string // the line that asks: no control characters, at most maxLine characters
	Kind wanted

	advice string // for the program that was recognised, if any
}

// maxLine limits the line that is quoted, in characters.
const maxLine = 200

// asks reports whether output ends as if the program waited for an answer, and
// what it seems to ask for. It is for output that has not grown for a while: servers
// and watchers that offer keys, and text that merely holds a question, do not ask.
func asks(tail []byte) (q question, ok bool) {
	s := render(tail)
	if len(s.lines) == 0 {
		return question{}, false
	}
	for _, find := range []func(screen) (int, wanted, bool){menu, signIn, lastLine, fullScreen} {
		if at, kind, ok := find(s); ok {
			return question{
				Line:   clip(s.lines[at]),
				Kind:   kind,
				advice: hint(s.lines[max(0, at-3):], kind),
			}, true
		}
	}
	return question{}, false
}

// lastLine looks at the line on which the cursor stands. A line that only marks the
// place for the answer, such as "> ", belongs to the question above it.
func lastLine(s screen) (at int, kind wanted, ok bool) {
	at = len(s.lines) - 1
	low := lower(s.lines[at])
	if !mayAsk(low) {
		return 0, "", false
	}
	p := patterns()
	if above := at - 1; above >= 0 && s.open && p.mark.MatchString(low) {
		up := lower(s.lines[above])
		if kind, ok = p.match(up, true, true); ok {
			return above, kind, true
		}
		if p.item.MatchString(up) {
			return at, wantChoice, true
		}
	}
	kind, ok = p.match(low, s.open, s.spaced)
	if kind == wantKey && serves(s) {
		return 0, "", false
	}
	return at, kind, ok
}

func lower(line string) string { return strings.ToLower(strings.TrimSpace(line)) }

// mayAsk is a cheap test that spares ordinary lines the patterns.
func mayAsk(low string) bool {
	return strings.ContainsAny(low[len(low)-1:], "?:>])}$#.'\"") ||
		hasAny(low, "press", "hit ", "lines ", "--more", "›", "»", "…", "? ", " -- ", "--type <ret>", "please ", "^x exit")
}

// rule is one way of asking.
type rule struct {
	kind   wanted
	cursor cursor
	expr   string
	re     *regexp.Regexp
}

// cursor is where the cursor must stand for a line to ask: the weaker the pattern,
// the more it has to look like a place to type at.
type cursor int

const (
	anywhere cursor = iota // also below the line
	behind                 // on the line
	apart                  // on the line, and a blank behind the text
)

// compiled are the patterns, ready for use.
type compiled struct {
	rules []rule
	log   *regexp.Regexp // a line of a log, of code, or of a list of results
	done  *regexp.Regexp // has its answer already, or is a test's name, a comment, markup
	going *regexp.Regexp // a step that has begun: what ends it is no answer
	mark  *regexp.Regexp // where an answer is to be typed, without a question
	item  *regexp.Regexp // of a numbered list
	visit *regexp.Regexp // an invitation to sign in
}

// patterns are compiled when first needed: most commands never stall.
var patterns = sync.OnceValue(func() *compiled {
	c := &compiled{
		log: regexp.MustCompile(`^(?:\W{0,2}\d{4}[-/]\d\d|\W{0,2}\d\d:\d\d|\[?(?:info|warn|warning|error|debug|trace|notice|note|hint|fatal|fail|failed|usage|pass|ok)\b` +
			`|npm |e: |w: |[{}<>|+#/=-]|\d+[|:]|\$ |at )`),
		done:  regexp.MustCompile(`^(?://|#\s|\* |<!--|[✓✔√✗✘×◇]|(?:--- )?(?:pass|fail)\b)|</\w+>$`),
		going: regexp.MustCompile(`^\W*(?:re-?)?[a-z]{2,}ing\b`),
		mark:  regexp.MustCompile(`^(?:(?:\[\w*\] ?)?[>?›❯]{1,3}|#\?)$`),
		item:  regexp.MustCompile(`^\W{0,3}\d{1,2}\W{1,2}\s*\S`),
		visit: regexp.MustCompile(visit),
	}
	for _, r := range rules {
		r.re = regexp.MustCompile(r.expr)
		c.rules = append(c.rules, r)
	}
	return c
})

// match finds the first rule for a line in lower case.
func (c *compiled) match(low string, open, spaced bool) (wanted, bool) {
	at := anywhere
	switch {
	case open && spaced:
		at = apart
	case open:
		at = behind
	case c.log.MatchString(low):
		return "", false
	}
	if c.done.MatchString(low) {
		return "", false
	}
	for _, r := range c.rules {
		if r.cursor <= at && r.re.MatchString(low) {
			return r.kind, r.kind != wantInput || !c.going.MatchString(low)
		}
	}
	return "", false
}
