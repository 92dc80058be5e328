package shell

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
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

// Parts of patterns, for lines in lower case.
const (
	// trail is what may stand between a question and the cursor: a default, a mark.
	trail = `(?:\s*[\[(<][^\])>]*[\])>]+)*[\s:>›»*]*$`
	// yesNo is a choice of answers that begins with yes or no: (y/n), [Y/n/?], ([y]/n),
	// (yes/no/[fingerprint]), (y or n), [y]es, [n]o, [a]ll and the like.
	yesNo = `(?:[\[(<]{1,2}\s*y(?:es)?[\])]*(?:es)?\s*(?:/|\||\bor\b)\s*(?:[a-z]/){0,2}[\[(]*n(?:o)?\b` +
		`|[\[(<]{1,2}\s*n(?:o)?[\])]*o?\s*(?:/|\||\bor\b)\s*(?:[a-z]/){0,2}[\[(]*y(?:es)?\b` +
		`|(?:^|\W)[\[(]y(?:es)?\]?(?:es)?, ?\[?no?\b)`
)

// visit is what programs say that wait for somebody to visit a page.
const visit = `\benter the (?:following )?(?:user )?code\b(?:.*to (?:authenticate|sign in|log ?in|continue).*|:? ?[\w-]*:?)$` +
	`|(?:one-time|device|user|confirmation) (?:\w+ )?code(?: is)?: ?[a-z0-9]{3,}-?[a-z0-9]+$|` +
	`waiting for (?:authenticat|authori[sz]|log ?in|sign|session\W*$|(?:you|user) to|(?:the )?browser\W*$)|` +
	`(?:press|hit) \W?(?:enter|any key)\W? to open\b.*|` +
	`(?:open|visit|go to|copy and paste) (?:the following |this |the |following )?(?:url|link|page|address)\b.*(?:log ?in|sign|authori[sz]|authenticat|browser|:$)|` +
	`^\W*log ?in at:$`

