package process

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// bootID returns the id of this run of the kernel.
var bootID = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(id))
})

// look returns what process pid is now. A zombie is still a process.
func look(pid int) (proc, bool) {
	stat, err := os.ReadFile(procPath(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	return parseStat(stat)
}

// parseStat reads /proc/PID/stat. The second field is a name in parentheses that
// the process chose and that may hold anything, parentheses and line ends too.
func parseStat(stat []byte) (proc, bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || end < open {
		return proc{}, false
	}
	const state, ppid, pgid, sid, threads, start = 0, 1, 2, 3, 17, 19
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) <= start {
		return proc{}, false
	}
	var bad error
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		bad = errors.Join(bad, err)
		return n
	}
	dead := fields[state] == "Z" || fields[state] == "X"
	p := proc{
		pid:     number(string(bytes.TrimSpace(stat[:open]))),
		ppid:    number(fields[ppid]),
		pgid:    number(fields[pgid]),
		sid:     number(fields[sid]),
		zombie:  dead && number(fields[threads]) <= 1, // else only its first thread is
		stopped: fields[state] == "T",
		name:    string(stat[open+1 : end]),
	}
	started, err := strconv.ParseUint(fields[start], 10, 64)
	p.start = started
	return p, errors.Join(bad, err) == nil
}

// surveyors look at the processes of this system: at all of them, or at our descendants.
// There is one of each for the program, since that is what there is to share.
var surveyors = sync.OnceValue(func() *struct{ all, ours surveyor } {
	var s struct{ all, ours surveyor }
	s.all.scan = func() []proc { return lookAll(everyone()) }
	s.ours.scan = func() []proc {
		if pids, ok := descendants(os.Getpid()); ok {
			return lookAll(pids)
		}
		return lookAll(everyone())
	}
	return &s
})

// candidates returns the processes among which the members of t are: our
// descendants if the tree is ours and orphans come to us, otherwise all. Members
// are no older than the leader.
func candidates(t *tree) (procs []proc, mark func(pid int) (string, bool)) {
	from := &surveyors().all
	if t.ours && adopting() {
		from = &surveyors().ours
	}
	s := from.survey()
	older := func(p proc) bool { return p.start < t.leader.StartTime }
	return slices.DeleteFunc(slices.Clone(s.procs), older), s.mark
}

// everyone returns the ids of all processes.
func everyone() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read before an error still counts
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func lookAll(pids []int) []proc {
	var ps []proc
	for _, pid := range pids {
		if p, ok := look(pid); ok {
			ps = append(ps, p)
		}
	}
	return ps
}

// descendants returns the processes below pid. It fails where the kernel was
// built without lists of children.
func descendants(pid int) ([]int, bool) {
	below, ok := children(pid)
	for i := 0; i < len(below); i++ {
		more, _ := children(below[i]) // it may be gone by now
		below = append(below, more...)
	}
	return below, ok
}

// children returns the children of pid, which the kernel lists by the thread
// that has them.
func children(pid int) ([]int, bool) {
	tasks := procPath(pid) + "/task"
	dir, err := os.Open(tasks)
	if err != nil {
		return nil, false
	}
	defer dir.Close()
	threads, _ := dir.Readdirnames(-1)
	var pids []int
	known := false
	for _, thread := range threads {
		list, err := os.ReadFile(tasks + "/" + thread + "/children")
		known = known || err == nil
		pids = append(pids, parsePIDs(list)...)
	}
	return pids, known
}

// parsePIDs reads numbers between white space and skips whatever else there is.
func parsePIDs(list []byte) []int {
	var pids []int
	for _, field := range strings.Fields(string(list)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// markOf returns the marks that pid carries. It is false for a process that is
// not ours to read, and for one in the middle of an exec.
func markOf(pid int) (string, bool) {
	env, err := os.ReadFile(procPath(pid) + "/environ")
	if err != nil || len(env) == 0 {
		return "", false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(MarkVariable+"=")); ok {
			return string(value), true
		}
	}
	return "", true
}

// commandLine returns the arguments of p, or its name where it hides them.
func commandLine(p proc) string {
	args, err := os.ReadFile(procPath(p.pid) + "/cmdline")
	args = bytes.TrimRight(args, "\x00")
	if err != nil || len(args) == 0 {
		return p.name
	}
	return strings.ToValidUTF8(string(bytes.ReplaceAll(args, []byte{0}, []byte{' '})), "\uFFFD")
}

// send sends sig to p, and to nobody who got its process id since. That p is gone
// is no error.
func send(p proc, sig syscall.Signal) error {
	pidfd, err := unix.PidfdOpen(p.pid, 0)
	switch {
	case errors.Is(err, unix.ESRCH):
		return nil
	case err == nil:
		defer unix.Close(pidfd)
	case !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM):
		return err
	}
	// From here on pidfd means one process; this tells whether it is the right one.
	if now, ok := look(p.pid); !ok || now.start != p.start {
		return nil
	}
	if err == nil {
		err = unix.PidfdSendSignal(pidfd, sig, nil, 0)
	} else { // a kernel, or a sandbox, without pidfds
		err = syscall.Kill(p.pid, sig)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

func procPath(pid int) string { return "/proc/" + strconv.Itoa(pid) }
