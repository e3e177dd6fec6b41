package loadtool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tickhive/tickhive/bench/load"
)

// A run sends the method, the headers and the body of its options, and nothing of its own beside them.
func TestARunSendsItsRequest(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int64{}
	url, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		h := r.Header
		seen[fmt.Sprintf("%s %v%v%v %d %s", r.Method, h["Content-Type"], h["X-A"], h["User-Agent"], r.ContentLength,
			body)]++
	})
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(*Options) {}, "GET [][][tickhive-load] 0 "},
		{func(o *Options) { o.Method = "DELETE" }, "DELETE [][][tickhive-load] 0 "},
		{func(o *Options) { o.Body = []byte(`{"a":1}`) }, `POST [application/json][][tickhive-load] 7 {"a":1}`},
		{func(o *Options) {
			o.Method, o.Body = "PUT", []byte("a,b")
			o.Headers = []string{"content-type: text/csv", "X-A: 1", "X-A: 2", "User-Agent: me"}
		}, "PUT [text/csv][1 2][me] 3 a,b"},
	} {
		o := options(url)
		c.change(&o)
		clear(seen)
		r, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		method, _, _ := strings.Cut(c.want, " ")
		if len(seen) != 1 || seen[c.want] != r.Answers || r.Answers == 0 || r.Method != method {
			t.Errorf("want %q: %v, %d answers of %s", c.want, seen, r.Answers, r.Method)
		}
	}
}

// The requests of a run with stages are those of the area below its rates, and the report names the stages.
func TestStages(t *testing.T) {
	url, seen := serve(t, func(http.ResponseWriter, *http.Request) {})
	o := options(url + "/")
	var err error
	if o.Stages, err = ParseStages("500ms:200,500ms:200,0s:20,500ms:20"); err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := seen("/"); n+r.Missed != 50+100+10 || r.Answers != n || r.Stages != "500ms:200,500ms:200,0s:20,500ms:20" {
		t.Errorf("the server saw %d requests: %+v", n, r)
	}
	for _, text := range []string{"", "10s", "10s:", "x:1", "10:5", "1s:1,"} {
		if _, err := ParseStages(text); err == nil || !strings.Contains(err.Error(), "10s:100,30s:500") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The report leaves the warm-up out, and the server gets it.
func TestTheWarmUpIsNotCounted(t *testing.T) {
	for _, stages := range []load.Stages{nil, {{PerSecond: 200}, {For: time.Second, PerSecond: 200}}} {
		url, seen := serve(t, func(http.ResponseWriter, *http.Request) {})
		o := options(url + "/")
		o.Warm, o.Stages = time.Second, stages
		r, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if n := seen("/"); r.Answers+r.Missed != 200 || n+r.Missed != 400 || r.WarmSeconds != 1 {
			t.Errorf("the server saw %d requests: %+v", n, r)
		}
	}
	var r Report
	r.addTimeline(&Options{Warm: time.Second}, []Second{
		{At: 1001 * time.Millisecond, WarmingUp: true, Rate: 1},
		{At: 2 * time.Second, Rate: 2},
		{At: 2500 * time.Millisecond, Rate: 3},
	}, []int64{0, 4, 5})
	if len(r.Timeline) != 2 || r.Timeline[0].At != 1 || r.Timeline[0].Rate != 2 || r.Timeline[1].At != 1.5 ||
		r.Timeline[0].Missed != 4 || r.Timeline[1].Missed != 5 {
		t.Errorf("the moments behind a warm-up: %+v", r.Timeline)
	}
}

// Each kind of request has a row, the rows add up to the run, and a slow route is seen in its own row.
func TestRoutesHaveRows(t *testing.T) {
	const slow = 30 * time.Millisecond
	url, seen := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/pairs":
			fmt.Fprint(w, `[{"ticker_id":"A_B"}]`)
		case "/orderbook":
			<-time.After(slow)
		case "/historical_trades":
			w.WriteHeader(http.StatusTeapot)
		}
	})
	o := options(url)
	o.Mix, o.Pairs, o.Connections, o.RPS = MixPolls, 1, 8, 80
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	sum, due, failed, slowest, rows := int64(0), int64(0), int64(0), int64(0), map[string]Route{}
	for _, of := range r.Routes {
		sum, due, failed, slowest = sum+of.Answers, due+of.Requests, failed+of.Errors, max(slowest, of.MaxUs)
		rows[of.Name] = of
	}
	trades := rows["historical_trades"]
	if due != r.Requests || due != 80 || failed != r.Errors || slowest != r.At(100).Microseconds() {
		t.Errorf("the rows have %d requests and %d errors, the slowest %d us: %+v", due, failed, slowest, r)
	}
	if sum != r.Answers || len(rows) != 4 || trades.Errors != trades.Requests ||
		trades.Answers+r.Missed != r.Errors ||
		rows["tickers"].Answers != seen("/tickers") || rows["orderbook"].P50Us < slow.Microseconds() {
		t.Errorf("%d answers in the rows: %+v", sum, r)
	}
	var text, page bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "historical_trades") || !strings.Contains(page.String(), "historical_trades") {
		t.Errorf("no row: %s", text.String())
	}
	if len(r.Timeline) == 0 || r.Timeline[0].P99Us < r.Timeline[0].P50Us || r.Timeline[0].P50Us == 0 {
		t.Errorf("the latencies over time: %+v", r.Timeline)
	}
}

