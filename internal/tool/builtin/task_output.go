package builtin

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"heddle/internal/task"
	"heddle/internal/task/subagent"
	"heddle/internal/tool"
)

//go:embed task_output.md
var taskOutputPrompt string

const taskOutputSchema = `{"type":"object","properties":{` +
	`"task_id":{"description":"The id of the task, or a list of ids","anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]},` +
	`"block":{"type":"boolean","description":"Wait for the end; true if not given"},` +
	`"timeout":{"type":"integer","description":"Milliseconds to wait; 30000 by default, 600000 at most"},` +
	`"any":{"type":"boolean","description":"Of several tasks, wait for the first end"},` +
	`"pattern":{"type":"string","description":"Regular expression: wait for a line of the output that matches"}},` +
	`"required":["task_id"],"additionalProperties":false}`

const (
	taskWait    = 30 * time.Second
	taskWaitMax = 600 * time.Second
	// pollWait is how long a call waits that looks again although nothing has changed:
	// longer with each time.
	pollWait = 5 * time.Second
)

// TaskOutput returns the tool that waits for tasks and shows what they printed.
func TaskOutput(tasks *task.Runtime) tool.Tool {
	o := &taskOutput{tasks: tasks, polls: map[task.ID]poll{}}
	return tool.Tool{
		Name: "TaskOutput", Description: strings.TrimSpace(taskOutputPrompt), Schema: json.RawMessage(taskOutputSchema),
		Parallel: true,
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decodeTaskOutput(c)
			if err != nil {
				return failed(err)
			}
			return o.run(ctx, c, in)
		},
	}
}

type taskOutput struct {
	tasks *task.Runtime

	mu    sync.Mutex
	polls map[task.ID]poll // of tasks that were looked at
}

// poll is what a look at a task showed.
type poll struct {
	size    int64
	same    int  // looks in a row that showed nothing new
	ended   bool // the end, and of which attempt
	attempt int
}

type taskOutputInput struct {
	ID      ids    `json:"task_id"`
	Block   *flag  `json:"block"`
	Timeout number `json:"timeout"`
	Any     flag   `json:"any"`
	Pattern string `json:"pattern"`

	pattern *regexp.Regexp
}

// ids are one id or several.
type ids []task.ID

// UnmarshalJSON reads a string or a list of strings.
func (l *ids) UnmarshalJSON(data []byte) error {
	var one task.ID
	if json.Unmarshal(data, &one) == nil {
		*l = ids{one}
		return nil
	}
	var many []task.ID
	if json.Unmarshal(data, &many) != nil {
		return wrongType[string](data)
	}
	*l = many
	return nil
}

func decodeTaskOutput(c tool.Call) (taskOutputInput, error) {
	in, err := decode[taskOutputInput](c)
	if err != nil {
		return in, err
	}
	if len(in.ID) == 0 || in.ID[0] == "" {
		return in, refuse("TaskOutput: task_id is missing. Call again with the id of a task.")
	}
	if in.Pattern != "" {
		if in.pattern, err = regexp.Compile(in.Pattern); err != nil {
			return in, refuse("TaskOutput: pattern: %v. Call again with a regular expression of RE2 syntax.", err)
		}
	}
	return in, nil
}

// wait is how long the call waits.
func (in taskOutputInput) wait() time.Duration {
	switch {
	case in.Block != nil && !bool(*in.Block):
		return 0
	case in.Timeout <= 0:
		return taskWait
	}
	return min(time.Duration(in.Timeout)*time.Millisecond, taskWaitMax)
}

func (o *taskOutput) run(ctx context.Context, c tool.Call, in taskOutputInput) tool.Result {
	var running []task.ID
	known := map[task.ID]task.Snapshot{}
	for _, id := range in.ID {
		s, ok := o.tasks.Find(id)
		if !ok {
			return failed(refuse("There is no task %s.%s", show(string(id)), runningNow(o.tasks)))
		}
		known[id] = s
		if _, listed := o.tasks.Get(id); listed {
			running = append(running, id)
		}
	}
	claim, err := o.tasks.Claim(running, c.ID)
	if err != nil {
		return failed(err) // forgotten in this moment: the next call finds it in the journal
	}
	matched := o.await(ctx, in, running)
	for _, s := range claim.Take() {
		known[s.ID] = s
	}
	if ctx.Err() != nil {
		return tool.Failf("Interrupted while waiting. The tasks go on.")
	}
	return o.report(in, known, matched)
}

// await waits for what the call asks for.
func (o *taskOutput) await(ctx context.Context, in taskOutputInput, running []task.ID) *task.Match {
	ctx, cancel := context.WithTimeout(ctx, max(in.wait(), o.patience(in, running)))
	defer cancel()
	if len(running) == 0 {
		return nil
	}
	if in.pattern != nil {
		m, err := o.tasks.WaitOutput(ctx, running, in.pattern)
		if err != nil {
			return nil // the time is over, or the output is
		}
		return &m
	}
	count := 0 // all
	if in.Any {
		count = 1
	}
	_, _ = o.tasks.Wait(ctx, running, task.Condition{Count: count}) // the claim knows the outcome
	return nil
}

