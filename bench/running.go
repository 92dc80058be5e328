package main

import (
	"bytes"
	"fmt"
	"os/exec"
)

// running is a program that was started and is looked at while it runs.
type running struct{ over chan error } // gets how it ended, once

func launch(cmd *exec.Cmd) (*running, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &running{over: make(chan error, 1)}
	go func() {
		err := cmd.Wait()
		if err != nil {
			err = fmt.Errorf("%v: %w\n%s", cmd.Args, err, out.Bytes())
		}
		r.over <- err
	}()
	return r, nil
}
