// Package control is the socket of a session, by which other programs of the same user
// look at its tasks and steer them.
//
// The protocol is one JSON object a line in each direction. The server greets with a
// [Hello]; then each [Request] gets one [Answer] with its id. Some answers take as long as
// a task does, and the connection can be used meanwhile.
package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"heddle/internal/task"
)

// Version is the version of the protocol.
const Version = 1

// Hello is the first line of a server.
type Hello struct {
	Version int       `json:"heddle"`
	Session string    `json:"session"`
	PID     int       `json:"pid"`
	Dir     string    `json:"dir"`     // the project's
	Started time.Time `json:"started"` // when it began to listen
}

// Request asks for something. What it needs besides Op depends on that.
type Request struct {
	ID    int64     `json:"id"`
	Op    Op        `json:"op"`
	Tasks []task.ID `json:"tasks,omitempty"`
	Count int       `json:"count,omitempty"` // for [Wait]: how many must have ended; 0 is all
}

// Op is what a request asks for.
type Op string

const (
	List Op = "list" // all tasks
	Show Op = "show" // some, also those that are listed no more
	Wait Op = "wait" // answers when they have ended
	Stop Op = "stop" // ends them, as a person's wish; answers when they have ended
)

// Answer is the answer to the request of the same id. With an error there may be tasks
// all the same: those of which something is known.
type Answer struct {
	ID    int64         `json:"id"`
	Tasks []task.Record `json:"tasks,omitempty"`
	Error string        `json:"error,omitempty"`
}

// Tasks is what the socket shows and steers: a [task.Runtime].
type Tasks interface {
	List() []task.Snapshot
	Find(id task.ID) (task.Snapshot, bool)
	Wait(ctx context.Context, ids []task.ID, c task.Condition) ([]task.Snapshot, error)
	Kill(id task.ID, cause error) error
}

// Bounds of the protocol: a client that does not keep to them costs only itself.
const (
	maxLine        = 1 << 20 // bytes of a request
	maxClients     = 64
	maxPending     = 64  // requests of one connection that have no answer yet
	maxRate        = 200 // requests of one connection in a second
	longestRequest = 256 // tasks in one request

	// patience is how long the other end may take to read a line, or to greet.
	patience = 10 * time.Second
	// parting is how long the other end may take to read what is ready when the session ends.
	parting = 500 * time.Millisecond
	// maxIdle is how long a client may keep a connection on which it waits for nothing.
	maxIdle = 5 * time.Minute
)

var (
	// ErrNoServer is returned when nobody listens for a session.
	ErrNoServer = errors.New("the session is not running")
	// ErrLost is returned when a connection ends before an answer has come.
	ErrLost = errors.New("the session has ended, or closed the connection")
)

// vacant reports whether connecting failed because nobody listens: there is no socket, or
// it is one that a dead session left. Any other failure says nothing about that.
func vacant(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED)
}

// maxPath is how long the path of a socket may be: 104 bytes with the final zero on macOS,
// 108 on Linux (unix(7)).
const maxPath = 103

// fallback is where the folder of sockets is whose own path is too long. It is the same in
// every terminal of the user, unlike the folder for temporary files.
const fallback = "/tmp"

// socketPath returns where the socket of a session is, given the folder for sockets. If
// that path is too long for a socket, it is in a folder of the same user below fallback.
func socketPath(folder, session string) string {
	path := filepath.Join(folder, session+".sock")
	if len(path) <= maxPath {
		return path
	}
	sum := sha256.Sum256([]byte(folder))
	name := "heddle-" + strconv.Itoa(os.Getuid()) + "-" + hex.EncodeToString(sum[:6])
	return filepath.Join(fallback, name, session+".sock")
}

// ownFolder makes the folder of a socket, or checks that it is ours alone: the one for
// temporary files can be made by anyone.
func ownFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case !ok || int(stat.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to another user", dir)
	case info.Mode().Perm()&0o077 != 0:
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// parseRequest reads a line of a client.
func parseRequest(line []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(line, &r); err != nil {
		return Request{ID: r.ID}, errors.New("the request is not a JSON object of version 1 of the protocol")
	}
	if len(r.Tasks) > longestRequest {
		return r, fmt.Errorf("a request is about %d tasks at most", longestRequest)
	}
	r.Tasks = distinct(r.Tasks)
	switch r.Op {
	case List:
	case Show, Wait, Stop:
		if len(r.Tasks) == 0 {
			return r, fmt.Errorf("%s: no task is named", r.Op)
		}
	default:
		return r, fmt.Errorf("there is no operation %q in version %d of the protocol", r.Op, Version)
	}
	return r, nil
}

// distinct drops what was named before: stopping a task twice would fail the second time.
func distinct(ids []task.ID) (out []task.ID) {
	seen := map[task.ID]bool{}
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// recordOf is a snapshot as it goes over the wire.
func recordOf(s task.Snapshot) task.Record {
	rec := task.Record{Snapshot: s}
	rec.Snapshot.Detail = nil
	if s.Detail != nil {
		if b, err := json.Marshal(s.Detail); err == nil {
			rec.Detail = b
		}
	}
	return rec
}
