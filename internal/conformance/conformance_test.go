package conformance_test

import (
	"bytes"
	"encoding/xml"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/conformance"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
)

// target returns the address of an exchange with two traded pairs and one without trades.
func target(t *testing.T) string {
	t.Helper()
	x := exchangetest.Start(t, exchangetest.Options(""))
	for _, pair := range []string{"BTC_USDT", "ETH_USDT", "QUIET_USDT"} {
		x.Pair(pair)
		for i, price := range []string{"90.5", "91", "91.5", "92", "93", "94", "95", "96", "97", "98", "99"} {
			x.Limit(pair, "buy", price, "1.5")
			x.Limit(pair, "sell", []string{"101", "102", "103", "104"}[i%4], "2")
		}
	}
	for _, pair := range []string{"BTC_USDT", "ETH_USDT"} {
		x.Limit(pair, "buy", "101", "0.12345678")
		x.Limit(pair, "sell", "99", "0.5")
		x.Limit(pair, "sell", "98", "1.5")
	}
	return x.Public
}

// start is the time of the exchange, a second after its virtual clock's start.
func start() time.Time { return time.Unix(0, exchangetest.StartNs).Add(time.Second) }

func check(t *testing.T, target, standard string) *conformance.Report {
	t.Helper()
	reports, err := conformance.Run(t.Context(), conformance.Options{Target: target, Standard: standard, Now: start})
	if err != nil || len(reports) != 1 {
		t.Fatal(len(reports), err)
	}
	return reports[0]
}

func failed(r *conformance.Report) (lines []string) {
	for _, x := range r.Results {
		if x.Severity != conformance.OK {
			lines = append(lines, string(x.Severity)+" "+x.Check+": "+x.Evidence)
		}
	}
	return lines
}

func TestBothFormsOfTheExchangeConform(t *testing.T) {
	t.Parallel()
	host := target(t)
	for standard, least := range map[string]int{conformance.CoinGecko: 40, conformance.CoinMarketCap: 40} {
		r := check(t, host+"/listing/"+standard, standard)
		if r.Errors != 0 || len(r.Results) < least {
			t.Errorf("%s: %d checks, %d errors:\n%s", standard, len(r.Results), r.Errors, strings.Join(failed(r), "\n"))
		}
		for _, line := range failed(r) { // the three ids that a pair made by hand does not have
			if !strings.Contains(line, "asset") && !strings.Contains(line, "ticker: ids") {
				t.Errorf("%s: %s", standard, line)
			}
		}
	}
}

func TestFewerPairsThanExpectedAreAnError(t *testing.T) {
	t.Parallel()
	host := target(t) + "/listing"
	for expected, errors := range map[int]int{3: 0, 4: 1} {
		reports, err := conformance.Run(t.Context(),
			conformance.Options{Target: host, Now: start, ExpectPairs: expected})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range reports {
			if found := strings.Join(failed(r), "\n"); r.Errors != errors ||
				strings.Contains(found, "expected pairs: 3 pairs, want at least 4") != (errors > 0) {
				t.Errorf("%s, %d expected: %d errors: %s", r.Standard, expected, r.Errors, found)
			}
		}
	}
}

// violation is a change of an exchange's answers that a listing site would refuse.
type violation struct {
	standard, route string
	change          func(body string) string
	check           string // of the error that is due
	evidence        string
}

func replace(pattern, by string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(body string) string { return re.ReplaceAllString(body, by) }
}

