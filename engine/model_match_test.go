package engine_test

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// side returns the resting orders of a side in the order in which a taker meets them.
func (m *model) side(s engine.Side) []*modelOrder {
	var q []*modelOrder
	for _, o := range m.open {
		if o.resting && o.cmd.Side == s {
			q = append(q, o)
		}
	}
	slices.SortFunc(q, func(a, b *modelOrder) int {
		d := a.cmd.Price - b.cmd.Price
		if s == engine.Buy {
			d = -d
		}
		if d == 0 {
			d = int64(a.arrival - b.arrival)
		}
		return int(max(-1, min(1, d)))
	})
	return q
}

func (o *modelOrder) market() bool { return o.cmd.Type.AtMarket() }

// flags returns the flags of the order's trades.
func (o *modelOrder) flags() uint8 { return o.cmd.Flags & (engine.FlagPostOnly | engine.FlagQuote) }

// limit returns the order's own price, 0 for a market order.
func (o *modelOrder) limit() int64 {
	if o.market() {
		return 0
	}
	return o.cmd.Price
}

func (o *modelOrder) allows(price int64) bool {
	return o.market() || (o.cmd.Side == engine.Buy && price <= o.cmd.Price) ||
		(o.cmd.Side == engine.Sell && price >= o.cmd.Price)
}

// entry returns the refusal of the order by the book, NotRejected if it may enter.
func (m *model) entry(o *modelOrder) engine.Reason {
	opp := m.side(1 - o.cmd.Side)
	switch {
	case o.market():
		if len(opp) == 0 {
			return engine.NoLiquidity
		}
	case o.cmd.Flags&engine.FlagPostOnly != 0:
		if len(opp) > 0 && o.allows(opp[0].cmd.Price) {
			return engine.WouldCross
		}
	case o.cmd.TIF == engine.FOK:
		if _, fills := m.play(o); !fills {
			return engine.FOKUnfilled
		}
	}
	return 0
}

// play plays the whole match on copies: the cost of what o takes, and whether that is its whole amount.
func (m *model) play(o *modelOrder) (cost *big.Int, fills bool) {
	cost, taken := m.playAll(o)
	return cost, taken == o.rest
}

// playAll plays the whole match on copies: what o takes, and its cost.
func (m *model) playAll(o *modelOrder) (cost *big.Int, taken int64) {
	type copyOf struct {
		o           *modelOrder
		shown, rest int64
	}
	var q []copyOf
	for _, x := range m.side(1 - o.cmd.Side) {
		if o.allows(x.cmd.Price) {
			q = append(q, copyOf{x, x.shown, x.rest})
		}
	}
	cost = new(big.Int)
	money := new(big.Int) // that a sell by quote amount has still to bring about
	if o.byQuote {
		money.Set(o.money)
	}
	left := o.rest
	for len(q) > 0 {
		x := q[0]
		q = q[1:]
		price := x.o.cmd.Price
		want := left
		if o.byQuote {
			want = new(big.Int).Div(money, big.NewInt(price)).Int64()
		}
		if want == 0 {
			break
		}
		if x.o.cmd.Account == o.cmd.Account && o.cmd.STP != engine.SelfTradeNone {
			switch {
			case o.cmd.STP == engine.CancelMaker:
				continue
			case o.cmd.STP == engine.Decrement:
				d := min(want, x.rest)
				left -= d
				money.Sub(money, product(price, d))
				if d == x.rest {
					continue
				}
			}
			break
		}
		d := min(want, x.shown)
		cost.Add(cost, product(price, d))
		money.Sub(money, product(price, d))
		left -= d
		taken += d
		x.rest -= d
		if d < x.shown {
			break
		}
		if x.rest > 0 { // refills behind the others of its price
			x.shown = min(x.o.cmd.Display, x.rest)
			i := 0
			for i < len(q) && q[i].o.cmd.Price == price {
				i++
			}
			q = slices.Insert(q, i, x)
		}
	}
	return cost, taken
}

// wants returns the number of lots that o takes at price.
func (o *modelOrder) wants(price int64) int64 {
	if o.money == nil {
		return o.rest
	}
	q := new(big.Int).Div(o.money, big.NewInt(price))
	if o.byQuote && o.most != nil {
		return min(q.Int64(), *o.most-o.total)
	}
	if o.byQuote {
		return q.Int64()
	}
	if !q.IsInt64() || q.Int64() > o.rest {
		return o.rest
	}
	return q.Int64()
}

// loses returns the lots that an order of its own account at price keeps from it.
func (o *modelOrder) loses(price int64) int64 {
	if o.byQuote {
		return new(big.Int).Div(o.money, big.NewInt(price)).Int64()
	}
	return o.rest
}

