package main

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"heddle/internal/model/fakeapi"
	"heddle/internal/model/scripted"
)

func TestMain(m *testing.M) {
	// The race detector makes every process wait for a second at its end, in case another
	// thread has something to report. Here processes are many and their threads are done.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	testscript.Main(m, map[string]func(){"heddle": main, "testserver": testServer})
}

// TestScripts runs the scenarios in testdata/script against the real main. Each has a
// project and a state directory of its own, and no key.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"serve": serve,
		},
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

// exits is exec for a command that ends with a certain code: exits 2 heddle --nonsense.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGUMENT...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// serve plays a script over HTTP for the rest of the scenario, and sets the variable URL.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve SCRIPT")
	}
	script, err := scripted.LoadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	srv := httptest.NewServer(fakeapi.NewServer(script, nil))
	ts.Defer(srv.Close)
	ts.Setenv("URL", srv.URL)
}
