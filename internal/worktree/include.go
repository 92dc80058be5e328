package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// includeFile lists, like a .gitignore, the ignored files that a tree needs.
const includeFile = ".worktreeinclude"

// copied is an ignored file that a tree got, and what it was then.
type copied struct {
	Path []byte `json:"path"`
	Sum  string `json:"sum"`
}

// include copies the files that .worktreeinclude lists and git ignores from the tree that
// t was made from. Only plain files are, and none goes through a link out of a tree.
func (t *Tree) include(ctx context.Context) ([]copied, error) {
	from := t.repo.top
	info, err := os.Lstat(filepath.Join(from, includeFile))
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	names, err := t.repo.included(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	source, err := os.OpenRoot(from)
	if err != nil {
		return nil, fmt.Errorf("copy ignored files: %w", err)
	}
	defer source.Close()
	target, err := os.OpenRoot(t.Path)
	if err != nil {
		return nil, fmt.Errorf("copy ignored files: %w", err)
	}
	defer target.Close()
	var files []copied
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		sum, err := copyFile(source, target, name)
		if err != nil {
			t.Notes = append(t.Notes, fmt.Sprintf("%q was not copied: %v", name, err))
			continue
		}
		files = append(files, copied{[]byte(name), sum})
		t.Copied = append(t.Copied, name)
	}
	return files, nil
}

// included lists the files that .worktreeinclude lists and git ignores.
func (r *repository) included(ctx context.Context) ([]string, error) {
	g := at(r.gitDir, r.top)
	out, err := g.run(ctx, "", "ls-files", "-z", "--others", "--ignored", "--exclude-from="+includeFile)
	if err != nil {
		return nil, err
	}
	var wanted []string
	for _, name := range fields(out) {
		if !strings.HasSuffix(name, "/") && !strings.HasPrefix("/"+name, excludeLine) {
			wanted = append(wanted, name+"\x00")
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	out, err = g.run(ctx, strings.Join(wanted, ""), "check-ignore", "-z", "--stdin")
	if err != nil && exitCode(err) != 1 { // 1: none is ignored
		return nil, err
	}
	return fields(out), nil
}

var errNotPlain = errors.New("it is not a plain file")

// copyFile copies a file to where there is none, and returns the sum of its content.
func copyFile(source, target *os.Root, name string) (string, error) {
	info, err := source.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() { // also: a pipe, which would be waited for
		return "", errNotPlain
	}
	from, err := source.Open(name)
	if err != nil {
		return "", err
	}
	defer from.Close()
	if err := target.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return "", err
	}
	to, err := target.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, sum), from)
	if err := errors.Join(err, to.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// changed reports whether a copied file is not as it was copied. One that is gone is not
// a loss: it is still where it came from.
func (c copied) changed(root *os.Root) bool {
	info, err := root.Lstat(string(c.Path))
	if err != nil {
		return false
	}
	if !info.Mode().IsRegular() {
		return true
	}
	f, err := root.Open(string(c.Path))
	if err != nil {
		return true
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return true
	}
	return hex.EncodeToString(sum.Sum(nil)) != c.Sum
}
