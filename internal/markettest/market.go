package markettest

import (
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/marketdata"
)

// StartNs is the time of a new market's clock: 2026-01-01T00:00:00Z, in nanoseconds since 1970.
const StartNs = int64(1_767_225_600_000_000_000)

// Market is a core with its market data.
type Market struct {
	Core  *engine.Core
	Feed  *marketdata.Feed
	Clock *clock.Manual

	events []engine.Event
}

// New returns a market without pairs. Its clock shows StartNs.
func New(o marketdata.Options) *Market {
	return &Market{
		Core: engine.NewCore(engine.Options{}), Feed: marketdata.NewFeed(o), Clock: clock.NewManual(StartNs),
	}
}

// Instrument returns a pair without fees and limits. The code is BASE_QUOTE.
func Instrument(code string, digitsPrice, digitsAmount int) *engine.Instrument {
	base, quote, _ := strings.Cut(code, "_")
	return &engine.Instrument{
		Code: code, Base: base, Quote: quote, DigitsPrice: digitsPrice, DigitsAmount: digitsAmount,
	}
}

// Do applies a command at the time of the clock and folds its events. They are valid until the
// next call.
func (m *Market) Do(cmd engine.Command) []engine.Event {
	cmd.TimeNs, cmd.First = m.Clock.NowNs(), true
	m.events = m.Core.Apply(&cmd, m.events[:0])
	for m.Core.Unfinished(cmd.Pair) {
		rest := engine.Command{Kind: engine.Continue, Pair: cmd.Pair, TimeNs: cmd.TimeNs, First: true}
		m.events = m.Core.Apply(&rest, m.events)
	}
	m.Feed.Fold(m.events)
	return m.events
}

// AddPair adds an instrument and returns its id.
func (m *Market) AddPair(i *engine.Instrument) engine.PairID {
	return m.Do(addPair(i))[0].Pair
}

// Limit places a good-till-canceled limit order of no account. Price and amount count units of the
// pair's digits.
func (m *Market) Limit(p engine.PairID, side engine.Side, price, amount int64) {
	m.Do(engine.Command{Kind: engine.Place, Pair: p, Side: side, Price: price, Amount: amount})
}

// Pass moves the clock forward.
func (m *Market) Pass(ns int64) { m.Clock.Set(m.Clock.NowNs() + ns) }

// Publish publishes the folded events, at the time of the clock.
func (m *Market) Publish() { m.Feed.Publish(m.Clock.NowNs()) }

// View returns the newest published view of a pair.
func (m *Market) View(p engine.PairID) *marketdata.View { return m.Feed.Board().Load().View(p) }

func addPair(i *engine.Instrument) engine.Command {
	return engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: i}
}
