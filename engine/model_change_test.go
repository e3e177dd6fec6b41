package engine_test

import (
	"math/big"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

func (m *model) find(c engine.Command) (*modelOrder, engine.Reason) {
	if c.Order < 1 || c.Order > engine.OrderID(m.n) {
		return nil, engine.UnknownOrder
	}
	for _, o := range m.open {
		if o.id != c.Order {
			continue
		}
		if c.Flags&engine.FlagAllAccount == 0 && o.cmd.Account != c.Account {
			return nil, engine.UnknownOrder
		}
		return o, 0
	}
	return nil, engine.OrderClosed
}

// remove ends an order on request and says what its level shows afterwards.
func (m *model) remove(o *modelOrder, cause engine.CancelCause) {
	if o.waiting || o.pending {
		m.kill(o, cause)
		return
	}
	before := m.levelSum(o.cmd.Side, o.cmd.Price)
	m.kill(o, cause)
	m.level(o.cmd.Side, o.cmd.Price, before)
}

func (m *model) cancel(c engine.Command) {
	o, r := m.find(c)
	if r == 0 && m.inst.State == engine.Halted {
		r = engine.PairHalted
	}
	if r != 0 {
		m.reject(c, r)
		return
	}
	if filled := o.total > o.rest; filled && c.Flags&engine.FlagOnlyNew != 0 ||
		!filled && c.Flags&engine.FlagOnlyPartial != 0 {
		m.reject(c, engine.CancelRestricted)
		return
	}
	if m.cancelWhole(o, causeOf(c), c.Client) {
		return
	}
	from := len(m.out)
	m.remove(o, causeOf(c))
	m.out[from].Client = c.Client
}

func causeOf(c engine.Command) engine.CancelCause {
	if c.Flags&engine.FlagOperator != 0 {
		return engine.CauseOperator
	}
	return engine.CauseRequest
}

func (m *model) cancelAll(c engine.Command) {
	if m.inst.State == engine.Halted {
		m.reject(c, engine.PairHalted)
		return
	}
	var victims []*modelOrder
	for _, o := range m.open {
		if (c.Flags&engine.FlagAllAccount != 0 || o.cmd.Account == c.Account) && (c.Order == 0 || o.id <= c.Order) {
			victims = append(victims, o)
		}
	}
	slices.SortFunc(victims, func(a, b *modelOrder) int { return int(a.n) - int(b.n) })
	for _, o := range victims {
		if !o.dead && !m.cancelWhole(o, causeOf(c), nil) {
			m.remove(o, causeOf(c))
		}
	}
	if len(victims) == 0 {
		m.emit(engine.Event{Kind: engine.EventNothing, Account: c.Account})
	}
}

func (m *model) replace(c engine.Command) {
	hasPrice, hasAmount := c.Flags&engine.FlagHasPrice != 0, c.Flags&engine.FlagHasAmount != 0
	hasStop, hasTrail := c.Flags&engine.FlagHasStop != 0, c.Flags&engine.FlagHasTrail != 0
	switch {
	case c.Refuse != 0:
		m.reject(c, c.Refuse)
		return
	case hasPrice && c.Price < 1:
		m.reject(c, engine.PriceNotPositive)
		return
	case hasPrice && c.Price > mostOf(m.inst.MaxPrice, m.inst.DigitsPrice):
		m.reject(c, engine.PriceOutOfRange)
		return
	case hasStop && c.Stop < 1:
		m.reject(c, engine.PriceNotPositive)
		return
	case hasStop && c.Stop > mostOf(m.inst.MaxPrice, m.inst.DigitsPrice):
		m.reject(c, engine.PriceOutOfRange)
		return
	case hasTrail && (c.Trail < 10 || c.Trail > 2000):
		m.reject(c, engine.TrailOutOfRange)
		return
	case hasAmount && c.Amount < 1:
		m.reject(c, engine.AmountNotPositive)
		return
	case hasAmount && c.Amount > mostOf(m.inst.MaxAmount, m.inst.DigitsAmount):
		m.reject(c, engine.AmountOutOfRange)
		return
	case hasPrice && m.outOfBand(c.Price):
		m.reject(c, engine.PriceOutOfBand)
		return
	}
	o, r := m.find(c)
	switch {
	case r != 0:
	case !o.waiting && !o.pending && (hasStop || hasTrail):
		r = engine.OrderClosed
	case m.inst.State == engine.Halted:
		r = engine.PairHalted
	case m.inst.State == engine.CancelOnly:
		r = engine.PairCancelOnly
	}
	if r == 0 && c.Flags&engine.FlagSmallerOnly != 0 {
		r = m.mayAmend(o, c)
	}
	if r != 0 {
		m.reject(c, r)
		return
	}
	from := len(m.out)
	m.replaceOpen(o, c)
	if e := &m.out[from]; c.Flags&engine.FlagSmallerOnly != 0 && e.Kind == engine.EventReplaced {
		o.amends++
		e.Flags, e.Client = engine.FlagSmallerOnly, c.Client
		if c.Client != nil {
			m.rename(o, c.Client)
		}
	}
}

// mayAmend returns the refusal of an amendment, NotRejected if it may lower the total.
func (m *model) mayAmend(o *modelOrder, c engine.Command) engine.Reason {
	if c.Flags&engine.FlagHasAmount != 0 && o.lacksAmount() {
		return engine.OrderPending
	}
	const others = engine.FlagHasPrice | engine.FlagHasStop | engine.FlagHasTrail
	if c.Flags&others != 0 || c.Flags&engine.FlagHasAmount == 0 || c.Amount >= o.total || c.Amount <= o.total-o.rest {
		return engine.AmendNotSmaller
	}
	if c.Client != nil {
		named, open := false, 0
		for _, id := range m.ids {
			if id.isOpen {
				open++
			}
			if id.order == o {
				named = true
			} else if id.account == o.cmd.Account && id.text == c.Client.Hash && (id.isOpen || !c.Client.Reusable) {
				return engine.DuplicateClientOrderID
			}
		}
		if !named && open >= m.opts.ClientIDs {
			return engine.TooManyOrders
		}
	}
	if o.amends >= 10 {
		return engine.TooManyAmends
	}
	return 0
}

// rename gives an order another client id.
func (m *model) rename(o *modelOrder, id *engine.ClientID) {
	own := slices.IndexFunc(m.ids, func(x *modelID) bool { return x.order == o })
	if own >= 0 && m.ids[own].text == id.Hash {
		return
	}
	m.ids = slices.DeleteFunc(m.ids, func(x *modelID) bool {
		return x.account == o.cmd.Account && x.text == id.Hash
	})
	if own = slices.IndexFunc(m.ids, func(x *modelID) bool { return x.order == o }); own >= 0 {
		m.ids[own].text = id.Hash
		return
	}
	m.makeRoom()
	m.ids = append(m.ids, &modelID{
		account: o.cmd.Account, text: id.Hash, content: id.Content, n: o.n, order: o, isOpen: true,
	})
}

// replaceOpen changes an open order.
func (m *model) replaceOpen(o *modelOrder, c engine.Command) {
	hasPrice, hasAmount := c.Flags&engine.FlagHasPrice != 0, c.Flags&engine.FlagHasAmount != 0
	switch {
	case o.pending:
		m.replacePending(o, c)
		return
	case o.waiting:
		m.replaceWaiting(o, c)
		return
	}
	price, amount := o.cmd.Price, o.total
	if hasPrice {
		price = c.Price
	}
	if hasAmount {
		amount = c.Amount
	}
	filled := o.total - o.rest
	if amount <= filled {
		if r := m.cover(o, new(big.Int)); r != 0 {
			m.reject(c, r)
			return
		}
		from := len(m.out)
		m.remove(o, engine.CauseReplace)
		m.out[from].OpenAmount = c.Amount
		m.lookAtLists()
		return
	}
	r := m.sums(price, amount)
	if r == 0 {
		r = m.replaced(o, price, amount, filled)
	}
	if r != 0 {
		m.reject(c, r)
		return
	}
	m.emit(engine.Event{
		Kind: engine.EventReplaced, Order: o.id, Account: o.cmd.Account, Side: o.cmd.Side,
		Price: price, Amount: amount, OpenAmount: amount - filled, MakerOpen: o.cmd.Price, Display: o.rest,
	})
	more := amount != o.total
	m.change(o, price, amount, filled)
	if more {
		m.replaceOther(o, amount)
	}
}

// replaced returns the refusal of a replace, NotRejected if the order may change.
func (m *model) replaced(o *modelOrder, price, amount, filled int64) engine.Reason {
	after := *o
	after.cmd.Type, after.cmd.Price, after.total, after.rest = engine.Limit, price, amount, amount-filled
	before := *o
	before.cmd.Type = engine.Limit
	if r := m.otherFits(o, amount); r != 0 {
		return r
	}
	if r := m.cover(o, m.beyond(&before, &after)); r != 0 {
		return r
	}
	if more := amount - o.total; more > 0 && !m.fits(o.cmd.Side, more) {
		return engine.AmountOutOfRange
	}
	if o.cmd.Display > 0 && amount/o.cmd.Display > m.opts.IcebergSlices {
		return engine.AmountOutOfRange
	}
	if d := o.cmd.Display; d > 0 && m.reserves()-o.reserve()+inSlices(amount-filled-d, d) > m.opts.PairSlices {
		return engine.TooManySlices
	}
	probe := *o
	probe.cmd.Price, probe.cmd.Type = price, engine.Limit
	if opp := m.side(1 - o.cmd.Side); len(opp) > 0 && probe.allows(opp[0].cmd.Price) {
		switch {
		case m.inst.State == engine.PostOnlyState:
			return engine.PairPostOnly
		case o.cmd.Flags&engine.FlagPostOnly != 0:
			return engine.WouldCross
		}
	}
	return 0
}

func (m *model) change(o *modelOrder, price, amount, filled int64) {
	before := m.levelSum(o.cmd.Side, o.cmd.Price)
	stays := price == o.cmd.Price && amount <= o.total
	o.total, o.rest = amount, amount-filled
	if stays {
		o.shown = min(o.shown, o.rest)
		m.level(o.cmd.Side, price, before)
		return
	}
	if price != o.cmd.Price {
		o.resting = false
		m.level(o.cmd.Side, o.cmd.Price, before)
		o.cmd.Price = price
		// A triggered stop that rests is a limit order by now, and a fresh arrival matches.
		o.cmd.Type = engine.Limit
		o.cmd.TIF, o.cmd.Flags = engine.GTC, o.cmd.Flags&engine.FlagPostOnly
		o.cause = engine.CauseRemainder
		m.enter(o)
	} else {
		m.clock++
		o.arrival = m.clock
		o.shown = o.rest
		if o.cmd.Display > 0 {
			o.shown = min(o.cmd.Display, o.rest)
		}
		m.level(o.cmd.Side, price, before)
	}
	if m.otherOf(o) == nil { // else it did not trade
		m.stops()
	}
}

func (m *model) replaceWaiting(o *modelOrder, c engine.Command) {
	next := *o
	if c.Flags&engine.FlagHasPrice != 0 {
		next.cmd.Price = c.Price
	}
	if c.Flags&engine.FlagHasAmount != 0 {
		next.total, next.rest = c.Amount, c.Amount
	}
	if c.Flags&engine.FlagHasTrail != 0 {
		next.cmd.Trail = c.Trail
	}
	if c.Flags&engine.FlagHasStop != 0 && c.Stop != o.cmd.Stop {
		next.cmd.Stop, next.tracks = c.Stop, false
	}
	if o.hold != 0 {
		if next.hold = next.cmd.Stop; next.hold == 0 {
			next.hold = m.end(&next).Int64()
		}
	}
	if r := m.waitingReplaced(o, &next, c); r != 0 {
		m.reject(c, r)
		return
	}
	m.emitWaiting(o, &next)
	if next.total != o.total {
		m.replaceOther(o, next.total)
	}
	moved := next.cmd.Stop != o.cmd.Stop
	if *o = next; moved {
		m.wait(o)
	}
	if m.hit(o) {
		m.trigger(o)
		m.stops()
	}
}

// waitingReplaced returns the refusal of a replace that makes next of a waiting order.
func (m *model) waitingReplaced(o, next *modelOrder, c engine.Command) engine.Reason {
	switch {
	case o.market() && c.Flags&engine.FlagHasPrice != 0:
		return engine.PriceOutOfRange
	case o.byQuote && c.Flags&engine.FlagHasAmount != 0:
		return engine.AmountOutOfRange
	case o.cmd.Trail == 0 && c.Flags&engine.FlagHasTrail != 0:
		return engine.TrailOutOfRange
	case o.hold != 0 && product(next.hold, next.rest).Cmp(m.mostSettled()) > 0:
		return engine.TotalOutOfRange
	}
	if !o.market() {
		if r := m.sums(next.cmd.Price, next.total); r != 0 {
			return r
		}
	}
	if r := m.otherFits(o, next.total); r != 0 {
		return r
	}
	if r := m.cover(o, m.beyond(o, next)); r != 0 {
		return r
	}
	if d := o.cmd.Display; !o.market() {
		switch {
		case next.total > o.total && !m.fits(o.cmd.Side, next.total-o.total):
			return engine.AmountOutOfRange
		case d > next.total, d > 0 && next.total/d > m.opts.IcebergSlices:
			return engine.AmountOutOfRange
		case d > 0 && m.reserves()-o.reserve()+next.reserve() > m.opts.PairSlices:
			return engine.TooManySlices
		}
	}
	switch {
	case !m.hit(next):
	case o.cmd.Flags&engine.FlagStrict != 0:
		return engine.WouldTrigger
	case m.inst.State == engine.PostOnlyState && o.cmd.Flags&engine.FlagPostOnly == 0:
		return engine.PairPostOnly
	}
	return 0
}

// emitWaiting tells that a waiting or pending order becomes next.
func (m *model) emitWaiting(o, next *modelOrder) {
	e := engine.Event{
		Kind: engine.EventReplaced, Order: o.id, Account: o.cmd.Account, Side: o.cmd.Side, Type: o.cmd.Type,
		Price: next.cmd.Price, Amount: next.total, OpenAmount: next.rest, MakerOpen: o.cmd.Price, Display: o.rest,
		Trail: next.cmd.Trail, Quote: fixed.FromU64(uint64(next.cmd.Stop)),
	}
	if o.hold != 0 {
		e.Price, e.MakerOpen = next.hold, o.hold
	}
	m.emit(e)
}

// beyond returns what an order needs beyond its hold to become next; two orders of a list hold the larger need.
func (m *model) beyond(o, next *modelOrder) *big.Int {
	before, after := m.needs(o), m.needs(next)
	if x := m.otherOf(o); x != nil {
		as := *x
		as.rest = next.total
		if need := m.needs(x); need.Cmp(before) > 0 {
			before = need
		}
		if need := m.needs(&as); need.Cmp(after) > 0 {
			after = need
		}
	}
	if after.Sub(after, before); after.Sign() < 0 {
		after.SetInt64(0)
	}
	return after
}
