package engine_test

import (
	"math/big"
	"slices"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// model is the exchange of one pair written as plainly as the rules read: a slice of open
// orders, searched from end to end for everything. It reads commands and shares nothing
// with the core but the vocabulary. Its events are compared one by one.
type model struct {
	opts  engine.Options
	inst  engine.Instrument
	out   []engine.Event
	now   int64
	seq   engine.Seq
	n     uint64
	trade engine.TradeID
	last  int64
	clock int // arrivals at the book, so that a lower one has priority

	open []*modelOrder
	ids  []*modelID // remembered client ids, oldest first
}

type modelOrder struct {
	id               engine.OrderID
	n                uint64
	cmd              engine.Command // as placed; Price, Display as they are now
	total, rest      int64          // rest: all open lots, hidden ones included
	shown            int64
	arrival          int
	resting, waiting bool
	money            *big.Int // nil: no cap
	byQuote          bool
	dead             bool
	cause            engine.CancelCause
}

type modelID struct {
	account  engine.AccountID
	text     [2]uint64
	content  [2]uint64
	n        uint64
	order    *modelOrder
	isOpen   bool
	inWindow bool
}

func (m *model) emit(e engine.Event) {
	m.seq++
	e.Seq, e.TimeNs = m.seq, m.now
	m.out = append(m.out, e)
}

// apply is the model's Apply; the result is valid until the next one.
func (m *model) apply(c engine.Command) []engine.Event {
	m.out, m.now = nil, c.TimeNs
	switch c.Kind {
	case engine.Place:
		m.place(c)
	case engine.Cancel:
		m.cancel(c)
	case engine.Replace:
		m.replace(c)
	case engine.CancelAll:
		m.cancelAll(c)
	case engine.SetPair:
		m.inst.State, m.inst.MinQuote, m.inst.HasMinQuote = c.Instrument.State, c.Instrument.MinQuote, c.Instrument.HasMinQuote
		inst := m.inst
		m.emit(engine.Event{Kind: engine.EventPair, Instrument: &inst})
	}
	m.open = slices.DeleteFunc(m.open, func(o *modelOrder) bool { return !o.resting && !o.waiting })
	return m.out
}

func (m *model) reject(c engine.Command, r engine.Reason) {
	e := engine.Event{
		Kind: engine.EventRejected, Reason: r, Side: c.Side, Account: c.Account,
		Client: c.Client, Status: engine.Rejected,
	}
	if c.Kind != engine.Place && c.Kind != engine.CancelAll {
		e.Order = c.Order
	}
	m.emit(e)
}

func product(a, b int64) *big.Int { return new(big.Int).Mul(big.NewInt(a), big.NewInt(b)) }

func toBig(u fixed.U128) *big.Int {
	v := new(big.Int).SetUint64(u.Hi)
	return v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(u.Lo))
}

func fromBig(v *big.Int) fixed.U128 {
	lo := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1))
	return fixed.U128{Hi: new(big.Int).Rsh(v, 64).Uint64(), Lo: lo.Uint64()}
}

func (m *model) sums(price, amount int64) engine.Reason {
	p := product(price, amount)
	if p.Cmp(toBig(engine.MaxTotal)) > 0 {
		return engine.TotalOutOfRange
	}
	if m.inst.HasMinQuote && p.Cmp(toBig(m.inst.MinQuote)) < 0 {
		return engine.BelowMinQuoteAmount
	}
	return 0
}

