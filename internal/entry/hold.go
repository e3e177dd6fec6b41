package entry

import (
	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
)

// check refuses an order whose shape does not fit its account: a funded stop_market buy needs
// a quote amount, because its cost is unknown until it triggers.
func (e *Entry) check(cmd *engine.Command) *refuse.Refusal {
	if cmd.Kind == engine.Place && cmd.Type == engine.StopMarket && cmd.Side == engine.Buy &&
		cmd.Flags&engine.FlagQuote == 0 && cmd.Account != 0 && !e.shown.Terms(uint32(cmd.Account)).Unlimited {
		return refuse.Param("quoteAmount", "A stop order that buys at the market's price must give quoteAmount.")
	}
	return nil
}

// reserve stamps the current rates into a place and reserves the money that a place or replace
// may spend. Where money is lacking it sets cmd.Refuse. It returns false when it reserved
// nothing.
func (e *Entry) reserve(cmd *engine.Command) (r accounts.Reservation, held bool) {
	if cmd.Pair == engine.ControlPair {
		return r, false
	}
	v := e.opt.Board.Load().View(cmd.Pair)
	switch {
	case cmd.Kind == engine.Replace:
		return e.reserveReplace(cmd, v)
	case cmd.Kind != engine.Place || v == nil:
		return r, false
	case cmd.Account == 0:
		checkLimits(cmd, v, v.Instrument.MaxSettled())
		return r, false
	}
	in := v.Instrument
	cmd.MakerFee, cmd.TakerFee = in.MakerFee, in.TakerFee
	cmd.Discount = e.shown.Terms(uint32(cmd.Account)).Discount(cmd.Side)
	if checkLimits(cmd, v, engine.MaxTotal); cmd.Refuse != engine.NotRejected {
		return r, false
	}
	r, reason := e.state.Reserve(accounts.OrderParams{
		Account: uint32(cmd.Account), Pair: uint32(cmd.Pair), Side: cmd.Side, Type: cmd.Type,
		Price: cmd.Price, Amount: cmd.Amount, ByQuote: cmd.Flags&engine.FlagQuote != 0, Quote: cmd.Quote,
		Rates: accounts.Rates{Maker: cmd.MakerFee, Taker: cmd.TakerFee, Discount: cmd.Discount},
		Touch: touch(v, cmd.Side), Stop: cmd.Stop,
	})
	if reason != engine.NotRejected {
		cmd.Refuse = reason
		return r, false
	}
	if r.Funded {
		cmd.Flags |= engine.FlagFunded
		cmd.SpendLimit = r.SpendLimit
	}
	cmd.EarnLimit = r.EarnLimit
	return r, true
}

// touch returns the best price that an order of a side may trade at, 0 if there is none.
func touch(v *marketdata.View, s engine.Side) int64 {
	side := &v.Asks
	if s == engine.Sell {
		side = &v.Bids
	}
	best, _ := side.Best()
	return best.Price
}

// reserveReplace reserves the extra funds of a replace. If the fold has no hold for the order,
// it sets FlagUnheld and the engine refuses the replace for account orders: either the order
// is not announced yet and therefore unknown, or it has ended and is closed in the engine too.
func (e *Entry) reserveReplace(cmd *engine.Command, v *marketdata.View) (r accounts.Reservation, held bool) {
	cmd.Flags &^= engine.FlagFunded | engine.FlagUnheld
	cmd.SpendLimit, cmd.EarnLimit = fixed.U128{}, fixed.U128{}
	if cmd.Refuse == engine.NotRejected && v != nil && cmd.Flags&engine.FlagHasPrice != 0 {
		cmd.Refuse = checkBand(cmd, v)
	}
	if cmd.Refuse != engine.NotRejected {
		return r, false
	}
	holds, waits := e.holding(cmd.Order)
	if waits {
		cmd.Refuse = engine.OrderClosed // even if it is triggered meanwhile, no money is held for it
		return r, false
	}
	if !holds || v == nil {
		cmd.Flags |= engine.FlagUnheld
		return r, false
	}
	r, reason := e.state.ReserveReplace(accounts.ReplaceParams{
		Order: uint64(cmd.Order), Price: cmd.Price, Amount: cmd.Amount,
		HasPrice: cmd.Flags&engine.FlagHasPrice != 0, HasAmount: cmd.Flags&engine.FlagHasAmount != 0,
		Bid: touch(v, engine.Sell), Ask: touch(v, engine.Buy),
	})
	switch {
	case reason != engine.NotRejected:
		cmd.Refuse = reason
		return r, false
	case !r.Replaces: // the order has ended meanwhile
		cmd.Flags |= engine.FlagUnheld
		return r, false
	}
	cmd.Flags |= engine.FlagFunded
	cmd.SpendLimit, cmd.EarnLimit = r.SpendLimit, r.EarnLimit
	return r, true
}

// holding reports whether an order has a hold, and whether it is a stop that has not been triggered.
func (e *Entry) holding(id engine.OrderID) (holds, waits bool) {
	if e.state == nil {
		return false, false
	}
	return e.state.Holding(uint64(id))
}

// checkLimits refuses a place by the limits of its worth and its price, before money is
// reserved: these reasons precede a lack of money (docs/contract/errors.md#order-refusals).
// maxWorth limits price x amount. For the built-in account it is the maximum of money: that
// account holds nothing, so no reservation makes this check.
func checkLimits(cmd *engine.Command, v *marketdata.View, maxWorth fixed.U128) {
	if cmd.Refuse != engine.NotRejected {
		return
	}
	switch {
	case cmd.Flags&engine.FlagQuote != 0:
		if !cmd.Quote.IsZero() {
			cmd.Refuse = v.Instrument.CheckTotal(cmd.Quote)
		}
	case cmd.Type == engine.Market || cmd.Type == engine.StopMarket || cmd.Price <= 0 || cmd.Amount <= 0:
	case cmd.Display > cmd.Amount:
		cmd.Refuse = engine.AmountOutOfRange
	default:
		if worth := fixed.Mul64(uint64(cmd.Price), uint64(cmd.Amount)); maxWorth.Less(worth) {
			cmd.Refuse = engine.TotalOutOfRange
		} else if cmd.Refuse = v.Instrument.CheckTotal(worth); cmd.Refuse == engine.NotRejected {
			cmd.Refuse = checkBand(cmd, v)
		}
	}
}

// checkBand returns the refusal of a price beyond the pair's factors of the last trade.
func checkBand(cmd *engine.Command, v *marketdata.View) engine.Reason {
	if cmd.Price > 0 && v.Instrument.OutOfBand(cmd.Price, v.Ticker.Last) {
		return engine.PriceOutOfBand
	}
	return engine.NotRejected
}
