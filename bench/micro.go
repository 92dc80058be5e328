package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// micro runs the Go benchmarks of what happens inside a turn: reading an answer, and
// building the next request from a history.
func (b *bench) micro() ([]row, error) {
	out, err := exec.Command("go", "test", "-run", "xxx", "-bench", "Stream|NextRequest", "-benchtime", "0.3s",
		"./internal/model/anthropic", "./internal/model/openai").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test -bench: %w\n%s", err, out)
	}
	var rows []row
	var small figures
	pkg := ""
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = strings.TrimSpace(name[strings.LastIndexByte(name, '/')+1:])
		}
		f := parseFigures(line)
		switch {
		case strings.HasPrefix(f.name, "BenchmarkStream"):
			events := f.value["events/cpu-s"]
			rows = append(rows, row{"decoding, " + pkg, fmt.Sprintf("%.0f events/CPU s", events), "200000", 200_000 / events, 1})
		case strings.HasPrefix(f.name, "BenchmarkNextRequest/2kB"):
			small = f
		case strings.HasPrefix(f.name, "BenchmarkNextRequest/1000kB"):
			rows = append(rows, row{
				"next request: 1 MB of history | 2 kB", fmt.Sprintf("%.0f ns, %.0f B", f.value["ns/op"], f.value["B/op"]),
				fmt.Sprintf("%.0f ns, %.0f B", small.value["ns/op"], small.value["B/op"]), f.value["ns/op"] / small.value["ns/op"], 3,
			})
		}
	}
	if len(rows) < 3 {
		return nil, fmt.Errorf("the benchmarks printed only:\n%s", out)
	}
	return rows, nil
}

// figures are what a line of go test -bench says.
type figures struct {
	name  string
	value map[string]float64 // by unit
}

func parseFigures(line string) figures {
	words := strings.Fields(line)
	f := figures{value: map[string]float64{}}
	if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
		return f
	}
	f.name = words[0]
	for i := 2; i+1 < len(words); i += 2 {
		if x, err := strconv.ParseFloat(words[i], 64); err == nil {
			f.value[words[i+1]] = x
		}
	}
	return f
}
