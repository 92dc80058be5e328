package roster

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"heddle/internal/config"
	"heddle/internal/definition"
)

// files are the disk, or a file system that is not on it.
type files struct{ fs fs.FS }

func (f files) readDir(path string) ([]fs.DirEntry, error) {
	if f.fs != nil {
		return fs.ReadDir(f.fs, path)
	}
	return os.ReadDir(path)
}

func (f files) stat(path string) (fs.FileInfo, error) {
	if f.fs != nil {
		return fs.Stat(f.fs, path)
	}
	return os.Stat(path)
}

// real is the same for all paths to one file.
func (f files) real(path string) string {
	if f.fs != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

// read reads a definition. A link must lead to a Markdown file: otherwise a repository
// could make a prompt of a person's keys.
func (f files) read(layer config.Layer, path string) (*definition.File, error) {
	if f.fs == nil {
		if real := f.real(path); !markdown(real) {
			return nil, at(layer, path, "it leads to "+real+", which is not a Markdown file: name it *.md")
		}
		return definition.Read(layer, path)
	}
	text, err := fs.ReadFile(f.fs, path)
	if err != nil {
		return nil, at(layer, path, "cannot read it: "+reason(err))
	}
	return definition.Parse(layer, path, text)
}

func markdown(path string) bool { return strings.EqualFold(filepath.Ext(path), ".md") }

// at is something wrong with a file or folder as a whole.
func at(layer config.Layer, path, text string) *config.Problem {
	return &config.Problem{Origin: config.Origin{Layer: layer, File: path}, Text: text}
}

// reason is err without the name of the file, which stands before it.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// printable is text in one line, without characters that are not seen: what a file says
// must not look like a message of its own.
func printable(s string) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case !unicode.IsPrint(c) || c == utf8.RuneError:
			return -1
		}
		return c
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// beside reads a text that a definition names by a path relative to itself. It must lie
// in the folder that the definitions are in, whatever links there are: a repository could
// otherwise make a prompt of a person's keys.
func (f files) beside(from found, name string) (string, error) {
	path := filepath.Join(filepath.Dir(from.path), filepath.FromSlash(name))
	rel, err := filepath.Rel(from.root, path)
	if err != nil || !filepath.IsLocal(rel) || filepath.IsAbs(name) {
		return "", errors.New("it must lie in " + from.root)
	}
	var file fs.File
	if f.fs != nil {
		file, err = f.fs.Open(path)
	} else {
		file, err = openIn(from.root, rel)
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > definition.MaxSize {
		return "", errors.New("expected a text file of at most 1 MiB")
	}
	text, err := io.ReadAll(io.LimitReader(file, definition.MaxSize))
	if err == nil && (!utf8.Valid(text) || strings.ContainsRune(string(text), 0)) {
		return "", errors.New("it is not text in UTF-8")
	}
	return strings.TrimSpace(string(text)), err
}

// openIn opens a file without leaving a folder, and without waiting for a pipe.
func openIn(folder, rel string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
