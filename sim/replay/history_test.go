package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/marketdata"
)

// historyOf returns the history of minute bars.
func historyOf(t *testing.T, minutes int) History {
	t.Helper()
	var text strings.Builder
	for i := range minutes {
		fmt.Fprintf(&text, "%d,10,12,9,11,1\n", 1_700_000_040+60*i)
	}
	r, err := New(Options{Format: "trades", Files: []string{file(t, "minutes.csv", text.String())}})
	if err != nil {
		t.Fatal(err)
	}
	return r.History()
}

// kept returns the configuration that an operator leaves alone.
func kept() marketdata.TradesConfig {
	r := marketdata.Retention{}.WithDefaults()
	return marketdata.TradesConfig{TradesMin: r.TradesMin, TradesMax: r.TradesMax, CandlesKept: r.Candles[:]}
}

func TestAReplayKeepsTheHistoryOfItsRecording(t *testing.T) {
	t.Parallel()
	h := historyOf(t, 30_000)
	c := kept()
	if notes := h.Keep(&c, func(string) bool { return false }); len(notes) > 0 {
		t.Error(notes)
	}
	if c.TradesMin < 120_000 || c.CandlesKept[marketdata.Minute] < 30_000 || c.CandlesKept[marketdata.Day] != 7300 {
		t.Errorf("%+v", c)
	}
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// What the configuration sets stays, and a note names what is dropped and the settings that keep it.
func TestAReplayNamesTheHistoryThatItsConfigurationDrops(t *testing.T) {
	t.Parallel()
	h := historyOf(t, 30_000)
	c := kept()
	notes := h.Keep(&c, func(string) bool { return true })
	if want := kept(); fmt.Sprint(c) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", c, want)
	}
	if len(notes) != 2 ||
		!strings.Contains(notes[0], "up to 120000 trades, and the exchange keeps the newest 10000 ") ||
		!strings.Contains(notes[0], "--set market.trades_min=130000 --set market.trades_max=2000000 keeps all") ||
		!strings.Contains(notes[1], "the newest 20160 of up to 30001 minute candles: "+
			"--set market.candles_kept=30001,10080,") {
		t.Errorf("%q", notes)
	}
	if strings.Contains(notes[1], "minutes5") { // 6,000 of them
		t.Error(notes[1])
	}
	h = historyOf(t, 43_200) // 8,640 of five minutes, which is the limit
	if notes := h.Keep(&c, func(string) bool { return true }); strings.Contains(notes[1], "minutes5") {
		t.Error(notes[1])
	}
	h = historyOf(t, 1400) // less than a day: no trade and no candle goes
	if notes := h.Keep(&c, func(string) bool { return true }); len(notes) > 0 {
		t.Error(notes)
	}
}

// A replay keeps no more by itself than its bounds.
func TestAReplayBoundsTheHistoryThatItKeepsByItself(t *testing.T) {
	t.Parallel()
	h := History{Trades: 5_000_000}
	h.Candles[marketdata.Minute] = 1_500_000
	c := kept()
	notes := h.Keep(&c, func(string) bool { return false })
	if c.TradesMin != 2_000_000 || c.CandlesKept[marketdata.Minute] != 1_000_000 || len(notes) != 2 ||
		!strings.Contains(notes[0], "--set market.trades_min=5000000 --set market.trades_max=5000000") {
		t.Errorf("%+v %q", c, notes)
	}
}
