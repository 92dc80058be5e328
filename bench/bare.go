package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
)

// playBare is the variable that makes this program do what agents do, without an agent: it
// says which work, as JSON.
const playBare = "HEDDLE_BENCH_BARE"

// errand is the work of a conversation with agents: the main agent asks, all others ask and
// run a command in turn, the main agent asks again.
type errand struct {
	URL    string
	Agents int
	Turns  int // commands of each agent
	Size   int // of each request of an agent, in bytes
	Limit  int // of requests in flight; 0: none
}

// command returns a process that does the errand.
func (e errand) command() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	work, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), playBare+"="+string(work))
	return cmd, nil
}

// bare does an errand.
func bare(work string) error {
	var e errand
	if err := json.Unmarshal([]byte(work), &e); err != nil {
		return err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, max(e.Agents, 1)
	client := &http.Client{Transport: t}
	body := bytes.Repeat([]byte{' '}, e.Size)
	if err := e.ask(client, "", body); err != nil {
		return err
	}
	gate := make(chan struct{}, e.Limit) // nobody goes through it if there is no limit
	var agents sync.WaitGroup
	failed := make([]error, e.Agents)
	for i := range e.Agents {
		agents.Go(func() { failed[i] = e.part(client, gate, fmt.Sprint("a", i), body) })
	}
	agents.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return e.ask(client, "", body)
}

// part does what one agent does.
func (e errand) part(c *http.Client, gate chan struct{}, id string, body []byte) error {
	for turn := range e.Turns + 1 {
		if turn > 0 {
			if out, err := exec.Command("bash", "-c", "true").CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
		}
		if e.Limit > 0 {
			gate <- struct{}{}
		}
		err := e.ask(c, id, body)
		if e.Limit > 0 {
			<-gate
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask makes one request and reads all of its answer.
func (e errand) ask(c *http.Client, id string, body []byte) error {
	req, err := http.NewRequest(http.MethodPost, e.URL+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return err
	}
	if id != "" {
		req.Header.Set(agentHeader, `{"id":"`+id+`"}`)
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}
