package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"heddle/internal/config"
	"heddle/internal/spelling"
)

// setting is a value that a plugin lets the user set.
type setting struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Sensitive   bool     `json:"sensitive"`
	Required    bool     `json:"required"`
	Default     any      `json:"default"`
	Multiple    bool     `json:"multiple"`
	Min         *float64 `json:"min"`
	Max         *float64 `json:"max"`
}

// types are the types of settings.
var types = []string{"string", "number", "boolean", "directory", "file"}

// settings fills Vars. Messages never hold a value: it may be a secret, also if its
// author forgot to say so.
func (r *reader) settings(o Options) {
	p := r.plugin
	p.Vars, p.Secret = map[string]string{}, map[string]bool{}
	for _, prefix := range []string{"CLAUDE", "HEDDLE"} {
		p.Vars[prefix+"_PLUGIN_ROOT"] = p.Dir
		if o.Data != "" {
			p.Vars[prefix+"_PLUGIN_DATA"] = filepath.Join(o.Data, p.Name)
		}
	}
	values := o.config(r.names)
	declared := r.tree.At("userConfig")
	for _, key := range declared.Keys() {
		r.setting(key, declared.At(key), values)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if declared.At(key) == nil {
			r.warn(config.Origin{Layer: r.layer, File: r.file}, "userConfig: the plugin has no setting %q, for which your settings have a value%s", shorten(key), suggest(key, declared.Keys()))
		}
	}
}

// setting finds the value of one setting.
func (r *reader) setting(key string, at *config.Layers, values map[string]string) {
	if !identifier(key) {
		r.report(at, "userConfig: %q cannot be the name of a setting; use letters, digits and _", shorten(key))
		return
	}
	s := r.manifest.UserConfig[key]
	if !slices.Contains(types, s.Type) {
		found := strconv.Quote(shorten(s.Type))
		if s.Type == "" {
			found = "none"
		}
		r.report(at, "userConfig.%s: expected a type of %s, found %s", key, strings.Join(types, ", "), found)
		return
	}
	value, ok := values[key]
	if ok {
		if err := s.check(value); err != nil {
			r.report(at, "userConfig.%s: the value in your settings %v", key, err)
			ok = false
		}
	}
	if !ok && s.Default != nil {
		var err error
		if value, err = s.text(); err != nil {
			r.report(at.At("default"), "userConfig.%s: the default %v", key, err)
		}
		ok = err == nil
	}
	if !ok {
		if s.Required {
			r.warn(at.Here(), "userConfig.%s: the plugin needs a value; set it for %q in your settings", key, r.plugin.Name)
		}
		return
	}
	r.set(key, value, s.Sensitive)
}

// set puts a value down under all names that it goes by.
func (r *reader) set(key, value string, secret bool) {
	names := []string{"user_config." + key}
	for _, prefix := range []string{"CLAUDE_PLUGIN_OPTION_", "HEDDLE_PLUGIN_OPTION_"} {
		names = append(names, prefix+key, prefix+strings.ToUpper(key))
	}
	for _, name := range names {
		r.plugin.Vars[name] = value
		if secret {
			r.plugin.Secret[name] = true
		}
	}
}

// check says what is wrong with a value, without saying the value.
func (s setting) check(value string) error {
	if strings.ContainsRune(value, 0) {
		return errors.New("holds a zero byte")
	}
	if s.Multiple {
		return nil
	}
	switch s.Type {
	case "boolean":
		if value != "true" && value != "false" {
			return errors.New("is neither true nor false")
		}
	case "number":
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil || n != n:
			return errors.New("is not a number")
		case s.Min != nil && n < *s.Min:
			return fmt.Errorf("is less than %v", *s.Min)
		case s.Max != nil && n > *s.Max:
			return fmt.Errorf("is more than %v", *s.Max)
		}
	case "directory", "file":
		if value == "" {
			return fmt.Errorf("is empty, where the path of a %s is expected", s.Type)
		}
	}
	return nil
}

// text returns the default as text: several values with commas between.
func (s setting) text() (string, error) {
	list, ok := s.Default.([]any)
	if !ok {
		list = []any{s.Default}
	} else if !s.Multiple {
		return "", errors.New("is a list, but the setting is not multiple")
	}
	var texts []string
	for _, v := range list {
		text, ok := v.(string)
		if isText := s.Type != "number" && s.Type != "boolean"; isText != ok {
			return "", fmt.Errorf("is not of the type %s", s.Type)
		}
		if !ok {
			encoded, err := json.Marshal(v)
			if err != nil {
				return "", err
			}
			text = string(encoded)
		}
		one := s
		one.Multiple = false
		if err := one.check(text); err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ","), nil
}

// identifier reports whether a name can be part of the name of a variable.
func identifier(name string) bool {
	for i, c := range name {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// suggest names the key that was probably meant.
func suggest(key string, known []string) string {
	for _, k := range known {
		if d := spelling.Distance(strings.ToLower(shorten(key)), strings.ToLower(shorten(k))); d <= 2 && d < len(k) {
			return fmt.Sprintf("; did you mean %q?", k)
		}
	}
	return ""
}
