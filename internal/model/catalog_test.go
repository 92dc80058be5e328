package model

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"heddle/internal/message"
)

func TestTableIsSound(t *testing.T) {
	c := NewCatalog()
	if len(c.Models()) < 20 {
		t.Fatalf("%d models", len(c.Models()))
	}
	for _, m := range c.Models() {
		if m.Provider == "" || m.ID == "" || m.Window <= 0 || m.MaxOutput <= 0 || m.MaxOutput >= m.Window {
			t.Errorf("incomplete: %+v", m)
		}
		p := m.Price
		if !m.PriceUnknown && (p.Input <= 0 || p.Output <= p.Input || p.CacheRead <= 0 || p.CacheRead >= p.Input || p.CacheWrite <= p.Input) {
			t.Errorf("%s: prices %+v", m.ID, p)
		}
		if (m.LongAfter > 0) != (m.LongPrice != nil) || m.LongAfter > m.Window && m.Window > 200_000 {
			t.Errorf("%s: long after %d, long price %v", m.ID, m.LongAfter, m.LongPrice)
		}
		if m.LongPrice != nil && (m.LongPrice.Input <= p.Input || m.LongPrice.Output <= p.Output) {
			t.Errorf("%s: long prices %+v", m.ID, m.LongPrice)
		}
		got, err := c.Resolve(m.Provider + "/" + m.ID)
		if err != nil || got.ID != m.ID {
			t.Errorf("Resolve(%s/%s) = %v, %v", m.Provider, m.ID, got.ID, err)
		}
		if got, err := c.Resolve(m.ID); err != nil || got.ID != m.ID || got.Provider != m.Provider {
			t.Errorf("Resolve(%s) = %v, %v", m.ID, got.ID, err)
		}
	}
	var strict struct {
		Defaults, Aliases map[string]any
		Models            []struct {
			Info
			Dated string
		}
	}
	dec := json.NewDecoder(strings.NewReader(builtin))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&strict); err != nil {
		t.Errorf("models.json: %v", err)
	}
}

func TestResolve(t *testing.T) {
	c := NewCatalog()
	for name, want := range map[string]string{
		"small":                               "anthropic/claude-haiku-5-5",
		"large":                               "anthropic/claude-opus-5-5",
		"sonnet":                              "anthropic/claude-sonnet-5-5",
		"opus":                                "anthropic/claude-opus-5-5",
		"haiku":                               "anthropic/claude-haiku-5-5",
		"fable":                               "anthropic/claude-fable-5-2",
		"openai/small":                        "openai/gpt-6-luna",
		"claude-opus-4-5-20251101":            "anthropic/claude-opus-4-5-20251101",
		"gpt-5.5":                             "openai/gpt-5.5",
		"anthropic/claude-new-9":              "anthropic/claude-new-9",
		"openai/qwen3-coder:30b":              "openai/qwen3-coder:30b",
		"openai/mistralai/Mistral-Large-2411": "openai/mistralai/Mistral-Large-2411",
	} {
		got, err := c.Resolve(name)
		if err != nil || got.Provider+"/"+got.ID != want {
			t.Errorf("Resolve(%q) = %s/%s, %v, want %s", name, got.Provider, got.ID, err, want)
		}
	}
	got, err := c.Resolve("anthropic/claude-new-9")
	if err != nil || got.Window != 200_000 || got.MaxOutput <= 0 || !got.PriceUnknown || got.Price != (Price{}) {
		t.Errorf("an unlisted model: %+v, %v", got, err)
	}
}

// An error names what was asked for and what there is.
func TestUnknownNames(t *testing.T) {
	c := NewCatalog()
	for name, parts := range map[string][]string{
		"sonet":           {`"sonet"`, "sonnet"},
		"claude-opus-5-6": {"claude-opus-5-5", "provider/id"},
		"opus-5":          {"claude-opus-5-5", "claude-opus-5"},
		"nope":            {`"nope"`, "provider/id", "anthropic, openai"},
		"inherit":         {`"inherit"`},
		"bedrock/x":       {`"bedrock/x"`, `"bedrock"`, "anthropic, openai"},
		"anthropic/":      {"anthropic/"},
		"":                {`""`},
	} {
		got, err := c.Resolve(name)
		if err == nil {
			t.Errorf("Resolve(%q) = %+v", name, got)
			continue
		}
		for _, p := range parts {
			if !strings.Contains(err.Error(), p) {
				t.Errorf("Resolve(%q): %q does not say %q", name, err, p)
			}
		}
	}
}

