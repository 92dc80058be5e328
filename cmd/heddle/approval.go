package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// approvals are the servers of a project's .mcp.json that a person lets start, by name.
// What was approved is the entry as it stood: a server that comes with a clone runs a
// command, and the next pull may bring another.
type approvals map[string]string

func (p place) approvalFile() string {
	return filepath.Join(place{p.project(), p.home}.projectDir(), "approved-servers.json")
}

// approvals reads what was approved. A file that cannot be read approves nothing.
func (p place) approvals() (approvals, error) {
	text, err := os.ReadFile(p.approvalFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var a approvals
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return nil, fmt.Errorf("read which MCP servers are approved: %s: %w", p.approvalFile(), err)
	}
	return a, nil
}

// covers reports whether the server was approved as it stands.
func (a approvals) covers(name string, entry []byte) bool { return a[name] == fingerprint(entry) }

// approve lets a server start as it stands.
func (p place) approve(name string, entry []byte) error {
	a, err := p.approvals()
	if err != nil {
		return err
	}
	if a == nil {
		a = approvals{}
	}
	a[name] = fingerprint(entry)
	text, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(p.approvalFile(), append(text, '\n'), 0o600)
}

func fingerprint(entry []byte) string {
	sum := sha256.Sum256(entry)
	return hex.EncodeToString(sum[:])
}

// replaceFile writes a file that is there as a whole, or as it was.
func replaceFile(path string, text []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // what is left of it is of no use
	}
	return err
}