// A search ends within 5 % below the highest rate that meets the thresholds, wherever it begins, and has met the rate
// three times and missed the one above three times.
func TestASearchFindsTheHighestRate(t *testing.T) {
	for _, limit := range []float64{1, 3.7, 21.3, 100, 777, 123_456, MaxRPS} {
		for _, start := range []float64{1, 20.9, 100, MaxRPS} {
			s := search{next: start, lowest: lowestRate, upTo: MaxRPS}
			seen, runs := map[float64]int{}, 0
			for ; !s.ended && runs < maxTrials; runs++ {
				seen[s.next]++
				s.take(s.next <= limit)
			}
			low, high := s.low().rate, s.high().rate
			if !s.found || low > limit || low*closeEnough < limit || seen[low] != 3 || high != 0 && seen[high] != 3 {
				t.Errorf("limit %g from %g: %+v after %d runs", limit, start, s, runs)
			}
		}
	}
}

// script makes the runs of a search: meets decides by the rate and by how often it was run before.
func script(t *testing.T, o Options, th Thresholds, meets func(rate float64, before int) bool) (*Report, bool) {
	t.Helper()
	seen := map[float64]int{}
	ctx := context.Background()
	r, found, err := findMax(ctx, o, th, MaxRPS, nil, func(_ context.Context, o Options) (*Report, error) {
		r := &Report{
			Target: o.Target, Answers: 1, Rate: o.RPS, WantedRate: o.RPS, Seconds: o.For.Seconds(),
			Latencies: []Point{{99, 1000}, {99.9, 1000}},
		}
		if !meets(o.RPS, seen[o.RPS]) {
			r.Latencies[0].Us, r.Latencies[1].Us, r.Errors = 1e6, 1e6, 1
		}
		seen[o.RPS]++
		return r, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, found
}

// A miss that is not repeated does not lower the rate that is found: one by noise anywhere, and a storm of them that
// is over when the rate above is run again. The verdict names them.
func TestASearchRepeatsWhatMissed(t *testing.T) {
	const limit = 6000
	o := options("http://127.0.0.1:1/")
	o.RPS = 500
	th := Thresholds{P99: new(50 * time.Millisecond)}
	for what, noise := range map[string]func(run int) bool{
		"none": func(int) bool { return false }, "first": func(run int) bool { return run == 0 },
		"every fifth": func(run int) bool { return run%5 == 1 },
		"a storm":     func(run int) bool { return run > 0 && run < 8 },
	} {
		runs := -1
		r, found := script(t, o, th, func(rate float64, _ int) bool {
			runs++
			return rate <= limit && !noise(runs)
		})
		verdict := fmt.Sprintf("highest rate: %g/s, held 3 times; ", r.HighestRate)
		if !found || r.HighestRate > limit || r.HighestRate*closeEnough < limit || r.WantedRate != r.HighestRate ||
			!r.Checks[0].OK || !strings.HasPrefix(r.Verdict, verdict) {
			t.Errorf("%s: %t, %s, %+v", what, found, r.Verdict, r.Search)
		}
		if strings.Contains(r.Verdict, "Noise, not the rate,") != (what != "none") {
			t.Errorf("%s: %s", what, r.Verdict)
		}
	}
}

// A search without a limit on errors finds no rate with errors, and says so. It finds one when the user allows them.
func TestASearchAllowsNoErrors(t *testing.T) {
	t.Parallel()
	o := options("http://127.0.0.1:1/")
	run := func(_ context.Context, o Options) (*Report, error) {
		return &Report{
			Answers: 1000, Errors: 5, Rate: o.RPS, WantedRate: o.RPS, Latencies: []Point{{99, 1000}},
		}, nil
	}
	th := Thresholds{P99: new(time.Second)}
	r, found, err := findMax(t.Context(), o, th, MaxRPS, nil, run)
	if want := "; errors were limited to 0 %, because --max-errors was not given"; err != nil || found ||
		!strings.HasSuffix(r.Verdict, want) {
		t.Errorf("found %t, %v, %s", found, err, r.Verdict)
	}
	th.MaxErrors = new(0.5)
	if r, found, err = findMax(t.Context(), o, th, MaxRPS, nil, run); err != nil || !found || r.HighestRate != MaxRPS ||
		strings.Contains(r.Verdict, "limited") {
		t.Errorf("errors are allowed: found %t, %v, %s", found, err, r.Verdict)
	}
}

// A search tries no rate above its limit, and says so when the limit holds.
func TestASearchKeepsItsLimit(t *testing.T) {
	o, th := options("http://127.0.0.1:1/"), Thresholds{MaxErrors: new(0.)}
	highest := 0.
	run := func(_ context.Context, o Options) (*Report, error) {
		highest = max(highest, o.RPS)
		return &Report{Answers: 1000, Rate: o.RPS, WantedRate: o.RPS}, nil
	}
	o.RPS = 100
	r, found, err := findMax(t.Context(), o, th, 250, nil, run)
	want := "highest rate: 250/s, held 3 times, and no higher one was tried (--max-rps)"
	if err != nil || !found || highest != 250 || r.HighestRate != 250 || r.Verdict != want {
		t.Errorf("found %t up to %g/s: %s, %v", found, highest, r.Verdict, err)
	}
	for _, upTo := range []float64{99, 0, -1, MaxRPS + 1, math.NaN()} {
		if err := Searchable(&o, th, upTo); err == nil || !strings.Contains(err.Error(), "--max-rps must be from 100") {
			t.Errorf("up to %g: %v", upTo, err)
		}
	}
}

// A search goes back to what held below a rate that is not met again, and runs no rate more often than it needs. When
// it ends without a rate, the verdict has the highest one that held.
func TestASearchRemembersWhatHeld(t *testing.T) {
	o := options("http://127.0.0.1:1/")
	o.RPS = 200
	r, found := script(t, o, Thresholds{MaxErrors: new(0.)}, func(rate float64, before int) bool {
		return rate <= 200 || rate <= 300 && before == 0 // 300 holds once and never again
	})
	runs := map[float64]int{}
	for _, of := range r.Search {
		if runs[of.Wanted]++; runs[of.Wanted] > holds+1 {
			t.Errorf("%g/s was run again: %+v", of.Wanted, r.Search)
		}
	}
	if !found || r.HighestRate != 200 {
		t.Errorf("found %t, %s, %+v", found, r.Verdict, r.Search)
	}
	s := search{tried: []*tried{{rate: 100, held: 3}, {rate: 200, held: 1, missed: 1}, {rate: 300, held: 3, missed: 2}}}
	want := "no rate was confirmed in 40 runs; 100/s held 3 times"
	if got := s.verdict(nil, false, &Thresholds{}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A run of a search has enough requests for its percentile, and a search that would need very long runs is refused.
func TestARunOfASearchHasEnoughRequests(t *testing.T) {
	o := options("http://127.0.0.1:1/")
	for _, c := range []struct {
		th   Thresholds
		need float64
	}{
		{Thresholds{P99: new(50 * time.Millisecond)}, 200},
		{Thresholds{P999: new(50 * time.Millisecond)}, 2000},
		{Thresholds{MaxErrors: new(1.)}, 0},
	} {
		o.RPS = 100
		r, _ := script(t, o, c.th, func(float64, int) bool { return false })
		lowest := r.Search[len(r.Search)-1].Wanted
		for _, run := range r.Search {
			if run.Wanted*run.Seconds < c.need || run.Seconds > 60 {
				t.Errorf("%g requests: %+v", c.need, run)
			}
		}
		if want := max(1, c.need/60); lowest < want || lowest > want*1.01 ||
			!strings.HasPrefix(r.Verdict, "no rate met the thresholds, down to ") {
			t.Errorf("%g requests: the lowest rate is %g: %s", c.need, lowest, r.Verdict)
		}
	}
	o.RPS = 2
	if err := Searchable(&o, Thresholds{P99: new(time.Second)}, MaxRPS); err == nil ||
		!strings.Contains(err.Error(), "give --duration 1m40s") {
		t.Errorf("a run of 100 s: %v", err)
	}
	o.For = 100 * time.Second
	if err := Searchable(&o, Thresholds{P99: new(time.Second)}, MaxRPS); err != nil {
		t.Error(err)
	}
}

// A search ends when nothing meets the thresholds, and when a target meets a rate only once. Both say so.
func TestASearchEnds(t *testing.T) {
	o := options("http://127.0.0.1:1/")
	th := Thresholds{MaxErrors: new(0.)}
	for verdict, meets := range map[string]func(rate float64, before int) bool{
		"no rate met the thresholds, down to 1/s": func(float64, int) bool { return false },
		"no rate was confirmed in 40 runs": func(rate float64, before int) bool {
			return rate <= 1000 && before == 0
		},
	} {
		if r, found := script(t, o, th, meets); found || !strings.HasPrefix(r.Verdict, verdict) || r.HighestRate != 0 {
			t.Errorf("%s: %t, %s, %+v", verdict, found, r.Verdict, r.Search)
		}
	}
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	o = options(url)
	o.RPS = 2
	var trials []Trial
	r, found, err := FindMax(context.Background(), o, Thresholds{MaxErrors: new(50.)}, MaxRPS, func(t Trial) {
		trials = append(trials, t)
	})
	if err != nil || found || len(r.Search) != 3 || len(trials) != 3 || trials[2].Wanted != 1 || trials[2].OK {
		t.Errorf("a target that always fails: found %v, %v, %+v", found, err, trials)
	}
	var text, page bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteHTML(&page)); err != nil {
		t.Fatal(err)
	}
	for _, b := range []string{text.String(), page.String()} {
		if !strings.Contains(b, "no rate met the thresholds, down to 1/s") {
			t.Errorf("no verdict in %s", b)
		}
	}
	o.RPS = 0
	if _, _, err := FindMax(context.Background(), o, Thresholds{MaxErrors: new(50.)}, MaxRPS, nil); err == nil {
		t.Error("a search from no rate is not refused")
	}
}

// Two reports are read back and compared line by line; other files are refused with their name.
func TestReportsAreCompared(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, content any) string {
		raw, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	before := Report{
		Target: "http://a/", Rate: 100, Latencies: []Point{{50, 1000}, {99, 2000}},
		Routes: []Route{{Name: "old", P99Us: 1}, {Name: "both", P99Us: 4000}},
	}
	after := before
	after.Rate, after.Latencies = 150, []Point{{50, 500}, {99, 2000}}
	after.Routes = []Route{{Name: "both", P99Us: 5000}, {Name: "fresh", P99Us: 7000}}
	var reports []*Report
	for name, r := range map[string]Report{"a": before, "b": after} {
		if _, err := ReadReport(file(name, r)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		r, err := ReadReport(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		reports = append(reports, r)
	}
	var out bytes.Buffer
	if met, err := WriteComparison(&out, reports[0], reports[1], nil); err != nil || !met {
		t.Fatal(met, err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"rate, /s 100.0 150.0 +50.0 %", "p50, ms 1.000 0.500 -50.0 %", "p99, ms 2.000 2.000 +0.0 %",
		"both p99, ms 4.000 5.000 +25.0 %", "fresh p99, ms 7.000 new", "old p99, ms 0.001 gone",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if strings.Contains(text, "differ") || strings.Contains(text, "wanted rate") {
		t.Errorf("equal runs at no rate: %s", text)
	}
	after.Target, after.Mix, after.Stages, after.WantedRate = "http://b/", MixPolls, "1s:5", 7
	out.Reset()
	if _, err := WriteComparison(&out, &before, &after, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"the runs differ: their targets are http://a/ and http://b/\n", "their mixes are none and polls\n",
		"their stages are none and 1s:5\n", "their wanted rates are none and 7\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, &out)
		}
	}
	compareTo(t)
	for _, wrong := range []any{"x", map[string]any{}, map[string]any{"target": "x", "new": 1}} {
		if _, err := ReadReport(file("c", wrong)); err == nil || !strings.Contains(err.Error(), "load --json FILE") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

// compareTo compares reports with a limit: it is met at the bound and missed behind it, by each figure that can be
// worse and by no other.
func compareTo(t *testing.T) {
	t.Helper()
	old := Report{
		Rate: 100, Answers: 1000, Errors: 10, Latencies: []Point{{50, 1000}, {99, 2000}},
		Routes: []Route{{Name: "book", P99Us: 4000}},
	}
	for name, c := range map[string]struct {
		change func(r *Report)
		missed string
	}{
		"equal":               {func(*Report) {}, ""},
		"rate at the bound":   {func(r *Report) { r.Rate = 90 }, ""},
		"rate behind it":      {func(r *Report) { r.Rate = 89.9 }, "rate, /s"},
		"rate is higher":      {func(r *Report) { r.Rate = 200 }, ""},
		"p99 at the bound":    {func(r *Report) { r.Latencies = []Point{{50, 1000}, {99, 2200}} }, ""},
		"p99 behind it":       {func(r *Report) { r.Latencies = []Point{{50, 1000}, {99, 2201}} }, "p99, ms"},
		"p99 is lower":        {func(r *Report) { r.Latencies = []Point{{50, 1000}, {99, 1}} }, ""},
		"p50 is no figure":    {func(r *Report) { r.Latencies = []Point{{50, 1900}, {99, 2000}} }, ""},
		"errors at the bound": {func(r *Report) { r.Errors = 11 }, ""},
		"errors behind it":    {func(r *Report) { r.Errors = 12 }, "errors, %"},
		"as many of more":     {func(r *Report) { r.Errors, r.Answers = 20, 2000 }, ""},
		"route at the bound":  {func(r *Report) { r.Routes = []Route{{Name: "book", P99Us: 4400}} }, ""},
		"route behind it":     {func(r *Report) { r.Routes = []Route{{Name: "book", P99Us: 4401}} }, "book p99, ms"},
		"route is gone":       {func(r *Report) { r.Routes = nil }, "book p99, ms"},
		"route is new":        {func(r *Report) { r.Routes = append(r.Routes[:1:1], Route{Name: "x", P99Us: 9}) }, ""},
	} {
		after := old
		c.change(&after)
		var out bytes.Buffer
		met, err := WriteComparison(&out, &old, &after, new(10.))
		line := ""
		for text := range strings.Lines(out.String()) {
			if strings.Contains(text, "MISSED") {
				line += strings.TrimSpace(text)
			}
		}
		if err != nil || met != (c.missed == "") || !strings.HasPrefix(line, c.missed) || (line == "") != met {
			t.Errorf("%s: met %t, %q: %v", name, met, line, err)
		}
	}
	none, some := old, old
	none.Errors, some.Errors = 0, 1
	if met, err := WriteComparison(io.Discard, &none, &some, new(1000.)); err != nil || met {
		t.Errorf("errors where there were none: met %t, %v", met, err)
	}
}

// The seconds of a run begin when sending does, however long its connections took to open.
func TestSecondsBeginWithSending(t *testing.T) {
	t.Parallel()
	const opening = 1500 * time.Millisecond
	target, _ := serve(t, func(http.ResponseWriter, *http.Request) {})
	o := options(target)
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	run := o.loop(t.Context(), u, nil, &load.Live{})
	run.Requests = []*load.Request{o.request(u, nil)}
	var first sync.Once
	dial := run.Dial
	run.Dial = func(addr string) (*load.Conn, error) {
		first.Do(func() { <-time.After(opening) })
		return dial(addr)
	}
	before := time.Now()
	r, err := o.measureLoop(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Started.Sub(before); got < opening {
		t.Errorf("the run began %s behind its call, in which its connections were being opened", got)
	}
	if first := r.Timeline[0]; first.Rate < o.RPS/2 {
		t.Errorf("the opening is in the first second: %+v", r.Timeline)
	}
}
