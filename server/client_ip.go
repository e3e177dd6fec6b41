package server

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// clientIPs finds out who calls. Immutable.
type clientIPs struct {
	proxies []netip.Prefix // whose X-Forwarded-For counts
}

// of is the client's address: the connection's, or behind trusted proxies the last address
// of X-Forwarded-For that is not one of them.
func (t *clientIPs) of(ctx *fasthttp.RequestCtx) netip.Addr {
	ip := addrOf(ctx.RemoteAddr())
	if len(t.proxies) == 0 || !contains(t.proxies, ip) {
		return ip
	}
	list := string(ctx.Request.Header.PeekCanonical(reqForwardedFor))
	for list != "" {
		var last string
		if i := strings.LastIndexByte(list, ','); i >= 0 {
			list, last = list[:i], list[i+1:]
		} else {
			list, last = "", list
		}
		a, err := netip.ParseAddr(strings.TrimSpace(last))
		if err != nil {
			return ip
		}
		if ip = a.Unmap(); !contains(t.proxies, ip) {
			return ip
		}
	}
	return ip
}

// clientKey is what limits count by: the address, of IPv6 the first 64 bits.
func clientKey(a netip.Addr) netip.Addr {
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}

// addrOf is the IP of a connection's address; in-memory connections have 0.0.0.0.
func addrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.IPv4Unspecified()
}

func itoa(n int) string { return strconv.Itoa(n) }
