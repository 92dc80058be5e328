package builtin

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/internal/task"
	"heddle/internal/task/shell"
	"heddle/internal/task/tasktest"
	"heddle/internal/tool"
)

// yard is what the tools for background work share in a test.
type yard struct {
	*bench
	tasks              *task.Runtime
	told               *tasktest.Recorder
	bash, output, stop tool.Tool
}

func newYard(t *testing.T, o BashOptions) *yard {
	rt, told := tasktest.NewRuntime(t)
	o.Tasks = rt
	o.Env = func() []string { return shell.Environment(os.Environ(), nil, nil) }
	return &yard{newBench(t), rt, told, Bash(o), TaskOutput(rt), TaskStop(rt)}
}

// background starts a command and returns its id.
func (y *yard) background(command string) task.ID {
	y.t.Helper()
	r := y.call(y.bash, args{"command": command, "run_in_background": true})
	d, ok := r.Data.(bashData)
	if !ok || d.BackgroundID == "" || r.IsError {
		y.t.Fatalf("not in the background: %s", textOf(r))
	}
	return task.ID(d.BackgroundID)
}

// Whatever its text is, a command that takes longer than the call waits is moved, not
// ended: the same process goes on, and nothing of its output is lost or doubled.
func TestLongCommandsGoToTheBackground(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options BashOptions
		input   args
	}{
		"timeout":         {BashOptions{}, args{"timeout": 300}},
		"blocking budget": {BashOptions{Budget: 300 * time.Millisecond}, args{}},
		"from the start":  {BashOptions{}, args{"run_in_background": true}},
	} {
		for _, command := range []string{"%s", "(%s)", "%s | cat", "for x in 1; do %s; done"} {
			t.Run(name+" "+command, func(t *testing.T) {
				t.Parallel()
				y := newYard(t, tt.options)
				lines := "for i in 1 2 3 4 5 6 7 8 9; do echo line$i; sleep 0.1; done"
				in := maps.Clone(tt.input)
				in["command"] = fmt.Sprintf(command, lines)
				r := y.call(y.bash, in)
				d := r.Data.(bashData)
				if r.IsError || d.BackgroundID == "" || !strings.Contains(textOf(r), d.RawOutputPath) || strings.Contains(d.Stdout, "line9") {
					t.Fatalf("got %q, %+v", textOf(r), d)
				}
				got := y.ok(y.output, args{"task_id": d.BackgroundID})
				want := "line1\nline2\nline3\nline4\nline5\nline6\nline7\nline8\nline9"
				if !strings.HasPrefix(got, "Task "+d.BackgroundID+" completed, after ") || !strings.HasSuffix(got, ".\n"+want) && !strings.HasSuffix(got, "s.\n"+want) {
					t.Errorf("TaskOutput = %q", got)
				}
				if n := len(y.told.Ends()); n != 0 {
					t.Errorf("told %d times besides", n)
				}
			})
		}
	}
}

// A deadline in the background is no success, and neither is a bad exit code.
func TestBackgroundEndsAreNotEmbellished(t *testing.T) {
	t.Parallel()
	y := newYard(t, BashOptions{})
	r := y.call(y.bash, args{"command": "echo a; sleep 60; echo b", "run_in_background": true, "timeout": 300})
	id := r.Data.(bashData).BackgroundID
	if got := y.ok(y.output, args{"task_id": id}); !strings.Contains(got, "killed (timeout)") || strings.Contains(got, "exit code 0") {
		t.Errorf("after its deadline: %q", got)
	}
	id = string(y.background("sleep 0.1; exit 3"))
	if got := y.ok(y.output, args{"task_id": id}); !strings.Contains(got, "failed: exit code 3") {
		t.Errorf("after exit 3: %q", got)
	}
	long := newYard(t, BashOptions{Life: 300 * time.Millisecond})
	id = string(long.background("until false; do sleep 0.05; done"))
	if got := long.ok(long.output, args{"task_id": id}); !strings.Contains(got, "killed (timeout)") {
		t.Errorf("a loop that never ends: %q", got)
	}
}

func TestTaskStop(t *testing.T) {
	t.Parallel()
	y := newYard(t, BashOptions{})
	for range 5 { // a stop must not hit the next task of the same command
		a := y.background("sleep 100; echo never")
		if got := y.ok(y.stop, args{"shell_id": string(a)}); !strings.Contains(got, "Stopped task "+string(a)) {
			t.Errorf("TaskStop = %q", got)
		}
		b := y.background("sleep 0.2; echo ok")
		y.fails(y.stop, args{"task_id": string(a)}, "is not running: killed (stopped by model)")
		if got := y.ok(y.output, args{"task_id": string(b)}); !strings.Contains(got, "completed") || !strings.Contains(got, "ok") {
			t.Errorf("the next task: %q", got)
		}
	}
	if n := len(y.told.Ends()); n != 0 {
		t.Errorf("told %d times of ends that calls returned", n)
	}
	y.fails(y.stop, args{}, "task_id is missing")
	y.fails(y.stop, args{"task_id": "b00000000"}, "There is no task b00000000. Nothing runs in the background.")
	id := y.background("sleep 100")
	y.fails(y.stop, args{"task_id": "nonsense"}, "In the background run: "+string(id))
}

