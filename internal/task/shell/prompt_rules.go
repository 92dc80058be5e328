package shell

import (
	"slices"
	"strings"
)

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
