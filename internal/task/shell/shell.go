// Package shell is the kind of task that runs a command of the shell. The
// command's output goes straight into the task's output file; nothing is
// copied.
package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"heddle/internal/process"
	"heddle/internal/task"
)

// Runner runs one command.
type Runner struct {
	Command string
	Dir     string   // where it starts
	Env     []string // see [Environment]
	// Timeout ends the command; 0 means never.
	Timeout time.Duration
	// Strays takes in the processes that the command leaves behind.
	Strays *Strays
}

// grace is how long a command may take to end after it was asked to.
const grace = 2 * time.Second

// Detail is what a shell task has to say besides what all tasks have.
type Detail struct {
	Command string `json:"command"`
	PID     int    `json:"pid,omitempty"`
	Ended   bool   `json:"ended"`
	// Code is the exit code of the command itself, -1 if a signal ended it.
	Code   int    `json:"exit_code"`
	Signal string `json:"signal,omitempty"`
	// Dir is the working directory that the command left, empty if it is not known.
	Dir string `json:"cwd,omitempty"`
	// Left are the processes that the command left behind; the session ends them.
	Left []Process `json:"left,omitempty"`
	// Identity lets a later run of the program find the processes again.
	Identity process.Identity `json:"identity"`
}

// Process is a process that outlived its command.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// Kind makes Detail a [task.Detail].
func (Detail) Kind() task.Kind { return task.LocalBash }

// Run runs the command to the exit of the command itself: not to the end of its
// output, which a process that it left behind may hold open for ever.
func (r Runner) Run(ctx context.Context, t *task.Task) error {
	files, err := r.prepare(t)
	if err != nil {
		return err
	}
	defer files.remove()
	shell, err := findShell()
	if err != nil {
		return err
	}
	p, err := process.Start(process.Spec{
		Path: shell, Args: files.args(shell), Dir: r.Dir, Env: r.Env,
		Stdout: t.Output, Stderr: t.Output, Mark: string(t.ID),
	})
	if err != nil {
		return err
	}
	d := Detail{Command: r.Command, PID: p.PID(), Identity: p.Identity()}
	t.Update(func(s *task.Snapshot) { s.Detail = d })
	if r.Timeout > 0 {
		stop := time.AfterFunc(r.Timeout, func() { t.Stop(task.ErrTimeout) })
		defer stop.Stop()
	}
	exit, err := p.Wait(ctx)
	if err != nil {
		return r.end(p, t, d)
	}
	d.Ended, d.Code, d.Dir = true, exit.Code, files.dir()
	for _, m := range p.Members() {
		d.Left = append(d.Left, Process{m.PID, m.Command})
	}
	if exit.Signal != 0 {
		d.Signal = signalName(exit.Signal)
	}
	t.Update(func(s *task.Snapshot) { s.Detail = d })
	if len(d.Left) > 0 && r.Strays != nil {
		r.Strays.add(p)
	}
	return endOf(exit)
}

// end ends the whole tree of a command that was told to stop.
func (r Runner) end(p *process.Process, t *task.Task, d Detail) error {
	survivors, err := p.End(context.Background(), grace) // bounded by grace and two seconds
	exit, waited := process.Exit{}, false
	select {
	case <-p.Done():
		exit, _ = p.Wait(context.Background())
		waited = true
	default:
	}
	d.Ended, d.Code = waited, exit.Code
	if exit.Signal != 0 {
		d.Signal = signalName(exit.Signal)
	}
	for _, m := range survivors {
		d.Left = append(d.Left, Process{m.PID, m.Command})
	}
	t.Update(func(s *task.Snapshot) { s.Detail = d })
	if len(survivors) > 0 {
		return &task.EndError{Reason: task.ReasonLeaked, Err: fmt.Errorf("still alive after it was killed: %v", survivors)}
	}
	return errors.Join(errors.New("the command was ended"), err)
}

// endOf words a bad exit.
func endOf(exit process.Exit) error {
	switch {
	case exit.Signal != 0:
		return &task.EndError{Reason: task.ReasonSignal, Err: errors.New(exit.String())}
	case exit.Code != 0:
		return &task.EndError{Reason: task.ReasonExit, Err: errors.New(exit.String())}
	}
	return nil
}

func signalName(s syscall.Signal) string { return s.String() }

// findShell returns bash, or sh where there is none.
func findShell() (string, error) {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", errors.New("there is neither bash nor sh on PATH; commands cannot run")
}

// longCommand is above what one argument of a program may hold on Linux, 128 KiB.
const longCommand = 100 << 10

// files are what a command needs beside its output file.
type files struct {
	command string
	cwd     string // the command's last working directory goes here
	script  string // holds the command, if it is too long for an argument
}

func (r Runner) prepare(t *task.Task) (files, error) {
	base := strings.TrimSuffix(t.Output.Name(), ".output")
	f := files{command: r.Command, cwd: base + ".cwd"}
	if strings.IndexByte(r.Command, 0) >= 0 {
		return f, errors.New("a command cannot hold a NUL byte")
	}
	if len(r.Command) > longCommand {
		f.script = base + ".sh"
		if err := os.WriteFile(f.script, []byte(r.Command), 0o600); err != nil {
			return f, fmt.Errorf("write the command to a file: %w", err)
		}
	}
	return f, nil
}

// args returns the arguments of the shell. The directory is written when the shell
// exits, also by exit; its exit code stays the command's own.
func (f files) args(shell string) []string {
	note := "pwd -P >" + quote(f.cwd) + " 2>/dev/null"
	script := "trap '" + strings.ReplaceAll(note, "'", `'\''`) + "' EXIT\n"
	if f.script != "" {
		return []string{filepath.Base(shell), "-c", script + ". " + quote(f.script)}
	}
	return []string{filepath.Base(shell), "-c", script + f.command}
}

// quote puts s into double quotes for the shell.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(s) + `"`
}

// dir returns the working directory that the command left.
func (f files) dir() string {
	b, err := os.ReadFile(f.cwd)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(b), "\n")
}

func (f files) remove() {
	os.Remove(f.cwd)
	if f.script != "" {
		os.Remove(f.script)
	}
}
