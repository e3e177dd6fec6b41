package edge

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// FuzzForwardedFor sends any X-Forwarded-For of a client through a proxy that appends the
// client's address, as another line or to the client's list. The client's address must always
// be the one that the proxy wrote.
func FuzzForwardedFor(f *testing.F) {
	for _, sent := range []string{
		"10.1.2.3", "10.1.2.3, 1.1.1.1", "::ffff:10.0.0.1%eth0,,", "", ",", "127.0.0.1", "127.0.0.1, 127.0.0.1",
		"10.1.2.3:80", "[::1]:80", "unknown", "\"10.1.2.3", strings.Repeat("127.0.0.1,", 300),
	} {
		f.Add(sent, true)
		f.Add(sent, false)
	}
	f.Fuzz(func(t *testing.T, sent string, ownLine bool) {
		if strings.ContainsAny(sent, "\r\n\x00") {
			return
		}
		c := &clientIPs{proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, nil)
		if ownLine {
			ctx.Request.Header.Add("X-Forwarded-For", sent)
			ctx.Request.Header.Add("X-Forwarded-For", "66.6.6.6")
		} else {
			ctx.Request.Header.Set("X-Forwarded-For", sent+", 66.6.6.6")
		}
		if got := c.of(&ctx); got != netip.MustParseAddr("66.6.6.6") {
			t.Fatalf("the client sent %q, the proxy 66.6.6.6: taken for %s (own line %v)", sent, got, ownLine)
		}
	})
}

// forwarded returns the client's address for lines of X-Forwarded-For on a connection from
// 10.0.0.1, where 10.0.0.0/8 is trusted.
func forwarded(lines ...string) netip.Addr {
	c := &clientIPs{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	var ctx fasthttp.RequestCtx
	ctx.Init(&fasthttp.Request{}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}, nil)
	for _, l := range lines {
		ctx.Request.Header.Add("X-Forwarded-For", l)
	}
	return c.of(&ctx)
}

// Lines are one list in their order; it is read from its end up to the first
// address that is not a trusted proxy, the first invalid address, or maxForwarded elements.
func TestForwardedLinesAreOneList(t *testing.T) {
	hops := func(n int) string { return strings.Repeat(", 10.0.0.2", n) }
	for _, c := range []struct {
		want  string
		lines []string
	}{
		{"10.0.0.1", nil},
		{"10.0.0.1", []string{""}},
		{"192.0.2.1", []string{"192.0.2.1"}},
		{"192.0.2.2", []string{"192.0.2.1, 192.0.2.2"}},
		{"192.0.2.2", []string{"192.0.2.1", "192.0.2.2"}},
		{"192.0.2.1", []string{"192.0.2.1", "10.0.0.2", "10.0.0.3, 10.0.0.4"}},
		{"192.0.2.2", []string{"192.0.2.1", "192.0.2.2, 10.0.0.3", "10.0.0.4"}},
		{"192.0.2.1", []string{"192.0.2.1", "", " , ,", "10.0.0.2"}},
		{"10.0.0.2", []string{"192.0.2.1", "unknown", "10.0.0.2"}},
		{"10.0.0.2", []string{"192.0.2.1, nonsense, 10.0.0.2"}},
		{"192.0.2.1", []string{"::ffff:192.0.2.1", "::ffff:10.0.0.9"}},
		{"2001:db8::1", []string{"192.0.2.1", "2001:db8::1"}},
		{"192.0.2.1", []string{"192.0.2.1" + hops(maxForwarded-1)}},
		{"10.0.0.2", []string{"192.0.2.1" + hops(maxForwarded)}},
		{"10.0.0.1", []string{"192.0.2.1" + strings.Repeat(",", maxForwarded)}},
	} {
		if got := forwarded(c.lines...); got != netip.MustParseAddr(c.want) {
			t.Errorf("%.120q: %s, want %s", c.lines, got, c.want)
		}
	}
}
