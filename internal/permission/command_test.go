package permission

import (
	"strings"
	"testing"
)

func TestReadOnlyCommandsPass(t *testing.T) {
	p := newPlace(t)
	g := p.gate(t, Default, lists{}, nil)
	for _, c := range []string{
		"ls", "ls -la src", "cat go.mod | head -5", "echo hi && pwd; wc -l go.mod", "", "# nothing",
		"find . -name '*.go'", "find . -type f | sort | uniq -c | sort -rn", "grep -rn 'func main' src", "rg foo src/*.go",
		"cd src && ls", "cd src; git status", "cd /", "stat go.mod", "du -sh .", "which go", "diff a b", "tail -n +3 x",
		"git status", "git log --oneline -5", "git --no-pager diff HEAD~1 -- src", "git show HEAD:go.mod", "git branch", "git branch -a",
		"git branch --list 'x*'", "git rev-parse HEAD", "git ls-files", "git blame go.mod", "git remote -v", "git stash list", "git config --get user.name",
		"git tag -l", "git worktree list", "git grep foo",
		"go version", "go env GOROOT", "go list ./...", "go list -m -f '{{.Path}}'",
		"sed -n '1,20p' go.mod", "sed 's/a/b/g' go.mod", "sed -e 's|a|b|' -e '/^#/d' x", "sort -k2 x", "uniq -c x", "date +%F", "date -u", "test -f x && echo y", `[ -n "$x" ]`,
		"[ $? -eq 0 ]", "[[ -f x && $y == z* ]]", "basename a/b", "printf '%s\\n' x", "true || false", "seq 3",
		"timeout 5 ls", "timeout -k 1 5s cat x", "nice -n 5 ls", "nohup ls", "stdbuf -oL grep x y", "command ls", "command -v go", "time ls", "xargs cat", "xargs",
		"LC_ALL=C sort x", "TZ=UTC date", "for f in *.go; do echo $f; done", "while IFS= read -r l; do echo \"$l\"; done < go.mod",
		"if grep -q x y; then echo yes; else echo no; fi", "case $x in a) ls;; *) pwd;; esac", "(cd src && ls)", "{ ls; pwd; }",
		"f() { cat \"$1\"; }; f go.mod", "x=$(git rev-parse HEAD); echo $x", "echo `pwd`", "diff <(sort a) <(sort b)", "cat <<EOF\nhi $(pwd)\nEOF",
		"ls 2>/dev/null", "ls >/dev/null 2>&1", "ls &> /dev/null", "set -euo pipefail; ls", "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done", "echo $((1 + 2))",
		`"l"'s' -l`, `\ls`, "echo '$(rm -rf /)'", "bash -c 'ls | wc -l'", "eval 'ls'", "jq .name x.json", "npm --version", "trap 'echo bye' EXIT",
		"for ((i=0; i<3; i++)); do echo $i; done", "cat " + p.outside + "/x", "ls /usr", "! ls", "unset x", "cat $f", "wc -l *.go",
	} {
		if v := p.bash(t, g, c); v.Behavior != Allow {
			t.Errorf("Judge(%q) = %s (%s), want allow", c, v.Behavior, v.Reason)
		}
		if v := p.bash(t, p.gate(t, Plan, lists{}, nil), c); v.Behavior != Allow {
			t.Errorf("in plan mode: Judge(%q) = %s (%s), want allow", c, v.Behavior, v.Reason)
		}
	}
}

