package briefing

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// summary shows memory files as lines "scope path: text", paths relative to dir.
func summary(dir string, files []File) []string {
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("%s %s: %s", f.Scope, strings.TrimPrefix(f.Path, dir+"/"), strings.TrimSpace(f.Text)))
	}
	return out
}

// check compares what is read in a project with what is wanted; a note must hold each of notes.
func check(t *testing.T, o Options, want []string, notes ...string) {
	t.Helper()
	b := read(t, o)
	if d := cmp.Diff(want, summary(o.Dir, b.Memory)); d != "" {
		t.Errorf("memory (-want +got):\n%s", d)
	}
	if len(b.Notes) != len(notes) {
		t.Errorf("Notes = %q, want %d", b.Notes, len(notes))
		return
	}
	for i, n := range notes {
		if !strings.Contains(b.Notes[i], n) {
			t.Errorf("Notes[%d] = %q, want %q in it", i, b.Notes[i], n)
		}
	}
}

func TestMemoryComesFromTheGeneralToTheParticular(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"etc/AGENTS.md":                        "machine",
		"home/.heddle/AGENTS.md":               "mine",
		"home/.heddle/CLAUDE.md":               "not read beside AGENTS.md",
		"home/.claude/CLAUDE.md":               "mine too",
		"home/proj/CLAUDE.md":                  "all my work",
		"home/proj/repo/.git/HEAD":             "ref: refs/heads/main\n",
		"home/proj/repo/AGENTS.md":             "repo",
		"home/proj/repo/CLAUDE.md":             "repo, for Claude",
		"home/proj/repo/CLAUDE.local.md":       "repo, local",
		"home/proj/repo/pkg/.claude/CLAUDE.md": "package",
		"home/proj/repo/pkg/AGENTS.local.md":   "package, local",
		"home/proj/repo/pkg/below/AGENTS.md":   "not above the working directory",
	})
	o := options(filepath.Join(dir, "home/proj/repo/pkg"))
	o.NoGit = true
	o.Managed = []string{filepath.Join(dir, "etc")}
	o.UserHome, o.Home = filepath.Join(dir, "home"), filepath.Join(dir, "home/.heddle")
	b := read(t, o)
	want := []string{
		"managed etc/AGENTS.md: machine",
		"user home/.heddle/AGENTS.md: mine",
		"user home/.claude/CLAUDE.md: mine too",
		"project home/proj/CLAUDE.md: all my work",
		"project home/proj/repo/AGENTS.md: repo",
		"project home/proj/repo/CLAUDE.md: repo, for Claude",
		"local home/proj/repo/CLAUDE.local.md: repo, local",
		"project home/proj/repo/pkg/.claude/CLAUDE.md: package",
		"local home/proj/repo/pkg/AGENTS.local.md: package, local",
	}
	if d := cmp.Diff(want, summary(dir, b.Memory)); d != "" {
		t.Errorf("memory (-want +got):\n%s", d)
	}
	if len(b.Notes) > 0 {
		t.Errorf("Notes = %q", b.Notes)
	}

	o.NoMemory = true
	check(t, o, nil)
}

func TestWhatTwoFilesShareStandsOnce(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(dir string){
		"import":    func(dir string) { write(t, dir, map[string]string{"CLAUDE.md": "@AGENTS.md\n"}) },
		"link":      func(dir string) { link(t, "AGENTS.md", filepath.Join(dir, "CLAUDE.md")) },
		"copy":      func(dir string) { write(t, dir, map[string]string{"CLAUDE.md": "rules\r\n"}) },
		"link back": func(dir string) { link(t, filepath.Join(dir, "AGENTS.md"), filepath.Join(dir, "CLAUDE.local.md")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"AGENTS.md": "rules\n"})
			prepare(dir)
			b := read(t, options(dir))
			if n := strings.Count(b.String(), "rules\n"); n != 1 || len(b.Notes) > 0 {
				t.Errorf("it stands there %d times, notes %q:\n%s", n, b.Notes, b)
			}
		})
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"AGENTS.md":      "See @docs/a.md, @docs/a.md and (@docs/b.txt).\nNot `@docs/c.md`, not me@docs/c.md, not @someone.\n",
		"docs/a.md":      "a, see @deep/d.md and @../AGENTS.md",
		"docs/b.txt":     "b",
		"docs/c.md":      "c",
		"docs/deep/d.md": "d @missing.md @../deep @x.md/",
	})
	check(t, options(dir), []string{
		"project AGENTS.md: See @docs/a.md, @docs/a.md and (@docs/b.txt).\nNot `@docs/c.md`, not me@docs/c.md, not @someone.",
		"project docs/a.md: a, see @deep/d.md and @../AGENTS.md",
		"project docs/deep/d.md: d @missing.md @../deep @x.md/",
		"project docs/b.txt: b",
	}, "docs/deep/d.md imports @missing.md, which cannot be read: no such file")
	b := read(t, options(dir))
	if want := filepath.Join(dir, "docs/a.md"); b.Memory[2].From != want {
		t.Errorf("From = %q, want %q", b.Memory[2].From, want)
	}
}

