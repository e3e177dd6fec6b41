package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"tickhive/internal/refuse"
)

// Handler answers one request. It is called after every check of
// docs/contract/errors.md#order-of-checks up to the user limit; a returned Error becomes the
// answer. It owns c until it returns.
type Handler func(c *Ctx) *refuse.Refusal

// LimitClass says which requests-per-IP limit a route has (docs/contract/limits.md#rate-limits).
type LimitClass uint8

// The classes.
const (
	ClassMarket  LimitClass = iota // public market data: unlimited unless configured
	ClassAccount                   // account routes: unlimited unless configured
	ClassLimited                   // launchpad and hive: 60 in 60 s and 10 in 1 s
	ClassExempt                    // never limited: healthcheck
)

// AuthMode says whether a route takes credentials.
type AuthMode uint8

// The modes. A read route of AuthOptional that is called with an API-PublicKey header is an
// authenticated call: it must verify, and its answer is private
// (docs/contract/market-data.md#http-behaviour).
const (
	AuthOptional AuthMode = iota
	AuthRequired
	AuthNever // no credentials are looked at (internal listener, the socket)
)

// BodyKind says what body a route reads.
type BodyKind uint8

// The kinds.
const (
	BodyNone BodyKind = iota // any body is ignored
	BodyJSON                 // one of the media types of docs/contract/api.md, else 415
	BodyAny                  // JSON whatever the media type says (internal listener)
)

// Namespace is the part of the service a route belongs to; a split listener serves one.
type Namespace uint8

// The namespaces.
const (
	NamespaceBase       Namespace = iota
	NamespaceAggregator           // /api/marketdata/getaggregator and its alias
	NamespaceBoth                 // served on either listener (healthcheck)
)

// Route is one row of the route table.
type Route struct {
	Method string // GET (HEAD comes with it), POST, PATCH or DELETE
	Path   string // in the router's form: /api/apikeys/{publicKey}
	Handle Handler

	Class LimitClass
	Auth  AuthMode
	// Trade: the key must have canTrade (every POST and DELETE of accounts, 6.4).
	Trade bool
	// Cancels: takes orders back and nothing else, so that a key which has used up its limit
	// may still call it (accounts.CancelNonces).
	Cancels bool
	// Public: market data with CORS *; else answers are private to the caller's origin.
	Public bool
	Body   BodyKind
	// Early: answers also while recovering (docs/contract/configuration.md#start).
	Early     bool
	Namespace Namespace
	// MaxAge5 doubles as "the aggregator tickers": max-age=5 instead of 1.
	MaxAge5 bool
	// Query names the parameters, for the check of the OpenAPI document.
	Query []string

	stats *routeStats
}

// pathEntry is all routes of one path.
type pathEntry struct {
	path   string
	get    *Route
	post   *Route
	patch  *Route
	delete *Route
	put    *Route
	allow  []byte
	public bool
}

// route is the route of a method, nil when the path has none.
func (p *pathEntry) route(method []byte) *Route {
	switch string(method) {
	case fasthttp.MethodGet, fasthttp.MethodHead:
		return p.get
	case fasthttp.MethodPost:
		return p.post
	case fasthttp.MethodPatch:
		return p.patch
	case fasthttp.MethodDelete:
		return p.delete
	case fasthttp.MethodPut:
		return p.put
	}
	return nil
}

func (p *pathEntry) add(r *Route) error {
	slot := map[string]**Route{
		fasthttp.MethodGet: &p.get, fasthttp.MethodPost: &p.post, fasthttp.MethodPatch: &p.patch,
		fasthttp.MethodDelete: &p.delete, fasthttp.MethodPut: &p.put,
	}[r.Method]
	if slot == nil || *slot != nil {
		return fmt.Errorf("server: route %s %s stands twice or has an unknown method", r.Method, r.Path)
	}
	*slot = r
	p.public = p.public || r.Public
	return nil
}

// seal computes what the entry answers to OPTIONS and in Allow.
func (p *pathEntry) seal() {
	var methods []string
	for _, r := range []*Route{p.delete, p.get, p.patch, p.post, p.put} {
		if r == nil {
			continue
		}
		methods = append(methods, r.Method)
		if r == p.get {
			methods = append(methods, fasthttp.MethodHead)
		}
	}
	p.allow = []byte(strings.Join(append(methods, fasthttp.MethodOptions), ", "))
}

// pathEntries groups a table by path, in the order of the paths.
func pathEntries(table []*Route) ([]*pathEntry, error) {
	byPath := make(map[string]*pathEntry)
	var all []*pathEntry
	for _, r := range table {
		p := byPath[r.Path]
		if p == nil {
			p = &pathEntry{path: r.Path}
			byPath[r.Path] = p
			all = append(all, p)
		}
		if err := p.add(r); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b *pathEntry) int { return cmp.Compare(a.path, b.path) })
	for _, p := range all {
		p.seal()
	}
	return all, nil
}
