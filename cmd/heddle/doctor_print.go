package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// page is what is printed of a report, section by section.
type page struct{ bytes.Buffer }

// section prints rows of cells under a title. Without rows it is one line that says none.
func (p *page) section(title, none string, rows [][]string) {
	if len(rows) == 0 {
		fmt.Fprintf(p, "%s: %s\n", title, none)
		return
	}
	fmt.Fprintf(p, "%s\n", title)
	w := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		for i, c := range cells {
			cells[i] = plainLine(c)
		}
		line := strings.TrimRight(strings.Join(cells, "\t"), "\t")
		fmt.Fprintf(w, "  %s\n", line)
	}
	_ = w.Flush() // to memory
}

// print prints the report for people. What files say is printed without what a terminal
// would take for orders.
func (r *report) print(out io.Writer) error {
	var p page
	p.section("heddle "+r.Version, "", r.placeRows())
	p.section("Settings", "none", r.settingsRows())
	p.section("Models", "none", r.modelRows())
	p.section("MCP servers", "none", r.serverRows())
	none := "none"
	if r.HooksOff {
		none = "switched off by disableAllHooks"
	}
	p.section("Hooks", none, r.hookRows())
	p.section(r.skillTitle(), "none", r.skillRows())
	p.section("Plugins", "none", r.pluginRows())
	if len(r.Overridden) > 0 {
		p.section("Overridden", "", r.shadowRows())
	}
	if len(r.Problems) > 0 {
		p.section(fmt.Sprintf("\nPROBLEMS (%d)", len(r.Problems)), "", findingRows(r.Problems))
	}
	if len(r.Warnings) > 0 {
		p.section(fmt.Sprintf("\nWARNINGS (%d)", len(r.Warnings)), "", findingRows(r.Warnings))
	}
	if len(r.Problems) == 0 {
		p.WriteString("\nNothing is broken.\n")
	}
	_, err := out.Write(p.Bytes())
	return err
}

func (r *report) placeRows() [][]string {
	trusted := "trusted"
	if !r.Trusted {
		trusted = "not trusted"
	}
	rows := [][]string{{"home", r.Home}, {"project", r.Project + " (" + trusted + ")"}}
	if r.Trust != "" {
		rows = append(rows, []string{"", r.Trust})
	}
	for _, text := range r.Withheld {
		rows = append(rows, []string{"", "not run: " + text})
	}
	return rows
}

func (r *report) settingsRows() (rows [][]string) {
	for _, f := range r.Settings {
		broken := ""
		if f.Broken {
			broken = "broken: no conversation starts"
		}
		rows = append(rows, []string{string(f.Layer), f.File, broken})
	}
	return rows
}

func (r *report) modelRows() (rows [][]string) {
	if r.Model != "" {
		rows = append(rows, []string{"used", r.Model})
	}
	for _, p := range r.Providers {
		key := "no apiKeyEnv"
		switch {
		case p.KeySet:
			key = p.Key + " is set"
		case p.Usable:
			key = "needs no key"
		case p.Key != "":
			key = p.Key + " is not set"
		}
		rows = append(rows, []string{p.Name, key, p.URL})
	}
	return rows
}

func (r *report) serverRows() (rows [][]string) {
	for _, s := range r.Servers {
		state := s.word()
		if s.State == unapproved {
			state += ": heddle mcp approve " + shellWord(s.Name)
		}
		rows = append(rows, []string{s.Name, state, brief60(plainLine(s.Where)), s.Origin.String(), pluginOnly(s.Source)})
	}
	return rows
}

// pluginOnly leaves out a source that the place says already.
func pluginOnly(source string) string {
	if strings.HasPrefix(source, "plugin ") {
		return source
	}
	return ""
}

func (r *report) hookRows() (rows [][]string) {
	for _, h := range r.Hooks {
		event := string(h.Event)
		if h.Matcher != "" {
			event += "(" + h.Matcher + ")"
		}
		note := pluginOnly(h.Source)
		if !h.Happens {
			note = "does not happen in this version"
		}
		rows = append(rows, []string{brief60(plainLine(event)), brief60(plainLine(h.What)), h.Origin.String(), note})
	}
	return rows
}

// skillTitle counts the skills and commands by where they come from.
func (r *report) skillTitle() string {
	counts := map[string]int{}
	var sources []string
	for _, s := range r.Skills {
		if counts[s.Source] == 0 {
			sources = append(sources, s.Source)
		}
		counts[s.Source]++
	}
	var parts []string
	for _, s := range sources {
		parts = append(parts, fmt.Sprintf("%d of %s", counts[s], plainLine(s)))
	}
	title := "Skills and commands"
	if len(parts) > 0 {
		title += ": " + strings.Join(parts, ", ")
	}
	return title
}

func (r *report) skillRows() (rows [][]string) {
	for _, s := range r.Skills {
		if s.Source == "heddle" {
			s.File = "comes with heddle"
		}
		rows = append(rows, []string{"/" + s.Name, s.Type, s.File})
	}
	return rows
}

func (r *report) pluginRows() (rows [][]string) {
	for _, p := range r.Plugins {
		state := "on"
		if !p.Enabled {
			state = "off, by enabledPlugins"
		}
		rows = append(rows, []string{p.Name, p.Version, state, p.Dir, p.Source})
	}
	return rows
}

func (r *report) shadowRows() (rows [][]string) {
	for _, s := range r.Overridden {
		rows = append(rows, []string{s.Type + " " + s.Name, s.Where, "by " + s.By})
	}
	return rows
}

func findingRows(list []finding) (rows [][]string) {
	for _, f := range list {
		rows = append(rows, []string{f.String()})
	}
	return rows
}
