package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

const (
	// MaxName is how many characters the name of a tool may have for all model APIs.
	MaxName = 64
	// MaxServer is how many of them are for the name of a server.
	MaxServer = 32

	serverPrefix = "mcp__"
	markSize     = 8
)

// ServerName returns the name by which models know a server: letters, digits, - and
// single _ that are not at its ends, so that the two parts of mcp__server__tool are always
// told apart.
func ServerName(name string) string {
	clean := cleanServer(name)
	if clean == "" {
		clean = "server_" + mark(name)
	}
	return shorten(clean, name, MaxServer)
}

// ServerTool returns the name by which models know a tool of a server, whose name is one
// of [ServerName].
func ServerTool(server, name string) string {
	return shorten(serverPrefix+server+"__"+clean(name), server+"\x00"+name, MaxName)
}

// ServerNames returns what models call the tools that text means, which people write as
// the server spells its name and theirs: mcp__my server__x is mcp__my_server__x. Any other
// text stands for itself, and a * for any characters. The first name takes the first __
// for the end of the server's name. The others are for servers that have __ in theirs: who
// forbids should heed them, too.
func ServerNames(text string) []string {
	rest, ok := strings.CutPrefix(text, serverPrefix)
	if !ok || rest == "" {
		return []string{text}
	}
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for at := 0; ; {
		next := strings.Index(rest[at:], "__")
		if next < 0 {
			break
		}
		if server := rest[:at+next]; server != "" && (len(names) == 0 || !strings.Contains(server, "*")) {
			add(serverTool(server, rest[at+next+2:]))
		}
		at += next + 2
	}
	if len(names) == 0 || !strings.Contains(rest, "*") {
		add(serverPrefix + serverPattern(rest))
	}
	return names
}

// serverTool is what models call a tool; both parts may hold a *.
func serverTool(server, name string) string {
	server = serverPattern(server)
	if strings.Contains(server+name, "*") {
		return serverPrefix + server + "__" + starred(name, clean)
	}
	return ServerTool(server, name)
}

// serverPattern is [ServerName] for a name in which a * stands for anything.
func serverPattern(name string) string {
	if !strings.Contains(name, "*") {
		return ServerName(name)
	}
	return starred(name, func(part string) string { return strings.ReplaceAll(clean(part), "__", "_") })
}

// starred changes what stands between the stars of text.
func starred(text string, change func(string) string) string {
	parts := strings.Split(text, "*")
	for i, part := range parts {
		parts[i] = change(part)
	}
	return strings.Join(parts, "*")
}

// Marked is a name with a mark at its end that is made of original, and tells it from
// others like it. It has limit characters at most.
func Marked(name, original string, limit int) string {
	return name[:min(len(name), limit-markSize-1)] + "_" + mark(original)
}

func cleanServer(name string) string {
	clean := clean(name)
	for strings.Contains(clean, "__") {
		clean = strings.ReplaceAll(clean, "__", "_")
	}
	return strings.Trim(clean, "_")
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

// mark is what tells names apart that look the same otherwise.
func mark(original string) string {
	sum := sha256.Sum256([]byte(original))
	return hex.EncodeToString(sum[:])[:markSize]
}