func (m *model) members(c engine.Command) engine.Reason {
	stop := c.Type == engine.StopLimit || c.Type == engine.StopMarket
	market := c.Type == engine.Market || c.Type == engine.StopMarket
	byQuote := c.Flags&engine.FlagQuote != 0
	switch {
	case c.Refuse != 0:
		return c.Refuse
	case stop && c.Stop < 1:
		return engine.PriceNotPositive
	case market && byQuote:
		q := toBig(c.Quote)
		switch {
		case q.Sign() == 0 || c.Side == engine.Sell:
			return engine.AmountNotPositive
		case q.Cmp(toBig(engine.MaxTotal)) > 0:
			return engine.TotalOutOfRange
		case m.inst.HasMinQuote && q.Cmp(toBig(m.inst.MinQuote)) < 0:
			return engine.BelowMinQuoteAmount
		}
		return 0
	case market && c.Amount < 1:
		return engine.AmountNotPositive
	case market:
		return 0
	case c.Price < 1:
		return engine.PriceNotPositive
	case c.Amount < 1 || c.Display < 0:
		return engine.AmountNotPositive
	case c.Display > c.Amount, c.Display > 0 && c.Amount/c.Display > m.opts.IcebergSlices:
		return engine.AmountOutOfRange
	}
	if r := m.sums(c.Price, c.Amount); r != 0 {
		return r
	}
	if (c.TIF == engine.GTC || stop) && !m.fits(c.Side, c.Amount) {
		return engine.AmountOutOfRange
	}
	return 0
}

// fits: the lots of a side that rest or wait as stop_limit stay within int64.
func (m *model) fits(side engine.Side, lots int64) bool {
	sum := big.NewInt(lots)
	for _, o := range m.open {
		if o.cmd.Side == side && (o.resting || o.waiting && o.cmd.Type == engine.StopLimit) {
			sum.Add(sum, big.NewInt(o.rest))
		}
	}
	return sum.IsInt64()
}

func (m *model) place(c engine.Command) {
	var known *modelID
	if c.Client != nil {
		for _, id := range m.ids {
			if id.account == c.Account && id.text == c.Client.Hash {
				known = id
			}
		}
		if known != nil && known.content == c.Client.Content {
			m.emit(engine.Event{
				Kind: engine.EventRejected, Order: engine.OrderID(known.n), Side: c.Side,
				Account: c.Account, Client: c.Client,
			})
			return
		}
	}
	o := m.newOrder(c)
	for _, r := range []func() engine.Reason{
		func() engine.Reason { return m.members(c) },
		func() engine.Reason {
			if known != nil {
				return engine.DuplicateClientOrderID
			}
			return 0
		},
		func() engine.Reason { return m.state(c) },
		func() engine.Reason {
			if c.Type == engine.Limit || c.Type == engine.Market {
				return m.entry(o)
			}
			return 0
		},
	} {
		if reason := r(); reason != 0 {
			m.reject(c, reason)
			return
		}
	}
	m.n++
	o.n, o.id = m.n, engine.OrderID(m.n)
	m.accepted(o, c)
	if c.Type == engine.StopLimit || c.Type == engine.StopMarket {
		if o.waiting = true; !m.hit(o) {
			m.open = append(m.open, o)
			return
		}
		m.open = append(m.open, o)
		m.trigger(o)
	} else {
		m.enter(o)
	}
	m.stops()
}

func (m *model) newOrder(c engine.Command) *modelOrder {
	o := &modelOrder{cmd: c, total: c.Amount, rest: c.Amount, cause: engine.CauseRemainder}
	if c.Type == engine.Market || c.Type == engine.StopMarket {
		o.byQuote = c.Flags&engine.FlagQuote != 0
		o.cmd.TIF, o.cmd.Price, o.cmd.Display = engine.IOC, 0, 0
		if o.byQuote {
			o.money, o.total, o.rest = toBig(c.Quote), 0, 0
		} else if c.Flags&engine.FlagFunded != 0 && c.Side == engine.Buy {
			o.money = toBig(c.SpendLimit)
		}
	}
	return o
}

func (m *model) accepted(o *modelOrder, c engine.Command) {
	e := engine.Event{
		Kind: engine.EventAccepted, Order: o.id, Account: c.Account, Side: c.Side, Type: c.Type,
		TIF: o.cmd.TIF, STP: c.STP, Flags: c.Flags, Price: o.cmd.Price, Amount: o.total, OpenAmount: o.total,
		Display: o.cmd.Display, TakerFee: c.TakerFee, MakerFee: c.MakerFee, TakerDiscount: c.Discount,
		Client: c.Client,
	}
	if o.byQuote {
		e.Quote = c.Quote
	} else if o.money != nil {
		e.Quote = c.SpendLimit
	}
	if c.Type == engine.StopLimit || c.Type == engine.StopMarket {
		e.MakerOpen = c.Stop
	}
	if c.Client != nil {
		m.remember(o, c)
	}
	m.emit(e)
}

