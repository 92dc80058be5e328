package tasktest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"heddle/internal/task"
	"heddle/internal/task/tasktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The simplest kind passes its own suite.
func TestSuite(t *testing.T) {
	t.Parallel()
	tasktest.Run(t, tasktest.Kind{
		Kind: task.Dream,
		Quick: func(*testing.T) task.Runner {
			return task.RunnerFunc(func(_ context.Context, t *task.Task) error {
				_, err := fmt.Fprintln(t.Output, "quick")
				return err
			})
		},
		Endless: func(*testing.T) task.Runner {
			return task.RunnerFunc(func(ctx context.Context, t *task.Task) error {
				fmt.Fprintln(t.Output, "ready")
				<-ctx.Done()
				return context.Cause(ctx)
			})
		},
		Broken: func(*testing.T) task.Runner {
			return task.RunnerFunc(func(context.Context, *task.Task) error { return errors.New("out of sheep") })
		},
	})
}
