package process

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		helper()
		return
	}
	goleak.VerifyTestMain(adopted{m})
}

// adopted runs the tests in a program that adopts orphans.
type adopted struct{ m *testing.M }

func (a adopted) Run() int {
	release, err := Adopt()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer release()
	return a.m.Run()
}

// A way of keeping a tree together; each has to pass the same tests.
type way struct {
	name  string
	group func() *group
}

// ways returns the ways that this machine has.
func ways() []way {
	ws := []way{{"walk", func() *group { return nil }}}
	if g := newGroup(); g != nil {
		g.remove()
		ws = append(ws, way{"group", newGroup})
	}
	return ws
}

// A running command of a test.
type running struct {
	*Process
	mark  string
	token string        // part of the command line of each member that stays
	lines *bufio.Reader // its output
}

// run starts a shell script. FOREVER in it becomes a number of seconds, long and unique,
// for sleep, and CONTROL the path of its control group. The output of the script has to begin with the line "ready".
func run(t testing.TB, w way, script string) running {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(1e15))
	if err != nil {
		t.Fatal(err)
	}
	token := fmt.Sprintf("300.%015d", n)
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	mark := rand.Text()
	g := w.group()
	script = strings.NewReplacer("FOREVER", token, "CONTROL", g.path()).Replace(script)
	p, err := start(Spec{
		Path: "/bin/bash", Args: []string{"bash", "-c", script},
		Stdout: out, Stderr: out, Mark: mark, Dir: t.TempDir(),
	}, g)
	out.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		if _, err := p.End(context.Background(), 0); err != nil {
			t.Error(err)
		}
		<-p.Done()
	})
	c := running{Process: p, mark: mark, token: token, lines: bufio.NewReader(r)}
	if line, err := c.lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("first line of the script = %q, %v", line, err)
	}
	return c
}

// alive returns the processes of the command that run, without any help from the
// package that is tested.
func (c running) alive(t testing.TB) []string {
	t.Helper()
	list, err := exec.Command("ps", "-A", "-o", "pid=,stat=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if strings.Contains(line, c.token) && len(fields) > 1 && !strings.HasPrefix(fields[1], "Z") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// eventually waits for ok, which has no event to wait for.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("after 10 s: not yet %s", what)
		}
	}
}
