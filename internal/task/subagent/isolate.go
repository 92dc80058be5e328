package subagent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/internal/task"
	"heddle/internal/tool"
	"heddle/internal/worktree"
)

// Checkout is a checkout of an agent's own that was kept, since something is in it that
// would be lost.
type Checkout struct {
	Name    string   `json:"name"`
	Path    string   `json:"path"`
	Branch  string   `json:"branch"`
	Changed []string `json:"changed_files,omitempty"`
	Why     []string `json:"kept_because"`
}

// Words tell whoever sent the agent where its work is.
func (c *Checkout) Words() string {
	const most = 20
	files := c.Changed
	more := ""
	if len(files) > most {
		files, more = files[:most], fmt.Sprintf(" and %d more", len(c.Changed)-most)
	}
	changed := ""
	if len(files) > 0 {
		changed = " Changed files: " + strings.Join(files, ", ") + more + "."
	}
	return fmt.Sprintf("The work is in a checkout of its own, %s (branch %s), which was kept: %s.%s See it with \"heddle worktree diff %s\"; \"heddle worktree apply %s\" brings it into this tree.",
		c.Path, c.Branch, strings.Join(c.Why, "; "), changed, c.Name, c.Name)
}

// isolate gives the agent a checkout of its own. Without one it must not begin: it was
// meant to be kept apart.
func (n *run) isolate(ctx context.Context, t *task.Task) error {
	tree, err := n.checkout(ctx, "agent-"+string(t.ID))
	if err != nil {
		return fmt.Errorf("it was to have a checkout of its own, and got none: %w", err)
	}
	n.tree = tree
	own := n.scope
	if own.Root != tree.Path {
		own = tool.NewScope(tree.Path, n.scope.Spill)
		own.Agent, own.MayRead, own.Extra = n.scope.Agent, n.scope.MayRead, n.scope.Extra
	}
	own.SetDir(tree.Path)
	guard := tree.Guard()
	own.Env, own.Unset = guard.Env, guard.Unset
	own.OffLimits = slices.Compact(slices.Sorted(slices.Values(slices.Concat(n.scope.OffLimits, guard.OffLimits()))))
	n.scope = own
	if n.context != nil {
		n.context.Scope = own
	}
	return nil
}

// checkout is that which the agent had, if something is in it, or else a new one.
func (n *run) checkout(ctx context.Context, name string) (*worktree.Tree, error) {
	if n.input != nil {
		trees, _, err := worktree.List(ctx, n.from)
		if err != nil {
			return nil, err
		}
		for i := range trees {
			if tree := &trees[i]; tree.Name == name && tree.Stage == worktree.Ready {
				return tree, tree.Claim(ctx)
			}
		}
	}
	return worktree.Create(ctx, worktree.Options{Dir: n.from, Name: name, Base: n.base, Include: true})
}

// place is what an agent with a checkout of its own is told of where it is; empty: it has
// none.
func (n *run) place() string {
	if n.tree == nil {
		return ""
	}
	return fmt.Sprintf("<environment>\nYou work in a checkout of your own, whatever is said elsewhere. Working directory: %s\nBranch: %s, made from %s\nWhat you change here is brought to those who sent you by them; do not touch their tree.\n%s</environment>",
		n.tree.Path, n.tree.Branch, n.tree.Base, strings.Join(n.tree.Notes, "\n"))
}

// leaving is how long it may take to see what an agent leaves in its checkout.
const leaving = time.Minute

// settle ends what the agent has started, and removes its checkout unless something in it
// would be lost.
func (n *run) settle(ctx context.Context, t *task.Task) {
	if n.tree == nil {
		return
	}
	for _, s := range n.s.o.Tasks.List() {
		if s.Owner == t.ID && !s.Status.Terminal() {
			_ = n.s.o.Tasks.Kill(s.ID, task.ErrOwnerEnded) // what survives is told with that task
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	state, err := n.tree.State(ctx)
	why := state.Losses()
	if err == nil && len(why) == 0 {
		if err = n.tree.Remove(ctx, false); err == nil {
			return
		}
	}
	if err != nil {
		why = append(why, err.Error())
	}
	n.tree.Release()
	n.progress.d.Checkout = &Checkout{Name: n.tree.Name, Path: n.tree.Path, Branch: n.tree.Branch, Changed: slices.Concat(state.Dirty, state.Untracked), Why: why}
}
