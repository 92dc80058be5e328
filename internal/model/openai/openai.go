// Package openai speaks Chat Completions: to OpenAI, and to the many servers
// that serve the same protocol with quirks of their own.
package openai

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
	name     string
	profile  Profile
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
		p.name = "openai"
	}
	if p.client == nil {
		p.client = sse.NewClient()
	}
	if o.BaseURL == "" {
		o.BaseURL = vendorURL
	}
	p.endpoint, p.err = sse.Endpoint(o.BaseURL, "chat/completions")
	if p.err != nil {
		return p
	}
	if strings.Trim(p.endpoint.Path, "/") == "chat/completions" {
		p.endpoint.Path = "/v1/chat/completions"
	}
	switch {
	case o.Profile != nil:
		p.profile = *o.Profile
	case strings.HasPrefix(p.endpoint.String(), vendorURL):
		p.profile = Vendor()
	default:
		p.profile = Compatible()
	}
	p.header.Set("Content-Type", "application/json")
	p.header.Set("Accept", "text/event-stream")
	p.header.Set("User-Agent", "heddle")
	if key := strings.TrimSpace(o.APIKey); key != "" {
		p.header.Set("Authorization", "Bearer "+key)
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
	body := p.body(r)
	req, err := p.request(ctx, r, body)
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

// request builds the request of one attempt.
func (p *Provider) request(ctx context.Context, r *model.Request, body *model.Body) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoint.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	req.Header = p.header.Clone()
	if sse.Loopback(p.endpoint) {
		req.Header.Set(sse.AgentHeader, sse.AgentValue(r.Agent))
	}
	body.Attach(req)
	return req, nil
}
