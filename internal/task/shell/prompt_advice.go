package shell

import (
	"slices"
	"strings"
)

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
