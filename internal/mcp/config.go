package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"heddle/internal/config"
)

// Config is one server, as a file describes it.
type Config struct {
	Name    string
	Type    string // stdio, http or sse
	Command string // of stdio
	Args    []string
	Env     map[string]string
	URL     string // of the others
	Headers map[string]string
	Timeout time.Duration // of a call; 0: there is none
	Dir     string        // where the command starts; empty: as [Options] say

	written  string   // what it is, with the names of variables
	secrets  []string // the values of those
	Disabled bool     // it is known, and not started
	Source   string
	Origin   config.Origin
	Raw      json.RawMessage // as it stands in the file, nothing replaced
}

// entry is what a file may say of a server.
type entry struct {
	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	URL      string            `json:"url"`
	HTTPURL  string            `json:"httpUrl"` // of other programs
	Headers  map[string]string `json:"headers"`
	Timeout  float64           `json:"timeout"` // milliseconds
	Disabled bool              `json:"disabled"`
}

// Parse reads servers from an object {name: entry}, entry by entry: a bad one is a
// problem and costs only itself. get returns the value of a variable that an entry names,
// as [os.LookupEnv] does.
func Parse(l *config.Layers, source string, get func(string) (string, bool)) (servers []Config, problems, warnings []*config.Problem) {
	if l == nil {
		return nil, nil, nil
	}
	at := func(l *config.Layers, format string, args ...any) *config.Problem {
		return &config.Problem{Origin: l.Here(), Text: fmt.Sprintf(format, args...)}
	}
	if text := l.JSON(); len(text) > 0 && text[0] != '{' {
		return nil, []*config.Problem{at(l, "mcpServers: want an object with a server under each name")}, nil
	}
	for _, name := range l.Keys() {
		one := l.At(name)
		if one == nil {
			continue // null is the same as leaving it out
		}
		e, err := config.Section[entry](one, "")
		if err != nil {
			for _, p := range listOf(err) {
				p.Text = fmt.Sprintf("MCP server %q: %s", name, p.Text)
				problems = append(problems, p)
			}
			continue
		}
		for _, p := range config.Unknown[entry](one, "") {
			p.Text = fmt.Sprintf("MCP server %q: %s", name, p.Text)
			warnings = append(warnings, p)
		}
		c := Config{Name: name, Source: source, Origin: one.Here(), Raw: one.JSON()}
		if err := c.take(e); err != nil {
			problems = append(problems, at(one, "MCP server %q: %v", name, err))
			continue
		}
		x := expander{get: get}
		before := c
		c.expand(&x)
		c.written, c.secrets = before.where(), x.used
		if len(x.missing) > 0 && !c.Disabled { // its name in the place of its value would be sent, or run
			problems = append(problems, at(one, "MCP server %q: the variable %s is not set; set it, or write ${%s:-default}", name, x.missing[0], x.missing[0]))
			continue
		}
		if err := c.check(); err != nil {
			problems = append(problems, at(one, "MCP server %q: %v", name, err))
			continue
		}
		servers = append(servers, c)
	}
	return servers, problems, warnings
}

// listOf takes apart what [config.Section] joined.
func listOf(err error) []*config.Problem {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var list []*config.Problem
		for _, e := range many.Unwrap() {
			list = append(list, listOf(e)...)
		}
		return list
	}
	if p, ok := err.(*config.Problem); ok {
		return []*config.Problem{p}
	}
	return []*config.Problem{{Text: err.Error()}}
}

// take decides what kind of server an entry describes.
func (c *Config) take(e entry) error {
	c.Command, c.Args, c.Env, c.Headers, c.Disabled = e.Command, e.Args, e.Env, e.Headers, e.Disabled
	c.URL = cmp.Or(e.URL, e.HTTPURL)
	if c.Timeout = time.Duration(e.Timeout * float64(time.Millisecond)); c.Timeout < 0 {
		return fmt.Errorf("timeout is %v; want milliseconds above zero", e.Timeout)
	}
	switch strings.ToLower(e.Type) {
	case "stdio", "local":
		c.Type = "stdio"
	case "http", "streamable-http", "streamablehttp", "streamable_http", "remote":
		c.Type = "http"
	case "sse":
		c.Type = "sse"
	case "ws", "websocket":
		return fmt.Errorf("type %q is not supported; most such servers speak http, too", e.Type)
	case "":
		switch {
		case c.Command != "" && c.URL != "":
			return fmt.Errorf("it has a command and a url; leave one of them out, or say which with type")
		case c.URL != "":
			c.Type = "http"
		default:
			c.Type = "stdio"
		}
	default:
		return fmt.Errorf("type %q is not known; want stdio, http or sse", e.Type)
	}
	return nil
}

// check refuses what cannot work.
func (c *Config) check() error {
	if strings.TrimSpace(c.Name) == "" || len(c.Name) > maxName || strings.ContainsFunc(c.Name, isControl) {
		return fmt.Errorf("want a name of 1 to %d bytes without control characters", maxName)
	}
	if c.Type == "stdio" {
		if strings.TrimSpace(c.Command) == "" {
			return fmt.Errorf(`there is no command; want "command": "PROGRAM" for a local server, or "url" for a remote one`)
		}
		for k := range c.Env {
			if k == "" || strings.ContainsAny(k, "=\x00") {
				return fmt.Errorf("env: a variable cannot be named %q", k)
			}
		}
		return nil
	}
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("url %q: want http:// or https:// and a host", withoutQuery(c.URL))
	}
	for k, v := range c.Headers {
		if k == "" || strings.ContainsFunc(k, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ':' }) {
			return fmt.Errorf("headers: %q is not the name of a header", k)
		}
		if strings.ContainsFunc(v, isControl) {
			return fmt.Errorf("headers: the value of %s holds a control character", k)
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// Where says what the server is, without secrets: its command or its address, with the
// names of variables and not their values.
func (c *Config) Where() string { return c.redact(cmp.Or(c.written, c.where())) }

func (c *Config) where() string {
	if c.Type == "stdio" {
		return strings.Join(append([]string{c.Command}, c.Args...), " ")
	}
	return withoutQuery(c.URL)
}

// withoutQuery returns an address without what may be secret in it.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(not an address)"
	}
	if u.User != nil {
		u.User = url.User("hidden")
	}
	if u.RawQuery != "" {
		u.RawQuery = "hidden"
	}
	u.Fragment = ""
	return u.String()
}

// secretLength is from which length on a value of env or headers is worth hiding: shorter
// ones are words such as "true".
const secretLength = 8

// redact takes the values of headers and of env out of a text, and the query of the
// address: what goes wrong is told and logged.
func (c *Config) redact(text string) string {
	if c.URL != "" {
		text = strings.ReplaceAll(text, c.URL, withoutQuery(c.URL))
	}
	secrets := slices.Clone(c.secrets)
	for _, values := range []map[string]string{c.Headers, c.Env} {
		for _, v := range values {
			v = strings.TrimPrefix(v, "Bearer ")
			if len(v) >= secretLength {
				secrets = append(secrets, v)
			}
		}
	}
	secrets = slices.DeleteFunc(secrets, func(v string) bool { return len(v) < 4 }) // of a variable also a short one
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	for _, v := range secrets {
		text = strings.ReplaceAll(text, v, "…")
	}
	return text
}
