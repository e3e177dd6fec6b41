package edge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/json"
)

// Handler answers one request. The edge calls it after every check of
// docs/contract/errors.md#order-of-checks up to the user limit, and answers with the refusal
// that it returns. It owns c until it returns.
type Handler func(c *Ctx) *refuse.Refusal

// LimitClass selects the requests-per-IP limit of a route (docs/contract/limits.md#rate-limits).
type LimitClass uint8

// The classes of rate limits.
const (
	ClassMarket  LimitClass = iota // public market data: unlimited unless configured
	ClassAccount                   // account routes: unlimited unless configured
	ClassLimited                   // launchpad and hive: 60 in 60 s and 10 in 1 s
	ClassExempt                    // never limited: pages and documents, the service's health, status and time
)

// AuthMode selects whether a route accepts or requires credentials.
type AuthMode uint8

// The modes. A request to an AuthOptional route with an API-PublicKey header is an
// authenticated request: its signature must verify, and its answer is private
// (docs/contract/market-data.md#http-behaviour).
const (
	AuthOptional AuthMode = iota
	AuthRequired
	AuthNever // credentials are ignored (internal listener, the socket)
)

// BodyKind selects the body that a route reads.
type BodyKind uint8

// The kinds of request bodies.
const (
	BodyNone BodyKind = iota // any body is ignored
	BodyJSON                 // one of the media types of docs/contract/api.md, else 415
	BodyAny                  // JSON, whatever its media type (internal listener)
)

// space is the part of the service that a route belongs to; a split listener serves one.
type space uint8

// The namespaces of routes.
const (
	NamespaceBase       space = iota
	NamespaceAggregator       // /api/marketdata/getaggregator and its alias
	NamespaceBoth             // served on either listener (healthcheck)
)

// Route is one row of the route table.
type Route struct {
	Method string // GET (which includes HEAD), POST, PATCH or DELETE
	Path   string // in the router's form: /api/apikeys/{publicKey}
	Handle Handler

	Class LimitClass
	Auth  AuthMode
	// Trade requires a key with canTrade (every POST and DELETE of accounts, 6.4).
	Trade bool
	// Cancels marks a route that only cancels orders: a key that has used up its limit may
	// still call it (auth.CancelNonces).
	Cancels bool
	// Public marks market data, which any origin may read (CORS *).
	Public bool
	Body   BodyKind
	// Early makes the route answer during recovery too (docs/contract/configuration.md#start).
	Early     bool
	Namespace space
	// Hot marks a path that is found without the router (docs/internals/performance.md#http).
	Hot bool
	// Tagged marks answers with an ETag and X-Seq, which may be 304.
	Tagged bool
	// Time marks routes that answer the process clock's time plus Ctx.SkewNs.
	Time bool
	// MaxAgeSec is the max-age of a shared document, in seconds; 0 means 1.
	MaxAgeSec int
	// Symbol names the parameter that selects the answer's only pair by another text than a pair code; empty: the route
	// has no such parameter. Code converts the parameter's value to a pair code.
	Symbol string
	Code   func(value string) string
	// Name is the operation of the route in the OpenAPI document, and of the component there that describes the answer;
	// empty: the document omits the route. Tag groups the operation, Summary and Text say what it does.
	Name, Tag, Summary, Text string
	// Answers is the Name of the route that answers the same; empty: none.
	Answers string
	// Refuses lists the statuses of refusals that no other member implies.
	Refuses []int
	// Params are the parameters of the path and the query that the handler reads (Params).
	Params []*json.Field
	// Rows are the columns of the answer as comma-separated values; nil: the route answers JSON only.
	Rows *json.Table
	// Members describes the members of the body, in the order of the contract. Schema names them
	// in the OpenAPI document; routes with one Schema have the same Members.
	Members []json.Field
	Schema  string

	inPath     []string // the names of the parameters of the path
	pair       string   // the parameter that names the only pair of the answer; empty: none
	pairInPath bool

	stats  *routeStats
	maxAge []byte // value of Cache-Control for a shared document
}

// Does names r in the OpenAPI document, says what it does, and with which statuses it refuses beyond the usual ones.
func (r *Route) Does(name, summary string, refuses ...int) *Route {
	r.Name, r.Summary, r.Refuses = name, summary, refuses
	return r
}

// Tagged groups routes in the OpenAPI document.
func Tagged(tag string, routes []*Route) []*Route {
	for _, r := range routes {
		r.Tag = tag
	}
	return routes
}

// pathEntry holds all routes of one path.
type pathEntry struct {
	path   string
	get    *Route
	post   *Route
	patch  *Route
	delete *Route
	put    *Route
	allow  []byte
	public bool
	hot    bool
}

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
		return fmt.Errorf("edge: the route %s %s is in the table twice or has an unknown method", r.Method, r.Path)
	}
	*slot = r
	r.inPath = pathNames(r.Path)
	p.public = p.public || r.Public
	p.hot = p.hot || r.Hot
	return nil
}

// pathNames returns the names of the parameters of a path in the router's form.
func pathNames(path string) (names []string) {
	for part := range strings.SplitSeq(path, "{") {
		if inside, _, found := strings.Cut(part, "}"); found {
			name, _, _ := strings.Cut(inside, ":") // {streams:*} takes the rest of the path
			names = append(names, name)
		}
	}
	return names
}

// setAllow computes the entry's answer to OPTIONS and its Allow header.
func (p *pathEntry) setAllow() {
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

// pathEntries groups a table by path; it returns the entries sorted by path.
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
		p.setAllow()
	}
	return all, nil
}

// InternalPrefix is the prefix of every path except those that other programs expect.
const InternalPrefix = "/internal/v1"
