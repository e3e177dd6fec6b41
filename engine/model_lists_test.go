package engine_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/fixed"
)

// modelList is an order list as its rules read. The model looks at every list after each event that may matter.
type modelList struct {
	id      engine.OrderID
	account engine.AccountID
	kind    engine.ListKind
	works   *modelOrder   // nil: an oco
	legs    []*modelOrder // the others
	name    *modelID
	due     bool // its pending orders wait for their turn
	begun   bool
	ending  bool
	brought *big.Int // units
	filled  bool     // the newest end of an order that no other order of the list has ended
	cause   engine.CancelCause
}

func (l *modelList) all() (all []*modelOrder) {
	if l.works != nil {
		all = append(all, l.works)
	}
	return append(all, l.legs...)
}

// placeList places a list or refuses it.
func (m *model) placeList(c engine.Command) {
	if c.Client != nil {
		for _, id := range m.ids {
			switch {
			case id.account != c.Account || id.text != c.Client.Hash || c.Client.Reusable && !id.isOpen:
				continue
			case !c.Client.Reusable && id.content == c.Client.Content:
				m.emit(engine.Event{
					Kind: engine.EventRejected, Order: engine.OrderID(id.n), Account: c.Account, Client: c.Client,
				})
			default:
				m.reject(c, engine.DuplicateClientOrderID)
			}
			return
		}
	}
	orders := make([]*modelOrder, len(c.List.Orders))
	at, reason := m.listFault(c, orders)
	cause := engine.CancelCause(0)
	if reason == 0 {
		for i, o := range orders {
			if c.List.Orders[i].Type.Waits() || i > 0 && c.List.Kind != engine.OCO {
				continue
			}
			r := m.entry(o)
			if r == engine.FOKUnfilled && o.cmd.Flags&engine.FlagExpire != 0 {
				cause = engine.CauseFOK
			} else if r != 0 && reason == 0 {
				at, reason = i+1, r
			}
		}
	}
	if reason != 0 {
		m.reject(c, reason)
		m.out[len(m.out)-1].MakerOpen = int64(at)
		return
	}
	m.acceptLists(c, orders)
	switch {
	case cause != 0:
		m.kill(orders[0], cause)
		m.lookAtLists()
	case c.List.Kind != engine.OCO:
		m.enter(orders[0])
		m.stops()
	}
}

// listFault returns the first fault of a list but for the book, with the number of its order, and makes the orders. The
// orders before the one that is judged count as open.
func (m *model) listFault(c engine.Command, orders []*modelOrder) (at int, reason engine.Reason) {
	open, ids := m.open, m.ids
	defer func() { m.open, m.ids = open, ids }()
	m.open, m.ids = slices.Clone(open), slices.Clone(ids)
	if c.Client != nil {
		m.ids = append(m.ids, &modelID{account: c.Account, isOpen: true})
	}
	l := c.List
	if _, fault := l.Fault(); fault != "" {
		return 0, engine.ListPrices
	}
	for i, cmd := range l.Orders {
		if i > 0 && l.Kind >= engine.OPO {
			cmd.Amount = l.Orders[0].Amount
		}
		kept := i > 0 && l.Kind != engine.OCO
		if r := m.members(cmd); r != 0 {
			return i + 1, r
		}
		if (kept || l.Kind == engine.OCO) && !cmd.Type.AtMarket() && !m.fits(cmd.Side, cmd.Amount) {
			return i + 1, engine.AmountOutOfRange
		}
		o := m.newOrder(cmd)
		if orders[i] = o; i == 0 {
			need := m.needs(o)
			if l.Kind == engine.OCO && m.members(l.Orders[1]) == 0 {
				if other := m.needs(m.newOrder(l.Orders[1])); other.Cmp(need) > 0 {
					need = other
				}
			}
			if r := m.cover(o, need); r != 0 {
				return 1, r
			}
		}
		if cmd.Client != nil {
			for _, id := range m.ids {
				if id.account == cmd.Account && id.text == cmd.Client.Hash && (id.isOpen || !cmd.Client.Reusable) {
					return i + 1, engine.DuplicateClientOrderID
				}
			}
			m.ids = append(m.ids, &modelID{account: cmd.Account, text: cmd.Client.Hash, isOpen: true})
		}
		m.kept = kept
		r := m.state(cmd)
		if m.kept = false; r != 0 {
			return i + 1, r
		}
		shadow := *o
		if shadow.waiting = kept || cmd.Type.Waits(); !shadow.waiting {
			shadow.resting, shadow.shown = true, shadow.rest
			if shadow.cmd.Display > 0 {
				shadow.shown = min(shadow.cmd.Display, shadow.rest)
			}
		}
		m.open = append(m.open, &shadow)
	}
	mine := 0
	for _, x := range m.lists {
		if x.account == c.Account {
			mine++
		}
	}
	if c.Account != 0 && mine >= m.opts.AccountLists {
		return 0, engine.TooManyLists
	}
	if l.Kind == engine.OCO && !between(l.Orders, m.last) || len(l.Orders) == 3 && !between(l.Orders[1:], 0) {
		return 0, engine.ListPrices
	}
	return 0, 0
}

