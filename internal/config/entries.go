package config

import "encoding/json"

// Entry is one value and where it came from.
type Entry struct {
	Key   string          `json:"key"` // permissions.allow[0]
	Value json.RawMessage `json:"value"`
	Origin
}

// Entries returns every value that counts, in the order of the files, the
// highest layer first.
func (l *Layers) Entries() []Entry { return entries(nil, l.root, "") }

func entries(out []Entry, n *node, path string) []Entry {
	if len(n.items) == 0 && len(n.keys) == 0 {
		if path == "" {
			return nil // no settings at all
		}
		return append(out, Entry{path, n.appendJSON(nil), n.at})
	}
	for i, e := range n.items {
		out = entries(out, e, element(path, i))
	}
	for _, k := range n.keys {
		out = entries(out, n.members[k], member(path, k))
	}
	return out
}

// Origin tells where the value at path came from. An element of a list is
// addressed by its number. The origin of an object or a list that several
// layers make up is that of the highest.
func (l *Layers) Origin(path ...string) (Origin, bool) {
	n := l.root.find(path)
	if n == nil || len(path) == 0 {
		return Origin{}, false
	}
	return n.at, true
}