// rules are tried in this order: the more telling first.
var rules = []rule{
	{kind: wantHostKey, cursor: anywhere, expr: `continue connecting \(yes/no|type 'yes', 'no' or the fingerprint|store key in cache\?|accept \(t\)emporarily`},
	{kind: wantCode, cursor: behind, expr: `\b(?:(?:verification|authenticat(?:ion|or)|authorization|confirmation|one-time|two-factor|2fa|mfa|otp|security)(?: (?:authentication|authenticator|app|device))? (?:code|password|passcode)|otp|totp)(?: \([\w -]+\)| for \S+)?:` + trail},
	{kind: wantCode, cursor: behind, expr: `\b(?:enter|paste|type)\b.*\bcode\b[^:?]{0,60}:$|passcode or option|\bpasscode:$`},
	{kind: wantPassphrase, cursor: behind, expr: `pass ?phrase\b[^?]{0,160}:$`},
	{kind: wantPassword, cursor: behind, expr: `\b(?:passwor[dt]|passwd|kennwort|contraseña|mot de passe|pin|secret(?: \w+)?|(?:api|access|auth|auth\w+) (?:key|token)|token|secret key)\b[^?;=]{0,120}:$`},
	{kind: wantPassword, cursor: anywhere, expr: `^\W*(?:please )?(?:enter|type|paste|re-?enter|retype)\b[^.;=]{0,80}\b(?:password|pin|secret|token|api key)\b[^.;=]{0,80}:$|please paste the token\b.*`},
	{kind: wantPage, cursor: anywhere, expr: `^\W{0,4}(?:-- ?)?more(?: ?--|\W{0,4}\d+%\W{0,3})|^--more--|^\(end\)$|\(press h for help or q to quit\)$|^lines \d+-\d+(?:/\d+)?(?:\s+(?:\(end\)|\d+%))?$|^\[more\]$|^--type <ret>`},
	{kind: wantPage, cursor: behind, expr: `^:$|\(press return\)$|--more--(?:\(\d+%\))?$|\(end\)$`},
	{kind: wantEditor, cursor: anywhere, expr: `waiting for your editor to close|^-- (?:insert|replace|visual)\b.* --|\^x exit\b|\(e\)dit anyway`},
	{kind: wantKey, cursor: anywhere, expr: `\b(?:press|hit|strike|push)\W+(?:any key|(?:the )?(?:\W?(?:enter|return|space(?:bar)?|space bar)\W?)(?: key)?(?:(?:/| or )\W?(?:enter|return)\W?)?)(?:\W*$|,? (?:to|or|when|if|once|after|and)\b)`},
	{kind: wantConfirmation, cursor: anywhere, expr: yesNo + `(?:[^\])>]{0,40}[\])>]{1,2}` + trail + `|.{0,100}[:?>]$)`},
	{kind: wantInput, cursor: behind, expr: `\(enter '?c'? to cancel\):$`},
	{kind: wantChoice, cursor: anywhere, expr: `^\W*(?:please )?(?:select|choose|pick|enter)\b.{0,80}\b(?:option|choice|selection|number|one of)\b[^.;=]{0,90}[:?\])]\W*$`},
	{kind: wantChoice, cursor: behind, expr: `\b(?:selection|choice|option)\s*[?:>]+$|^#\?$|what now>$|\[\d+(?:-|\.\.)\d+\][:?]?$`},
	{kind: wantChoice, cursor: behind, expr: `\([a-z]\)\w*(?:,? ?(?:/|,|or|\|) ?(?:or )?\w*\([a-z]\)[\w -]*){1,}.{0,8}$`},
	{kind: wantConfirmation, cursor: behind, expr: `\[[ynaqdhm]{3,}\]\s*$|\? ?\(y(?:es)?\)$|› no / yes$|› \(y/n\)$|\[(?:[a-z],){2,}[a-z?]\]\??$|\b(?:yes|ignore|retry|fix)/(?:no|cancel)(?:/\w+)*\?$|<y>\?( \(y or a to all\))?$`},
	{kind: wantConfirmation, cursor: anywhere, expr: `(?:^\W*|[.!?:;)] +)(?:do you (?:want|wish|really|still|also|agree|accept|trust|like|approve|confirm|consent|have|plan|prefer|intend)|would you|shall (?:i|we)|are you (?:sure|certain|ready|ok)|(?:is|was) (?:this|that) (?:ok|okay|correct|right)|ready to)\b[^?]*\?` + trail},
	{kind: wantConfirmation, cursor: anywhere, expr: `(?:^|\s)(?:continue|proceed|overwrite|(?:try again|retry))(?: anyway| with [\w ]{1,20})?\s*\?` + trail},
	{kind: wantConfirmation, cursor: anywhere, expr: `\b(?:type|answer)\W+(?:yes|y|the name|[\w-]+)\b.{0,60}\b(?:to (?:continue|confirm|proceed|accept|delete)|or '?no'?)\b.{0,60}$`},
	{kind: wantConfirmation, cursor: behind, expr: `^(?:\S+: )?(?:\W*)(?:overwrite|replace|remove|delete|descend|install|uninstall|upgrade|update|apply|accept|abort|create|use|save|merge|reset|send|try|enable|should|do|does|did|is|are|was|can|may|will|have|ok|okay|confirm|clear|fix|stage|discard|unstage)\b[^?]*\?` + trail},
	{kind: wantUser, cursor: behind, expr: `\b(?:user ?name|user|login(?: as)?|account(?: name| id)?|e-?mail(?: address)?)(?: for \S+)?(?: ?[\[(][^\])]*[\])])?:$`},
	{kind: wantCommand, cursor: behind, expr: `^(?:>>>|\((?:gdb|lldb|pdb|i?pdb\+?\+?|dlv|rdb(?::\d+)?|byebug|parted)\)|ipdb>|in \[\d+\]:|irb\([^)]*\):\d+(?::\d+)?[>*]|\[\d+\] pry\([^)]*\)>|iex\(\d+\)>|db<+\d+>|(?:mysql|sqlite|sqlite3|scala|jshell|ghci|prelude|php|cqlsh|sftp|ftp|telnet|debug|mongosh|test|redis|nslookup|julia|hive|spark-sql|psql|lua)>|mariadb \[[^\]]*\]>|\w[\w-]*[=(-][#>]|[\w.-]+:\d+>|command \(m for help\):|'?(?:\[\w+@[\w.-]+ [^\]]+\]|[\w.-]+@[\w.-]+:\S*|(?:ba|z|da)?sh-[\d.]+)[$#%]|ps \w:\\.*>|\w:\\[^>]*>)$`},
	{kind: wantCommand, cursor: apart, expr: `^[>$#]$|^[a-z][\w.@:/~()\[\]-]{0,30}>$`},
	{kind: wantInput, cursor: anywhere, expr: `^\W*(?:enter|please (?:enter|type|input|provide|specify|paste|supply))\b[^.;={}<]{0,80}[:?>]$`},
	{kind: wantInput, cursor: behind, expr: `^\? \S|\benter (?:an?|the|your)\b[^.;={}]{0,80}[:?>]$|^question .+:$|: :$|\bvalue for\b.*:$`},
	{kind: wantInput, cursor: behind, expr: `^[a-z][\w .,'/()-]{0,80} \[[^\]]*\]:$|\[[nym](?:/[nym?])+\](?: \(new\))?$`},
	{kind: wantInput, cursor: apart, expr: `^[a-z][\w .,'/-]{0,80} \([^)]*\) ?:$|\((?:default|default value)[: =][^)]*\)(?: [\[(][^\])]*[\])])?:?$`},
	{kind: wantInput, cursor: apart, expr: `^[^?=;{}]{2,160}\?` + trail},
	{kind: wantInput, cursor: apart, expr: `^[a-z][\w '/-]{0,24}?\b(?:name|address|number|area|zone|region|version|title|description|entry point|command|repository|keywords|author|licen[sc]e|private|path|directory|folder|url|uri|host|port|date|language|country|city|value|answer|message|reason|database|domain|organi[sz]ation|output format|id|editor)(?: [\[(][^\])]*[\])])?:(?: [\[(][^\])]*[\])])?$`},
}

