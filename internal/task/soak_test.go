package task

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	soakTasks = flag.Int("soak", 2000, "how many tasks TestSoak runs to their end")
	soakSeed  = flag.Uint64("soak.seed", 0, "seed of TestSoak; 0 is a new one")
)

// soakAtOnce is how many tasks of the soak run beside each other.
const soakAtOnce = 64

// Many tasks end in all ways while they are switched, waited for, claimed, killed and
// read about at random moments. Each end must be told once: to the call that started the
// task, to a call that claimed it, or by a notification. This runs in real time and on
// all cores, where the test with the fake clock goes through the moments in order:
//
//	go test ./internal/task -run Soak -soak 100000
func TestSoak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	q := &queue{}
	s := &soaking{
		rt: newRuntime(t, Options{Dir: dir, Notifier: q, Grace: 5 * time.Millisecond}), queue: q, seed: seed,
		told: map[ID][]string{}, recent: make([]ID, soakAtOnce),
	}
	begin := time.Now()
	s.run(*soakTasks)
	s.report(t, dir, time.Since(begin))
}

// soaking is what the tasks of a soak share.
type soaking struct {
	rt    *Runtime
	queue *queue
	seed  uint64

	mu       sync.Mutex
	told     map[ID][]string // what told the end of each
	owned    []*Task         // that tasks started themselves
	recent   []ID            // for claims of several at once
	switched int             // from the foreground to the background
	claims   int
	evicted  int // claims that came after the task was forgotten
	cancels  int
}

// run lives n lives, while somebody reads what is told and somebody sends all that
// is waited for to the background.
func (s *soaking) run(n int) {
	over := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() { s.every(over, 3*time.Millisecond, func() { s.queue.empty(s.rt) }) })
	others.Go(func() { s.every(over, 20*time.Millisecond, func() { _, _ = s.rt.Background("") }) })
	var lives sync.WaitGroup
	slots := make(chan struct{}, soakAtOnce)
	for i := range n {
		slots <- struct{}{}
		lives.Go(func() {
			s.life(i)
			<-slots
		})
	}
	lives.Wait()
	for _, t := range s.owned {
		<-t.Done()
	}
	close(over)
	others.Wait()
	s.queue.empty(s.rt)
	for _, id := range s.queue.read {
		s.tell(ID(id[len("end:"):]), id)
	}
}

// every does something at random moments that are at most so long apart.
func (s *soaking) every(over <-chan struct{}, most time.Duration, do func()) {
	rnd := rand.New(rand.NewPCG(s.seed, uint64(most)))
	for {
		select {
		case <-over:
			return
		case <-time.After(upTo(rnd, most)):
			if rnd.IntN(8) == 0 { // so that two looks may follow each other at once
				do()
			}
			do()
		}
	}
}

func (s *soaking) tell(id ID, carrier string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told[id] = append(s.told[id], carrier)
}

