package residents

import (
	"math/big"

	"tickhive/launchpad"
)

// share returns perCent per cent of an amount, rounded down.
func share(a launchpad.Amount, perCent int64) launchpad.Amount {
	v := a.Big()
	v.Mul(v, big.NewInt(perCent)).Quo(v, big.NewInt(100))
	part, ok := launchpad.AmountFromBig(v)
	if !ok {
		panic("BUG: residents: a share above the whole")
	}
	return part
}

// trade makes one swap: a random resident buys, or a holder sells.
func (d *decisions) trade() {
	token := d.remembered()
	if token == nil || token.Empty() {
		return
	}
	who := d.resident()
	held := d.ledger.Holding(who.Address, token)
	if !held.IsZero() && d.below(100) < 42 {
		if amount := share(held, d.between(3, 40)); !amount.IsZero() {
			d.addLedger(launchpad.Swap{Token: token.No, From: who.Address, Sell: true, AmountIn: amount})
		}
		return
	}
	// A buy of this size moves the price by a few per cent at most.
	amount := share(token.ReserveQuote, 1)
	amount = share(amount, d.between(10, 300))
	if amount.IsZero() {
		return
	}
	d.need(who, token.Side.Currency(), amount)
	d.addLedger(launchpad.Swap{Token: token.No, From: who.Address, AmountIn: amount})
}

// boost buys a boost for a random token.
func (d *decisions) boost() {
	if token := d.remembered(); token != nil {
		tiers := []launchpad.Tier{
			launchpad.Short, launchpad.Short, launchpad.Standard, launchpad.Standard,
			launchpad.Extended,
		}
		d.addLedger(launchpad.BuyBoost{Token: token.No, Tier: pick(&d.rng, tiers)})
	}
}

// transfer transfers a part of a resident's tokens to another one, or adds liquidity to the pool.
func (d *decisions) transfer() {
	token := d.remembered()
	if token == nil {
		return
	}
	from := d.resident()
	held := d.ledger.Holding(from.Address, token)
	if part := share(held, d.between(1, 10)); !part.IsZero() {
		if token.Empty() || d.oneIn(2) {
			d.addLedger(launchpad.Transfer{Token: token.No, From: from.Address, To: d.resident().Address, Amount: part})
			return
		}
		quote := share(token.ReserveQuote, d.between(1, 8))
		if quote.IsZero() {
			return
		}
		d.need(from, token.Side.Currency(), quote)
		d.addLedger(launchpad.AddLiquidity{Token: token.No, From: from.Address, TokenAmount: part, QuoteAmount: quote})
	}
}
