package edge

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/conn"
)

// AggregatorPrefix is the documented prefix of the aggregator namespace.
const AggregatorPrefix = "/api/marketdata/getaggregator"

// maxRequestID is the length of the longest client request id that answers echo
// (docs/contract/market-data.md#http-behaviour).
const maxRequestID = 64

var userEntry = []byte("tickhive.entry")

// handle answers one request: it runs the checks in the order of
// docs/contract/errors.md#order-of-checks, then the route's handler.
func (e *Listener) handle(ctx *fasthttp.RequestCtx) {
	c := e.acquire(ctx)
	c.id = e.appendRequestID(c.idBuf[:0], ctx)
	defer e.finish(c)

	err := e.answer(c)
	if e.closed.Load() { // also after a shutdown that did not wait: the successor has the address, clients must find it
		ctx.SetConnectionClose()
	}
	e.protect(&ctx.Response.Header, c.public)
	if err != nil {
		e.refuseWith(ctx, err, c.id)
		if c.faultStatus != 0 {
			ctx.Response.SetStatusCode(c.faultStatus)
		}
		return
	}
	ctx.Response.Header.SetCanonical(hdrRequestID, c.id)
}

// answer runs every check and calls the handler. It finds the path first, because the refusals of a public path are
// public too.
func (e *Listener) answer(c *Ctx) *refuse.Refusal {
	entry, err := e.find(c.RequestCtx)
	c.public = entry != nil && entry.public
	if socket, ok := c.Conn().(*conn.Conn); ok && !socket.BeginRequest() {
		return refuse.Later(1, "The connection was closed to make room for another one.")
	}
	if err := framing(c.RequestCtx); err != nil {
		conn.Linger(c.Conn())
		c.SetConnectionClose()
		return err
	}
	if e.RefusePages != nil {
		if err := e.RefusePages(c.RequestCtx); err != nil {
			return err
		}
	}
	if err == nil {
		return e.run(c, entry)
	}
	if err.Code != refuse.NotFound || e.missing == nil || !c.IsGet() {
		return err
	}
	return e.missing(c, err)
}

// finish turns a panic into a 500, counts the answer and returns c to the pool.
func (e *Listener) finish(c *Ctx) {
	if p := recover(); p != nil {
		e.panics.Add(1)
		e.Log.Error("panic in a handler", "requestId", string(c.id), "panic", fmt.Sprint(p),
			"stack", string(debug.Stack()))
		c.RequestCtx.Response.Reset()
		e.protect(&c.RequestCtx.Response.Header, c.public)
		e.refuseWith(c.RequestCtx, errInternal, c.id)
	}
	stats := &e.other
	if c.route != nil {
		stats = c.route.stats
	}
	if c.stale {
		stats.status[StatusStale].Add(1)
	} else {
		stats.count(c.RequestCtx.Response.StatusCode())
	}
	if began := c.RequestCtx.Time(); !began.IsZero() { // by a server: it has read the clock already
		stats.latency.Observe(clock.SinceNs(began))
	}
	if socket, ok := c.Conn().(*conn.Conn); ok && c.Hijacked() {
		socket.PassThrough()
	}
	if e.Log.Enabled(context.Background(), slog.LevelDebug) {
		e.logRequest(c)
	}
	e.release(c)
}

// logRequest logs one request at the debug level. The line has no headers and no query, so
// that no signature gets into a log.
func (e *Listener) logRequest(c *Ctx) {
	ctx := c.RequestCtx
	e.Log.Debug("request", "requestId", string(c.id), "method", string(ctx.Method()), "path",
		string(ctx.URI().PathOriginal()),
		"status", ctx.Response.StatusCode(), "from", ctx.RemoteIP().String())
}

