package servertest

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/web"
	"github.com/tickhive/tickhive/test/nets"
)

// contract is the OpenAPI description that the handler tests check every answer against.
type contract struct {
	Doc   *openapi3.T
	paths []contractPath // paths without parameters first
}

type contractPath struct {
	path    string
	pattern *regexp.Regexp
	item    *openapi3.PathItem
}

// TheContract describes the market-data routes; tests of other resources load their parts.
var TheContract = sync.OnceValues(func() (*contract, error) { return LoadContract(web.PartMarket) })

// internalContract returns the description of the internal API. Every answer of it in these tests is validated.
func internalContract(t testing.TB) func() (*contract, error) {
	theInternal.once.Do(func() { theInternal.contract, theInternal.err = LoadInternal(t) })
	return func() (*contract, error) { return theInternal.contract, theInternal.err }
}

var theInternal struct {
	once     sync.Once
	contract *contract
	err      error
}

// checked fails the test when an answer does not match the description that load returns.
func checked(t testing.TB, load func() (*contract, error), method, target string, a Answer) {
	t.Helper()
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(method, target, a.Status, a.Header, a.Body); err != nil {
		t.Errorf("the answer does not match the description: %v\n%.600s", err, a.Body)
	}
	if a.Status < http.StatusBadRequest {
		return
	}
	table, err := readTable()
	if err != nil {
		t.Fatal(err)
	}
	var e struct{ Code string }
	if json.Unmarshal([]byte(a.Body), &e) == nil && e.Code != "" && table[e.Code] != a.Status {
		t.Errorf("%s %s: %s with status %d, docs/contract/errors.md says %d", method, target, e.Code, a.Status,
			table[e.Code])
	}
}

// readTable reads the table of docs/contract/errors.md.
var readTable = sync.OnceValues(func() (nets.Table, error) {
	table, _, err := nets.ReadTable()
	return table, err
})

// LoadContract loads the description of some parts of the public API.
func LoadContract(parts ...web.Part) (*contract, error) { return load(Table(parts...), parts...) }

// LoadInternal loads the description of the internal API.
func LoadInternal(t testing.TB) (*contract, error) { return load(InternalTable(t), web.PartInternal) }

// Contracts loads the descriptions of both APIs.
func Contracts(t testing.TB) []*contract {
	t.Helper()
	public, err := LoadContract(web.PublicParts...)
	if err != nil {
		t.Fatal(err)
	}
	internal, err := LoadInternal(t)
	if err != nil {
		t.Fatal(err)
	}
	return []*contract{public, internal}
}

func load(table []*edge.Route, parts ...web.Part) (*contract, error) {
	raw, err := web.OpenAPI(table, parts...)
	if err != nil {
		return nil, err
	}
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(raw)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, err
	}
	c := &contract{Doc: doc}
	parameter := regexp.MustCompile(`\\\{[a-zA-Z]+\\\}`)
	for path, item := range doc.Paths.Map() {
		pattern := parameter.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+")
		c.paths = append(c.paths, contractPath{path, regexp.MustCompile("^" + pattern + "$"), item})
	}
	slices.SortFunc(c.paths, func(a, b contractPath) int {
		if n := strings.Count(a.path, "{") - strings.Count(b.path, "{"); n != 0 {
			return n
		}
		return strings.Compare(a.path, b.path)
	})
	return c, nil
}

// Check compares one answer with the description. An answer that is not described (the path
// does not exist) must be the error object.
func (c *contract) Check(method, target string, status int, header http.Header, body string) error {
	path, _, _ := strings.Cut(target, "?")
	failure := c.Doc.Components.Schemas["Error"].Value
	if strings.HasPrefix(path, "/udf/") {
		failure = c.Doc.Components.Schemas["UDFError"].Value
	}
	schema := failure
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, p := range c.paths {
		if !p.pattern.MatchString(path) {
			continue
		}
		op := p.item.GetOperation(method)
		if op == nil || status == http.StatusMethodNotAllowed {
			break
		}
		resp := op.Responses.Status(status)
		if resp == nil {
			return fmt.Errorf("%s %s: status %d is not described", method, p.path, status)
		}
		if body == "" {
			return nil
		}
		kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
		media := resp.Value.Content.Get(kind)
		if media == nil {
			return fmt.Errorf("%s %s: %d with media type %q is not described", method, p.path, status, kind)
		}
		if kind != "application/json" {
			return nil
		}
		schema = media.Schema.Value
		break
	}
	if body == "" || status < http.StatusBadRequest && schema == failure {
		return nil
	}
	var value any
	if err := json.Unmarshal([]byte(body), &value); err != nil {
		return fmt.Errorf("%s %s: %w", method, target, err)
	}
	if err := schema.VisitJSON(value); err != nil {
		return fmt.Errorf("%s %s: %d: %w", method, target, status, err)
	}
	return nil
}

// undescribed lists the paths that the description omits on purpose: files that only a browser
// requests, and the socket, which the AsyncAPI document describes.
func undescribed(path string) bool {
	return slices.Contains([]string{
		"/", "/ws", "/launchpad", "/hive", "/status", "/admin", "/docs", "/swagger", "/favicon.ico",
	}, path) || slices.ContainsFunc([]string{"/app/", "/docs/", "/swagger/", "/udf/"}, func(folder string) bool {
		return strings.HasPrefix(path, folder)
	})
}

// Undescribed checks that a route table has no other routes without a description than those that the description
// omits on purpose.
func Undescribed(t *testing.T, table []*edge.Route) {
	t.Helper()
	for _, r := range table {
		if (r.Name == "") != undescribed(r.Path) {
			t.Errorf("%s %s has the name %q in the OpenAPI document", r.Method, r.Path, r.Name)
		}
	}
}

// ReadRoutes returns all public read routes with every form of their parameters.
func ReadRoutes() (all []string) {
	for _, path := range []string{
		"/api/currencies", "/api/currencies/pairs", "/api/currencies/commissions", "/api/healthcheck", "/api/time",
		"/api/summary", "/api/status",
		Agg + "/pairs", Agg + "/tickers", Agg + "/asset",
	} {
		all = append(all, path+"?")
	}
	for _, code := range []string{"BTC_USDT", "ETH_BTC", "ETH_EUR"} {
		for _, path := range []string{
			"/api/tickers?currencyPairCode=%s", "/api/orderbook?currencyPairCode=%s", "/api/orderbook?aliases=false" +
				"&currencyPairCode=%s",
			"/api/deals?currencyPairCode=%s", "/api/deals?currencyPairCode=%s&pageSize=3",
			"/api/ohlc?currencyPairCode=%s&interval=minute&start=2026-01-01&end=2026-01-02",
			"/api/ohlc?currencyPairCode=%s&interval=year&fill=previous&start=2026-01-01&end=2026-01-02",
			Agg + "/orderbook?ticker_id=%s", Agg + "/orderbook?ticker_id=%s&depth=100", Agg +
				"/orderbook?ticker_id=%s&depth=6",
			Agg + "/historical_trades?ticker_id=%s", Agg + "/historical_trades?ticker_id=%s&limit=100", Agg +
				"/historical_trades?ticker_id=%s&type=buy",
		} {
			all = append(all, fmt.Sprintf(path, code))
		}
	}
	return all
}

// Agg is the prefix of the aggregator routes.
const Agg = "/api/marketdata/getaggregator"
