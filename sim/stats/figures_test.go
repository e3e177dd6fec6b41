package stats

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestKurtosisOfTwoValuesIsOneAndOfARareJumpIsLarge(t *testing.T) {
	if k := Kurtosis([]float64{1, -1, 1, -1}); math.Abs(k-1) > 1e-12 {
		t.Errorf("kurtosis of a coin is %v, want 1", k)
	}
	jump := make([]float64, 100)
	jump[50] = 1
	if k := Kurtosis(jump); k < 90 {
		t.Errorf("kurtosis of one jump among 100 is %v, want about 97", k)
	}
}

func TestAutocorrelationSeesAPeriod(t *testing.T) {
	var v []float64
	for i := range 10_000 {
		v = append(v, math.Sin(2*math.Pi*float64(i)/100))
	}
	if a := MeanAutocorr(v); a < 0.9 {
		t.Errorf("slow sine: %v, want above 0.9", a)
	}
	for i := range v {
		v[i] = float64(1 - i%2*2)
	}
	if a := MeanAutocorr(v); math.Abs(a) > 0.01 {
		t.Errorf("alternating: the mean over ten lags is %v, want 0", a)
	}
}

func TestFaultNamesTheFigure(t *testing.T) {
	good := Figures{Minutes: 100, Traded: 95, SpreadBp: 3, Kurtosis: 6, AbsAutocorr: 0.2, Autocorr: -0.1}
	if f := good.Fault(); f != "" {
		t.Errorf("good figures: %s", f)
	}
	for word, change := range map[string]func(*Figures){
		"minutes":  func(f *Figures) { f.Traded = 94 },
		"spread":   func(f *Figures) { f.SpreadBp = 20.1 },
		"kurtosis": func(f *Figures) { f.Kurtosis = math.NaN() },
		"absolute": func(f *Figures) { f.AbsAutocorr = 0.1 },
		"returns":  func(f *Figures) { f.Autocorr = 0.11 },
	} {
		f := good
		change(&f)
		if fault := f.Fault(); !strings.Contains(fault, word) {
			t.Errorf("want a fault about %s, got %q", word, fault)
		}
	}
}

func TestVolumesAreComparedInOneCurrency(t *testing.T) {
	all := []Figures{
		{Code: "BTC_USDT", Volume: 1000, Last: 100},
		{Code: "ETH_USDT", Volume: 500, Last: 10},
		{Code: "ETH_BTC", Volume: 1, Last: 0.1}, // 100 USDT
		{Code: "BTC_EUR", Volume: 25, Last: 50}, // 50 USDT
	}
	if r := VolumeRatio(all); math.Abs(r-20) > 1e-9 {
		t.Errorf("ratio %v, want 20", r)
	}
}

func TestFiguresComeFromThePublicAPI(t *testing.T) {
	mux := http.NewServeMux()
	answer := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	}
	answer("/api/time", `{"serverTime":1767571260000,"iso":""}`)
	answer("/api/currencies/pairs", `[{"code":"A1_B1","digitsPrice":2,"digitsAmount":2}]`)
	answer("/api/marketdata/getaggregator/tickers", `[{"ticker_id":"A1_B1","bid":99.95,"ask":100.05}]`)
	mux.HandleFunc("/api/ohlc", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("start") == "2026-01-04T23:01:00" {
			w.Header().Set("X-Next-Start", "2026-01-04T23:59:00")
			fmt.Fprint(w, `[{"close":100.00,"volume":5.0000},{"close":100.00,"volume":0.0000}]`)
			return
		}
		if r.FormValue("start") != "2026-01-04T23:59:00" || r.FormValue("end") != "2026-01-05T00:00:00" {
			t.Errorf("asked for %s to %s", r.FormValue("start"), r.FormValue("end"))
		}
		fmt.Fprint(w, `[{"close":101.00,"volume":7.0000}]`)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	all, err := Fetch(context.Background(), Options{BaseURL: s.URL, Hours: 1, Samples: 2, Every: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	f := all[0]
	if f.Minutes != 3 || f.Traded != 2 || f.Volume != 12 || f.Last != 101 || math.Abs(f.SpreadBp-10) > 1e-6 ||
		f.Samples != 2 {
		t.Errorf("%+v", f)
	}
	var text strings.Builder
	if err := Print(&text, all); err != nil || !strings.Contains(text.String(), "A1_B1") {
		t.Errorf("%v, %s", err, text.String())
	}
}
