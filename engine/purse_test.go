package engine_test

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/fixed"
)

// purse is the money of the accounts of one pair, without fees. It keeps no table of orders: what is held follows from
// the events alone. Accounts without a balance are unlimited, as the built-in one is.
type purse struct {
	t          testing.TB
	inst       *engine.Instrument
	free, held map[purseKey]*big.Int // units
	limited    map[engine.AccountID]bool
	halted     map[engine.AccountID]bool
	folded     []engine.Event // since the newest taken
	seqs       map[engine.PairID]engine.Seq
	lent       map[engine.AccountID]*big.Int
	asked      int
	lists      map[engine.OrderID]*purseList
}

// purseKey is an account and the side that spends the money: Buy the quote, Sell the base.
type purseKey struct {
	account engine.AccountID
	side    engine.Side
}

func newPurse(t testing.TB) *purse {
	return &purse{
		t: t, free: map[purseKey]*big.Int{}, held: map[purseKey]*big.Int{},
		limited: map[engine.AccountID]bool{}, halted: map[engine.AccountID]bool{},
		seqs: map[engine.PairID]engine.Seq{}, lent: map[engine.AccountID]*big.Int{},
		lists: map[engine.OrderID]*purseList{},
	}
}

// give sets the balance of an account: whole lots of the base, product units of the quote.
func (p *purse) give(a engine.AccountID, lots, quote int64) {
	p.limited[a] = true
	p.free[purseKey{a, engine.Sell}] = p.units(engine.Sell, big.NewInt(lots))
	p.free[purseKey{a, engine.Buy}] = p.units(engine.Buy, big.NewInt(quote))
}

// units converts lots (Sell) or product units (Buy).
func (p *purse) units(s engine.Side, v *big.Int) *big.Int {
	digits := p.inst.BaseDigits - p.inst.DigitsAmount
	if s == engine.Buy {
		digits = p.inst.QuoteDigits - p.inst.DigitsPrice - p.inst.DigitsAmount
	}
	return new(big.Int).Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil))
}

func (p *purse) of(m map[purseKey]*big.Int, a engine.AccountID, s engine.Side) *big.Int {
	k := purseKey{a, s}
	if m[k] == nil {
		m[k] = new(big.Int)
	}
	return m[k]
}

func (p *purse) Cover(a engine.AccountID, _ engine.PairID, s engine.Side, need fixed.U128) engine.Reason {
	p.asked++
	switch {
	case p.halted[a]:
		return engine.AccountHalted
	case p.limited[a] && p.of(p.free, a, s).Cmp(toBig(need)) < 0:
		return engine.InsufficientFunds
	}
	return engine.NotRejected
}

func (p *purse) Free(a engine.AccountID, _ engine.PairID, s engine.Side) fixed.U128 {
	p.asked++
	if !p.limited[a] {
		return fixed.U128{Hi: 1<<64 - 1, Lo: 1<<64 - 1}
	}
	return fromBig(p.of(p.free, a, s))
}

func (p *purse) Discount(a engine.AccountID, s engine.Side) uint32 {
	if a == 0 {
		p.t.Error("the built-in account pays no fee, so it has no discount")
	}
	return uint32(a)*100 + uint32(s)
}

func (p *purse) Digits(string) (int, bool) { return 0, false }

// Fold books events and checks that none is missing or comes twice.
func (p *purse) Fold(events []engine.Event) {
	if len(events) == 0 {
		p.t.Error("nothing is folded")
	}
	for i := range events {
		e := &events[i]
		if p.seqs[e.Pair]++; e.Seq != p.seqs[e.Pair] {
			p.t.Fatalf("event %d is folded as number %d", e.Seq, p.seqs[e.Pair])
		}
		p.book(e)
	}
	p.folded = append(p.folded, events...)
}

