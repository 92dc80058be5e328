package shell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// longCommand is above what goes into one argument: Linux allows 128 KiB.
const longCommand = 100 << 10

// line is how a command is given to the shell.
//
// The shell has to say in which directory it ends, and with which exit code, in case this
// program is gone by then; whether it reaches the end of the command or meets an exit. A trap
// does that, and bash sets it when it starts, as
// BASH_ENV tells it to. So the command stays as it is: no line of it moves, and what bash
// says about its syntax, and ps about its processes, shows nothing of ours.
type line struct {
	shell  string
	args   []string
	env    []string
	note   string // first the script that sets the trap, at the end what that wrote
	script string // holds a command that is too long for an argument
}

// noteOf is the note of the command whose files begin with base.
func noteOf(base string) string { return base + ".note" }

// compose writes the files that the command needs; their names begin with base.
func compose(command string, env []string, base string) (line, error) {
	l := line{note: noteOf(base), env: []string{"OLDPWD="}}
	if strings.IndexByte(command, 0) >= 0 {
		return l, errors.New("a command cannot hold a NUL byte")
	}
	if len(command) > longCommand {
		l.script = base + ".sh"
		if err := create(l.script, command); err != nil {
			return l, fmt.Errorf("write the command to a file: %w", err)
		}
	}
	var err error
	if l.shell, err = exec.LookPath("bash"); err == nil {
		err = l.bash(command, value(env, "BASH_ENV"))
	} else {
		err = l.sh(command)
	}
	if err != nil {
		l.remove()
		return l, err
	}
	l.shell, err = filepath.Abs(l.shell)
	return l, err
}

// bash also does what BASH_ENV says without us: theirs is a file to read, or empty.
func (l *line) bash(command, theirs string) error {
	l.args = []string{"bash", "-c", command}
	if l.script != "" {
		l.args = []string{"bash", l.script}
	}
	l.env = append(l.env, "BASH_ENV="+escape(l.note))
	setting := "unset BASH_ENV\n" // bashes that the command starts are not to do this again
	if theirs != "" {
		setting = "BASH_ENV=" + quote(theirs) + "\n" +
			`eval "[ ! -r \"$BASH_ENV\" ] || . \"$BASH_ENV\""` + "\n"
	}
	return create(l.note, setting+l.trap())
}

// sh is for systems without bash. POSIX has no file that every shell reads, so
// the command begins in line two.
func (l *line) sh(command string) (err error) {
	if l.shell, err = exec.LookPath("sh"); err != nil {
		return errors.New("there is neither bash nor sh on PATH; commands cannot run")
	}
	if l.script != "" {
		command = ". " + quote(l.script)
	}
	l.args = []string{"sh", "-c", l.trap() + command}
	return nil
}

// trap returns the line that sets the trap. A change of directory has set OLDPWD.
// What the command has set (-e, -u, -x, -C), or has made of the name pwd, must not show in
// it, and the exit code must stay.
func (l *line) trap() string {
	note := `{ { command printf "%s\n" "$?"; [ -z "${OLDPWD-}" ] || command pwd -P; } >|` + quote(l.note) + ` || :; } 2>/dev/null`
	return "trap " + quote(note) + " EXIT\n"
}

// ending is what the trap wrote: the exit code, and the directory to which the shell
// changed, if it did. Nothing is known if the shell was killed, became another program,
// or had a trap of its own.
func ending(note string) (code int, dir string, known bool) {
	b, err := os.ReadFile(note)
	if err != nil {
		return 0, "", false
	}
	first, rest, _ := strings.Cut(string(b), "\n")
	if code, err = strconv.Atoi(first); err != nil {
		return 0, "", false
	}
	if strings.HasPrefix(rest, "/") {
		dir = strings.TrimSuffix(rest, "\n")
	}
	return code, dir, true
}

func (l *line) remove() {
	_ = os.Remove(l.note) // with sh, there may be none
	if l.script != "" {
		_ = os.Remove(l.script)
	}
}

// create writes a file that nobody else made before.
func create(path, content string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}

// quote makes one word of s for the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// escape keeps the shell from expanding s, as it does with the value of BASH_ENV.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `$`, `\$`, "`", "\\`").Replace(s)
}
