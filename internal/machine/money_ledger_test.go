package machine_test

import (
	"fmt"
	"math/big"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine/audit"
	"github.com/tickhive/tickhive/marketdata"
)

// secondLedger computes what each account has in all, from trades and transfers alone, in 10^-18. It knows no holds.
type secondLedger struct {
	pairs  map[engine.PairID]*engine.Instrument
	has    map[audit.Balance]*big.Int
	fees   map[string]*big.Int         // by currency
	orders map[engine.OrderID]*big.Int // what an order has paid, in units of what it receives
	last   []engine.OrderID            // orders of the trades since the last compare
}

func newSecondLedger() *secondLedger {
	return &secondLedger{
		pairs: map[engine.PairID]*engine.Instrument{}, has: map[audit.Balance]*big.Int{}, fees: map[string]*big.Int{},
		orders: map[engine.OrderID]*big.Int{},
	}
}

// add adds to what an account has.
func (l *secondLedger) add(account engine.AccountID, currency string, amount *big.Int) {
	at := audit.Balance{Account: uint32(account), Currency: currency}
	if l.has[at] == nil {
		l.has[at] = new(big.Int)
	}
	l.has[at].Add(l.has[at], amount)
}

func (l *secondLedger) fold(e *engine.Event) {
	switch e.Kind {
	case engine.EventPair:
		l.pairs[e.Pair] = e.Instrument
	case engine.EventTrade:
		l.trade(e)
	default: // nothing else moves money from one account to another
	}
}

// trade moves what a trade moves: each side pays the whole and receives less its fee.
func (l *secondLedger) trade(e *engine.Event) {
	in := l.pairs[e.Pair]
	goods := new(big.Int).Mul(big.NewInt(e.Amount), power(fixed.Scale-in.DigitsAmount))
	worth := new(big.Int).Mul(big.NewInt(e.Price), big.NewInt(e.Amount))
	worth.Mul(worth, power(fixed.Scale-in.DigitsTotal()))
	buyer := party{e.Account, e.Order, e.TakerFee, e.TakerDiscount}
	seller := party{e.MakerAccount, e.Maker, e.MakerFee, e.MakerDiscount}
	if e.Side == engine.Sell {
		buyer, seller = seller, buyer
	}
	l.add(buyer.account, in.Quote, new(big.Int).Neg(worth))
	l.add(seller.account, in.Base, new(big.Int).Neg(goods))
	l.receives(buyer, in.Base, in.BaseDigits, goods)
	l.receives(seller, in.Quote, in.QuoteDigits, worth)
}

// party is a side of a trade.
type party struct {
	account        engine.AccountID
	order          engine.OrderID
	rate, discount uint32
}

// receives books what a side receives, less its fee.
func (l *secondLedger) receives(p party, currency string, digits int, amount *big.Int) {
	unit := power(fixed.Scale - digits)
	exact := new(big.Rat).SetFrac(amount, unit)
	if p.account == 0 {
		exact.SetInt64(0)
	}
	exact.Mul(exact, big.NewRat(int64(p.rate), engine.RateOne))
	exact.Mul(exact, big.NewRat(int64(engine.RateOne-p.discount), engine.RateOne))
	fee := nearest(exact)
	if l.orders[p.order] == nil {
		l.orders[p.order] = new(big.Int)
	}
	l.orders[p.order].Add(l.orders[p.order], fee)
	l.last = append(l.last, p.order)
	if l.fees[currency] == nil {
		l.fees[currency] = new(big.Int)
	}
	fee = new(big.Int).Mul(fee, unit)
	l.fees[currency].Add(l.fees[currency], fee)
	l.add(p.account, currency, new(big.Int).Sub(amount, fee))
}

// nearest returns the nearest integer of a number that is not negative; of two, the even one.
func nearest(v *big.Rat) *big.Int {
	whole, rest := new(big.Int).QuoRem(v.Num(), v.Denom(), new(big.Int))
	switch c := rest.Lsh(rest, 1).Cmp(v.Denom()); {
	case c > 0, c == 0 && whole.Bit(0) == 1:
		whole.Add(whole, big.NewInt(1))
	}
	return whole
}

// compare compares what the accounts have. With inviters, parts of the fees have come back to users: no account has
// less, and what they have more is missing in the fees.
func (l *secondLedger) compare(money *accounts.Shown, invited bool) error {
	more := map[string]*big.Int{}
	for n := range uint32(money.UserCount()) + 1 {
		for _, t := range money.Totals() {
			must := l.has[audit.Balance{Account: n, Currency: t.CurrencyCode}]
			if must == nil {
				must = new(big.Int)
			}
			total := audit.Big(money.Balance(n, t.CurrencyCode).Total)
			extra := new(big.Int).Sub(total, must)
			if extra.Sign() != 0 && (!invited || extra.Sign() < 0) {
				return fmt.Errorf("account %d has %s of 10^-18 %s, its trades and transfers give %s", n, total,
					t.CurrencyCode, must)
			}
			if more[t.CurrencyCode] == nil {
				more[t.CurrencyCode] = new(big.Int)
			}
			more[t.CurrencyCode].Add(more[t.CurrencyCode], extra)
		}
	}
	for _, t := range money.Totals() {
		must := new(big.Int)
		if l.fees[t.CurrencyCode] != nil {
			must.Set(l.fees[t.CurrencyCode])
		}
		if paid := more[t.CurrencyCode]; paid != nil {
			must.Sub(must, paid)
		}
		if is := audit.Big(t.Fees); is.Cmp(must) != 0 {
			return fmt.Errorf("the fees of %s are %s of 10^-18, the trades give %s", t.CurrencyCode, is, must)
		}
	}
	return nil
}

// compareFees compares the fees that the order history shows of the orders that have just traded: the sum, and each
// fill alone.
func (l *secondLedger) compareFees(h *marketdata.History) error {
	for _, id := range l.last {
		o, ok := h.Order(id)
		if !ok {
			return fmt.Errorf("order %d has traded and is not in the history", id)
		}
		fills := new(big.Int)
		for i := range o.Fills {
			fills.Add(fills, bigOf(o.Fills[i].Fee))
		}
		// The history shows an order's newest 1,000 fills.
		if must := l.orders[id]; bigOf(o.Fee).Cmp(must) != 0 || len(o.Fills) < 1000 && fills.Cmp(must) != 0 {
			return fmt.Errorf("order %d has paid %s, its fills %s, its trades give %s", id, bigOf(o.Fee), fills, must)
		}
	}
	l.last = l.last[:0]
	return nil
}

func bigOf(v fixed.U128) *big.Int {
	n := new(big.Int).SetUint64(v.Hi)
	return n.Add(n.Lsh(n, 64), new(big.Int).SetUint64(v.Lo))
}
