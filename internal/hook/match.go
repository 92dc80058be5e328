package hook

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"

	"heddle/internal/tool"
)

// matcher decides whether a hook is meant by a subject.
type matcher func(subject string) bool

// newMatcher reads a matcher: nothing or * is everything; names, separated by | or a
// comma, are just these; anything else is a regular expression that may match anywhere.
func newMatcher(e Event, text string) (matcher, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "*" || e.Subject() == "" {
		return func(string) bool { return true }, nil
	}
	if known[e].literal || !strings.ContainsFunc(text, special) {
		return listed(text)
	}
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("the matcher %.80q is no regular expression: %s", text, whyNot(text, err))
	}
	return expression.MatchString, nil
}

// special reports whether r makes a matcher more than a list of names.
func special(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_- ,|", r)
}

func listed(text string) (matcher, error) {
	names := map[string]bool{}
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '|' || r == ',' }) {
		if name = strings.TrimSpace(name); name != "" {
			for _, shown := range tool.ServerNames(name) { // as the owner of a server spells it
				names[shown] = true
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf(`the matcher %.80q names nothing; for everything leave it out or write "*"`, text)
	}
	return func(subject string) bool { return names[subject] }, nil
}

// whyNot explains why text was not compiled.
func whyNot(text string, err error) string {
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(text, look) {
			return "look-around, as in " + look + ", is not known to RE2; list the names, or leave the exception to the hook"
		}
	}
	what := err.Error()
	if wrong := (*syntax.Error)(nil); errors.As(err, &wrong) {
		what = wrong.Code.String() // without the whole expression, which the message has
	}
	return what + "; RE2 syntax is expected"
}
