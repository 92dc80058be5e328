package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"heddle/internal/task"
	"heddle/internal/task/shell"
	"heddle/internal/tool"
)

//go:embed bash.md
var bashPrompt string

var bashSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"command":{"type":"string","description":"The command to run"},` +
	`"timeout":{"type":"integer","description":"Milliseconds after which the command is ended; 120000 by default, 600000 at most"},` +
	`"description":{"type":"string","description":"What the command does, in five to ten words"}},` +
	`"required":["command"],"additionalProperties":false}`)

const (
	bashTimeout    = 120 * time.Second
	bashTimeoutMax = 600 * time.Second
	// bashOutput is how much output a result holds, in bytes.
	bashOutput = 30_000
	// bashRead is how much of an output file is looked at, from either end.
	bashRead = 1 << 20
)

// BashOptions say how commands run.
type BashOptions struct {
	Tasks  *task.Runtime
	Strays *shell.Strays
	Env    func() []string // see [shell.Environment]
}

// Bash returns the tool that runs commands.
func Bash(o BashOptions) tool.Tool {
	b := bash{o}
	return tool.Tool{
		Name: "Bash", Description: strings.TrimSpace(bashPrompt), Schema: bashSchema,
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			in, err := bashInputOf(c)
			return []tool.Effect{{Action: tool.Run, Target: in.Command}}, err
		},
		Run: b.run,
	}
}

type bash struct{ BashOptions }

type bashInput struct {
	Command     string `json:"command"`
	Timeout     number `json:"timeout"`
	Description string `json:"description"`
}

func bashInputOf(c tool.Call) (bashInput, error) {
	in, err := decode[bashInput](c)
	if err == nil && strings.TrimSpace(in.Command) == "" {
		err = errors.New("input of Bash: command is missing or empty")
	}
	return in, err
}

// bashData is the structured result.
type bashData struct {
	Stdout      string `json:"stdout"` // both streams, as they came
	Stderr      string `json:"stderr"` // remarks of the tool
	Interrupted bool   `json:"interrupted"`
	ExitCode    int    `json:"exitCode"`
	TaskID      string `json:"taskId"`
	TimedOut    int64  `json:"timedOutAfterMs,omitempty"`
	OutputPath  string `json:"persistedOutputPath,omitempty"`
	OutputSize  int64  `json:"persistedOutputSize,omitempty"`
}

func (b bash) run(ctx context.Context, c tool.Call) tool.Result {
	in, err := bashInputOf(c)
	if err != nil {
		return tool.Failf("%v. Call Bash again with a command.", err)
	}
	limit := bashTimeout
	if in.Timeout > 0 {
		limit = min(time.Duration(in.Timeout)*time.Millisecond, bashTimeoutMax)
	}
	dir, notice := standing(c.Scope)
	description := in.Description
	if description == "" {
		description = in.Command
	}
	t, err := b.Tasks.Start(
		task.Spec{Kind: task.LocalBash, Owner: task.ID(c.Scope.Agent), Description: description, ToolUseID: c.ID},
		shell.Runner{Command: in.Command, Dir: dir, Env: b.Env(), Timeout: limit, Strays: b.Strays},
	)
	if err != nil {
		return tool.Failf("The command could not be started: %v", err)
	}
	t.Attach(ctx, 0)
	r := report{snap: t.Snapshot(), limit: limit}
	r.remark(notice)
	r.detail, _ = r.snap.Detail.(shell.Detail)
	r.remark(follow(c.Scope, r.detail.Dir))
	return r.result(in.Command)
}

// standing returns the directory where a command starts: the one that the last
// command left or, if that is gone, the nearest that is still there.
func standing(s *tool.Scope) (dir, notice string) {
	dir = s.Dir()
	for d := dir; ; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		switch {
		case err == nil && info.IsDir() && d == dir:
			return dir, ""
		case err == nil && info.IsDir() && inside(s, d):
			s.SetDir(d)
			return d, fmt.Sprintf("The working directory %s is gone; the command ran in %s.", dir, d)
		case d == filepath.Dir(d):
			s.SetDir(s.Root)
			return s.Root, fmt.Sprintf("The working directory %s is gone; the command ran in %s.", dir, s.Root)
		}
	}
}

// follow remembers the directory that a command left, if tools may work there.
func follow(s *tool.Scope, dir string) (notice string) {
	if dir == "" || dir == s.Dir() {
		return ""
	}
	if !inside(s, dir) {
		old := s.Dir()
		return fmt.Sprintf("The command changed to %s, outside of the project. The next one runs in %s again.", dir, old)
	}
	s.SetDir(dir)
	return ""
}

// inside reports whether dir is in a folder that the agent works in.
func inside(s *tool.Scope, dir string) bool {
	for _, root := range append([]string{s.Root}, s.Extra...) {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// report is the result of a command in the making.
type report struct {
	snap    task.Snapshot
	detail  shell.Detail
	limit   time.Duration
	remarks []string
}

func (r *report) remark(s string) {
	if s != "" {
		r.remarks = append(r.remarks, s)
	}
}

func (r *report) result(command string) tool.Result {
	text, size := r.output()
	data := bashData{Stdout: text, ExitCode: r.detail.Code, TaskID: string(r.snap.ID)}
	if len(text) > bashOutput || size > int64(2*bashRead) {
		text = tool.Clip(text, bashOutput)
		data.OutputPath, data.OutputSize = r.snap.OutputFile, size
		data.Stdout = text
		r.remark(fmt.Sprintf("The output was shortened. All %d bytes are in %s.", size, r.snap.OutputFile))
	}
	failed := r.ending(command, &data)
	if n := len(r.detail.Left); n > 0 {
		r.remark(leftBehind(r.detail.Left))
	}
	data.Stderr = strings.Join(r.remarks, "\n")
	switch {
	case text == "" && data.Stderr == "":
		text = "(no output)"
	case text == "":
		text = "(no output)\n" + data.Stderr
	case data.Stderr != "":
		text = strings.TrimSuffix(text, "\n") + "\n" + data.Stderr
	}
	res := tool.Text(strings.TrimSuffix(text, "\n"))
	res.IsError, res.Data = failed, data
	return res
}

// output reads what the command printed. Of a file too large to be looked at, the
// middle is left out here already.
func (r *report) output() (text string, size int64) {
	first, err := task.ReadOutput(r.snap.OutputFile, 0, 2*bashRead)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			r.remark(fmt.Sprintf("The output could not be read: %v", err))
		}
		return "", 0
	}
	if first.Size <= int64(len(first.Bytes)) {
		return tool.Plain(first.Bytes), first.Size
	}
	last, err := task.ReadOutput(r.snap.OutputFile, -bashRead, bashRead)
	if err != nil {
		r.remark(fmt.Sprintf("The end of the output could not be read: %v", err))
	}
	gap := first.Size - bashRead - int64(len(last.Bytes))
	return tool.Plain(first.Bytes[:bashRead]) + fmt.Sprintf("\n\n[… %d bytes omitted …]\n\n", gap) + tool.Plain(last.Bytes), first.Size
}

// ending says how the command ended, and reports whether that was a failure.
func (r *report) ending(command string, data *bashData) (failed bool) {
	switch {
	case r.snap.Reason == task.ReasonTimeout:
		data.Interrupted, data.TimedOut = true, r.limit.Milliseconds()
		r.remark(fmt.Sprintf("The command was ended because it had not finished after %v. If it needs longer, pass a larger timeout (at most %d).", r.limit, bashTimeoutMax.Milliseconds()))
		return true
	case r.snap.Status == task.Killed:
		data.Interrupted = true
		r.remark(fmt.Sprintf("The command was interrupted (%s).", r.snap.Reason))
		return true
	case r.detail.Signal != "":
		r.remark("Ended by signal: " + r.detail.Signal)
		return true
	case r.detail.Ended && r.detail.Code != 0:
		r.remark(fmt.Sprintf("Exit code %d", r.detail.Code))
		return r.detail.Code != 1 || !oneIsAnAnswer(command)
	case r.snap.Status == task.Failed:
		r.remark("The command failed: " + r.snap.Error)
		return true
	}
	return false
}

func leftBehind(left []shell.Process) string {
	var names []string
	for _, p := range left {
		names = append(names, fmt.Sprintf("pid %d %s", p.PID, tool.Clip(p.Command, 200)))
	}
	if len(left) == 1 {
		return "1 process still running: " + names[0]
	}
	return fmt.Sprintf("%d processes still running: %s", len(left), strings.Join(names, "; "))
}

// oneIsAnAnswer reports whether exit code 1 of a command means no rather than
// that it failed: nothing found, or a difference.
func oneIsAnAnswer(command string) bool {
	if strings.ContainsAny(command, ";&|\n") {
		return false
	}
	words := strings.Fields(command)
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "grep", "egrep", "fgrep", "rg", "find", "diff", "test", "[":
		return true
	case "git":
		return len(words) > 1 && (words[1] == "diff" || words[1] == "grep")
	}
	return false
}