// patience is how long a call waits that wants to wait for nothing: a model that looks
// again and again gets what it wants, an answer that differs, by waiting for it.
func (o *taskOutput) patience(in taskOutputInput, running []task.ID) time.Duration {
	if in.wait() > 0 || len(running) != 1 {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.polls[running[0]]
	return min(time.Duration(max(p.same-1, 0))*pollWait, time.Minute)
}

// unchanged notes a look at a running task, and reports whether it showed nothing new.
func (o *taskOutput) unchanged(id task.ID, size int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, seen := o.polls[id]
	if !seen || p.size != size {
		o.polls[id] = poll{size: size}
		return false
	}
	p.same++
	o.polls[id] = p
	return true
}

// shown reports whether the end of a task has been returned before, with its output.
func (o *taskOutput) shown(s task.Snapshot) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.polls[s.ID]
	before := p.ended && p.attempt == s.Attempt
	o.polls[s.ID] = poll{ended: true, attempt: s.Attempt}
	return before
}

// taskState is the structured result for one task.
type taskState struct {
	ID     task.ID     `json:"task_id"`
	Kind   task.Kind   `json:"task_type"`
	Status task.Status `json:"status"`
	Reason task.Reason `json:"reason,omitempty"`
	Error  string      `json:"error,omitempty"`
	File   string      `json:"output_file"`
}

func (o *taskOutput) report(in taskOutputInput, known map[task.ID]task.Snapshot, matched *task.Match) tool.Result {
	var data struct {
		// Status is success, timeout or not_ready.
		Status string      `json:"retrieval_status"`
		Tasks  []taskState `json:"tasks"`
		Match  string      `json:"match,omitempty"`
	}
	data.Status = "success"
	var b strings.Builder
	if matched != nil {
		data.Match = tool.Plain([]byte(matched.Line))
		fmt.Fprintf(&b, "Task %s printed: %s\n", matched.ID, data.Match)
	} else if in.pattern != nil {
		fmt.Fprintf(&b, "No line matched %q.\n", in.Pattern)
		data.Status = "timeout"
	}
	pending := 0
	share := bashOutput / len(in.ID)
	for _, id := range in.ID {
		s := known[id]
		data.Tasks = append(data.Tasks, taskState{s.ID, s.Kind, s.Status, s.Reason, s.Error, s.OutputFile})
		if !s.Status.Terminal() {
			pending++
		}
		o.describe(&b, s, share)
	}
	if pending > 0 && matched == nil && !(bool(in.Any) && pending < len(in.ID)) {
		data.Status = "timeout"
		if in.wait() == 0 {
			data.Status = "not_ready"
		}
	}
	r := tool.Text(strings.TrimSuffix(b.String(), "\n"))
	r.Data = data
	return r
}

// describe writes the state of a task, and its output if that is worth repeating.
func (o *taskOutput) describe(b *strings.Builder, s task.Snapshot, limit int) {
	if d, ok := s.Detail.(subagent.Detail); ok {
		o.describeAgent(b, s, d, limit)
		return
	}
	text, size, err := o.printed(s, limit)
	switch {
	case s.Status.Terminal() && o.shown(s):
		fmt.Fprintf(b, "Task %s %s, as you were told. Its output is in %s.\n", s.ID, outcome(s), s.OutputFile)
		return
	case s.Status.Terminal():
		fmt.Fprintf(b, "Task %s %s, after %v.\n", s.ID, outcome(s), round(s.EndedAt.Sub(s.StartedAt)))
	case o.unchanged(s.ID, size):
		fmt.Fprintf(b, "Task %s still runs (%v) and printed nothing new. You will be told when it ends.\n", s.ID, round(time.Since(s.StartedAt)))
		return
	default:
		fmt.Fprintf(b, "Task %s runs, since %v. You will be told when it ends.\n", s.ID, round(time.Since(s.StartedAt)))
	}
	switch {
	case err != nil:
		fmt.Fprintf(b, "Its output could not be read: %v\n", err)
	case strings.TrimSpace(text) == "":
		b.WriteString("(no output)\n")
	default:
		b.WriteString(strings.TrimSuffix(text, "\n") + "\n")
		if size > int64(len(text)) {
			fmt.Fprintf(b, "All of its output, %d bytes, is in %s.\n", size, s.OutputFile)
		}
	}
}

// describeAgent writes how far an agent is, or what it answers: never what it saw.
func (o *taskOutput) describeAgent(b *strings.Builder, s task.Snapshot, d subagent.Detail, limit int) {
	switch {
	case !s.Status.Terminal():
		fmt.Fprintf(b, "Agent %s runs, since %v: %s. You will be told when it ends.\n", s.ID, round(time.Since(s.StartedAt)), d.Look())
		o.unchanged(s.ID, int64(d.ToolUses))
	case o.shown(s):
		fmt.Fprintf(b, "Agent %s %s, as you were told. Its output is in %s.\n", s.ID, outcome(s), s.OutputFile)
	default:
		fmt.Fprintf(b, "Agent %s %s, after %v.\n", s.ID, outcome(s), round(s.EndedAt.Sub(s.StartedAt)))
		fmt.Fprintln(b, cmp.Or(tool.Clip(d.Result, limit), "(It said nothing.)"))
		for _, add := range beside(s, d) {
			fmt.Fprintln(b, add)
		}
	}
}

// printed returns what a task printed, shortened.
func (o *taskOutput) printed(s task.Snapshot, limit int) (text string, size int64, err error) {
	f, size, err := task.OpenOutput(s.OutputFile)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	e, err := readExcerpt(f, size)
	return e.Clip(limit), size, err
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}
