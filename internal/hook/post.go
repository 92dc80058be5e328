package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// bodyLimit is how many bytes of a response are read.
const bodyLimit = 8 << 20

// post runs a hook that is an HTTP request. Only a response that is an object can hold
// something back; a status cannot.
func (r *Runner) post(ctx context.Context, h Hook, input []byte) (reply, error) {
	req, err := r.request(ctx, h, input)
	if err != nil {
		return reply{}, err
	}
	resp, err := r.client().Do(req)
	if err != nil {
		return reply{}, withoutURL(err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode <= 399:
		return reply{}, fmt.Errorf("the server answered %s; redirects are not followed, so name the final address", resp.Status)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return reply{}, fmt.Errorf("the server answered %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, bodyLimit+1))
	switch {
	case err != nil:
		return reply{}, fmt.Errorf("read the response: %w", err)
	case len(body) > bodyLimit:
		return reply{}, fmt.Errorf("the response is longer than %d bytes", bodyLimit)
	}
	body = bytes.TrimSpace(body)
	if len(body) > 0 && !isObject(body) {
		return reply{}, errors.New("the response is not a JSON object")
	}
	return reply{stdout: string(body)}, nil
}

func (r *Runner) request(ctx context.Context, h Hook, input []byte) (*http.Request, error) {
	vars := r.variables(h)
	address := fill(h.URL, vars)
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its url is not an address that begins with http:// or https://")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(input))
	if err != nil {
		return nil, fmt.Errorf("prepare the request: %w", withoutURL(err))
	}
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(vars, r.allowed(h))
	for name, value := range h.Headers {
		req.Header.Set(name, expand(value, vars))
	}
	return req, nil
}

// client follows no redirects: the person named one address, and what the hook is told
// is for that one only.
func (r *Runner) client() *http.Client {
	client := http.Client{}
	if r.o.Client != nil {
		client = *r.o.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// allowed returns the variables that the headers of a hook may name.
func (r *Runner) allowed(h Hook) map[string]string {
	env := os.Environ
	if r.o.Env != nil {
		env = r.o.Env
	}
	vars := map[string]string{}
	for _, entry := range env() {
		if name, value, _ := strings.Cut(entry, "="); slices.Contains(h.AllowedEnv, name) {
			vars[name] = value
		}
	}
	return vars
}

var variable = regexp.MustCompile(`\$(\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)`)

// expand replaces $NAME and ${NAME}; what vars does not have is left out.
func expand(text string, vars map[string]string) string {
	return variable.ReplaceAllStringFunc(text, func(v string) string {
		return vars[strings.Trim(v[1:], "{}")]
	})
}

// withoutURL leaves out the address, which may hold a secret.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}
