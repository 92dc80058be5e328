package task

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Those who look whether a session lives do not take each other for it, and do not keep
// the session from starting.
func TestLookingIsNotOwning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ownerName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2000 {
				if Live(dir) {
					t.Error("nobody lives there")
					return
				}
			}
		})
	}
	all.Wait()
	done := make(chan struct{})
	for range 2 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					Live(dir)
				}
			}
		})
	}
	for range 200 {
		f, err := lockFolder(dir)
		if err != nil {
			t.Errorf("claim the folder: %v", err)
			break
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	close(done)
	all.Wait()
}
