package search

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkGrep searches the source of Go with both engines: compare the two.
func BenchmarkGrep(b *testing.B) {
	rg, _ := exec.LookPath("rg")
	root := filepath.Join(goroot(b), "src")
	for _, pattern := range []string{"O_NOFOLLOW", `func \w+Handler`, `[a-z]+_[0-9]+x`} {
		for name, program := range map[string]string{"ripgrep": rg, "own": ""} {
			if name == "ripgrep" && rg == "" {
				continue
			}
			b.Run(pattern+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if _, err := Grep(b.Context(), Query{Pattern: pattern, Root: root, Mode: Lines, Limit: 250}, program); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func goroot(b *testing.B) string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip("the go command is not installed")
	}
	return strings.TrimSpace(string(out))
}
