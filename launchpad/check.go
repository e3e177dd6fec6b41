package launchpad

import (
	"errors"
	"fmt"
)

// Check walks the whole state and reports the first broken invariant of doc.go. Recovery and tests call it; its
// cost grows with the state.
func (s *State) Check() error {
	supply := make([]Amount, s.idents.n+currencies)
	s.balances.Scan(func(k string, v Amount) bool {
		as := int(k[20])<<24 | int(k[21])<<16 | int(k[22])<<8 | int(k[23])
		supply[as] = supply[as].Add(v)
		return true
	})
	if err := s.checkPast(); err != nil {
		return err
	}
	var pooled [currencies]Amount
	for i := range s.idents.n {
		id := s.idents.at(i)
		t, ok := s.tokens.Get(id.No)
		if !ok || int(id.No) != i+1 {
			return fmt.Errorf("token %d is not at its place", i+1)
		}
		if sum := supply[id.asset()].Add(t.ReserveToken); sum != id.Supply {
			return fmt.Errorf("token %d: holdings and reserve are %s, the supply is %s", id.No, sum, id.Supply)
		}
		if t.ReserveToken.IsZero() != t.ReserveQuote.IsZero() {
			return fmt.Errorf("token %d: half a pool", id.No)
		}
		coin := id.Side.Currency()
		pooled[coin] = pooled[coin].Add(t.ReserveQuote)
		if i > 0 && id.ListBlock <= s.idents.at(i-1).ListBlock {
			return fmt.Errorf("token %d: list blocks do not rise", id.No)
		}
		if err := s.index.check(t); err != nil {
			return err
		}
	}
	for c, t := range s.totals {
		in, out := t.Held.Add(t.Pooled).Add(t.Fees).Add(t.Withdrawn), t.Deposited
		if supply[c] != t.Held || pooled[c] != t.Pooled || in != out {
			return fmt.Errorf("%s does not add up: held %s of %s, pooled %s of %s, all %s of %s",
				t.Currency, t.Held, supply[c], t.Pooled, pooled[c], in, out)
		}
	}
	if s.tokens.Len() != s.idents.n || len(s.symbols) != s.idents.n || s.byAddress.Len() != s.idents.n {
		return errors.New("two tokens share a symbol or an address")
	}
	return nil
}

// checkPast compares the checkpoints with the holdings that they remember.
func (s *State) checkPast() error {
	kept, last := 0, &checkpoint{}
	for i := range s.checkpoints.Len() {
		c := *s.checkpoints.At(i)
		if c.seq <= last.seq || c.endSec < last.endSec || c.seq > s.seq {
			return fmt.Errorf("checkpoint %d follows checkpoint %d", c.seq, last.seq)
		}
		for j := range c.changed.Len() {
			if _, ok := s.past.Get(pastKey(tokenAsset(c.token), *c.changed.At(j), c.seq)); !ok {
				return fmt.Errorf("checkpoint %d remembers no holding of account %s", c.seq, c.changed.At(j))
			}
		}
		kept, last = kept+c.changed.Len(), c
	}
	if kept != s.past.Len() {
		return fmt.Errorf("checkpoints have %d holdings, %d are remembered", kept, s.past.Len())
	}
	return nil
}

// check reports a token that is missing from a filter that matches it, or that is in a filter that does not
// match.
func (ix *index) check(t *Token) error {
	for by := range Sort(sorts) {
		for c := range filter(filters) {
			if _, ok := ix[by][c].Get(placeOf(t, by)); ok != c.matches(t) {
				return fmt.Errorf("token %d: sort %s, cell %d: in the index %v", t.No, by, c, ok)
			}
		}
	}
	return nil
}
