package main

import (
	"context"
	"net"

	"heddle/internal/model/fakeapi"
	"heddle/internal/model/scripted"
)

// runFakeAPI serves a script over the wire protocols of real providers.
func runFakeAPI(ctx context.Context, args []string, std stdio) error {
	o := fakeapi.Options{Log: std.out}
	fs := newFlags("fakeapi")
	fs.StringVar(&o.Script, "script", "", "play `FILE`; see docs/scripted-models.md")
	fs.StringVar(&o.Addr, "addr", "127.0.0.1:0", "listen at `ADDR`; port 0 takes a free one and prints it")
	fs.StringVar(&o.Record, "record", "", "append every request to `FILE`, as JSON lines")
	fs.DurationVar(&o.For, "for", 0, "end after `TIME`, such as 10m; 0 waits for a signal")
	if done, err := parseAll(fs, args, std, "fakeapi --script F [--addr A] [--record F] [--for TIME]"); done || err != nil {
		return err
	}
	if o.Script == "" {
		return usagef("fakeapi needs --script FILE; docs/scripted-models.md says how to write one")
	}
	if o.For < 0 {
		return usagef("fakeapi: --for %v: want a time above zero, or 0 for no end", o.For)
	}
	if _, err := scripted.LoadFile(o.Script); err != nil {
		return usagef("fakeapi: %v", err)
	}
	if _, _, err := net.SplitHostPort(o.Addr); o.Addr != "" && err != nil {
		return usagef("fakeapi: --addr: %v", err)
	}
	return fakeapi.Run(ctx, o)
}