func (p *purse) book(e *engine.Event) {
	if p.bookList(e) {
		return
	}
	switch e.Kind {
	case engine.EventPair:
		p.inst = e.Instrument
	case engine.EventAccepted:
		p.hold(e.Account, e.Side, heldBy(e.Side, e.Price, lotsHeld(e), e.Quote))
	case engine.EventTrade:
		p.trade(e)
	case engine.EventCanceled:
		p.release(e.Account, e.Side, heldBy(e.Side, e.Price, lotsHeld(e), e.Quote))
	case engine.EventReduced:
		switch {
		case e.Side == engine.Sell && e.Flags&engine.FlagQuote != 0: // it holds nothing for them
		case e.Side == engine.Sell || e.Display != 0:
			p.release(e.Account, e.Side, heldBy(e.Side, e.Display, e.Amount, fixed.U128{}))
		case e.Flags&engine.FlagQuote != 0:
			p.release(e.Account, e.Side, product(e.Price, e.Amount))
		}
	case engine.EventReplaced:
		p.release(e.Account, e.Side, heldBy(e.Side, e.MakerOpen, e.Display, fixed.U128{}))
		p.hold(e.Account, e.Side, heldBy(e.Side, e.Price, e.OpenAmount, fixed.U128{}))
	case engine.EventTriggered:
		if e.Side == engine.Sell {
			p.hold(e.Account, e.Side, big.NewInt(e.Amount))
		}
		if e.Type.AtMarket() && e.Side == engine.Buy && e.OpenAmount != 0 {
			p.release(e.Account, e.Side, product(e.Display, e.OpenAmount))
			p.hold(e.Account, e.Side, toBig(e.Quote))
		}
	}
}

// lotsHeld returns the lots of an order that begins or ends: a sell by quote amount has them in OpenAmount.
func lotsHeld(e *engine.Event) int64 {
	if e.Side == engine.Sell && e.Amount == 0 {
		return e.OpenAmount
	}
	return e.Amount
}

// heldBy returns what an order holds: lots of a sell, else product units.
func heldBy(s engine.Side, price, lots int64, quote fixed.U128) *big.Int {
	switch {
	case s == engine.Sell:
		return big.NewInt(lots)
	case price != 0:
		return product(price, lots)
	}
	return toBig(quote)
}

func (p *purse) trade(e *engine.Event) {
	for _, x := range []struct {
		account engine.AccountID
		side    engine.Side
		limit   int64
		id      engine.OrderID
	}{{e.Account, e.Side, e.Display, e.Order}, {e.MakerAccount, e.Side.Opposite(), e.Price, e.Maker}} {
		paid, got := big.NewInt(e.Amount), product(e.Price, e.Amount)
		held := new(big.Int).Set(paid)
		if x.side == engine.Buy {
			paid, got = got, paid
			held.Set(paid)
			if x.limit != 0 {
				held = product(x.limit, e.Amount)
				p.release(x.account, x.side, product(x.limit-e.Price, e.Amount))
			}
		}
		from := p.held
		if x.account == 0 {
			from = p.free
		}
		v := p.of(from, x.account, x.side)
		if v.Sub(v, p.units(x.side, paid)); x.account != 0 && v.Sign() < 0 {
			p.t.Fatalf("account %d pays more than it holds: %+v", x.account, e)
		}
		v = p.of(p.free, x.account, x.side.Opposite())
		v.Add(v, p.units(x.side.Opposite(), got))
		p.tradeOfList(e, x.id, held)
	}
}

func (p *purse) hold(a engine.AccountID, s engine.Side, v *big.Int) {
	if a == 0 {
		return
	}
	p.holdUnits(a, s, p.units(s, v))
}

func (p *purse) holdUnits(a engine.AccountID, s engine.Side, units *big.Int) {
	if a == 0 {
		return
	}
	free, held := p.of(p.free, a, s), p.of(p.held, a, s)
	held.Add(held, units)
	if free.Sub(free, units); p.limited[a] && free.Sign() < 0 {
		p.t.Fatalf("account %d holds more than it has", a)
	}
	if held.Sign() < 0 {
		p.t.Fatalf("account %d holds %s", a, held)
	}
}

func (p *purse) release(a engine.AccountID, s engine.Side, v *big.Int) {
	p.hold(a, s, new(big.Int).Neg(v))
}