var violations = map[string]violation{
	"crossed book": {
		conformance.CoinGecko, "/orderbook", replace(`"bids":\[\["98.00"`, `"bids":[["101.00"`),
		"orderbook BTC_USDT: order", "best bid 101 is not below the best ask 101",
	},
	"wrong volume of a trade": {
		conformance.CoinGecko, "/historical_trades", replace(`"target_volume":"[0-9.]+"`, `"target_volume":"1.0"`),
		"historical_trades BTC_USDT: volumes of a trade", "target_volume says 1",
	},
	"times in seconds": {
		conformance.CoinMarketCap, "/trades/", replace(`"timestamp":([0-9]+)000`, `"timestamp":$1`),
		"trades BTC_USDT: fields", "is no Unix time in milliseconds",
	},
	"depth is ignored": {
		conformance.CoinMarketCap, "/orderbook/", nil,
		"orderbook BTC_USDT: depth", "depth=10 answers 10 bids, want 5",
	},
	"volume that trades do not have": {
		conformance.CoinMarketCap, "/ticker", replace(`"base_volume":[0-9.]+`, `"base_volume":0.001`),
		"trades BTC_USDT: agrees with the ticker's volume", "more than the ticker's 0.001",
	},
	"member is missing": {
		conformance.CoinGecko, "/tickers", replace(`"target_volume":"[0-9.]+",`, ""),
		"tickers: fields", "target_volume is missing",
	},
	"member is null": {
		conformance.CoinGecko, "/tickers", replace(`"target_volume":"[0-9.]+"`, `"target_volume":null`),
		"tickers: fields", "target_volume is null",
	},
	"one volume is 0": {
		conformance.CoinGecko, "/tickers", replace(`"base_volume":"[0-9.]+"`, `"base_volume":"0"`),
		"tickers: prices", "base_volume is 0 and target_volume ",
	},
	"volumes that no price explains": {
		conformance.CoinMarketCap, "/summary", replace(`"quote_volume":[0-9.]+`, `"quote_volume":1`),
		"summary: prices", "target_volume / base_volume is 0.",
	},
	"a pair is there twice": {
		conformance.CoinMarketCap, "/ticker", func(body string) string {
			return strings.Replace(body, "{", `{"BTC_USDT":{"last_price":1},`, 1)
		},
		"ticker: answers", `the member "BTC_USDT" is in one object twice, the second time at byte `,
	},
	"the book is an array": {
		conformance.CoinGecko, "/orderbook", func(string) string { return "[]" },
		"orderbook BTC_USDT: fields", "the body is [], want an object",
	},
	"the highest price is 0": {
		conformance.CoinGecko, "/tickers", replace(`"high":"[0-9.]+"`, `"high":"0"`),
		"tickers: prices", " and high 0",
	},
}

func TestViolationsAreFound(t *testing.T) {
	t.Parallel()
	host := target(t)
	for name, v := range violations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				url := host + req.URL.RequestURI()
				planted := strings.Contains(req.URL.Path, v.route)
				if planted && v.change == nil {
					url, _, _ = strings.Cut(url, "?")
				}
				resp, err := http.Get(url)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = resp.Body.Close() }()
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Error(err)
				}
				text := string(body)
				if planted && v.change != nil {
					text = v.change(text)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(resp.StatusCode)
				_, _ = io.WriteString(w, text)
			}))
			defer srv.Close()
			r := check(t, srv.URL+"/listing/"+v.standard, v.standard)
			for _, x := range r.Results {
				if x.Check == v.check && x.Severity == conformance.Error && strings.Contains(x.Evidence, v.evidence) {
					return
				}
			}
			t.Errorf("%q is not found:\n%s", v.check, strings.Join(failed(r), "\n"))
		})
	}
}

// The address of the exchange alone is enough, with and without a standard: the report names the prefix that it found.
// Routes that answer 200 with something else, as the pages of many exchanges do everywhere, are not taken for it.
func TestThePrefixOfTheRoutesIsFound(t *testing.T) {
	t.Parallel()
	host := target(t)
	behind, err := url.Parse(host)
	if err != nil {
		t.Fatal(err)
	}
	routes := httputil.NewSingleHostReverseProxy(behind)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/listing/") {
			_, _ = io.WriteString(w, "<html></html>")
			return
		}
		routes.ServeHTTP(w, r)
	}))
	t.Cleanup(page.Close)
	for _, given := range []string{host, host + "/", host + "/listing", page.URL} {
		base := strings.TrimSuffix(strings.TrimSuffix(given, "/"), "/listing") + "/listing/"
		reports, err := conformance.Run(t.Context(), conformance.Options{Target: given, Now: start})
		if err != nil || len(reports) != 2 || reports[0].Target != base+"coingecko" ||
			reports[1].Target != base+"coinmarketcap" || reports[0].Errors+reports[1].Errors != 0 {
			t.Errorf("%s: %v: %v", given, reports, err)
		}
		if r := check(t, given, conformance.CoinMarketCap); r.Target != base+"coinmarketcap" || r.Errors != 0 {
			t.Errorf("%s: %v", given, failed(r))
		}
	}
	_, err = conformance.Run(t.Context(), conformance.Options{Target: host + "/nothing", Now: start})
	if err == nil || !strings.Contains(err.Error(), "/listing/coingecko") ||
		!strings.Contains(err.Error(), "--standard") {
		t.Errorf("nothing: %v", err)
	}
	if r := check(t, host+"/nothing", conformance.CoinGecko); r.Target != host+"/nothing" || r.Errors == 0 {
		t.Errorf("nothing, with a standard: %+v", r)
	}
}

