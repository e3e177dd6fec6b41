package accounts

import (
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// The methods of engine.Funds that the engine asks before it accepts an order; Fold is in fold.go.
var _ engine.Funds = (*State)(nil)

// Cover implements engine.Funds.
func (s *State) Cover(a engine.AccountID, id engine.PairID, side engine.Side, need fixed.U128) engine.Reason {
	u, p := s.dir.mustFind(uint32(a)), s.balances.pair(id)
	if u.halted {
		return engine.AccountHalted
	}
	base, quote := s.balances.sums[p.base].debt, s.balances.sums[p.quote].debt
	spends := p.spends(side)
	switch {
	case base.Cmp(MaxUnits) > 0 || quote.Cmp(MaxUnits) > 0:
		return engine.TotalOutOfRange
	case u.profile.Unlimited:
		if s.balances.credit(spends).Less(need) {
			return engine.TotalOutOfRange
		}
	case available(u.free(spends)).Less(need):
		return engine.InsufficientFunds
	}
	return engine.NotRejected
}

// Free implements engine.Funds. An unlimited account may spend as long as the debt of the currency stays within
// MaxUnits.
func (s *State) Free(a engine.AccountID, id engine.PairID, side engine.Side) fixed.U128 {
	u, spends := s.dir.mustFind(uint32(a)), s.balances.pair(id).spends(side)
	if u.profile.Unlimited {
		return s.balances.credit(spends)
	}
	return available(u.free(spends))
}

// credit returns what unlimited accounts may still spend of a currency.
func (b *balances) credit(currency uint32) fixed.U128 {
	return available(MaxUnits.SubWrap(b.sums[currency].debt))
}

// available returns what may be spent of an amount.
func available(free fixed.I128) fixed.U128 {
	if free.Sign() < 0 {
		return fixed.U128{}
	}
	return fixed.U128{Hi: uint64(free.Hi), Lo: free.Lo}
}

// Discount implements engine.Funds.
func (s *State) Discount(a engine.AccountID, side engine.Side) uint32 {
	u := s.dir.mustFind(uint32(a))
	return u.profile.terms().Discount(side)
}

// Digits implements engine.Funds.
func (s *State) Digits(currency string) (digits int, used bool) {
	n, known := s.balances.currencyNo[currency]
	if !known {
		return engine.DefaultDigits, false
	}
	return s.balances.currencies[n].Digits, s.balances.sums[n].used
}