func (m *model) levelSum(s engine.Side, price int64) (sum int64) {
	for _, o := range m.open {
		if o.resting && o.cmd.Side == s && o.cmd.Price == price {
			sum += o.shown
		}
	}
	return sum
}

func (m *model) level(s engine.Side, price, before int64) {
	if now := m.levelSum(s, price); now != before {
		m.emit(engine.Event{Kind: engine.EventLevel, Side: s, Price: price, Amount: now})
	}
}

func (m *model) enter(o *modelOrder) {
	s := 1 - o.cmd.Side
	stopped := false
	if o.most != nil && *o.most == 0 {
		stopped, o.cause = true, engine.CauseFunds
	}
	for !stopped && (o.rest > 0 || o.byQuote) {
		opp := m.side(s)
		if len(opp) == 0 || !o.allows(opp[0].cmd.Price) {
			break
		}
		price := opp[0].cmd.Price
		before := m.levelSum(s, price)
		for !stopped && (o.rest > 0 || o.byQuote) {
			q := m.side(s)
			if len(q) == 0 || q[0].cmd.Price != price {
				break
			}
			if stopped = m.meet(o, q[0]); o.most != nil && *o.most == o.total {
				stopped, o.cause = true, engine.CauseFunds
			}
		}
		m.level(s, price, before)
	}
	m.remainder(o, stopped)
}

// meet trades o with x or applies self-trade prevention, if o can still trade a lot. It reports whether the taker is
// done.
func (m *model) meet(o, x *modelOrder) bool {
	lots := o.wants(x.cmd.Price)
	if lots == 0 {
		if o.cause = engine.CauseRemainder; !o.byQuote {
			o.cause = engine.CauseFunds
		}
		return true
	}
	if x.cmd.Account == o.cmd.Account && o.cmd.STP != engine.SelfTradeNone {
		return m.self(o, x)
	}
	d := min(lots, x.shown)
	m.trade++
	m.last = x.cmd.Price
	x.shown -= d
	x.rest -= d
	if !o.byQuote {
		o.rest -= d
	} else {
		o.total += d
	}
	e := engine.Event{
		Kind: engine.EventTrade, Side: o.cmd.Side, Flags: o.flags(), Account: o.cmd.Account, Order: o.id, Maker: x.id,
		Trade: m.trade, Price: x.cmd.Price, Amount: d, OpenAmount: o.rest, MakerOpen: x.rest,
		MakerAccount: x.cmd.Account, TakerFee: o.takerFee, TakerDiscount: o.discount,
		MakerFee: x.makerFee, MakerDiscount: x.discount, Status: engine.PartiallyCompleted, Display: o.limit(),
	}
	if o.money != nil {
		o.money.Sub(o.money, product(x.cmd.Price, d))
		e.Quote = fromBig(o.money)
	}
	if !o.byQuote && o.rest == 0 {
		e.Status = engine.Completed
	}
	m.emit(e)
	if o.cmd.Side == engine.Buy {
		m.brings(o, d, o.takerFee)
	} else {
		m.brings(x, d, x.makerFee)
	}
	m.lookAtLists()
	if x.rest == 0 {
		m.leaves(x, true, 0)
		m.ended(x)
		m.lookAtLists()
	} else if x.shown == 0 {
		x.shown = min(x.cmd.Display, x.rest)
		m.clock++
		x.arrival = m.clock
		m.emit(engine.Event{
			Kind: engine.EventRefilled, Order: x.id, Account: x.cmd.Account, Side: x.cmd.Side,
			Price: x.cmd.Price, Amount: x.shown, OpenAmount: x.rest,
		})
	}
	return false
}

// prevented tells of a match that self-trade prevention keeps from happening.
func (m *model) prevented(o, x *modelOrder) {
	m.matches++
	wants := o.loses(x.cmd.Price)
	e := engine.Event{
		Kind: engine.EventPrevented, Order: o.id, Maker: x.id, Trade: m.matches, Side: o.cmd.Side,
		Account: o.cmd.Account, Price: x.cmd.Price, STP: o.cmd.STP, Amount: wants, OpenAmount: x.rest,
	}
	switch o.cmd.STP {
	case engine.CancelTaker:
		e.OpenAmount = 0
	case engine.CancelMaker:
		e.Amount = 0
	case engine.Decrement:
		e.Amount = min(wants, x.rest)
		e.OpenAmount = e.Amount
	}
	m.emit(e)
}

