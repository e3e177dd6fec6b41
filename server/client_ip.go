package server

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"
)

// clientIPs finds out who calls. Immutable.
type clientIPs struct {
	proxies []netip.Prefix // whose X-Forwarded-For counts
}

// maxForwarded is how many elements of X-Forwarded-For are looked at, from the end: more
// proxies in a row than any site has. A request head has room for thousands.
const maxForwarded = 32

// of is the client's address: the connection's, or behind trusted proxies the last address
// of X-Forwarded-For that is not one of them. Several lines are one list in the order in
// which they arrived (RFC 9110 section 5.3): a proxy appends the address that it saw to
// the last line or as another one, so only the end of the list is not the client's own word.
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
				continue // an empty element stands for nothing
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

// cutLast takes the last element off a list; more reports that there are others before it.
func cutLast(list []byte) (last, rest []byte, more bool) {
	i := bytes.LastIndexByte(list, ',')
	return list[i+1:], list[:max(i, 0)], i >= 0
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
