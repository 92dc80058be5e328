package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// kind is what a value is, as messages say it.
type kind string

const (
	anObject kind = "an object"
	aList    kind = "a list"
	aString  kind = "a string"
	aNumber  kind = "a number"
	aBoolean kind = "true or false"
	aNull    kind = "null"
)

// node is a value that knows its place.
type node struct {
	kind kind
	at   Origin
	key  Origin // of its name, in an object

	text    json.RawMessage // of a scalar
	items   []*node         // of a list
	keys    []string        // of an object, in the order of the files
	members map[string]*node

	hidden []*node // values of lower layers that this one hides
}

// merge puts lower under n.
func (n *node) merge(lower *node) {
	switch {
	case n.kind == anObject && lower.kind == anObject:
		if n.members == nil {
			n.members = map[string]*node{}
		}
		for _, k := range lower.keys {
			if mine := n.members[k]; mine != nil {
				mine.merge(lower.members[k])
				continue
			}
			n.keys = append(n.keys, k)
			n.members[k] = lower.members[k]
		}
	case n.kind == aList && lower.kind == aList:
		n.items = append(n.items, lower.items...)
	default:
		n.hidden = append(n.hidden, lower)
	}
}

// forget removes entries of the objects under keys that a higher tree has, too.
func (n *node) forget(higher *node, keys []string) {
	for _, key := range keys {
		mine, theirs := n.members[key], higher.members[key]
		if mine == nil || theirs == nil {
			continue
		}
		mine.keys = slices.DeleteFunc(mine.keys, func(name string) bool {
			_, taken := theirs.members[name]
			if taken {
				delete(mine.members, name)
			}
			return taken
		})
	}
}

// unplace makes n and all in it come from at: what stands on the command line
// has no lines.
func (n *node) unplace(at Origin) {
	n.at, n.key = at, at
	for _, i := range n.items {
		i.unplace(at)
	}
	for _, m := range n.members {
		m.unplace(at)
	}
}

// appendJSON appends n as standard JSON.
func (n *node) appendJSON(dst []byte) []byte {
	switch n.kind {
	case anObject:
		dst = append(dst, '{')
		for i, k := range n.keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendKey(dst, k)
			dst = n.members[k].appendJSON(dst)
		}
		return append(dst, '}')
	case aList:
		dst = append(dst, '[')
		for i, e := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.appendJSON(dst)
		}
		return append(dst, ']')
	}
	return append(dst, n.text...)
}

func appendKey(dst []byte, key string) []byte {
	quoted, _ := json.Marshal(key) // a string always can be
	return append(append(dst, quoted...), ':')
}

// find returns nil if there is nothing at path.
func (n *node) find(path []string) *node {
	for _, p := range path {
		if n == nil {
			return nil
		}
		switch n.kind {
		case anObject:
			n = n.members[p]
		case aList:
			i, err := strconv.Atoi(p)
			if err != nil || i < 0 || i >= len(n.items) {
				return nil
			}
			n = n.items[i]
		default:
			return nil
		}
	}
	return n
}

// member and element write the path of what is in an object or a list.
func member(path, key string) string {
	special := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' }
	if key == "" || strings.ContainsFunc(key, special) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func element(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
