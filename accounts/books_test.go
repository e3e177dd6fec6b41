package accounts_test

import (
	"fmt"
	"math/big"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// holdsDiffer compares what accounts hold, and how many orders they have, with the open orders in the books of the
// engine: by the table of docs/contract/trading.md#balances-and-holds, in whole numbers of any size. The ledger knows
// the events alone.
func holdsDiffer(c *engine.Core, s *accounts.State) error {
	type key struct {
		account  engine.AccountID
		currency string
	}
	held, open := map[key]*big.Int{}, map[engine.AccountID]int{}
	for id := range c.EndPair() {
		in, known := c.Pair(id)
		if !known {
			continue
		}
		add := func(o engine.OrderState) {
			if o.Account == 0 {
				return
			}
			k, n := key{o.Account, in.Quote}, holdOf(in, &o)
			if o.Side == engine.Sell {
				k.currency = in.Base
			}
			if held[k] == nil {
				held[k] = new(big.Int)
			}
			held[k].Add(held[k], n)
			open[o.Account]++
		}
		alone := func(id engine.OrderID) {
			if state, _ := c.Order(id); state.List == 0 {
				add(state)
			}
		}
		for side := engine.Buy; side <= engine.Sell; side++ {
			for o := range c.Resting(id, side, 0) {
				alone(o.ID)
			}
		}
		for o := range c.Stops(id) {
			alone(o.ID)
		}
		for l := range c.Lists(id) { // two orders that exclude each other hold the larger need, pending ones nothing
			most := engine.OrderState{}
			for _, id := range l.Orders {
				o, _ := c.Order(id)
				switch {
				case o.Pending && o.Account != 0:
					open[o.Account]++
				case o.Pending:
				case l.Kind != engine.OCO && o.ID == l.ID:
					add(o)
				case most.ID == 0:
					most = o
				default:
					if o.Account != 0 {
						open[o.Account]++
					}
					if holdOf(in, &o).Cmp(holdOf(in, &most)) > 0 {
						most = o
					}
				}
			}
			if most.ID != 0 {
				add(most)
			}
			if l.Account != 0 && !l.Brought.IsZero() {
				k := key{l.Account, in.Base}
				if held[k] == nil {
					held[k] = new(big.Int)
				}
				held[k].Add(held[k], bigOf(l.Brought))
			}
		}
	}
	v := s.View()
	for n := range v.UserCount() + 1 {
		if got, want := s.OpenOrders(uint32(n)), open[engine.AccountID(n)]; got != want {
			return fmt.Errorf("account %d has %d open orders, the books have %d", n, got, want)
		}
		for _, b := range v.Rows(uint32(n)) {
			k := key{engine.AccountID(n), b.CurrencyCode}
			want := new(big.Int)
			if held[k] != nil {
				want.Mul(held[k], pow10(fixed.Scale-b.Digits))
			}
			if got := toBig(b.Held); got.Cmp(want) != 0 {
				return fmt.Errorf("account %d holds %s of %s, its open orders %s", n, got, k.currency, want)
			}
			delete(held, k)
		}
	}
	for k, n := range held {
		if n.Sign() != 0 {
			return fmt.Errorf("account %d holds nothing of %s, its open orders %s", k.account, k.currency, n)
		}
	}
	return nil
}

// holdOf returns what an open order holds, in units of what it spends.
func holdOf(in *engine.Instrument, o *engine.OrderState) *big.Int {
	lots := big.NewInt(o.Open)
	if o.Side == engine.Sell {
		return lots.Mul(lots, pow10(in.BaseDigits-in.DigitsAmount))
	}
	price := o.Price
	if price == 0 {
		price = o.Hold
	}
	product := lots.Mul(lots, big.NewInt(price))
	if !o.Quote.IsZero() {
		product = bigOf(o.Quote)
	}
	return product.Mul(product, pow10(in.QuoteDigits-in.DigitsPrice-in.DigitsAmount))
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func bigOf(v fixed.U128) *big.Int {
	n := new(big.Int).SetUint64(v.Hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(v.Lo))
}

func toBig(v fixed.I192) *big.Int {
	negative := v.Sign() < 0
	if negative {
		v = v.Neg()
	}
	n := new(big.Int)
	for _, w := range [...]uint64{v.W2, v.W1, v.W0} {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w))
	}
	if negative {
		n.Neg(n)
	}
	return n
}
