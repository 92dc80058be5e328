package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// printing is how often the command is run that prints a lot.
const printing = 4

// printed is what is measured while a session runs such commands.
type printed struct {
	work     string // where the session works
	size     int64
	ours     []time.Duration // from the call to its result
	bare     []time.Duration
	own, its time.Duration // processor time of heddle, and of the control
	memory   []int64
}

// output measures a command that prints a lot against the shell that sends the same to a
// file itself. The two take turns, and the files are on the same disk.
func (b *bench) output() ([]row, error) {
	s, err := serve(printing + 1)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	command := fmt.Sprintf("head -c %d /dev/zero", b.printed)
	s.call = func(n int) any {
		if n == 0 {
			return map[string]any{"command": "true"} // after that, a session has all it needs
		}
		return map[string]any{"command": command, "timeout": 600_000}
	}
	cmd, err := b.command(s)
	if err != nil {
		return nil, err
	}
	p := &printed{work: cmd.Dir, size: b.printed}
	started := make(chan struct{})
	var answered time.Time
	var own time.Duration
	var failure error
	s.pace = func(n int) {
		arrived := time.Now()
		<-started
		if failure == nil && n >= 2 {
			p.ours = append(p.ours, arrived.Sub(answered))
			failure = p.step(cmd.Process.Pid, own, command)
		}
		if failure == nil && n == 1 {
			failure = p.remember(cmd.Process.Pid)
		}
		if failure == nil {
			own, failure = ownTime(cmd.Process.Pid)
		}
		answered = time.Now()
	}
	r, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	close(started)
	if err := <-r.over; err != nil {
		return nil, err
	}
	if failure != nil || len(p.ours) != printing {
		return nil, fmt.Errorf("only %d commands were measured: %w", len(p.ours), failure)
	}
	return p.rows(), nil
}

// step notes what the command has cost that has just ended, and runs the control.
func (p *printed) step(pid int, own time.Duration, command string) error {
	now, err := ownTime(pid)
	if err != nil {
		return err
	}
	p.own += now - own
	if err := p.remember(pid); err != nil {
		return err
	}
	outputs, err := filepath.Glob(filepath.Join(p.work, ".state", "projects", "*", "*", "tasks", "*.output"))
	if err != nil {
		return err
	}
	for _, file := range outputs { // at once: they are large
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	file := filepath.Join(p.work, "control")
	control := exec.Command("bash", "-c", command+" > "+file)
	took, err := timed(control)
	if err != nil {
		return err
	}
	p.bare = append(p.bare, took)
	p.its += control.ProcessState.UserTime() + control.ProcessState.SystemTime()
	info, err := os.Stat(file)
	if err == nil && info.Size() != p.size {
		err = fmt.Errorf("the control wrote %d bytes", info.Size())
	}
	if err != nil {
		return err
	}
	return os.Remove(file)
}

func (p *printed) remember(pid int) error {
	m, err := ownMemory(pid)
	p.memory = append(p.memory, m)
	return err
}

func (p *printed) rows() []row {
	grown := float64(p.memory[len(p.memory)-1] - p.memory[0])
	share := float64(p.own) / float64(p.its)
	return []row{
		compare(fmt.Sprintf("a command that prints %d MB | bash -c '… > file'", p.size/1e6), p.ours, p.bare, 1/0.95),
		{"  heddle's processor time meanwhile | the command's", fmt.Sprintf("%.2f ms", float64(p.own.Microseconds())/1000/printing),
			fmt.Sprintf("%.2f ms", float64(p.its.Microseconds())/1000/printing), share, 0.02},
		{"  growth of heddle's memory meanwhile", fmt.Sprintf("%.2f MB", grown/1e6), "5 MB", grown / 5e6, 1},
	}
}
