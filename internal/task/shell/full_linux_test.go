package shell

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/task"
)

// On a full disk a command fails for that reason, and the runtime goes on.
func TestNoSpaceIsTold(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	rt, err := task.NewRuntime(task.Options{Dir: dir + "/tasks", Limits: task.Limits{Task: 1 << 30}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(t.Context()) // its journal could not be written: that is an error
	r := &Runner{Command: "head -c 100M /dev/zero | tr '\\0' x", Dir: t.TempDir(), Env: Environment(os.Environ(), nil, nil)}
	tk, err := rt.Start(task.Spec{Kind: task.LocalBash}, r)
	if err != nil {
		t.Fatal(err)
	}
	tk.Attach(t.Context(), 0)
	if s := tk.Snapshot(); s.Status == task.Completed || s.Reason != task.ReasonNoSpace {
		t.Errorf("end is %s, %q, %q", s.Status, s.Reason, s.Error)
	}
	if err := os.Truncate(tk.Snapshot().OutputFile, 0); err != nil {
		t.Fatal(err)
	}
	if e := runIn(t, rt, &Runner{Command: "echo fine"}); e.Status != task.Completed || !strings.Contains(e.output, "fine") {
		t.Errorf("afterwards: %+v", e)
	}
}
