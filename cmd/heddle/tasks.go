package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"heddle/internal/control"
	"heddle/internal/task"
	"heddle/internal/tool"
)

const tasksUsage = `tasks [list|show|logs|wait|stop] [ID ...] [FLAGS]

  list         the tasks of the sessions that run in this directory
  show ID      all that is known of a task, and the end of its output
  logs ID      the output of a task; with -f as it grows, to its end
  wait ID ...  until they have ended: exit code 0 if all completed, 1 if one did not, 124 on a time-out
  stop ID ...  end them, together with everything they started

An ID may be shortened to its beginning. Tasks of sessions that are over are known from what they wrote down.`

// exitTimeout is the exit code of "tasks wait" when the time is over, as that of timeout(1).
const exitTimeout = 124

// tasksOptions are the flags of heddle tasks.
type tasksOptions struct {
	session string
	all     bool
	json    bool
	follow  bool
	tail    int
	bytes   int64
	timeout time.Duration
	any     bool
}

// runTasks looks at the tasks of sessions and steers them.
func runTasks(ctx context.Context, args []string, std stdio) error {
	fs := newFlags("tasks")
	var o tasksOptions
	fs.StringVar(&o.session, "session", "", "only of session `ID`, or the beginning of one; it may be over")
	fs.BoolVar(&o.all, "all", false, "with list: the sessions of all directories")
	fs.BoolVar(&o.json, "json", false, "print JSON")
	fs.BoolVar(&o.follow, "f", false, "with logs: go on until the task ends")
	fs.IntVar(&o.tail, "tail", -1, "with logs: only the last `N` lines")
	fs.Int64Var(&o.bytes, "bytes", -1, "with logs: only the last `N` bytes")
	fs.DurationVar(&o.timeout, "timeout", 0, "with wait: give up after `D`")
	fs.BoolVar(&o.any, "any", false, "with wait: until the first has ended")
	verb, args := "list", slices.Clone(args)
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	ids, done, err := parse(fs, args, std, tasksUsage)
	if err != nil || done {
		return err
	}
	p, err := findPlace()
	if err != nil {
		return err
	}
	run, ok := map[string]func(context.Context, place, tasksOptions, []string, stdio) error{
		"list": listTasks, "show": showTask, "logs": taskLogs, "wait": waitTasks, "stop": stopTasks,
	}[verb]
	switch {
	case !ok:
		return usagef("tasks: there is no %q; there are list, show, logs, wait and stop", verb)
	case verb == "list" && len(ids) > 0:
		return usagef("tasks list takes no argument %q", ids[0])
	case verb != "list" && len(ids) == 0:
		return usagef("tasks %s: name a task by its id; heddle tasks lists them", verb)
	case o.tail >= 0 && o.bytes >= 0:
		return usagef("tasks %s: --tail and --bytes exclude each other", verb)
	case (verb == "show" || verb == "logs") && len(ids) > 1:
		return usagef("tasks %s takes one id", verb)
	}
	return run(ctx, p, o, ids, std)
}

// listTasks prints tasks, those that an agent owns under it.
func listTasks(ctx context.Context, p place, o tasksOptions, _ []string, std stdio) error {
	found, err := findTasks(ctx, p, o.session, o.all, o.session != "", std.err)
	if err != nil {
		return err
	}
	defer closeAll(found)
	if o.json {
		return printJSON(std.out, append([]seenTask{}, found...))
	}
	if len(found) == 0 {
		text := "No session runs in this directory, or none has tasks. heddle tasks --session ID shows those of one that is over; --all looks at what runs in other directories."
		if o.all {
			text = "No session runs, or none has tasks. heddle tasks --session ID shows those of one that is over."
		}
		if o.session != "" {
			text = "The session has no tasks."
		}
		_, err := fmt.Fprintln(std.out, text)
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKIND\tSTATE\tTIME\tDESCRIPTION")
	for _, t := range nested(found) {
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\n", strings.Repeat("  ", t.depth), t.ID, t.Kind, t.state(), t.time(), brief60(plainLine(t.Description)))
	}
	return w.Flush()
}

// showTask prints all that is known of a task.
func showTask(ctx context.Context, p place, o tasksOptions, ids []string, std stdio) error {
	t, err := oneTask(ctx, p, o, ids[0], std.err)
	if err != nil {
		return err
	}
	defer t.close()
	if o.json {
		return printJSON(std.out, t)
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, plainLine(value))
		}
	}
	row("id", string(t.ID))
	row("kind", string(t.Kind))
	row("state", t.state())
	row("error", t.Error)
	row("description", t.Description)
	row("session", t.Session)
	row("owner", string(t.Owner))
	row("started", t.StartedAt.Local().Format(time.DateTime))
	if t.Status.Terminal() {
		row("ended", t.EndedAt.Local().Format(time.DateTime))
	}
	row("time", t.time())
	row("detail", string(t.Detail))
	row("output", t.OutputFile)
	if err := w.Flush(); err != nil {
		return err
	}
	piece, err := task.ReadOutput(t.OutputFile, -2000, 2000)
	text := strings.TrimSuffix(tool.Plain(piece.Bytes), "\n")
	switch {
	case errors.Is(err, os.ErrNotExist): // it is kept for some time only
		text = "(its output is gone)"
	case err != nil:
		return err
	case text == "":
		text = "(no output)"
	}
	_, err = fmt.Fprintf(std.out, "\n%s\n", text)
	return err
}

