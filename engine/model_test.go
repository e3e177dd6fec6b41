package engine_test

import (
	"math"
	"math/big"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// model implements the rules of one pair as plainly as they read: a slice of open
// orders, searched from end to end for everything. It reads commands and shares nothing
// with the core but the vocabulary. Its events are compared one by one.
type model struct {
	opts    engine.Options
	inst    engine.Instrument
	out     []engine.Event
	now     int64
	seq     engine.Seq
	n       uint64
	trade   engine.TradeID
	last    int64
	matches engine.TradeID // prevented ones
	clock   int            // arrivals at the book, so that a lower one has priority

	purse *purse // nil: no limits of money

	lists []*modelList
	kept  bool // the order that state judges pends

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
	cost             *big.Int // of a market buy by amount
	tracks, reached  bool     // reached: it is in the queue, and its extreme does not move any more
	extreme          int64    // the best price since it tracks
	hold             int64    // the price at which a waiting market buy by amount holds its lots
	amends           int
	sells            int64  // lots that a market sell by quote holds
	most             *int64 // lots that its account has, when that is less than it would sell

	makerFee, takerFee, discount uint32
	dead                         bool
	list                         *modelList
	pending                      bool // its list keeps it back
	released                     bool // its list has released it, and it does not wait or rest yet
	active                       bool // it has been triggered
	yielded                      bool // the other one of its list has ended it
	cause                        engine.CancelCause
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
	if m.purse != nil {
		m.purse.Fold([]engine.Event{e})
	}
}

// apply does the same as Core.Apply, in the plain model; the result is valid until the next one.
func (m *model) apply(c engine.Command) []engine.Event {
	m.out, m.now = nil, c.TimeNs
	switch c.Kind {
	case engine.Place:
		m.place(c)
	case engine.PlaceList:
		m.placeList(c)
	case engine.Cancel:
		m.cancel(c)
	case engine.Replace:
		m.replace(c)
	case engine.CancelAll:
		m.cancelAll(c)
	case engine.SetPair:
		change := c.Instrument
		m.inst.State, m.inst.MinQuote, m.inst.HasMinQuote = change.State, change.MinQuote, change.HasMinQuote
		m.inst.MaxQuote, m.inst.MaxPrice, m.inst.MaxAmount = change.MaxQuote, change.MaxPrice, change.MaxAmount
		m.inst.BandUp, m.inst.BandDown = change.BandUp, change.BandDown
		m.inst.MakerFee, m.inst.TakerFee = change.MakerFee, change.TakerFee
		inst := m.inst
		m.emit(engine.Event{Kind: engine.EventPair, Instrument: &inst})
	}
	m.open = slices.DeleteFunc(m.open, func(o *modelOrder) bool { return !o.resting && !o.waiting && !o.pending })
	return m.out
}

func (m *model) reject(c engine.Command, r engine.Reason) {
	e := engine.Event{
		Kind: engine.EventRejected, Reason: r, Side: c.Side, Account: c.Account,
		Client: c.Client, Status: engine.Rejected,
	}
	if c.Kind != engine.Place && c.Kind != engine.PlaceList && c.Kind != engine.CancelAll {
		e.Order, e.Client = c.Order, nil
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
	if p.Cmp(m.mostSettled()) > 0 {
		return engine.TotalOutOfRange
	}
	if m.inst.HasMinQuote && p.Cmp(toBig(m.inst.MinQuote)) < 0 {
		return engine.BelowMinQuoteAmount
	}
	if most := toBig(m.inst.MaxQuote); most.Sign() > 0 && p.Cmp(most) > 0 {
		return engine.AboveMaxQuoteAmount
	}
	return 0
}

// mostSettled returns 10^29 units of the quote, or 2^96, in product units.
func (m *model) mostSettled() *big.Int {
	most := new(big.Int).Lsh(big.NewInt(1), 96)
	d := int64(29 - m.inst.QuoteDigits + m.inst.DigitsPrice + m.inst.DigitsAmount)
	if units := new(big.Int).Exp(big.NewInt(10), big.NewInt(d), nil); units.Cmp(most) < 0 {
		return units
	}
	return most
}

// mostOf returns a limit, or its default of nine billion whole units.
func mostOf(limit int64, digits int) int64 {
	if limit != 0 {
		return limit
	}
	most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
	if most.Mul(most, big.NewInt(9_000_000_000)); most.IsInt64() {
		return most.Int64()
	}
	return math.MaxInt64
}

// outOfBand reports whether a price is beyond the factors of the last trade.
func (m *model) outOfBand(price int64) bool {
	up, down := new(big.Int).SetUint64(m.inst.BandUp), new(big.Int).SetUint64(m.inst.BandDown)
	p, last := product(price, engine.RateOne), big.NewInt(m.last)
	return m.last != 0 && (up.Sign() > 0 && p.Cmp(up.Mul(up, last)) > 0 || p.Cmp(down.Mul(down, last)) < 0)
}

func (m *model) members(c engine.Command) engine.Reason {
	stop, market := c.Type.Waits(), c.Type.AtMarket()
	byQuote := c.Flags&engine.FlagQuote != 0
	switch {
	case c.Refuse != 0:
		return c.Refuse
	case stop && c.Stop < 1 && (c.Stop < 0 || c.Trail == 0):
		return engine.PriceNotPositive
	case stop && c.Stop > mostOf(m.inst.MaxPrice, m.inst.DigitsPrice):
		return engine.PriceOutOfRange
	case c.Trail != 0 && (!stop || c.Trail < 10 || c.Trail > 2000):
		return engine.TrailOutOfRange
	case market && byQuote:
		q := toBig(c.Quote)
		switch {
		case q.Sign() == 0:
			return engine.AmountNotPositive
		case q.Cmp(m.mostSettled()) > 0:
			return engine.TotalOutOfRange
		case m.inst.HasMinQuote && q.Cmp(toBig(m.inst.MinQuote)) < 0:
			return engine.BelowMinQuoteAmount
		case !m.inst.MaxQuote.IsZero() && q.Cmp(toBig(m.inst.MaxQuote)) > 0:
			return engine.AboveMaxQuoteAmount
		}
		return 0
	case market && c.Amount < 1:
		return engine.AmountNotPositive
	case market && c.Amount > mostOf(m.inst.MaxAmount, m.inst.DigitsAmount):
		return engine.AmountOutOfRange
	case market && stop && c.Side == engine.Buy && m.holdAt(c) == 0:
		return engine.PriceNotPositive
	case market && stop && c.Side == engine.Buy && product(m.holdAt(c), c.Amount).Cmp(m.mostSettled()) > 0:
		return engine.TotalOutOfRange
	case market:
		return 0
	case c.Price < 1:
		return engine.PriceNotPositive
	case c.Price > mostOf(m.inst.MaxPrice, m.inst.DigitsPrice):
		return engine.PriceOutOfRange
	case c.Amount < 1 || c.Display < 0:
		return engine.AmountNotPositive
	case c.Display > c.Amount, c.Display > 0 && c.Amount/c.Display > m.opts.IcebergSlices,
		c.Amount > mostOf(m.inst.MaxAmount, m.inst.DigitsAmount):
		return engine.AmountOutOfRange
	}
	if r := m.sums(c.Price, c.Amount); r != 0 {
		return r
	}
	if m.outOfBand(c.Price) {
		return engine.PriceOutOfBand
	}
	if (c.TIF == engine.GTC || stop) && !m.fits(c.Side, c.Amount) {
		return engine.AmountOutOfRange
	}
	return 0
}

// fits reports whether the lots of a side that rest or wait as stop_limit stay within int64.
func (m *model) fits(side engine.Side, lots int64) bool {
	sum := big.NewInt(lots)
	for _, o := range m.open {
		if o.cmd.Side == side && (o.resting || (o.waiting || o.pending) && !o.market()) {
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
		if known != nil && c.Client.Reusable {
			if known.isOpen {
				m.reject(c, engine.DuplicateClientOrderID)
				return
			}
			known = nil
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
		func() engine.Reason { return m.cover(o, m.needs(o)) },
		func() engine.Reason {
			if known != nil {
				return engine.DuplicateClientOrderID
			}
			return 0
		},
		func() engine.Reason { return m.state(c) },
		func() engine.Reason {
			switch {
			case !c.Type.Waits():
				return m.entry(o)
			case c.Flags&engine.FlagStrict != 0 && c.Trail == 0 && m.hit(o):
				return engine.WouldTrigger
			}
			return 0
		},
		func() engine.Reason {
			if !o.sellsByQuote() || c.Type != engine.Market {
				return 0
			}
			_, o.sells = m.playAll(o)
			return m.cover(o, big.NewInt(o.sells))
		},
		func() engine.Reason {
			if !o.byAmount() || c.Type != engine.Market {
				return 0
			}
			cost, _ := m.play(o)
			if cost.Cmp(m.mostSettled()) > 0 {
				return engine.TotalOutOfRange
			}
			o.cost = cost
			return m.cover(o, cost)
		},
	} {
		if reason := r(); reason != 0 {
			if cause := expires(c, reason); cause != 0 {
				m.expire(o, c, cause)
			} else {
				m.reject(c, reason)
			}
			return
		}
	}
	m.n++
	o.n, o.id = m.n, engine.OrderID(m.n)
	m.accepted(o, c)
	if c.Type.Waits() {
		m.open = append(m.open, o)
		if m.wait(o); !m.hit(o) {
			return
		}
		m.trigger(o)
	} else {
		m.enter(o)
	}
	m.stops()
}

// expires returns the cause of an order that is accepted and canceled where the book refuses it, 0: it is refused.
func expires(c engine.Command, r engine.Reason) engine.CancelCause {
	switch {
	case c.Flags&engine.FlagExpire == 0 || c.Type != engine.Limit && c.Type != engine.Market:
	case r == engine.FOKUnfilled:
		return engine.CauseFOK
	case r == engine.NoLiquidity && c.Flags&engine.FlagQuote == 0:
		return engine.CauseNoLiquidity
	}
	return 0
}

func (m *model) expire(o *modelOrder, c engine.Command, cause engine.CancelCause) {
	m.n++
	o.n, o.id, o.cost = m.n, engine.OrderID(m.n), new(big.Int)
	m.accepted(o, c)
	m.kill(o, cause)
}

func (m *model) newOrder(c engine.Command) *modelOrder {
	o := &modelOrder{cmd: c, total: c.Amount, rest: c.Amount, cause: engine.CauseRemainder}
	if o.market() {
		o.byQuote = c.Flags&engine.FlagQuote != 0
		o.cmd.TIF, o.cmd.Price, o.cmd.Display = engine.IOC, 0, 0
		if o.byQuote {
			o.money, o.total, o.rest = toBig(c.Quote), 0, 0
		}
	}
	if c.Type.Waits() && o.byAmount() {
		o.hold = m.holdAt(c)
	}
	return o
}

// byAmount reports whether the order is a market buy by amount that holds money.
func (o *modelOrder) byAmount() bool {
	return o.market() && o.cmd.Side == engine.Buy && !o.byQuote && o.cmd.Account != 0
}

// sellsByQuote reports whether the order is a market sell by quote amount that holds lots.
func (o *modelOrder) sellsByQuote() bool {
	return o.byQuote && o.cmd.Side == engine.Sell && o.cmd.Account != 0
}

// needs returns what an order holds while it rests or waits: lots of a sell, else product units.
func (m *model) needs(o *modelOrder) *big.Int {
	switch {
	case o.cmd.Side == engine.Sell:
		return big.NewInt(o.rest)
	case o.byQuote:
		return new(big.Int).Set(o.money)
	case o.cmd.Type.Waits() && o.market():
		return product(o.hold, o.rest)
	}
	return product(o.cmd.Price, o.rest) // a market order has no price
}

// cover asks whether the account of an order has that much more.
func (m *model) cover(o *modelOrder, need *big.Int) engine.Reason {
	if m.purse == nil {
		return 0
	}
	return m.purse.Cover(o.cmd.Account, 0, o.cmd.Side, fromBig(m.purse.units(o.cmd.Side, need)))
}

func (m *model) accepted(o *modelOrder, c engine.Command) {
	if c.Account != 0 {
		o.makerFee, o.takerFee = m.inst.MakerFee, m.inst.TakerFee
		if m.purse != nil {
			o.discount = m.purse.Discount(c.Account, c.Side)
		}
	}
	e := engine.Event{
		Kind: engine.EventAccepted, Order: o.id, Account: c.Account, Side: c.Side, Type: c.Type,
		TIF: o.cmd.TIF, STP: c.STP, Flags: c.Flags, Price: o.cmd.Price, Amount: o.total, OpenAmount: o.total,
		Display: o.cmd.Display, TakerFee: o.takerFee, MakerFee: o.makerFee, TakerDiscount: o.discount,
		Client: c.Client,
	}
	switch {
	case o.byQuote:
		e.Quote, e.OpenAmount = c.Quote, o.sells
	case o.byAmount() && c.Type.Waits():
		e.Quote = fromBig(m.needs(o))
	case o.byAmount():
		e.Quote = fromBig(o.cost)
	}
	if c.Type.Waits() {
		e.MakerOpen, e.Trail = c.Stop, c.Trail
	}
	if o.list != nil {
		e.Maker = o.list.id
	}
	if o.pending {
		e.Status, e.Quote = engine.Pending, fixed.U128{}
	}
	if c.Client != nil {
		m.remember(o, c)
	}
	m.emit(e)
}

// remember makes room by letting the oldest leave the window, first the pair's, then the
// account's own.
func (m *model) remember(o *modelOrder, c engine.Command) {
	if c.Client.Reusable { // an ended order loses the id
		m.ids = slices.DeleteFunc(m.ids, func(id *modelID) bool {
			return id.account == c.Account && id.text == c.Client.Hash
		})
	}
	m.makeRoom()
	m.ids = append(m.ids, &modelID{
		account: c.Account, text: c.Client.Hash, content: c.Client.Content, n: o.n, order: o, isOpen: true,
		inWindow: true,
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

// makeRoom lets the oldest leave the window until one more id can be remembered.
func (m *model) makeRoom() {
	for len(m.ids) >= m.opts.ClientIDs {
		for _, id := range m.ids {
			if id.inWindow {
				id.inWindow = false
				break
			}
		}
		m.purge()
	}
}

func (m *model) purge() {
	m.ids = slices.DeleteFunc(m.ids, func(id *modelID) bool { return !id.isOpen && !id.inWindow })
}

func (m *model) ended(o *modelOrder) {
	o.resting, o.waiting, o.pending, o.dead = false, false, false, true
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
	if m.kept || c.Type != engine.Market && (c.Type != engine.Limit || c.TIF == engine.GTC) {
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
		if m.kept || c.Type != engine.Limit {
			all, mine = 0, 0
			for _, o := range m.open {
				if o.waiting || o.pending {
					all++
					if o.cmd.Account == c.Account {
						mine++
					}
				}
			}
			if all >= m.opts.PairStops || c.Account != 0 && mine >= m.opts.AccountStops {
				return engine.TooManyStops
			}
		}
		if d := c.Display; d > 0 && !c.Type.AtMarket() && m.reserves()+inSlices(c.Amount-d, d) > m.opts.PairSlices {
			return engine.TooManySlices
		}
	}
	return 0
}

// reserves returns the number of slices in all reserves of the pair.
func (m *model) reserves() (n int64) {
	for _, o := range m.open {
		n += o.reserve()
	}
	return n
}

func (o *modelOrder) reserve() int64 {
	switch d := o.cmd.Display; {
	case d == 0 || o.market():
		return 0
	case o.resting:
		return inSlices(o.rest-o.shown, d)
	case o.waiting, o.pending:
		return inSlices(o.rest-d, d)
	}
	return 0
}

func inSlices(lots, display int64) (n int64) {
	for ; lots > 0; lots -= display {
		n++
	}
	return n
}
