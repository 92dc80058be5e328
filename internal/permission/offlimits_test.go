package permission

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/tool"
)

// apart is the scope of an agent with a checkout of its own below the project.
func (p place) apart(t testing.TB) *tool.Scope {
	t.Helper()
	own := p.root + "/.heddle/worktrees/agent-a1"
	if err := os.MkdirAll(own+"/src", 0o755); err != nil {
		t.Fatal(err)
	}
	s := tool.NewScope(own, p.spill)
	s.OffLimits = []string{p.root, own + "/.git"}
	return s
}

// everything are the modes and rules that let everything else pass.
func (p place) everything(t testing.TB) []*Gate {
	t.Helper()
	return []*Gate{
		p.gate(t, Bypass, lists{}, nil),
		p.gate(t, AcceptEdits, lists{allow: []string{"Bash", "Edit", "Edit(//**)"}}, nil),
	}
}

func TestFilesOffLimits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.apart(t)
	p.link(t, p.root, s.Root+"/up")
	p.link(t, p.outside, p.root+"/out")
	p.link(t, p.root, p.outside+"/alias")
	p.link(t, "/nowhere", p.root+"/dangling")
	for path, barred := range map[string]bool{
		"ROOT/x":                               true,
		"ROOT":                                 true,
		"ROOT/.git/hooks/pre-commit":           true,
		"ROOT/.heddle/worktrees/agent-b2/x":    true, // that of another agent
		"ROOT/.heddle/worktrees/agent-a12/x":   true,
		"ROOT/.heddle/worktrees/agent-a1/../x": true,
		"../../../x":                           true,
		"src/../../../../x":                    true,
		"up/x":                                 true, // a link that leads there
		"OUT/alias/x":                          true,
		"OUT/alias/out":                        true, // is itself there, whatever it links to
		"ROOT/out/x":                           true,
		"ROOT/dangling":                        true,
		".git":                                 true, // leads git elsewhere
		"ROOT/.heddle/worktrees/agent-a1/x":    false,
		"ROOT/.heddle/worktrees/agent-a1/src/new": false,
		"x":                                      false,
		"OUT/x":                                  false,
		"OUT/alias/.heddle/worktrees/agent-a1/x": false, // its own, by another name
	} {
		for _, name := range []string{"Edit", "Write", "NotebookEdit"} {
			for _, g := range p.everything(t) {
				tl := fileTool(name, tool.Write)
				v := g.Judge(tl, call(t, tl, s, "file_path", p.expand(path)))
				if v.final != barred {
					t.Errorf("%s: Judge(%s %s) = %s (%s), want it barred: %v", g.Mode(), name, path, v.Behavior, v.Reason, barred)
				}
				if barred && (v.Behavior != Deny || !strings.Contains(v.Reason, "work in your own checkout, "+s.Root)) {
					t.Errorf("%s %s: %s (%s), want a refusal that says where to work", name, path, v.Behavior, v.Reason)
				}
			}
		}
	}
	tl := fileTool("Read", tool.Read)
	if v := p.gate(t, Default, lists{}, nil).Judge(tl, call(t, tl, s, "file_path", s.Root+"/x")); v.Behavior != Allow {
		t.Errorf("reading its own: %s", v.Reason)
	}
	if v := p.gate(t, Bypass, lists{}, nil).Judge(tl, call(t, tl, s, "file_path", p.root+"/x")); v.Behavior != Allow {
		t.Errorf("reading there: %s", v.Reason)
	}
}