// serves reports whether the end of the output is that of a server or a watcher: it
// tells which keys it knows, but works without any.
func serves(s screen) bool {
	return hasAny(strings.ToLower(strings.Join(s.lines[max(0, len(s.lines)-4):], "\n")),
		"watch mode", "watch usage", "watching", "to trigger", "to restart", "to rerun", "to re-run", "hot re", "to stop the",
		"to show help", "to show all", "to stop watching", "to reload", "to quit the server", "to shut down", "to terminate",
		"listening on", "server running", "running at http", "running on", "serving ", "server started")
}

// menu looks for a list of entries to move in. The keys that it takes are told above
// it, or it is framed; it is over when something else follows.
func menu(s screen) (int, wanted, bool) {
	for at := len(s.lines) - 1; at >= 0; at-- {
		line := s.lines[at]
		low := strings.ToLower(line)
		switch {
		case strings.HasPrefix(line, "◆") && strings.HasPrefix(s.lines[len(s.lines)-1], "└"):
			if strings.ContainsAny(strings.Join(s.lines[at:], ""), "○◻●◼") {
				return at, wantChoice, true
			}
			return at, wantInput, true
		case hasAny(low, "(use arrow", "- use arrow", "[use arrow", "<space> to select", "↑/↓", "↑↓", "<ok>", "<yes>"):
			return at, wantChoice, true
		case strings.HasPrefix(low, "use the arrow keys to ") && at+1 < len(s.lines):
			return at + 1, wantChoice, true // the keys are told above the question
		case strings.HasPrefix(line, "? ") && at < len(s.lines)-1 && strings.ContainsAny(s.lines[at+1], "❯▸◉◯"):
			return at, wantChoice, true
		case !entry(line):
			return 0, "", false
		}
	}
	return 0, "", false
}

// entry reports whether a line can be one of a menu: the cursor, a box, a frame, or
// what the cursor is not at, which is indented.
func entry(line string) bool {
	return strings.HasPrefix(line, "  ") || strings.IndexAny(line, "❯›▸>●○◉◯◻◼◆│└┃*") == 0 ||
		strings.HasPrefix(line, " ") && strings.ContainsAny(line, "❯›▸●○◉◯◻◼")
}

// signIn looks for a program that waits for somebody to visit a page. It shows an
// address or a code, and perhaps that it waits.
func signIn(s screen) (int, wanted, bool) {
	for at := len(s.lines) - 1; at >= max(0, len(s.lines)-6); at-- {
		low := strings.ToLower(s.lines[at])
		if hasAny(low, "://localhost", "://127.0.0.1") {
			return 0, "", false // the page of a server that runs here
		}
		if hasAny(low, "code", "browser", "log in", "login", "sign in", "authoriz", "authentic", "session", "press enter", "activate") &&
			patterns().visit.MatchString(low) {
			return at, wantSignIn, true
		}
		word := strings.TrimSpace(low)
		if !strings.Contains(word, "://") && strings.Contains(word, " ") && !strings.HasPrefix(word, "waiting") {
			return 0, "", false
		}
	}
	return 0, "", false
}

