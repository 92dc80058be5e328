package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// maxSize is more than any settings file needs.
const maxSize = 2 << 20

// source is a place to read one tree of settings from.
type source struct {
	layer  Layer
	file   string // or the name of a flag
	text   []byte // given inline
	inline bool
	must   bool // it was named, so it must be there
	flag   *Flag
}

// settingsFlag returns the source that a value of --settings names.
func settingsFlag(value string) source {
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return source{layer: Flags, file: "--settings", text: []byte(value), inline: true}
	}
	return source{layer: Flags, file: value, must: true}
}

// parse returns nil if there is nothing.
func (s source) parse() (*node, []error) {
	if s.flag != nil {
		return s.flag.node()
	}
	text := s.text
	if !s.inline {
		var err error
		text, err = readFile(s.file)
		if err != nil && missing(err) && !s.must {
			return nil, nil
		}
		if err != nil {
			return nil, []error{&Problem{Origin{Layer: s.layer, File: s.file}, reason(err)}}
		}
	}
	return parse(text, Origin{Layer: s.layer, File: s.file})
}

// missing reports whether there is no file: none of that name, or none of its
// directory's.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// reason is err without the name of the file, which stands before it.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return "cannot read it: " + p.Err.Error()
	}
	return err.Error()
}

// readFile reads a regular file. Anything else could block for ever, or never end.
func readFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("expected a file, found a directory")
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("expected a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSize {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxSize>>20)
	}
	return text, nil
}

// node returns the tree that holds nothing but the value of f.
func (f *Flag) node() (*node, []error) {
	at := Origin{Layer: Flags, File: f.Name}
	text, err := json.Marshal(f.Value)
	if err != nil {
		return nil, []error{&Problem{at, err.Error()}}
	}
	n, problems := parseValue(text, at)
	if len(problems) > 0 {
		return nil, problems
	}
	if n.kind == aNull {
		return nil, nil
	}
	n.unplace(at)
	for i := len(f.Path) - 1; i >= 0; i-- {
		n = &node{kind: anObject, at: at, keys: []string{f.Path[i]}, members: map[string]*node{f.Path[i]: n}}
	}
	return n, nil
}
