package format

import (
	"encoding/json"
	"io"
	"slices"

	"tickhive/sim/replay/format/decimal"
	"tickhive/sim/replay/format/input"
)

// maxKlines bounds the candles of a recording: two years of minutes.
const maxKlines = 1 << 20

// binanceKlines holds the closed candles of a recording, which are compared at its end.
type binanceKlines struct {
	all  []binanceKline
	next int // index of the candle that record returns next
}

// binanceKline is a closed candle.
type binanceKline struct {
	startNs, lengthNs int64
	prices            [4]decimal.Decimal // open, high, low, close
	volume            decimal.Decimal
	at                input.Position
}

// klineSeconds maps the names of intervals to their lengths. Candles of other intervals are left out.
var klineSeconds = map[string]int64{
	"1m": 60, "3m": 180, "5m": 300, "15m": 900, "30m": 1800, "1h": 3600, "4h": 14_400, "1d": 86_400,
}

// take adds the candle of a message when it is closed.
func (k *binanceKlines) take(data []byte, at input.Position) error {
	var m struct {
		Candle struct {
			Start    text   `json:"t"`
			End      text   `json:"T"` // without it, T would be decoded into Start
			Interval string `json:"i"`
			Open     text   `json:"o"`
			High     text   `json:"h"`
			Low      text   `json:"l"`
			LastID   text   `json:"L"`
			Close    text   `json:"c"`
			Volume   text   `json:"v"`
			BuyBase  text   `json:"V"`
			Closed   bool   `json:"x"`
		} `json:"k"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return locateJSON(err, remedyBinance)
	}
	c, out := &m.Candle, binanceKline{at: at}
	if out.lengthNs = klineSeconds[c.Interval] * input.SecondNs; out.lengthNs == 0 || !c.Closed {
		return nil
	}
	if len(k.all) == maxKlines {
		return input.FlawAt(0, "cut the recording", "more than %d candles", maxKlines)
	}
	start, err := decimal.Parse(c.Start)
	if err == nil {
		out.startNs, _, err = input.UnixNs(start)
	}
	if err != nil {
		return locateMember(data, "t", err)
	}
	for i, price := range [4]text{c.Open, c.High, c.Low, c.Close} {
		if out.prices[i], err = input.Positive("price", price); err != nil {
			return locateMember(data, "k", err)
		}
	}
	if out.volume, err = input.NotNegative("volume", c.Volume); err != nil {
		return locateMember(data, "v", err)
	}
	k.all = append(k.all, out)
	return nil
}

// sets describes the candles in the survey, and puts them in order of interval and time.
func (k *binanceKlines) sets(s *Survey) {
	slices.SortStableFunc(k.all, func(a, b binanceKline) int {
		if a.lengthNs != b.lengthNs {
			return int((a.lengthNs - b.lengthNs) / input.SecondNs)
		}
		return int((a.startNs - b.startNs) / input.SecondNs)
	})
	for i := range k.all {
		if n := len(s.Sets); n == 0 || s.Sets[n-1].LengthNs != k.all[i].lengthNs {
			s.Sets = append(s.Sets, Set{k.all[i].lengthNs})
		}
	}
}

// record fills r with the next candle. It returns io.EOF after the last one.
func (k *binanceKlines) record(s *Survey, r *Record) error {
	r.reset()
	if k.next == len(k.all) {
		return io.EOF
	}
	c := &k.all[k.next]
	k.next++
	r.Kind, r.At, r.NS, r.Bar.Trades = Candle, c.at, c.startNs, -1
	r.Bar.Set = slices.IndexFunc(s.Sets, func(set Set) bool { return set.LengthNs == c.lengthNs })
	return s.prices(r, c.prices, c.volume, c.at)
}
