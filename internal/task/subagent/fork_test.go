package subagent

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/task"
)

// Of the forks that one answer asks for, the first goes ahead until its answer begins.
func TestForksFollowTheFirst(t *testing.T) {
	for _, test := range []struct {
		name  string
		first time.Duration // until the first answer begins
		want  time.Duration // until the others are sent
	}{
		{"soon", time.Second, time.Second},
		{"late", time.Minute, follow},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, dir, func(context.Context, int, *model.Request) (model.Response, error) { return says("done"), nil }, nil)
				began := time.Now()
				var sent []time.Duration
				b.model.begin = func(*model.Request) {
					b.model.mu.Lock()
					sent = append(sent, time.Since(began))
					first := len(sent) == 1
					b.model.mu.Unlock()
					if first {
						time.Sleep(test.first) // of the fake clock
					}
				}
				for _, tk := range b.spawn(Request{Agent: "fork", Prompt: "a"}, Request{Agent: "fork", Prompt: "b"}, Request{Agent: "fork", Prompt: "c"}) {
					if s, _ := end(tk); s.Status != task.Completed {
						t.Errorf("%s: %s", s.Status, s.Error)
					}
				}
				if len(sent) != 3 || sent[0] != 0 || sent[1] != test.want || sent[2] != test.want {
					t.Errorf("sent after %v, want 0 and %v twice", sent, test.want)
				}
				// One that comes later has nobody to wait for.
				began = time.Now()
				end(b.spawn(Request{Agent: "fork", Prompt: "d"})[0])
				if sent[3] != 0 || len(b.batches) != 0 {
					t.Errorf("a later one was sent after %v; %d batches are kept", sent[3], len(b.batches))
				}
			})
		})
	}
}

// A fork begins with the bytes of the conversation, says what that saved, and may neither
// fork nor ask.
func TestForkSharesAndSaves(t *testing.T) {
	b := newBed(t, t.TempDir(), func(_ context.Context, n int, _ *model.Request) (model.Response, error) {
		return says("done"), nil
	}, nil)
	tasks := b.spawn(Request{Agent: "fork", Prompt: "first part"}, Request{Agent: "fork", Prompt: "second part"})
	_, d := end(tasks[0])
	end(tasks[1])
	one, two := b.model.said(tasks[0].ID)[0], b.model.said(tasks[1].ID)[0]
	same := 0
	for same < min(len(one), len(two)) && one[same] == two[same] {
		same++
	}
	if rest := string(one[same:]); len(rest) > 100 || !strings.Contains(string(one), "You are main.") {
		t.Errorf("two forks of one answer differ from %q on", rest)
	}
	if d.CacheRead != 900 || d.Saved < 0.0080 || d.Saved > 0.0082 {
		t.Errorf("the receipt is %d tokens and %v dollars, want 900 and 0.0081", d.CacheRead, d.Saved)
	}
	if text := (task.Notification{Task: tasks[0].Snapshot()}).XML(); !strings.Contains(text, "<cache_read_tokens>900</cache_read_tokens>") {
		t.Errorf("the notification has no receipt: %s", text)
	}
}

func question(text string) agent.Input {
	return agent.Input{Content: message.FromUser(text).Content, Origin: agent.FromAgent}
}

// An agent that is done goes on with all that it knows, in this run of the program and in
// the next, and so does a fork: what it knew stands before what is new, byte for byte.
func TestResume(t *testing.T) {
	for _, name := range []string{"plain", "fork"} {
		for _, again := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " at once", true: " after a restart"}[again], func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				r := func(_ context.Context, n int, r *model.Request) (model.Response, error) {
					if n == 1 && !bytes.Contains(bytes.Join(r.Messages, nil), []byte("and now")) {
						return uses("Monitor"), nil
					}
					return says("said"), nil
				}
				b := newBed(t, dir, r, nil)
				tk := b.spawn(Request{Agent: name, Prompt: "work"})[0]
				first, _ := end(tk)
				before := b.model.said(tk.ID)
				old := before[len(before)-1]
				if again {
					b.close()
					b = newBed(t, dir, r, nil)
				}
				resumed, err := b.Resume(tk.ID, question("and now"))
				if err != nil {
					t.Fatal(err)
				}
				s, d := end(resumed)
				if s.ID != first.ID || s.Status != task.Completed || s.Attempt != 1 || d.Result != "said" || d.ToolUses != 1 {
					t.Fatalf("went on as %+v with %+v", s, d)
				}
				after := b.model.said(tk.ID)
				now := after[len(after)-1]
				if !bytes.HasPrefix(now, old) || !bytes.Contains(now[len(old):], []byte("said")) || !bytes.Contains(now[len(old):], []byte("and now")) {
					t.Errorf("it went on from\n%s\nwant\n%s\nand what is new", now, old)
				}
				// And once more, from what the second attempt has left.
				resumed, err = b.Resume(tk.ID, question("and now, again"))
				if err != nil {
					t.Fatal(err)
				}
				if s, _ := end(resumed); s.Status != task.Completed || s.Attempt != 2 {
					t.Errorf("the third attempt is %+v", s)
				}
				if third := b.model.said(tk.ID); !bytes.HasPrefix(third[len(third)-1], now) {
					t.Error("the third attempt does not begin with the second")
				}
			})
		}
	}
}

func TestResumeRefuses(t *testing.T) {
	hold := make(chan struct{})
	b := newBed(t, t.TempDir(), func(context.Context, int, *model.Request) (model.Response, error) {
		<-hold
		return says("done"), nil
	}, nil)
	tk := b.spawn(Request{Agent: "plain", Prompt: "work"})[0]
	if _, err := b.Resume(tk.ID, question("now")); err == nil || !strings.Contains(err.Error(), "at work") {
		t.Errorf("an agent that runs: %v", err)
	}
	if _, err := b.Resume("a12345678", question("now")); err == nil {
		t.Error("an agent that never was goes on")
	}
	close(hold)
	end(tk)
}
