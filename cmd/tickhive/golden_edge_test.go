package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/web"

	"github.com/tickhive/tickhive/test/harness"
)

// system requests the exchange's information about itself.
func (g *golden) system() {
	g.area = "system"
	g.note("when it is ready")
	for _, target := range []string{"/api/healthcheck", "/api/status", "/api/time", "/api/time?decimals=string"} {
		g.get(target)
	}
	g.in("GET", "/incidents", "")
	g.note("no recording is replayed")
	g.in("GET", "/replay", "")
	g.in("POST", "/replay/pause", "")
	g.note("faults on demand")
	g.in("POST", "/faults",
		`{"rules":["status route=/api/time status=502 retry-after=3","skew skew=-5s","drop channel=*"]}`)
	g.in("POST", "/faults", `{"rules":["sluggish"]}`)
	g.in("POST", "/faults", `{"scenario":"lost-ack","rules":["close"]}`)
	g.in("POST", "/faults", `{"scenario":"lost-ack","seed":7,"for":"1h"}`)
	g.get("/api/time")
	g.get("/api/status")
	g.in("GET", "/faults", "")
	g.in("DELETE", "/faults/1", "")
	g.in("DELETE", "/faults/1", "")
	g.get("/api/time")
	g.in("DELETE", "/faults", "")
	g.get("/api/time")
	g.note("metrics: names, types and labels")
	for _, probe := range []string{"/healthz", "/readyz"} {
		g.request(g.internal, "GET", probe, "")
	}
	_, h, text := g.send(g.internal, "GET", "/metrics", "")
	fmt.Fprintf(g.text(), "%s\n%s\n", h.Get("Content-Type"), metricNames(text))
	g.note("figures: members")
	_, _, text = g.send(g.internal, "GET", "/internal/v1/figures", "")
	fmt.Fprintf(g.text(), "%s\n", strings.Join(memberNames(text), "\n"))
	g.in("GET", "/figures?span=61", "")
	g.note("profiles: status and media type")
	for _, path := range []string{"", "cmdline", "profile?seconds=1", "symbol", "trace?seconds=0.01", "heap", "nope"} {
		status, h, _ := g.send(g.internal, "GET", "/debug/pprof/"+path, "")
		fmt.Fprintf(g.text(), "%d %s %s\n", status, path, h.Get("Content-Type"))
	}
}

// metricNames returns the types and label names of every metric of the program, sorted.
func metricNames(text string) string {
	names := map[string]bool{}
	label := regexp.MustCompile(`="(?:[^"\\]|\\.)*"`)
	value := regexp.MustCompile(`^(tickhive_[a-z_]+(?:\{[^}]*\})?) .*$`)
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "# TYPE tickhive_") {
			names[line] = true
		} else if m := value.FindStringSubmatch(label.ReplaceAllString(line, "")); m != nil {
			names[m[1]] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), "\n")
}

