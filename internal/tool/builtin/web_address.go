package builtin

import (
	"net"
	"net/netip"
	"syscall"
	"time"
)

// dialer returns a dialer that connects to public addresses only, unless private
// ones are allowed. It looks at the address that is about to be connected to, so
// a name that resolves to another address the second time gains nothing.
func dialer(allowPrivate bool) *net.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second}
	if !allowPrivate {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			a, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if !public(a.Addr()) {
				return refuse("WebFetch does not connect to %s, a private or local address. Use a command if you must.", a.Addr())
			}
			return nil
		}
	}
	return d
}

// reserved are the ranges that are not the public internet and for which netip
// has no name.
var reserved = [...]string{
	"0.0.0.0/8",       // this network
	"100.64.0.0/10",   // behind a provider's NAT
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"240.0.0.0/4",     // reserved, and broadcast
	"::/96",           // an IPv4 address in old notation
	"64:ff9b:1::/48",  // local translation
	"100::/64",        // discarded
	"2001::/32",       // Teredo tunnels
	"2001:db8::/32",   // documentation
	"fec0::/10",       // site local
}

const (
	nat64  = "64:ff9b::/96"
	sixTo4 = "2002::/16"
)

// public reports whether a is an address of the public internet. An IPv4 address
// inside an IPv6 one counts as what it is.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	b := a.As16()
	switch {
	case within(a, nat64):
		a = netip.AddrFrom4([4]byte(b[12:16]))
	case within(a, sixTo4):
		a = netip.AddrFrom4([4]byte(b[2:6]))
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range reserved {
		if within(a, p) {
			return false
		}
	}
	return true
}

func within(a netip.Addr, prefix string) bool { return netip.MustParsePrefix(prefix).Contains(a) }
