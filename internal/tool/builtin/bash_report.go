package builtin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"heddle/internal/task"
	"heddle/internal/task/shell"
	"heddle/internal/tool"
)

// bashData is the structured result.
type bashData struct {
	Stdout         string `json:"stdout"` // both streams, as they came
	Stderr         string `json:"stderr"` // remarks of the tool
	Interrupted    bool   `json:"interrupted"`
	ExitCode       int    `json:"exitCode"`
	Interpretation string `json:"returnCodeInterpretation,omitempty"`
	TimedOut       int64  `json:"timedOutAfterMs,omitempty"`
	TaskID         string `json:"taskId"`
	RawOutputPath  string `json:"rawOutputPath"`
	// Set if the command goes on in the background.
	BackgroundID string `json:"backgroundTaskId,omitempty"`
	ByUser       bool   `json:"backgroundedByUser,omitempty"`
	EndsWithRun  bool   `json:"backgroundEndsWithFinalResponse,omitempty"`
	// Set if Stdout was shortened.
	OutputPath string `json:"persistedOutputPath,omitempty"`
	OutputSize int64  `json:"persistedOutputSize,omitempty"`
}

// bashReport is the result of a command in the making.
type bashReport struct {
	in      bashInput
	snap    task.Snapshot
	detail  shell.Detail
	data    bashData
	remarks []string
	failed  bool
}

func newBashReport(snap task.Snapshot, in bashInput) *bashReport {
	detail, _ := snap.Detail.(shell.Detail) // there is none if the command did not start
	return &bashReport{in: in, snap: snap, detail: detail, data: bashData{
		ExitCode: detail.Code, TaskID: string(snap.ID), RawOutputPath: snap.OutputFile,
	}}
}

func (r *bashReport) remark(s string) {
	if s != "" {
		r.remarks = append(r.remarks, s)
	}
}

func (r *bashReport) remarkf(format string, args ...any) { r.remark(fmt.Sprintf(format, args...)) }

func (r *bashReport) result() tool.Result {
	r.output()
	r.ending()
	r.leftovers()
	r.data.Stderr = strings.Join(r.remarks, "\n")
	text := strings.TrimSuffix(r.data.Stdout, "\n")
	if strings.TrimSpace(text) == "" {
		text = "(no output)"
	}
	if r.data.Stderr != "" {
		text += "\n" + r.data.Stderr
	}
	res := tool.Text(text)
	res.IsError, res.Data = r.failed, r.data
	return res
}

// background is the result of a command that goes on. What it has printed so far is a
// part of it, if the call waited.
func (r *bashReport) background(o BashOptions) tool.Result {
	budget := o.budget(r.in)
	waited := time.Since(r.snap.StartedAt)
	r.data.BackgroundID, r.data.EndsWithRun = string(r.snap.ID), o.Closing != ""
	switch {
	case bool(r.in.Background):
		r.remarkf("Running in the background as task %s.", r.snap.ID)
	case waited >= budget:
		r.data.TimedOut = budget.Milliseconds()
		r.remarkf("Not finished after %v: the command goes on in the background as task %s.", budget, r.snap.ID)
	default:
		r.data.ByUser = true
		r.remarkf("The user moved the command to the background, where it goes on as task %s.", r.snap.ID)
	}
	r.remarkf("Its output goes to %s. You will be told when it ends: do something else meanwhile, or wait with TaskOutput, but do not poll or sleep.", r.snap.OutputFile)
	r.remarkf("It is ended if it still runs %v after its start.", r.in.life)
	r.remark(o.Closing)
	if !r.in.Background {
		r.output()
	}
	r.data.Stderr = strings.Join(r.remarks, "\n")
	text := r.data.Stderr
	if printed := strings.TrimSuffix(r.data.Stdout, "\n"); printed != "" {
		text = printed + "\n" + text
	}
	res := tool.Text(text)
	res.Data = r.data
	return res
}

// output takes in what the command printed.
func (r *bashReport) output() {
	f, size, err := task.OpenOutput(r.snap.OutputFile)
	if errors.Is(err, fs.ErrNotExist) {
		r.remarkf("The output is gone: something deleted %s.", r.snap.OutputFile)
		return
	}
	if err != nil {
		r.remarkf("The output could not be read: %v", err)
		return
	}
	defer f.Close()
	text, err := readExcerpt(f, size)
	if err != nil {
		r.remarkf("The output could not be read: %v", err)
	}
	r.data.Stdout = text.Clip(bashOutput)
	if text.Bytes > 0 || len(text.Head)+len(text.Tail) > bashOutput {
		r.data.OutputPath, r.data.OutputSize = r.snap.OutputFile, size
		r.remarkf("The output was shortened. All %d bytes of it are in %s.", size, r.snap.OutputFile)
	}
}

