package headless

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"heddle/internal/task"
	"heddle/internal/tool"
)

// TestRequestsBeforeTheFirstTurn holds that requests are answered while the tools that are
// slow to come are waited for, and that an interrupt ends the turn that waits with them.
func TestRequestsBeforeTheFirstTurn(t *testing.T) {
	pool, err := tool.NewPool()
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	s, _ := sittingLate(t, forever, task.Options{}, func(ctx context.Context) *tool.Pool {
		close(waiting)
		<-ctx.Done() // for ever, if nobody ends it
		return pool
	})
	defer s.Close(context.Background())
	in, host := io.Pipe()
	out, answers := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- RunStream(t.Context(), s, in, false, Options{Format: Stream, Out: answers, Err: io.Discard})
		answers.Close()
	}()
	<-waiting
	heard := make(chan map[string]any, 100)
	go func() {
		defer close(heard)
		if _, err := io.Copy(&teller{heard: heard, t: t}, out); err != nil {
			t.Error(err)
		}
	}()
	request := func(id, body string) {
		fmt.Fprintf(host, `{"type":"control_request","request_id":%q,"request":%s}`+"\n", id, body)
	}
	request("usage", `{"subtype":"get_context_usage"}`)
	if m := <-heard; m["type"] != "control_response" {
		t.Fatalf("before the first turn came %v, want the answer to a request", m)
	}
	fmt.Fprintln(host, `{"type":"user","uuid":"11111111-2222-4333-8444-555555555555","message":{"role":"user","content":"go"}}`)
	request("stop", `{"subtype":"interrupt"}`)
	host.Close()
	var kinds []string
	for m := range heard {
		kinds = append(kinds, fmt.Sprint(m["type"]))
		if m["type"] == "result" && m["terminal_reason"] != "aborted_streaming" {
			t.Errorf("the turn ended with %v", m)
		}
	}
	if err := <-done; err == nil {
		t.Error("an interrupted turn counts as one that ended well")
	}
	slices.Sort(kinds) // the answer to the interrupt may come at any time
	if got := fmt.Sprint(kinds); got != "[control_response result system]" {
		t.Errorf("the host heard %s", got)
	}
}

// teller passes on each line that it is given.
type teller struct {
	heard chan<- map[string]any
	rest  []byte
	t     *testing.T
}

func (w *teller) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		i := bytes.IndexByte(w.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		for _, m := range lines(w.t, w.rest[:i+1]) {
			w.heard <- m
		}
		w.rest = w.rest[i+1:]
	}
}