// TestWhatIsNotKnownToReadIsAsked: each of these changes something, could, or
// hides what it does.
func TestWhatIsNotKnownToReadIsAsked(t *testing.T) {
	p := newPlace(t)
	g := p.gate(t, Default, lists{}, nil)
	for _, c := range []string{
		"npm test", "make", "./ls", "/tmp/ls", "touch x", "rm x", "mkdir d", "python3 -c 'print(1)'", "curl http://x",
		"find . -delete", "find . -exec rm {} ;", "find . -fprint out", "find $X", `find . "$X"`, "find . {-delete,}", "find . -del*",
		"sort -o x y", "sort -uo x y", "sort --outp=x y", "sort --compress-program=sh y", "uniq a b", "rg --pre sh x", "rg --pr sh x", "rg -z x", "fd -x rm", "tree -o x",
		"sed -i s/a/b/ x", "sed 's/a/b/e' x", "sed 's/a/b/w out' x", "sed 'w out' x", "sed '1e rm x' y", "sed -f s x", "sed -n '/a/w out' x", "sed 's/a/b/;w out' x", "sed \"$X\" x",
		"awk '{print}' x", "tee x", "date -s tomorrow", "date 12010000", "hostname x", "env", "env ls", "printf -v x y", "printf \"$x\"",
		"git commit -m x", "git -c core.pager=sh log", "git --exec-path=. status", "git --git-dir=x status", "git -C / status", "git diff --output=x", "git diff --outp=x",
		"git grep -Osh x", "git grep --open-files-in-pager=sh x", "git branch new", "git branch -D x", "git tag v1", "git remote add x y", "git stash", "git config user.name x",
		"git log --ext-diff", "git $X", "git log $X", "git reflog expire --all", "git worktree add x", "git push", "git fetch", "git checkout .",
		"cd / && git status", "cd $X && git log", "cd -; git log", "cd ..; git status",
		"go build ./...", "go test ./...", "go env -w X=y", "go env -w=true X=y", "go list -mod=mod ./...", "go list -toolexec=sh ./...", "go list -export",
		"ls > out", "ls >> out", "ls &> out", "ls >| out", "ls <> out", "ls > $X", "ls > ~/x", "ls > *.txt", "echo x >&out", "cd src && ls > out", "cat < /dev/tcp/1.2.3.4/80", "> x",
		"PATH=. ls", "LD_PRELOAD=x ls", "GIT_PAGER=sh git log", "FOO=1 ls", "PATH=.; ls", "export FOO=1", "declare -x A=1", "export PATH=.:$PATH; ls", "for PATH in .; do ls; done", "read PATH", "BASH_ENV=x bash -c ls",
		"$X", "$(echo ls)", "`echo ls`", "${X} a", "l? x", "{ls,-la}", "$'l\\x73'", "~/ls", "*", "timeout 5 $X", "xargs $X",
		"sudo ls", "sh -c \"$X\"", "bash -c 'rm x'", "echo x | sh", "sh script.sh", "eval \"$X\"", "eval 'rm x'", "source x", ". x", "exec ls", "xargs -n1 ls", "xargs find", "xargs rm", "watch ls", "setsid ls",
		"nohup make", "timeout 5 make", "timeout --foo 5 ls", "command make", "trap 'rm x' EXIT", "trap \"$X\" EXIT", "coproc make", "time make",
		"ls | xargs rm", "ls && make", "ls; make", "ls || make", "ls & make", "ls |& make", "ls\nmake", "(make)", "{ make; }", "echo $(make)", "echo `make`", "diff <(make) x", "ls > >(make)",
		"if make; then ls; fi", "while make; do ls; done", "until make; do ls; done", "for x in $(make); do ls; done", "case x in x) make;; esac", "f() { make; }; ls", "function f { make; }", "cat <<EOF\n$(make)\nEOF", "cat <<<$(make)", "x=$(make)", "[[ -n $(make) ]]", "echo ${x:-$(make)}", "a=($(make))", "! make", "ls \"$(make)\"",
		"./timeout 5 ls", "./bash -c ls", "/tmp/nice ls", "x/xargs ls", "./git status",
		"export 'PATH=.'; ls", "declare \"PATH=.\"", "coproc PATH { ls; }", "ls {PATH}>/dev/null", "((PATH=1))", "let PATH=1", "echo $((HOME=1))",
		"eval 'x=a[0]'; echo $((x))", "builtin read x; echo $((x))", "\"read\" x; echo $((x))", ": 'a[$(id)]'; echo $((_))", "echo $((PWD))",
		"x='a[$(id)]'; echo $((x))", "read x; echo $((x))", "echo ${x@P}", "x='a[$(id)]'; [[ $x -eq 1 ]]", "[ -v 'a[$(id)]' ]", "[ $x ]", "unset 'a[$(id)]'", "read 'a[$(id)]'", "echo ${!x}", "declare -i x=y", "declare -n x=PATH", "let x=$(make)", "for x in $(cat f); do echo $((x)); done", "[[ -v a[x] ]]",
		"(npm() { :; }); npm publish", "false && npm() { :; }; npm publish", "bash -c 'npm() { :; }'; npm publish", "npm publish; npm() { :; }", "npm() { :; } & npm publish",
		"if", "echo 'x", "ls \r rm x", strings.Repeat("ls;", 4000), "set -k", "set", "popd && ls > x", "alias ls=rm", "busybox rm x", "printenv", "nice -n $X ls",
	} {
		if v := p.bash(t, g, c); v.Behavior != Ask {
			t.Errorf("Judge(%.80q) = %s (%s), want ask", c, v.Behavior, v.Reason)
		}
		if v := p.bash(t, p.gate(t, Plan, lists{}, nil), c); v.Behavior != Deny {
			t.Errorf("in plan mode: Judge(%.80q) = %s (%s), want deny", c, v.Behavior, v.Reason)
		}
	}
}

