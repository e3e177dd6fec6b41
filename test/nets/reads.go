package nets

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Route is a GET of an OpenAPI document.
type Route struct {
	Path   string
	Inside bool // of the internal listener
	Signed bool
	Params []Param
}

// Param is a parameter of a Route.
type Param struct {
	Name     string
	InPath   bool
	Required bool
	Default  any // nil: the document states none
	Enum     []string
	Type     string
	Min, Max int64 // of an integer; 0: none
}

// documents are the OpenAPI documents that a node serves.
var documents = []struct {
	target string
	inside bool
}{{"/swagger/v1/swagger.json", false}, {"/internal/v1/openapi.json", true}}

// Routes returns every GET of the documents of a node, ordered by path.
func Routes(n *Node) (all []Route) {
	n.T.Helper()
	for _, d := range documents {
		send := func(target string) Answer { return n.Send(nil, http.MethodGet, target, "") }
		if d.inside {
			send = func(target string) Answer { return n.Inside(http.MethodGet, target, "") }
		}
		doc := object(n.T, send(d.target).Body)
		paths, _ := doc["paths"].(map[string]any)
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			op, ok := paths[path].(map[string]any)["get"].(map[string]any)
			if !ok {
				continue
			}
			r := Route{Path: path, Inside: d.inside, Signed: op["security"] != nil}
			params, _ := op["parameters"].([]any)
			for _, p := range params {
				r.Params = append(r.Params, paramOf(doc, resolve(doc, p)))
			}
			all = append(all, r)
		}
	}
	return all
}

// resolve follows a reference within a document, and a schema that consists of one.
func resolve(doc map[string]any, v any) map[string]any {
	o, _ := v.(map[string]any)
	if of, ok := o["allOf"].([]any); ok && len(of) == 1 {
		return resolve(doc, of[0])
	}
	ref, ok := o["$ref"].(string)
	if !ok {
		return o
	}
	var at any = doc
	for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		m, _ := at.(map[string]any)
		at = m[name]
	}
	return resolve(doc, at)
}

func paramOf(doc, p map[string]any) Param {
	schema := resolve(doc, p["schema"])
	out := Param{Name: fmt.Sprint(p["name"]), InPath: p["in"] == "path", Required: p["required"] == true}
	out.Default, out.Type = schema["default"], fmt.Sprint(schema["type"])
	of := schema
	if items := resolve(doc, schema["items"]); items != nil {
		of = items
	}
	enum, _ := of["enum"].([]any)
	for _, v := range enum {
		out.Enum = append(out.Enum, fmt.Sprint(v))
	}
	bound := func(name string) (v int64) {
		if number, ok := schema[name].(json.Number); ok {
			v, _ = number.Int64()
		}
		return v
	}
	out.Min, out.Max = bound("minimum"), bound("maximum")
	return out
}

// optional has values of the parameters that no route requires. Those with an enumeration take each of its values.
var optional = map[string][]string{
	"pageNumber": {"1", "2", "99"}, "page": {"1", "2", "99"}, "pageSize": {"1", "3", "100"}, "maxLevel": {"2", "10"},
	"depth": {"0", "1", "2", "7", "100"}, "limit": {"0", "1", "50"}, "minSeq": {"1"}, "asOf": {"1", "99999999"},
	"sinceDate": {"2026-01-02", "2030-01-01"}, "endDate": {"2026-01-02", "2030-01-01"},
	"start_time": {"1767300000000", "1"}, "end_time": {"1767300000000", "1"},
	"since": {"1767600000", "1"}, "until": {"1767600000", "1"}, "currencyCode": {"USDT", "ETH"},
	"cursor": {"3"}, "decimals": {"number", "string"}, "boosted": {"false", "true"}, "aliases": {"false", "true"},
	"search": {"al", "AL-1", "nobody"},
}

// Processes names the routes whose answers are of the process, not of the exchange, with the reason. Reads leaves
// them out.
var Processes = map[string]string{
	"/metrics":               "counters since the start, memory",
	"/debug/pprof":           "profiles of the process",
	"/debug/pprof/cmdline":   "profiles of the process",
	"/debug/pprof/profile":   "profiles of the process",
	"/debug/pprof/symbol":    "profiles of the process",
	"/debug/pprof/trace":     "profiles of the process",
	"/debug/pprof/{name}":    "profiles of the process",
	"/internal/v1/snapshot":  "a file of the directory, refused without one",
	"/internal/v1/figures":   "rates, counters and memory of the process",
	"/internal/v1/incidents": "a kill is one, as in /api/status",
}

