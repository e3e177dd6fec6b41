package server

import (
	"math/bits"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
)

// stripeCount is the number of locks of AccountDesk.Lock; a collision only costs a wait.
const stripeCount = 256

// Lock serializes commands that must not be in flight at the same time: commands with the same
// client order id of an account (the second one uses the hold of the first), and replaces of the
// same order (each holds the difference to the hold that it found). It returns the unlock function.
func (d *AccountDesk) Lock(cmds []engine.Command) func() {
	var mask [stripeCount / 64]uint64
	any := false
	for i := range cmds {
		if key, ok := d.lockKey(&cmds[i]); ok {
			mask[key/64%uint64(len(mask))] |= 1 << (key % 64)
			any = true
		}
	}
	if !any {
		return func() {}
	}
	d.eachStripe(&mask, func(i int) { d.stripes[i].Lock() }) // ascending: no two callers deadlock
	return func() { d.eachStripe(&mask, func(i int) { d.stripes[i].Unlock() }) }
}

func (d *AccountDesk) eachStripe(mask *[stripeCount / 64]uint64, f func(i int)) {
	for w, word := range mask {
		for ; word != 0; word &= word - 1 {
			f(w*64 + bits.TrailingZeros64(word))
		}
	}
}

func (d *AccountDesk) lockKey(cmd *engine.Command) (uint64, bool) {
	switch {
	case cmd.Kind == engine.Place && cmd.Account != 0 && cmd.Client != nil:
		return cmd.Client.Hash[0], true
	case cmd.Kind == engine.Replace:
		holds, _ := d.state.Holding(uint64(cmd.Order))
		return uint64(cmd.Order), holds
	}
	return 0, false
}

// Check refuses an order whose shape does not fit its account: a funded stop_market buy needs
// a quote amount, because its cost is unknown until it triggers.
func (d *AccountDesk) Check(cmd *engine.Command) *refuse.Refusal {
	if cmd.Kind == engine.Place && cmd.Type == engine.StopMarket && cmd.Side == engine.Buy &&
		cmd.Flags&engine.FlagQuote == 0 && cmd.Account != 0 && !d.view.Terms(uint32(cmd.Account)).Unlimited {
		return refuse.Param("quoteAmount", "A stop order that buys at the market's price must give quoteAmount.")
	}
	return nil
}

// Prepare stamps the current rates and reserves the money that the command may spend.
func (d *AccountDesk) Prepare(cmd *engine.Command) Reservation {
	switch {
	case cmd.Kind == engine.Replace:
		return d.prepareReplace(cmd)
	case cmd.Kind != engine.Place || cmd.Pair == engine.ControlPair:
		return nil
	}
	v := d.opt.Board.Load().View(cmd.Pair)
	if v == nil {
		return nil
	}
	in := v.Instrument
	if cmd.Account == 0 {
		checkSettled(cmd, in)
		return nil
	}
	cmd.MakerFee, cmd.TakerFee = in.MakerFee, in.TakerFee
	cmd.Discount = d.view.Terms(uint32(cmd.Account)).Discount(cmd.Side)
	if cmd.Refuse != engine.NotRejected {
		return nil
	}
	r, reason := d.state.Reserve(accounts.OrderParams{
		Account: uint32(cmd.Account), Pair: uint32(cmd.Pair),
		Side: cmd.Side, Type: cmd.Type,
		Price: cmd.Price, Amount: cmd.Amount, ByQuote: cmd.Flags&engine.FlagQuote != 0, Quote: cmd.Quote,
		Rates: accounts.Rates{Maker: cmd.MakerFee, Taker: cmd.TakerFee, Discount: cmd.Discount},
		Touch: touch(v, cmd.Side), Stop: cmd.Stop,
	})
	if reason != engine.NotRejected {
		cmd.Refuse = reason
		if earlier := sizeRefusal(cmd, in); earlier != engine.NotRejected {
			cmd.Refuse = earlier
		}
		return nil
	}
	if r.Funded {
		cmd.Flags |= engine.FlagFunded
		cmd.SpendLimit = r.SpendLimit
	}
	cmd.EarnLimit = r.EarnLimit
	return r
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

// checkSettled refuses an order of the built-in account whose trades could exceed the maximum
// of money. This account holds nothing, so no reservation makes this check.
func checkSettled(cmd *engine.Command, in *engine.Instrument) {
	if cmd.Refuse == engine.NotRejected && cmd.Price > 0 && cmd.Amount > 0 &&
		in.MaxSettled().Less(fixed.Mul64(uint64(cmd.Price), uint64(cmd.Amount))) {
		cmd.Refuse = engine.TotalOutOfRange
	}
}

// prepareReplace reserves the extra funds of a replace. If the fold has no hold for the order,
// it sets FlagUnheld and the engine refuses the replace for account orders: either the order
// is not announced yet and therefore unknown, or it has ended and is closed in the engine too.
func (d *AccountDesk) prepareReplace(cmd *engine.Command) Reservation {
	cmd.Flags &^= engine.FlagFunded | engine.FlagUnheld
	cmd.SpendLimit, cmd.EarnLimit = fixed.U128{}, fixed.U128{}
	if cmd.Refuse != engine.NotRejected {
		return nil
	}
	holds, waits := d.state.Holding(uint64(cmd.Order))
	if waits {
		cmd.Refuse = engine.OrderClosed // also if it triggers meanwhile: nothing is held for it
		return nil
	}
	v := d.opt.Board.Load().View(cmd.Pair)
	if !holds || v == nil {
		cmd.Flags |= engine.FlagUnheld
		return nil
	}
	r, reason := d.state.ReserveReplace(accounts.ReplaceParams{
		Order: uint64(cmd.Order), Price: cmd.Price, Amount: cmd.Amount,
		HasPrice: cmd.Flags&engine.FlagHasPrice != 0, HasAmount: cmd.Flags&engine.FlagHasAmount != 0,
		Bid: touch(v, engine.Sell), Ask: touch(v, engine.Buy),
	})
	switch {
	case reason != engine.NotRejected:
		cmd.Refuse = reason
		return nil
	case !r.Replaces: // the order ended in the meantime
		cmd.Flags |= engine.FlagUnheld
		return nil
	}
	cmd.Flags |= engine.FlagFunded
	cmd.SpendLimit, cmd.EarnLimit = r.SpendLimit, r.EarnLimit
	return r
}

// Done releases a reservation that no event took over.
func (d *AccountDesk) Done(r Reservation, taken bool) {
	if held, ok := r.(accounts.Reservation); ok && !taken {
		d.state.Release(held)
	}
}

// sizeRefusal returns the engine's refusal of the order's size, if any. It precedes a refusal
// for lack of money (the order of docs/contract/errors.md#order-refusals).
func sizeRefusal(cmd *engine.Command, in *engine.Instrument) engine.Reason {
	worth := cmd.Quote
	switch {
	case cmd.Flags&engine.FlagQuote != 0:
	case cmd.Type == engine.Market || cmd.Type == engine.StopMarket:
		return engine.NotRejected
	default:
		worth = fixed.Mul64(uint64(cmd.Price), uint64(cmd.Amount))
	}
	switch {
	case engine.MaxTotal.Less(worth):
		return engine.TotalOutOfRange
	case in.HasMinQuote && worth.Less(in.MinQuote):
		return engine.BelowMinQuoteAmount
	}
	return engine.NotRejected
}