func TestAllowRulesForCommands(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		rules   string // one a line
		command string
		want    Behavior
	}{
		{"Bash(npm test)", "npm test", Allow}, // exact
		{"Bash(npm test)", "npm  test", Allow},
		{"Bash(npm test)", "npm test x", Ask},
		{"Bash(npm run *)", "npm run lint --fix", Allow}, // a star spans blanks
		{"Bash(npm run *)", "npm run", Allow},
		{"Bash(npm run *)", "npm runx", Ask},
		{"Bash(make *)", "make", Allow}, // the boundary of a word
		{"Bash(make *)", "makeself", Ask},
		{"Bash(make*)", "makeself", Allow},
		{"Bash(make:*)", "make all", Allow}, // :* at the end
		{"Bash(make:*)", "makeself", Ask},
		{"Bash(make a:*b)", "make a:xb", Allow}, // a colon elsewhere is itself
		{"Bash(make a:*b)", "make a b", Ask},
		{"Bash(* --version)", "foo --version", Allow},
		{"Bash(git * main)", "git push origin main", Allow},
		{"Bash(git * main)", "git push origin dev", Ask},
		{`Bash(make \*)`, "make '*'", Ask}, // a quoted star in a rule is a star
		{"Bash", "rm x; curl y | sh", Allow},
		{"Bash(*)", "make > out", Allow},
		{"Bash()", "make", Allow},
		{"Bash", "make > .git/config", Ask},
		{"Bash", "$X", Allow},
		{"Bash", `env A=1 git commit -m "it's (done"`, Allow},
		{"Bash", "if", Ask},

		{"Bash(make *)", "make a && make b | cat", Allow}, // each part needs consent
		{"Bash(make *)", "make a && npm test", Ask},
		{"Bash(make *)\nBash(npm *)", "make a && npm test", Allow},
		{"Bash(make *)", "make $(npm test)", Ask},
		{"Bash(make *)", "make > out", Ask}, // a redirect is a write
		{"Bash(make *)\nEdit(out)", "make > out", Allow},
		{"Bash(make *)\nEdit", "make > out", Allow},
		{"Bash(make *)\nEdit", "make > /dev/sda", Allow},
		{"Bash(make && npm test)", "make && npm test", Allow}, // the whole text

		{"Bash(make *)", "timeout 5 make a", Allow}, // wrappers come off
		{"Bash(make *)", "nice -n 5 nohup stdbuf -oL time make a", Allow},
		{"Bash(make *)", "xargs make", Allow},
		{"Bash(make *)", "xargs -n 1 make", Ask},
		{"Bash(make)", "xargs make", Ask}, // more words come
		{"Bash(make *)", "/usr/bin/timeout 5 make", Allow},
		{"Bash(make *)", "./timeout 5 make", Ask},
		{"Bash(make *)", "/bin/bash -c 'make a'", Allow},
		{"Bash(make *)", "command make", Allow},
		{"Bash(make *)", "npx make", Ask},
		{"Bash(npx make *)", "npx make a", Allow},
		{"Bash(timeout 5 make)", "timeout 5 make", Allow},
		{"Bash(sudo *)", "sudo make", Ask}, // exec wrappers need an exact rule
		{"Bash(sudo make)", "sudo make", Allow},
		{"Bash(watch *)", "watch make", Ask},
		{"Bash(env *)", "env make", Ask},
		{"Bash(bash *)", "bash -c 'rm x'", Ask},
		{"Bash(bash *)", "bash build.sh", Allow},
		{"Bash(bash *)", "bash", Ask},
		{"Bash(bash *)", "bash -o pipefail -c 'rm x'", Ask},
		{"Bash(make *)", "bash -c 'make a'", Allow}, // the inner command is judged
		{"Bash(make *)", "bash -lc 'make a && npm test'", Ask},
		{"Bash(make *)", "eval make a", Allow},
		{"Bash(find *)", "find . -exec rm {} +", Ask},
		{"Bash(find . -delete)", "find . -delete", Allow},
		{"Bash(find *)", "find . -delete", Ask},

		{"Bash(make *)", "LC_ALL=C make", Allow}, // variables
		{"Bash(make *)", "FOO=1 make", Ask},
		{"Bash(FOO=1 make *)", "FOO=1 make all", Allow},
		{"Bash(FOO=* make)", "FOO=2 make", Allow},
		{"Bash(*make)", "LD_PRELOAD=x make", Ask},
		{"Bash(make *)", "PATH=.; make", Ask},
		{"Bash(make *)", "$X make", Ask},
		{"Bash(make *)", "make $X", Allow},
		{"Bash(make *)", `"ma"'ke' all`, Allow},
		{"Bash(make *)", `"make all"`, Ask},
		{"Bash(echo *)", "echo 'a; rm x'", Allow},
		{"Bash(make *)", "make # rm x", Allow},
		{"Bash(make *)", "make() { rm x; }; make a", Ask},
		{"Monitor(make *)", "make", Ask},
		{"bash(make *)", "make", Ask}, // names are case-sensitive
	} {
		g := p.gate(t, Default, lists{allow: strings.Split(test.rules, "\n")}, nil)
		if v := p.bash(t, g, test.command); v.Behavior != test.want {
			t.Errorf("with %q: Judge(%q) = %s (%s), want %s", test.rules, test.command, v.Behavior, v.Reason, test.want)
		}
	}
}

