package server

import (
	"math"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/engine/sequencer"
)

// accountSink folds engine events into the balances. It runs before the market's sinks, so that
// a client that sees a trade also sees the settled balances.
type accountSink struct{ state *accounts.State }

// Sink returns the sink that folds engine events into the balances.
func (d *AccountDesk) Sink() sequencer.Sink { return accountSink{d.state} }

// Fold implements sequencer.Sink.
func (s accountSink) Fold(events []engine.Event, pos uint64) { FoldAccounts(s.state, events, pos) }

// Publish implements sequencer.Sink. It does nothing, because balances are read live.
func (accountSink) Publish(int64) {}

// NextNs implements sequencer.Sink: time alone changes no balance.
func (accountSink) NextNs() int64 { return math.MaxInt64 }

// foldEvent folds one event. It only counts an event that moves no money.
func foldEvent(f accounts.Fold, e *engine.Event) {
	pair, seq := uint32(e.Pair), uint64(e.Seq)
	byQuote := e.Flags&engine.FlagQuote != 0
	switch e.Kind {
	case engine.EventAccepted:
		f.Accepted(accounts.OrderAccepted{
			Pair: pair, Seq: seq, Order: uint64(e.Order), Account: uint32(e.Account),
			Side: accounts.Side(e.Side), Type: accounts.OrderType(e.Type),
			ByQuote: byQuote, Funded: e.Flags&engine.FlagFunded != 0,
			Price: e.Price, Amount: e.Amount, Quote: e.Quote, Earn: e.EarnLimit(),
			Rates: accounts.Rates{Maker: e.MakerFee, Taker: e.TakerFee, Discount: e.TakerDiscount},
		})
	case engine.EventTrade:
		f.Trade(accounts.Trade{
			Pair: pair, Seq: seq, TimeNs: e.TimeNs, TakerSide: accounts.Side(e.Side),
			Taker: uint64(e.Order), Maker: uint64(e.Maker),
			TakerAccount: uint32(e.Account), MakerAccount: uint32(e.MakerAccount),
			Price: e.Price, Amount: e.Amount, TakerOpen: e.OpenAmount, MakerOpen: e.MakerOpen,
			ByQuote: byQuote, QuoteLeft: e.Quote,
			TakerRate: e.TakerFee, TakerDiscount: e.TakerDiscount,
			MakerRate: e.MakerFee, MakerDiscount: e.MakerDiscount, Rules: e.Rules,
		})
	case engine.EventCanceled:
		f.Canceled(accounts.OrderCanceled{Pair: pair, Seq: seq, Order: uint64(e.Order)})
	case engine.EventReplaced:
		f.Replaced(accounts.OrderReplaced{
			Pair: pair, Seq: seq, Order: uint64(e.Order), Price: e.Price, Amount: e.Amount, Open: e.OpenAmount,
			Earn: e.EarnLimit(),
		})
	case engine.EventReduced:
		f.Reduced(accounts.OrderReduced{
			Pair: pair, Seq: seq, Order: uint64(e.Order), Open: e.OpenAmount, ByQuote: byQuote, QuoteLeft: e.Quote,
		})
	case engine.EventTriggered:
		f.Triggered(accounts.OrderTriggered{Pair: pair, Seq: seq, Order: uint64(e.Order)})
	case engine.EventPair:
		in := e.Instrument
		f.Pair(accounts.PairAdded{
			Pair: pair, Seq: seq, Base: in.Base, Quote: in.Quote,
			DigitsPrice: in.DigitsPrice, DigitsAmount: in.DigitsAmount,
		})
	case engine.EventRejected, engine.EventLevel, engine.EventRefilled, engine.EventNothing:
		f.Seen(pair, seq)
	case engine.EventAsset, engine.EventAccountOpened:
	default:
		panic(bugKind(e))
	}
}
