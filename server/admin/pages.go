package admin

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
	"tickhive/server/edge"
	"tickhive/server/health"
)

// pageFilter refuses requests of web pages on an internal listener without a token. A browser on the machine
// reaches the loopback interface and sends any request that a page makes. The headers Origin and Sec-Fetch-Site
// reveal forms, beacons and fetches to another origin. The header Host reveals DNS rebinding: a page whose own
// host name resolves to 127.0.0.1 counts as same-origin and can send any request. Other programs send a
// permitted host in Host, and neither Origin nor Sec-Fetch-Site. Immutable.
//
// A check costs 125 ns. A token for every listener would end `curl -d` to a new exchange, which is half of the use
// of this API; a media type that forms cannot send does nothing against a rebound name; CORS headers guard answers,
// not the effect of a request.
type pageFilter struct {
	names []string     // names in internal.hosts, without a trailing dot
	addrs []netip.Addr // addresses in internal.hosts
}

// maxHostName is the longest host name (RFC 1035 section 2.3.4).
const maxHostName = 253

// readyPath needs no check, because it reports only whether the start is complete. Neither do health.LivePath and
// health.ReadyPath.
const readyPath = edge.InternalPrefix + "/ready"

// newPageFilter returns a pageFilter that accepts these hosts besides the loopback hosts.
func newPageFilter(hosts []string) (*pageFilter, error) {
	g := &pageFilter{}
	for _, text := range hosts {
		if err := CheckHost(text); err != nil {
			return nil, err
		}
		if a, err := netip.ParseAddr(text); err == nil {
			g.addrs = append(g.addrs, a.Unmap())
		} else {
			g.names = append(g.names, strings.TrimSuffix(text, "."))
		}
	}
	return g, nil
}

// CheckHost returns an error unless text is one host: a name or an address without
// scheme, port and wildcard.
func CheckHost(text string) error {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return nil
	}
	if !isHostName([]byte(strings.TrimSuffix(text, "."))) || isDotted([]byte(text)) {
		return fmt.Errorf("%.80q is neither a host name of letters, digits, '-', '_' and '.' nor an IP address; "+
			"list the name alone (ops.example), it counts with every port", text)
	}
	return nil
}

// check refuses a request that a browser may have sent for a web page.
func (g *pageFilter) check(ctx *fasthttp.RequestCtx) *refuse.Refusal {
	h := &ctx.Request.Header
	switch string(ctx.URI().PathOriginal()) {
	case readyPath, health.LivePath, health.ReadyPath:
		return nil
	}
	host := h.Host() // at most one value: the parser refuses a second Host header
	if !g.accepts(host) {
		return pageError(fasthttp.HeaderHost, host, "is neither a loopback name nor in internal.hosts; "+
			"call 127.0.0.1 or localhost, add the name to internal.hosts, or configure internal.token_file")
	}
	if target := h.RequestURI(); (len(target) == 0 || target[0] != '/') && !bytes.EqualFold(ctx.URI().Host(), host) {
		return pageError(fasthttp.HeaderHost, host,
			"is not the host in the request's target; send the same one in both")
	}
	for _, origin := range h.PeekAll(fasthttp.HeaderOrigin) {
		if !sameOrigin(origin, host) {
			return pageError(fasthttp.HeaderOrigin, origin, "is not the listener's own origin; "+noPagesHint)
		}
	}
	for _, site := range h.PeekAll(headerFetchSite) {
		if s := string(site); s != "none" && s != "same-origin" {
			return pageError(headerFetchSite, site, "says that a page of another origin sent the request; "+noPagesHint)
		}
	}
	if h.IsGet() || h.IsHead() {
		return nil
	}
	for _, mode := range h.PeekAll(headerFetchMode) {
		if string(mode) == "navigate" {
			return pageError(headerFetchMode, mode, "says that the form of a page sent the request; "+noPagesHint)
		}
	}
	return nil
}

// noPagesHint is the hint in the refusal of a page's request.
const noPagesHint = "the internal API serves no web pages: use a program such as curl, or configure " +
	"internal.token_file and send it"

// Fetch metadata headers (W3C). The browser sets them; a page cannot change them.
const (
	headerFetchSite = "Sec-Fetch-Site"
	headerFetchMode = "Sec-Fetch-Mode"
)

// pageError returns the refusal of a header's value. why completes the sentence.
func pageError(header string, value []byte, why string) *refuse.Refusal {
	err := refuse.New(refuse.Forbidden, "", "The header %s: %.100q %s.", header, value, why)
	err.Field = header
	return err
}

// accepts reports whether a Host header names this listener: a loopback name or address, or a configured one,
// with any port.
func (g *pageFilter) accepts(host []byte) bool {
	name, bracketed, ok := splitHost(host)
	if !ok {
		return false
	}
	if bracketed || isDotted(name) {
		a, err := netip.ParseAddr(edge.BytesKey(name))
		return err == nil && a.Zone() == "" && bracketed == a.Is6() &&
			(a.IsLoopback() || slices.Contains(g.addrs, a.Unmap()))
	}
	name = bytes.TrimSuffix(name, []byte("."))
	if !isHostName(name) {
		return false
	}
	for _, known := range g.names {
		if strings.EqualFold(edge.BytesKey(name), known) {
			return true
		}
	}
	const local = ".localhost" // RFC 6761: names below .localhost resolve to loopback
	return bytes.EqualFold(name, []byte(local[1:])) ||
		len(name) > len(local) && bytes.EqualFold(name[len(name)-len(local):], []byte(local))
}

// splitHost removes the port and the brackets of an IPv6 address from a Host header.
func splitHost(host []byte) (name []byte, bracketed, ok bool) {
	name, port := host, []byte(nil)
	if bracketed = len(host) > 0 && host[0] == '['; bracketed {
		end := bytes.IndexByte(host, ']')
		if end < 0 {
			return nil, true, false
		}
		name, port = host[1:end], host[end+1:]
	} else if i := bytes.IndexByte(host, ':'); i >= 0 {
		name, port = host[:i], host[i:]
	}
	if len(port) > 0 && (port[0] != ':' || len(port) > 6 || len(bytes.Trim(port[1:], "0123456789")) > 0) {
		return nil, bracketed, false
	}
	return name, bracketed, true
}

// isDotted reports whether name has only digits and dots. Such a name is an IPv4 address or invalid.
func isDotted(name []byte) bool { return len(bytes.Trim(name, "0123456789.")) == 0 }

// isHostName reports whether name consists of non-empty labels of letters, digits, '-' and '_'.
func isHostName(name []byte) bool {
	last := byte('.')
	for _, b := range name {
		if b-'0' > 9 && b|0x20-'a' > 25 && b != '-' && b != '_' && (b != '.' || last == '.') {
			return false
		}
		last = b
	}
	return last != '.' && len(name) <= maxHostName
}

// sameOrigin reports whether an Origin header is the origin of a page at host. The scheme may be
// https, because a proxy in front of the listener may terminate TLS.
func sameOrigin(origin, host []byte) bool {
	port := []byte(":80")
	rest, ok := bytes.CutPrefix(origin, []byte("http://"))
	if !ok {
		port = []byte(":443")
		rest, ok = bytes.CutPrefix(origin, []byte("https://"))
	}
	return ok && bytes.EqualFold(bytes.TrimSuffix(rest, port), bytes.TrimSuffix(host, port))
}
