package plugin

import (
	"maps"
	"slices"
	"strings"
)

// enabled says whether a plugin that goes by any of the names is switched on, if anything is
// said about it. If it is said for several marketplaces, all must agree to switch it on.
func (o Options) enabled(names []string) (on, said bool) {
	for _, name := range names {
		if on, said = o.Enabled[name]; said {
			return on, true
		}
	}
	on = true
	for key, value := range o.Enabled {
		if plugin, _, ok := strings.Cut(key, "@"); ok && slices.Contains(names, plugin) {
			on, said = on && value, true
		}
	}
	return on, said
}

// config returns the values for a plugin that goes by any of the names.
func (o Options) config(names []string) map[string]string {
	for _, name := range names {
		if values, ok := o.Config[name]; ok {
			return values
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.Config)) {
		if plugin, _, ok := strings.Cut(key, "@"); ok && slices.Contains(names, plugin) {
			return o.Config[key]
		}
	}
	return nil
}
