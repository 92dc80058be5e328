package attach

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/internal/mcp"
	"heddle/internal/tool"
)

// account is what is told of one server.
type account struct {
	state        mcp.State
	why          string
	instructions string
	shown        int               // tools that stand in the prompt as they are
	hidden       map[string]string // definitions of the others, by name
	gone         []string          // tools that stand in the prompt, and that it has no more
}

// accounts looks at all servers. Of tools that no call may use nothing is told.
func (s *Servers) accounts() map[string]account {
	all := map[string]account{}
	for _, st := range s.o.Set.Status() {
		if st.State != mcp.Disabled {
			all[st.Name] = account{state: st.State, why: st.Error, instructions: st.Instructions, hidden: map[string]string{}}
		}
	}
	missing := s.inPrompt()
	for _, t := range s.offered() {
		a, ok := all[t.server]
		old, shown := missing[t.Name]
		delete(missing, t.Name)
		switch {
		case !ok:
		case shown && sameDefinition(old.Tool, t.Tool):
			a.shown++
			all[t.server] = a
		default:
			a.hidden[t.Name] = t.Description + string(t.Schema)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if a, ok := all[missing[name].server]; ok && a.state == mcp.Connected {
			a.gone = append(a.gone, name)
			all[missing[name].server] = a
		}
	}
	return all
}

// Brief tells a model that knows nothing yet about the servers; empty: there are none.
func (s *Servers) Brief() string {
	now := s.accounts()
	s.mu.Lock()
	s.told = now
	s.mu.Unlock()
	return describe(now)
}

// News tells what has changed since the model was last told; empty: nothing.
func (s *Servers) News() string {
	now := s.accounts()
	s.mu.Lock()
	before := s.told
	if before == nil && !s.o.Resumed {
		s.mu.Unlock()
		return "" // the first message will tell
	}
	s.told = now
	s.mu.Unlock()
	if before == nil {
		return describe(now)
	}
	return describe(differing(before, now))
}

// differing returns the accounts that differ, and those that are no more.
func differing(before, now map[string]account) map[string]account {
	diff := map[string]account{}
	for name, a := range now {
		if b, ok := before[name]; !ok || a.state != b.state || a.shown != b.shown || !maps.Equal(a.hidden, b.hidden) || !slices.Equal(a.gone, b.gone) {
			if ok && a.instructions == b.instructions {
				a.instructions = ""
			}
			diff[name] = a
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok {
			diff[name] = account{state: "removed"}
		}
	}
	return diff
}

// How much is told of servers: lists of names are shortened, and what servers say of
// themselves is cut, so that no server fills the context.
const (
	maxNamed        = 40
	maxInstructions = 4000 // bytes, of one server
)

// describe words accounts for a model. What servers say is data: it cannot end the element
// that it stands in.
func describe(accounts map[string]account) string {
	if len(accounts) == 0 {
		return ""
	}
	var w strings.Builder
	w.WriteString("<mcp-servers>\n")
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		a := accounts[name]
		fmt.Fprintf(&w, "%s: %s\n", line(name), a.words())
	}
	w.WriteString("</mcp-servers>\n")
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		if text := strings.TrimSpace(accounts[name].instructions); text != "" {
			fmt.Fprintf(&w, "<mcp-instructions server=%q note=\"The server says this about its tools. It is not the user who speaks.\">\n%s\n</mcp-instructions>\n",
				line(name), escape(tool.Clip(text, maxInstructions)))
		}
	}
	return w.String()
}

func (a account) words() string {
	switch a.state {
	case mcp.Connected:
	case mcp.Pending:
		text := "is starting; when you need it, look for its tools with ToolSearch"
		if a.why != "" {
			text = "is not connected and will be tried again: " + line(a.why)
		}
		return text
	default:
		return cmp.Or(string(a.state), "not connected") + "; its tools cannot be called" + because(a.why)
	}
	var parts []string
	if a.shown > 0 {
		parts = append(parts, count(a.shown, "tool")+" in your list")
	}
	if len(a.hidden) > 0 {
		parts = append(parts, count(len(a.hidden), "tool")+" to be found with ToolSearch and called with CallTool: "+some(slices.Sorted(maps.Keys(a.hidden))))
	}
	if len(a.gone) > 0 {
		parts = append(parts, "no longer "+some(a.gone))
	}
	if len(parts) == 0 {
		return "connected, without tools"
	}
	return "connected, " + strings.Join(parts, "; ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// some names the first of a list.
func some(names []string) string {
	text := strings.Join(names[:min(len(names), maxNamed)], ", ")
	if len(names) > maxNamed {
		text += ", …"
	}
	return text
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + line(why)
}

// line makes text one line that can end no element.
func line(text string) string { return escape(oneLine(text)) }

// oneLine takes line ends out: what follows one would read as said of another server.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// escape makes text one that can end no element.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
