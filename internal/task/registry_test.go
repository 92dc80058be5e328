package task

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func (r *Runtime) knows(id ID) bool {
	_, ok := r.Get(id)
	return ok
}

func TestEvictionAfterTheGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		tk := start(t, rt, Spec{}, takes(0, nil))
		<-tk.Done()
		time.Sleep(time.Hour)
		if !rt.knows(tk.ID) {
			t.Fatal("forgotten before anyone knew of its end")
		}
		tk.Attach(t.Context(), 0)
		time.Sleep(29 * time.Second)
		if !rt.knows(tk.ID) {
			t.Error("forgotten within the grace")
		}
		time.Sleep(2 * time.Second)
		if rt.knows(tk.ID) {
			t.Error("remembered after the grace")
		}
		if s := tk.Snapshot(); s.Status != Completed {
			t.Errorf("who holds the task sees %q", s.Status)
		}
	})
}

func TestPinnedTaskStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		tk := start(t, rt, Spec{Background: true}, takes(time.Second, nil))
		unpin, again := rt.Pin(tk.ID), rt.Pin(tk.ID)
		time.Sleep(time.Hour)
		unpin()
		unpin()
		time.Sleep(time.Hour)
		if !rt.knows(tk.ID) {
			t.Fatal("forgotten although someone looks at it")
		}
		again()
		time.Sleep(29 * time.Second)
		if !rt.knows(tk.ID) {
			t.Error("no grace after the last look")
		}
		time.Sleep(2 * time.Second)
		if rt.knows(tk.ID) {
			t.Error("remembered although nobody looks")
		}
		rt.Pin(tk.ID)() // gone: nothing to pin

		running := start(t, rt, Spec{}, takes(ages, nil))
		rt.Pin(running.ID)()
		time.Sleep(time.Hour)
		if !rt.knows(running.ID) {
			t.Error("a running task was forgotten")
		}
	})
}

func TestWatchShowsTheNewestState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := make(chan []Snapshot)
		go func() {
			defer close(seen)
			for list := range rt.Watch(ctx) {
				seen <- list
			}
		}()
		if first := <-seen; len(first) != 0 {
			t.Errorf("first = %v, want none", first)
		}
		tk := start(t, rt, Spec{Background: true}, takes(time.Second, nil))
		for i := range 100 {
			tk.Update(func(s *Snapshot) { s.Description = string(rune('a' + i%26)) })
		}
		<-tk.Done()
		synctest.Wait()
		var last []Snapshot
		steps := 0
		for steps < 200 {
			synctest.Wait()
			select {
			case last = <-seen:
				steps++
				continue
			default:
			}
			break
		}
		if len(last) != 1 || last[0].Status != Completed || last[0].Description != "v" {
			t.Errorf("last = %+v", last)
		}
		if steps > 3 {
			t.Errorf("a slow watcher was shown %d states", steps)
		}
		cancel()
		for range seen {
		}
		if len(rt.watchers) != 0 {
			t.Error("nobody watches any more, and the runtime does not know")
		}
	})
}

func TestListIsInOrderOfStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		var want []ID
		for range 20 {
			want = append(want, start(t, rt, Spec{}, takes(ages, nil)).ID)
			time.Sleep(time.Millisecond)
		}
		for i, s := range rt.List() {
			if s.ID != want[i] {
				t.Fatalf("at %d: %s, want %s", i, s.ID, want[i])
			}
		}
	})
}

func TestUpdateTouchesOnlyWhatItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		tk := start(t, rt, Spec{}, takes(time.Second, nil))
		synctest.Wait()
		change := func(s *Snapshot) {
			s.Description, s.Status, s.ID, s.Told = "new", Failed, "x", true
		}
		tk.Update(change)
		if s := tk.Snapshot(); s.Description != "new" || s.Status != Running || s.ID != tk.ID || s.Told {
			t.Errorf("after Update: %+v", s)
		}
		<-tk.Done()
		tk.Update(func(s *Snapshot) { s.Description = "too late" })
		if s := tk.Snapshot(); s.Description != "new" {
			t.Errorf("the record of an ended task changed to %q", s.Description)
		}
	})
}
