package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A folder that looks like a bare repository can be part of any project, and its
// configuration may name a program. Git must not take it for a repository by itself.
func TestGitIgnoresRepositoriesHiddenInAProject(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "evil")
	if out, err := exec.Command("git", "init", "-q", "--bare", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mark := filepath.Join(t.TempDir(), "PWN")
	config := "[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = \"touch " + mark + ";false\"\n"
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	base := append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=someone")
	status := exec.Command("git", "status")
	status.Dir, status.Env = dir, Environment(base, nil, nil)
	out, err := status.CombinedOutput()
	if _, ran := os.Stat(mark); ran == nil {
		t.Errorf("git ran the program that the folder names: %v\n%s", err, out)
	}
	name := exec.Command("git", "config", "user.name")
	name.Dir, name.Env = t.TempDir(), Environment(base, nil, nil)
	if out, err := name.Output(); strings.TrimSpace(string(out)) != "someone" {
		t.Errorf("git config user.name = %q, %v; the user's own settings must stay", out, err)
	}
}
