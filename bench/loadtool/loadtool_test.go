package loadtool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/tickhive/tickhive/bench/load"
)

// options returns a short run of a target.
func options(target string) Options {
	return Options{Target: target, RPS: 200, For: time.Second, Connections: 4}
}

// serve starts a server and counts the requests by path and query.
func serve(t *testing.T, h http.HandlerFunc) (url string, seen func(path string) int64) {
	var mu sync.Mutex
	counts := map[string]int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		counts[r.URL.RequestURI()]++
		mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func(path string) int64 {
		mu.Lock()
		defer mu.Unlock()
		return counts[path]
	}
}

// A run sends exactly the requests of its rate to the target, and the report has them all.
func TestARunSendsTheWantedRate(t *testing.T) {
	url, seen := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	o := options(url + "/x?y=1")
	var lines atomic.Int64
	o.For, o.Second = 2*time.Second, func(Second) { lines.Add(1) }
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	// a busy machine misses some
	if n := seen("/x?y=1"); n < 1 || n != r.Answers || n+r.Missed != 400 || r.Bytes != 5*n {
		t.Errorf("the server saw %d requests: %+v", n, r)
	}
	if !r.Apply(Thresholds{}) || r.Apply(Thresholds{P99: new(time.Duration(1))}) {
		t.Errorf("thresholds: %+v", r.Checks)
	}
	if lines.Load() == 0 {
		t.Error("no line")
	}
	var page, text bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string]string{"page": page.String(), "text": text.String()} {
		if !strings.Contains(b, "/x?y=1") || !strings.Contains(b, "p99.9") && !strings.Contains(b, "p99.99") {
			t.Errorf("%s: %s", what, b)
		}
	}
	if n := strings.Count(page.String(), "<svg"); n != 3 || strings.Contains(page.String(), "<script") ||
		strings.Contains(page.String(), " us") {
		t.Errorf("%d charts in %s", n, page.String())
	}
}

// The percentiles of a report are those of the latencies that the run measured.
func TestPercentilesAreThoseOfTheLatencies(t *testing.T) {
	h := hdrhistogram.New(1, time.Minute.Microseconds(), 3)
	for us := range int64(1000) { // values below 2048 us are exact in this histogram
		if err := h.RecordValue(us + 1); err != nil {
			t.Fatal(err)
		}
	}
	o := options("http://127.0.0.1:1/")
	r := newReport(&o, time.Unix(0, 0), &load.Result{Hist: h, Answers: 1000, Elapsed: 4 * time.Second}, false)
	if r.Rate != 250 {
		t.Errorf("%g answers a second, want 250", r.Rate)
	}
	for percent, us := range map[float64]int64{
		0: 1, 25: 250, 50: 500, 75: 750, 90: 900, 95: 950, 99: 990, 99.5: 995, 99.9: 999, 99.99: 1000, 100: 1000,
	} {
		if got := r.At(percent); got != time.Duration(us)*time.Microsecond {
			t.Errorf("p%g is %s, want %d us", percent, got, us)
		}
	}
	if len(r.Latencies) != 11 {
		t.Errorf("%d percentiles, want 11: %v", len(r.Latencies), r.Latencies)
	}
}

// A server that stalls is charged for every request that had to wait: latency counts from the intended time.
func TestAStallIsInTheLatencies(t *testing.T) {
	const stall = 400 * time.Millisecond
	var first atomic.Bool
	var gate sync.RWMutex
	url, _ := serve(t, func(http.ResponseWriter, *http.Request) {
		if first.CompareAndSwap(false, true) {
			gate.Lock()
			<-time.After(stall)
			gate.Unlock()
		}
		gate.RLock()
		defer gate.RUnlock()
	})
	r, err := Run(context.Background(), options(url))
	if err != nil {
		t.Fatal(err)
	}
	// 200 requests a second: 80 were due during the stall, 40 % of the run, and the later half of them waited for
	// less than half of it.
	if r.At(100) < stall || r.At(75) < stall/8 {
		t.Errorf("p75 %s, max %s", r.At(75), r.At(100))
	}
	if r.Late == 0 {
		t.Error("no request was sent late")
	}
}