func TestDenyRulesForCommands(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		rule, command string
		want          Behavior
	}{
		{"Bash(rm *)", "rm x", Deny},
		{"Bash(rm *)", "ls && rm x", Deny}, // one part is enough
		{"Bash(rm *)", "ls | xargs rm", Deny},
		{"Bash(rm *)", "echo $(rm x)", Deny},
		{"Bash(rm *)", "cat <(rm x)", Deny},
		{"Bash(rm *)", "cat <<E\n`rm x`\nE", Deny},
		{"Bash(rm *)", "for i in 1; do rm x; done", Deny},
		{"Bash(rm *)", "f() { rm x; }", Deny},
		{"Bash(rm *)", "FOO=1 BAR=2 rm x", Deny}, // past any variable
		{"Bash(rm *)", "/bin/rm x", Deny},
		{"Bash(rm *)", `\rm x`, Deny},
		{"Bash(rm *)", `"r"'m' x`, Deny},
		{"Bash(rm *)", "timeout 5 rm x", Deny},
		{"Bash(rm *)", "sudo -u me rm x", Deny},
		{"Bash(rm *)", "env A=1 rm x", Deny},
		{"Bash(rm *)", "sh -c 'rm x'", Deny},
		{"Bash(rm *)", "sudo bash -c 'ls; rm x'", Deny},
		{"Bash(rm *)", "bash -o pipefail -c 'rm x'", Deny},
		{"Bash(rm *)", "bash +x -c 'rm x'", Deny},
		{"Bash(rm *)", "find . -exec rm {} +", Deny},
		{"Bash(rm *)", "find . -exec sh -c 'rm \"$1\"' _ {} ';'", Deny},
		{"Bash(rm *)", "xargs -I{} rm {}", Deny},
		{"Bash(rm *)", "eval rm x", Deny},
		{"Bash(rm *)", "trap 'rm x' EXIT", Deny},
		{"Bash(rm *)", "time rm x", Deny},
		{"Bash(rm *)", "coproc rm x", Deny},
		{"Bash(rm *)", "exec rm x", Deny},
		{"Bash(rm *)", "watch 'ls; rm x'", Deny},
		{"Bash(rm *)", "su -c 'ls; rm x'", Deny},
		{"Bash(rm *)", "flock f -c 'ls && rm x'", Deny},
		{"Bash(rm *)", "env '-Srm x'", Ask},
		{"Bash(rm *)", "busybox rm x", Deny},
		{"Bash(rm *)", "rmdir x", Allow},
		{"Bash(rm *)", "echo rm x", Allow},
		{"Bash(rm *)", "$X x", Ask}, // may be rm
		{"Bash(rm *)", "r$X x", Ask},
		{"Bash(rm *)", "if", Ask},
		{"Bash(git push *)", "git $X", Ask},
		{"Bash(git push *)", "git log $X", Allow},
		{"Bash(git push *)", "xargs git", Ask},
		{"Bash(git push *)", "./sudo git push", Deny},
		{"Bash(git push *)", "./bash -c 'ls; git push'", Deny},
		{"Bash(rm -rf *)", "rm -{r,f} x", Ask},
		{"Bash(rm -rf *)", `rm $'\x2drf' x`, Ask},
		{"Bash(rm -rf *)", "rm x", Allow},
		{"Bash(curl*)", "curl http://x", Deny},
		{"Bash", "ls", Deny},
		{"Bash(*)", "ls", Deny},
		{"*", "ls", Deny},
		{"B*", "ls", Deny},
		{"Ba*x", "ls", Allow},
		{"Bash(run_in_background:true)", "ls", Allow},
		{"Bash(timeout:*)", "ls", Allow},
		{"Bash(command:ls)", "ls", Allow}, // no effect, and a warning
		{"Read(.env)", "cat .env", Deny},
		{"Read(.env)", "cat src/.env", Deny},
		{"Read(.env)", "head -n1 < .env", Deny},
		{"Read(.env)", "grep -f.env x", Deny},
		{"Read(.env)", "grep --file=.env x", Deny},
		{"Read(.env)", "grep .env x", Allow},
		{"Read(.env)", "grep -e x .env", Deny},
		{"Read(.env)", "sudo cat .env", Deny},
		{"Read(.env)", "cd src && cat .env", Deny},
		{"Read(.env)", "cat $X", Ask},
		{"Read(.env)", "cat go.mod", Allow},
		{"Read(.env)", "echo .env", Allow},
		{"Read(.env)", "cp .env x", Deny},
		{"Edit(go.mod)", "echo x > go.mod", Deny},
		{"Edit(go.mod)", "echo x >> ./src/../go.mod", Deny},
		{"Edit(go.mod)", "sed -i s/a/b/ go.mod", Deny},
		{"Edit(go.mod)", "rm go.mod", Deny},
		{"Edit(go.mod)", "cat go.mod", Allow},
		{"Edit(go.mod)", "cat $X", Allow},
		{"Edit(/src/**)", "touch src/x", Deny},
	} {
		g := p.gate(t, Default, lists{allow: []string{"Bash"}, deny: []string{test.rule}}, nil)
		if v := p.bash(t, g, test.command); v.Behavior != test.want {
			t.Errorf("with deny %q: Judge(%q) = %s (%s), want %s", test.rule, test.command, v.Behavior, v.Reason, test.want)
		}
		// No mode lifts a deny rule, or lets through what may hide from one.
		if test.want == Deny || test.want == Ask {
			g = p.gate(t, Bypass, lists{deny: []string{test.rule}}, nil)
			if v := p.bash(t, g, test.command); v.Behavior == Allow {
				t.Errorf("bypassing, with deny %q: Judge(%q) = %s", test.rule, test.command, v.Behavior)
			}
		}
	}
}