// find looks up the path and checks the target. Paths are strict: only the exact bytes of a route's path reach it
// (docs/contract/market-data.md#http-behaviour). With the refusal of a target
// that is too long, it returns the path too.
func (e *Listener) find(ctx *fasthttp.RequestCtx) (*pathEntry, *refuse.Refusal) {
	target, path := ctx.Request.Header.RequestURI(), ctx.URI().PathOriginal()
	var entry *pathEntry
	if len(target) >= len(path) && (target[0] != '/' || string(target[:len(path)]) == string(path)) {
		entry = e.entry(ctx, path)
	}
	switch {
	case len(target) > MaxTargetBytes:
		return entry, &refuse.Refusal{
			Code:    refuse.URITooLong,
			Message: fmt.Sprintf("The request target must not be longer than %d bytes.", MaxTargetBytes),
		}
	case entry == nil:
		return nil, e.noPath(path)
	}
	return entry, e.hostCheck(ctx, entry)
}

// entry returns the routes of a path, nil for one that does not exist.
func (e *Listener) entry(ctx *fasthttp.RequestCtx, path []byte) *pathEntry {
	for _, p := range e.hot {
		if string(path) == p.path {
			return p
		}
	}
	if !plainPath(path) {
		return nil
	}
	e.router.Handler(ctx)
	entry, _ := ctx.UserValueBytes(userEntry).(*pathEntry)
	return entry
}

// hostCheck limits the aggregator namespace to its own host, and all other routes to other hosts
// (docs/contract/listing.md#addresses).
func (e *Listener) hostCheck(ctx *fasthttp.RequestCtx, p *pathEntry) *refuse.Refusal {
	if e.aggregatorHost == "" {
		return nil
	}
	space := NamespaceBase
	for _, r := range []*Route{p.get, p.post, p.patch, p.delete, p.put} {
		if r != nil {
			space = r.Namespace
		}
	}
	isHost := string(ctx.Host()) == e.aggregatorHost
	if space != NamespaceBoth && isHost != (space == NamespaceAggregator) {
		return e.noPath(nil)
	}
	return nil
}

// plainPath reports whether the path has its only accepted spelling: no empty, dot or encoded segment and no
// trailing slash.
func plainPath(path []byte) bool {
	if len(path) == 0 || path[0] != '/' || len(path) > 1 && path[len(path)-1] == '/' {
		return false
	}
	return bytes.IndexByte(path, '%') < 0 && !bytes.Contains(path, []byte("//")) &&
		!bytes.Contains(path, []byte("/.")) && bytes.IndexByte(path, '\\') < 0
}

// WantsPage reports whether a browser shows the answer.
func (c *Ctx) WantsPage() bool { return wantsPage(c.RequestCtx) }

// wantsPage reports whether a browser shows the answer: it names HTML as what it accepts, and the path is not one of
// the interfaces for programs.
func wantsPage(ctx *fasthttp.RequestCtx) bool {
	path := ctx.URI().PathOriginal()
	return ctx.IsGet() && bytes.Contains(ctx.Request.Header.PeekCanonical(reqAccept), []byte("text/html")) &&
		!bytes.HasPrefix(path, []byte("/api/")) && !bytes.HasPrefix(path, []byte("/udf/"))
}

// interfaces are the listeners and how paths begin that belong to each, for those who ask another one. name is that of
// fault rules, empty for the internal listener. /api/ comes after what is longer.
var interfaces = []struct {
	name, listener string
	begins         []string
}{
	{"", "the internal listener, by default 127.0.0.1:8081", []string{InternalPrefix + "/", "/metrics", "/debug/"}},
	{
		"binance", "the Binance-compatible listener, which --binance-listen ADDRESS starts",
		[]string{"/api/v3/", "/sapi/"},
	},
	{"public", "the public listener, by default 127.0.0.1:8080", []string{"/api/"}},
}

// noPath refuses a path that this listener does not have, and names the one that may.
func (e *Listener) noPath(path []byte) *refuse.Refusal {
	for _, x := range interfaces {
		for _, begin := range x.begins {
			if x.name != e.Name && bytes.HasPrefix(path, []byte(begin)) {
				return refuse.New(refuse.NotFound, "", "There is no such path here; paths are case-sensitive and "+
					"have one spelling. Those that begin with %s belong to %s.", begin, x.listener)
			}
		}
	}
	return refuse.New(refuse.NotFound, "", "There is no such path; paths are case-sensitive and have one spelling. "+
		"Those of the public listener are listed by its /swagger.")
}

