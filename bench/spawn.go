package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Of the measurement of agents that wait for a model.
const (
	fewWaiting  = 100
	manyWaiting = 1000
	mostWaiting = 64 << 10 // bytes of each
)

// waiting measures the memory of an agent that waits for the answer to its first request:
// how much larger heddle becomes with many of them, shared by those that are more. That
// counts all there is: connections, stacks, and garbage that is not collected yet.
func (b *bench) waiting() ([]row, error) {
	few, err := b.waitingWith(fewWaiting)
	if err != nil {
		return nil, err
	}
	many, err := b.waitingWith(manyWaiting)
	if err != nil {
		return nil, err
	}
	each := float64(many-few) / (manyWaiting - fewWaiting)
	return []row{{
		"memory of the process for each agent that waits", fmt.Sprintf("%.1f KiB", each/(1<<10)),
		fmt.Sprintf("%d KiB", mostWaiting>>10), each / mostWaiting, 1,
	}}, nil
}

// waitingWith is the memory of heddle while n agents wait, in bytes.
func (b *bench) waitingWith(n int) (int64, error) {
	s := newSwarm(&swarm{rounds: 1, agents: n, hold: make(chan struct{})})
	defer s.Close()
	s.waiting.Add(n)
	cmd, err := b.withAgents(s, 0)
	if err != nil {
		return 0, err
	}
	r, err := launch(cmd)
	if err != nil {
		return 0, err
	}
	all := make(chan struct{})
	go func() { s.waiting.Wait(); close(all) }()
	select {
	case <-all:
	case err := <-r.over:
		return 0, fmt.Errorf("the run ended early: %w", err)
	}
	size, err := ownMemory(cmd.Process.Pid)
	close(s.hold)
	return size, errors.Join(err, <-r.over)
}

// spawns is how often one agent is started after the other.
const spawns = 40

// firstSpawns are not counted: a program is slow at what it does for the first time.
const firstSpawns = 3

// spawn measures from the answer that calls an agent to the first request of that, against
// a process that does nothing, which takes about 2 ms; in a repository, where git is asked
// about its state first, against git alone. The two take turns.
func (b *bench) spawn() ([]row, error) {
	ours, bare, err := b.spawned(0, "", func(dir string, _ int) error { return command(dir, "bash", "-c", "true") })
	if err != nil {
		return nil, err
	}
	rows := []row{compare("an agent: call to first request | bash -c true", ours, bare, 1)}
	const files = 1000
	ours, bare, err = b.spawned(files, "", func(dir string, _ int) error { return command(dir, "git", "status", "--porcelain=v2", "--branch") })
	if err != nil {
		return nil, err
	}
	return append(rows, compare(fmt.Sprintf("  in a repository of %d files | git status", files), ours, bare, 1.5)), nil
}

// worktree measures the same of an agent with a checkout of its own, against git making one
// of the same repository.
func (b *bench) worktree() ([]row, error) {
	var rows []row
	for _, files := range []int{10, 1000} {
		ours, bare, err := b.spawned(files, "worktree", func(dir string, n int) error {
			return command(dir, "git", "worktree", "add", "-q", "-b", fmt.Sprint("own-", n), dir+fmt.Sprint("-own-", n))
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, compare(fmt.Sprintf("an agent with a checkout of %d files | git worktree add", files), ours, bare, 1.2))
	}
	return rows, nil
}

// spawned starts one agent after the other in a repository of so many files, or in none,
// and before each the control.
func (b *bench) spawned(files int, isolation string, control func(dir string, n int) error) (ours, bare []time.Duration, err error) {
	s := newSwarm(&swarm{rounds: spawns, agents: 1})
	defer s.Close()
	s.call = func(int) any {
		return map[string]any{"description": "work", "prompt": "Do your part.", "isolation": isolation}
	}
	cmd, err := b.withAgents(s, 0)
	if err == nil && files > 0 {
		err = repository(cmd.Dir, files)
	}
	if err != nil {
		return nil, nil, err
	}
	var failure error
	s.pace = func(n int) {
		if n < spawns {
			begin := time.Now()
			failure = errors.Join(failure, control(cmd.Dir, n))
			bare = append(bare, time.Since(begin))
		}
	}
	if _, err := timed(cmd); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(failure, s.whole(spawns)); err != nil {
		return nil, nil, err
	}
	return s.spawned[firstSpawns:], bare[firstSpawns:], nil
}

// repository makes dir one with a commit of so many files.
func repository(dir string, files int) error {
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("d%d", i%20), fmt.Sprintf("e%d", i%7), fmt.Sprintf("f%d.txt", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(strings.Repeat(fmt.Sprintln("line", i), 100)), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A", "--", ":!.state"}, {"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "first"},
	} {
		if err := command(dir, "git", args...); err != nil {
			return err
		}
	}
	return nil
}

func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	_, err := timed(cmd)
	return err
}
