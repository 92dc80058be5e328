package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	// The race detector makes every process wait for a second at its end, in case another
	// thread has something to report. Here processes are many and their threads are done.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	testscript.Main(m, map[string]func(){"heddle": main})
}

// TestScripts runs the scenarios in testdata/script against the real main. Each has a
// project and a state directory of its own, and no key.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HEDDLE_HOME", filepath.Join(env.WorkDir, ".state"))
			env.Setenv("HEDDLE_SANDBOX", "1")
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GOCACHE", os.Getenv("GOCACHE"))
			env.Setenv("GORACE", os.Getenv("GORACE"))
			for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL"} {
				env.Setenv(name, "")
			}
			return nil
		},
	})
}