// A pattern of file names is held against a rule for what it matches.
func TestPatternsOfFilesMeetDenyRules(t *testing.T) {
	p := newPlace(t)
	p.write(t, p.root+"/.env")
	p.write(t, p.root+"/a.go")
	g := p.gate(t, Default, lists{deny: []string{"Read(.env)"}}, nil)
	for command, want := range map[string]Behavior{"cat .e*": Deny, "cat .[e]nv": Deny, "cat *.go": Allow, "cat *": Allow, "cat .*": Deny, "shopt -s dotglob; cat *": Deny, "cat */*": Ask, "cat src/*": Allow, "cat /nowhere/*": Allow, "cat .{env,x}": Ask} {
		if v := p.bash(t, g, command); v.Behavior != want {
			t.Errorf("Judge(%q) = %s (%s), want %s", command, v.Behavior, v.Reason, want)
		}
	}
}

func TestAskRulesHoldInEveryMode(t *testing.T) {
	p := newPlace(t)
	for _, m := range []Mode{Default, AcceptEdits, Bypass} {
		g := p.gate(t, m, lists{allow: []string{"Bash"}, ask: []string{"Bash(git push *)"}}, nil)
		for command, want := range map[string]Behavior{"git push": Ask, "ls && git push x": Ask, "git pull": Allow} {
			if v := p.bash(t, g, command); v.Behavior != want {
				t.Errorf("in mode %s: Judge(%q) = %s, want %s", m, command, v.Behavior, want)
			}
		}
	}
}