func TestCommandsOffLimits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.apart(t)
	p.link(t, p.root, s.Root+"/up")
	p.write(t, p.root+"/file")
	barred := []string{
		// what the shell writes
		"echo x > ROOT/file", "echo x >> 'ROOT/file'", `echo x >"ROOT"/file`, "echo x > ../../../file", "echo x >| ROOT/./src/../file",
		"echo x > up/file", "> ROOT/file", "{ ls; } > ROOT/file", "cat <<EOF > ROOT/file\nx\nEOF", "echo x > ROOT/$NAME", "echo x &> ROOT/a", "for x in 1; do echo; done >ROOT/a",
		// what commands are told to write
		"touch ROOT/new", "rm ROOT/file", "rm -rf -- ROOT/src", "rm ROOT/*", "mkdir -p ROOT/a/b", "rmdir ROOT/src", "tee ROOT/file < x", "ls | tee -a ROOT/file",
		"cp x ROOT/file", "cp x ROOT", "cp x up/", "cp -t ROOT x", "cp -rt ROOT x", "cp --target-directory=ROOT x", "cp --target-directory ROOT x", "cp -tROOT x", "mv -ftROOT x", "cp -l ROOT/file mine", "cp -as ROOT/file mine",
		"mv x ROOT/file", "mv ROOT/file x", "mv -t ROOT x", "ln -s /x ROOT/l", "ln ROOT/file mine", "ln -s ROOT mine", "ln -s ../../.. mine", "install -m 755 x ROOT/bin", "install -d ROOT/a",
		"sed -i s/a/b/ ROOT/file", "sed -i.bak -e s/a/b/ ROOT/file", "sed -ni 1p ROOT/file", "sed --in-place=.x s/a/b/ ROOT/file", "perl -pi -e 's/a/b/' ROOT/file",
		"dd if=x of=ROOT/file", "truncate -s 0 ROOT/file", "chmod 600 ROOT/file", "shred ROOT/file", "unlink ROOT/file", "rsync -a --delete ./ ROOT/", "tar -C ROOT -xf x.tar", "tar xf x --directory=ROOT",
		"unzip x.zip -d ROOT", "patch -d ROOT < x", "wget -O ROOT/file http://x", "curl -o ROOT/file http://x", "curl --output=ROOT/file http://x", "sort -o ROOT/file x", "gcc -o ROOT/a x.c",
		"find ROOT -name x -delete", "find ROOT -exec rm {} +", "find ROOT -exec sed -i s/a/b/ {} ;", "find x -exec cp {} ROOT ;", "find x | xargs -I{} mv {} ROOT/",
		// in other words
		"timeout 5 touch ROOT/x", "env A=1 touch ROOT/x", "sudo touch ROOT/x", "A=1 touch ROOT/x", "bash -c 'touch ROOT/x'", "eval 'touch ROOT/x'", "echo $(touch ROOT/x)", "xargs rm ROOT/file",
		"true && touch ROOT/x", "(touch ROOT/x)", "f() { touch ROOT/x; }; f", "trap 'touch ROOT/x' EXIT", "/bin/touch ROOT/x", "\\touch ROOT/x", "'touch' ROOT/x", "ls; if true; then touch ROOT/x; fi &",
		// where only reading is free
		"cd ROOT && make", "cd ROOT; touch x", "cd ../../.. && touch x", "cd up && rm file", "cd ROOT && ./gen", "cd ROOT && npm test", "pushd ROOT && touch x", "cd ROOT && cd src && touch x",
		"cd ROOT/src && $X", "make -C ROOT", "go -C ROOT build", "npm --prefix ROOT i", "env -C ROOT make", "cd ROOT && xargs rm", "cd ROOT && python3 -c 1", "bash -c 'cd ROOT && make'",
		"if ROOT", "touch ROOT/x\r", "touch ROOT/x; " + strings.Repeat("ls;", 4000), // cannot be taken apart
		// git
		"cd ROOT && git commit -am x", "git -C ROOT checkout -b x", "git -C ROOT/src reset --hard", "git -C ../.. -C .. commit -am x", "git --git-dir=ROOT/.git commit -m x", "git --git-dir ROOT/.git --work-tree ROOT add .",
		"git --work-tree=ROOT checkout -- .", "GIT_DIR=ROOT/.git git commit -m x", "GIT_WORK_TREE=ROOT git checkout .", "export GIT_DIR=ROOT/.git; git commit -m x", "env GIT_DIR=ROOT/.git git commit", "GIT_INDEX_FILE=ROOT/.git/index git add .",
		"bash -c 'GIT_DIR=ROOT/.git git commit'", "timeout 9 git -C ROOT commit", "git -C ROOT config user.name x", "git -C ROOT -c a.b=c log", "git -C up stash", "git -C ROOT $X",
		"git worktree add ROOT/wt", "git worktree add ../agent-b2", "git clone . ROOT/clone", "git init ROOT/sub", "git push ROOT HEAD:x", "git push . HEAD:main",
		// what all checkouts share
		"git worktree remove ../agent-b2", "git worktree move a b", "git worktree prune", "git update-ref refs/heads/main HEAD", "git symbolic-ref HEAD refs/heads/main",
		"git branch -f main HEAD", "git branch -D main", "git branch -d main", "git branch -m main old", "git branch -m other", "git branch --delete main", `git branch -D "$B"`, "git branch -C agent-a1 main",
		"git checkout -B main", "git switch -C main", "git switch --force-create main", "git checkout --ignore-other-worktrees main", "git tag -d v1", "git tag -f v1", "git stash clear", "git stash drop",
		"git reflog expire --all", "git config user.name x", "git config --local core.hooksPath x", "git config set user.name x", "git config --unset user.name", "git remote add o /x", "git remote set-url origin /x",
	}
	for _, command := range barred {
		for _, g := range p.everything(t) {
			tl := bashTool()
			if v := g.Judge(tl, call(t, tl, s, "command", p.expand(command))); !v.final || v.Behavior != Deny {
				t.Errorf("%s: %q: %s (%s), want it barred", g.Mode(), command, v.Behavior, v.Reason)
			}
		}
	}
}

