package report

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

func sample() *Report {
	return &Report{
		Format: Format, Started: time.Unix(1_800_000_000, 0).UTC(), Command: "tickhive-bench all", Version: "TickHive",
		Commit: "abc", Rounds: 3,
		Machine: Machine{CPU: "a <processor>", Cores: 2}, Settings: []Setting{{"sync", "interval"}},
		Scenarios: []*Scenario{{
			Name: "engine", Notes: []string{"a & b"},
			Measures: []*Measure{
				{
					Name: "w1", Unit: "ns/op", RefName: "floor", Product: []float64{30, 33, 40},
					Reference: []float64{10, 11, 10}, Goal: "E1", Target: 3.5,
				},
				{
					Name: "rate", Unit: "orders/s", Higher: true, Product: []float64{100, 90, 80},
					Goal: "H10", Target: 200,
				},
			},
			Latencies: []Latency{{
				Name: "poll", Count: 5, P: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9},
				PerSecond: []int64{1, 2, 2},
			}},
			Routes: []Route{{Name: "/x", Server: "product", Bytes: 5, Rate: 10, CPU: 7}},
			Curves: []Curve{{Name: "memory", X: []float64{1, 10, 100}, Y: []float64{2, 20, 200}, Slope: 1}},
		}},
	}
}

func TestMeasureIsJudgedByBestRounds(t *testing.T) {
	r := sample()
	w1, rate := r.Scenarios[0].Measures[0], r.Scenarios[0].Measures[1]
	if w1.Best() != 3 || !w1.Met() || rate.Best() != 100 || rate.Met() {
		t.Errorf("w1 %v met %v, rate %v met %v", w1.Best(), w1.Met(), rate.Best(), rate.Met())
	}
	if s := w1.Spread(); s.Min != 3 || s.Median != 3 || s.Max != 4 {
		t.Errorf("%+v", s)
	}
	coarse := Measure{Product: []float64{0}, Reference: []float64{5}, Target: 1, Goal: "X1"}
	if coarse.Met() {
		t.Error("work that took no time at all is a clock that was too coarse, not a goal met")
	}
	pause := Measure{Worst: true, Product: []float64{1, 9, 2}, Target: 5, Goal: "X1"}
	if pause.Best() != 9 || pause.Met() {
		t.Errorf("a pause is judged by its worst round: %v", pause.Best())
	}
}

func TestGoalsAreInOrder(t *testing.T) {
	s := &Scenario{}
	for _, g := range []string{"H10", "E2", "H1", "R1", "E1a", "E1", "H9"} {
		s.Measures = append(s.Measures, &Measure{Name: g, Product: []float64{1}, Goal: g, Target: 1})
	}
	var got []string
	for _, m := range (&Report{Scenarios: []*Scenario{s}}).Goals() {
		got = append(got, m.Goal)
	}
	if strings.Join(got, " ") != "E1 E1a E2 H1 H9 H10 R1" {
		t.Error(got)
	}
}

func TestReportSurvivesItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	if err := sample().Save(file); err != nil {
		t.Fatal(err)
	}
	r, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Scenarios[0].Measures[0]; m.Best() != 3 || m.Goal != "E1" || r.Machine.Cores != 2 {
		t.Errorf("%+v", m)
	}
	if err := os.WriteFile(file, []byte(`{"format":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err == nil {
		t.Error("another format was read")
	}
}

// The page stands alone: no address outside of it, plots inside, text escaped.
func TestPageStandsAlone(t *testing.T) {
	var b bytes.Buffer
	if err := sample().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if n := strings.Count(page, "<svg"); n != 4 {
		t.Errorf("%d plots, not those of goals, latency, throughput and a curve", n)
	}
	for _, bad := range []string{"<processor>", "src=", "href=\"http", "@import", "<?xml", "a & b"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, want := range []string{"not met", "E1", "H10", "tickhive-bench all", "&lt;= 3.50 x"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	b.Reset()
	if err := sample().WriteTable(&b); err != nil || !strings.Contains(b.String(), "1 of 2 met") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestSlope(t *testing.T) {
	x := []float64{1, 10, 100, 1000}
	square := []float64{3, 300, 30_000, 3_000_000}
	if s := Slope(x, square); math.Abs(s-2) > 1e-9 {
		t.Error(s)
	}
	if s := Slope(x, []float64{5, 5, 5, 5}); math.Abs(s) > 1e-9 {
		t.Error(s)
	}
}

// busy burns CPU and returns the CPU time.
func busy(n int) float64 {
	cpu := func() int64 { // of this thread, to the nanosecond
		var t syscall.Timespec
		_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&t)), 0)
		return t.Nano()
	}
	before := cpu()
	x := uint64(88172645463325252)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	if x == 0 {
		return 0
	}
	return float64(cpu() - before)
}

// measured returns a report of a program whose operation takes work units, beside a reference
// of one unit, in turn with it.
func measured(work float64) *Report {
	const unit = 300_000
	runtime.LockOSThread() // CPU is counted by the thread
	defer runtime.UnlockOSThread()
	m := &Measure{Name: "operation", Unit: "ns", RefName: "reference"}
	for range 100 {
		m.Product = append(m.Product, busy(int(work*unit)))
		m.Reference = append(m.Reference, busy(unit))
	}
	return &Report{Format: Format, Scenarios: []*Scenario{{Name: "planted", Measures: []*Measure{m}}}}
}

// A program that became a fifth slower is found; the same program measured again is not
// called a regression.
func TestCompareFindsPlantedSlowdown(t *testing.T) {
	for try := 0; ; try++ {
		before, again, slower := measured(1), measured(1), measured(1.2)
		same, _ := Compare(before, again)
		worse, _ := Compare(before, slower)
		better, _ := Compare(slower, before)
		if !same[0].Regression && worse[0].Regression && !better[0].Regression {
			return
		}
		// A machine that is shared moves figures by itself now and then: measured again.
		if try == 5 {
			t.Fatalf("same %+v\nslower %+v\nbetter %+v", same[0], worse[0], better[0])
		}
	}
}

// What lies within the noise that a file itself measured is no regression, beyond it is;
// rates count the other way round.
func TestCompareKnowsTheNoise(t *testing.T) {
	one := func(m *Measure) *Report { return &Report{Scenarios: []*Scenario{{Name: "s", Measures: []*Measure{m}}}} }
	for _, c := range []struct {
		name          string
		before, after []float64
		higher, want  bool
	}{
		{"quiet, a fifth", []float64{100, 101, 102}, []float64{120, 121, 125}, false, true},
		{"quiet, within the floor", []float64{100, 101, 102}, []float64{104, 104, 105}, false, false},
		{"noisy, a fifth", []float64{100, 160, 190}, []float64{120, 150, 200}, false, false},
		{"noisy, twice", []float64{100, 140, 190}, []float64{200, 210, 230}, false, true},
		{"a rate that fell", []float64{100, 99, 98}, []float64{80, 79, 78}, true, true},
		{"a rate that rose", []float64{100, 99, 98}, []float64{130, 129, 128}, true, false},
	} {
		changes, missing := Compare(one(&Measure{Name: "m", Higher: c.higher, Product: c.before}),
			one(&Measure{Name: "m", Higher: c.higher, Product: c.after}))
		if len(changes) != 1 || changes[0].Regression != c.want || len(missing) != 0 {
			t.Errorf("%s: %+v", c.name, changes)
		}
	}
	_, missing := Compare(one(&Measure{Name: "gone", Product: []float64{1}}), &Report{})
	if len(missing) != 1 {
		t.Error("a measure that is gone was not told")
	}
	stale := &Measure{Name: "stale", Product: []float64{3}, Target: 0, Goal: "X1"}
	none := &Measure{Name: "stale", Product: []float64{0}, Target: 0, Goal: "X1"}
	if changes, _ := Compare(one(none), one(stale)); !changes[0].Regression {
		t.Error("stale answers where there were none are a regression")
	}
}

// Latencies, errors, rates and costs of routes are compared too, and reports without a common figure are an error.
func TestCompareSeesLatenciesErrorsAndRates(t *testing.T) {
	of := func(us float64, errors int64, rate, cpu float64) *Report {
		l := Latency{Name: "poll", Count: 10_000, Errors: errors, PerSecond: []int64{5000, 5000}}
		for range Quantiles() {
			l.P = append(l.P, us)
		}
		return &Report{Scenarios: []*Scenario{{
			Name: "poll", Latencies: []Latency{l},
			Routes: []Route{{Name: "time", Server: "product", Rate: rate, CPU: cpu}},
		}}}
	}
	before := of(100, 0, 1000, 10)
	for name, c := range map[string]struct {
		after *Report
		worse int
	}{
		"same":    {of(100, 0, 1000, 10), 0},
		"better":  {of(50, 0, 2000, 5), 0},
		"noise":   {of(140, 5, 700, 14), 0},
		"slow":    {of(10_000, 0, 1000, 10), 2},
		"errors":  {of(100, 9000, 1000, 10), 2}, // their share, and the answers that are missing
		"rate":    {of(100, 0, 100, 10), 1},
		"no rate": {of(100, 0, 0, 10), 1},
		"cost":    {of(100, 0, 1000, 100), 1},
	} {
		n, err := WriteComparison(io.Discard, before, c.after)
		if n != c.worse || err != nil {
			t.Errorf("%s: %d regressions, want %d, %v", name, n, c.worse, err)
		}
	}
	if _, missing := Compare(before, &Report{}); len(missing) != 6 {
		t.Errorf("missing: %v", missing)
	}
	if _, err := WriteComparison(io.Discard, before, &Report{}); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing in common: %v", err)
	}
}