// fullScreen looks for what a program draws that takes the whole terminal: the status
// line of a pager, or the lines that vi shows behind the end of a file.
func fullScreen(s screen) (int, wanted, bool) {
	last := len(s.lines) - 1
	if s.status {
		return last, wantPage, true
	}
	for i := last - 1; i > last-4; i-- {
		if i < 0 || s.lines[i] != "~" {
			return 0, "", false
		}
	}
	return last, wantEditor, true
}

func hasAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// screen is what a terminal would show at the end of the output.
type screen struct {
	lines  []string // the last ones that are not blank; blanks at their ends are cut
	open   bool     // the cursor is on the last of them
	spaced bool     // and behind a blank
	status bool     // and all of it is in reverse video
}

// shown is how many lines a screen keeps: enough for a menu.
const shown = 14

// render plays output that may begin and end in the middle of anything.
func render(out []byte) screen {
	var (
		s    screen
		line []byte
		back bool // the cursor is at the beginning of the line: what comes replaces it
		from = -1 // where reverse video began
		to   = -1 // and ended
	)
	end := func() {
		if trimmed := strings.TrimRight(string(line), " "); trimmed != "" {
			s.lines = append(s.lines, trimmed)
		}
		line, back, from, to = line[:0], false, -1, -1
	}
	for len(out) > 0 {
		if out[0] == 0x1b {
			seq, n := escapeSequence(out)
			switch out = out[n:]; {
			case seq == "[2J" || seq == "[3J" || seq == "c":
				s.lines, line, back = nil, line[:0], false
			case seq == "[7m":
				from, to = len(line), -1
			case seq == "[27m" || seq == "[m" || seq == "[0m":
				if to < 0 {
					to = len(line)
				}
			case seq == "[2K" || seq == "[G" || seq == "[1G":
				back = true
			case strings.HasSuffix(seq, "A") || strings.HasSuffix(seq, "H"):
				end()
			case strings.HasPrefix(seq, "[") && strings.HasSuffix(seq, "C"):
				line = append(line, ' ')
			}
			continue
		}
		r, n := utf8.DecodeRune(out)
		switch out = out[n:]; {
		case r == '\n':
			end()
			continue
		case r == '\r':
			back = true
			continue
		case r == '\b':
			_, n := utf8.DecodeLastRune(line)
			line = line[:len(line)-n]
			continue
		case unicode.IsSpace(r):
			r = ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			continue
		}
		if back {
			line, back = line[:0], false
		}
		line = utf8.AppendRune(line, r)
	}
	s.status = from == 0 && to == len(line) && to > 0
	s.spaced = len(line) > 0 && line[len(line)-1] == ' '
	before := len(s.lines)
	end()
	s.open = len(s.lines) > before
	s.spaced, s.status = s.spaced && s.open, s.status && s.open
	s.lines = s.lines[max(0, len(s.lines)-shown):]
	return s
}

// escapeSequence returns the sequence at the start of b, without its ESC, and how
// many bytes it takes: all of them if it is cut.
func escapeSequence(b []byte) (string, int) {
	if len(b) < 2 {
		return "", len(b)
	}
	i := 1
	switch b[1] {
	case '[':
		for i = 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return string(b[1 : i+1]), i + 1
			}
			if b[i] < 0x20 {
				return "", i // broken off: the control character counts
			}
		}
		return "", len(b)
	case ']', 'P', '_', '^', 'X': // a string, up to BEL or ESC \
		end := bytes.IndexAny(b, "\a\n")
		if st := bytes.Index(b, []byte("\x1b\\")); st > 0 && (end < 0 || st < end) {
			return "", st + 2
		}
		if end < 0 {
			return "", len(b)
		}
		if b[end] == '\n' {
			return "", end // never ended
		}
		return "", end + 1
	}
	for i < len(b) && b[i] >= 0x20 && b[i] <= 0x2f {
		i++
	}
	if i == len(b) || b[i] < 0x20 || b[i] > 0x7e {
		return "", i
	}
	return string(b[1 : i+1]), i + 1
}

// clip keeps the end of a long line: that is where the question is.
func clip(line string) string {
	line = strings.TrimSpace(line)
	n := utf8.RuneCountInString(line)
	if n <= maxLine {
		return line
	}
	for ; n >= maxLine; n-- {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
	}
	return "…" + line
}

