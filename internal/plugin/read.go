package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"heddle/internal/config"
)

// reader reads one plugin.
type reader struct {
	dir      string
	layer    config.Layer
	plugin   *Plugin        // nil: it cannot be used
	by       *Plugin        // that counts instead
	names    []string       // what settings may call it
	file     string         // the manifest, or the folder if there is none
	tree     *config.Layers // the manifest, or nil
	manifest manifest
	problems []*config.Problem
	warnings []*config.Problem
}

// report puts down a problem with a value of a file.
func (r *reader) report(value *config.Layers, format string, args ...any) {
	r.problems = append(r.problems, &config.Problem{Origin: value.Here(), Text: fmt.Sprintf(format, args...)})
}

// reportFile puts down a problem with a file or folder as a whole.
func (r *reader) reportFile(file, text string) {
	r.problems = append(r.problems, &config.Problem{Origin: config.Origin{Layer: r.layer, File: file}, Text: text})
}

func (r *reader) warn(at config.Origin, format string, args ...any) {
	r.warnings = append(r.warnings, &config.Problem{Origin: at, Text: fmt.Sprintf(format, args...)})
}

// What a value is, as messages say it.
const (
	anObject = "an object"
	aList    = "a list"
	aString  = "a string"
)

var errOutside = errors.New("it leads out of the plugin's folder; what a plugin uses must be inside")

// kindOf says what a value is.
func kindOf(value *config.Layers) string {
	switch value.JSON()[0] {
	case '{':
		return anObject
	case '[':
		return aList
	case '"':
		return aString
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// read reads a file of JSON, and reports what is wrong with it. It returns nil if
// nothing can be made of it.
func (r *reader) read(file string) *config.Layers {
	tree, err := config.File(r.layer, file)
	r.problems = append(r.problems, r.problemsIn(file, err)...)
	return tree
}

// problemsIn takes apart the errors of package config.
func (r *reader) problemsIn(file string, err error) []*config.Problem {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var out []*config.Problem
		for _, e := range joined.Unwrap() {
			out = append(out, r.problemsIn(file, e)...)
		}
		return out
	}
	var p *config.Problem
	if errors.As(err, &p) {
		return []*config.Problem{p}
	}
	return []*config.Problem{{Origin: config.Origin{Layer: r.layer, File: file}, Text: "cannot read it: " + reason(err)}}
}

// within follows a path of the plugin. It is an error if it leads nowhere or out.
func (r *reader) within(path string) (target string, err error) {
	if !filepath.IsLocal(path) {
		return "", errOutside
	}
	target, err = filepath.EvalSymlinks(filepath.Join(r.dir, path))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(r.dir, target)
	if err != nil || !filepath.IsLocal(rel) {
		return "", errOutside
	}
	return target, nil
}

func realDir(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// reason is err without the name of the file, which messages have already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
