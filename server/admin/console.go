package admin

import (
	"net"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
)

// The values of server.console (docs/contract/internal.md#console).
const (
	ConsoleOff      = "off"
	ConsoleLoopback = "loopback"
	ConsoleToken    = "token"
)

// Console returns the internal API for the public listener: the routes of this listener, and what refuses a request
// there. With a token the console asks for it. Without one it admits the pages of this machine's browsers alone.
func (s *Server) Console() *edge.Console {
	c := &edge.Console{Refuse: localPages.refuse}
	if s.opt.Token != "" {
		// The handlers check the token, too. Here it also keeps out a proof of a node, which counts on the internal
		// listener alone, and hides which paths there are.
		c.Refuse = func(ctx *fasthttp.RequestCtx) *refuse.Refusal {
			return s.checkToken(string(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization)))
		}
	}
	for _, r := range s.edge.Table {
		if strings.HasPrefix(r.Path, edge.InternalPrefix+"/") {
			c.Table = append(c.Table, r)
		}
	}
	return c
}

// consoleFilter admits the requests of programs and of the listener's own pages on this machine. The public listener
// may be behind a proxy on the machine, which makes every client look local: what a proxy adds to a request refuses it.
type consoleFilter struct{ pages *pageFilter }

var localPages = &consoleFilter{&pageFilter{
	hostHint: "is no loopback name, so server.console = loopback does not serve it; call 127.0.0.1 or localhost, or " +
		"configure internal.token_file and server.console = token",
	pageHint: "the console serves the pages of its own listener; open the page at this address, or use a program " +
		"such as curl",
}}

// LocalPages refuses the requests that server.console = loopback refuses. A listener with a page of its own uses it.
func LocalPages(ctx *fasthttp.RequestCtx) *refuse.Refusal { return localPages.refuse(ctx) }

// proxyHeaders are what a proxy adds to a request, besides those that begin with forwardedPrefix.
var proxyHeaders = [...]string{"Forwarded", "Via"}

const forwardedPrefix = "X-Forwarded-"

func (f *consoleFilter) refuse(ctx *fasthttp.RequestCtx) *refuse.Refusal {
	if err := f.remote(ctx); err != nil {
		return err
	}
	return f.pages.check(ctx)
}

// remote refuses a request that may come from another machine.
func (f *consoleFilter) remote(ctx *fasthttp.RequestCtx) *refuse.Refusal {
	if peer, ok := ctx.RemoteAddr().(*net.TCPAddr); !ok || !peer.IP.IsLoopback() {
		return refuse.New(refuse.Forbidden, "", "server.console = loopback serves this machine alone, and the request "+
			"comes from %s; configure internal.token_file and server.console = token.", ctx.RemoteAddr())
	}
	for name, value := range ctx.Request.Header.All() {
		proxied := len(name) >= len(forwardedPrefix) && strings.EqualFold(string(name[:len(forwardedPrefix)]),
			forwardedPrefix)
		for _, known := range proxyHeaders {
			proxied = proxied || strings.EqualFold(string(name), known)
		}
		if proxied {
			return pageError(string(name), value, "says that a proxy sent the request, so server.console = loopback "+
				"cannot tell where it comes from; call the listener itself, or configure internal.token_file and "+
				"server.console = token")
		}
	}
	return nil
}

// ShowsConsole returns the kind of console that a page may use which this request asks for, empty for none: a page
// that comes through a proxy, or by another name than a loopback one, has no console of this machine. Other than a
// request to the console, it may follow a link of another site.
func ShowsConsole(kind string, ctx *fasthttp.RequestCtx) string {
	switch kind {
	case ConsoleToken:
		return kind
	case ConsoleLoopback:
		if localPages.remote(ctx) == nil && localPages.pages.accepts(ctx.Request.Header.Host()) {
			return kind
		}
	}
	return ""
}
