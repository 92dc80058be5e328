package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
)

// runConfig shows every setting and where it comes from.
func runConfig(ctx context.Context, args []string, std stdio) error {
	var o options
	fs := newFlags("config")
	asJSON := fs.Bool("json", false, "print JSON")
	fs.StringVar(&o.settings, "settings", "", "take settings from `FILE`, or from JSON given here")
	if done, err := parseAll(fs, args, std, "config [--json]"); done || err != nil {
		return err
	}
	p, err := findPlace()
	if err != nil {
		return err
	}
	layers, err := layersOf(p, &o)
	if err != nil {
		return err
	}
	if _, err := readSettings(layers, std.err); err != nil {
		return err
	}
	entries := layers.Entries()
	if *asJSON {
		enc := json.NewEncoder(std.out)
		enc.SetIndent("", "  ")
		return enc.Encode(entries)
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintf(std.out, "No settings. They may stand in .heddle/settings.json here, or in %s/settings.json.\n", p.home)
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tLAYER\tFROM")
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.Key, e.Value, e.Layer, e.Origin)
	}
	return w.Flush()
}
