package main

import (
	"fmt"
	"os/exec"
	"time"
)

// What agents do while they are measured: so many commands each, and every answer of the
// model takes so long.
const (
	agentTurns   = 3
	agentLatency = 200 * time.Millisecond
)

// agents measures agents that work at once, against a program that makes the same requests
// and runs the same commands without any agent.
func (b *bench) agents() ([]row, error) {
	var rows []row
	for _, n := range []int{32, 100} {
		ours, bare, err := b.atOnce(n, 0, max(b.runs/3, 1))
		if err != nil {
			return nil, err
		}
		rows = append(rows, compare(fmt.Sprintf("%d agents at once, %d commands each | no agents", n, agentTurns), ours, bare, 1.3))
	}
	return rows, nil
}

// Of the measurement of a thousand agents.
const (
	manyAgents = 1000
	manyGate   = 50 // requests in flight
)

// thousand measures many agents behind the gate of a provider, which is what may slow them:
// against the time that their requests take one gateful after the other, and against a program
// without agents behind such a gate.
func (b *bench) thousand() ([]row, error) {
	ours, bare, err := b.atOnce(manyAgents, manyGate, 1)
	if err != nil {
		return nil, err
	}
	bound := time.Duration(manyAgents*(agentTurns+1)/manyGate+2) * agentLatency // and two of the main agent
	what := fmt.Sprintf("%d agents, %d requests in flight", manyAgents, manyGate)
	return []row{
		compare(what+" | what that allows", ours, []time.Duration{bound}, 1.3),
		compare(what+" | no agents", ours, bare, 1.3),
	}, nil
}

// atOnce runs n agents in a repository so often, and in turn with them the program that is none. limit is
// how many requests may be in flight; 0: any number.
func (b *bench) atOnce(n, limit, runs int) (ours, bare []time.Duration, err error) {
	for range runs {
		s := newSwarm(&swarm{rounds: 1, agents: n, turns: agentTurns, latency: agentLatency})
		cmd, err := b.withAgents(s, limit)
		if err == nil {
			err = repository(cmd.Dir, 100)
		}
		if err == nil {
			var took time.Duration
			took, err = timed(cmd)
			ours = append(ours, took)
		}
		if err == nil {
			err = s.whole(n)
		}
		s.Close()
		if err != nil {
			return nil, nil, err
		}
		control := newSwarm(&swarm{rounds: 1, agents: n, turns: agentTurns, latency: agentLatency})
		cmd, err = errand{URL: control.URL, Agents: n, Turns: agentTurns, Size: s.largest(), Limit: limit}.command()
		if err == nil {
			var took time.Duration
			took, err = timed(cmd)
			bare = append(bare, took)
		}
		control.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	return ours, bare, nil
}

// withAgents returns a headless run against a swarm, whose settings allow all of its agents.
func (b *bench) withAgents(s *swarm, limit int, args ...string) (*exec.Cmd, error) {
	cmd, err := b.command(&server{url: s.URL}, args...)
	if err != nil {
		return nil, err
	}
	all := s.rounds * s.agents
	return cmd, settle(cmd, map[string]any{
		"agents":    map[string]any{"maxConcurrent": all, "maxTotal": all},
		"providers": map[string]any{"anthropic": map[string]any{"maxConcurrent": limit}},
	})
}

// whole reports whether n agents did all that they were to do.
func (s *swarm) whole(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	done := 0
	for id, requests := range s.count {
		if id != "" && requests == s.turns+1 {
			done++
		}
	}
	if done != n {
		return fmt.Errorf("%d of %d agents did their work", done, n)
	}
	return nil
}
