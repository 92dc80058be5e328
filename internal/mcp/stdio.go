package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"heddle/internal/process"
	"heddle/internal/tool"
)

const (
	// maxMessage is how long one message of a server may be. Its text goes to a file
	// anyway if it is long; what is longer than this is no answer but a flood.
	maxMessage = 64 << 20
	// maxNoise is how much a server may print on its standard output, in one go, that is
	// no message: some greet, none should do only that.
	maxNoise = 16 << 20
	// stderrTail is how much is kept of what a server printed last on standard error.
	stderrTail = 8 << 10

	farewell = 500 * time.Millisecond // to end by itself when its standard input is closed
	grace    = 2 * time.Second        // to end when it is asked to
	drain    = 250 * time.Millisecond // for what is still in the pipe when it has exited
)

// stdio is a server that is a command of this machine: one message a line.
type stdio struct {
	config *Config
	opts   Options

	mu      sync.Mutex // for what follows, until it is started
	ended   bool
	proc    *process.Process
	in, out *os.File
	byUs    bool // it did not end by itself
	helpers sync.WaitGroup

	lines   *bufio.Reader // belongs to the reader
	pending []jsonrpc.Message
	writing chan struct{} // capacity 1: held by who writes
	stderr  *tail
	heard   chan struct{} // closed when nothing more comes on stderr

	once      sync.Once
	survivors error
}

func newStdio(c *Config, o Options) *stdio {
	return &stdio{config: c, opts: o, writing: make(chan struct{}, 1), stderr: &tail{limit: stderrTail}, heard: make(chan struct{})}
}

// Connect starts the command.
func (s *stdio) Connect(context.Context) (sdk.Connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, errors.New("it was ended before it began")
	}
	spec, err := s.spec()
	if err != nil {
		return nil, err
	}
	var pipes [3]struct{ r, w *os.File }
	for i := range pipes {
		if pipes[i].r, pipes[i].w, err = os.Pipe(); err != nil {
			for _, p := range pipes[:i] {
				p.r.Close()
				p.w.Close()
			}
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
	}
	spec.Stdin, spec.Stdout, spec.Stderr = pipes[0].r, pipes[1].w, pipes[2].w
	s.proc, err = process.Start(spec)
	for _, f := range []*os.File{pipes[0].r, pipes[1].w, pipes[2].w} {
		f.Close() // the command has its own
	}
	if err != nil {
		for _, f := range []*os.File{pipes[0].w, pipes[1].r, pipes[2].r} {
			f.Close()
		}
		return nil, err
	}
	s.in, s.out = pipes[0].w, pipes[1].r
	s.lines = bufio.NewReaderSize(s.out, 64<<10)
	errs := pipes[2].r
	s.helpers.Go(func() {
		_, _ = io.Copy(s.stderr, errs)
		close(s.heard)
	})
	s.helpers.Go(func() { // what holds the pipes open after the command is gone says nothing more
		<-s.proc.Done()
		_ = s.out.SetReadDeadline(time.Now().Add(drain))
		_ = errs.SetReadDeadline(time.Now().Add(drain))
	})
	return &answering{Connection: s}, nil
}

// spec says what to start. A command without a slash is looked up in the PATH that it
// will have.
func (s *stdio) spec() (process.Spec, error) {
	var env []string
	if s.opts.Env != nil {
		env = s.opts.Env()
	}
	for k, v := range s.config.Env {
		env = append(env, k+"="+v)
	}
	dir := cmp.Or(s.config.Dir, s.opts.Dir)
	path, err := lookPath(s.config.Command, dir, env)
	if err != nil {
		return process.Spec{}, err
	}
	return process.Spec{
		Path: path, Args: append([]string{s.config.Command}, s.config.Args...), Dir: dir, Env: env,
		Mark: rand.Text(), Within: s.opts.Within,
	}, nil
}

// lookPath finds a program as a shell with that environment would.
func lookPath(command, dir string, env []string) (string, error) {
	if strings.HasPrefix(command, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			command = filepath.Join(home, command[2:])
		}
	}
	if strings.ContainsRune(command, filepath.Separator) {
		if !filepath.IsAbs(command) {
			command = filepath.Join(dir, command)
		}
		return command, nil
	}
	search := os.Getenv("PATH")
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			search = v // the last one counts, as for the command itself
		}
	}
	for _, d := range filepath.SplitList(search) {
		if !filepath.IsAbs(d) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(d, command)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %q in the PATH; install it, or give its whole path", command)
}

