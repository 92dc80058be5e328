package main

import (
	"fmt"
	"os/exec"
	"time"
)

// idleFor is how long a session is watched while nothing happens.
const idleFor = 10 * time.Second

// idle measures what a session costs that waits for its next message: the processor
// time of one that waits, less that of one that ends at once.
func (b *bench) idle() ([]row, error) {
	rest, err := b.session(idleFor)
	if err != nil {
		return nil, err
	}
	none, err := b.session(0)
	if err != nil {
		return nil, err
	}
	share := max(float64(rest-none), 0) / float64(idleFor)
	return []row{{"an idle session", fmt.Sprintf("%.2f %% of a core", 100*share), "0.2 %", share / 0.002, 1}}, nil
}

// session runs a session that gets no message, and returns its processor time.
func (b *bench) session(d time.Duration) (time.Duration, error) {
	s, err := serve(0)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	cmd, err := b.command(s, "--input-format", "stream-json", "--output-format", "stream-json")
	if err != nil {
		return 0, err
	}
	cmd.Args = append(cmd.Args[:1], cmd.Args[3:]...) // no -p and no prompt: messages come on standard input
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	over := make(chan error, 1)
	go func() { over <- wait(cmd) }()
	select {
	case <-time.After(d):
		in.Close()
		err = <-over
	case err = <-over:
	}
	if err != nil {
		return 0, err
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func wait(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return nil
}
