// Package anthropic speaks the Anthropic Messages API, which several other
// servers speak too.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
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
	name     string
	client   *http.Client
	limits   sse.Limits
	endpoint *url.URL
	header   http.Header
	err      error // the options cannot work, and why
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider. If the options are wrong, each use of it says so.
func New(o Options) *Provider {
	p := &Provider{name: o.Name, client: o.HTTPClient, limits: o.Limits, header: http.Header{}}
	if p.name == "" {
		p.name = "anthropic"
	}
	if p.client == nil {
		p.client = sse.NewClient()
	}
	if o.BaseURL == "" {
		o.BaseURL = vendorURL
	}
	p.endpoint, p.err = sse.Endpoint(strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1"), "/v1/messages")
	if p.err != nil {
		return p
	}
	if o.Version == "" {
		o.Version = otherVersion
		if p.endpoint.Scheme+"://"+p.endpoint.Host == vendorURL {
			o.Version = vendorVersion
		}
	}
	p.header.Set("Content-Type", "application/json")
	p.header.Set("Accept", "text/event-stream")
	p.header.Set("User-Agent", "heddle")
	p.header.Set("Anthropic-Version", o.Version)
	if len(o.Betas) > 0 {
		p.header.Set("Anthropic-Beta", strings.Join(o.Betas, ","))
	}
	if key := strings.TrimSpace(o.APIKey); key != "" {
		p.header.Set("X-Api-Key", key)
	}
	if token := strings.TrimSpace(o.AuthToken); token != "" {
		p.header.Set("Authorization", "Bearer "+token)
	}
	p.err = sse.CheckHeader(p.header)
	return p
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
	if p.err != nil {
		return &model.Error{Class: model.BadRequest, Message: p.err.Error(), Err: p.err}
	}
	req, err := p.request(ctx, r)
	if err != nil {
		return &model.Error{Class: model.BadRequest, Err: err}
	}
	answer, err := sse.Post(ctx, p.client, req, p.limits)
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

// request builds the request of one attempt.
func (p *Provider) request(ctx context.Context, r *model.Request) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoint.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	req.Header = p.header.Clone()
	if sse.Loopback(p.endpoint) {
		req.Header.Set(sse.AgentHeader, sse.AgentValue(r.Agent))
	}
	body(r).Attach(req)
	return req, nil
}
