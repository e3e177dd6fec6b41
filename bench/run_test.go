package bench

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/bench/report"
)

func quietRun(o Options) *Run {
	o.Say = func(string) {}
	return &Run{Options: o, S: &report.Scenario{}}
}

// A quick run has half the length and leaves the largest size of a curve out.
func TestQuickRunsAreShorter(t *testing.T) {
	whole, quick := quietRun(Options{Rounds: 5}), quietRun(Options{Rounds: 3, Quick: true})
	if whole.length(time.Second) != time.Second || quick.length(time.Second) != time.Second/2 {
		t.Errorf("%s and %s", whole.length(time.Second), quick.length(time.Second))
	}
	if !slices.Equal(whole.sizes(1, 2, 3), []int{1, 2, 3}) || !slices.Equal(quick.sizes(1, 2, 3), []int{1, 2}) {
		t.Errorf("%v and %v", whole.sizes(1, 2, 3), quick.sizes(1, 2, 3))
	}
	if whole.cpuRounds() != 10 || quick.cpuRounds() != 6 {
		t.Errorf("%d and %d rounds", whole.cpuRounds(), quick.cpuRounds())
	}
}

// Rounds is five, three when quick, unless it is given; a scenario that is not named does not run.
func TestMeasureRunsWhatIsNamed(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want int
	}{{Options{}, 5}, {Options{Quick: true}, 3}, {Options{Quick: true, Rounds: 7}, 7}} {
		c.o.Dir = t.TempDir()
		rep, err := Measure(c.o, "nothing of this name")
		if err != nil || rep.Rounds != c.want || len(rep.Scenarios) != 0 {
			t.Errorf("%d rounds, %d scenarios, %v", rep.Rounds, len(rep.Scenarios), err)
		}
	}
	if names := Names(); len(names) != 14 || names[0] != "engine" || names[13] != "scale" {
		t.Errorf("%v", names)
	}
}

// The table of routes holds the best round of each server at each route.
func TestRoutesHoldTheBestRound(t *testing.T) {
	r := quietRun(Options{})
	for _, x := range []struct {
		server  string
		answers int64
		cpuUs   int64
	}{{"product", 100, 5}, {"constant", 90, 4}, {"product", 120, 7}, {"product", 110, 3}} {
		r.route("book", x.server, &load.Result{
			Answers: x.answers, Elapsed: time.Second, Server: time.Duration(x.answers*x.cpuUs) * time.Microsecond,
		})
	}
	if len(r.S.Routes) != 2 {
		t.Fatalf("%d rows", len(r.S.Routes))
	}
	if best := r.S.Routes[0]; best.Server != "product" || best.Rate != 120 || best.CPU != 3 {
		t.Errorf("%+v", best)
	}
}

// A missed goal gets a reason: its rounds, or the load of other processes.
func TestMissedGoalsGetAReason(t *testing.T) {
	r := quietRun(Options{})
	r.S.Others = 50
	add := func(x row, product []float64, reference ...float64) *report.Measure {
		m := x.measure()
		m.Product, m.Reference = product, reference
		r.S.Measures = append(r.S.Measures, m)
		return m
	}
	missed := add(row{goal: "E1", unit: "us", target: 1, reference: "floor"}, []float64{30, 20}, 10, 10)
	met := add(row{goal: "E1", unit: "us", target: 3, reference: "floor"}, []float64{20}, 10)
	alone := add(row{goal: "H10", unit: "orders/s", target: 100, how: higher}, []float64{50})
	r.explain()
	if !strings.HasPrefix(missed.Reason, "best rounds 20 us and 10 of the reference") {
		t.Error(missed.Reason)
	}
	if met.Reason != "" {
		t.Errorf("%q", met.Reason)
	}
	if !strings.Contains(alone.Reason, "other processes took 50 %") {
		t.Error(alone.Reason)
	}
}