func TestExtend(t *testing.T) {
	var s Settings
	if err := json.Unmarshal([]byte(`{
		"models": {
			"local/qwen3": {"window": 32768, "max_output": 4096, "price": {"input": 0, "output": 0}},
			"anthropic/claude-fable-5-2": {"price": {"input": 8, "output": 40, "cache_read": 0.2, "cache_write": 10, "cache_write_1h": 16}},
			"anthropic/claude-haiku-5-5": {"thinking": "adaptive", "effort": ["low"]}
		},
		"modelAliases": {"mine": "local/qwen3", "best": "fable", "small": "mine"}
	}`), &s); err != nil {
		t.Fatal(err)
	}
	c := NewCatalog("local")
	if err := c.Extend(s); err != nil {
		t.Fatal(err)
	}
	mine, err := c.Resolve("small")
	if err != nil || mine.Provider != "local" || mine.Window != 32768 || mine.PriceUnknown || mine.Cost(message.Usage{Input: 1e6, CacheRead: 5}) != 0 {
		t.Errorf("small = %+v, %v", mine, err)
	}
	best, err := c.Resolve("best")
	if err != nil || best.Price.CacheRead != 0.2 || best.PriceUnknown || best.Window != 1_000_000 || best.Thinking != "always" {
		t.Errorf("best = %+v, %v", best, err)
	}
	haiku, err := c.Resolve("haiku")
	if err != nil || haiku.Thinking != "adaptive" || !slices.Equal(haiku.Effort, []string{"low"}) || haiku.LongPrice == nil {
		t.Errorf("haiku = %+v, %v", haiku, err)
	}
	if again, _ := NewCatalog().Resolve("haiku"); again.Thinking != "" {
		t.Error("extending one catalog changed another")
	}
}

func TestExtendSaysAllThatIsWrong(t *testing.T) {
	zero, bad := 0, "often"
	err := NewCatalog("local").Extend(Settings{
		Models: map[string]Facts{
			"qwen":       {},
			"nowhere/x":  {},
			"local/zero": {Window: &zero},
			"local/bad":  {Thinking: &bad},
		},
		Aliases: map[string]string{"a": "b", "b": "a", "c": "nope"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{`models["qwen"]`, `"nowhere"`, `window is 0`, `"often"`, `modelAliases["a"]`, "itself", `"nope"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not say %s:\n%v", part, err)
		}
	}
}

// Among providers, an alias means the model of the first.
func TestAliasFollowsTheOrderOfProviders(t *testing.T) {
	got, err := NewCatalog("openai").Resolve("small")
	if err != nil || got.Provider != "openai" {
		t.Errorf("small = %+v, %v, want OpenAI's", got, err)
	}
	got, err = NewCatalog("openai").Resolve("opus")
	if err != nil || got.Provider != "anthropic" {
		t.Errorf("opus = %+v, %v", got, err)
	}
}

func TestCost(t *testing.T) {
	c := NewCatalog()
	all := message.Usage{Input: 10_000, CacheRead: 100_000, CacheWrite: 20_000, CacheWrite1h: 30_000, Output: 1_000}
	for name, want := range map[string]float64{
		"claude-opus-5-5":  0.04 + 0.02 + 0.1 + 0.24 + 0.02,
		"claude-haiku-5-5": 0.005 + 0.005 + 0.0125 + 0.03 + 0.0025, // beyond 100,000 tokens: the other band
		"claude-fable-5-2": 0.08 + 0.8 + 0.16 + 0.24 + 0.04,        // unknown cache prices: as input
		"gpt-5.4":          0,
	} {
		info, err := c.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Cost(all); math.Abs(got-want) > 1e-9 {
			t.Errorf("%s costs %v, want %v", name, got, want)
		}
	}
	haiku, _ := c.Resolve("haiku")
	if got := haiku.Cost(message.Usage{Input: 100_000}); math.Abs(got-0.01) > 1e-9 {
		t.Errorf("haiku at the edge of the band costs %v, want 0.01", got)
	}
}

func TestErrorReads(t *testing.T) {
	for _, c := range []struct {
		err  Error
		want string
	}{
		{Error{Provider: "p", Class: QuotaExceeded, Status: 429, Message: "spent", RequestID: "r1"}, "p: quota exceeded (HTTP 429): spent [request r1]"},
		{Error{Provider: "p", Class: Unreachable, Err: errPlain("refused")}, "p: unreachable: refused"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("Error() = %q, want %q", got, c.want)
		}
	}
}

type errPlain string

func (e errPlain) Error() string { return string(e) }

func FuzzResolve(f *testing.F) {
	for _, s := range []string{"small", "a/b", "/", "claude-opus-5-6", strings.Repeat("x", 100)} {
		f.Add(s)
	}
	c := NewCatalog()
	f.Fuzz(func(t *testing.T, name string) {
		info, err := c.Resolve(name)
		if err == nil && (info.ID == "" || info.Provider == "" || info.Window <= 0) {
			t.Errorf("Resolve(%q) = %+v", name, info)
		}
	})
}

func BenchmarkNewCatalog(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		NewCatalog()
	}
}