// processMembers are the members of answers that are of the process, by path (docs/contract/market-data.md
// "startedAt", "incidents"; docs/contract/accounts.md "lastUsedAt is null until the key is used after a start").
var processMembers = map[string][]string{
	"/api/status":  {"startedAt", "uptimeSeconds", "incidents", "replication"},
	"/api/apikeys": {"lastUsedAt"},

	"/internal/v1/users/{id}/apikeys": {"lastUsedAt"},
}

// clockMembers are the members of answers that are of the moment of the answer, by path: a boost counts as activity of
// its worker until it ends.
var clockMembers = map[string][]string{
	"/api/time":                     {"serverTime", "iso"},
	"/api/status":                   {"time"},
	"/internal/v1/clock":            {"now", "nowNs"},
	"/api/agents/overview":          {"lastActivityAt"},
	"/api/agents/workers":           {"lastActiveAt"},
	"/api/agents/workers/{tokenId}": {"lastActiveAt"},

	"/api/launchpad/tokens/{id}/worker": {"lastActiveAt"},
}

// values returns what a World has for a parameter of a route.
func (w *World) valuesOf(r *Route, p *Param) []string {
	if v := w.values[r.Path+" "+p.Name]; v != nil {
		return v
	}
	if v := w.values[p.Name]; v != nil {
		return v
	}
	if p.Enum != nil {
		return p.Enum
	}
	if !p.Required {
		return optional[p.Name]
	}
	return nil
}

// Target returns the target of a route with values of its required parameters, and with query behind them.
func (w *World) Target(r *Route, query url.Values) (string, error) {
	target, all := r.Path, url.Values{}
	for i := range r.Params {
		p := &r.Params[i]
		if !p.Required {
			continue
		}
		v := w.valuesOf(r, p)
		if v == nil {
			return "", fmt.Errorf("GET %s: World has no value of the required parameter %s", r.Path, p.Name)
		}
		one := v[0]
		if query.Has(p.Name) {
			one = query.Get(p.Name)
		}
		if p.InPath {
			target = strings.ReplaceAll(target, "{"+p.Name+"}", url.PathEscape(one))
		} else {
			all.Set(p.Name, one)
		}
	}
	for name, v := range query {
		if !strings.Contains(r.Path, "{"+name+"}") {
			all[name] = v
		}
	}
	if len(all) > 0 {
		target += "?" + all.Encode()
	}
	return target, nil
}

// targets returns the targets of a route: with the first value of each required parameter, and with every value of
// every parameter, one at a time.
func (w *World) targets(r *Route) (all []string, err error) {
	first, err := w.Target(r, nil)
	if err != nil {
		return nil, err
	}
	all = append(all, first)
	for i := range r.Params {
		p := &r.Params[i]
		values := w.valuesOf(r, p)
		if values == nil {
			return nil, fmt.Errorf("GET %s: neither World nor optional has a value of %s", r.Path, p.Name)
		}
		for _, v := range values {
			target, err := w.Target(r, url.Values{p.Name: {v}})
			if err != nil {
				return nil, err
			}
			if target != first {
				all = append(all, target)
			}
		}
	}
	return all, nil
}

// Read is an answer of Reads.
type Read struct {
	Route  *Route
	Target string
	Answer
}

