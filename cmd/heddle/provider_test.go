package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Settings name servers of one's own, for either wire. The key comes from the environment and
// reaches the server, which insists on one; it stands in no file, and no command sees it.
func TestProviderOfSettings(t *testing.T) {
	t.Parallel()
	heddle, err := exec.LookPath("heddle")
	if err != nil {
		t.Fatal(err)
	}
	dir, home := t.TempDir(), t.TempDir()
	const script = `
agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'env | grep -c [k]ey-for-work; cat /proc/*/cmdline 2>/dev/null | tr "\0" "\n" | grep -c [k]ey-for-work; true'}}]
      - {expect: '(?s)^0\n0', text: from the server}
`
	if err := os.WriteFile(filepath.Join(dir, "script.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(heddle, "fakeapi", "--script", "script.yaml", "--record", "requests.jsonl", "--for", "60s")
	server.Dir = dir
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Process.Signal(syscall.SIGTERM); server.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "export ANTHROPIC_BASE_URL=")
	if err != nil || !ok {
		t.Fatalf("the server began with %q, %v", line, err)
	}
	settings, err := json.Marshal(map[string]any{"providers": map[string]any{
		"work": map[string]any{"type": "anthropic", "baseUrl": url, "apiKeyEnv": "WORK_KEY"},
		"lab":  map[string]any{"type": "openai", "baseUrl": url + "/v1", "apiKeyEnv": "WORK_KEY"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "settings.json"), settings, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(model, key string) (string, int) {
		cmd := exec.Command(heddle, "-p", "go", "--model", model, "--dangerously-skip-permissions")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HEDDLE_HOME="+home, "HEDDLE_SANDBOX=1", "WORK_KEY="+key, "ANTHROPIC_API_KEY=", "OPENAI_API_KEY=")
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, model := range []string{"work/some-model", "lab/some-model"} {
		if out, code := run(model, "key-for-work"); code != 0 || out != "from the server\n" {
			t.Errorf("%s: exit code %d: %s", model, code, out)
		}
	}
	if out, code := run("nowhere/some-model", "key-for-work"); code != 2 || !strings.Contains(out, `"nowhere"`) {
		t.Errorf("an unknown provider: exit code %d: %s", code, out)
	}
	if found, _ := exec.Command("grep", "-rl", "key-for-work", dir, home).Output(); len(found) > 0 {
		t.Errorf("the key stands in %s", found)
	}
}
