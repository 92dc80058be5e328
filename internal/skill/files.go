package skill

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"heddle/internal/config"
	"heddle/internal/definition"
)

// files are the disk, or a file system that is not on it.
type files struct {
	fs     fs.FS
	within string // the folder that files must really lie in; empty: any
}

func (f files) readDir(path string) ([]fs.DirEntry, error) {
	if f.fs != nil {
		return fs.ReadDir(f.fs, path)
	}
	return os.ReadDir(path)
}

func (f files) isDir(path string) (bool, error) {
	stat := os.Stat
	if f.fs != nil {
		stat = func(path string) (fs.FileInfo, error) { return fs.Stat(f.fs, path) }
	}
	info, err := stat(path)
	return err == nil && info.IsDir(), err
}

// real returns the path without links, or the path itself.
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
// could show the model a person's keys.
func (f files) read(layer config.Layer, path string) (*definition.File, error) {
	if f.fs == nil {
		real := f.real(path)
		if !markdown(real) {
			return nil, at(layer, path, "it is a link to "+real+", which is not a Markdown file")
		}
		if rel, err := filepath.Rel(f.within, real); f.within != "" && (err != nil || !filepath.IsLocal(rel)) {
			return nil, at(layer, path, "it is a link to "+real+", which lies outside of the project, and the project is not trusted")
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