const (
	// excerptPart is how much of either end of an output file is looked at: more than
	// is shown, since what was drawn over is not.
	excerptPart = 128 << 10
	// countLimit is how large a file may be for its lines to be counted: that takes some
	// milliseconds.
	countLimit = 64 << 20
)

// readExcerpt reads an output file, of a large one only both ends.
func readExcerpt(f io.ReaderAt, size int64) (e tool.Excerpt, err error) {
	if size <= 2*excerptPart {
		all, err := io.ReadAll(io.NewSectionReader(f, 0, size))
		return tool.Excerpt{Head: tool.Plain(all)}, err
	}
	head, tail := make([]byte, excerptPart), make([]byte, excerptPart)
	_, headErr := f.ReadAt(head, 0)
	_, tailErr := f.ReadAt(tail, size-excerptPart)
	if err := errors.Join(headErr, tailErr); err != nil {
		return e, err
	}
	e.Lines = -1
	if i, j := bytes.LastIndexByte(head, '\n'), bytes.IndexByte(tail, '\n'); i >= 0 && j >= 0 {
		head, tail = head[:i+1], tail[j+1:]
		if size <= countLimit {
			e.Lines, err = newlines(f, int64(len(head)), size-int64(len(tail)))
		}
	}
	e.Head, e.Tail = tool.Plain(head), tool.Plain(tail)
	e.Bytes = size - int64(len(head)+len(tail))
	return e, err
}

func newlines(f io.ReaderAt, from, to int64) (lines int64, err error) {
	buf := make([]byte, 64<<10)
	for section := io.NewSectionReader(f, from, to-from); ; {
		n, err := section.Read(buf)
		lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return -1, err
		}
	}
}

// ending says how the command ended.
func (r *bashReport) ending() {
	r.failed = true
	switch {
	case r.snap.Reason == task.ReasonLeaked:
		r.data.Interrupted = true
		r.remarkf("The command could not be ended: %s.", r.snap.Error)
	case r.snap.Reason == task.ReasonNoSpace:
		r.remarkf("No space is left on the disk that holds the output (%s), so some of it may be missing. Exit code %d.", r.snap.OutputFile, r.detail.Code)
	case r.snap.Reason == task.ReasonOutputLimit:
		r.data.Interrupted = r.snap.Status == task.Killed
		r.remarkf("The command was ended because its output reached the limit. Print less, or write to a file of its own.")
	case r.snap.Reason == task.ReasonTimeout:
		r.data.Interrupted, r.data.TimedOut = true, r.in.life.Milliseconds()
		r.remarkf("The command was ended because it had not finished after %v. If it needs longer, pass a larger timeout (at most %d).",
			r.in.life, bashTimeoutMax.Milliseconds())
	case r.snap.Status == task.Killed:
		r.data.Interrupted = true
		r.remarkf("The command was interrupted (%s).", r.snap.Reason)
	case r.detail.Signal != "":
		r.remarkf("Ended by signal: %s", r.detail.Signal)
	case r.detail.Ended && r.detail.Code == 1:
		r.data.Interpretation = meaningOfOne(r.in.Command)
		r.failed = r.data.Interpretation == ""
		r.remark(strings.TrimSpace("Exit code 1 " + r.data.Interpretation))
	case r.detail.Ended && r.detail.Code != 0:
		r.remarkf("Exit code %d", r.detail.Code)
	case r.snap.Status == task.Failed:
		r.remarkf("The command failed: %s", r.snap.Error)
	default:
		r.failed = false
	}
}

// leftovers names the processes that outlive the command.
func (r *bashReport) leftovers() {
	if r.snap.Reason == task.ReasonLeaked || len(r.detail.Left) == 0 {
		return
	}
	const most = 10
	var names []string
	for i, p := range r.detail.Left {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(r.detail.Left)-most))
			break
		}
		names = append(names, fmt.Sprintf("pid %d %s", p.PID, tool.Plain([]byte(p.Command))))
	}
	count := "1 process"
	if n := len(r.detail.Left); n > 1 {
		count = fmt.Sprintf("%d processes", n)
	}
	r.remarkf("%s still running: %s", count, strings.Join(names, "; "))
}
