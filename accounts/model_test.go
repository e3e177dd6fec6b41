package accounts

import (
	"cmp"
	"math/big"
	"math/rand/v2"
	"slices"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// market is a small, independent matching engine: limit orders with price-time priority,
// market orders by amount (capped for funded accounts) and by quote, ioc, cancels,
// replaces and decrements. It makes the events that a State folds, and books the expected
// results in a naive ledger in whole numbers of 10^-18.
type market struct {
	r     *simulation
	pair  uint32
	base  string
	quote string
	dp    int
	da    int
	seq   engine.Seq
	lastN uint64
	sides [2][]*resting // best first
}

type resting struct {
	id      uint64
	account uint32
	side    engine.Side
	price   int64
	open    int64
	total   int64
	rates   Rates
}

func (m *market) next() engine.Seq { m.seq++; return m.seq }

// insert adds an order to its side, best price first, behind earlier orders at the same price.
func (m *market) insert(o *resting) {
	at := len(m.sides[o.side])
	for at > 0 {
		p := m.sides[o.side][at-1].price
		if (o.side == engine.Buy && p >= o.price) || (o.side == engine.Sell && p <= o.price) {
			break
		}
		at--
	}
	m.sides[o.side] = slices.Insert(m.sides[o.side], at, o)
}

func (m *market) remove(o *resting) {
	m.sides[o.side] = slices.DeleteFunc(m.sides[o.side], func(x *resting) bool { return x == o })
}

func (m *market) total(price, amount int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(price), big.NewInt(amount))
}

// money converts product units to 10^-18.
func (m *market) money(units *big.Int) *big.Int {
	return new(big.Int).Mul(units, pow10(18-m.dp-m.da))
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func toBig[M amount](v M) *big.Int {
	s := v.Wide()
	negative := s.Sign() < 0
	if negative {
		s = s.Neg()
	}
	n := new(big.Int)
	for _, w := range [...]uint64{s.W2, s.W1, s.W0} {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w))
	}
	if negative {
		n.Neg(n)
	}
	return n
}

func quoteBig(v fixed.U128) *big.Int {
	n := new(big.Int).SetUint64(v.Hi)
	return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(v.Lo))
}

func bigQuote(n *big.Int) fixed.U128 {
	lo := new(big.Int).And(n, new(big.Int).SetUint64(^uint64(0)))
	return fixed.U128{Hi: new(big.Int).Rsh(n, 64).Uint64(), Lo: lo.Uint64()}
}