// remember makes room by letting the oldest leave the window, first the pair's, then the
// account's own.
func (m *model) remember(o *modelOrder, c engine.Command) {
	for len(m.ids) >= m.opts.ClientIDs {
		for _, id := range m.ids {
			if id.inWindow {
				id.inWindow = false
				break
			}
		}
		m.purge()
	}
	m.ids = append(m.ids, &modelID{
		account: c.Account, text: c.Client.Hash, content: c.Client.Content, n: o.n, order: o, isOpen: true, inWindow: true,
	})
	mine := 0
	for i := len(m.ids) - 1; i >= 0; i-- {
		if id := m.ids[i]; id.account == c.Account && id.inWindow {
			if mine++; mine > m.opts.AccountClientIDs {
				id.inWindow = false
			}
		}
	}
	m.purge()
}

func (m *model) purge() {
	m.ids = slices.DeleteFunc(m.ids, func(id *modelID) bool { return !id.isOpen && !id.inWindow })
}

func (m *model) ended(o *modelOrder) {
	o.resting, o.waiting, o.dead = false, false, true
	for _, id := range m.ids {
		if id.order == o {
			id.isOpen = false
		}
	}
	m.purge()
}

func (m *model) state(c engine.Command) engine.Reason {
	switch {
	case m.inst.State == engine.Halted:
		return engine.PairHalted
	case m.inst.State == engine.CancelOnly:
		return engine.PairCancelOnly
	case m.inst.State == engine.PostOnlyState && c.Flags&engine.FlagPostOnly == 0:
		return engine.PairPostOnly
	}
	ofOpen := 0
	for _, id := range m.ids {
		if id.isOpen {
			ofOpen++
		}
	}
	if c.Client != nil && ofOpen >= m.opts.ClientIDs {
		return engine.TooManyOrders
	}
	if c.Type != engine.Market && (c.Type != engine.Limit || c.TIF == engine.GTC) {
		all, mine := 0, 0
		for _, o := range m.open {
			all++
			if o.cmd.Account == c.Account {
				mine++
			}
		}
		if all >= m.opts.OpenOrders || c.Account != 0 && mine >= m.opts.AccountOrders {
			return engine.TooManyOrders
		}
	}
	return 0
}

// side is the resting orders of a side in the order in which a taker meets them.
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

func (o *modelOrder) market() bool {
	return o.cmd.Type == engine.Market || o.cmd.Type == engine.StopMarket
}

func (o *modelOrder) allows(price int64) bool {
	return o.market() || (o.cmd.Side == engine.Buy && price <= o.cmd.Price) ||
		(o.cmd.Side == engine.Sell && price >= o.cmd.Price)
}

// entry: whether the book lets the order in now.
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
		if !m.killable(o, opp) {
			return engine.FOKUnfilled
		}
	}
	return 0
}

// killable plays the whole match on copies: filled to the last lot or not at all.
func (m *model) killable(o *modelOrder, opp []*modelOrder) bool {
	type copyOf struct {
		o           *modelOrder
		shown, rest int64
	}
	var q []copyOf
	for _, x := range opp {
		if o.allows(x.cmd.Price) {
			q = append(q, copyOf{x, x.shown, x.rest})
		}
	}
	left := o.rest
	for len(q) > 0 && left > 0 {
		x := q[0]
		if x.o.cmd.Account == o.cmd.Account && o.cmd.STP != engine.SelfTradeNone {
			if o.cmd.STP != engine.CancelMaker {
				return false
			}
			q = q[1:]
			continue
		}
		d := min(left, x.shown)
		left -= d
		x.rest -= d
		q = q[1:]
		if d == x.shown && x.rest > 0 { // refills behind the others of its price
			x.shown = min(x.o.cmd.Display, x.rest)
			i := 0
			for i < len(q) && q[i].o.cmd.Price == x.o.cmd.Price {
				i++
			}
			q = slices.Insert(q, i, x)
		}
	}
	return left == 0
}