// Reads sends every GET of the documents with every value that a World has, signed routes as three users, and the GETs
// of the charting library and of the Binance interface. The key says who asked for what.
func (w *World) Reads(n *Node) map[string]Read {
	n.T.Helper()
	if _, err := n.Client(w.Alice).Balances(n.T.Context()); err != nil { // waits until a start accepts keys
		n.T.Fatal(err)
	}
	out := map[string]Read{}
	for _, r := range Routes(n) {
		if Processes[r.Path] != "" {
			continue
		}
		targets, err := w.targets(&r)
		if err != nil {
			n.T.Error(err)
			continue
		}
		for _, target := range targets {
			switch {
			case r.Inside:
				out["internal "+target] = Read{&r, target, n.Inside(http.MethodGet, target, "")}
			case r.Signed:
				for name, u := range map[string]*User{"alice": w.Alice, "carol": w.Carol, "nobody": w.Nobody} {
					out[name+" "+target] = Read{&r, target, n.Send(u, http.MethodGet, target, "")}
				}
			default:
				out["public "+target] = Read{&r, target, n.Send(nil, http.MethodGet, target, "")}
			}
		}
	}
	w.undocumented(n, out)
	for name, r := range out {
		if w.Running && strings.Contains(r.Target, "fill=previous") { // each minute adds a candle
			delete(out, name)
			continue
		}
		if members := clockMembers[r.Route.Path]; w.Running && members != nil {
			r.Body = string(without([]byte(r.Body), members))
			out[name] = r
		}
	}
	return out
}

// Ask sends the GET of a route with the first values of a World and with query, signed routes as Alice.
func (w *World) Ask(n *Node, r *Route, query url.Values) Read {
	n.T.Helper()
	target, err := w.Target(r, query)
	if err != nil {
		n.T.Fatal(err)
	}
	switch {
	case r.Inside:
		return Read{r, target, n.Inside(http.MethodGet, target, "")}
	case r.Signed:
		return Read{r, target, n.Send(w.Alice, http.MethodGet, target, "")}
	}
	return Read{r, target, n.Send(nil, http.MethodGet, target, "")}
}

// undocumented reads what other protocols have: the documents do not describe them.
func (w *World) undocumented(n *Node, out map[string]Read) {
	n.T.Helper()
	const day = 86400
	to := (n.now().Unix()/day + 1) * day
	for _, target := range []string{
		"/udf/config", "/udf/symbols?symbol=" + firstPair, "/udf/search?query=B&type=&exchange=&limit=30",
		"/udf/symbol_info?group=TickHive", "/udf/quotes?symbols=" + firstPair + "," + secondPair,
		fmt.Sprintf("/udf/history?symbol=%s&resolution=1&from=%d&to=%d", firstPair, to-10*day, to),
		fmt.Sprintf("/udf/history?symbol=%s&resolution=1D&from=%d&to=%d", firstPair, to-10*day, to),
	} {
		r := &Route{Path: strings.Split(target, "?")[0]}
		out["udf "+target] = Read{r, target, n.Send(nil, http.MethodGet, target, "")}
	}
	if n.Binance == "" {
		return
	}
	symbol := "symbol=" + symbolOf(firstPair)
	for _, target := range []string{
		"time", "exchangeInfo", "depth?" + symbol, "trades?" + symbol, "historicalTrades?" + symbol,
		"aggTrades?" + symbol,
		"klines?interval=1m&" + symbol, "klines?interval=2h&" + symbol, "klines?interval=1w&" + symbol,
		"avgPrice?" + symbol, "ticker/24hr", "ticker/tradingDay?" + symbol, "ticker/price", "ticker/bookTicker",
		"ticker?" + symbol,
	} {
		r := &Route{Path: "/api/v3/" + strings.Split(target, "?")[0]}
		out["binance "+target] = Read{r, target, n.do(http.MethodGet, n.Binance+"/api/v3/"+target, "", http.Header{})}
	}
	for _, target := range append([]string{
		"openOrders", "allOrders?" + symbol, "myTrades?" + symbol, "account", "account/commission?" + symbol,
		"openOrderList", "allOrderList", "myFilters?" + symbol, "myAllocations?" + symbol,
	}, w.binance...) {
		path, _, _ := strings.Cut(target, "?")
		a := n.Binanced(w.Alice, http.MethodGet, "/api/v3/"+target)
		out["binance alice "+target] = Read{&Route{Path: "/api/v3/" + path, Signed: true}, target, a}
	}
}

// symbolOf returns the symbol of a pair at the Binance interface.
func symbolOf(pair string) string { return strings.ReplaceAll(pair, "_", "") }

