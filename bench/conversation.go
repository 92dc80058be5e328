package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// command returns a headless run against a server, in a folder and a state
// directory of its own.
func (b *bench) command(s *server, args ...string) (*exec.Cmd, error) {
	work, err := os.MkdirTemp(b.dir, "work")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(b.heddle, append([]string{"-p", "go", "--allowedTools", "Bash(true),Bash(head *),Bash(sleep *)"}, args...)...)
	cmd.Dir = work
	cmd.Env = append(os.Environ(),
		"HEDDLE_HOME="+filepath.Join(work, ".state"), "HOME="+work,
		"ANTHROPIC_BASE_URL="+s.url, "ANTHROPIC_API_KEY=bench")
	return cmd, nil
}

// firstRequest measures from the start of the process to the arrival of its
// first request.
func (b *bench) firstRequest() ([]row, error) {
	ours, err := b.firstRequests("")
	if err != nil {
		return nil, err
	}
	var bare []time.Duration
	for range b.runs {
		e, err := timed(exec.Command(b.hello))
		if err != nil {
			return nil, err
		}
		bare = append(bare, e)
	}
	return []row{compare("heddle -p: start to first request | hello world", ours, bare, 5)}, nil
}

// conversation measures the time between an answer that calls Bash{true} and the next
// request, early and late, against starting the same command directly.
func (b *bench) conversation() ([]row, error) {
	s, err := serve(b.turns)
	if err != nil {
		return nil, err
	}
	cmd, err := b.command(s)
	if err != nil {
		return nil, err
	}
	if _, err := timed(cmd); err != nil {
		return nil, err
	}
	gaps := s.gaps()
	if len(gaps) < 40 || len(s.bare) == 0 {
		return nil, fmt.Errorf("only %d turns", len(gaps))
	}
	early, late := gaps[3:23], gaps[len(gaps)-20:]
	return []row{
		compare("a turn of Bash{true} | os/exec bash -c true", gaps, s.bare, 1.5),
		compare(fmt.Sprintf("turns around %d | turns around 5–20", len(gaps)), late, early, 1.3),
	}, nil
}

// memory measures the peak of a run of 50 turns.
func (b *bench) memory() ([]row, error) {
	s, err := serve(50)
	if err != nil {
		return nil, err
	}
	cmd, err := b.command(s)
	if err != nil {
		return nil, err
	}
	if _, err := timed(cmd); err != nil {
		return nil, err
	}
	s.stop()
	peak := peakMiB(cmd.ProcessState.SysUsage().(*syscall.Rusage))
	return []row{{"peak memory, 50 turns", fmt.Sprintf("%.1f MiB", peak), "30 MB", peak / (30e6 / (1 << 20)), 1}}, nil
}