func (m *model) self(o, x *modelOrder) bool {
	m.prevented(o, x)
	switch o.cmd.STP {
	case engine.CancelMaker:
		m.kill(x, engine.CauseSelfTrade)
		m.lookAtLists()
		return false
	case engine.CancelBoth:
		m.kill(x, engine.CauseSelfTrade)
		m.lookAtLists()
	case engine.Decrement:
		d := min(o.loses(x.cmd.Price), x.rest)
		x.rest -= d
		x.total -= d
		x.shown = min(x.shown, x.rest)
		e := engine.Event{
			Kind: engine.EventReduced, Account: o.cmd.Account, Price: x.cmd.Price, Amount: d,
			Order: x.id, Side: x.cmd.Side, OpenAmount: x.rest, Display: x.cmd.Price,
		}
		m.emit(e)
		e.Order, e.Side = o.id, o.cmd.Side
		if o.byQuote {
			o.money.Sub(o.money, product(x.cmd.Price, d))
			e.Flags, e.Quote = o.flags(), fromBig(o.money)
		} else {
			o.rest -= d
			o.total -= d
		}
		e.OpenAmount, e.Display = o.rest, o.limit()
		m.emit(e)
		if x.rest == 0 {
			m.kill(x, engine.CauseSelfTrade)
			m.lookAtLists()
		} else {
			m.reduceOther(x, d)
		}
		if o.rest > 0 || o.byQuote {
			return false
		}
	}
	o.cause = engine.CauseSelfTrade
	return true
}

// kill ends an open order that rests or waits.
func (m *model) kill(x *modelOrder, cause engine.CancelCause) {
	e := engine.Event{
		Kind: engine.EventCanceled, Order: x.id, Account: x.cmd.Account, Side: x.cmd.Side,
		Price: x.cmd.Price, Amount: x.rest, Cause: cause, Status: engine.Canceled,
	}
	if x.total > x.rest {
		e.Status = engine.PartiallyExecutedAndCanceled
	}
	if x.money != nil {
		e.Quote = fromBig(x.money)
	} else if (x.waiting || x.released) && x.byAmount() {
		e.Quote = fromBig(m.needs(x))
	}
	if x.pending {
		e.Quote = fixed.U128{}
	}
	m.emit(e)
	m.leaves(x, false, cause)
	m.ended(x)
}

func (m *model) remainder(o *modelOrder, stopped bool) {
	if o.rest == 0 && !stopped && !o.byQuote {
		m.leaves(o, true, 0)
		m.ended(o)
		m.lookAtLists()
		return
	}
	if !stopped && o.cmd.TIF == engine.GTC && !o.market() {
		before := m.levelSum(o.cmd.Side, o.cmd.Price)
		o.resting, o.shown = true, o.rest
		if o.cmd.Display > 0 {
			o.shown = min(o.cmd.Display, o.rest)
		}
		m.clock++
		o.arrival = m.clock
		if !slices.Contains(m.open, o) {
			m.open = append(m.open, o)
		}
		m.level(o.cmd.Side, o.cmd.Price, before)
		return
	}
	m.kill(o, o.cause)
	if o.byQuote && o.total > 0 && o.cause == engine.CauseRemainder {
		opp := m.side(1 - o.cmd.Side)
		if o.wants(m.last) == 0 || len(opp) > 0 && o.wants(opp[0].cmd.Price) == 0 {
			m.out[len(m.out)-1].Status = engine.Completed
		}
	}
	m.lookAtLists()
}

// rises reports whether a waiting order is reached from below.
func (o *modelOrder) rises() bool {
	stop := o.cmd.Type == engine.StopLimit || o.cmd.Type == engine.StopMarket
	return stop == (o.cmd.Side == engine.Buy)
}

// through reports whether the last trade has reached the stop price of a waiting order.
func (m *model) through(o *modelOrder) bool {
	switch {
	case m.last == 0:
		return false
	case o.cmd.Stop == 0:
		return true
	case o.rises():
		return m.last >= o.cmd.Stop
	}
	return m.last <= o.cmd.Stop
}

// hit reports whether the last trade triggers a waiting order.
func (m *model) hit(o *modelOrder) bool {
	switch now, end := product(m.last, 10_000), m.scaledEnd(o); {
	case o.cmd.Trail == 0:
		return m.through(o)
	case !o.tracks:
		return false
	case o.cmd.Side == engine.Sell:
		return now.Cmp(end) <= 0
	default:
		return now.Cmp(end) >= 0
	}
}

// scaledEnd returns 10,000 times the price that triggers an order that tracks.
func (m *model) scaledEnd(o *modelOrder) *big.Int {
	if o.cmd.Side == engine.Sell {
		return product(o.extreme, 10_000-int64(o.cmd.Trail))
	}
	return product(o.extreme, 10_000+int64(o.cmd.Trail))
}

// end returns the tick at which that is reached.
func (m *model) end(o *modelOrder) *big.Int {
	v := m.scaledEnd(o)
	if o.cmd.Side == engine.Buy {
		v.Add(v, big.NewInt(9_999))
	}
	return v.Div(v, big.NewInt(10_000))
}

