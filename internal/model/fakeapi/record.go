package fakeapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Record is what is known of one request.
type Record struct {
	N            int             `json:"n"` // from 1
	Time         time.Time       `json:"time"`
	Path         string          `json:"path"`
	Agent        string          `json:"agent,omitempty"`
	Status       int             `json:"status"`
	Error        string          `json:"error,omitempty"`
	Bytes        int             `json:"bytes"`
	Messages     int             `json:"messages"`
	Conversation string          `json:"conversation,omitempty"`
	Prefix       Prefix          `json:"prefix,omitempty"`
	CommonPrefix int             `json:"common_prefix_bytes"` // with the request before it in the conversation
	Cache        CacheUse        `json:"cache"`
	Body         json.RawMessage `json:"body,omitempty"` // as it came; left out if it is not JSON
}

// Prefix says how a request begins, compared with the one before it in its
// conversation.
type Prefix string

const (
	First     Prefix = "first"     // there is none before it
	Identical Prefix = "identical" // with all of that one, up to the end of its messages, byte for byte
	Marked    Prefix = "marked"    // the same, but for cache_control marks
	Changed   Prefix = "changed"   // differently: a cache would be missed
)

// CacheUse is what a prefix cache would have read and written, in tokens of four bytes.
type CacheUse struct {
	Read  int `json:"read"`
	Write int `json:"write"`
	Input int `json:"input"` // neither
}

// sent is what a request of a conversation said, for the next to be compared with.
type sent struct {
	head     []byte // up to the end of the messages
	unmarked string // the same without marks
}

// note keeps a record and compares the request with the one before it. The caller
// does not hold the lock.
func (f *Server) note(r Record, body []byte, s sent) Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.N, r.Time, r.Bytes = len(f.seen)+1, time.Now(), len(body)
	if json.Valid(body) {
		r.Body = body
	}
	if s.head != nil {
		old, ok := f.last[r.Conversation]
		r.Prefix, r.CommonPrefix = compare(old, s, ok)
		if r.Status < 400 {
			f.last[r.Conversation] = s
		}
	}
	f.seen = append(f.seen, r)
	if f.log != nil {
		line, err := json.Marshal(r)
		if err == nil {
			_, err = f.log.Write(append(line, '\n'))
		}
		if err != nil {
			f.log = nil // the disk is full: the record in memory goes on
		}
	}
	return r
}

func compare(old, now sent, ok bool) (Prefix, int) {
	if !ok {
		return First, 0
	}
	n := 0
	for n < len(old.head) && n < len(now.head) && old.head[n] == now.head[n] {
		n++
	}
	switch {
	case n == len(old.head):
		return Identical, n
	case strings.HasPrefix(now.unmarked, old.unmarked):
		return Marked, n
	}
	return Changed, n
}

// Requests returns the records of all requests so far.
func (f *Server) Requests() []Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Record(nil), f.seen...)
}

// Report sums up all requests.
type Report struct {
	Requests int            `json:"requests"`
	Errors   map[string]int `json:"errors"` // by status and message
	Bytes    int            `json:"bytes"`
	Prefixes map[Prefix]int `json:"prefixes"`
	Cache    CacheUse       `json:"cache"`
}

// Report sums up all requests so far.
func (f *Server) Report() Report {
	r := Report{Errors: map[string]int{}, Prefixes: map[Prefix]int{}}
	for _, rec := range f.Requests() {
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
		r.Cache.Input += rec.Cache.Input
	}
	return r
}

// String is the report as JSON.
func (r Report) String() string {
	b, _ := json.Marshal(r) // maps of strings and numbers always encode
	return string(b)
}
