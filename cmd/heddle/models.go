package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"heddle/internal/agent"
	"heddle/internal/model"
	"heddle/internal/model/anthropic"
	"heddle/internal/model/openai"
	"heddle/internal/model/scripted"
)

// models finds the model that a name means, and makes the clients of providers
// as they are needed: one each, so that all agents share its gate.
type models struct {
	catalog   *model.Catalog
	providers map[string]providerConfig

	mu      sync.Mutex
	clients map[string]*model.Client
}

// The default models, by the key that is there.
const (
	defaultAnthropic = "anthropic/claude-sonnet-5-5"
	defaultOpenAI    = "openai/gpt-6.2-sol"
)

// newModels returns the models of the environment and the settings. Settings extend
// and override what the environment says of a provider.
func newModels(s settings) (*models, error) {
	m := &models{providers: map[string]providerConfig{
		"anthropic": {Type: "anthropic", BaseURL: os.Getenv("ANTHROPIC_BASE_URL"), KeyEnv: "ANTHROPIC_API_KEY"},
		"openai":    {Type: "openai", BaseURL: os.Getenv("OPENAI_BASE_URL"), KeyEnv: "OPENAI_API_KEY"},
	}, clients: map[string]*model.Client{}}
	for name, variable := range map[string]string{"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"} {
		if base := m.providers[name].BaseURL; base != "" {
			if err := checkBaseURL(base); err != nil {
				return nil, usagef("%s: %v", variable, err)
			}
		}
	}
	for name, c := range s.Providers {
		if c.Type == "" {
			c.Type = m.providers[name].Type
		}
		if c.Type != "anthropic" && c.Type != "openai" {
			return nil, usagef("settings: providers.%s.type is %q: want anthropic or openai", name, c.Type)
		}
		if base := m.providers[name]; c.BaseURL == "" {
			c.BaseURL = base.BaseURL
		}
		if c.KeyEnv == "" {
			c.KeyEnv = m.providers[name].KeyEnv
		}
		m.providers[name] = c
	}
	m.catalog = model.NewCatalog(slices.Sorted(maps.Keys(s.Providers))...)
	if err := m.catalog.Extend(s.Settings); err != nil {
		return nil, usagef("settings: %s", joined(err))
	}
	return m, nil
}

// List returns the models that are known.
func (m *models) List() []model.Info { return m.catalog.Models() }

// Choose returns the model that name means; an empty name means the default.
func (m *models) Choose(name string) (agent.Choice, error) {
	if file, ok := strings.CutPrefix(name, "scripted/"); ok {
		return scriptedChoice(file)
	}
	if name == "" {
		if name = m.fallback(); name == "" {
			return agent.Choice{}, errNoKey
		}
	}
	info, err := m.catalog.Resolve(name)
	if err != nil {
		return agent.Choice{}, usageError{err.Error()}
	}
	client, err := m.client(info.Provider)
	if err != nil {
		return agent.Choice{}, err
	}
	return agent.Choice{Model: client, Info: info}, nil
}

// errNoKey is what someone sees who has just installed heddle.
var errNoKey = usageError{`there is no key for a model. Set one of these and try again:
  export ANTHROPIC_API_KEY=…        models of Anthropic
  export OPENAI_API_KEY=…           models of OpenAI
  export OPENAI_BASE_URL=http://127.0.0.1:11434/v1 and pass --model openai/NAME for a local server
"heddle demo" needs none of them.`}

// fallback is the model to use when nobody named one.
func (m *models) fallback() string {
	for _, f := range []string{defaultAnthropic, defaultOpenAI} {
		provider, _, _ := strings.Cut(f, "/")
		if m.usable(provider) {
			return f
		}
	}
	return ""
}

// usable reports whether a provider can be asked: there is a key, or a local
// server, which needs none.
func (m *models) usable(provider string) bool {
	c := m.providers[provider]
	key, token := c.credentials()
	if named := provider != "anthropic" && provider != "openai" && c.KeyEnv != ""; named {
		return key != "" // settings say that it needs one
	}
	return key != "" || token != "" || c.BaseURL != "" && local(c.BaseURL)
}

