package process

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// groupPrefix begins the names of our control groups; the process id of the
// program that made the group and a random text follow.
const groupPrefix = "heddle-"

// A group is a control group (cgroup v2) that holds one tree. Nobody leaves it by
// forking, by a new session or by an empty environment, and the kernel kills it
// in one step. Each is used once: the kernel kills whatever is started into a
// group that was killed before. A nil group holds nobody.
type group struct{ dir string }

// newGroup makes a group, or returns nil where there can be none.
func newGroup() *group {
	home := groupHome()
	if home == "" {
		return nil
	}
	g := &group{dir: filepath.Join(home, groupPrefix+strconv.Itoa(os.Getpid())+"-"+rand.Text())}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil
	}
	return g
}

// openGroup returns a group that another run of this program made. The path comes
// from a file, so it has to look like one of ours; and we must not be in it.
func openGroup(dir string) *group {
	if !filepath.IsAbs(dir) || !strings.HasPrefix(filepath.Base(dir), groupPrefix) {
		return nil
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return nil
	}
	if own := ownGroup(); own == "" || strings.HasPrefix(own+"/", filepath.Clean(dir)+"/") {
		return nil
	}
	return &group{dir: dir}
}

// path returns what openGroup takes.
func (g *group) path() string {
	if g == nil {
		return ""
	}
	return g.dir
}

// pids returns who is in the group, zombies excepted.
func (g *group) pids() []int {
	var pids []int
	g.walk(func(dir string) {
		list, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // gone: nobody
		pids = append(pids, parsePIDs(list)...)
	})
	return pids
}

// kill kills everyone in the group and reports whether it could.
func (g *group) kill() bool {
	return g != nil && os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0) == nil
}

// remove removes the group if nobody is in it, and reports whether it is gone.
func (g *group) remove() bool {
	if g == nil {
		return false
	}
	err := syscall.Rmdir(g.dir)
	if errors.Is(err, syscall.EBUSY) && len(g.pids()) == 0 {
		// A member made groups of its own in it: the innermost go first.
		var dirs []string
		g.walk(func(dir string) { dirs = append(dirs, dir) })
		for i := len(dirs) - 1; i >= 0; i-- {
			err = syscall.Rmdir(dirs[i])
		}
	}
	return err == nil || errors.Is(err, syscall.ENOENT)
}

// walk calls visit for the group and the groups in it, outer ones first.
func (g *group) walk(visit func(dir string)) {
	if g == nil {
		return
	}
	dirs := []string{g.dir}
	for len(dirs) > 0 {
		dir := dirs[0]
		visit(dir)
		dirs = dirs[1:]
		entries, _ := os.ReadDir(dir) // gone: nothing below
		for _, e := range entries {
			if e.IsDir() {
				dirs = append(dirs, filepath.Join(dir, e.Name()))
			}
		}
	}
}

// groupHome returns the directory in which this program may make groups and start
// processes into them, or "". Looking for it takes a fraction of a millisecond,
// once.
var groupHome = sync.OnceValue(func() string {
	home := ownGroup()
	if home == "" {
		return ""
	}
	removeGroups(home, died)
	// To put a child into a group below means to move it there from this one.
	if unix.Access(filepath.Join(home, "cgroup.procs"), unix.W_OK) != nil {
		return ""
	}
	trial := &group{dir: filepath.Join(home, groupPrefix+strconv.Itoa(os.Getpid())+"-trial")}
	if err := os.Mkdir(trial.dir, 0o755); err != nil {
		return ""
	}
	defer trial.remove()
	kind, _ := os.ReadFile(filepath.Join(trial.dir, "cgroup.type"))
	if strings.TrimSpace(string(kind)) != "domain" || !trial.kill() {
		return "" // a group of threads, or a kernel without cgroup.kill
	}
	return home
})

// ownGroup returns the directory of the control group that this program is in.
func ownGroup() string {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return ""
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	return parseOwnGroup(mounts, own)
}

func parseOwnGroup(mounts, own []byte) string {
	path, found := "", false
	for line := range bytes.Lines(own) {
		if rest, ok := bytes.CutPrefix(line, []byte("0::/")); ok {
			path, found = string(bytes.TrimSuffix(rest, []byte("\n"))), true
		}
	}
	if !found {
		return ""
	}
	for line := range bytes.Lines(mounts) {
		// Device, place, kind. A place with a space in it is written otherwise and
		// then simply not found.
		if f := strings.Fields(string(line)); len(f) > 2 && f[2] == "cgroup2" {
			return filepath.Join(f[1], path)
		}
	}
	return ""
}

// removeGroups removes the empty groups that were made by the programs for which
// of is true.
func removeGroups(home string, of func(maker int) bool) {
	dirs, _ := filepath.Glob(filepath.Join(home, groupPrefix+"*")) // the pattern is good
	for _, dir := range dirs {
		maker, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
		if pid, err := strconv.Atoi(maker); err == nil && of(pid) {
			(&group{dir: dir}).remove()
		}
	}
}

// died reports that there is no process pid: its groups are nobody's.
func died(pid int) bool {
	_, ok := look(pid)
	return !ok
}