// Statuses other than 2xx and 304 are errors, and so are broken connections.
func TestErrorsCount(t *testing.T) {
	var n atomic.Int64
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch n.Add(1) % 3 {
		case 0:
			w.WriteHeader(http.StatusTooManyRequests)
		case 1:
			panic(http.ErrAbortHandler)
		}
	})
	o := options(url)
	o.Connections = 1
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Errors < 100 || r.Answers == 0 || r.FirstError == "" || !strings.Contains(r.Statuses, "4xx x ") {
		t.Errorf("%+v", r)
	}
	if r.Apply(Thresholds{MaxErrors: new(1.)}) {
		t.Error("the threshold of errors is met")
	}
}

// Refusals are counted by status and code, with the message of the first one and what lifts a rate limit, in every form
// of a report.
func TestRefusalsAreNamed(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		switch seen := n.Add(1); seen % 3 {
		case 0:
			if seen == 6 {
				w.Header().Set("X-Fault", "rate-limit; rule=3")
			}
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"code":"RATE_LIMIT","message":"Retry after 1 second."}`)
		case 1:
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, `<html>`)
		}
	})
	r, err := Run(context.Background(), options(url))
	if err != nil {
		t.Fatal(err)
	}
	limited, bad, fault := r.Reasons["429 RATE_LIMIT"], r.Reasons["502"], "429 RATE_LIMIT, X-Fault: rate-limit"
	if len(r.Reasons) != 3 || limited == 0 || bad == 0 || r.Reasons[fault] != 1 || limited+bad+1+r.Missed != r.Errors ||
		!strings.HasSuffix(r.FirstError, ": Retry after 1 second.") {
		t.Errorf("%+v", r)
	}
	var text, page bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	for _, b := range []string{text.String(), page.String()} {
		if !strings.Contains(b, "429 RATE_LIMIT") || strings.Count(b, "rate.allow") != 1 { // not for the fault
			t.Errorf("no refusal in %s", b)
		}
	}
}

// The mix of a listing site requests the routes of either standard, of the first pairs.
func TestTheMixFindsThePairs(t *testing.T) {
	for list, want := range map[string][]string{
		`/l/pairs [{"ticker_id":"A_B"},{"ticker_id":"C_D"},{"ticker_id":"E_F"}]`: {
			"/l/tickers", "/l/pairs", "/l/orderbook?depth=100&ticker_id=A_B",
			"/l/historical_trades?limit=100&ticker_id=C_D",
		},
		`/l/summary [{"trading_pairs":"A_B"},{"trading_pairs":"C_D"},{"trading_pairs":"E_F"}]`: {
			"/l/summary", "/l/ticker", "/l/orderbook/A_B", "/l/trades/C_D",
		},
	} {
		path, body, _ := strings.Cut(list, " ")
		url, seen := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/pairs") && r.URL.Path != path {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			if r.URL.Path == path {
				fmt.Fprint(w, body)
			}
		})
		o := options(url + "/l/")
		o.Mix, o.Pairs = MixPolls, 2
		r, err := Run(context.Background(), o)
		if err != nil || r.Errors > r.Missed {
			t.Fatalf("%v, %+v", err, r)
		}
		for _, w := range want {
			if seen(w) == 0 {
				t.Errorf("%s was not requested", w)
			}
		}
		if seen("/l/orderbook?depth=100&ticker_id=E_F")+seen("/l/orderbook/E_F") > 0 {
			t.Error("a third pair was requested")
		}
	}
}

// A run without an answer has failed, but one of streams only if there was an error: an exchange may have nothing to
// send.
func TestNoAnswerIsAnError(t *testing.T) {
	for _, c := range []struct {
		mix    string
		errors int64
		want   float64
	}{{"", 0, 100}, {MixStreams, 1, 100}, {MixStreams, 0, 0}} {
		r := Report{Mix: c.mix, Errors: c.errors}
		if got := r.errorShare(); got != c.want {
			t.Errorf("%+v: %g %%", c, got)
		}
	}
}

// The line of a second has the figures of that second, and says whether it was warm-up.
func TestTheFiguresOfASecondAreItsOwn(t *testing.T) {
	t.Parallel()
	live, stop, n := &load.Live{}, make(chan struct{}), int64(0)
	o := Options{Warm: 1250 * time.Millisecond}
	o.Second = func(s Second) {
		if s.Errors != 3*n || s.Late != 2*n || s.WarmingUp != (n == 0) {
			t.Errorf("second %d: %+v", n+1, s)
		}
		if n++; n == 3 {
			close(stop)
		}
		live.Errors.Add(3 * n)
		live.Late.Add(2 * n)
	}
	o.watch(t.Context(), live, time.Now(), stop)
}

// What ends right behind a second is in the last second, whose rate is of its whole length.
func TestTheLastSecondHasWhatEndsBehindIt(t *testing.T) {
	t.Parallel()
	live, stop := &load.Live{}, make(chan struct{})
	live.Count(time.Second, load.Outcome{Answered: true})
	o := Options{Second: func(Second) {
		live.Count(5*time.Second, load.Outcome{Answered: true, Failed: true})
		close(stop)
	}}
	all := o.watch(t.Context(), live, time.Now(), stop)
	errs, answers, began := int64(0), 0., time.Duration(0)
	for _, s := range all {
		errs, answers, began = errs+s.Errors, answers+s.Rate*(s.At-began).Seconds(), s.At
	}
	if last := all[len(all)-1]; errs != 1 || answers < 1.99 || answers > 2.01 || last.Slowest < 5*time.Second ||
		len(all) == 1 && last.P50 > 2*time.Second {
		t.Errorf("%d errors, %g answers: %+v", errs, answers, all)
	}
}

// An axis has about five marks at round values, or powers of ten, around all values.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, top float64
		log      bool
		want     string
	}{
		{0, 0.001, false, "[0 0.0002 0.0004 0.0006 0.0008 0.001]"},
		{0, 3.2, false, "[0 1 2 3 4]"},
		{0, 500, false, "[0 100 200 300 400 500]"},
		{0, 501, false, "[0 200 400 600]"},
		{0.3, 12, true, "[0.1 1 10 100]"},
		{1, 10, true, "[1 10]"},
		{5, 5, true, "[1 10]"},
	} {
		if got := fmt.Sprintf("%.4g", ticks(c.low, c.top, c.log)); got != c.want {
			t.Errorf("from %g to %g: %s, want %s", c.low, c.top, got, c.want)
		}
	}
}

// The charts have the rate over time, and the thresholds of latency and the wanted rate as lines.
func TestChartsHaveTheirLimits(t *testing.T) {
	r := Report{
		Target: "http://a/", WantedRate: 100, Latencies: []Point{{50, 1000}, {99, 2000}, {99.9, 3000}, {100, 4000}},
		Timeline: []Moment{
			{At: 1, Rate: 90, P50Us: 1000, P99Us: 2000, MaxUs: 3000},
			{At: 2, Rate: 110, P50Us: 1000, P99Us: 2000, MaxUs: 3000},
		},
		Answers: 200,
	}
	r.Apply(Thresholds{P99: new(5 * time.Millisecond), P999: new(70 * time.Millisecond), MaxErrors: new(1.)})
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	for want, n := range map[string]int{
		`<text class="limit"`: 5, `<line class="limit"`: 5, ">limit of p99<": 2, ">limit of p99.9<": 2, ">wanted<": 1,
		`aria-label="Rate over time"`: 1, ">80 ms<": 1, ">100 ms<": 1, ">125 /s<": 0, ">120 /s<": 0, ">150 /s<": 1,
	} {
		if got := strings.Count(page.String(), want); got != n {
			t.Errorf("%d times %s, want %d", got, want, n)
		}
	}
}

// A chart has a gap where nothing was answered and a line of what was never sent; its marks have no exponent.
func TestChartsHaveGaps(t *testing.T) {
	r := Report{
		Target: "http://a/", Latencies: []Point{{50, 1000}, {100, 100_000_000}}, Answers: 3, Missed: 7,
		Timeline: []Moment{
			{At: 1, Rate: 2, P50Us: 1000, P99Us: 2000}, {At: 2, Missed: 7}, {At: 3, Rate: 1, P50Us: 1000, P99Us: 2000},
		},
	}
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	for want, n := range map[string]int{
		`<polyline`: 7, ">100000 ms<": 1, "e+": 0, "NaN": 0, ">never sent<": 1, ">8 /s<": 1,
	} {
		if got := strings.Count(page.String(), want); got != n {
			t.Errorf("%d times %s, want %d: %s", got, want, n, &page)
		}
	}
}

// Options outside their ranges, and targets on other machines without leave, are refused.
func TestOptionsAreChecked(t *testing.T) {
	for what, change := range map[string]func(*Options){
		"mix": func(o *Options) { o.Mix = "x" }, "rps": func(o *Options) { o.RPS = -1 },
		"duration": func(o *Options) { o.For = 0 }, "connections": func(o *Options) { o.Connections = 0 },
		"pairs": func(o *Options) { o.Mix, o.Pairs = MixPolls, 0 },
		"--mix": func(o *Options) { o.Pairs = 1 }, "target": func(o *Options) { o.Target = "ftp://x" },
		"--mix orders needs --signed": func(o *Options) { o.Mix, o.Pairs = MixOrders, 1 },
		"--signed":                    func(o *Options) { o.Mix, o.Pairs, o.Key = MixPolls, 1, Key{"a", "b"} },
		"--method must":               func(o *Options) { o.Method = "HEAD" },
		"--method, --body":            func(o *Options) { o.Mix, o.Pairs, o.Method = MixPolls, 1, "POST" },
		"--body with GET":             func(o *Options) { o.Method, o.Body = "GET", []byte("x") },
		"--body too long":             func(o *Options) { o.Body = make([]byte, MaxBody+1) },
		"--header without a value":    func(o *Options) { o.Headers = []string{"Accept"} },
		"--header with a line break":  func(o *Options) { o.Headers = []string{"A: b\r\nC: d"} },
		"--header of the tool":        func(o *Options) { o.Headers = []string{"host: x"} },
		"--header of --signed": func(o *Options) {
			o.Key, o.Headers = Key{"a", "b"}, []string{"API-Nonce: 1"}
		},
		"--warm-up":             func(o *Options) { o.Warm = -1 },
		"--stages too short":    func(o *Options) { o.Stages = load.Stages{{For: time.Millisecond, PerSecond: 1}} },
		"--stages no rate":      func(o *Options) { o.Stages = load.Stages{{For: time.Second}} },
		"--stages too fast":     func(o *Options) { o.Stages = load.Stages{{For: time.Second, PerSecond: 2 * MaxRPS}} },
		"--rps is for requests": func(o *Options) { o.Mix, o.Pairs = MixStreams, 1 },
		"--target with a path": func(o *Options) {
			o.Mix, o.Pairs, o.RPS, o.Target = MixStreams, 1, 0, "http://127.0.0.1:1/api"
		},
		"another machine": func(o *Options) { o.Target = "http://example.com/" },
	} {
		o := options("http://127.0.0.1:1/")
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), strings.Fields(what)[0]) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A key file has both keys; every other file is refused with its name.
func TestKeyFilesAreChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key.json")
	for text, want := range map[string]string{
		`{"kind":"tickhive-demo-key","publicKey":"a","privateKey":"b"}`: "",
		`{"publicKey":"a"}`: "needs publicKey and privateKey", `a`: "is no key file",
		strings.Repeat(" ", maxKeyFile+1): "larger than",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := ReadKey(file)
		if want == "" && (err != nil || k != Key{"a", "b"}) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file)) {
			t.Errorf("%.60s: %+v, %v", text, k, err)
		}
	}
	if _, err := ReadKey(file + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A threshold outside its range, and one that nothing could miss, are refused.
func TestThresholdsAreChecked(t *testing.T) {
	o := options("http://127.0.0.1:1/")
	for what, th := range map[string]Thresholds{
		"--max-p99 ": {P99: new(time.Duration(-1))}, "--max-p999 ": {P999: new(time.Duration(0))},
		"--max-errors ": {MaxErrors: new(math.NaN())}, "--min-rate must": {MinRate: new(0.)},
		"--route-p99 and": {RouteP99: map[string]time.Duration{"book": 1}},
	} {
		if err := th.Validate(&o); err == nil || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	mix := o
	mix.Mix = MixPolls
	for what, th := range map[string]Thresholds{
		"--route-p99 must be above 0: book=0s":         {RouteP99: map[string]time.Duration{"book": 0}},
		"--route-errors must be from 0 to 100 percent": {RouteErrors: map[string]float64{"book": 101}},
	} {
		if err := th.Validate(&mix); err == nil || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	sound := Thresholds{P99: new(time.Second), P999: new(time.Second), MaxErrors: new(0.), MinRate: new(99.)}
	if err := sound.Validate(&o); err != nil {
		t.Error(err)
	}
	o.RPS = 0
	if err := sound.Validate(&o); err == nil || !strings.Contains(err.Error(), "--rps 0 wants no rate") {
		t.Errorf("a share of no rate: %v", err)
	}
	o.Mix = MixStreams
	if err := sound.Validate(&o); err == nil || !strings.Contains(err.Error(), "--mix streams does not have") {
		t.Errorf("a share of a rate that streams do not have: %v", err)
	}
}

// A default limit of no errors leaves a route out whose errors have a limit.
func TestNoErrorsButOfRoutesWithALimit(t *testing.T) {
	for limits, want := range map[*map[string]float64]bool{
		{"slow": 50}: false, {"fast": 50}: false, {"slow": 50, "fast": 50}: true, nil: false,
	} {
		r := Report{Answers: 20, Errors: 3, Routes: []Route{
			{Name: "fast", Answers: 10, Errors: 1}, {Name: "slow", Answers: 10, Errors: 2},
		}}
		th := Thresholds{NoErrors: true}
		if limits != nil {
			th.RouteErrors = *limits
		}
		if got := r.Apply(th); got != want {
			t.Errorf("%v: %t, %+v", th.RouteErrors, got, r.Checks)
		}
	}
}

// The list of pairs comes from the target itself: neither a redirect nor a proxy leads elsewhere.
func TestTheMixStaysAtItsTarget(t *testing.T) {
	elsewhere, seen := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"ticker_id":"A_B"}]`)
	})
	target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+"/pairs", http.StatusFound)
	})
	o := options(target)
	o.Mix, o.Pairs = MixPolls, 1
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("a redirect: %v", err)
	}
	if seen("/pairs") != 0 {
		t.Error("the redirect was followed")
	}
}

