package process

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A command reads the environment of the program that started it, and finds no key there,
// while the program still has it.
func TestScrubHidesValuesFromCommands(t *testing.T) {
	if os.Getenv("SCRUB_CHILD") == "" {
		self := exec.Command("/proc/self/exe", "-test.run", "^TestScrubHidesValuesFromCommands$", "-test.v")
		self.Env = append(os.Environ(), "SCRUB_CHILD=1", "SCRUB_KEY=sekret-value", "SCRUB_OTHER=plain-value")
		if out, err := self.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := Scrub("SCRUB_KEY", "SCRUB_NOT_SET"); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("SCRUB_KEY") != "sekret-value" {
		t.Error("the program itself lost the value")
	}
	seen, err := exec.Command("sh", "-c", "cat /proc/$PPID/environ").Output()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(seen, []byte("sekret")) || !strings.Contains(string(seen), "SCRUB_OTHER=plain-value") {
		t.Errorf("a command sees %q", seen)
	}
}
