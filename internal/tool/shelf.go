package tool

import (
	"cmp"
	"slices"
	"strings"
)

// Shelf lists tools that a model is not shown, and can look for: those that came late, and
// those that are too many to show. It may list others the next time. It must be safe for
// use by several goroutines.
type Shelf func() []Tool

// Get returns the tool of that name.
func (s Shelf) Get(name string) (Tool, bool) {
	all := s()
	if i := slices.IndexFunc(all, func(t Tool) bool { return t.Name == name }); i >= 0 {
		return all[i], true
	}
	return Tool{}, false
}

// Search returns at most n tools that fit a query, the best first: "select:A,B" asks for
// tools by name, anything else is words, of which one with a + before it must occur.
// found is how many fit in all.
func (s Shelf) Search(query string, n int) (best []Tool, found int) {
	if names, ok := strings.CutPrefix(strings.TrimSpace(query), "select:"); ok {
		for name := range strings.SplitSeq(names, ",") {
			if t, ok := s.Get(strings.TrimSpace(name)); ok {
				best = append(best, t)
			}
		}
		return best[:min(n, len(best))], len(best)
	}
	type scored struct {
		Tool
		points int
	}
	words := strings.Fields(strings.ToLower(query))
	var list []scored
	for _, t := range s() {
		if p := points(t, words); p > 0 {
			list = append(list, scored{t, p})
		}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.points, a.points) })
	for _, t := range list[:min(n, len(list))] {
		best = append(best, t.Tool)
	}
	return best, len(list)
}

// points says how well a tool fits words in lower case: a word in its name counts more than
// one that is only in its description. No words fit every tool.
func points(t Tool, words []string) int {
	if len(words) == 0 {
		return 1
	}
	name, description := strings.ToLower(t.Name), strings.ToLower(t.Description)
	sum := 0
	for _, w := range words {
		must := strings.HasPrefix(w, "+")
		w = strings.TrimPrefix(w, "+")
		switch {
		case w == "":
		case w == name:
			sum += 100
		case strings.Contains(name, w):
			sum += 10
		case strings.Contains(description, w):
			sum++
		case must:
			return 0
		}
	}
	return sum
}