// wants is how many lots o takes at price.
func (o *modelOrder) wants(price int64) int64 {
	if o.money == nil {
		return o.rest
	}
	q := new(big.Int).Div(o.money, big.NewInt(price))
	if o.byQuote {
		return q.Int64()
	}
	if !q.IsInt64() || q.Int64() > o.rest {
		return o.rest
	}
	return q.Int64()
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
			stopped = m.meet(o, q[0])
		}
		m.level(s, price, before)
	}
	m.remainder(o, stopped)
}

// meet is one encounter; true: the taker is done.
func (m *model) meet(o, x *modelOrder) bool {
	if x.cmd.Account == o.cmd.Account && o.cmd.STP != engine.SelfTradeNone {
		return m.self(o, x)
	}
	d := min(o.wants(x.cmd.Price), x.shown)
	if d == 0 {
		return true
	}
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
		Kind: engine.EventTrade, Side: o.cmd.Side, Flags: o.cmd.Flags, Account: o.cmd.Account, Order: o.id, Maker: x.id,
		Trade: m.trade, Price: x.cmd.Price, Amount: d, OpenAmount: o.rest, MakerOpen: x.rest,
		MakerAccount: x.cmd.Account, TakerFee: o.cmd.TakerFee, TakerDiscount: o.cmd.Discount,
		MakerFee: x.cmd.MakerFee, MakerDiscount: x.cmd.Discount, Status: engine.PartiallyCompleted,
	}
	if o.money != nil {
		o.money.Sub(o.money, product(x.cmd.Price, d))
	}
	if o.byQuote {
		e.Quote = fromBig(o.money)
	} else if o.rest == 0 {
		e.Status = engine.Completed
	}
	m.emit(e)
	if x.rest == 0 {
		m.ended(x)
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

func (m *model) self(o, x *modelOrder) bool {
	switch o.cmd.STP {
	case engine.CancelMaker:
		m.kill(x, engine.CauseSelfTrade)
		return false
	case engine.CancelBoth:
		m.kill(x, engine.CauseSelfTrade)
	case engine.Decrement:
		d := min(o.wants(x.cmd.Price), x.rest)
		if d == 0 {
			return true
		}
		x.rest -= d
		x.total -= d
		x.shown = min(x.shown, x.rest)
		e := engine.Event{
			Kind: engine.EventReduced, Account: o.cmd.Account, Price: x.cmd.Price, Amount: d,
			Order: x.id, Side: x.cmd.Side, OpenAmount: x.rest,
		}
		m.emit(e)
		e.Order, e.Side = o.id, o.cmd.Side
		if o.byQuote {
			o.money.Sub(o.money, product(x.cmd.Price, d))
			e.Flags, e.Quote = o.cmd.Flags, fromBig(o.money)
		} else {
			o.rest -= d
			o.total -= d
		}
		e.OpenAmount = o.rest
		m.emit(e)
		if x.rest == 0 {
			m.kill(x, engine.CauseSelfTrade)
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
	if x.byQuote {
		e.Quote = fromBig(x.money)
	}
	m.emit(e)
	m.ended(x)
}

func (m *model) remainder(o *modelOrder, stopped bool) {
	if o.rest == 0 && !stopped && !o.byQuote {
		m.ended(o)
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
}

func (m *model) hit(o *modelOrder) bool {
	return m.last != 0 && ((o.cmd.Side == engine.Buy && m.last >= o.cmd.Stop) ||
		(o.cmd.Side == engine.Sell && m.last <= o.cmd.Stop))
}

func (m *model) trigger(o *modelOrder) {
	o.waiting = false
	m.emit(engine.Event{
		Kind: engine.EventTriggered, Order: o.id, Account: o.cmd.Account, Side: o.cmd.Side, Type: o.cmd.Type,
		MakerOpen: o.cmd.Stop, Price: o.cmd.Price, OpenAmount: o.rest,
	})
	if m.entry(o) != 0 {
		m.kill(o, engine.CauseUnfillable)
		return
	}
	m.enter(o)
}

func (m *model) stops() {
	var queue []*modelOrder
	for {
		var through []*modelOrder
		for _, o := range m.open {
			if o.waiting && m.hit(o) && !slices.Contains(queue, o) {
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
		m.trigger(o)
	}
}
