package permission

import (
	"net/url"
	"path/filepath"
	"slices"
)

// maxSuggested is how many rules one answer may save.
const maxSuggested = 5

// allowUpdate adds allow rules.
func allowUpdate(d Destination, rules ...RuleText) Update {
	return Update{Type: AddRules, Behavior: Allow, Rules: rules, Destination: d}
}

// suggestRead lets the directory of a file be read in this session. Since no rule
// but a very wide one fits a link and its target, a link is followed: its
// target's directory becomes one to work in.
func suggestRead(l location) []Update {
	dir := filepath.Dir(l.real)
	switch {
	case dir == "/": // not all there is
		return nil
	case l.real != l.named:
		return []Update{{Type: AddDirectories, Directories: []string{dir}, Destination: ToSession}}
	}
	return []Update{allowUpdate(ToSession, RuleText{ToolName: "Read", RuleContent: "/" + quoteGlob(dir) + "/**"})}
}

// suggestWrite lets files be edited in this session.
func (j *judge) suggestWrite(l location, inside bool) []Update {
	mode := Update{Type: SetMode, Mode: AcceptEdits, Destination: ToSession}
	if inside {
		return []Update{mode}
	}
	dir := filepath.Dir(l.named)
	if dir == "/" {
		return nil
	}
	add := Update{Type: AddDirectories, Directories: []string{dir}, Destination: ToSession}
	if j.mode == AcceptEdits {
		return []Update{add}
	}
	return []Update{add, mode}
}

func suggestFetch(address string) []Update {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return []Update{allowUpdate(ToLocal, RuleText{ToolName: "WebFetch", RuleContent: "domain:" + hostName(u.Hostname())})}
}

// merge puts updates of one kind together, drops what stands twice, and keeps
// the number of rules small.
func merge(updates []Update) []Update {
	var list []Update
	for _, u := range updates {
		i := slices.IndexFunc(list, func(x Update) bool {
			return x.Type == u.Type && x.Destination == u.Destination && x.Behavior == u.Behavior && x.Mode == u.Mode
		})
		if i < 0 {
			list = append(list, Update{Type: u.Type, Behavior: u.Behavior, Mode: u.Mode, Destination: u.Destination})
			i = len(list) - 1
		}
		for _, r := range u.Rules {
			if !slices.Contains(list[i].Rules, r) && len(list[i].Rules) < maxSuggested {
				list[i].Rules = append(list[i].Rules, r)
			}
		}
		for _, d := range u.Directories {
			if !slices.Contains(list[i].Directories, d) {
				list[i].Directories = append(list[i].Directories, d)
			}
		}
	}
	return list
}
