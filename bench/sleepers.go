package main

import (
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// sleeping is how many commands of a session sleep in the background.
const sleeping = 100

// sleepers measures the processor time of a session that waits for its next message
// while commands sleep in the background, without that of the commands.
func (b *bench) sleepers() ([]row, error) {
	s, err := serve(sleeping)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	s.call = func(int) any { return map[string]any{"command": "sleep 600", "run_in_background": true} }
	all := make(chan struct{})
	s.pace = func(n int) {
		if n == sleeping {
			close(all)
		}
	}
	cmd, err := b.command(s, "--input-format", "stream-json", "--output-format", "stream-json", "--shell-grace", "0s")
	if err != nil {
		return nil, err
	}
	cmd.Args = append(cmd.Args[:1], cmd.Args[3:]...) // no -p and no prompt: messages come on standard input
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, err := launch(cmd)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(in, `{"type":"user","message":{"role":"user","content":"go"}}`)
	select {
	case <-all:
	case err := <-r.over:
		return nil, fmt.Errorf("the session ended early: %w", err)
	}
	<-time.After(time.Second) // for the last turn to end
	share, err := shareOf(cmd.Process.Pid, b.rest)
	in.Close()
	// A run that ends commands says so by its exit code.
	var code *exec.ExitError
	if end := <-r.over; end != nil && !(errors.As(end, &code) && code.ExitCode() == 3) {
		return nil, end
	}
	if err != nil {
		return nil, err
	}
	return []row{{
		fmt.Sprintf("an idle session, %d commands sleep", sleeping), fmt.Sprintf("%.3f %% of a core", 100*share), "0.1 %", share / 0.001, 1,
	}}, nil
}

// shareOf is how much of a core a process uses for so long.
func shareOf(pid int, d time.Duration) (float64, error) {
	before, err := ownTime(pid)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	<-time.After(d)
	after, err := ownTime(pid)
	return float64(after-before) / float64(time.Since(begin)), err
}
