package model

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/internal/spelling"
)

//go:embed models.json
var builtin string

// Catalog knows models by name. It does not change once it is in use.
type Catalog struct {
	models    map[string]Info   // by provider/id
	aliases   map[string]string // alias, or provider/alias: provider/id
	defaults  map[string]Info   // by provider; "": of any other
	providers []string          // an alias that several have means that of the first
}

// Settings extend a catalog.
type Settings struct {
	// Models are facts of models by provider/id. What is left out is as in the
	// table, or as it is for models that the table does not have.
	Models map[string]Facts `json:"models"`
	// Aliases are names of models, by alias.
	Aliases map[string]string `json:"modelAliases"`
}

// Facts are what settings can say of a model; see [Info].
type Facts struct {
	Window    *int     `json:"window"`
	MaxOutput *int     `json:"max_output"`
	Price     *Price   `json:"price"`
	LongAfter *int     `json:"long_after"`
	LongPrice *Price   `json:"long_price"`
	Thinking  *string  `json:"thinking"`
	Effort    []string `json:"effort"`
}

// NewCatalog returns the table that comes with the program. Names of further
// providers are those of the user's own servers: any model may be asked of
// them. An alias that several providers have means the first one's: those of
// providers in their order, then the program's own.
func NewCatalog(providers ...string) *Catalog {
	var table struct {
		Defaults map[string]Info
		Aliases  map[string]map[string]string
		Models   []struct {
			Info
			Dated string
		}
	}
	if err := json.Unmarshal([]byte(builtin), &table); err != nil {
		panic("models.json: " + err.Error())
	}
	c := &Catalog{models: map[string]Info{}, aliases: map[string]string{}, defaults: table.Defaults}
	c.providers = append(c.providers, providers...)
	for _, p := range slices.Sorted(maps.Keys(table.Aliases)) {
		if !slices.Contains(c.providers, p) {
			c.providers = append(c.providers, p)
		}
		for alias, id := range table.Aliases[p] {
			c.aliases[p+"/"+alias] = p + "/" + id
		}
	}
	for _, m := range table.Models {
		d := c.unlisted(m.Provider, m.ID)
		if m.Window == 0 {
			m.Window = d.Window
		}
		if m.MaxOutput == 0 {
			m.MaxOutput = d.MaxOutput
		}
		c.models[m.Provider+"/"+m.ID] = m.Info
		if m.Dated != "" {
			m.ID = m.Dated
			c.models[m.Provider+"/"+m.ID] = m.Info
		}
	}
	return c
}

// Extend adds what settings say. An error joins everything that is wrong.
func (c *Catalog) Extend(s Settings) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		if err := c.extend(name, s.Models[name]); err != nil {
			problems = append(problems, fmt.Errorf("models[%q]: %w", name, err))
		}
	}
	// An alias may name another one that stands beside it, so all are known before any is looked up.
	for alias, name := range s.Aliases {
		c.aliases[alias] = name
	}
	for _, alias := range slices.Sorted(maps.Keys(s.Aliases)) {
		if _, err := c.Resolve(alias); err != nil {
			problems = append(problems, fmt.Errorf("modelAliases[%q]: %w", alias, err))
		}
	}
	return errors.Join(problems...)
}

func (c *Catalog) extend(name string, f Facts) error {
	provider, id, ok := strings.Cut(name, "/")
	if !ok || provider == "" || id == "" {
		return errors.New(`the name of a model is "provider/id"`)
	}
	if !slices.Contains(c.providers, provider) {
		return c.unknownProvider(provider)
	}
	info, ok := c.models[name]
	if !ok {
		info = c.unlisted(provider, id)
	}
	if err := f.apply(&info); err != nil {
		return err
	}
	c.models[name] = info
	return nil
}