// A command may clean up when it is stopped: it is asked before it is killed.
func TestTaskStopAsksFirst(t *testing.T) {
	t.Parallel()
	y := newYard(t, BashOptions{})
	lock := y.path("lock")
	id := y.background("touch " + lock + "; trap 'rm " + lock + "; echo cleaned; exit' TERM; echo ready; while :; do sleep 0.05; done")
	y.ok(y.output, args{"task_id": string(id), "pattern": "^ready$"})
	y.ok(y.stop, args{"task_id": string(id)})
	s, _ := y.tasks.Get(id)
	out, err := os.ReadFile(s.OutputFile)
	if err != nil || !strings.Contains(string(out), "cleaned") {
		t.Errorf("output %q, %v", out, err)
	}
	if _, err := os.Stat(lock); !os.IsNotExist(err) {
		t.Errorf("the lock file: %v", err)
	}
}

func TestTaskOutputWaits(t *testing.T) {
	t.Parallel()
	y := newYard(t, BashOptions{})
	server := y.background("sleep 0.2; echo listening on port 80; sleep 60")
	got := y.call(y.output, args{"task_id": string(server), "pattern": `port \d+`})
	if text := textOf(got); !strings.HasPrefix(text, "Task "+string(server)+" printed: listening on port 80\n") {
		t.Errorf("with a pattern: %q", text)
	}
	if got := y.ok(y.output, args{"task_id": string(server), "timeout": 50}); !strings.Contains(got, "still runs") {
		t.Errorf("after its time: %q", got)
	}
	short, long := y.background("sleep 0.2"), y.background("sleep 60")
	in := args{"task_id": []string{string(short), string(long)}, "any": true}
	if text := textOf(y.call(y.output, in)); !strings.Contains(text, string(short)+" completed") || !strings.Contains(text, string(long)+" runs") {
		t.Errorf("any of two: %q", text)
	}
	y.fails(y.output, args{}, "task_id is missing")
	y.fails(y.output, args{"task_id": []string{}}, "task_id is missing")
	y.fails(y.output, args{"task_id": 7}, "task_id must be a string")
	y.fails(y.output, args{"task_id": string(long), "pattern": "a("}, "RE2")
	y.fails(y.output, args{"task_id": "b00000000"}, "There is no task b00000000. In the background run: ")
}

// A model that looks again and again is answered briefly, and then by waiting.
func TestPollingIsAnsweredByWaiting(t *testing.T) {
	t.Parallel()
	y := newYard(t, BashOptions{})
	id := string(y.background("sleep 5.5"))
	look := args{"task_id": id, "block": false}
	y.ok(y.output, look)
	for range 2 {
		if got := y.ok(y.output, look); len(got) > 160 || !strings.Contains(got, "You will be told") {
			t.Errorf("an unchanged look: %q", got)
		}
	}
	looks := 0
	for looks < 10 && !strings.Contains(y.ok(y.output, look), "completed") {
		looks++
	}
	if got := y.ok(y.output, look); len(got) > 300 || !strings.Contains(got, "as you were told") {
		t.Errorf("a look at what has ended and was shown: %q", got)
	}
	if looks > 3 {
		t.Errorf("it took %d more looks", looks)
	}
}

func TestTimersAreKnown(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"sleep 5": true, "sleep 1m": true, " sleep 0.5; ": true, "sleep 5 && echo done": true, "sleep 5; true": true,
		"sleep 5; make": false, "sleep 5 && echo $(make)": false, "make": false, "sleep $X": false, "sleep 5 | cat": false, "echo sleep 5": false,
	} {
		if got := isTimer(command); got != want {
			t.Errorf("isTimer(%q) = %v", command, got)
		}
	}
}

// Input of any shape gets an answer that names what is wrong.
func FuzzTaskOutputInput(f *testing.F) {
	for _, in := range []string{`{"task_id":"b1"}`, `{"task_id":["b1","b2"],"any":true}`, `{"task_id":{},"block":"false"}`, `{"task_id":[1]}`, `[]`, `{"task_id":"x","pattern":"("}`} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := decodeTaskOutput(tool.Call{Name: "TaskOutput", Input: json.RawMessage(in)})
		if err == nil && (len(got.ID) == 0 || got.wait() < 0 || got.wait() > taskWaitMax) {
			t.Errorf("%q gives %+v", in, got)
		}
	})
}
