package main

import (
	"context"

	"heddle/internal/config"
	"heddle/internal/hook"
)

// report is what heddle doctor found. As JSON it is for programs: fields may be added, and
// none is renamed. Lists are never null.
type report struct {
	Version string `json:"version"`
	Home    string `json:"home"`
	Dir     string `json:"dir"`
	Project string `json:"project"`
	Trusted bool   `json:"trusted"`
	// Trust says how to trust the project, and what of it does not count until then.
	Trust    string   `json:"trust,omitempty"`
	Withheld []string `json:"withheld"`

	Settings   []settingsFile `json:"settings"`
	Model      string         `json:"model"` // that a conversation uses; empty: there is none
	Providers  []seenProvider `json:"providers"`
	Servers    []seenServer   `json:"servers"`
	HooksOff   bool           `json:"hooksOff"` // by disableAllHooks
	Hooks      []seenHook     `json:"hooks"`
	Skills     []seenSkill    `json:"skills"`
	Plugins    []seenPlugin   `json:"plugins"`
	Overridden []seenShadow   `json:"overridden"`

	Problems []finding `json:"problems"` // what is broken
	Warnings []finding `json:"warnings"` // what works otherwise than it is written
}

// settingsFile is a file with settings that is there.
type settingsFile struct {
	Layer  config.Layer `json:"layer"`
	File   string       `json:"file"`
	Broken bool         `json:"broken"` // nothing in it counts, and no conversation starts
}

// seenProvider is a provider of models. Keys themselves are never shown.
type seenProvider struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	URL    string `json:"url,omitempty"`
	Key    string `json:"key,omitempty"` // the variable that is to hold the key
	KeySet bool   `json:"keySet"`
	Usable bool   `json:"usable"` // there is a key, or it needs none
}

type seenHook struct {
	Event   hook.Event    `json:"event"`
	Matcher string        `json:"matcher,omitempty"`
	Type    hook.Kind     `json:"type"`
	What    string        `json:"what"` // the command, the address, the tool or the question
	Source  string        `json:"source"`
	Origin  config.Origin `json:"origin"`
	Happens bool          `json:"happens"` // false: the event does not happen in this version
}

type seenSkill struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // skill or command
	Source string `json:"source"`
	File   string `json:"file"`
}

type seenPlugin struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Source  string `json:"source"`
	Dir     string `json:"dir"`
	Enabled bool   `json:"enabled"`
}

// seenShadow is something that does not count because something else has its name.
type seenShadow struct {
	Type  string `json:"type"` // server, skill or plugin
	Name  string `json:"name"`
	Where string `json:"where"`
	By    string `json:"by"`
}

// finding is something wrong, and where.
type finding struct {
	config.Origin
	Text string `json:"text"`
}

func (f finding) String() string {
	if f.File == "" {
		return f.Text
	}
	return f.Origin.String() + ": " + f.Text
}

const doctorUsage = `doctor [--check] [--json]

Shows what was found where, what overrides what, what is broken and how to mend it. Nothing
is started without --check. The exit code is 1 if something is broken.
`

// runDoctor shows on one page what there is and what is wrong with it.
func runDoctor(ctx context.Context, args []string, std stdio) error {
	fs := newFlags("doctor")
	asJSON := fs.Bool("json", false, "print JSON")
	check := fs.Bool("check", false, "start the MCP servers that may start, to see whether they can be reached")
	if done, err := parseAll(fs, args, std, doctorUsage); done || err != nil {
		return err
	}
	p, err := findPlace()
	if err != nil {
		return err
	}
	d := newDoctor(p)
	d.lookAround()
	if *check {
		if err := d.check(ctx, d.Servers, std.err); err != nil {
			return err
		}
		d.judgeServers()
	}
	if *asJSON {
		err = printJSON(std.out, d.report)
	} else {
		err = d.report.print(std.out)
	}
	if err == nil && len(d.Problems) > 0 {
		return exitError(exitFailed)
	}
	return err
}