// Sides take turns, and each row gets the figures that the table names, its own and its reference's of the same round.
func TestSidesTakeTurns(t *testing.T) {
	r := quietRun(Options{})
	order, n := "", 0.
	side := func(letter string, figure string) turn {
		return func(f figures) error {
			order += letter
			n++
			f[figure] = n
			return nil
		}
	}
	s := scenario{name: "planted", rows: []row{
		{goal: "E1", name: "own", unit: "us", target: 3, reference: "floor"}, {name: "alone", unit: "us"},
	}}
	s.run = func(r *Run) error { return r.rounds("x", 3, side("A", "floor"), side("B", "own"), side("C", "alone")) }
	if err := r.measure(s); err != nil || order != "ABCABCABC" {
		t.Errorf("turns %s, %v", order, err)
	}
	own, alone := r.S.Measures[0], r.S.Measures[1]
	if !slices.Equal(own.Product, []float64{2, 5, 8}) || !slices.Equal(own.Reference, []float64{1, 4, 7}) ||
		!slices.Equal(alone.Product, []float64{3, 6, 9}) || len(alone.Reference) != 0 {
		t.Errorf("%+v, %+v", own, alone)
	}
	floor, product, other, more := side("A", "floor"), side("B", "own"), side("C", "alone"), side("D", "another")
	for says, turns := range map[string][]turn{
		`"alone" was not measured`:            {floor, product},
		`"floor" was not measured beside`:     {product, other},
		`"another" is in no row of the table`: {floor, product, other, more},
	} {
		s.run = func(r *Run) error { return r.rounds("x", 1, turns...) }
		if err := quietRun(Options{}).measure(s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want: %s", err, says)
		}
	}
}

// Bodies of orders are JSON, and each second order trades with the one before.
func TestOrdersOfTheLoadTradeInPairs(t *testing.T) {
	type place struct {
		Pair, Side, Price, Amount string
	}
	parse := func(body []byte) (p place) {
		var m struct {
			Pair   string `json:"currencyPairCode"`
			Side   string `json:"side"`
			Price  string `json:"price"`
			Amount string `json:"amount"`
		}
		if err := json.Unmarshal(body, &m); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return place(m)
	}
	for i := 0; i < 100; i += 2 {
		buy, sell := parse(orderBody(i, "AA_BB", "CC_DD")), parse(orderBody(i+1, "AA_BB", "CC_DD"))
		if buy.Side != "buy" || sell.Side != "sell" || buy.Price != sell.Price || buy.Amount != sell.Amount ||
			buy.Pair != sell.Pair {
			t.Fatalf("%+v, %+v", buy, sell)
		}
	}
	codes := []string{"AA_BB", "CC_DD", "EE_FF"}
	for name, requests := range map[string][]*load.Request{
		"batches": batchRequests(batchSize),
		"mixed":   batches(40, mixedBatch, codes...),
		"single":  singleOrders(codes...),
	} {
		for _, r := range requests {
			_, body, _ := bytes.Cut(r.Bytes(nil, nil), []byte("\r\n\r\n"))
			if !json.Valid(body) {
				t.Fatalf("%s: %.200s", name, body)
			}
			if b, s := bytes.Count(body, []byte(`"buy"`)), bytes.Count(body, []byte(`"sell"`)); b != s &&
				name != "single" {
				t.Errorf("%s: %d buy and %d sell", name, b, s)
			}
		}
	}
}

// A poller asks for three documents over all pairs, and for two of each pair.
func TestPollersAskForEveryPair(t *testing.T) {
	requests := pollRequests("/base", []string{"AA_BB", "CC_DD"})
	if len(requests) != 3+2*2 {
		t.Fatalf("%d requests", len(requests))
	}
	for _, r := range requests {
		text := string(r.Bytes(nil, []byte(`"tag"`)))
		if !strings.HasPrefix(text, "GET /base/") || !strings.Contains(text, "Accept-Encoding: gzip\r\n") ||
			!strings.Contains(text, "If-None-Match: \"tag\"\r\n") {
			t.Errorf("%s", text)
		}
	}
}
