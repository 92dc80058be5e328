package process

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// seedVariable repeats a run of the random trees that failed.
const seedVariable = "HEDDLE_TREE_SEED"

// However the ways to get away are combined, nobody is alive at the moment at which End
// says so.
func TestEndOfRandomTrees(t *testing.T) {
	const trees = 20 // of each way
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", seedVariable, seed)
	for _, program := range []string{"setsid", "nohup"} {
		needs(t, program, program)
	}
	for _, w := range ways() {
		for i := range trees {
			t.Run(fmt.Sprintf("%s/%d", w.name, i), func(t *testing.T) {
				t.Parallel()
				draw := rand.New(rand.NewPCG(seed, uint64(i)))
				g := gardener{draw: draw, all: w.name == "group"}
				script := g.tree()
				c := run(t, w, script)
				t.Logf("%d processes", len(c.running(t)))
				grace := time.Duration(draw.IntN(150)) * time.Millisecond
				left, err := c.End(t.Context(), grace)
				found := append(c.running(t), c.running(t)...) // one may hide in an exec
				if err != nil || len(left) > 0 {
					t.Errorf("End = %v, %v", left, err)
				} else if len(found) > 0 {
					t.Errorf("alive although End said that nobody is:\n%s", strings.Join(found, "\n"))
				}
				if t.Failed() {
					t.Logf("%s=%d\n%s", seedVariable, seed, script)
				}
			})
		}
	}
}

// running returns the processes of the command that run, from the command lines that the
// kernel shows, without any help from the package that is tested.
func (c running) running(t *testing.T) (found []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Fatal("no processes are shown: ", err)
	}
	for _, file := range lines {
		line, _ := os.ReadFile(file) // it may be gone, or a zombie, which has none
		if bytes.Contains(line, []byte(c.token)) {
			found = append(found, file+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// A gardener grows scripts that start trees of processes. The command line of each
// process holds FOREVER.
type gardener struct {
	draw *rand.Rand
	all  bool // ways to get away, too, that nothing but a control group can follow
	size int

	stormy bool // something forks all the time, which suffices once
}

// A place is where in the tree a process is.
type place struct {
	depth             int
	detached, cleared bool // it left its session, emptied its environment
}

// tree returns a script that says ready while the tree grows, or once it stands.
func (g *gardener) tree() string {
	if g.draw.IntN(3) == 0 {
		return g.body(place{}, "echo ready")
	}
	return g.body(place{}, "sleep 0.2; echo ready")
}

// body returns a script that starts processes beside it and then stays or exits.
func (g *gardener) body(p place, then string) string {
	script := "# FOREVER\n"
	switch g.draw.IntN(4) {
	case 0:
		script += "trap '' TERM\n"
	case 1:
		script += "trap 'echo no' TERM\n"
	}
	for range 1 + g.draw.IntN(3) {
		script += g.branch(p) + "\n"
	}
	script += then + "\n"
	if g.draw.IntN(3) == 0 {
		return script + "exit"
	}
	return script + "while :; do wait; sleep FOREVER; done"
}

// branch returns a command that starts a process in the background.
func (g *gardener) branch(p place) string {
	g.size++
	free := g.all || !p.cleared
	switch p.depth++; g.draw.IntN(8) {
	case 0:
		if free {
			p.detached = true
			return "setsid " + g.process(p) + " &"
		}
	case 1:
		if free {
			p.detached = true
			return "(setsid " + g.process(p) + " &)"
		}
	case 2:
		if free && !g.stormy {
			g.stormy = true
			return "while :; do (setsid sleep FOREVER >/dev/null 2>&1 &); done &"
		}
	case 3:
		if g.all || !p.detached {
			p.cleared = true
			return "env -i " + g.process(p) + " &"
		}
	case 4:
		return "nohup " + g.process(p) + " >/dev/null 2>&1 &"
	case 5:
		return "(" + g.process(p) + " &)"
	case 6:
		return g.process(p) + " &\nkill -STOP $! 2>/dev/null" // it may be gone by then
	}
	return g.process(p) + " &"
}

// process returns a command that is one process, which may start others.
func (g *gardener) process(p place) string {
	if p.depth > 3 || g.size > 12 || g.draw.IntN(2) == 0 {
		return "sleep FOREVER"
	}
	script := g.body(p, ":")
	return "bash -c '" + strings.ReplaceAll(script, "'", `'\''`) + "'"
}
