package shell

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/internal/task"
)

var (
	soakCommands = flag.Int("soak", 150, "how many commands TestSoak runs to their end")
	soakSeed     = flag.Uint64("soak.seed", 0, "seed of TestSoak; 0 is a new one")
)

// Real commands end while they are switched, waited for, claimed, killed and read about
// at random moments. Each end is told once, and nothing of a command is left:
//
//	go test ./internal/task/shell -run Soak -soak 10000
//
// The same with much more of it, and without processes, is in package task.
func TestSoak(t *testing.T) {
	t.Parallel()
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	box := &mailbox{}
	rt, err := task.NewRuntime(task.Options{Dir: dir, Notifier: box, Grace: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	s := &soaking{rt: rt, box: box, told: map[task.ID][]string{}, mark: forever(t)}
	begin := time.Now()
	s.run(seed, *soakCommands)
	took := time.Since(begin)
	if err := rt.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if alive(t, s.mark) {
		t.Error("a command is left")
	}
	s.report(t, dir, took)
}

// mailbox is a [task.Notifier] whose owner reads now and then.
type mailbox struct {
	mu   sync.Mutex
	held []task.Notification
}

func (b *mailbox) Notify(n task.Notification) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = append(b.held, n)
}

func (b *mailbox) Withdraw(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.held)
	b.held = slices.DeleteFunc(b.held, func(n task.Notification) bool { return n.ID() == id })
	return len(b.held) < n
}

func (b *mailbox) take() []task.Notification {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.held
	b.held = nil
	return held
}

type soaking struct {
	rt   *task.Runtime
	box  *mailbox
	mark string // how long the endless commands sleep

	mu       sync.Mutex
	told     map[task.ID][]string // what told the end of each
	switched int
}

func (s *soaking) tell(id task.ID, carrier string) {
	s.mu.Lock()
	s.told[id] = append(s.told[id], carrier)
	s.mu.Unlock()
	s.rt.Delivered(carrier)
}

// read reads all that is in the mailbox.
func (s *soaking) read() {
	for _, n := range s.box.take() {
		if n.ID() != "" {
			s.tell(n.Task.ID, n.ID())
		}
	}
}

func (s *soaking) run(seed uint64, n int) {
	over := make(chan struct{})
	var reader, lives sync.WaitGroup
	reader.Go(func() {
		for rnd := rand.New(rand.NewPCG(seed, 0)); ; {
			select {
			case <-over:
				return
			case <-time.After(upTo(rnd, 20)):
				s.read()
			}
		}
	})
	slots := make(chan struct{}, 8)
	for i := range n {
		slots <- struct{}{}
		lives.Go(func() {
			s.life(rand.New(rand.NewPCG(seed, uint64(i+1))), fmt.Sprint("toolu_", i))
			<-slots
		})
	}
	lives.Wait()
	close(over)
	reader.Wait()
	s.read()
}

// life is that of one command, from its start until all who meddled with it are done.
func (s *soaking) life(rnd *rand.Rand, call string) {
	commands := []string{
		"true", "echo out; exit 3", "kill -9 $$", "sleep 0.00" + fmt.Sprint(rnd.IntN(10)),
		"sleep " + s.mark, "sleep " + s.mark + " & wait", "(setsid sleep " + s.mark + " &); sleep " + s.mark,
	}
	command := commands[rnd.IntN(len(commands))]
	t, err := s.rt.Start(
		task.Spec{Kind: task.LocalBash, ToolUseID: call, Background: rnd.IntN(3) == 0},
		&Runner{Command: command, Dir: "/", Env: Environment(os.Environ(), nil, nil)},
	)
	if err != nil {
		panic(err) // the runtime is open, and the disk has room
	}
	var others sync.WaitGroup
	sometime := func(odds int, do func()) {
		if after := upTo(rnd, 30); rnd.IntN(odds) == 0 {
			others.Go(func() { <-time.After(after); do() })
		}
	}
	sometime(3, t.Background)
	sometime(4, func() { _ = s.rt.Kill(t.ID, task.ErrKilled) }) // it may be over
	sometime(4, func() { s.claim(t.ID, call+"stop", 0, func() { _ = s.rt.Kill(t.ID, task.ErrStopped) }) })
	patience := upTo(rnd, 30)
	sometime(2, func() { s.claim(t.ID, call+"wait", patience, func() {}) })
	if strings.Contains(command, s.mark) {
		others.Go(func() { <-time.After(30 * time.Millisecond); _ = s.rt.Kill(t.ID, task.ErrKilled) })
	}
	if t.Attach(context.Background(), time.Duration(rnd.IntN(2))*(1+upTo(rnd, 30))) == task.Finished {
		s.tell(t.ID, call)
	} else {
		s.mu.Lock()
		s.switched++
		s.mu.Unlock()
	}
	<-t.Done()
	others.Wait()
}

func upTo(rnd *rand.Rand, most int64) time.Duration {
	return time.Duration(rnd.Int64N(most * int64(time.Millisecond)))
}

// claim is a tool call that waits for the command and tells the end if that becomes its own.
func (s *soaking) claim(id task.ID, carrier string, patience time.Duration, during func()) {
	c, err := s.rt.Claim([]task.ID{id}, carrier)
	if err != nil {
		return // it is over, told and forgotten
	}
	during()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, _ = s.rt.Wait(ctx, []task.ID{id}, task.Condition{}) // it may not end in time
	for _, snap := range c.Take() {
		if snap.Status.Terminal() && snap.Carrier == carrier {
			s.tell(id, carrier)
		}
	}
}

// report holds what was told against the journal, which is what the next run of the
// program would go by.
func (s *soaking) report(t *testing.T, dir string, took time.Duration) {
	records, err := task.ReadJournal(dir)
	if err != nil || len(records) != *soakCommands {
		t.Fatalf("%d commands on record, %v; want %d", len(records), err, *soakCommands)
	}
	ends := map[string]int{}
	for _, rec := range records {
		if by := s.told[rec.ID]; len(by) != 1 || by[0] != rec.Carrier || !rec.Told || !rec.Status.Terminal() {
			t.Errorf("told by %q: %+v", by, rec.Snapshot)
		}
		ends[fmt.Sprintf("%s/%s", rec.Status, rec.Reason)]++
	}
	t.Logf("%d ends of commands in %v, %d in the background: %v", len(records), took.Round(time.Millisecond), s.switched, ends)
}