// Read returns the next message. Lines that are none are skipped.
func (s *stdio) Read(context.Context) (jsonrpc.Message, error) {
	noise := 0
	for len(s.pending) == 0 {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		if s.pending = messages(line); len(s.pending) > 0 {
			break
		}
		if noise += len(line) + 1; noise > maxNoise {
			return nil, fmt.Errorf("it printed %d MB on its standard output that is no message", noise>>20)
		}
	}
	m := s.pending[0]
	s.pending = s.pending[1:]
	return m, nil
}

// line reads one line, the last of which may have no end.
func (s *stdio) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.lines.ReadSlice('\n')
		if len(line)+len(part) > maxMessage {
			return nil, fmt.Errorf("it sent a message of more than %d MB", maxMessage>>20)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(bytes.TrimSpace(line)) > 0 && errors.Is(err, io.EOF):
			return line, nil
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed):
			return nil, io.EOF
		default:
			return nil, err
		}
	}
}

// messages returns what a line holds: a message, a batch of them, or none.
func messages(line []byte) []jsonrpc.Message {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' && line[0] != '[' {
		return nil
	}
	parts := []json.RawMessage{line}
	if line[0] == '[' && json.Unmarshal(line, &parts) != nil {
		return nil
	}
	var list []jsonrpc.Message
	for _, p := range parts {
		if m, err := jsonrpc.DecodeMessage(p); err == nil {
			list = append(list, m)
		}
	}
	return list
}

// Write sends one message. If ctx is done in the middle of it the connection is over: half
// a line cannot be taken back.
func (s *stdio) Write(ctx context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = s.in.SetWriteDeadline(time.Now())
		close(expired)
	})
	n, err := s.in.Write(append(text, '\n'))
	if !stop() {
		<-expired
		err = cmp.Or(err, context.Cause(ctx))
	}
	switch {
	case n > len(text):
		_ = s.in.SetWriteDeadline(time.Time{})
		return nil // it was written all the same
	case n > 0: // the reader sees the end; nobody writes after half a line
		_ = s.out.SetReadDeadline(time.Now())
	default:
		_ = s.in.SetWriteDeadline(time.Time{})
	}
	return err
}

// SessionID is what connections over HTTP have.
func (s *stdio) SessionID() string { return "" }

// Close ends the command with everything that it started.
func (s *stdio) Close() error { return s.end() }

func (s *stdio) end() error {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	if s.proc == nil {
		return nil
	}
	s.once.Do(func() {
		s.in.Close()
		polite := time.NewTimer(farewell)
		select {
		case <-s.proc.Done():
		case <-polite.C:
			s.mu.Lock()
			s.byUs = true
			s.mu.Unlock()
		}
		polite.Stop()
		if _, err := s.proc.End(context.Background(), grace); err != nil {
			s.survivors = fmt.Errorf("the MCP server %q: %w", s.config.Name, err)
			s.out.Close() // else it would be read for ever
		}
		s.helpers.Wait()
		s.out.Close()
	})
	return s.survivors
}

// last says how the command ended, and what it said last.
func (s *stdio) last() string {
	if s.proc == nil {
		return ""
	}
	s.mu.Lock()
	byUs := s.byUs
	s.mu.Unlock()
	var text string
	select {
	case <-s.proc.Done():
		if byUs {
			break // how it ended says nothing then
		}
		exit, err := s.proc.Wait(context.Background())
		if text = "it ended with " + exit.String(); err != nil {
			text = err.Error()
		}
	default:
	}
	if said := strings.TrimSpace(tool.Plain(s.stderr.bytes())); said != "" {
		if text != "" {
			text += "; "
		}
		text += "its last words: " + said
	}
	return text
}

// wait waits until the command has exited and its last words are there.
func (s *stdio) wait(ctx context.Context) {
	if s.proc == nil {
		return
	}
	_, _ = s.proc.Wait(ctx)
	select {
	case <-s.heard:
	case <-ctx.Done():
	}
}

func (s *stdio) refused() bool { return false }