// waitTasks waits until tasks have ended, and prints how.
func waitTasks(ctx context.Context, p place, o tasksOptions, ids []string, std stdio) error {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimeIsOver)
		defer cancel()
	}
	tasks, err := severalTasks(ctx, p, o, ids, std.err)
	if err != nil {
		return err
	}
	defer closeAll(tasks)
	count := 0
	if o.any {
		count = 1
	}
	after, err := ask(ctx, tasks, control.Wait, count)
	if errors.Is(err, errTimeIsOver) {
		fmt.Fprintf(std.err, "heddle: not ended within %v\n", o.timeout)
		return exitError(exitTimeout)
	}
	if err != nil {
		return err
	}
	if o.any && !o.json { // the others have no end to print
		after = slices.DeleteFunc(after, func(t seenTask) bool { return !t.Status.Terminal() })
	}
	bad := false
	for _, t := range after {
		bad = bad || t.Status.Terminal() && t.Status != task.Completed
	}
	if err := printEnds(std.out, o, after); err != nil || !bad {
		return err
	}
	return exitError(exitFailed)
}

var errTimeIsOver = errors.New("the time is over")

// stopTasks ends tasks. One that cannot be ended does not keep the others alive.
func stopTasks(ctx context.Context, p place, o tasksOptions, ids []string, std stdio) error {
	tasks, err := severalTasks(ctx, p, o, ids, std.err)
	if err != nil {
		return err
	}
	defer closeAll(tasks)
	var running []seenTask
	var not []error
	for _, t := range tasks {
		if why := t.cannotStop(); why != nil {
			not = append(not, why)
		} else {
			running = append(running, t)
		}
	}
	if len(running) == 0 {
		return usageError{errors.Join(not...).Error()}
	}
	after, err := ask(ctx, running, control.Stop, 0)
	return errors.Join(append([]error{printEnds(std.out, o, after), err}, not...)...)
}

// cannotStop says why nothing here can end the task, or nil.
func (t seenTask) cannotStop() error {
	switch {
	case t.Status.Terminal():
		return usagef("task %s has ended already: %s", t.ID, t.state())
	case t.client == nil && t.Live:
		return usagef("task %s belongs to session %s, which runs but cannot be reached", t.ID, t.Session)
	case t.client == nil:
		return usagef("task %s belongs to session %s, which does not run any more: heddle --resume %s takes it up, any other start of heddle ends it", t.ID, t.Session, t.Session)
	}
	return nil
}

// printEnds prints a line for each task.
func printEnds(w io.Writer, o tasksOptions, tasks []seenTask) error {
	if o.json {
		return printJSON(w, tasks)
	}
	for _, t := range tasks {
		line := fmt.Sprintf("%s %s, after %s: %s", t.ID, t.state(), t.time(), plainLine(t.Description))
		if t.Error != "" && t.Status == task.Failed {
			line += ": " + plainLine(t.Error)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// plainLine is text as one line that a terminal may be given.
func plainLine(s string) string {
	return strings.Join(strings.Fields(tool.Plain([]byte(s))), " ")
}
