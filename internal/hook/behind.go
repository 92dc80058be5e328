package hook

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
)

// behind are the hooks that nobody waits for.
type behind struct {
	mu      sync.Mutex
	closed  bool
	running []*started // with those that left something running
	said    []string
	wait    sync.WaitGroup
}

// detach starts a hook that the session does not wait for. Its decisions come too late to
// count. What it leaves running runs until [Runner.Close].
func (r *Runner) detach(ctx context.Context, h *entry, input []byte) {
	if err := r.tryDetach(context.WithoutCancel(ctx), h.Hook, input); err != nil {
		h.spent.Store(false)
		r.tell(h.Hook, "%v", err)
	}
}

// tryDetach starts the hook unless the runner is closed. The lock makes sure that Close
// sees every hook that started.
func (r *Runner) tryDetach(ctx context.Context, h Hook, input []byte) error {
	b := &r.behind
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	s, err := r.start(h, input)
	if err != nil {
		return err
	}
	b.running = slices.DeleteFunc(b.running, (*started).over)
	b.running = append(b.running, s)
	ctx, s.cancel = context.WithCancel(ctx)
	b.wait.Go(func() { r.attend(ctx, s) })
	return nil
}

// over reports whether nothing of a command is left.
func (s *started) over() bool {
	select {
	case <-s.Done():
		return len(s.Members()) == 0
	default:
		return false
	}
}

// attend waits for a hook behind the session and keeps what it has to say.
func (r *Runner) attend(ctx context.Context, s *started) {
	h, limit := s.hook, s.hook.limit()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	defer s.cancel()
	rep, err := r.wait(ctx, s)
	if err != nil {
		r.fail(ctx, h, limit, err)
		return
	}
	if r.behind.ended() {
		r.discard(rep)
		return
	}
	said, wakes := r.report(h, rep)
	r.behind.say(h.Event, said)
	if wakes && r.o.Wake != nil {
		r.o.Wake()
	}
}

// report returns what a hook behind the session has to say to the model, and whether the
// model is to go on because of it.
func (r *Runner) report(h Hook, rep reply) (said []string, wakes bool) {
	if rep.code == blockingCode { // there is nothing left to hold back
		if h.Rewake {
			said = append(said, r.readable(cmp.Or(strings.TrimSpace(rep.stderr), rep.end)))
			wakes = true
		} else if why := oneLine(rep.stderr); why != "" {
			r.tell(h, "%s", why)
		}
		rep.code = 0
	}
	o := r.read(h, rep)
	r.tidy(&o)
	return slices.Concat(said, o.Context, o.Messages), wakes
}

func (b *behind) ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

func (b *behind) say(e Event, texts []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range texts {
		b.said = append(b.said, Wrap(e, t))
	}
}

// Delayed returns what hooks in the background had to say since it was last called, for
// the model, each as by [Wrap].
func (r *Runner) Delayed() []string {
	b := &r.behind
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.said
	b.said = nil
	return said
}

// Close ends the hooks in the background with everything that they started, and waits for
// that. When ctx is done they have no more time to end by themselves. Hooks of the
// background do not start any more; all others do.
func (r *Runner) Close(ctx context.Context) {
	b := &r.behind
	b.mu.Lock()
	b.closed = true
	running := b.running
	b.running = nil
	b.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range running {
		all.Go(func() {
			r.end(ctx, s)
			s.cancel() // nobody waits for one that cannot be ended
		})
	}
	all.Wait()
	b.wait.Wait()
}