// taken returns the events that were folded since the newest call.
func (p *purse) taken() (events []engine.Event) {
	events, p.folded = p.folded, nil
	return events
}

// agree compares what is held with what the open orders hold, and the sum of each currency with zero.
func (p *purse) agree(c *engine.Core, given [2]*big.Int) error {
	held := map[purseKey]*big.Int{}
	add := func(a engine.AccountID, s engine.Side, v *big.Int) {
		if a != 0 {
			h := p.of(held, a, s)
			h.Add(h, p.units(s, v))
		}
	}
	for l := range c.Lists(0) {
		for _, s := range []engine.Side{engine.Buy, engine.Sell} {
			if a := l.Account; a != 0 {
				h := p.of(held, a, s)
				h.Add(h, listHold(p, c, &l, s))
			}
		}
	}
	for _, s := range []engine.Side{engine.Buy, engine.Sell} {
		for o := range c.Resting(0, s, 0) {
			if state, _ := c.Order(o.ID); state.List != 0 {
				continue
			}
			add(o.Account, s, heldBy(s, o.Price, o.Shown+o.Hidden, fixed.U128{}))
		}
	}
	for stop := range c.Stops(0) {
		o, _ := c.Order(stop.ID)
		if o.List != 0 {
			continue
		}
		quote := o.Quote
		if o.Type.AtMarket() && o.Quote.IsZero() {
			quote = fixed.Mul64(uint64(o.Hold), uint64(o.Open))
		}
		add(o.Account, o.Side, heldBy(o.Side, o.Price, o.Open, quote))
	}
	for k, v := range p.held {
		if v.Cmp(p.of(held, k.account, k.side)) != 0 {
			return fmt.Errorf("account %d holds %s for its %ss, its orders need %s", k.account, v, k.side, held[k])
		}
	}
	for k, v := range held {
		if v.Cmp(p.of(p.held, k.account, k.side)) != 0 {
			return fmt.Errorf("account %d holds %s for its %ss, its orders need %s", k.account, p.held[k], k.side, v)
		}
	}
	if sums := p.sums(); given[0] != nil && (sums[0].Cmp(given[0]) != 0 || sums[1].Cmp(given[1]) != 0) {
		return fmt.Errorf("there are %s of the quote and %s of the base, not %s and %s", sums[0], sums[1], given[0],
			given[1])
	}
	return nil
}

// sums returns all that there is of quote and base.
func (p *purse) sums() (sums [2]*big.Int) {
	sums = [2]*big.Int{new(big.Int), new(big.Int)}
	for _, m := range []map[purseKey]*big.Int{p.free, p.held} {
		for k, v := range m {
			sums[k.side].Add(sums[k.side], v)
		}
	}
	return sums
}

// endow gives accounts 1 to 3 money that is often too little for their orders; account 4 is unlimited.
func (p *purse) endow() {
	for a := range engine.AccountID(3) {
		p.give(a+1, 120, 24_000)
	}
}

// lend takes the free quote of an account away until it is repaid.
func (p *purse) lend(a engine.AccountID) {
	if p.lent[a] == nil {
		p.lent[a] = new(big.Int)
	}
	p.lent[a].Add(p.lent[a], p.of(p.free, a, engine.Buy))
	p.of(p.free, a, engine.Buy).SetInt64(0)
}

func (p *purse) repay() {
	for a, v := range p.lent {
		free := p.of(p.free, a, engine.Buy)
		free.Add(free, v)
	}
	clear(p.lent)
}

// fund makes the market ask a purse.
func (m *market) fund() *purse {
	m.purse = newPurse(m.t)
	m.purse.inst, _ = m.core.Pair(0)
	m.purse.seqs[0] = m.core.LastSeq(0)
	m.core.SetFunds(m.purse)
	return m.purse
}

// checkFolded checks that the purse has folded the events of a command and no others.
func (p *purse) checkFolded(events []engine.Event) {
	p.t.Helper()
	if !enginetest.EqualEvents(p.taken(), events) {
		p.t.Fatalf("other events were folded than %v", kinds(events))
	}
}
