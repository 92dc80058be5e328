package search

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Mode says what is wanted of the files that match.
type Mode string

const (
	Lines  Mode = "content"            // the lines
	Files  Mode = "files_with_matches" // that they do
	Counts Mode = "count"              // how many lines match; how many matches, if they may span lines
)

// Query is a search for a regular expression.
type Query struct {
	Pattern    string
	Root       string   // a file or a folder, absolute
	Globs      []string // names to search, "!" before those not to; without a slash a name in any folder
	Type       string   // a name from [Types], or empty
	IgnoreCase bool
	Multiline  bool // matches may span lines, and "." matches a line break
	OnlyMatch  bool // give the matches instead of their lines
	Before     int  // lines of context, for Lines
	After      int
	Mode       Mode
	// Skip says which files with a match are kept out of the answer; nil: none. It is
	// asked by several goroutines.
	Skip func(path string) bool
	// Limit is how many entries are wanted at least, if there are so many: lines
	// for Lines, files otherwise.
	Limit int
}

// File is a file with a match.
type File struct {
	Path  string // absolute
	Count int    // for Counts
	Lines []Line // for Lines
}

// Line is a line of a file.
type Line struct {
	Number  int
	Text    string // valid UTF-8, cut if very long
	Context bool   // it does not match; it stands near a line that does
	Gap     bool   // it does not follow the line before it in the result
}

// Found is the answer to a query: the files that come first in the order of
// their paths, up to the limit.
type Found struct {
	Files []File
	Total int  // files with a match
	Sum   int  // of Count, over all of them
	More  bool // the limit cut something off
	// Skipped is how many files with a match were kept out.
	Skipped int
}

// fileLimit is the size of the largest file that is searched.
const fileLimit = 64 << 20

// lineWidth is how much of a line is given, in bytes.
const lineWidth = 1000

// Grep answers q with the program at rg, which is ripgrep, or with its own
// engine if rg is empty or cannot do it. The answer is the same.
func Grep(ctx context.Context, q Query, rg string) (Found, error) {
	p, err := compile(q)
	if err != nil {
		return Found{}, err
	}
	names, err := newFilter(q.Globs, q.Type)
	if err != nil {
		return Found{}, err
	}
	info, err := os.Stat(q.Root)
	if err != nil {
		return Found{}, err
	}
	globs, byName := names.simple()
	text, portable := p.rust()
	if rg != "" && info.IsDir() && !q.Multiline && byName && portable {
		c := newCollector(q)
		if ripgrep(ctx, rg, q, text, names, globs, c) == nil {
			return c.found(), nil
		}
		if ctx.Err() != nil {
			return Found{}, context.Cause(ctx)
		}
		// Whatever is wrong with that program, the own engine can do it.
	}
	c := newCollector(q)
	if err := native(ctx, q, p, names, info, c); err != nil {
		return Found{}, err
	}
	return c.found(), nil
}

// collector keeps the files that come first in the order of paths. They arrive
// in any order, and many more may arrive than can be kept.
type collector struct {
	mode  Mode
	limit int
	skip  func(path string) bool

	mu      sync.Mutex
	files   []File
	entries int // in files
	total   int
	sum     int
	cut     bool
	skipped int
}

func newCollector(q Query) *collector {
	return &collector{mode: q.Mode, limit: max(q.Limit, 1), skip: q.Skip}
}

func (c *collector) add(f File) {
	skip := c.skip != nil && c.skip(f.Path)
	c.mu.Lock()
	defer c.mu.Unlock()
	if skip {
		c.skipped++
		return
	}
	c.total++
	c.sum += f.Count
	c.files = append(c.files, f)
	c.entries += c.size(f)
	if c.entries > 4*c.limit+1000 {
		c.trim()
	}
}

func (c *collector) size(f File) int {
	if c.mode == Lines {
		return len(f.Lines)
	}
	return 1
}

// trim drops the files after the limit. A file is only dropped if those before
// it reach the limit, and more of those can only come: so what is left in the
// end does not depend on the order of arrival.
func (c *collector) trim() {
	slices.SortFunc(c.files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	n, entries := 0, 0
	for n < len(c.files) && entries < c.limit {
		entries += c.size(c.files[n])
		n++
	}
	c.cut = c.cut || n < len(c.files)
	clear(c.files[n:])
	c.files, c.entries = c.files[:n], entries
}

func (c *collector) found() Found {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim()
	return Found{Files: c.files, Total: c.total, Sum: c.sum, More: c.cut, Skipped: c.skipped}
}

// clean makes a line fit to be shown.
func clean(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if len(line) > lineWidth {
		end := lineWidth
		for end > lineWidth-utf8.UTFMax && !utf8.RuneStart(line[end]) {
			end--
		}
		line = line[:end] + "… [line cut]"
	}
	return strings.ToValidUTF8(line, "\uFFFD")
}