// between reports whether the prices of two orders are on their sides of a price, 0: of each other.
func between(o []engine.Command, last int64) bool {
	stop, aim := o[0], o[1]
	if aim.Type == engine.StopLimit || aim.Type == engine.StopMarket {
		stop, aim = aim, stop
	}
	target := aim.Price
	if aim.Type != engine.Limit {
		target = aim.Stop
	}
	for _, p := range [][2]int64{{stop.Stop, last}, {last, target}, {stop.Stop, target}} {
		low, high := p[0], p[1]
		if stop.Side == engine.Buy {
			low, high = high, low
		}
		if low != 0 && high != 0 && low >= high {
			return false
		}
	}
	return true
}

// acceptLists accepts a list and all its orders.
func (m *model) acceptLists(c engine.Command, orders []*modelOrder) {
	l := &modelList{
		id: engine.OrderID(m.n + 1), account: c.Account, kind: c.List.Kind, legs: orders, brought: new(big.Int),
		begun: c.List.Kind == engine.OCO,
	}
	if !l.begun {
		l.works, l.legs = orders[0], orders[1:]
	}
	if c.Client != nil {
		m.n++
		m.remember(&modelOrder{n: m.n}, c)
		l.name = m.ids[len(m.ids)-1]
		m.n--
	}
	m.emit(engine.Event{
		Kind: engine.EventList, Order: l.id, Account: c.Account, List: l.kind, Amount: int64(len(orders)),
		Client: c.Client,
	})
	m.lists = append(m.lists, l)
	for i, o := range orders {
		m.n++
		o.n, o.id = m.n, engine.OrderID(m.n)
		if o.pending = !l.begun && i > 0; l.kind >= engine.OPO && o.pending {
			o.total, o.rest = 0, 0
		}
		if o.cost == nil {
			o.cost = new(big.Int)
		}
		o.list = l
		m.accepted(o, c.List.Orders[i])
	}
	for i, o := range orders {
		switch {
		case o.pending:
			m.open = append(m.open, o)
		case c.List.Orders[i].Type.Waits():
			m.open = append(m.open, o)
			m.wait(o)
		case l.begun:
			m.remainder(o, false)
		}
	}
}

// lookAtLists does what the state of the lists asks for, until nothing is left to do.
func (m *model) lookAtLists() {
	for slices.ContainsFunc(m.lists, m.lookAt) {
	}
}

// lookAt does one thing that a list asks for, and reports whether there was any.
func (m *model) lookAt(l *modelList) bool {
	alive := slices.DeleteFunc(l.all(), func(o *modelOrder) bool { return o.dead })
	if len(alive) == 0 {
		e := engine.Event{Kind: engine.EventListEnded, Order: l.id, Account: l.account, Status: engine.Completed}
		if !l.filled {
			e.Status, e.Cause = engine.Canceled, l.cause
		}
		m.emit(e)
		if l.name != nil {
			l.name.isOpen = false
			m.purge()
		}
		m.lists = slices.DeleteFunc(m.lists, func(x *modelList) bool { return x == l })
		return true
	}
	if l.ending {
		return false
	}
	if l.works != nil && l.works.dead && !l.due && !l.begun {
		if l.filled {
			l.due = true
			return true
		}
		l.ending = true
		for _, o := range alive {
			m.remove(o, engine.CauseWorking)
		}
		return true
	}
	if len(l.legs) != 2 || !l.begun {
		return false
	}
	for i, o := range l.legs {
		if other := l.legs[1-i]; !other.dead && (o.dead && !o.yielded || o.active || o.total > o.rest) {
			m.remove(other, engine.CauseList)
			return true
		}
	}
	return false
}