// What an agent does in its own checkout and elsewhere is judged as ever, and reading is free.
func TestCommandsThatStayOff(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.apart(t)
	p.write(t, p.root+"/file")
	for _, command := range []string{
		"echo x > file", "touch a; rm a", "cp ROOT/file .", "cp -r ROOT/src copy", "cat ROOT/file > mine", "install ROOT/file bin/x", "rsync -a ROOT/src/ src/", "dd if=ROOT/file of=mine",
		"cd OWN && touch x", "cd OWN && git commit -am x", "cd src && touch x", "git add -A && git commit -m x", "git -C OWN commit -am x", "git -C src add .", "git checkout -b agent-a1-more", "git branch new",
		"git reset --hard HEAD~1", "git stash && git stash pop", "git branch -D agent-a1-more", "git branch -f agent-a1-more HEAD~1", "git branch -m agent-a1-more agent-a1-less", "git tag v2", "git push origin HEAD", "git fetch origin", "git worktree list", "git remote -v", "git config user.name", "git config --get core.hooksPath",
		"git config --global user.name x", "git config -f mine.cfg a.b c", "git -c user.name=x commit -m y", "git symbolic-ref HEAD", "git submodule update --init", "git rebase main", "git merge main", "git mv a b", "git clean -fd",
		"git -C ROOT log --oneline", "git -C ROOT diff > mine.patch", "git -C ROOT show HEAD:file", "cd ROOT && git status", "cd ROOT && git log && ls && cat file", "cd ROOT && cp file OWN/", "timeout 5 git -C ROOT log", "GIT_DIR=ROOT/.git git log",
		"git clone ROOT OUT/copy", "git fetch ROOT main", "find ROOT -name x", "find ROOT -name x -exec grep y {} +", "grep -rn x ROOT", "grep -C 3 x ROOT/file", "diff -u ROOT/file file", "sed -n 1,5p ROOT/file", "sed s/a/b/ ROOT/file > file", "python3 OUT/x.py", "make", "make -C src", "awk 1 ROOT/file",
		"echo x > OUT/x", "touch /tmp/heddle-none/x", "cd OUT && make", "cat $X", "rm -rf build && mkdir build", "tar -C src -xf x.tar", "sed -i s/a/b/ src/x", "head ROOT/file | tee mine", "echo ROOT/file", "if", "touch OWN/x; " + strings.Repeat("ls;", 4000),
	} {
		command = strings.ReplaceAll(p.expand(command), "OWN", s.Root)
		tl := bashTool()
		if v := p.gate(t, Bypass, lists{}, nil).Judge(tl, call(t, tl, s, "command", command)); v.Behavior != Allow {
			t.Errorf("%q: %s (%s), want allow", command, v.Behavior, v.Reason)
		}
	}
}

// An agent that itself works apart sends others into checkouts of their own: neither tree
// is theirs to change.
func TestOffLimitsAddUp(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.apart(t)
	second := tool.NewScope(filepath.Dir(first.Root)+"/agent-b2", p.spill)
	second.OffLimits = append(first.Child("b2").OffLimits, first.Root)
	g := p.gate(t, Bypass, lists{}, nil)
	for path, barred := range map[string]bool{p.root + "/x": true, first.Root + "/x": true, second.Root + "/x": false} {
		tl := fileTool("Write", tool.Write)
		if v := g.Judge(tl, call(t, tl, second.Child("c3"), "file_path", path)); v.final != barred {
			t.Errorf("Judge(Write %s) = %s (%s), want it barred: %v", path, v.Behavior, v.Reason, barred)
		}
	}
}

// Whoever answers a question may change the call, but not into what is off limits.
func TestAnswersDoNotLiftOffLimits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.apart(t)
	changed, err := json.Marshal(map[string]string{"command": "touch " + p.root + "/x"})
	if err != nil {
		t.Fatal(err)
	}
	g := p.gate(t, Default, lists{}, people(func(context.Context, Question) (Answer, error) { return Answer{Allow: true, Input: changed}, nil }))
	if r := do(t, g, s, "make"); !r.Denied || !strings.Contains(textOf(r), "your own checkout") {
		t.Errorf("result %+v", r)
	}
	if g.MayConsent(bashTool(), call(t, bashTool(), s, "command", "touch "+p.root+"/x")) {
		t.Error("a hook may consent to what is off limits")
	}
}
