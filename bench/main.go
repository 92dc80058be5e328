// Command bench measures heddle as a user meets it, as whole processes against a
// loopback server that answers at once, and prints a table.
//
//	go run ./bench
//
// Machines are noisy: every figure is a median, and what counts is the ratio to a
// control that was measured in the same run.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if kind := os.Getenv(playServer); kind != "" {
		serveMCP(kind)
		return
	}
	if work := os.Getenv(playBare); work != "" {
		if err := bare(work); err != nil {
			fmt.Fprintln(os.Stderr, "bare:", err)
			os.Exit(1)
		}
		return
	}
	var b bench
	flag.IntVar(&b.runs, "n", 15, "runs of each short measurement")
	flag.IntVar(&b.turns, "turns", 505, "turns of the long conversation")
	flag.Int64Var(&b.printed, "printed", 500e6, "bytes that a command prints")
	flag.DurationVar(&b.rest, "rest", 5*time.Second, "how long a session with sleeping commands is watched")
	only := flag.String("only", "", "measure only what has this `name`; a wrong one lists them")
	flag.Parse()
	if err := b.run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is a line of the table. A figure holds if it is at most the limit.
type row struct {
	what    string
	figure  string
	control string
	ratio   float64
	limit   float64
}

func (b *bench) run(only string) error {
	chosen := b.measures()
	if only != "" {
		chosen = slices.DeleteFunc(chosen, func(m measure) bool { return m.name != only })
	}
	if len(chosen) == 0 {
		var names []string
		for _, m := range b.measures() {
			names = append(names, m.name)
		}
		return fmt.Errorf("there is no measurement %q; there are %s", only, strings.Join(names, ", "))
	}
	dir, err := os.MkdirTemp("", "heddle-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b.dir = dir
	if err := b.build(); err != nil {
		return err
	}
	var rows []row
	for _, m := range chosen {
		r, err := m.rows()
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		rows = append(rows, r...)
	}
	printTable(rows)
	return nil
}

type measure struct {
	name string
	rows func() ([]row, error)
}

// measures are all measurements, in the order of the table.
func (b *bench) measures() []measure {
	return []measure{
		{"size", b.size},
		{"start", b.start},
		{"request", b.firstRequest},
		{"servers", b.servers},
		{"conversation", b.conversation},
		{"memory", b.memory},
		{"idle", b.idle},
		{"sleepers", b.sleepers},
		{"output", b.output},
		{"agents", b.agents},
		{"thousand", b.thousand},
		{"waiting", b.waiting},
		{"spawn", b.spawn},
		{"worktree", b.worktree},
		{"cache", b.cache},
		{"micro", b.micro},
	}
}

func printTable(rows []row) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tHEDDLE\tCONTROL\tRATIO\tLIMIT\t")
	for _, r := range rows {
		mark := "ok"
		if r.ratio > r.limit {
			mark = "OVER"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%.2f\t%s\n", r.what, r.figure, r.control, r.ratio, r.limit, mark)
	}
	w.Flush()
}

// bench holds what is measured, the program and one that does nothing, and how much of it.
type bench struct {
	dir, heddle, hello string

	runs, turns int
	printed     int64
	rest        time.Duration
}

const helloSource = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"

func (b *bench) build() error {
	b.heddle, b.hello = filepath.Join(b.dir, "heddle"), filepath.Join(b.dir, "hello")
	source := filepath.Join(b.dir, "hello.go")
	if err := os.WriteFile(source, []byte(helloSource), 0o600); err != nil {
		return err
	}
	for out, pkg := range map[string]string{b.heddle: "./cmd/heddle", b.hello: source} {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, msg)
		}
	}
	return nil
}

func (b *bench) size() ([]row, error) {
	info, err := os.Stat(b.heddle)
	if err != nil {
		return nil, err
	}
	mib := float64(info.Size()) / (1 << 20)
	return []row{{"binary, stripped", fmt.Sprintf("%.1f MiB", mib), "20 MiB", mib / 20, 1}}, nil
}

// start compares heddle --version with a program that prints a line.
func (b *bench) start() ([]row, error) {
	var ours, bare []time.Duration
	for range b.runs {
		d, err := timed(exec.Command(b.heddle, "--version"))
		if err != nil {
			return nil, err
		}
		e, err := timed(exec.Command(b.hello))
		if err != nil {
			return nil, err
		}
		ours, bare = append(ours, d), append(bare, e)
	}
	return []row{compare("heddle --version | hello world", ours, bare, 2)}, nil
}

func timed(cmd *exec.Cmd) (time.Duration, error) {
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return time.Since(begin), nil
}

func median(ds []time.Duration) time.Duration {
	s := slices.Clone(ds)
	slices.Sort(s)
	return s[len(s)/2]
}

func compare(what string, ours, control []time.Duration, limit float64) row {
	a, c := median(ours), median(control)
	return row{what, ms(a), ms(c), float64(a) / float64(c), limit}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