// Advice tells the model in a sentence or two what to do.
//
// A command has an empty standard input and no terminal, so a program that waits all
// the same has made a terminal for itself, reads from a pipe that stays open, or waits for
// something else than a key. To pipe an answer in helps only with the second kind.
func (q question) Advice() string {
	if q.advice != "" {
		return "No answer can reach this command. Stop the task and " + q.advice + "."
	}
	return adviceFor[q.Kind]
}

// adviceFor is the advice when the program is not known.
var adviceFor = map[wanted]string{
	wantConfirmation: "No answer can reach this command. Stop the task and run it again with the option that answers in advance (often `--yes`, `-y` or `--force`); if it reads standard input, `printf 'y\\n' | command` answers too.",
	wantPassword:     secretAdvice,
	wantPassphrase:   secretAdvice,
	wantCode:         "The code is known to the user alone, and no answer can reach this command. Stop the task and ask the user to log in themselves, or use a token that needs no code.",
	wantUser:         "No answer can reach this command. Stop the task and run it again with the account given by an option or a variable, or ask the user to log in first.",
	wantSignIn:       "Show the user the address and the code: many programs go on by themselves after the sign-in. If this one does not, or the user cannot, stop the task and use a token instead.",
	wantHostKey:      "No answer can reach this command. Stop the task; if the user trusts this host, have its key added to known_hosts or run again with `ssh -o StrictHostKeyChecking=accept-new`.",
	wantPage:         "The output goes through a pager that waits for a key. Stop the task and run it again with `| cat`, `--no-pager` or `PAGER=cat`.",
	wantKey:          "No key can reach this command. Stop the task and run it again with the option that skips the pause; if it reads standard input, `printf '\\n' | command` does too.",
	wantChoice:       "Nobody can choose here. Stop the task and run it again with the choice given by an option (see its `--help`) or with its defaults, often `--yes`.",
	wantEditor:       "Nobody can use an editor here. Stop the task and give the text by an option such as `-m`, or set `EDITOR=true` to take it as it is.",
	wantCommand:      "It is interactive and waits for commands, which cannot reach it. Stop the task and give the commands by an option (such as `-c` or `-e`), a script file or standard input.",
	wantInput:        "No answer can reach this command. Stop the task and give the value by an option, a variable or a file; if it reads standard input, `printf 'value\\n' | command` does too.",
}

const secretAdvice = "No answer can reach this command, and programs read secrets from a terminal, not from standard input. Stop the task; use a credential that is set up already (a token, an agent, a file that the program reads) or ask the user for one."