// Recovering is the message of every refusal before the server serves clients.
const Recovering = "The server is recovering; /api/status shows its progress. Try again later."

// run makes every check after the path and calls the handler.
func (e *Listener) run(c *Ctx, entry *pathEntry) *refuse.Refusal {
	route := entry.route(c.Method())
	if route == nil {
		return e.noRoute(c, entry)
	}
	c.route = route
	if !e.Ready.Load() && !route.Early {
		return refuse.Later(1, Recovering)
	}
	if err := e.takeClient(c); err != nil {
		return err
	}
	if e.replica != nil {
		if done, err := e.answerOnReplica(c); done {
			return err
		}
	}
	if e.limiter != nil && e.limiter.covers(route.Class) || c.Request.Header.PeekCanonical(reqPublicKey) != nil ||
		route.Auth == AuthRequired {
		if err := e.checkAccess(c); err != nil {
			return err
		}
	} else if err := c.mediaType(); err != nil {
		return err
	}
	c.parseQuery()
	if err := c.readForm(); err != nil {
		return err
	}
	if c.route.pair != "" {
		if done, err := e.reach(c); done {
			return err
		}
	}
	if rules := e.faults.Requests(); rules != nil {
		return e.handleFaulty(c, rules)
	}
	return c.route.Handle(c)
}

// noRoute answers OPTIONS and refuses methods that the path does not have.
func (e *Listener) noRoute(c *Ctx, entry *pathEntry) *refuse.Refusal {
	h := &c.Response.Header
	h.SetCanonical(hdrAllow, entry.allow)
	e.limiter.show(c, entry)
	if !c.IsOptions() {
		return &refuse.Refusal{
			Code:    refuse.MethodNotAllowed,
			Message: "This path accepts only " + string(entry.allow) + ".",
		}
	}
	if entry.public {
		h.SetCanonical(hdrCORSMethods, entry.allow)
		h.SetCanonical(hdrCORSHeaders, valCORSAllow)
		h.SetCanonical(hdrCORSMaxAge, valDay)
	}
	c.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}

// checkAccess checks the IP limit, the media type and the credentials, in this order. An
// allow-listed key lifts the IP limit only when its signature verifies.
func (e *Listener) checkAccess(c *Ctx) *refuse.Refusal {
	key := c.Request.Header.PeekCanonical(reqPublicKey)
	limited := e.limiter != nil && e.limiter.covers(c.route.Class)
	lifted := limited && e.limiter.allowsKey(key)
	if limited && !lifted {
		if err := e.limiter.check(c); err != nil {
			return err
		}
	}
	if err := c.mediaType(); err != nil {
		return err
	}
	if c.route.Auth == AuthNever || c.route.Auth == AuthOptional && len(key) == 0 &&
		len(c.Request.Header.PeekAll(credentialHeaders[0])) < 2 {
		return nil
	}
	if !e.Ready.Load() {
		return nil // a route that answers while the accounts are read: nobody's keys are known
	}
	caller, err := e.authenticate(c)
	if lifted && (err != nil || caller == nil) {
		if limit := e.limiter.check(c); limit != nil {
			return limit
		}
	} else if lifted {
		e.limiter.unlimited(c)
	}
	c.Principal = caller
	if err == nil && c.route.Trade && !caller.CanTrade {
		err = refuse.New(refuse.Forbidden, "", "This key may only read: it was created without canTrade.")
	}
	if err != nil {
		e.authFailures.count(err)
		if err.Code == refuse.RateLimit {
			e.limited[limitKey].Add(1)
		}
	}
	return err
}

func (e *Listener) authenticate(c *Ctx) (*Principal, *refuse.Refusal) {
	var repeated string
	if c.Credentials, repeated = readCredentials(&c.Request.Header); repeated != "" {
		return nil, refuse.New(refuse.Unauthorized, repeated, "The header %s occurs more than once; send it once.",
			repeated)
	}
	if len(c.Credentials.PublicKey) == 0 {
		return nil, refuse.New(refuse.Unauthorized, "API-PublicKey",
			"This route needs a signed request; the header API-PublicKey is missing.")
	}
	if e.auth == nil {
		return nil, refuse.New(refuse.Unauthorized, "", "The key is unknown or the signature is wrong.")
	}
	return e.auth(c)
}

