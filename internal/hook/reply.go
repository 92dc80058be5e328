package hook

import (
	"cmp"
	"fmt"
	"strings"
)

// reply is what a hook left behind, before anyone has read it.
type reply struct {
	code   int
	end    string // "exit code 3", for a person
	stdout string
	stderr string
	// file holds standard output, of which stdout is the beginning, if it was too much.
	file string
	size int64
	cut  error // why standard output cannot be used
}

// blockingCode is the exit code with which a command holds something back.
const blockingCode = 2

// outcome reads the reply. Notes are for a person; keep reports that the outcome names
// the file of the reply.
func (rep reply) outcome(e Event) (o Outcome, notes []string, keep bool) {
	out := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rep.stdout), "\ufeff"))
	answered := false
	switch {
	case rep.cut != nil:
		notes = append(notes, fmt.Sprintf("its output is not used: %v", rep.cut))
	case rep.file != "":
		o, notes, keep = rep.long(e)
	case strings.HasPrefix(out, "{"):
		parsed, ignored, err := parseOutput(e, []byte(out))
		if err != nil {
			notes = append(notes, fmt.Sprintf("its output begins like JSON and is none: %v", err))
			break
		}
		o, notes, answered = parsed, ignored, true
	case out != "" && rep.code == 0 && known[e].prose:
		o.Context = []string{out}
	}
	if !answered && rep.cut == nil && rep.file == "" && hasObject(out) {
		notes = append(notes, "there is text before the JSON in its output, so the JSON decides nothing; print it alone")
	}
	switch {
	case rep.code == blockingCode:
		notes = append(notes, o.insist(e, strings.TrimSpace(rep.stderr))...)
	case rep.code != 0:
		if why := oneLine(rep.stderr); why != "" || !answered {
			notes = append(notes, strings.TrimSuffix(rep.end+": "+why, ": "))
		}
	}
	return o, notes, keep
}

// hasObject reports whether a later line begins JSON that was meant to decide something.
func hasObject(out string) bool {
	_, rest, found := strings.Cut(out, "\n{")
	return found && isObject([]byte("{"+rest))
}

// insist carries out exit code 2. What else the hook answered cannot undo it, but may
// give the reason.
func (o *Outcome) insist(e Event, stderr string) (notes []string) {
	reason := cmp.Or(stderr, o.Block, o.Reason)
	if !o.block(e, reason) {
		return []string{cmp.Or(oneLine(stderr), fmt.Sprintf("exit code 2, which %s does not heed", e))}
	}
	return nil
}

// long is the outcome of output that is in a file. It is no answer: one of that size
// would be a mistake.
func (rep reply) long(e Event) (o Outcome, notes []string, keep bool) {
	if !known[e].prose || rep.code != 0 || strings.HasPrefix(strings.TrimSpace(rep.stdout), "{") {
		return o, []string{fmt.Sprintf("its output of %d bytes is not used: that is too much for an answer", rep.size)}, false
	}
	o.Context = []string{preview(rep.stdout, fmt.Sprintf("%d bytes", rep.size), rep.file)}
	return o, nil, true
}
