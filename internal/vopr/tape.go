package vopr

import (
	"crypto/sha1" //nolint:gosec // the ids of deals are UUIDs of version 5
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"
)

// deal is a public trade. Price and amount are in units of 10^-2 and 10^-4.
type deal struct {
	atNs          int64
	price, amount int64
}

// digits of the pairs of a simulation.
const (
	priceDigits  = 2
	amountDigits = 4
)

// windowSlackS is the age in seconds that the figures of a window may have: it slides when the loop publishes.
const windowSlackS = 120

// checkTapes compares each pair's public trades with the trades that the pair had before, and its candles and 24 h
// window with the folds of these trades.
func (w checker) checkTapes() {
	for _, pair := range w.model.pairs {
		w.model.latestNs = max(w.model.latestNs, w.model.readClockNs)
		w.model.readClockNs = w.clock.NowNs()
		t := w.tapes()
		t.read(pair)
		if w.failure != nil || w.p.dead {
			return
		}
		t.checkFills(pair)
		w.checkReached(pair)
		t.checkTold(pair)
		w.checkCandles(pair)
		w.checkWindow(pair)
	}
}

// tapes are the public trades of the pairs, and what was told of them.
type tapes struct {
	told *told
	of   map[string][]deal // by pair; trade n is at n-1
	get  func(target string) answer
	fail func(format string, args ...any)
}

func (w *world) tapes() *tapes {
	get := func(target string) answer { return w.call(nil, "GET", target, "") }
	return &tapes{&w.model.told, w.model.tapes, get, w.fail}
}

// read reads the trades of a pair from the newest page back to one that is known.
func (t *tapes) read(pair string) {
	had := t.of[pair]
	var fresh []deal // newest first
	var ids []string
	for page, known := 1, false; !known; page++ {
		var rows []struct {
			ID            string
			DealDateUtc   string
			Price, Volume json.Number
		}
		target := fmt.Sprintf("/api/deals?currencyPairCode=%s&pageSize=100&pageNumber=%d", pair, page)
		a := t.get(target)
		if a.status == 0 {
			return
		}
		if err := a.into(&rows); err != nil {
			t.fail("the trades of %s: %v", pair, err)
			return
		}
		for _, r := range rows {
			if known = len(had) > 0 && r.ID == dealID(pair, len(had)); known {
				break
			}
			at, err := time.Parse("2006-01-02T15:04:05.0000000Z", r.DealDateUtc)
			if err != nil {
				t.fail("a trade of %s: %v", pair, err)
				return
			}
			fresh = append(fresh, deal{at.UnixNano(), scaled(r.Price, priceDigits), scaled(r.Volume, amountDigits)})
			ids = append(ids, r.ID)
		}
		if len(rows) < 100 && !known {
			if len(had) > 0 {
				t.fail("trade %d of %s is not among the trades any more", len(had), pair)
				return
			}
			break
		}
	}
	tape := had
	for i := len(fresh) - 1; i >= 0; i-- {
		tape = append(tape, fresh[i])
		n := len(tape)
		if ids[i] != dealID(pair, n) {
			t.fail("the trade after trade %d of %s has another id", n-1, pair)
			return
		}
		if n > 1 && tape[n-1].atNs < tape[n-2].atNs {
			t.fail("trade %d of %s is older than the one before", n, pair)
			return
		}
	}
	t.of[pair] = tape
}