// holdAt returns the price at which a waiting market buy by amount holds its lots, 0: it is unknown.
func (m *model) holdAt(c engine.Command) int64 {
	if c.Stop != 0 || m.last == 0 {
		return c.Stop
	}
	return m.end(&modelOrder{cmd: c, extreme: m.last}).Int64()
}

// wait makes an order wait; one that trails tracks at once when its stop price is reached.
func (m *model) wait(o *modelOrder) {
	m.clock++
	o.waiting, o.released, o.tracks, o.arrival = true, false, false, m.clock
	if o.cmd.Trail != 0 && m.through(o) {
		m.track(o)
	}
}

func (m *model) track(o *modelOrder) {
	o.tracks, o.extreme = true, m.last
	m.emit(engine.Event{
		Kind: engine.EventActivated, Order: o.id, Account: o.cmd.Account, Side: o.cmd.Side, Price: m.last,
	})
}

// look moves the extremes, and makes orders track whose stop price is reached: those of a rise first, the nearest price
// first, then in the order in which they have come to it.
func (m *model) look() {
	var reached []*modelOrder
	for _, o := range m.open {
		switch {
		case !o.waiting || o.reached || o.cmd.Trail == 0:
		case !o.tracks && m.through(o):
			reached = append(reached, o)
		case o.tracks && o.cmd.Side == engine.Sell:
			o.extreme = max(o.extreme, m.last)
		case o.tracks:
			o.extreme = min(o.extreme, m.last)
		}
	}
	key := func(o *modelOrder) (falls int, price int64) {
		if o.cmd.Stop == 0 || o.rises() {
			return 0, o.cmd.Stop
		}
		return 1, -o.cmd.Stop
	}
	slices.SortFunc(reached, func(a, b *modelOrder) int {
		fa, pa := key(a)
		fb, pb := key(b)
		return cmp.Or(cmp.Compare(fa, fb), cmp.Compare(pa, pb), cmp.Compare(a.arrival, b.arrival))
	})
	for _, o := range reached {
		m.track(o)
	}
}

func (m *model) trigger(o *modelOrder) {
	o.active = true
	m.lookAtLists()
	o.waiting = false
	o.cmd.Flags &^= engine.FlagStrict
	at := o.cmd.Stop
	if o.tracks {
		at = m.end(o).Int64()
	}
	e := engine.Event{
		Kind: engine.EventTriggered, Order: o.id, Account: o.cmd.Account, Side: o.cmd.Side, Type: o.cmd.Type,
		MakerOpen: at, Price: o.cmd.Price, OpenAmount: o.rest,
	}
	if o.sellsByQuote() {
		_, o.sells = m.playAll(o)
		if m.purse != nil {
			free := new(big.Int).Div(toBig(m.purse.Free(o.cmd.Account, 0, engine.Sell)),
				m.purse.units(engine.Sell, big.NewInt(1)))
			if free.Cmp(big.NewInt(o.sells)) < 0 {
				o.sells = free.Int64()
				o.most = new(o.sells)
			}
		}
		e.Amount = o.sells
	}
	if o.byAmount() {
		e.Display = o.hold
		money, most := m.atTrigger(o)
		if most.Cmp(money) < 0 {
			money, o.money = most, new(big.Int).Set(most)
		}
		e.Quote = fromBig(money)
	}
	m.emit(e)
	if m.entry(o) != 0 {
		m.kill(o, engine.CauseUnfillable)
		m.lookAtLists()
		return
	}
	m.enter(o)
}

// atTrigger returns what a reached market buy costs, and the most that it may spend.
func (m *model) atTrigger(o *modelOrder) (cost, most *big.Int) {
	cost, _ = m.play(o)
	most = m.mostSettled()
	if m.purse == nil {
		return cost, most
	}
	unit := m.purse.units(engine.Buy, big.NewInt(1))
	money := new(big.Int).Div(toBig(m.purse.Free(o.cmd.Account, 0, engine.Buy)), unit)
	if money.Add(money, m.needs(o)); money.Cmp(most) < 0 {
		most = money
	}
	return cost, most
}

func (m *model) stops() {
	var queue []*modelOrder
	for {
		m.look()
		var through []*modelOrder
		for _, o := range m.open {
			if o.waiting && !o.reached && m.hit(o) {
				o.reached = true
				through = append(through, o)
			}
			if o.pending && !o.reached && o.list.due && o == o.list.legs[0] {
				o.reached = true
				through = append(through, o)
			}
		}
		slices.SortFunc(through, func(a, b *modelOrder) int { return int(a.n) - int(b.n) })
		queue = append(queue, through...)
		if len(queue) == 0 {
			return
		}
		o := queue[0]
		queue = queue[1:]
		switch {
		case o.dead:
		case o.pending:
			o.reached = false
			m.begin(o.list)
		default:
			m.trigger(o)
		}
	}
}