// leaves notes how an order of a list has ended.
func (m *model) leaves(o *modelOrder, filled bool, cause engine.CancelCause) {
	o.yielded = cause == engine.CauseList
	if l := o.list; l != nil && cause != engine.CauseList && cause != engine.CauseWorking {
		l.filled, l.cause = filled, cause
	}
}

// brings notes what a working order buys.
func (m *model) brings(o *modelOrder, lots int64, rate uint32) {
	l := o.list
	if l == nil || l.works != o || l.kind < engine.OPO {
		return
	}
	units := fromBig(new(big.Int).Mul(big.NewInt(lots), m.lot()))
	l.brought.Add(l.brought, toBig(units.Sub(fixed.Fee(units, rate, o.discount))))
}

// lot returns the units of the base in a lot.
func (m *model) lot() *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(m.inst.BaseDigits-m.inst.DigitsAmount)), nil)
}

// reduceOther lowers the other one of two orders.
func (m *model) reduceOther(o *modelOrder, d int64) {
	l := o.list
	if l == nil || len(l.legs) != 2 || !l.begun {
		return
	}
	for i, x := range l.legs {
		if other := l.legs[1-i]; x == o && !other.dead {
			other.rest -= d
			other.total -= d
			m.emit(engine.Event{
				Kind: engine.EventReduced, Account: other.cmd.Account, Price: other.cmd.Price, Amount: d,
				Order: other.id, Side: other.cmd.Side, OpenAmount: other.rest,
				Display: max(other.cmd.Price, other.hold),
			})
		}
	}
}

// begin releases the pending orders of a list.
func (m *model) begin(l *modelList) {
	l.begun, l.due = true, false
	cause, fits := engine.CauseFunds, true
	if l.kind >= engine.OPO {
		lots := new(big.Int).Div(l.brought, m.lot()).Int64()
		l.brought = new(big.Int)
		fits = lots > 0
		for _, o := range l.legs {
			if !fits {
				break
			}
			probe := *o
			probe.total, probe.rest = lots, lots
			if !o.market() && (!m.fits(o.cmd.Side, lots) || m.reserves()+probe.reserve() > m.opts.PairSlices) {
				cause, fits = engine.CauseUnfillable, false
				break
			}
			o.total, o.rest = lots, lots
		}
		for _, o := range l.legs {
			if !fits { // none has got an amount
				o.total, o.rest = 0, 0
			}
		}
	} else {
		need := new(big.Int)
		for _, o := range l.legs {
			if o.cmd.Type.Waits() && o.byAmount() {
				o.hold = m.holdAt(o.cmd)
				if product(o.hold, o.rest).Cmp(m.mostSettled()) > 0 {
					fits = false
				}
			}
			if own := m.needs(o); own.Cmp(need) > 0 && (o.cmd.Type != engine.Market || o.cmd.Side == engine.Sell) {
				need = own
			}
		}
		fits = fits && m.cover(l.legs[0], need) == 0
	}
	if !fits {
		l.ending = true
		for _, o := range l.legs {
			m.kill(o, cause)
		}
		m.lookAtLists()
		return
	}
	for _, o := range l.legs {
		if o.pending = false; o.cmd.Type != engine.Market || !o.byAmount() {
			m.released(l, o)
		}
	}
	for _, o := range l.legs {
		if !o.dead {
			m.beginOrder(l, o)
		}
	}
}

func (m *model) released(l *modelList, o *modelOrder) {
	o.released = true
	e := engine.Event{
		Kind: engine.EventReleased, Order: o.id, Account: o.cmd.Account, Side: o.cmd.Side, Type: o.cmd.Type,
		Maker: l.id, Price: o.cmd.Price, Amount: o.rest, OpenAmount: o.rest, MakerOpen: o.cmd.Stop, Trail: o.cmd.Trail,
	}
	if !o.cmd.Type.Waits() {
		e.MakerOpen, e.Trail = 0, 0
	}
	switch {
	case !o.byAmount():
	case o.cmd.Type.Waits():
		e.Quote = fromBig(m.needs(o))
	default:
		e.Quote = fromBig(o.cost)
	}
	m.emit(e)
}

