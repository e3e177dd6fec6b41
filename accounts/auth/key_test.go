package auth

import (
	"net/netip"
	"testing"
)

func TestWhitelistTakesAddressesAndNetworks(t *testing.T) {
	for _, c := range []struct {
		entry, remote string
		want          bool
	}{
		{"10.1.2.3", "10.1.2.3", true},
		{"10.1.2.3", "10.1.2.4", false},
		{"10.1.2.99/24", "10.1.2.4", true},
		{"10.1.2.0/24", "10.1.3.4", false},
		{"10.1.2.0/24", "::ffff:10.1.2.4", true},
		{"::ffff:10.1.2.3", "10.1.2.3", true},
		{"::ffff:10.1.2.0/120", "10.1.2.3", true},
		{"2001:db8::/32", "2001:db8:1::1", true},
		{"2001:db8::1", "2001:db8::1", true},
		{"2001:db8::/32", "10.1.2.3", false},
	} {
		p, ok := ParseNetwork(c.entry)
		if !ok {
			t.Fatalf("%s does not parse", c.entry)
		}
		k := &Key{opened: opened{allowed: []netip.Prefix{p}}}
		if got := k.allows(netip.MustParseAddr(c.remote)); got != c.want {
			t.Errorf("%s allows %s: %v", c.entry, c.remote, got)
		}
	}
}
