package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"heddle/internal/config"
)

// runConfig shows every setting and where it comes from.
func runConfig(ctx context.Context, args []string, std stdio) error {
	s, asJSON, done, err := lookAtSettings("config", args, std)
	if done || err != nil {
		return err
	}
	// What a project that is not trusted sets in vain, is told as a conversation tells it.
	if _, err := distrust(s.place, &options{}, s.layers, &s.settings, std.err); err != nil {
		return err
	}
	entries := s.layers.Entries()
	if asJSON {
		enc := json.NewEncoder(std.out)
		enc.SetIndent("", "  ")
		return enc.Encode(append([]config.Entry{}, entries...))
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintf(std.out, "No settings. They may stand in .heddle/settings.json here, or in %s/settings.json.\n", s.home)
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SETTING\tVALUE\tLAYER\tFROM")
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", e.Key, e.Value, e.Layer, e.Origin)
	}
	return w.Flush()
}
