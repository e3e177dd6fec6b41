package edge

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"
)

// clientIPs determines the address of the client that sent a request. Immutable.
type clientIPs struct {
	proxies []netip.Prefix // their X-Forwarded-For is trusted
}

// maxForwarded is the number of X-Forwarded-For elements that are read, from the end. No site has as many
// proxies in a row, but a request head has room for thousands of elements.
const maxForwarded = 32

// of returns the client's address: the connection's address or, behind trusted proxies, the last address in
// X-Forwarded-For that is not a trusted proxy. Several header lines are one list in the order of their arrival
// (RFC 9110 section 5.3). A proxy appends the address that it saw, so a client can forge everything except the
// end of the list.
func (t *clientIPs) of(ctx *fasthttp.RequestCtx) netip.Addr {
	ip := addrOf(ctx.RemoteAddr())
	if len(t.proxies) == 0 || !contains(t.proxies, ip) {
		return ip
	}
	seen := 0
	for _, line := range slices.Backward(ctx.Request.Header.PeekAll(fasthttp.HeaderXForwardedFor)) {
		for more := true; more; seen++ {
			var last []byte
			if last, line, more = cutLast(line); seen == maxForwarded {
				return ip
			}
			if last = bytes.Trim(last, " \t"); len(last) == 0 {
				continue // an empty element names no address
			}
			a, err := netip.ParseAddr(string(last))
			if err != nil {
				return ip
			}
			if ip = a.Unmap(); !contains(t.proxies, ip) {
				return ip
			}
		}
	}
	return ip
}

// cutLast splits the last element off a list. more reports whether the list has further elements.
func cutLast(list []byte) (last, rest []byte, more bool) {
	i := bytes.LastIndexByte(list, ',')
	return list[i+1:], list[:max(i, 0)], i >= 0
}

// clientKey returns the key under which limits count a client: its address, or the /64 of an IPv6 address.
func clientKey(a netip.Addr) netip.Addr {
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}

// networkOf returns the network by which connections are shared out: the /24, or the /48 of IPv6.
func networkOf(a netip.Addr) netip.Addr {
	bits := 24
	if a.Is6() {
		bits = 48
	}
	p, err := a.WithZone("").Prefix(bits)
	if err != nil {
		panic("BUG: server: network of " + a.String())
	}
	return p.Addr()
}

// addrOf returns the IP of a connection's address, 0.0.0.0 for an in-memory connection.
func addrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.IPv4Unspecified()
}

func itoa(n int) string { return strconv.Itoa(n) }

// ClientAddr returns the client's address that the rate limits use.
func (c *Ctx) ClientAddr() netip.Addr {
	if c.client.IsValid() {
		return c.client
	}
	if c.edge.clients == nil {
		return addrOf(c.RemoteAddr())
	}
	return c.edge.clients.of(c.RequestCtx)
}
