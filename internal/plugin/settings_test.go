package plugin

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const configurable = `{"name": "p", "userConfig": {
	"token": {"type": "string", "title": "Token", "sensitive": true, "required": true},
	"limit": {"type": "number", "min": 1, "max": 10, "default": 5},
	"quiet": {"type": "boolean", "default": true},
	"place": {"type": "directory"},
	"names": {"type": "string", "multiple": true, "default": ["a", "b"]}}}`

func withConfig(t *testing.T, manifest string, values map[string]string) (string, *Found) {
	t.Helper()
	dir := folder(t)
	write(t, dir, map[string]string{"p/.claude-plugin/plugin.json": manifest})
	o := many(dir)
	o.Data = "/data"
	o.Config = map[string]map[string]string{"p@m": values, "q": {"other": "x"}}
	return dir, Find(o)
}

func TestVars(t *testing.T) {
	t.Parallel()
	dir, found := withConfig(t, configurable, map[string]string{"token": "s3cret", "place": "/tmp/x"})
	if len(found.Plugins) != 1 || len(found.Problems)+len(found.Warnings) > 0 {
		t.Fatalf("problems: %q, warnings: %q", found.Problems, found.Warnings)
	}
	want := map[string]string{
		"CLAUDE_PLUGIN_ROOT": filepath.Join(dir, "p"), "HEDDLE_PLUGIN_ROOT": filepath.Join(dir, "p"),
		"CLAUDE_PLUGIN_DATA": "/data/p", "HEDDLE_PLUGIN_DATA": "/data/p",
	}
	for key, value := range map[string]string{"token": "s3cret", "limit": "5", "quiet": "true", "place": "/tmp/x", "names": "a,b"} {
		want["user_config."+key] = value
		for _, prefix := range []string{"CLAUDE_PLUGIN_OPTION_", "HEDDLE_PLUGIN_OPTION_"} {
			want[prefix+key], want[prefix+strings.ToUpper(key)] = value, value
		}
	}
	if diff := cmp.Diff(want, found.Plugins[0].Vars); diff != "" {
		t.Errorf("vars (-want +got):\n%s", diff)
	}
	secret := found.Plugins[0].Secret
	if len(secret) != 5 || !secret["user_config.token"] || !secret["CLAUDE_PLUGIN_OPTION_TOKEN"] {
		t.Errorf("secret are %v", secret)
	}
}

func TestValuesAreChecked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key, value string
		want       string // in the problem or warning
		instead    string // the value that counts
	}{
		"no number":  {"limit", "s3cret", "userConfig.limit: the value in your settings is not a number", "5"},
		"NaN":        {"limit", "NaN", "is not a number", "5"},
		"too little": {"limit", "0.5", "is less than 1", "5"},
		"too much":   {"limit", "1e3", "is more than 10", "5"},
		"boolean":    {"quiet", "s3cret", "is neither true nor false", "true"},
		"empty path": {"place", "", "is empty, where the path of a directory is expected", ""},
		"zero byte":  {"names", "a\x00s3cret", "holds a zero byte", "a,b"},
		"unknown":    {"limits", "s3cret", `the plugin has no setting "limits", for which your settings have a value; did you mean "limit"?`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found := withConfig(t, configurable, map[string]string{"token": "t0ken", test.key: test.value})
			all := append(found.Problems, found.Warnings...)
			if len(found.Plugins) != 1 || len(all) != 1 || !strings.Contains(all[0].Error(), test.want) {
				t.Fatalf("messages are %v, want %s", all, test.want)
			}
			if strings.Contains(all[0].Text, "s3cret") {
				t.Errorf("the message tells the value: %s", all[0].Text)
			}
			if got := found.Plugins[0].Vars["user_config."+test.key]; got != test.instead {
				t.Errorf("the value that counts is %q, want %q", got, test.instead)
			}
		})
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ setting, want string }{
		"nothing said":    {`"a": {"type": "string", "required": true}`, `:1:35: userConfig.a: the plugin needs a value; set it for "p" in your settings`},
		"type":            {`"a": {"type": "int"}`, `userConfig.a: expected a type of string, number, boolean, directory, file, found "int"`},
		"no type":         {`"a": {}`, `found none`},
		"name":            {`"a=b": {"type": "string"}`, `userConfig: "a=b" cannot be the name of a setting`},
		"default":         {`"a": {"type": "number", "default": "s3cret"}`, `:1:65: userConfig.a: the default is not of the type number`},
		"default text":    {`"a": {"type": "string", "default": 5}`, `the default is not of the type string`},
		"default object":  {`"a": {"type": "boolean", "default": {"s3cret": 1}}`, `the default is neither true nor false`},
		"default range":   {`"a": {"type": "number", "default": 5, "max": 4}`, `the default is more than 4`},
		"default list":    {`"a": {"type": "string", "default": ["s3cret"]}`, `the default is a list, but the setting is not multiple`},
		"default element": {`"a": {"type": "number", "multiple": true, "default": [1, "s3cret"]}`, `the default is not of the type number`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, found := withConfig(t, `{"name": "p", "userConfig": {`+test.setting+`}}`, nil)
			all := append(found.Problems, found.Warnings...)
			if len(found.Plugins) != 1 || len(all) != 1 || !strings.Contains(all[0].Error(), test.want) {
				t.Fatalf("messages are %v, want %s", all, test.want)
			}
			if strings.Contains(all[0].Text, "s3cret") {
				t.Errorf("the message tells the value: %s", all[0].Text)
			}
		})
	}
}
