// Package fakeapi serves a script over the wire protocols of real providers, so
// that everything from the HTTP client up is tested with the same scenes. It is as
// strict as they are: a request that they would refuse is refused. And it says
// what a real one does not: how requests begin, and what a cache made of them.
package fakeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"heddle/internal/model"
	"heddle/internal/model/scripted"
)

// Server plays a script. It is an [http.Handler].
type Server struct {
	engine *scripted.Engine
	script *scripted.Script
	mux    *http.ServeMux

	mu     sync.Mutex
	log    io.Writer // one JSON line a request; nil: none
	bodies bool      // keep them in memory
	seen   []Record
	last   map[string]front // by conversation: what its newest request began with
	cache  cache
	paused map[digest]bool // answers that stopped with pause_turn
}

// NewServer returns a server that plays s from the beginning. It writes a record of
// each request to log; if log is nil, it keeps the bodies in memory instead.
func NewServer(s *scripted.Script, log io.Writer) *Server {
	f := &Server{
		engine: scripted.NewEngine(s), script: s, mux: http.NewServeMux(), log: log, bodies: log == nil,
		last: map[string]front{}, cache: cache{}, paused: map[digest]bool{},
	}
	f.mux.HandleFunc("POST /v1/messages", f.messages)
	f.mux.HandleFunc("POST /v1/messages/count_tokens", f.countTokens)
	f.mux.HandleFunc("POST /v1/chat/completions", f.chat)
	f.mux.HandleFunc("POST /chat/completions", f.chat)
	f.mux.HandleFunc("GET /v1/models", f.models)
	f.mux.HandleFunc("GET /v1/models/{id}", f.model)
	f.mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, f.Report()) })
	f.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusNotFound, anthropicError(refusal{kind: "not_found_error", message: r.Method + " " + r.URL.Path + " is not served here"}))
	})
	return f
}

func (f *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

// object is a JSON object of an answer.
type object map[string]any

// refusal is why a request is not answered.
type refusal struct {
	status              int
	kind, code, message string
}

func (r refusal) Error() string { return r.message }

func invalid(format string, args ...any) error {
	return refusal{status: http.StatusBadRequest, kind: "invalid_request_error", message: fmt.Sprintf(format, args...)}
}

// refusalOf is err, or a refusal that says the same.
func refusalOf(err error) refusal {
	var r refusal
	if !errors.As(err, &r) {
		r = refusal{status: http.StatusBadRequest, kind: "invalid_request_error", message: err.Error()}
	}
	return r
}

// maxBody is what the real API takes at most.
const maxBody = 32 << 20

// clientLeft is the status of a request that broke off: nobody reads the answer.
// It is nginx's own, for want of an official one.
const clientLeft = 499

// read reads the body of a request.
func read(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return body, refusal{status: clientLeft, kind: "client_closed_request", message: fmt.Sprintf("the client left in the middle of its request: %v", err)}
	}
	if len(body) > maxBody {
		return body[:0], refusal{status: http.StatusRequestEntityTooLarge, kind: "request_too_large", message: "Request exceeds the maximum size"}
	}
	return body, nil
}

// authorize refuses who shows no key. Any key will do.
func authorize(r *http.Request) error {
	if r.Header.Get("X-Api-Key") == "" && r.Header.Get("Authorization") == "" {
		return refusal{status: http.StatusUnauthorized, kind: "authentication_error", code: "invalid_api_key", message: "x-api-key header is required"}
	}
	return nil
}

// agentOf reads who asks. Only heddle says so, and only to loopback.
func agentOf(r *http.Request) model.Agent {
	var a struct{ ID, Type, Name string }
	if json.Unmarshal([]byte(r.Header.Get("X-Heddle-Agent")), &a) != nil {
		return model.Agent{Type: "main"}
	}
	return model.Agent{ID: a.ID, Type: a.Type, Name: a.Name}
}

// tooLong refuses a prompt that is longer than the script's window.
func (f *Server) tooLong(tokens int) error {
	if w := f.script.Window; w > 0 && tokens > w {
		return refusal{
			status: http.StatusBadRequest, kind: "invalid_request_error", code: "context_length_exceeded",
			message: fmt.Sprintf("prompt is too long: %d tokens > %d maximum", tokens, w),
		}
	}
	return nil
}

func (f *Server) models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, object{"object": "list", "has_more": false, "data": []any{f.describe("scripted")}})
}

func (f *Server) model(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, f.describe(r.PathValue("id")))
}

func (f *Server) describe(id string) object {
	window := f.script.Window
	if window == 0 {
		window = 200_000
	}
	return object{
		"id": id, "type": "model", "object": "model", "display_name": "A script", "owned_by": "fakeapi",
		"max_input_tokens": window, "max_tokens": 64_000,
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a client that left hears nothing
}
