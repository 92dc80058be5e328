package permission

import (
	"encoding/json"
	"fmt"
)

// UpdateType is what an update does.
type UpdateType string

const (
	AddRules          UpdateType = "addRules"
	ReplaceRules      UpdateType = "replaceRules" // all of one behavior and destination
	RemoveRules       UpdateType = "removeRules"
	SetMode           UpdateType = "setMode"
	AddDirectories    UpdateType = "addDirectories"
	RemoveDirectories UpdateType = "removeDirectories"
)

// Destination is where an update belongs. The gate keeps all of them for the
// session; writing those of settings files to disk is the caller's.
type Destination string

const (
	ToUser    Destination = "userSettings"
	ToProject Destination = "projectSettings"
	ToLocal   Destination = "localSettings"
	ToSession Destination = "session"
	ToFlags   Destination = "cliArg"
)

// Update is a change of permissions, in the shape in which settings dialogs,
// hooks and SDKs send it.
type Update struct {
	Type        UpdateType
	Behavior    Behavior   // of rules
	Rules       []RuleText // of rules
	Mode        Mode       // of setMode
	Directories []string   // of directories
	Destination Destination
}

// RuleText is a rule in two parts.
type RuleText struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

// String is the rule as it stands in a settings file.
func (r RuleText) String() string {
	if r.RuleContent == "" {
		return r.ToolName
	}
	return r.ToolName + "(" + r.RuleContent + ")"
}

// wire has the fields of every type of update.
type wire struct {
	Type        UpdateType  `json:"type"`
	Rules       *[]RuleText `json:"rules,omitempty"`
	Behavior    Behavior    `json:"behavior,omitempty"`
	Mode        Mode        `json:"mode,omitempty"`
	Directories *[]string   `json:"directories,omitempty"`
	Destination Destination `json:"destination"`
}

// MarshalJSON writes only the fields that belong to the type.
func (u Update) MarshalJSON() ([]byte, error) {
	w := wire{Type: u.Type, Destination: u.Destination}
	switch u.Type {
	case AddRules, ReplaceRules, RemoveRules:
		rules := append([]RuleText{}, u.Rules...)
		w.Rules, w.Behavior = &rules, u.Behavior
	case SetMode:
		w.Mode = u.Mode
	case AddDirectories, RemoveDirectories:
		dirs := append([]string{}, u.Directories...)
		w.Directories = &dirs
	default:
		return nil, fmt.Errorf("there is no permission update %q", u.Type)
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads an update and refuses one that makes no sense. An update
// without a destination is for the session.
func (u *Update) UnmarshalJSON(data []byte) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("permission update: %w", err)
	}
	*u = Update{Type: w.Type, Behavior: w.Behavior, Mode: w.Mode, Destination: w.Destination}
	if w.Rules != nil {
		u.Rules = *w.Rules
	}
	if w.Directories != nil {
		u.Directories = *w.Directories
	}
	if u.Destination == "" {
		u.Destination = ToSession
	}
	return u.check()
}

// check says what is wrong with the shape of an update, if anything.
func (u *Update) check() error {
	switch u.Destination {
	case ToUser, ToProject, ToLocal, ToSession, ToFlags:
	default:
		return fmt.Errorf("permission update: there is no destination %q", u.Destination)
	}
	switch u.Type {
	case AddRules, ReplaceRules, RemoveRules:
		switch u.Behavior {
		case Allow, Ask, Deny:
		default:
			return fmt.Errorf("permission update %s: behavior is %q; use allow, ask or deny", u.Type, u.Behavior)
		}
	case SetMode:
		m, err := ParseMode(string(u.Mode))
		if err != nil {
			return fmt.Errorf("permission update setMode: %w", err)
		}
		u.Mode = m
	case AddDirectories, RemoveDirectories:
	default:
		return fmt.Errorf("there is no permission update %q", u.Type)
	}
	return nil
}