func TestAcceptEditsLetsFileCommandsThrough(t *testing.T) {
	p := newPlace(t)
	p.link(t, p.outside, p.root+"/link")
	g := p.gate(t, AcceptEdits, lists{}, nil)
	for command, want := range map[string]Behavior{
		"mkdir -p a/b": Allow, "touch x y": Allow, "rm -f x": Allow, "rmdir a": Allow, "mv a b": Allow, "cp -r a b": Allow, "rm -- -x": Allow,
		"sed -i s/a/b/ x": Allow, "sed -i.bak -e s/a/b/ x": Allow, "echo x > out": Allow, "cd src && touch x": Allow, "timeout 5 touch x": Allow,
		"touch " + p.root + "/x":    Allow,
		"touch " + p.outside + "/x": Ask, "cp a ../x": Ask, "touch link/x": Ask, "echo x > link/y": Ask, "touch $X": Ask, "rm *.o": Ask,
		"cp -t /etc x": Ask, "cp --target-directory=/etc x": Ask, "touch .git/config": Ask, "rm -rf .git": Ask, "mv x .bashrc": Ask, "touch .heddle/x": Ask,
		"sed -i 's/a/b/e' x": Ask, "cd .. && touch x": Ask, "cd $X && touch x": Ask, "FOO=1 touch x": Ask, "echo x > .git/hooks/pre-commit": Ask, "make": Ask,
		"chmod +x a": Ask, "xargs touch": Ask, "sudo touch x": Ask, "for i in 1 2; do cd ..; touch x; done": Ask,
	} {
		if v := p.bash(t, g, command); v.Behavior != want {
			t.Errorf("Judge(%q) = %s (%s), want %s", command, v.Behavior, v.Reason, want)
		}
	}
}