func TestImportsEndAfterFourHops(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"AGENTS.md": "0 @1.md", "1.md": "1 @2.md", "2.md": "2 @3.md", "3.md": "3 @4.md", "4.md": "4 @5.md @AGENTS.md", "5.md": "5",
	})
	check(t, options(dir), []string{
		"project AGENTS.md: 0 @1.md", "project 1.md: 1 @2.md", "project 2.md: 2 @3.md",
		"project 3.md: 3 @4.md", "project 4.md: 4 @5.md @AGENTS.md",
	}, "4.md imports @5.md, which was not read: more than 4 imports", "4.md imports @AGENTS.md, which was not read: more than 4")
}

// A project could name anybody's secrets: by an import, by a link, by a link that it imports.
func TestProjectCannotReachOutWithoutLeave(t *testing.T) {
	t.Parallel()
	out := folder(t, map[string]string{"secret.md": "secret", "home/mine.md": "mine"})
	dir := folder(t, map[string]string{
		".git/HEAD":           "ref: refs/heads/main\n",
		"sub/AGENTS.md":       "@../inside.md @" + out + "/secret.md @~/mine.md @../link.md",
		"sub/AGENTS.local.md": "@" + out + "/secret.md",
		"inside.md":           "in the repository",
	})
	link(t, filepath.Join(out, "secret.md"), filepath.Join(dir, "link.md"))
	link(t, filepath.Join(out, "secret.md"), filepath.Join(dir, "sub", "CLAUDE.md"))
	o := options(filepath.Join(dir, "sub"))
	o.NoGit, o.UserHome = true, filepath.Join(out, "home")
	b := read(t, o)
	if len(b.Memory) != 3 || strings.Contains(b.String(), "\nsecret\n") || strings.Contains(b.String(), "\nmine\n") {
		t.Errorf("the secret is told:\n%s", b)
	}
	if len(b.Notes) != 2 || !strings.Contains(b.Notes[0], "outside of "+dir) {
		t.Errorf("Notes = %q", b.Notes)
	}

	var asked []string
	o.AllowImport = func(path string) bool {
		asked = append(asked, strings.TrimPrefix(path, out))
		return strings.HasSuffix(path, "secret.md")
	}
	if b = read(t, o); !strings.Contains(b.String(), "\nsecret\n") || strings.Contains(b.String(), "\nmine\n") {
		t.Errorf("with leave for the secret:\n%s", b)
	}
	if d := cmp.Diff([]string{"/secret.md", "/home/mine.md"}, asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
}

func TestUsersOwnFilesImportFromAnywhere(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"home/.claude/CLAUDE.md": "@~/notes.md @../../shared/all\\ of\\ us.md",
		"home/notes.md":          "notes", "shared/all of us.md": "us", "project/x": "",
	})
	o := options(filepath.Join(dir, "project"))
	o.UserHome = filepath.Join(dir, "home")
	if got := summary(dir, read(t, o).Memory); len(got) != 3 || got[1] != "user home/notes.md: notes" || got[2] != "user shared/all of us.md: us" {
		t.Errorf("memory = %q", got)
	}
}

// In a folder that everybody may write to, such as /tmp, somebody else's file is not taken.
func TestForeignFilesAboveTheProjectAreLeft(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	dir := folder(t, map[string]string{"AGENTS.md": "@import.md foreign", "CLAUDE.md": "ours @import.md", "import.md": "foreign too", "project/AGENTS.md": "project"})
	for path, uid := range map[string]int{"AGENTS.md": 12345, "import.md": 12345, "project/AGENTS.md": 12345} {
		if err := os.Chown(filepath.Join(dir, path), uid, -1); err != nil {
			t.Fatal(err)
		}
	}
	o := options(filepath.Join(dir, "project"))
	b := read(t, o)
	want := []string{"project CLAUDE.md: ours @import.md", "project project/AGENTS.md: project"}
	if d := cmp.Diff(want, summary(dir, b.Memory)); d != "" {
		t.Errorf("memory (-want +got):\n%s", d)
	}
	if len(b.Notes) != 2 || !strings.Contains(b.Notes[0], "belongs to someone else") {
		t.Errorf("Notes = %q", b.Notes)
	}
}

