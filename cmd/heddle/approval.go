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

	"heddle/internal/config"
)

// approvals are the servers of a project's .mcp.json that a person lets start, by name.
// What was approved is the entry as it stood: a server that comes with a clone runs a
// command, and the next pull may bring another.
type approvals map[string]string

// approvalFile is where approvals of the servers in a file are kept: they hold wherever in
// the project heddle is started.
func (p place) approvalFile(file string) string {
	return filepath.Join(place{filepath.Dir(file), p.home}.projectDir(), "approved-servers.json")
}

// approvals reads what of a file was approved. Approvals that cannot be read approve nothing.
func (p place) approvals(file string) (approvals, error) {
	path := p.approvalFile(file)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var a approvals
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return nil, &config.Problem{Origin: config.Origin{Layer: config.User, File: path}, Text: fmt.Sprintf("cannot read which MCP servers are approved: %v; remove the file, and approve them anew", err)}
	}
	return a, nil
}

// covers reports whether the server was approved as it stands.
func (a approvals) covers(name string, entry []byte) bool { return a[name] == fingerprint(entry) }

// approve lets a server of a file start as it stands.
func (p place) approve(file, name string, entry []byte) error {
	return p.changeApprovals(file, func(a approvals) { a[name] = fingerprint(entry) })
}

// withdraw forgets that a server was approved: one that comes back with a clone waits anew.
func (p place) withdraw(file, name string) error {
	return p.changeApprovals(file, func(a approvals) { delete(a, name) })
}

func (p place) changeApprovals(file string, change func(approvals)) error {
	a, err := p.approvals(file)
	if err != nil {
		return err
	}
	if a == nil {
		a = approvals{}
	}
	change(a)
	text, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(p.approvalFile(file), append(text, '\n'), 0o600)
}

func fingerprint(entry []byte) string {
	sum := sha256.Sum256(entry)
	return hex.EncodeToString(sum[:])
}

// replaceFile writes a file that is there as a whole, or as it was.
func replaceFile(path string, text []byte, mode fs.FileMode) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	} else if _, err := os.Readlink(path); err == nil {
		return fmt.Errorf("%s is a link that leads nowhere; mend or remove it", path)
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
