package fakeapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Record is what is known of one request.
type Record struct {
	N            int       `json:"n"` // from 1
	Time         time.Time `json:"time"`
	Path         string    `json:"path"`
	Agent        string    `json:"agent"` // the type, "main" for the main conversation
	Status       int       `json:"status"`
	Error        string    `json:"error,omitempty"`
	Bytes        int       `json:"bytes"`
	Messages     int       `json:"messages"`
	Conversation string    `json:"conversation,omitempty"` // the same for all requests of one
	Prefix       Prefix    `json:"prefix,omitempty"`
	CommonPrefix int       `json:"common_prefix_bytes"` // with the request before it in the conversation
	Cache        CacheUse  `json:"cache"`

	Header map[string]string `json:"header,omitempty"` // without credentials
	// Body is as it came. What is not UTF-8 stands in BodyBase64.
	Body       string `json:"body,omitempty"`
	BodyBase64 string `json:"body_base64,omitempty"`
}

// Prefix says how a request begins, compared with the one before it in its
// conversation.
type Prefix string

const (
	First     Prefix = "first"     // there is none before it
	Identical Prefix = "identical" // with all of that one, up to the end of its messages, byte for byte
	Marked    Prefix = "marked"    // the same, but for cache_control marks
	Changed   Prefix = "changed"   // differently: signed thinking and the cache are lost
)

// CacheUse is what a prefix cache would have read and written, in tokens.
type CacheUse struct {
	Read    int `json:"read"`
	Write   int `json:"write"` // for five minutes
	Write1h int `json:"write_1h"`
	Input   int `json:"input"` // neither
}

func (c CacheUse) prompt() int { return c.Read + c.Write + c.Write1h + c.Input }

// front is a body up to the end of its messages, which is where the next request of
// a conversation goes on.
type front []byte

// frontOf cuts a body behind its messages.
func frontOf(body []byte, messages []json.RawMessage) front {
	last := messages[len(messages)-1]
	return body[:bytes.LastIndex(body, last)+len(last)]
}

// secret are the headers that are not recorded.
func secret(name string) bool {
	switch name {
	case "Authorization", "X-Api-Key", "Cookie", "Proxy-Authorization":
		return true
	}
	return false
}

func newRecord(r *http.Request, body []byte) Record {
	rec := Record{Time: time.Now(), Path: r.URL.Path, Agent: agentOf(r).Type, Bytes: len(body), Header: map[string]string{}}
	if rec.Agent == "" {
		rec.Agent = "main"
	}
	for name, values := range r.Header {
		if !secret(name) {
			rec.Header[name] = strings.Join(values, ", ")
		}
	}
	if utf8.Valid(body) {
		rec.Body = string(body)
	} else {
		rec.BodyBase64 = base64.StdEncoding.EncodeToString(body)
	}
	return rec
}

// note keeps a record of a request, and compares it with the one before. at is nil
// if there is nothing to compare.
func (f *Server) note(rec Record, at front) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rec.N = len(f.seen) + 1
	if at != nil {
		old, ok := f.last[rec.Conversation]
		rec.Prefix, rec.CommonPrefix = compare(old, at, ok)
		f.last[rec.Conversation] = at
	}
	if f.log != nil {
		if err := f.write(rec); err != nil {
			f.log = nil // the disk is full: the record in memory goes on
		}
	}
	if !f.bodies {
		rec.Body, rec.BodyBase64 = "", ""
	}
	f.seen = append(f.seen, rec)
}

// write appends a line to the log, in one write.
func (f *Server) write(rec Record) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rec); err != nil {
		return err
	}
	_, err := f.log.Write(line.Bytes())
	return err
}

func compare(old, now front, ok bool) (Prefix, int) {
	if !ok {
		return First, 0
	}
	n := 0
	for n < len(old) && n < len(now) && old[n] == now[n] {
		n++
	}
	switch {
	case n == len(old):
		return Identical, n
	case bytes.HasPrefix(unmarked(now), unmarked(old)):
		return Marked, n
	}
	return Changed, n
}

// Requests returns the records of all requests so far.
func (f *Server) Requests() []Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// Report sums up all requests.
type Report struct {
	Requests int            `json:"requests"`
	Errors   map[string]int `json:"errors"` // by status and message
	Bytes    int            `json:"bytes"`
	Prefixes map[Prefix]int `json:"prefixes"`
	Cache    CacheUse       `json:"cache"`
	Log      []Record       `json:"log"` // without headers and bodies
}

// Report sums up all requests so far.
func (f *Server) Report() Report {
	r := Report{Errors: map[string]int{}, Prefixes: map[Prefix]int{}, Log: f.Requests()}
	for i := range r.Log {
		rec := &r.Log[i]
		rec.Header, rec.Body, rec.BodyBase64 = nil, "", ""
		r.Requests++
		r.Bytes += rec.Bytes
		if rec.Prefix != "" {
			r.Prefixes[rec.Prefix]++
		}
		if rec.Error != "" {
			r.Errors[fmt.Sprintf("%d %s", rec.Status, rec.Error)]++
		}
		r.Cache.Read += rec.Cache.Read
		r.Cache.Write += rec.Cache.Write
		r.Cache.Write1h += rec.Cache.Write1h
		r.Cache.Input += rec.Cache.Input
	}
	return r
}

// String is the report as JSON.
func (r Report) String() string {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic(err) // strings, numbers and times
	}
	return string(b)
}