// memberNames returns the names of the members of an object and of those in it, each once.
func memberNames(text string) (names []string) {
	for _, m := range regexp.MustCompile(`[{,]"(\w+)":`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// edge checks the behaviour that all routes share.
func (g *golden) edge(w people) {
	g.area = "edge"
	g.note("paths and methods")
	for _, path := range []string{
		"/api/nope", "/api/tickers/", "//api/tickers", "/API/tickers", "/api/%74ickers",
		"/internal/v1/ready",
	} {
		g.get(path)
	}
	g.request(g.public, "POST", "/api/tickers?currencyPairCode=BTC_USDT", "{}")
	g.request(g.public, "OPTIONS", "/api/tickers", "")
	g.request(g.public, "OPTIONS", "/api/apikeys", "")
	g.request(g.internal, "PUT", "/internal/v1/orders", "")
	g.get("/api/tickers?currencyPairCode=BTC_USDT&currencyPairCode=BTC_USDT")
	g.note("bodies")
	g.request(g.public, "POST", "/api/launchpad/spawn", "{}", "Content-Type", "text/plain")
	g.as(w.alice, "POST", "/api/launchpad/spawn", `{"name":"a","symbol":"AAA","symbol":"BBB"}`)
	g.as(w.alice, "POST", "/api/launchpad/spawn", `{"name":"a"} x`)
	g.as(w.alice, "POST", "/api/launchpad/spawn", strings.Repeat(" ", 64<<10+1))
	g.note("long targets and headers")
	status, _, text := g.send(g.public, "GET", "/api/tickers?x="+strings.Repeat("y", 9<<10), "")
	g.keepMessages("GET /api/tickers", text)
	fmt.Fprintf(g.text(), "%d %s\n", status, normalise(text))
	status, _, text = g.send(g.public, "GET", "/api/tickers", "", "X-Long", strings.Repeat("y", 17<<10))
	g.keepMessages("GET /api/tickers", text)
	fmt.Fprintf(g.text(), "%d %s\n", status, normalise(text))
	g.note("limits: ten in one second")
	var h http.Header
	for i := range 11 {
		if status, h, text = g.send(g.public, "GET", "/api/agents/overview", "", "X-Forwarded-For",
			"10.9.9.9"); i == 0 || i == 10 {
			h.Del("Retry-After")
			g.write("GET", "/api/agents/overview", "", status, h, text)
		}
	}
	g.note("the legacy signature")
	sig := legacySignature(w.alice, "http://golden.test/api/wallets/balances")
	g.get("/api/wallets/balances", "API-PublicKey", w.alice.Public, "API-Signature", sig)
	g.note("a request id that is echoed")
	_, h, _ = g.send(g.public, "GET", "/api/time", "", "X-Request-Id", "abc-1")
	fmt.Fprintf(g.text(), "X-Request-Id: %s\n", h.Get("X-Request-Id"))
}

// pages requests the browser files. Their headers are part of the contract, their bytes are
// not.
func (g *golden) pages() {
	g.area = "pages"
	skip, hash := regexp.MustCompile(`^/(api|udf|v1|ws)(/|$)`), regexp.MustCompile(`^(/(app|swagger)/)[0-9a-f]{12}/`)
	for _, r := range g.rig.Opened.Public().Routes() {
		if skip.MatchString(r.Path) {
			continue
		}
		status, h, text := g.send(g.public, "GET", strings.Replace(r.Path, "{page:*}", "programs", 1), "")
		path := hash.ReplaceAllString(r.Path, "$1*/")
		fmt.Fprintf(g.text(), "%d %s\n  %s\n", status, path, strings.Join(contractHeaders(h), "\n  "))
		if strings.HasPrefix(r.Path, "/swagger/v1/") {
			fmt.Fprintf(g.text(), "%s", outline(g.t, text))
		}
	}
	status, h, text := g.send(g.internal, "GET", web.InternalPath, "")
	fmt.Fprintf(g.text(), "%d %s\n  %s\n%s", status, web.InternalPath,
		strings.Join(contractHeaders(h), "\n  "), outline(g.t, text))
}

// outline reduces the OpenAPI document, without its prose, to a hash per path and schema.
func outline(t testing.TB, text string) string {
	doc := harness.Object(t, text)
	var b strings.Builder
	part := func(kind string, m any) {
		parts, _ := m.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			raw, err := json.Marshal(withoutProse(parts[name]))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "  %s %s %.12x\n", kind, name, sha256.Sum256(raw))
		}
	}
	part("path", doc["paths"])
	components, _ := doc["components"].(map[string]any)
	part("message", components["messages"])
	part("schema", components["schemas"])
	return b.String()
}

func withoutProse(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, w := range v {
			if _, text := w.(string); text && (key == "description" || key == "summary") {
				delete(v, key)
				continue
			}
			v[key] = withoutProse(w)
		}
	case []any:
		for i := range v {
			v[i] = withoutProse(v[i])
		}
	}
	return v
}