// Binanced sends a request to the Binance interface, signed unless u is nil. A
// timestamp or signature that target has is kept.
func (n *Node) Binanced(u *User, method, target string) Answer {
	n.T.Helper()
	if u == nil {
		return n.do(method, n.Binance+target, "", http.Header{})
	}
	path, query, _ := strings.Cut(target, "?")
	wrong := strings.Contains(query, "signature=")
	if !strings.Contains(query, "timestamp=") && !wrong {
		query = strings.TrimPrefix(query+fmt.Sprint("&timestamp=", n.now().UnixMilli()), "&")
	} else if wrong {
		query = fmt.Sprint("timestamp=", n.now().UnixMilli(), "&", query)
	}
	if !wrong {
		mac := hmac.New(sha256.New, []byte(u.Private))
		_, _ = mac.Write([]byte(query))
		query += "&signature=" + hex.EncodeToString(mac.Sum(nil))
	}
	return n.do(method, n.Binance+path+"?"+query, "", http.Header{"X-Mbx-Apikey": {u.Public}})
}

// comparedHeaders are the headers that are the state's.
var comparedHeaders = []string{
	"Content-Type", "Cache-Control", "ETag", "X-Seq", "X-Next-Cursor", "X-Next-Start", "X-Truncated", "X-As-Of",
}

// ofTheWriter are the prefixes of the internal routes that a replica refuses (docs/contract/cluster.md: "The internal
// listener refuses changes, and reads of orders").
var ofTheWriter = []string{internalAPI + "/book/", internalAPI + "/orders/"}

// Same fails the test for what a node answers otherwise than it, or another one, did before.
func (w *World) Same(n *Node, what string, before map[string]Read) {
	n.T.Helper()
	after := w.Reads(n)
	for name, r := range after {
		refused := slices.ContainsFunc(ofTheWriter, func(p string) bool { return strings.HasPrefix(r.Route.Path, p) })
		if !refused || n.Writer == "" || n.Writer == n.Public {
			continue
		}
		if r.Status != http.StatusServiceUnavailable || !strings.Contains(r.Body, "it is a replica") {
			n.T.Errorf("%s: %s: %d %.300s, and it is of the writer", what, name, r.Status, r.Body)
		}
		after[name] = before[name]
	}
	Equal(n.T, what, before, after)
}

// Equal fails the test for what differs between two times or nodes.
func Equal(t testing.TB, what string, before, after map[string]Read) {
	t.Helper()
	for i, d := range Differ(before, after) {
		if i == 5 {
			t.Fatal("and more")
		}
		t.Errorf("%s: %s", what, d)
	}
}

// Differ returns what differs between two times or nodes, a text for each read.
func Differ(before, after map[string]Read) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		a, b := before[name], after[name]
		if d := differ(&a, &b); d != "" {
			out = append(out, name+":\n"+d)
		}
	}
	if len(before) != len(after) {
		out = append(out, fmt.Sprintf("%d reads before, %d after", len(before), len(after)))
	}
	return out
}

func differ(a, b *Read) string {
	var lines []string
	if a.Status != b.Status {
		lines = append(lines, fmt.Sprintf("status %d, then %d: %.300s", a.Status, b.Status, b.Body))
	}
	for _, h := range comparedHeaders {
		if x, y := a.Header.Get(h), b.Header.Get(h); x != y {
			lines = append(lines, fmt.Sprintf("%s %q, then %q", h, x, y))
		}
	}
	x, y := []byte(a.Body), []byte(b.Body)
	if members := processMembers[a.Route.Path]; members != nil {
		x, y = without(x, members), without(y, members)
	}
	if !bytes.Equal(x, y) {
		lines = append(lines, cmp.Diff(pretty(x), pretty(y)))
	}
	return strings.Join(lines, "\n")
}

// without removes members, at every depth.
func without(body []byte, members []string) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return body
	}
	remove(v, members)
	out, err := json.Marshal(v)
	if err != nil {
		return body
	}
	return out
}

func remove(v any, members []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range members {
			delete(v, name)
		}
		for _, m := range v {
			remove(m, members)
		}
	case []any:
		for _, m := range v {
			remove(m, members)
		}
	}
}

// pretty has a member on a line, so that a difference names it; the order of members stays.
func pretty(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", " ") != nil {
		return string(body)
	}
	return b.String()
}
