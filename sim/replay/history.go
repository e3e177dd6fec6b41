package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tickhive/tickhive/marketdata"
)

// Bounds of the history that a replay keeps by itself: trades of 40 bytes and candles of 120 bytes. The candles of all
// lengths together are 1.7 times the minutes, so a full history has 80 MB of trades and 200 MB of candles.
const (
	ownTrades  = 2_000_000
	ownCandles = 1_000_000 // of each length; the minutes of 694 days
	userTrades = 10_000    // trades of users beside those of the recording
)

// History counts what an exchange has of a recording at its end.
type History struct {
	Trades  int // most trades, with userTrades
	Candles [marketdata.Intervals]int
	short   bool // it has no more than the 24 h whose trades an exchange keeps at any number
}

// History returns the most that an exchange has of the recording at its end. Months and years are always kept.
func (r *Replay) History() History {
	length := r.survey.LastNs - r.StartNs()
	h := History{Trades: r.survey.Trades + userTrades, short: length < int64(24*time.Hour)}
	for i := range marketdata.Day + 1 {
		h.Candles[i] = int(min(length/(i.Seconds()*secondNs)+2, int64(h.Trades)))
	}
	return h
}

// Keep raises the limits that the configuration does not set, so that the history stays as a whole, up to the bounds of
// memory. It returns the notes on what the limits drop, with the settings that keep it.
func (h *History) Keep(c *marketdata.TradesConfig, given func(key string) bool) (notes []string) {
	if !given("market.trades_min") {
		c.TradesMin = max(c.TradesMin, min(h.Trades, ownTrades, c.TradesMax))
	}
	c.CandlesKept = slices.Clone(c.CandlesKept)
	if !given("market.candles_kept") {
		for i, n := range h.Candles {
			c.CandlesKept[i] = max(c.CandlesKept[i], min(n, ownCandles))
		}
	}
	if h.Trades > c.TradesMax || h.Trades > c.TradesMin && !h.short {
		notes = append(notes, fmt.Sprintf("the recording has up to %d trades, and the exchange keeps the newest %d "+
			"and those of the last 24 h, at most %d: --set market.trades_min=%d --set market.trades_max=%d keeps all, "+
			"40 bytes each", h.Trades-userTrades, c.TradesMin, c.TradesMax, h.Trades, max(h.Trades, c.TradesMax)))
	}
	var lost, keep []string
	for i, n := range c.CandlesKept {
		if h.Candles[i] > n+1 { // the limit counts closed candles
			lost = append(lost, fmt.Sprintf("%d of up to %d %s candles", n, h.Candles[i], marketdata.Interval(i)))
		}
		keep = append(keep, fmt.Sprint(max(n, h.Candles[i])))
	}
	if len(lost) > 0 {
		notes = append(notes, fmt.Sprintf("the exchange keeps the newest %s: --set market.candles_kept=%s keeps all, "+
			"120 bytes each", strings.Join(lost, ", "), strings.Join(keep, ",")))
	}
	return notes
}