// A first route that answers with an error of the server, or with what is no JSON, is found and named. A standard
// that is not there is a warning.
func TestAFirstRouteThatFailsIsFound(t *testing.T) {
	t.Parallel()
	behind, err := url.Parse(target(t))
	if err != nil {
		t.Fatal(err)
	}
	routes := httputil.NewSingleHostReverseProxy(behind)
	for name, answer := range map[string]func(w http.ResponseWriter){
		"an error of the server": func(w http.ResponseWriter) { w.WriteHeader(503) },
		"a page":                 func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>\n</html>") },
		"broken JSON":            func(w http.ResponseWriter) { _, _ = io.WriteString(w, `[{"tic`) },
		"no body":                func(http.ResponseWriter) {},
	} {
		for _, route := range []string{"/listing/coingecko/pairs", "/listing/coinmarketcap/summary"} {
			t.Run(name+" at "+route, func(t *testing.T) {
				t.Parallel()
				s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == route {
						answer(w)
						return
					}
					routes.ServeHTTP(w, r)
				}))
				t.Cleanup(s.Close)
				for _, given := range []string{s.URL, s.URL + "/listing"} {
					reports, err := conformance.Run(t.Context(), conformance.Options{Target: given, Now: start})
					if err != nil || len(reports) != 2 {
						t.Fatal(reports, err)
					}
					first := reports[strings.Count(route, "coinmarketcap")]
					if lines := failed(first); first.Target+route[strings.LastIndex(route, "/"):] != s.URL+route ||
						first.Errors == 0 || !strings.Contains(lines[0], " answers: ") || strings.Contains(lines[0],
						"\n") {
						t.Errorf("%s: %s: %q", given, first.Target, lines)
					}
				}
			})
		}
	}
}

func TestWhatIsNoListingAPIIsRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]conformance.Options{
		"no URL":      {Target: "localhost"},
		"no standard": {Target: "http://127.0.0.1:1", Standard: "nomics"},
		"no answer":   {Target: "http://127.0.0.1:1"},
	} {
		if reports, err := conformance.Run(t.Context(), o); err == nil {
			t.Errorf("%s: %d reports", name, len(reports))
		}
	}
}

// JUnit's XML has a case for each check, and as many failures as there are errors; the page has each check.
func TestTheReportsAreWritten(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `[{"ticker_id":"<&>"}]`)
	})
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	r := check(t, s.URL, conformance.CoinGecko)
	var b bytes.Buffer
	if err := conformance.WriteJUnit(&b, []*conformance.Report{r}); err != nil {
		t.Fatal(err)
	}
	var read struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Suites   []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Class   string `xml:"classname,attr"`
				Name    string `xml:"name,attr"`
				Time    string `xml:"time,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
				Out string `xml:"system-out"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	if len(read.Suites) != 1 || read.Tests != len(r.Results) || read.Failures != r.Errors || r.Errors == 0 ||
		r.Warnings == 0 {
		t.Fatalf("%+v for %d results, %d errors, %d warnings", read, len(r.Results), r.Errors, r.Warnings)
	}
	suite := read.Suites[0]
	if suite.Name != "coingecko" || suite.Tests != len(r.Results) || suite.Failures != r.Errors ||
		len(suite.Cases) != len(r.Results) {
		t.Errorf("%+v", suite)
	}
	took := regexp.MustCompile(`^\d+\.\d{6}$`)
	for i, c := range suite.Cases {
		x := r.Results[i]
		if c.Class+": "+c.Name != "coingecko."+x.Check || !took.MatchString(c.Time) {
			t.Errorf("%+v is not %s", c, x.Check)
		}
		if (c.Failure != nil) != (x.Severity == conformance.Error) ||
			strings.HasPrefix(c.Out, "warning: ") != (x.Severity == conformance.Warning) {
			t.Errorf("%+v is not %s", c, x.Severity)
		}
		if c.Failure != nil && (c.Failure.Message == "" || !strings.Contains(c.Failure.Text, x.URL)) {
			t.Errorf("%+v", c.Failure)
		}
	}
	b.Reset()
	if err := conformance.WriteHTML(&b, []*conformance.Report{r}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "<td>"+html.EscapeString(r.Results[0].URL)); n == 0 ||
		strings.Count(b.String(), "<tr>") != len(r.Results)+1 || strings.Contains(b.String(), "<&") {
		t.Error(b.String())
	}
}

// The routes are found where the namespace of the aggregator has them.
func TestThePrefixOfTheAggregatorIsFound(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/marketdata/getaggregator/pairs" {
			w.WriteHeader(404)
		}
		_, _ = io.WriteString(w, `[]`)
	}))
	t.Cleanup(s.Close)
	reports, err := conformance.Run(t.Context(), conformance.Options{Target: s.URL, Now: start})
	if err != nil || len(reports) != 2 || reports[0].Target != s.URL+"/api/marketdata/getaggregator" ||
		reports[0].Standard != conformance.CoinGecko {
		t.Fatal(reports, err)
	}
	missing := failed(reports[1])
	if len(missing) != 1 || !strings.HasPrefix(missing[0], "warning summary: found: not checked: "+s.URL+"/summary ") {
		t.Errorf("the other standard: %q", missing)
	}
}
