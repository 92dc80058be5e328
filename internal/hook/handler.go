package hook

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
)

// handler is the format of one hook in a file.
type handler struct {
	Type            string            `json:"type"`
	If              string            `json:"if"`
	Timeout         *float64          `json:"timeout"`
	StatusMessage   string            `json:"statusMessage"`
	Once            bool              `json:"once"`
	Command         string            `json:"command"`
	Args            []string          `json:"args"`
	Async           bool              `json:"async"`
	AsyncRewake     bool              `json:"asyncRewake"`
	Shell           string            `json:"shell"`
	URL             string            `json:"url"`
	Headers         map[string]string `json:"headers"`
	AllowedEnvVars  []string          `json:"allowedEnvVars"`
	Server          string            `json:"server"`
	Tool            string            `json:"tool"`
	Input           json.RawMessage   `json:"input"`
	Prompt          string            `json:"prompt"`
	Model           string            `json:"model"`
	ContinueOnBlock bool              `json:"continueOnBlock"`
}

// hook converts f, or says what is wrong with it.
func (f handler) hook() (h Hook, wrong string) {
	h = Hook{
		Kind: Kind(f.Type), If: f.If, Once: f.Once, Status: f.StatusMessage,
		Command: f.Command, Args: f.Args, Shell: f.Shell, Async: f.Async || f.AsyncRewake, Rewake: f.AsyncRewake,
		URL: f.URL, Headers: f.Headers, AllowedEnv: f.AllowedEnvVars,
		Server: f.Server, Tool: f.Tool, Input: f.Input,
		Prompt: f.Prompt, Model: f.Model, ContinueOnBlock: f.ContinueOnBlock,
	}
	if f.Timeout != nil {
		if !(*f.Timeout > 0) {
			return h, "timeout: a number of seconds above 0 is expected; leave it out for the usual limit"
		}
		h.Timeout = time.Duration(math.Min(*f.Timeout*float64(time.Second), float64(longest)))
		h.Timeout = max(h.Timeout, time.Millisecond)
	}
	return h, f.missing()
}

// longest is the longest time limit; longer ones mean it.
const longest = 24 * time.Hour

// missing says what a hook of the kind cannot do without.
func (f handler) missing() string {
	switch Kind(f.Type) {
	case Command:
		if strings.TrimSpace(f.Command) == "" {
			return `a hook of type "command" needs "command", what to run`
		}
		if strings.ContainsRune(f.Command+strings.Join(f.Args, ""), 0) {
			return "command and args cannot hold a zero byte"
		}
		if f.Shell != "" && f.Shell != "bash" && f.Shell != "sh" {
			return fmt.Sprintf(`the shell %q is not supported; leave it out, or write "bash"`, f.Shell)
		}
	case HTTP:
		return wrongURL(f.URL)
	case MCPTool:
		if f.Server == "" || f.Tool == "" {
			return `a hook of type "mcp_tool" needs "server" and "tool"`
		}
		if f.Input != nil && !isObject(f.Input) {
			return `"input" is what the tool gets, an object`
		}
	case Prompt:
		if strings.TrimSpace(f.Prompt) == "" {
			return `a hook of type "prompt" needs "prompt", what to ask`
		}
	case "":
		return `a hook needs "type": "command", "http", "mcp_tool" or "prompt"`
	default:
		return fmt.Sprintf(`the type %q is not known; write "command", "http", "mcp_tool" or "prompt"`, f.Type)
	}
	return ""
}

// wrongFor says what the event does not go with.
func (f handler) wrongFor(e Event) string {
	switch kind, t := Kind(f.Type), known[e]; {
	case kind == Prompt && !t.model:
		return fmt.Sprintf(`%s has nothing for a model to decide; use a hook of type "command"`, e)
	case kind == HTTP && (e == SessionStart || e == Setup):
		return fmt.Sprintf(`%s runs only hooks of type "command" and "mcp_tool"`, e)
	}
	return ""
}

func wrongURL(text string) string {
	if text == "" {
		return `a hook of type "http" needs "url"`
	}
	if strings.Contains(text, "${") {
		return "" // it is judged when it is used
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "url: an address that begins with http:// or https:// is expected"
	}
	return ""
}
