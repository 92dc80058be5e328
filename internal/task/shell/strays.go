package shell

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"heddle/internal/process"
)

// Strays are the trees of commands that have exited and left processes behind.
// They run on, as the command wanted, but not longer than the session.
type Strays struct {
	mu    sync.Mutex
	trees []*process.Process
}

func (s *Strays) add(p *process.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees = append(s.trees, p)
}

// End ends all of them at once, and names those that are still alive after that.
func (s *Strays) End(ctx context.Context) error {
	s.mu.Lock()
	trees := s.trees
	s.trees = nil
	s.mu.Unlock()
	errs := make([]error, len(trees))
	var wg sync.WaitGroup
	for i, p := range trees {
		wg.Go(func() {
			alive, err := p.End(ctx, grace)
			if len(alive) > 0 {
				err = errors.Join(err, fmt.Errorf("still alive after they were killed: %v", alive))
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