// dealID returns the id of a pair's n-th trade.
func dealID(pair string, n int) string {
	v5 := func(space []byte, name string) []byte {
		sum := sha1.Sum(append(space, name...)) //nolint:gosec // UUIDs of version 5
		id := sum[:16]
		id[6], id[8] = id[6]&0x0f|0x50, id[8]&0x3f|0x80
		return id
	}
	url, _ := hex.DecodeString("6ba7b8119dad11d180b400c04fd430c8")
	id := v5(v5(url, "tickhive:deal"), pair+":"+strconv.Itoa(n))
	s := hex.EncodeToString(id)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// scaled returns a decimal in units of 10^-digits; a number that has more digits is -1.
func scaled(n json.Number, digits int) int64 {
	whole, fraction, _ := strings.Cut(shortest(n.String()), ".")
	if len(fraction) > digits {
		return -1
	}
	v, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil {
		return -1
	}
	return v
}

// checkFills verifies that each fill of an answer is a public trade.
func (t *tapes) checkFills(pair string) {
	tape := t.of[pair]
	for id, text := range t.told.trades[pair] {
		if id == 0 || id > uint64(len(tape)) {
			t.fail("trade %d of %s was in an answer, and the public trades end at %d", id, pair, len(tape))
			return
		}
		d := tape[id-1]
		if want := decimal(d.price, priceDigits) + " x " + decimal(d.amount, amountDigits); text != want {
			t.fail("trade %d of %s was %s in an answer and is %s", id, pair, text, want)
			return
		}
	}
}

// checkTold verifies what streams told with the tape of a pair: the times of trades, and candles told as closed.
func (t *tapes) checkTold(pair string) {
	tape := t.of[pair]
	for id, at := range t.told.times[pair] {
		if id > uint64(len(tape)) || time.Unix(0, tape[id-1].atNs).UTC().String() != at {
			t.fail("a stream told trade %d of %s at %s, and the public trades have another or end at %d", id, pair, at,
				len(tape))
			return
		}
	}
	if len(t.told.closed[pair]) == 0 {
		return
	}
	have := map[string]string{}
	for _, c := range foldCandles(tape, 60) {
		have[c.Date] = c.text()
	}
	for start, text := range t.told.closed[pair] {
		if have[start] != text {
			t.fail("a stream told the closed candle %s of %s, its trades give %s", text, pair, have[start])
			return
		}
	}
}

// decimal returns units of 10^-digits as a decimal without zeros at its end.
func decimal(v int64, digits int) string {
	s := fmt.Sprintf("%0*d", digits+1, v)
	return shortest(s[:len(s)-digits] + "." + s[len(s)-digits:])
}

// candle is the naive fold of the trades of an interval.
type candle struct {
	Date                   string
	Open, Max, Min, Close  jsonText
	Volume, VolumeBase     jsonText
	open, high, low, close int64
	quote, base            big.Int
}

type interval struct {
	name    string
	seconds int64
}

// checkCandles compares the candles with the folds of the trades.
func (w checker) checkCandles(pair string) {
	tape := w.model.tapes[pair]
	intervals := []interval{{"minutes15", 900}, {"hour", 3600}, {"day", 86_400}}
	for _, of := range []interval{{"minute", 60}, intervals[w.mix.Lives%len(intervals)]} {
		want := foldCandles(tape, of.seconds)
		var got []candle
		target := "/api/ohlc?currencyPairCode=" + pair + "&interval=" + of.name + "&start=2025-12-01&end=2027-01-01"
		if a := w.call(nil, "GET", target, ""); a.status == 0 {
			return
		} else if err := a.into(&got); err != nil {
			w.fail("the candles of %s: %v", pair, err)
			return
		}
		if len(got) != min(len(want), 1000) {
			w.fail("%s has %d candles of %s, its trades give %d", pair, len(got), of.name, len(want))
			return
		}
		for i := range got {
			if g, c := got[i].text(), want[i].text(); g != c {
				w.fail("a candle of %s, %s is %s, its trades give %s", pair, of.name, g, c)
				return
			}
		}
	}
}

func (c *candle) text() string {
	return fmt.Sprint(c.Date, " ", c.Open, " ", c.Max, " ", c.Min, " ", c.Close, " ", c.Volume, " ", c.VolumeBase)
}

// foldCandles returns the candles of an interval.
func foldCandles(tape []deal, seconds int64) (all []*candle) {
	at := int64(-1)
	for _, d := range tape {
		start := d.atNs / 1e9 / seconds * seconds
		if start != at {
			at = start
			all = append(all, &candle{
				Date: time.Unix(start, 0).UTC().Format("2006-01-02T15:04:05"),
				open: d.price, high: d.price, low: d.price,
			})
		}
		c := all[len(all)-1]
		c.high, c.low, c.close = max(c.high, d.price), min(c.low, d.price), d.price
		c.base.Add(&c.base, big.NewInt(d.amount))
		c.quote.Add(&c.quote, new(big.Int).Mul(big.NewInt(d.price), big.NewInt(d.amount)))
	}
	for _, c := range all {
		c.Open, c.Max = jsonText(decimal(c.open, priceDigits)), jsonText(decimal(c.high, priceDigits))
		c.Min, c.Close = jsonText(decimal(c.low, priceDigits)), jsonText(decimal(c.close, priceDigits))
		c.VolumeBase = jsonText(decimal(c.base.Int64(), amountDigits))
		c.Volume = jsonText(decimal(c.quote.Int64(), priceDigits+amountDigits))
	}
	return all
}

// checkWindow compares the figures of the 24 h window with the trades at one of the last seconds.
func (w checker) checkWindow(pair string) {
	var got struct {
		Price, Price24hAgo, Volume24h jsonText
	}
	tape := w.model.tapes[pair]
	if a := w.call(nil, "GET", "/api/tickers?currencyPairCode="+pair, ""); a.status == 0 {
		return
	} else if err := a.into(&got); err != nil {
		w.fail("the ticker of %s: %v", pair, err)
		return
	}
	now := w.model.readClockNs / 1e9
	want := ""
	if n := len(tape); n > 0 {
		now = max(now, tape[n-1].atNs/1e9)
	}
	has := fmt.Sprint(got.Price, " ", got.Price24hAgo, " ", got.Volume24h)
	if foldWindow(tape, w.model.latestNs/1e9) == has {
		return // the clock is behind the time of the last command, which the figures follow
	}
	for back := range int64(windowSlackS) {
		at := foldWindow(tape, now-back)
		if at == has {
			return
		}
		if back == 0 {
			want = at
		}
		if len(tape) == 0 || tape[0].atNs/1e9 > now-86_400 {
			break // every trade is in the window, also at the earlier seconds of the slack
		}
	}
	w.fail("the window of %s has price, price before and volume %s, its trades give %s", pair, has, want)
}

// foldWindow returns the last price, the price 24 hours ago and the volume at a second.
func foldWindow(tape []deal, second int64) string {
	if len(tape) == 0 {
		return "0 0 0"
	}
	ago, volume := tape[0].price, int64(0)
	for _, d := range tape {
		if at := d.atNs / 1e9; at > second-86_400 {
			volume += d.amount
		} else {
			ago = d.price
		}
	}
	return decimal(tape[len(tape)-1].price, priceDigits) + " " + decimal(ago, priceDigits) + " " +
		decimal(volume, amountDigits)
}