// programs are those that their questions give away. The advice completes "Stop the
// task and ...".
var programs = []struct {
	kinds  []wanted // none: whatever it asks
	signs  []string // one of them is in the question or just above
	advice string
}{
	{nil, []string{"[sudo]", "sudo:"}, "run it as a user who needs no password, or with `sudo -n`, which fails instead of asking; if root is needed, ask the user"},
	{nil, []string{"ok to proceed? (y)"}, "run it again with `npx --yes` (or `npm_config_yes=true`)"},
	{nil, []string{"is this ok? (yes)", "package name: (", "entry point: ("}, "run `npm init -y` and edit package.json afterwards"},
	{nil, []string{"question name (", "question version (", "question private:"}, "run `yarn init -y` and edit package.json afterwards"},
	{nil, []string{"stage this hunk", "stage addition", "stage deletion", "unstage this hunk", "discard this hunk", "stash this hunk"}, "name the files instead of using `-p`; to take part of a file, write a patch and use `git apply --cached`"},
	{nil, []string{"what now>"}, "use the plain form, such as `git clean -f` or `git add <path>`, instead of `-i`"},
	{nil, []string{"was the merge successful", "start merge resolution tool"}, "resolve the conflicts in the files and `git add` them instead of running `git mergetool`"},
	{nil, []string{"apply? [y]es"}, "run `git am` without `-i`"},
	{[]wanted{wantEditor}, []string{"waiting for your editor"}, "give the message with `git commit -m`, or set `GIT_EDITOR=true` to keep the one that is there (for `git rebase` and `git merge` too)"},
	{[]wanted{wantUser, wantPassword}, []string{"for 'http"}, "use a remote that needs no password (ssh, or a credential helper that is set up) or ask the user; `GIT_TERMINAL_PROMPT=0` makes git fail instead of asking"},
	{[]wanted{wantPassphrase}, []string{"for key", "id_rsa", "id_ed25519"}, "run it again with `ssh -o BatchMode=yes`, which fails instead of asking; ask the user to add the key to their ssh-agent"},
	{[]wanted{wantPassphrase}, []string{"pem pass phrase", "pass phrase for"}, "give openssl the passphrase with `-passin file:PATH` or `-passout file:PATH`, or make a key without one (`-nodes`)"},
	{[]wanted{wantPassword}, []string{"'s password:"}, "run it again with `ssh -o BatchMode=yes`, which fails instead of asking; it needs a key that the host accepts, so ask the user"},
	{[]wanted{wantPassword}, []string{"vault password"}, "run it again with `--vault-password-file PATH`"},
	{[]wanted{wantPassword}, []string{"become password"}, "run ansible without `-K`, with a become user who needs no password, or with `--become-password-file PATH`"},
	{[]wanted{wantPassword}, []string{"password for user"}, "run it again with `psql -w`, which fails instead of asking; the password belongs in ~/.pgpass or `PGPASSWORD`"},
	{nil, []string{"country name (2 letter", "locality name (eg", "common name (e"}, "give the subject by an option: `openssl req -subj '/CN=example' ...`"},
	{nil, []string{"enter a value:"}, "run terraform with `-input=false` and its variables given by `-var`; `-auto-approve` applies without asking, if the user agrees to the plan"},
	{nil, []string{"[default=n]"}, "run it again with `DEBIAN_FRONTEND=noninteractive` and `-o Dpkg::Options::=--force-confold`"},
	{nil, []string{"geographic area:", "time zone:", "package configuration", "disk space will be"}, "run it again with `DEBIAN_FRONTEND=noninteractive apt-get -y ...`"},
	{nil, []string{"do you want to continue (y/n)", "numeric choice"}, "run gcloud with `--quiet`; other programs often take `-y`"},
	{nil, []string{"aws access key", "default region name", "default output format"}, "use `aws configure set NAME VALUE`, or the AWS_ variables; ask the user for the keys"},
	{nil, []string{"--confirm"}, "run it again with the `--confirm` option that the text names"},
	{nil, []string{"([y]/n)"}, "run it again with `-y` (conda and mamba know it)"},
	{nil, []string{"proceed with standard installation", "proceed with installation (default"}, "run the installer of rustup with `-y` (`... | sh -s -- -y`)"},
	{nil, []string{"press return/enter to continue"}, "run the installer of Homebrew with `NONINTERACTIVE=1`"},
	{nil, []string{"[ynaqdhm]"}, "run rails with `--force` to overwrite or `--skip` to keep the files"},
	{nil, []string{"[n]one, [r]ename"}, "run `unzip -o` to overwrite or `unzip -n` to keep the files"},
	{nil, []string{"cp: overwrite", "cp: replace", "mv: overwrite", "mv: replace", "rm: remove", "rm: descend"}, "run it again with `-f` and without `-i`; `command rm` and the like avoid an alias"},
	{nil, []string{"[y,n,d,?]", "allow-plugins"}, "run composer with `--no-interaction`"},
	{nil, []string{"type 'yes' to continue, or 'no'"}, "run manage.py with `--noinput`"},
	{nil, []string{"define value for property", "is the release version", "new development version"}, "run Maven in batch mode (`mvn -B`) with the values given by `-D`"},
	{nil, []string{"'c' to cancel", "(a)gree/(c)ancel"}, "run certbot with `--non-interactive --agree-tos -m MAIL`"},
	{nil, []string{"proceed anyway? (y,n)"}, "run mkfs with `-F`, once it is certain that the device is the right one"},
	{nil, []string{"<y>?"}, "run fsck with `-y` to repair or `-n` to look only"},
	{nil, []string{"[n/m/y", "] (new)"}, "run `make olddefconfig`, which takes the defaults"},
	{nil, []string{"next.js", "would you like to use typescript", "import alias"}, "run create-next-app with `--yes`, or with an option for each choice"},
	{nil, []string{"● vanilla"}, "run create-vite with `--template NAME --no-interactive`"},
}

// hint returns the advice for the program that a question gives away.
func hint(around []string, kind wanted) string {
	text := strings.ToLower(strings.Join(around, "\n")) + " "
	for _, h := range programs {
		if len(h.kinds) > 0 && !slices.Contains(h.kinds, kind) {
			continue
		}
		if hasAny(text, h.signs...) {
			return h.advice
		}
	}
	return ""
}
