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
func (t *decisions) trade() {
	token := t.remembered()
	if token == nil || token.Empty() {
		return
	}
	who := t.resident()
	held := t.ledger.Holding(who.Address, token)
	if !held.IsZero() && t.below(100) < 42 {
		if amount := share(held, t.between(3, 40)); !amount.IsZero() {
			t.addLedger(launchpad.Swap{Token: token.No, From: who.Address, Sell: true, AmountIn: amount})
		}
		return
	}
	// A buy of this size moves the price by a few per cent at most.
	amount := share(token.ReserveQuote, 1)
	amount = share(amount, t.between(10, 300))
	if amount.IsZero() {
		return
	}
	t.need(who, token.Side.Currency(), amount)
	t.addLedger(launchpad.Swap{Token: token.No, From: who.Address, AmountIn: amount})
}

// boost buys a boost for a random token.
func (t *decisions) boost() {
	if token := t.remembered(); token != nil {
		tiers := []launchpad.Tier{
			launchpad.Short, launchpad.Short, launchpad.Standard, launchpad.Standard,
			launchpad.Extended,
		}
		t.addLedger(launchpad.BuyBoost{Token: token.No, Tier: pick(&t.rng, tiers)})
	}
}

// transfer transfers a part of a resident's tokens to another one, or adds liquidity to the pool.
func (t *decisions) transfer() {
	token := t.remembered()
	if token == nil {
		return
	}
	from := t.resident()
	held := t.ledger.Holding(from.Address, token)
	if part := share(held, t.between(1, 10)); !part.IsZero() {
		if token.Empty() || t.oneIn(2) {
			t.addLedger(launchpad.Transfer{Token: token.No, From: from.Address, To: t.resident().Address, Amount: part})
			return
		}
		quote := share(token.ReserveQuote, t.between(1, 8))
		if quote.IsZero() {
			return
		}
		t.need(from, token.Side.Currency(), quote)
		t.addLedger(launchpad.AddLiquidity{Token: token.No, From: from.Address, TokenAmount: part, QuoteAmount: quote})
	}
}