// rm on a critical path is asked whatever the mode and the rules say.
func TestCriticalPathsAreNeverRemovedUnasked(t *testing.T) {
	p := newPlace(t)
	for command, want := range map[string]Behavior{
		"rm -rf /": Ask, "rm -rf /*": Ask, "rm -rf /etc": Ask, "rm -rf ~": Ask, "rm -rf ~/": Ask, "rm -rf ~/*": Ask, "rm -rf $HOME": Ask, `rm -rf "$HOME"/`: Ask,
		"rm -rf .": Ask, "rm -rf ..": Ask, "rm -rf ../..": Ask, "rm -rf ./*": Ask, "rm -rf *": Ask, `rm -rf "$DIR"/*`: Ask, "rm -rf $DIR/": Ask, "rm -rf ${DIR}/*": Ask,
		"echo $(rm -rf /)": Ask, "sudo rm -rf /": Ask, "bash -c 'rm -rf ~'": Ask, "find . -exec rm -rf / +": Ask, "rmdir /usr": Ask, "rm -rf " + p.home: Ask, "cd src && rm -rf ..": Ask, "/bin/rm -r /": Ask,
		"rm -rf build": Allow, "rm -rf $DIR/build": Allow, "rm -rf ${DIR:?}/*": Allow, "rm -rf /tmp/x": Allow, "rm -rf src/*": Allow, "ls /": Allow, "rm *.o": Allow, "rm -rf ~/x": Allow,
	} {
		g := p.gate(t, Bypass, lists{allow: []string{"Bash", "Bash(" + command + ")"}}, nil)
		if v := p.bash(t, g, command); v.Behavior != want {
			t.Errorf("Judge(%q) = %s (%s), want %s", command, v.Behavior, v.Reason, want)
		}
	}
}

// "Do not ask again" saves a rule for each part that needed consent, and only these.
func TestSuggestionsForCommands(t *testing.T) {
	p := newPlace(t)
	g := p.gate(t, Default, lists{allow: []string{"Bash(make *)"}}, nil)
	for command, want := range map[string]string{
		"git commit -m x && make all && foo a | cat": "Bash(git commit *) Bash(foo a)",
		"npm run lint":          "Bash(npm run lint *)",
		"timeout 5 foo 'a b'":   "Bash(foo 'a b')",
		"foo '*'":               `Bash(foo '\*')`,
		"sudo foo":              "Bash(sudo foo)",
		"a; b; c; d; e; f; g":   "Bash(a) Bash(b) Bash(c) Bash(d) Bash(e)",
		"$X":                    "",
		"FOO=1 bar":             "Bash(FOO=1 bar)",
		"foo 'a\nb'":            `Bash(foo $'a\nb')`,
		"LC_ALL=C docker ps -a": "Bash(docker ps *)",
	} {
		v := p.bash(t, g, command)
		var got []string
		for _, u := range v.Suggestions {
			for _, r := range u.Rules {
				got = append(got, r.String())
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("suggestions for %q = %q, want %q", command, s, want)
			continue
		}
		if want == "" || strings.Count(command, ";") > maxSuggested {
			continue
		}
		if err := g.Apply(v.Suggestions); err != nil {
			t.Fatal(err)
		}
		if v := p.bash(t, g, command); v.Behavior != Allow {
			t.Errorf("after its suggestions were taken, Judge(%q) = %s (%s)", command, v.Behavior, v.Reason)
		}
	}
}

// Commands made to be slow to judge are given up, and asked.
func TestJudgingIsBounded(t *testing.T) {
	p := newPlace(t)
	g := p.gate(t, Default, lists{allow: []string{"Bash"}, deny: []string{"Bash(zz *)", "Read(.env)"}}, nil)
	nested := "make"
	for range 12 {
		nested = "bash -c " + quoteWord("nice nice nice "+nested)
	}
	for name, command := range map[string]string{
		"wrappers":     strings.Repeat("sudo ", 1900),
		"nested":       nested,
		"many scripts": "sudo " + strings.Repeat("nice ", 50) + "sh -c 'sudo " + strings.Repeat("nice ", 50) + "sh -c \"sudo " + strings.Repeat("nice ", 50) + "sh -c ls\"'",
		"everything":   "cat /*/*/*/*/*",
		"many cds":     strings.Repeat("cd a; ", 1600) + "cat x",
		"deep":         "cat " + strings.Repeat("(", 3000) + strings.Repeat(")", 3000),
	} {
		if v := p.bash(t, g, command); v.Behavior != Ask {
			t.Errorf("%s: %s (%s), want ask", name, v.Behavior, v.Reason)
		}
	}
}
