package sse

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"heddle/internal/model"
)

// Endpoint joins a base URL and a path.
func Endpoint(base, path string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	switch {
	case err != nil:
		return nil, fmt.Errorf("base URL %q: %w", base, err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("base URL %q: want http:// or https:// and a host", base)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("base URL %q: want no query and no fragment", base)
	}
	return u.JoinPath(path), nil
}

// CheckHeader reports a header that cannot be sent, without its value.
func CheckHeader(h http.Header) error {
	for name, values := range h {
		for _, v := range values {
			for i := range len(v) {
				if v[i] < ' ' || v[i] > '~' {
					return fmt.Errorf("the %s header would hold a character that is not printable ASCII: look at the key", name)
				}
			}
		}
	}
	return nil
}

// AgentHeader tells a scripted server on this machine who asks.
const AgentHeader = "X-Heddle-Agent"

// AgentValue is the value of [AgentHeader]: a JSON object.
func AgentValue(a model.Agent) string {
	text, err := json.Marshal(struct {
		Type string `json:"type"`
		Name string `json:"name"`
		ID   string `json:"id"`
	}{a.Type, a.Name, a.ID})
	if err != nil {
		panic(err) // three strings
	}
	return string(text)
}