func (m *model) beginOrder(l *modelList, o *modelOrder) {
	if o.cmd.Type.Waits() {
		switch m.wait(o); {
		case !m.hit(o) || o.cmd.Trail != 0:
		case o.cmd.Flags&engine.FlagStrict != 0:
			m.kill(o, engine.CauseUnfillable)
			m.lookAtLists()
		default:
			m.trigger(o)
		}
		return
	}
	if o.byAmount() {
		hold := o.hold
		o.hold = 0
		cost, most := m.atRelease(o)
		if o.hold = hold; most.Cmp(cost) < 0 {
			cost, o.money = most, new(big.Int).Set(most)
		}
		o.cost = cost
		m.released(l, o)
	}
	if m.entry(o) != 0 {
		m.kill(o, engine.CauseUnfillable)
		m.lookAtLists()
		return
	}
	m.enter(o)
}

// atRelease returns what a released market buy costs, and the most that it may spend: it holds nothing yet.
func (m *model) atRelease(o *modelOrder) (cost, most *big.Int) {
	cost, _ = m.play(o)
	most = m.mostSettled()
	if m.purse == nil {
		return cost, most
	}
	unit := m.purse.units(engine.Buy, big.NewInt(1))
	if money := new(big.Int).Div(toBig(m.purse.Free(o.cmd.Account, 0, engine.Buy)), unit); money.Cmp(most) < 0 {
		most = money
	}
	return cost, most
}

// otherOf returns the open order that an order of a list cancels, nil: none.
func (m *model) otherOf(o *modelOrder) *modelOrder {
	if l := o.list; l != nil && len(l.legs) == 2 {
		for i, x := range l.legs {
			if other := l.legs[1-i]; x.n == o.n && !other.dead { // o may be a copy
				return other
			}
		}
	}
	return nil
}

// lacksAmount reports whether the list of an order gives it an amount when it releases it.
func (o *modelOrder) lacksAmount() bool { return o.pending && o.list.kind >= engine.OPO }

// otherFits returns the refusal of a new amount by the order that an order cancels.
func (m *model) otherFits(o *modelOrder, amount int64) engine.Reason {
	x := m.otherOf(o)
	if x == nil || amount == o.total {
		return 0
	}
	next := *x
	next.total, next.rest = amount, amount
	return m.lotsFit(x, &next)
}

// lotsFit returns the refusal of the amount of next, which an order becomes beside one that gets more lots as well.
func (m *model) lotsFit(o, next *modelOrder) engine.Reason {
	if next.hold != 0 && product(next.hold, next.total).Cmp(m.mostSettled()) > 0 {
		return engine.TotalOutOfRange
	}
	if o.market() {
		return 0
	}
	if r := m.sums(next.cmd.Price, next.total); r != 0 {
		return r
	}
	d, more := o.cmd.Display, next.total-o.total
	switch {
	case more > 0 && !m.fits(o.cmd.Side, 2*more), d > next.total, d > 0 && next.total/d > m.opts.IcebergSlices:
		return engine.AmountOutOfRange
	case d > 0 && m.reserves()-o.reserve()+inSlices(next.total-d, d) > m.opts.PairSlices:
		return engine.TooManySlices
	}
	return 0
}

// replacePending replaces an order that its list keeps back.
func (m *model) replacePending(o *modelOrder, c engine.Command) {
	next := *o
	if c.Flags&engine.FlagHasPrice != 0 {
		next.cmd.Price = c.Price
	}
	if c.Flags&engine.FlagHasAmount != 0 {
		next.total, next.rest = c.Amount, c.Amount
	}
	if c.Flags&engine.FlagHasStop != 0 {
		next.cmd.Stop = c.Stop
	}
	if c.Flags&engine.FlagHasTrail != 0 {
		next.cmd.Trail = c.Trail
	}
	if next.hold != 0 && next.cmd.Stop != 0 {
		next.hold = next.cmd.Stop
	}
	if r := m.pendingReplaced(o, &next, c); r != 0 {
		m.reject(c, r)
		return
	}
	m.emitWaiting(o, &next)
	more := next.total != o.total
	if *o = next; more {
		m.replaceOther(o, o.total)
	}
}

// pendingReplaced returns the refusal of a replace that makes next of a pending order.
func (m *model) pendingReplaced(o, next *modelOrder, c engine.Command) engine.Reason {
	switch {
	case o.lacksAmount() && c.Flags&engine.FlagHasAmount != 0:
		return engine.OrderPending
	case o.market() && c.Flags&engine.FlagHasPrice != 0:
		return engine.PriceOutOfRange
	case !o.cmd.Type.Waits() && c.Flags&engine.FlagHasStop != 0:
		return engine.OrderClosed
	case o.cmd.Trail == 0 && c.Flags&engine.FlagHasTrail != 0:
		return engine.TrailOutOfRange
	}
	if !o.lacksAmount() {
		if r := m.lotsFit(o, next); r != 0 {
			return r
		}
		if r := m.otherFits(o, next.total); r != 0 {
			return r
		}
	}
	return m.cover(o, new(big.Int))
}