// appendRequestID appends the client's request id when it is well-formed, otherwise a new one.
func (e *Listener) appendRequestID(dst []byte, ctx *fasthttp.RequestCtx) []byte {
	n := e.idNext.Add(1)
	if sent := ctx.Request.Header.PeekCanonical(hdrRequestID); validRequestID(sent) {
		return append(dst, sent...)
	}
	return strconv.AppendUint(append(dst, e.idPrefix[:9]...), n, 16)
}

// validRequestID reports whether id has the form [A-Za-z0-9_-]{1,64}.
func validRequestID(id []byte) bool {
	if len(id) == 0 || len(id) > maxRequestID {
		return false
	}
	for _, b := range id {
		if b-'0' > 9 && b|0x20-'a' > 25 && b != '_' && b != '-' {
			return false
		}
	}
	return true
}

// mediaType checks the media type of a request body. It accepts the four types of
// docs/contract/api.md, whatever their parameters, and treats a body without a type as JSON. It
// refuses compressed bodies (docs/contract/market-data.md#http-behaviour).
func (c *Ctx) mediaType() *refuse.Refusal {
	if c.route.Body == BodyNone {
		return nil
	}
	h := &c.Request.Header
	if encoding := h.ContentEncoding(); len(encoding) > 0 && !bytes.EqualFold(encoding, []byte("identity")) {
		return unsupported("The body must not be compressed.")
	}
	if c.route.Body == BodyAny {
		return nil
	}
	kind, _, _ := strings.Cut(string(h.ContentType()), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch {
	case kind == "", kind == "application/json", kind == "application/json-patch+json", kind == "text/json":
		return nil
	case strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json") &&
		len(kind) > len("application/+json"):
		return nil
	}
	return unsupported("The body must be application/json, application/json-patch+json, text/json or " +
		"application/*+json.")
}

func unsupported(message string) *refuse.Refusal {
	return &refuse.Refusal{Code: refuse.UnsupportedMedia, Message: message, Field: "Content-Type"}
}

// Audit writes a line of the security log at level info: what happened, by which key (or the operator, on the
// internal listener), from where. The caller calls it after the change is durable. args holds names and values
// without secrets.
func (c *Ctx) Audit(event string, args ...any) {
	by := "operator"
	if c.Principal != nil {
		by = c.Principal.PublicKey
	}
	c.edge.Log.Info("security", append([]any{
		"event", event, "by", by, "from", c.ClientAddr().String(), "requestId", c.RequestID(),
	}, args...)...)
}

// AuthReasons names the reasons for which credentials are refused: the header that is wrong, or permission for
// a key that may not do this or not from this address.
var AuthReasons = [...]string{
	"API-PublicKey", "API-Timestamp", "API-Nonce", "API-Signature", "API-RecvWindow", "permission",
}

// authFailures counts refused credentials by reason.
type authFailures [len(AuthReasons)]atomic.Uint64

func (f *authFailures) count(err *refuse.Refusal) {
	if err.Code != refuse.Unauthorized && err.Code != refuse.Forbidden {
		return
	}
	reason := len(AuthReasons) - 1
	for i, name := range AuthReasons {
		if err.Field == name {
			reason = i
		}
	}
	f[reason].Add(1)
}

// AuthFailures returns the number of refused credentials since the start, by AuthReasons.
func (s *Server) AuthFailures() (n [len(AuthReasons)]uint64) {
	for i := range n {
		n[i] = s.public.authFailures[i].Load()
		if s.aggregator != nil {
			n[i] += s.aggregator.authFailures[i].Load()
		}
	}
	return n
}

// NewConstant returns the reference server of docs/internals/performance.md#http: it has every
// limit and timeout of a server from New, but answers each request with the same bytes.
func NewConstant(o Options, body []byte) (*Server, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	s.public.HTTP.Handler = func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetContentTypeBytes(ValJSON)
		ctx.Response.SetBodyRaw(body)
	}
	return s, nil
}
