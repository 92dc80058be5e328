package permission

import (
	"os"
	"path/filepath"
	"strings"
)

// location is where a file is: by its name, and with every symlink resolved.
type location struct {
	named string // absolute and clean
	real  string // what the kernel would open; empty if links go round in a circle
}

// maxLinks is how many symlinks a kernel follows.
const maxLinks = 40

// locate finds the file that name means in dir. The file need not exist: what
// exists of its path is resolved, and the rest is kept. A file below root, which
// has no links in it, is looked up from there.
func locate(root, dir, name string) location {
	if !strings.HasPrefix(name, "/") {
		name = dir + "/" + name // not joined: the kernel resolves link/.. by the link
	}
	return location{named: filepath.Clean(name), real: resolve(root, name)}
}

// resolve follows every link of an absolute path, as the kernel does, also one
// that leads to nothing.
func resolve(root, path string) string {
	done, links := "/", 0
	if rest, ok := below(root, path); ok {
		done, path = root, rest
	}
	todo := strings.Split(path, "/")
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		info, err := os.Lstat(next)
		if err != nil || info.Mode()&os.ModeSymlink == 0 {
			done = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return ""
		}
		if strings.HasPrefix(target, "/") {
			done = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return done
}
