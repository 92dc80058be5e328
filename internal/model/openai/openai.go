// Package openai speaks Chat Completions: to OpenAI, and to the many servers
// that serve the same protocol with quirks of their own.
package openai

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"heddle/internal/model"
	"heddle/internal/model/sse"
)

// Options configure a [Provider].
type Options struct {
	Name       string // "openai" if empty
	BaseURL    string // with /v1; the vendor's if empty
	APIKey     string // sent as a bearer token; local servers need none
	Profile    *Profile
	HTTPClient *http.Client
	Limits     sse.Limits
}

const vendorURL = "https://api.openai.com/v1"

// Provider is a [model.Provider].
type Provider struct {
	name    string
	profile Profile
	server  *sse.Server
}

var _ model.Provider = (*Provider)(nil)

// New returns a provider. If the options are wrong, each use of it says so.
func New(o Options) *Provider {
	base := strings.TrimRight(strings.TrimSpace(cmp.Or(o.BaseURL, vendorURL)), "/")
	path := "chat/completions"
	if u, err := url.Parse(base); err == nil && u.Path == "" {
		path = "v1/chat/completions" // people leave it out
	}
	profile := Compatible()
	switch {
	case o.Profile != nil:
		profile = *o.Profile
	case base == vendorURL:
		profile = Vendor()
	}
	header := http.Header{}
	if key := strings.TrimSpace(o.APIKey); key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	return &Provider{
		name:    cmp.Or(o.Name, "openai"),
		profile: profile,
		server:  sse.NewServer(base, path, header, o.HTTPClient, o.Limits),
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
	body := p.body(r)
	answer, err := p.server.Post(ctx, r.Agent, body)
	if err != nil {
		return err
	}
	defer answer.Close()
	if e, text := answer.Refusal(); e != nil {
		return refine(e, text)
	}
	d := newDecoder(yield, r, p.profile)
	for !d.over {
		ev, err := answer.Next()
		var cut *model.Error
		if errors.As(err, &cut) && cut.Class == model.Cut && d.finish != "" {
			break // all of the answer is there, and some servers leave out the end mark
		}
		if err != nil {
			return err
		}
		if err := d.event(ev); err != nil {
			return err
		}
	}
	if d.left {
		return nil
	}
	response, err := d.response(body.Len())
	if err != nil {
		return err
	}
	answer.Finish()
	yield(response, nil)
	return nil
}