// A canceled run ends at once and still reports.
func TestACanceledRunReports(t *testing.T) {
	url, _ := serve(t, func(http.ResponseWriter, *http.Request) {})
	ctx, cancel := context.WithCancel(context.Background())
	o := options(url)
	o.For, o.Second = MaxFor, func(s Second) {
		if s.Rate > 0 {
			cancel()
		}
	}
	r, err := Run(ctx, o)
	if err != nil || !r.Stopped || r.Answers == 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

// Each threshold is judged by the figure that it names, and equality meets it.
func TestAThresholdIsJudgedByItsOwnFigure(t *testing.T) {
	ms := func(n int64) *time.Duration { return new(time.Duration(n) * time.Millisecond) }
	for _, c := range []struct {
		name string
		t    Thresholds
		got  float64
		ok   bool
	}{
		{"p99 met", Thresholds{P99: ms(40)}, 40, true},
		{"p99 missed", Thresholds{P99: ms(39)}, 40, false},
		{"p99.9 met", Thresholds{P999: ms(80)}, 80, true},
		{"p99.9 missed", Thresholds{P999: ms(79)}, 80, false},
		{"errors met", Thresholds{MaxErrors: new(2.)}, 2, true},
		{"errors missed", Thresholds{MaxErrors: new(1.9)}, 2, false},
		{"rate met", Thresholds{MinRate: new(90.)}, 90, true},
		{"rate missed", Thresholds{MinRate: new(90.1)}, 90, false},
		{"p99 of a route met", Thresholds{RouteP99: map[string]time.Duration{"slow": *ms(70)}}, 70, true},
		{"p99 of a route missed", Thresholds{RouteP99: map[string]time.Duration{"slow": *ms(69)}}, 70, false},
		{"errors of a route met", Thresholds{RouteErrors: map[string]float64{"slow": 5}}, 5, true},
		{"errors of a route missed", Thresholds{RouteErrors: map[string]float64{"slow": 4.9}}, 5, false},
		{"no such route", Thresholds{RouteP99: map[string]time.Duration{"slwo": *ms(70)}}, 0, false},
		{"no request of a route sent", Thresholds{RouteErrors: map[string]float64{"never": 5}}, 100, false},
		{"no errors", Thresholds{NoErrors: true}, 2, false},
	} {
		r := Report{
			Answers: 90, Missed: 10, Errors: 2, Rate: 90, WantedRate: 100,
			Latencies: []Point{{50, 5_000}, {90, 10_000}, {95, 20_000}, {99, 40_000}, {99.9, 80_000}, {100, 160_000}},
			Routes: []Route{
				{Name: "fast", Answers: 50, P99Us: 10_000},
				{Name: "never", Missed: 9, Errors: 9},
				{Name: "slow", Answers: 40, Errors: 2, P99Us: 70_000},
			},
		}
		if ok := r.Apply(c.t); ok != c.ok || len(r.Checks) != 1 || r.Checks[0].Got != c.got || r.Checks[0].OK != c.ok {
			t.Errorf("%s: %t by %+v, want %t by %g", c.name, ok, r.Checks, c.ok, c.got)
		}
	}
}
