// Package fakeapi serves a script over the wire protocols of real providers, so
// that everything from the HTTP client up is tested with the same scenes. It is as
// strict as they are: a request that they would refuse is refused.
package fakeapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"heddle/internal/model"
	"heddle/internal/model/scripted"
)

// Server plays a script. It is an [http.Handler].
type Server struct {
	engine *scripted.Engine
	quirks scripted.Quirks
	mux    *http.ServeMux
	log    io.Writer // one JSON line a request; nil: none

	mu    sync.Mutex
	seen  []Record
	cache cache
	last  map[string]sent // by conversation: what the newest request of it said
}

// NewServer returns a server that plays s, and writes each request to log, which
// may be nil.
func NewServer(s *scripted.Script, log io.Writer) *Server {
	f := &Server{
		engine: scripted.NewEngine(s), quirks: s.Quirks, mux: http.NewServeMux(), log: log,
		cache: cache{entries: map[[sha256.Size]byte]time.Time{}}, last: map[string]sent{},
	}
	f.mux.HandleFunc("POST /v1/messages", f.messages)
	f.mux.HandleFunc("POST /v1/messages/count_tokens", f.countTokens)
	f.mux.HandleFunc("POST /v1/chat/completions", f.chat)
	f.mux.HandleFunc("POST /chat/completions", f.chat)
	f.mux.HandleFunc("GET /v1/models", f.models)
	f.mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, f.Report()) })
	return f
}

func (f *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

// maxBody is what the real API takes at most.
const maxBody = 32 << 20

// read reads a request's body.
func read(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, refused{http.StatusRequestEntityTooLarge, "request_too_large", "the request is larger than 32 MB"}
	}
	return body, nil
}

// refused is why a request is not answered.
type refused struct {
	status        int
	kind, message string
}

func (r refused) Error() string { return r.message }

func invalid(format string, args ...any) error {
	return refused{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...)}
}

// asRefused classifies err.
func asRefused(err error) refused {
	var r refused
	if errors.As(err, &r) {
		return r
	}
	return refused{http.StatusBadRequest, "invalid_request_error", err.Error()}
}

// agentOf reads who asks. Only heddle says so, and only to loopback.
func agentOf(r *http.Request) model.Agent {
	var a struct{ ID, Type, Name string }
	if err := json.Unmarshal([]byte(r.Header.Get("X-Heddle-Agent")), &a); err != nil {
		return model.Agent{Type: "main"}
	}
	return model.Agent{ID: a.ID, Type: a.Type, Name: a.Name}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that left hears nothing
}

func (f *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list", "has_more": false,
		"data": []any{map[string]any{"id": "scripted", "type": "model", "object": "model", "display_name": "A script"}},
	})
}

// Options configure [Run].
type Options struct {
	Script string        // a file
	Addr   string        // to listen at
	Record string        // a file that gets every request; empty: none
	For    time.Duration // end after so long; 0: when the context is done
	Log    io.Writer     // for people
}

// Run serves a script until ctx is done. It listens on loopback only.
func Run(ctx context.Context, o Options) error {
	script, err := scripted.LoadFile(o.Script)
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(o.Addr)
	if err != nil {
		return fmt.Errorf("address %q: want host:port, such as 127.0.0.1:0", o.Addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("address %q is not on loopback; a fake server answers no other machine", o.Addr)
	}
	var record io.Writer
	if o.Record != "" {
		file, err := os.OpenFile(o.Record, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("open the record: %w", err)
		}
		defer file.Close()
		record = file
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return err
	}
	f := NewServer(script, record)
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

// serve serves until ctx is done; open answers are broken off.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := context.AfterFunc(ctx, func() { srv.Close() })
	defer stopped()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