// credentials reads the key of a provider from the environment.
func (c providerConfig) credentials() (key, token string) {
	if c.KeyEnv != "" {
		key = os.Getenv(c.KeyEnv)
	}
	if c.Type == "anthropic" && c.KeyEnv == "ANTHROPIC_API_KEY" {
		token = os.Getenv("ANTHROPIC_AUTH_TOKEN")
	}
	return key, token
}

// local reports whether a URL leads to this machine.
func local(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// unattended is how long a request is tried while nobody looks on: a provider
// that asks for a pause of some minutes gets it.
var unattended = model.Policy{Patience: 10 * time.Minute}

// client returns the client of a provider.
func (m *models) client(provider string) (*model.Client, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.clients[provider]; c != nil {
		return c, nil
	}
	c, known := m.providers[provider]
	if !known {
		return nil, usagef("there is no provider %q; settings can add one under providers", provider)
	}
	if !m.usable(provider) {
		if c.KeyEnv == "" {
			return nil, usagef("provider %s: settings must name the variable that holds its key, under providers.%s.apiKeyEnv", provider, provider)
		}
		return nil, usagef("there is no key for %s: set %s. \"heddle demo\" needs none", provider, c.KeyEnv)
	}
	key, token := c.credentials()
	var p model.Provider
	switch c.Type {
	case "anthropic":
		p = anthropic.New(anthropic.Options{Name: provider, BaseURL: c.BaseURL, APIKey: key, AuthToken: token, Version: c.Version, Betas: c.Betas})
	default:
		p = openai.New(openai.Options{Name: provider, BaseURL: c.BaseURL, APIKey: key})
	}
	client := model.NewClient(p, model.NewGate(c.Limit), unattended)
	m.clients[provider] = client
	return client, nil
}

// keyVariables are the names of variables that hold keys, which no command sees.
func (m *models) keyVariables() []string {
	names := []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"}
	for _, c := range m.providers {
		if c.KeyEnv != "" && !slices.Contains(names, c.KeyEnv) {
			names = append(names, c.KeyEnv)
		}
	}
	return names
}

// KeySource names the variable that a provider's key comes from.
func (m *models) KeySource(provider string) string {
	c := m.providers[provider]
	key, token := c.credentials()
	switch {
	case key != "":
		return c.KeyEnv
	case token != "":
		return "ANTHROPIC_AUTH_TOKEN"
	}
	return "none"
}

// scriptedChoice returns the model that plays a script.
func scriptedChoice(file string) (agent.Choice, error) {
	script, err := scripted.LoadFile(file)
	if err != nil {
		return agent.Choice{}, usageError{err.Error()}
	}
	return scriptedModel(script, file), nil
}

// runModels lists the models.
func runModels(ctx context.Context, args []string, std stdio) error {
	s, asJSON, done, err := lookAtSettings("models", args, std)
	if done || err != nil {
		return err
	}
	m, err := newModels(s.settings)
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(std.out)
		enc.SetIndent("", "  ")
		return enc.Encode(m.List())
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tWINDOW\tANSWER\t$ IN\t$ OUT\tKEY")
	for _, i := range m.List() {
		key := "-"
		if m.usable(i.Provider) {
			key = "yes"
		}
		fmt.Fprintf(w, "%s/%s\t%d\t%d\t%s\t%s\t%s\n", i.Provider, i.ID, i.Window, i.MaxOutput, dollars(i, i.Price.Input), dollars(i, i.Price.Output), key)
	}
	return w.Flush()
}

func dollars(i model.Info, x float64) string {
	if x == 0 && i.PriceUnknown {
		return "?"
	}
	return fmt.Sprintf("%.2f", x)
}

// scriptedModel makes a choice of a script.
func scriptedModel(s *scripted.Script, file string) agent.Choice {
	return agent.Choice{
		Model: model.NewClient(scripted.New(s), nil, model.Policy{}),
		Info:  model.Info{Provider: "scripted", ID: file, Window: cmp.Or(s.Window, 200_000), MaxOutput: 64_000},
	}
}
