package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	maxName   = 64 // characters of the name of a tool that all model APIs take
	maxServer = 32 // of it, for the server
	markSize  = 8
)

// cleanServer returns the name by which models know a server: letters, digits, - and
// single _ that are not at its ends, so that the two parts of mcp__server__tool are always
// told apart.
func cleanServer(name string) string {
	clean := clean(name)
	for strings.Contains(clean, "__") {
		clean = strings.ReplaceAll(clean, "__", "_")
	}
	clean = strings.Trim(clean, "_")
	if clean == "" {
		clean = "server_" + mark(name)
	}
	return shorten(clean, name, maxServer)
}

// fullName returns the name by which models know a tool.
func fullName(server, name string) string {
	return shorten("mcp__"+server+"__"+clean(name), server+"\x00"+name, maxName)
}

func clean(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
}

// shorten cuts a name that is too long, and marks it with what was there before, so that
// it is always the same and never another's.
func shorten(name, original string, limit int) string {
	if len(name) <= limit {
		return name
	}
	return strings.TrimRight(name[:limit-markSize-1], "_") + "_" + mark(original)
}

// cut shortens a name in front of the mark that it ends with.
func cut(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	end := name[len(name)-markSize-1:]
	return name[:limit-len(end)] + end
}

// mark is what tells names apart that look the same otherwise.
func mark(original string) string {
	sum := sha256.Sum256([]byte(original))
	return hex.EncodeToString(sum[:])[:markSize]
}
