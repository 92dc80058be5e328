package permission

import (
	"net/url"
	"strings"
)

// parseDomain reads the host of a WebFetch rule.
func parseDomain(host string) pattern {
	return pattern{parts: []string{hostName(host)}}
}

// hostName is a host name as it is compared.
func hostName(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }

// matchDomain reports whether the host of address fits: * is every host, *.name
// every host below name, and any other * stays within a label.
func matchDomain(rule, address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	host := hostName(u.Hostname())
	if rule == "*" {
		return true
	}
	if parent, ok := strings.CutPrefix(rule, "*."); ok && !strings.Contains(parent, "*") {
		return strings.HasSuffix(host, "."+parent) && host != "."+parent
	}
	want, have := strings.Split(rule, "."), strings.Split(host, ".")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if !parsePattern(want[i]).match(have[i]) {
			return false
		}
	}
	return true
}
