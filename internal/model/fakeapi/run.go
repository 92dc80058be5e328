package fakeapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"heddle/internal/model/scripted"
)

// Options say how [Run] serves.
type Options struct {
	Script string        // the file to play
	Addr   string        // host:port; port 0 takes a free one
	Record string        // a file that gets a JSON line for each request; empty: none
	For    time.Duration // ends by itself after so long; 0: when ctx is done
	Log    io.Writer     // gets the address at the beginning and the report at the end
	// Public allows an address that other machines reach.
	Public bool
}

// Run serves a script until ctx is done.
func Run(ctx context.Context, o Options) (err error) {
	script, err := scripted.LoadFile(o.Script)
	if err != nil {
		return err
	}
	if err := checkAddr(o); err != nil {
		return err
	}
	var record io.Writer
	if o.Record != "" {
		file, err := os.OpenFile(o.Record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("open the record: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		record = file
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	f := NewServer(script, record)
	f.bodies = false // nobody asks for them
	if o.Log == nil {
		o.Log = io.Discard
	}
	fmt.Fprintf(o.Log, "export ANTHROPIC_BASE_URL=http://%s\nexport OPENAI_BASE_URL=http://%s/v1\n", l.Addr(), l.Addr())
	if o.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.For)
		defer cancel()
	}
	err = serve(ctx, l, f)
	fmt.Fprintf(o.Log, "%s\n", f.Report())
	return err
}

func checkAddr(o Options) error {
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return fmt.Errorf("address %q: want host:port, such as 127.0.0.1:0", o.Addr)
	}
	if ip := net.ParseIP(host); !o.Public && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("address %q is not on loopback: other machines would reach it; use 127.0.0.1:0", o.Addr)
	}
	return nil
}

// serve serves until ctx is done. Answers that are on their way are broken off.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		_ = srv.Close() // the listener's error is that of Serve
	})
	err := srv.Serve(l)
	if !stop() {
		<-closed
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}
