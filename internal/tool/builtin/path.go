package builtin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"heddle/internal/tool"
)

// absolute returns the file that name means in the scope of a call. "~" is the
// home directory; a relative name starts at the working directory.
func absolute(s *tool.Scope, name string) string {
	if name == "~" || strings.HasPrefix(name, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			name = filepath.Join(home, name[1:])
		}
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Dir(), name)
	}
	return filepath.Clean(name)
}

// real returns path with every symlink resolved. What does not exist yet is
// kept as it is below the part that does, so that two names of one future file
// are one. A symlink to nothing resolves to that nothing.
func real(path string) (string, error) {
	for range 40 { // as many links as a kernel follows
		done, err := filepath.EvalSymlinks(path)
		if err == nil {
			return done, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if target, err := os.Readlink(path); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(path), target)
			}
			path = target
			continue
		}
		dir := filepath.Dir(path)
		if dir == path {
			return path, nil
		}
		dir, err = real(dir)
		return filepath.Join(dir, filepath.Base(path)), err
	}
	return "", refuse("%s: too many symbolic links.", show(path))
}

// show writes a path so that it fits in a line: names may hold line breaks and
// other control characters.
func show(path string) string {
	if strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

// relative is how a path is listed: from the working directory if it lies below
// it, which is shorter and means the same in the next call.
func relative(s *tool.Scope, path string) string {
	rel, err := filepath.Rel(s.Dir(), path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return path
	}
	return rel
}

// inaccessible says why a file cannot be used, and what might have been meant.
func inaccessible(s *tool.Scope, path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDir):
		return refuse("There is no file %s.%s", show(path), suggest(s, path))
	case errors.Is(err, fs.ErrPermission):
		return refuse("%s: permission denied by the operating system.", show(path))
	}
	var reason *fs.PathError
	if errors.As(err, &reason) {
		err = reason.Err
	}
	return refuse("%s: %v.", show(path), err)
}