func (f Facts) apply(i *Info) error {
	for _, n := range []struct {
		name string
		from *int
		to   *int
	}{{"window", f.Window, &i.Window}, {"max_output", f.MaxOutput, &i.MaxOutput}, {"long_after", f.LongAfter, &i.LongAfter}} {
		if n.from == nil {
			continue
		}
		if *n.from <= 0 {
			return fmt.Errorf("%s is %d, want a number of tokens above 0", n.name, *n.from)
		}
		*n.to = *n.from
	}
	if f.Price != nil {
		// Prices of another band are not known to fit.
		i.Price, i.PriceUnknown, i.LongPrice = *f.Price, false, nil
	}
	if f.LongPrice != nil {
		i.LongPrice = f.LongPrice
	}
	if f.Thinking != nil {
		switch *f.Thinking {
		case "", "adaptive", "always":
			i.Thinking = *f.Thinking
		default:
			return fmt.Errorf(`thinking is %q, want "", "adaptive" or "always"`, *f.Thinking)
		}
	}
	if f.Effort != nil {
		i.Effort = f.Effort
	}
	return nil
}

// unlisted is what is assumed of a model that is not in the table: a window of
// 200,000 tokens and no known price.
func (c *Catalog) unlisted(provider, id string) Info {
	info, ok := c.defaults[provider]
	if !ok {
		info = c.defaults[""]
	}
	info.Provider, info.ID = provider, id
	return info
}

// Resolve finds a model by provider/id, by id, or by alias. An id that the
// table does not have is taken only with its provider.
func (c *Catalog) Resolve(name string) (Info, error) {
	seen := map[string]bool{}
	for at := name; ; {
		if info, ok := c.models[at]; ok {
			return info, nil
		}
		target, ok := c.alias(at)
		if !ok {
			return c.plain(at)
		}
		if seen[at] {
			return Info{}, fmt.Errorf("model alias %q leads back to itself", name)
		}
		seen[at] = true
		at = target
	}
}

// alias returns what an alias stands for.
func (c *Catalog) alias(name string) (string, bool) {
	if target, ok := c.aliases[name]; ok {
		return target, true
	}
	for _, p := range c.providers {
		if target, ok := c.aliases[p+"/"+name]; ok {
			return target, true
		}
	}
	return "", false
}

// plain resolves a name that is neither in the table as it is nor an alias.
func (c *Catalog) plain(name string) (Info, error) {
	provider, id, qualified := strings.Cut(name, "/")
	if qualified && id != "" && slices.Contains(c.providers, provider) {
		return c.unlisted(provider, id), nil
	}
	for _, p := range c.providers {
		if info, ok := c.models[p+"/"+name]; ok {
			return info, nil
		}
	}
	if qualified {
		return Info{}, fmt.Errorf("model %q: %w", name, c.unknownProvider(provider))
	}
	if near := c.near(name); len(near) > 0 {
		return Info{}, fmt.Errorf("there is no model %q; did you mean %s? Any other model is written provider/id", name, strings.Join(near, ", "))
	}
	return Info{}, fmt.Errorf("there is no model %q; a model that is not in the table is written provider/id, with one of the providers %s",
		name, strings.Join(c.providers, ", "))
}

func (c *Catalog) unknownProvider(p string) error {
	return fmt.Errorf("there is no provider %q; known are %s", p, strings.Join(c.providers, ", "))
}

// Models returns all models of the table, by provider and id.
func (c *Catalog) Models() []Info {
	out := make([]Info, 0, len(c.models))
	for _, k := range slices.Sorted(maps.Keys(c.models)) {
		out = append(out, c.models[k])
	}
	return out
}

// near returns up to five names that resemble name, the nearest first.
func (c *Catalog) near(name string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	add := func(full string) {
		short := full[strings.IndexByte(full, '/')+1:]
		far := spelling.Distance(strings.ToLower(name), strings.ToLower(short))
		if len(name) > 2 && strings.Contains(short, strings.ToLower(name)) {
			far = 0
		}
		if far <= max(2, len(name)/4) {
			found = append(found, candidate{short, far})
		}
	}
	for full := range c.models {
		add(full)
	}
	for full := range c.aliases {
		add(full)
	}
	slices.SortFunc(found, func(a, b candidate) int {
		if a.far != b.far {
			return a.far - b.far
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, f := range slices.Compact(found) {
		if len(names) < 5 {
			names = append(names, f.name)
		}
	}
	return names
}