// naiveFee returns worth x rate x (1 - discount), rounded half even, by big rationals.
func naiveFee(worth *big.Int, rate, discount uint32) *big.Int {
	n := new(big.Int).Mul(worth, big.NewInt(int64(rate)*int64(RateOne-discount)))
	d := pow10(16)
	q, rem := new(big.Int).QuoRem(n, d, new(big.Int))
	twice := rem.Lsh(rem, 1).Cmp(d)
	if twice > 0 || (twice == 0 && q.Bit(0) == 1) {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// place runs an order that was reserved (or refuses it, which releases).
func (m *market) place(f fold, p OrderParams, res Reservation, ioc bool) (accepted, traded bool) {
	opposite := &m.sides[p.Side^1]
	if p.Type == engine.Market && len(*opposite) == 0 {
		return false, false
	}
	m.lastN++
	id := uint64(m.pair)<<36 | m.lastN
	e := acceptedEvent(m.next(), id, p, res)
	var left *big.Int // to spend, product units
	if p.ByQuote {
		left = quoteBig(p.Quote)
	} else if res.Funded {
		left = quoteBig(res.SpendLimit)
	}
	m.r.emit(e, f)
	open := p.Amount
	for len(*opposite) > 0 && (p.ByQuote || open > 0) {
		maker := (*opposite)[0]
		if p.Type == engine.Limit && ((p.Side == engine.Buy && maker.price > p.Price) ||
			(p.Side == engine.Sell && maker.price < p.Price)) {
			break
		}
		amount := maker.open
		if !p.ByQuote {
			amount = min(amount, open)
		}
		if left != nil {
			lots := new(big.Int).Quo(left, big.NewInt(maker.price))
			if lots.IsInt64() {
				amount = min(amount, lots.Int64())
			}
		}
		if amount == 0 {
			break
		}
		traded = true
		maker.open -= amount
		if open -= amount; p.ByQuote {
			open = 0
		}
		t := engine.Event{
			Kind: engine.EventTrade, Pair: engine.PairID(m.pair), Seq: m.next(), TimeNs: m.r.now, Side: p.Side,
			Order: engine.OrderID(id), Maker: engine.OrderID(maker.id), Account: engine.AccountID(p.Account),
			MakerAccount: engine.AccountID(maker.account), Price: maker.price, Amount: amount, OpenAmount: open,
			MakerOpen: maker.open,
			TakerFee:  p.Rates.Taker, TakerDiscount: p.Rates.Discount, MakerFee: maker.rates.Maker,
			MakerDiscount: maker.rates.Discount,
		}
		if left != nil {
			left.Sub(left, m.total(maker.price, amount))
			if p.ByQuote {
				t.Flags, t.Quote = engine.FlagQuote, bigQuote(left)
			}
		}
		m.r.trade(m, t, f)
		if maker.open == 0 {
			m.remove(maker)
		}
	}
	switch {
	case p.ByQuote || (open > 0 && (ioc || p.Type == engine.Market)):
		c := engine.Event{
			Kind: engine.EventCanceled, Pair: engine.PairID(m.pair), Seq: m.next(),
			Order: engine.OrderID(id),
		}
		m.r.emit(c, f)
	case open > 0:
		m.insert(&resting{
			id: id, account: p.Account, side: p.Side, price: p.Price, open: open, total: p.Amount,
			rates: p.Rates,
		})
	}
	return true, traded
}

func (m *market) cancel(f fold, o *resting) {
	m.remove(o)
	c := engine.Event{
		Kind: engine.EventCanceled, Pair: engine.PairID(m.pair), Seq: m.next(),
		Order: engine.OrderID(o.id),
	}
	m.r.emit(c, f)
}

// replace moves an order that does not cross to a new price and total.
func (m *market) replace(f fold, o *resting, price, total int64, res Reservation) bool {
	filled := o.total - o.open
	if best := m.sides[o.side^1]; total <= filled || (len(best) > 0 &&
		((o.side == engine.Buy && best[0].price <= price) || (o.side == engine.Sell && best[0].price >= price))) {
		return false
	}
	m.remove(o)
	var limit fixed.U128
	if o.side == engine.Sell && res.Replaces {
		limit = fixed.Mul64(uint64(o.price), uint64(o.open)).Add(res.EarnLimit)
	}
	o.price, o.total, o.open = price, total, total-filled
	m.insert(o)
	e := withEarn(engine.Event{
		Kind: engine.EventReplaced, Pair: engine.PairID(m.pair), Seq: m.next(),
		Order: engine.OrderID(o.id), Price: price, Amount: total, OpenAmount: o.open,
	}, limit)
	m.r.emit(e, f)
	return true
}

// reduce removes lots of an order without a trade.
func (m *market) reduce(f fold, o *resting, lots int64) {
	o.open -= lots
	o.total -= lots
	e := engine.Event{
		Kind: engine.EventReduced, Pair: engine.PairID(m.pair), Seq: m.next(),
		Order: engine.OrderID(o.id), OpenAmount: o.open,
	}
	m.r.emit(e, f)
	if o.open == 0 {
		m.cancel(f, o)
	}
}

// ledger is the naive model: the sum of free and held of each account and currency, and the
// inviter of each account. It has no holds.
type ledger struct {
	owns    map[string]map[uint32]*big.Int
	fees    map[string]*big.Int
	inviter map[uint32]uint32
	boss    map[uint32]uint32 // ambassador's second level, 10^-8; absent: none
}

func (l *ledger) add(currency string, account uint32, v *big.Int) {
	if l.owns[currency] == nil {
		l.owns[currency] = map[uint32]*big.Int{}
		l.fees[currency] = new(big.Int)
	}
	if l.owns[currency][account] == nil {
		l.owns[currency][account] = new(big.Int)
	}
	l.owns[currency][account].Add(l.owns[currency][account], v)
}

// fee books a fee and pays the five levels above the account.
func (l *ledger) fee(currency string, account uint32, v *big.Int) {
	l.add(currency, account, new(big.Int).Neg(v))
	l.fees[currency].Add(l.fees[currency], v)
	percent := []int64{20, 10, 5, 3, 2}
	up := account
	for i := range percent {
		if up = l.inviter[up]; up == 0 {
			return
		}
		share := new(big.Int).Mul(v, big.NewInt(percent[i]))
		share.Quo(share, big.NewInt(100))
		if rate, is := l.boss[up]; is && i == 1 {
			share.Mul(v, big.NewInt(int64(rate))).Quo(share, pow10(8))
		}
		l.add(currency, up, share)
		l.fees[currency].Sub(l.fees[currency], share)
	}
}

// everyone returns the resting orders of both sides, by id.
func (m *market) everyone() []*resting {
	all := append(slices.Clone(m.sides[engine.Buy]), m.sides[engine.Sell]...)
	slices.SortFunc(all, func(a, b *resting) int { return cmp.Compare(a.id, b.id) })
	return all
}

func (m *market) pick(rng *rand.Rand) *resting {
	if n := len(m.sides[0]) + len(m.sides[1]); n > 0 {
		i := rng.IntN(n)
		if i < len(m.sides[0]) {
			return m.sides[0][i]
		}
		return m.sides[1][i-len(m.sides[0])]
	}
	return nil
}

// compareHolds computes what each open order must hold from the market's own book.
func (m *simulation) compareHolds() {
	type key struct {
		account  uint32
		currency string
	}
	want, slack := map[key]*big.Int{}, map[key]int64{}
	for _, mk := range m.markets {
		for _, o := range mk.everyone() {
			if o.account == 0 {
				continue
			}
			k, hold := key{o.account, mk.base}, new(big.Int).Mul(big.NewInt(o.open), pow10(18-mk.da))
			if o.side == engine.Buy {
				worth := mk.money(mk.total(o.price, o.open))
				k, hold = key{o.account, mk.quote}, worth.Add(worth, naiveFee(worth, o.rates.Taker, o.rates.Discount))
				if mk.pair == 2 {
					slack[k] += 1000 // rounded fees of its fills, 10^-18 each
				}
			}
			if want[k] == nil {
				want[k] = new(big.Int)
			}
			want[k].Add(want[k], hold)
		}
	}
	for u := uint32(1); u <= m.users; u++ {
		for _, b := range m.s.View().Balances(u) {
			k := key{u, b.CurrencyCode}
			w := want[k]
			if w == nil {
				w = new(big.Int)
			}
			if d := new(big.Int).Sub(toBig(b.Held), w); d.CmpAbs(big.NewInt(slack[k])) > 0 {
				m.t.Fatalf("after %d commands: account %d holds %s %s, its orders need %s", m.commands, u,
					toBig(b.Held), b.CurrencyCode, w)
			}
		}
	}
}