// replaceOther gives the order that a replaced one cancels the new amount.
func (m *model) replaceOther(o *modelOrder, amount int64) {
	x := m.otherOf(o)
	if x == nil {
		return
	}
	next := *x
	next.total, next.rest = amount, amount
	if x.waiting || x.pending {
		m.emitWaiting(x, &next)
		*x = next
		return
	}
	m.emit(engine.Event{
		Kind: engine.EventReplaced, Order: x.id, Account: x.cmd.Account, Side: x.cmd.Side, Price: x.cmd.Price,
		Amount: amount, OpenAmount: amount, MakerOpen: x.cmd.Price, Display: x.rest,
	})
	m.change(x, x.cmd.Price, amount, 0)
}

// cancelWhole cancels all open orders of the list of an order; it returns false when the order is of none.
func (m *model) cancelWhole(o *modelOrder, cause engine.CancelCause, own *engine.ClientID) bool {
	if o.list == nil {
		return false
	}
	o.list.ending = true
	for _, x := range o.list.all() {
		if from := len(m.out); !x.dead {
			m.remove(x, cause)
			m.out[from].Client = own
		}
	}
	m.lookAtLists()
	return true
}

// Random order lists among other orders do what the rules say.
func TestRandomListsAgreeWithTheModel(t *testing.T) {
	seeds, n := uint64(3), 12_000
	if soak() {
		seeds, n = 40, 200_000
	}
	counts := map[string]int{}
	for seed := range seeds {
		p := newPairOfMarkets(t, 900+seed, enginetest.RandomOptions())
		f := &enginetest.Flow{R: enginetest.NewRand(900 + seed), Reader: p.reader, Lists: true}
		f.Init()
		for i := range n {
			p.events(f.R)
			cmd := f.Next()
			o, _ := p.core.Order(cmd.Order)
			ofList := cmd.Kind == engine.Replace && o.List != 0
			for _, e := range p.run(cmd) {
				switch e.Kind {
				case engine.EventReplaced:
					if ofList {
						counts[map[bool]string{true: "replaced pending", false: "replaced open"}[o.Pending]]++
						if o.Open < o.Total {
							counts["replaced with fills"]++
						}
						if e.Order != cmd.Order {
							counts["replaced with its other"]++
						}
					}
				case engine.EventList:
					counts[e.List.String()]++
				case engine.EventReleased:
					counts["released"]++
				case engine.EventCanceled:
					counts[e.Cause.String()]++
				case engine.EventRejected:
					if cmd.Kind == engine.PlaceList {
						counts[fmt.Sprint("refused ", e.Reason)]++
					}
					if ofList {
						counts[fmt.Sprint("not replaced ", e.Reason)]++
					}
				}
			}
			if f.Last = p.core.LastOrderID(0); i%25 == 0 {
				p.check()
			}
		}
		p.check()
	}
	t.Log(counts)
	for _, what := range []string{
		"oco", "oto", "otoco", "opo", "opoco", "released", "list", "working", "funds", "unfillable",
		"refused list_prices", "refused too_many_lists", "refused would_cross", "refused insufficient_funds",
		"replaced open", "replaced with fills", "replaced pending", "replaced with its other",
		"not replaced order_pending", "not replaced insufficient_funds",
	} {
		if counts[what] < 5 {
			t.Errorf("%s: %d times", what, counts[what])
		}
	}
}

// Pending orders get their amount together: when the slices of the second one lack room, the first one has none either.
func TestPendingOrdersGetTheirAmountTogether(t *testing.T) {
	m := newMarket(t, engine.Options{PairSlices: 6}, enginetest.Instrument())
	out := new(strings.Builder)
	for _, line := range []string{
		"opoco: buy 9 @ 100.00 acct=1; sell @ 120.00 post-only acct=1; sell @ 95.00 stop=90.00 show=2 acct=1",
		"sell 9 @ 130.00 show=2 acct=2", "sell 9 @ 100.00 acct=2",
	} {
		m.line(out, line)
	}
	for _, want := range []string{
		"canceled 2 open 0, Canceled (unfillable)", "canceled 3 open 0, Canceled (unfillable)", "list 1 ended",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not among:\n%s", want, out)
		}
	}
}
