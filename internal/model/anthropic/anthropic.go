// Package anthropic speaks the Anthropic Messages API, which several other
// servers speak too.
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"heddle/internal/model"
	"heddle/internal/model/sse"
)

// Options configure a [Provider]. Only a credential is needed, and for some
// servers not even that.
type Options struct {
	Name       string // "anthropic" if empty
	BaseURL    string // without /v1; the vendor's if empty
	APIKey     string // sent as x-api-key
	AuthToken  string // sent as a bearer token
	Version    string // of the API; what fits the base URL if empty
	Betas      []string
	HTTPClient *http.Client
	Limits     sse.Limits
}

const (
	vendorURL     = "https://api.anthropic.com"
	vendorVersion = "2026-10-21"
	// otherVersion is what other servers and the clouds expect.
	otherVersion = "2023-06-01"
)

// Provider is a [model.Provider].
type Provider struct {
	name   string
	server *sse.Server
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider. If the options are wrong, each use of it says so.
func New(o Options) *Provider {
	base := strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(cmp.Or(o.BaseURL, vendorURL)), "/"), "/v1")
	version := otherVersion
	if base == vendorURL {
		version = vendorVersion
	}
	header := http.Header{}
	header.Set("Anthropic-Version", cmp.Or(o.Version, version))
	if len(o.Betas) > 0 {
		header.Set("Anthropic-Beta", strings.Join(o.Betas, ","))
	}
	if key := strings.TrimSpace(o.APIKey); key != "" {
		header.Set("X-Api-Key", key)
	}
	if token := strings.TrimSpace(o.AuthToken); token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return &Provider{
		name:   cmp.Or(o.Name, "anthropic"),
		server: sse.NewServer(base, "/v1/messages", header, o.HTTPClient, o.Limits),
	}
}

// Name is the part before the slash in provider/model.
func (p *Provider) Name() string { return p.name }

// Stream makes one attempt.
func (p *Provider) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := p.attempt(ctx, r, yield); err != nil {
			var e *model.Error
			if errors.As(err, &e) {
				e.Provider = p.name
			}
			yield(nil, err)
		}
	}
}

// attempt streams one answer. It returns nil when the consumer has everything,
// or left.
func (p *Provider) attempt(ctx context.Context, r *model.Request, yield func(model.Event, error) bool) error {
	answer, err := p.server.Post(ctx, r.Agent, body(r))
	if err != nil {
		return err
	}
	defer answer.Close()
	if e, text := answer.Refusal(); e != nil {
		return refine(e, text)
	}
	d := decoder{yield: yield}
	for !d.over {
		ev, err := answer.Next()
		if err != nil {
			return err
		}
		if err := d.event(ev.Data); err != nil {
			return withRequestID(err, answer.Header)
		}
	}
	if d.left {
		return nil
	}
	answer.Finish()
	yield(d.response, nil)
	return nil
}
