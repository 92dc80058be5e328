package builtin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"heddle/internal/tool"
)

func TestMonitorTool(t *testing.T) {
	t.Parallel()
	y := newYard(t, BashOptions{})
	monitor := Monitor(BashOptions{Tasks: y.tasks, Env: func() []string { return nil }})
	effects, err := monitor.Effects(tool.Call{Name: "Monitor", Input: json.RawMessage(`{"command":"tail -f x","description":"d"}`)})
	if err != nil || len(effects) != 1 || effects[0] != (tool.Effect{Action: tool.Run, Target: "tail -f x"}) {
		t.Errorf("effects = %v, %v", effects, err)
	}
	got := y.ok(monitor, args{"command": "echo one; sleep 60", "description": "watch"})
	id := strings.Fields(strings.TrimPrefix(got, "Monitoring as task "))[0]
	id = strings.TrimSuffix(id, ",")
	if s := y.tasks.List()[0]; string(s.ID) != id || !s.Awaited || !s.Backgrounded || s.Description != "watch" || !strings.Contains(got, "for 5m0s at most") {
		t.Errorf("%q starts %+v", got, s)
	}
	y.ok(y.stop, args{"task_id": id})
	short := y.call(monitor, args{"command": "sleep 60", "description": "d", "timeout_ms": 100})
	raw, err := json.Marshal(short.Data)
	if err != nil || !strings.Contains(string(raw), `"timeoutMs":100,"persistent":false`) {
		t.Errorf("data = %s, %v", raw, err)
	}
	var data struct {
		ID string `json:"taskId"`
	}
	if err := json.Unmarshal(raw, &data); err != nil {
		t.Fatal(err)
	}
	if got := y.ok(y.output, args{"task_id": data.ID}); !strings.Contains(got, "killed (timeout)") {
		t.Errorf("after its time: %q", got)
	}
	y.fails(monitor, args{"description": "d"}, "command is missing")
	y.fails(monitor, args{"ws": map[string]any{"url": "ws://x"}}, "ws is not supported")
}

func TestMonitorLife(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   monitorInput
		want time.Duration
	}{
		{monitorInput{}, monitorLife}, {monitorInput{Timeout: -1}, monitorLife}, {monitorInput{Timeout: 1000}, time.Second},
		{monitorInput{Timeout: 1e12}, monitorLifeMax}, {monitorInput{Persistent: true, Timeout: 5}, 0},
	} {
		if got := tt.in.life(); got != tt.want {
			t.Errorf("%+v lives for %v, want %v", tt.in, got, tt.want)
		}
	}
}