func TestWhatIsNoTextIsNotedAndNeverWaitedFor(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"CLAUDE.md/x":       "a folder",
		"CLAUDE.local.md":   "\x7fELF\x00\x01",
		"d/AGENTS.local.md": strings.Repeat("x", maxFile+1),
		"d/CLAUDE.local.md": "@../pipe @../pipe.md end",
	})
	for _, name := range []string{"AGENTS.md", "pipe", "pipe.md"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link(t, "AGENTS.local.md", filepath.Join(dir, "AGENTS.local.md"))
	link(t, "nowhere", filepath.Join(dir, "d", "CLAUDE.md"))
	o := options(filepath.Join(dir, "d"))
	check(t, o, []string{"local CLAUDE.local.md: @../pipe @../pipe.md end"},
		"AGENTS.md was not read: it is not a regular file",
		"CLAUDE.md was not read: it is not a regular file",
		"AGENTS.local.md was not read: ",
		"CLAUDE.local.md was not read: it is not a text",
		"d/CLAUDE.md was not read: ",
		"AGENTS.local.md was not read: it is larger than 4096 KiB",
		"imports @../pipe.md, which is not a regular file",
	)
}

func TestUnreadableFileIsNoted(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := folder(t, map[string]string{"AGENTS.md": "x"})
	if err := os.Chmod(filepath.Join(dir, "AGENTS.md"), 0); err != nil {
		t.Fatal(err)
	}
	check(t, options(dir), nil, "AGENTS.md was not read: permission denied")
}

func TestRulesForEverythingAreRead(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{
		"AGENTS.md":                          "root",
		"no-home/.claude/rules/mine.md":      "mine",
		".claude/rules/b.md":                 "b",
		".claude/rules/a/deep.md":            "---\ndescription: x\n---\ndeep @x.md",
		".claude/rules/a/x.md":               "x",
		".claude/rules/go.md":                "---\npaths: \"**/*.go\"\n---\nonly for Go",
		".claude/rules/list.md":              "---\npaths:\n  - a\n---\nonly for a",
		".claude/rules/notes.txt":            "no rule",
		".claude/rules/name.md/is-a-dir.txt": "",
	})
	check(t, options(dir), []string{
		"user no-home/.claude/rules/mine.md: mine",
		"project AGENTS.md: root",
		"project .claude/rules/a/deep.md: ---\ndescription: x\n---\ndeep @x.md",
		"project .claude/rules/a/x.md: x",
		"project .claude/rules/b.md: b",
	})
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"BOM":                "\xef\xbb\xbfé\n1\n",
		"CRLF":               "é\r\n1\r\n",
		"UTF-16, Windows":    "\xff\xfe\xe9\x00\r\x00\n\x001\x00\r\x00\n\x00",
		"UTF-16, big endian": "\xfe\xff\x00\xe9\x00\n\x001\x00\n",
	} {
		if got, err := decode([]byte(text)); got != "é\n1\n" || err != nil {
			t.Errorf("%s: decode(%q) = %q, %v", name, text, got, err)
		}
	}
	if got, err := decode([]byte("a\xff\xfeb")); got != "a\uFFFDb" || err != nil {
		t.Errorf("decode of broken UTF-8 = %q, %v", got, err)
	}
}

func TestHugeMemoryIsBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{"AGENTS.md": "@1 @2 @3 @4 @5 @6\n" + strings.Repeat("@nothing ", 3*maxLookups)}
	for i := 1; i <= 6; i++ {
		files[fmt.Sprint(i)] = fmt.Sprint(i) + strings.Repeat("x", 3<<20)
	}
	b := read(t, options(folder(t, files)))
	total := 0
	for _, f := range b.Memory {
		total += len(f.Text)
	}
	if total > maxTotal {
		t.Errorf("%d bytes of memory", total)
	}
	if len(b.Notes) != 2 || !strings.Contains(b.Notes[0], "16 MiB") || !strings.Contains(b.Notes[1], "more than 2000 files") {
		t.Errorf("Notes = %q", b.Notes)
	}
}
