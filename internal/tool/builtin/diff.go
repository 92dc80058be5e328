package builtin

import (
	"slices"
	"strings"
)

// hunk is a changed region of a file, as a unified diff counts it.
type hunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"` // each after ' ', '-' or '+'
}

const (
	diffContext = 3   // unchanged lines around a change
	diffEffort  = 400 // differences after which the rest counts as rewritten
)

// diff returns what changed from old to new, line by line.
func diff(old, new string) []hunk {
	a, b := splitLines(old), splitLines(new)
	return hunks(a, b, script(a, b))
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// edit says that a[oldAt:oldEnd] became b[newAt:newEnd].
type edit struct{ oldAt, oldEnd, newAt, newEnd int }

// script finds the edits that turn a into b, in order.
func script(a, b []string) []edit {
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	edits := myers(a[head:len(a)-tail], b[head:len(b)-tail])
	for i := range edits {
		e := &edits[i]
		e.oldAt, e.oldEnd, e.newAt, e.newEnd = e.oldAt+head, e.oldEnd+head, e.newAt+head, e.newEnd+head
	}
	return edits
}

// myers is the greedy algorithm of E. W. Myers, "An O(ND) Difference Algorithm
// and Its Variations" (1986). frontier[k] is how far into a the best path on
// diagonal k gets with d differences; each is kept to walk back along it.
func myers(a, b []string) []edit {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	whole := []edit{{0, len(a), 0, len(b)}}
	if len(a) == 0 || len(b) == 0 {
		return whole
	}
	effort := min(diffEffort, len(a)+len(b))
	frontier := make([]int, 2*effort+3)
	var trace [][]int
	for d := 0; d <= effort; d++ {
		trace = append(trace, slices.Clone(frontier[effort+1-d:effort+2+d]))
		for k := -d; k <= d; k += 2 {
			x := step(frontier, effort+1+k, k, d)
			y := x - k
			for x < len(a) && y < len(b) && a[x] == b[y] {
				x, y = x+1, y+1
			}
			frontier[effort+1+k] = x
			if k == len(a)-len(b) && x >= len(a) {
				return walkBack(trace, len(a), len(b))
			}
		}
	}
	return whole
}

// step goes to diagonal k, at index i of frontier, by deleting or inserting a line.
func step(frontier []int, i, k, d int) int {
	if d == 0 {
		return 0
	}
	if k == -d || k != d && frontier[i-1] < frontier[i+1] {
		return frontier[i+1]
	}
	return frontier[i-1] + 1
}

// walkBack collects the edits of the path that reached (x, y), last to first.
func walkBack(trace [][]int, x, y int) []edit {
	var edits []edit
	for d := len(trace) - 1; d > 0; d-- {
		k := x - y
		// trace[d] holds the diagonals -d..d as they were after d-1 differences.
		before := func(k int) int { return trace[d][k+d] }
		prev := k - 1
		if k == -d || k != d && before(k-1) < before(k+1) {
			prev = k + 1
		}
		px := before(prev)
		py := px - prev
		e := edit{px, px, py, py}
		if prev > k {
			e.newEnd++
		} else {
			e.oldEnd++
		}
		if n := len(edits); n > 0 && edits[n-1].oldAt == e.oldEnd && edits[n-1].newAt == e.newEnd {
			edits[n-1].oldAt, edits[n-1].newAt = e.oldAt, e.newAt
		} else {
			edits = append(edits, e)
		}
		x, y = px, py
	}
	slices.Reverse(edits)
	return edits
}

// hunks puts edits that share context together and adds the context.
func hunks(a, b []string, edits []edit) []hunk {
	out := []hunk{}
	for i := 0; i < len(edits); {
		j := i + 1
		for j < len(edits) && edits[j].oldAt-edits[j-1].oldEnd <= 2*diffContext {
			j++
		}
		out = append(out, oneHunk(a, b, edits[i:j]))
		i = j
	}
	return out
}

func oneHunk(a, b []string, edits []edit) hunk {
	first, last := edits[0], edits[len(edits)-1]
	lead := min(diffContext, first.oldAt)
	trail := min(diffContext, len(a)-last.oldEnd)
	h := hunk{
		OldStart: first.oldAt - lead + 1, OldLines: last.oldEnd + trail - (first.oldAt - lead),
		NewStart: first.newAt - lead + 1, NewLines: last.newEnd + trail - (first.newAt - lead),
	}
	at := first.oldAt - lead
	put := func(mark string, lines []string) {
		for _, l := range lines {
			h.Lines = append(h.Lines, mark+l)
		}
	}
	for _, e := range edits {
		put(" ", a[at:e.oldAt])
		put("-", a[e.oldAt:e.oldEnd])
		put("+", b[e.newAt:e.newEnd])
		at = e.oldEnd
	}
	put(" ", a[at:last.oldEnd+trail])
	// A side without lines stands after the line before it.
	if h.OldLines == 0 {
		h.OldStart--
	}
	if h.NewLines == 0 {
		h.NewStart--
	}
	return h
}
