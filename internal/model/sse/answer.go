package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"heddle/internal/model"
)

// Limits says how long to wait for a server. What is 0 has its default.
type Limits struct {
	// Idle is how long no byte may come. The default is 90 s.
	Idle time.Duration
	// First is how long the first byte of the answer may take. The default is
	// Idle, and 10 min for a server on this machine, which may have to load a model.
	First time.Duration
	// Pings is how long nothing but pings and comments may come. The default is 10 min.
	Pings time.Duration
}

const (
	defaultIdle  = 90 * time.Second
	defaultPings = 10 * time.Minute
	loadingLimit = 10 * time.Minute
	endLimit     = 50 * time.Millisecond // for the end of an answer that is complete
)

func (l Limits) forServer(u *url.URL) Limits {
	if l.Idle == 0 {
		l.Idle = defaultIdle
	}
	if l.First == 0 {
		l.First = l.Idle
		if loopback(u) {
			l.First = max(l.Idle, loadingLimit)
		}
	}
	if l.Pings == 0 {
		l.Pings = defaultPings
	}
	return l
}

// errSilent is the cause with which a request is cancelled when nothing comes.
var errSilent = errors.New("silent")

// Answer is what a server sends back. It must be closed.
type Answer struct {
	Status int
	Header http.Header

	ctx    context.Context // of the request
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	events *Reader
	limits Limits
	timer  *time.Timer

	begun    bool          // a byte of the body came
	waited   time.Duration // for bytes, since the last event that is not a ping
	progress bool          // such an event came since the last read
	size     int           // bytes of all events so far

	silent    string // what to say if the timer fires, and after how long
	silentFor time.Duration
}

// maxAnswer is how many bytes of events an answer may have: several times what the
// longest answer of any model takes, so that only one that never ends meets it.
const maxAnswer = 64 << 20

// Next returns the next event; see [Reader.Next]. An error is a [*model.Error]
// of class Cut or Silent, without the provider's name, unless ctx is done. The
// end of the answer is Cut too: a provider knows by an event that it has all.
func (a *Answer) Next() (Event, error) {
	ev, err := a.events.Next()
	if err != nil {
		return Event{}, a.brokenOff(err)
	}
	if string(ev.Name) != "ping" {
		a.progress = true
	}
	if a.size += len(ev.Data); a.size > maxAnswer {
		return Event{}, &model.Error{
			Class: model.ServerError, Status: a.Status, NoRetry: true,
			Message: fmt.Sprintf("the answer is longer than %d MiB and was broken off", maxAnswer>>20),
		}
	}
	return ev, nil
}

// Text reads the answer as text, at most limit bytes of it, and as much as comes.
func (a *Answer) Text(limit int64) []byte {
	// What came is worth more than the error that ended it.
	text, _ := io.ReadAll(io.LimitReader(timed{a}, limit))
	return text
}

// Finish reads the rest of an answer that is complete, so that its connection
// can be used again. It does not wait long for it.
func (a *Answer) Finish() {
	a.limits = Limits{Idle: endLimit, First: endLimit, Pings: endLimit}
	_, _ = io.Copy(io.Discard, io.LimitReader(timed{a}, 64<<10)) // of no use if it fails
	a.Close()
}

// Close ends the exchange. A connection that has not been read to its end is
// closed. Further calls do nothing.
func (a *Answer) Close() {
	a.timer.Stop()
	a.cancel(nil)
	_ = a.body.Close() // nothing that matters can fail any more
}

// brokenOff says why there are no more events, given what the reader says.
func (a *Answer) brokenOff(err error) error {
	if err := a.interrupted(err); err != nil {
		return err
	}
	e := &model.Error{Class: model.Cut, Status: a.Status, Err: err, Message: "the answer broke off: " + err.Error()}
	if err == io.EOF {
		e.Message = "the answer ended before it was complete"
	}
	return e
}

// interrupted says why we ended the exchange ourselves, or nil if we did not.
func (a *Answer) interrupted(err error) error {
	switch cause := context.Cause(a.ctx); cause {
	case nil:
		return nil
	case errSilent:
		return &model.Error{Class: model.Silent, Status: a.Status, Message: fmt.Sprintf("%s for %v", a.silent, a.silentFor), Err: err}
	default:
		return cause
	}
}

// timed reads the body and watches how long that takes. The clock only runs
// while it reads: a consumer that takes its time is not a silent server.
type timed struct{ a *Answer }

func (t timed) Read(p []byte) (int, error) {
	a := t.a
	if a.progress {
		a.waited, a.progress = 0, false
	}
	var limit time.Duration
	switch left := a.limits.Pings - a.waited; {
	case !a.begun:
		limit = a.limits.First - a.waited
		a.silent, a.silentFor = "no answer", a.limits.First
	case left < a.limits.Idle:
		limit = left
		a.silent, a.silentFor = "nothing but pings", a.limits.Pings
	default:
		limit = a.limits.Idle
		a.silent, a.silentFor = "nothing came", limit
	}
	begin := time.Now()
	a.timer.Reset(limit)
	n, err := a.body.Read(p)
	a.timer.Stop()
	a.waited += time.Since(begin)
	if n > 0 && !a.begun {
		a.begun, a.waited = true, 0
	}
	return n, err
}