// add counts, under the lock.
func (s *soaking) add(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

// life is that of one task, from its start until all who meddled with it are done.
func (s *soaking) life(i int) {
	rnd := rand.New(rand.NewPCG(s.seed, uint64(i)))
	call := fmt.Sprintf("toolu_%d", i)
	ending := make(chan struct{})
	endless := rnd.IntN(6) == 0
	t, err := s.rt.Start(
		Spec{Kind: LocalBash, ToolUseID: call, Background: rnd.IntN(3) == 0},
		s.work(rnd, endless, ending),
	)
	if err != nil {
		panic(err) // the runtime is open, and the disk has room
	}
	m := &meddling{soaking: s, t: t, rnd: rnd, ending: ending, call: call}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m.meddle(cancel, endless)
	s.mu.Lock()
	s.recent[i%len(s.recent)] = t.ID
	s.mu.Unlock()

	if !t.backgrounded() || rnd.IntN(8) == 0 {
		budget := time.Duration(0)
		if rnd.IntN(2) == 0 {
			budget = 1 + upTo(rnd, 2*time.Millisecond)
		}
		switch t.Attach(ctx, budget) {
		case Finished:
			s.tell(t.ID, call)
			s.rt.Delivered(call)
		case Backgrounded:
			s.add(&s.switched)
		}
	}
	<-t.Done()
	m.Wait()
}

// work returns a runner that ends in one of many ways, and closes ending right before.
func (s *soaking) work(rnd *rand.Rand, endless bool, ending chan<- struct{}) Runner {
	lasts := time.Duration(rnd.IntN(3)) * upTo(rnd, time.Millisecond)
	if endless {
		lasts = ages
	}
	way, hasOwned := rnd.IntN(12), rnd.IntN(16) == 0
	return RunnerFunc(func(ctx context.Context, t *Task) error {
		defer close(ending)
		if hasOwned {
			owned, err := s.rt.Start(Spec{Kind: LocalBash, Owner: t.ID, Background: true}, takes(lasts/2+time.Microsecond, nil))
			if err == nil {
				s.mu.Lock()
				s.owned = append(s.owned, owned)
				s.mu.Unlock()
			}
		}
		err := takes(lasts, nil)(ctx, t)
		switch way {
		case 0:
			panic("one of many")
		case 1:
			runtime.Goexit()
		case 2:
			return &EndError{ReasonExit, errors.New("exit code 1")}
		case 3:
			return nil // finished in spite of everything
		}
		return err
	})
}

// meddling is what others do with a task while it lives.
type meddling struct {
	*soaking
	sync.WaitGroup
	t      *Task
	rnd    *rand.Rand // of the life; not for the goroutines
	ending <-chan struct{}
	call   string
}

// meddle lets others do what they do, each at a moment of its own.
func (m *meddling) meddle(cancel func(), endless bool) {
	if m.rnd.IntN(3) == 0 {
		m.sometime(m.t.Background)
	}
	if m.rnd.IntN(10) == 0 {
		m.sometime(func() { m.add(&m.cancels); cancel() })
	}
	if m.rnd.IntN(5) == 0 {
		m.sometime(func() { _ = m.rt.Kill(m.t.ID, ErrKilled) }) // it may be over
	}
	if m.rnd.IntN(4) == 0 {
		m.claim("stop", 0, func() { _ = m.rt.Kill(m.t.ID, ErrStopped) })
	}
	for k := range m.rnd.IntN(3) {
		m.claim(fmt.Sprint("wait", k), upTo(m.rnd, 2*time.Millisecond), func() {})
	}
	if m.rnd.IntN(8) == 0 {
		until := m.moment()
		m.sometime(func() {
			unpin := m.rt.Pin(m.t.ID)
			until()
			unpin()
		})
	}
	if endless {
		m.Go(func() {
			<-time.After(3 * time.Millisecond)
			_ = m.rt.Kill(m.t.ID, ErrKilled)
		})
	}
}

// sometime does something soon, or when the task is about to end or has just ended.
func (m *meddling) sometime(do func()) {
	wait := m.moment()
	m.Go(func() { wait(); do() })
}

// moment draws a moment in the life of the task.
func (m *meddling) moment() (wait func()) {
	if m.rnd.IntN(2) == 0 {
		return func() {
			select {
			case <-m.ending:
			case <-m.t.Done(): // it never ran
			}
		}
	}
	after := upTo(m.rnd, 2*time.Millisecond)
	return func() { <-time.After(after) }
}

func upTo(rnd *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(rnd.Int64N(int64(most)))
}

// claim is a tool call that waits for the task, perhaps together with others, and tells
// the ends that become its own.
func (m *meddling) claim(name string, patience time.Duration, during func()) {
	carrier := m.call + name
	ids, count := []ID{m.t.ID}, 0
	if m.rnd.IntN(3) == 0 {
		m.mu.Lock()
		for _, id := range m.recent[:3] {
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		m.mu.Unlock()
		count = m.rnd.IntN(2)
	}
	m.sometime(func() {
		c, err := m.rt.Claim(ids, carrier)
		if err != nil { // one of them is over, told and forgotten
			m.add(&m.evicted)
			return
		}
		m.add(&m.claims)
		during()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, _ = m.rt.Wait(ctx, ids, Condition{Count: count}) // they may not end in time
		for _, s := range c.Take() {
			if s.Status.Terminal() && s.Carrier == carrier {
				m.tell(s.ID, carrier)
			}
		}
		m.rt.Delivered(carrier)
	})
}

// report holds what was told against the journal, which is what the next run of the
// program would go by.
func (s *soaking) report(t *testing.T, dir string, took time.Duration) {
	records, err := ReadJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := *soakTasks + len(s.owned); len(records) != want {
		t.Errorf("%d tasks on record, want %d", len(records), want)
	}
	lost, twice := 0, 0
	ends, carriers := map[string]int{}, map[string]int{}
	for _, rec := range records {
		by := s.told[rec.ID]
		switch {
		case len(by) == 0:
			lost++
		case len(by) > 1:
			twice++
		}
		if len(by) != 1 || by[0] != rec.Carrier || !rec.Told || !rec.Status.Terminal() {
			t.Errorf("told by %q: %+v", by, rec.Snapshot)
		}
		ends[fmt.Sprintf("%s/%s", rec.Status, rec.Reason)]++
		switch rec.Carrier {
		case noticeID(rec.Snapshot):
			carriers["notification"]++
		case rec.ToolUseID:
			carriers["call that started it"]++
		default:
			carriers["call that claimed it"]++
		}
	}
	t.Logf("%d ends in %v: %d lost, %d told twice", len(records), took.Round(time.Millisecond), lost, twice)
	t.Logf("told by: %v", carriers)
	t.Logf("ends: %v", ends)
	t.Logf("%d went to the background, %d claims (%d came too late), %d calls were cancelled, %d tasks were owned by tasks",
		s.switched, s.claims, s.evicted, s.cancels, len(s.owned))
}
