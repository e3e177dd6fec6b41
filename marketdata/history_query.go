package marketdata

import (
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// OrderRecord is a copy of an order in the history. The caller may retain it.
type OrderRecord struct {
	ID      engine.OrderID
	Account engine.AccountID
	Client  string // client order id, "" when there is none
	Side    engine.Side
	Type    engine.OrderType
	TIF     engine.TimeInForce
	STP     engine.SelfTrade

	PostOnly bool
	ByQuote  bool // Quote is set instead of Amount
	Strict   bool // the order was to be refused if the market had reached its stop price
	Expire   bool // what the book would have refused was to be accepted and canceled

	Price   int64      // ticks, 0: market
	Amount  int64      // lots in total; 0 when ByQuote
	Quote   fixed.U128 // the most to spend, in product units; set when ByQuote
	Stop    int64      // ticks, 0: none
	Display int64      // lots shown at a time; 0: all
	Trigger Trigger    // of a stop order
	Trail   uint16     // basis points, 0: Stop does not trail
	TrackNs int64      // Unix ns at which a trailing order began to track the market, 0: it does not yet

	List engine.OrderID // the order's list, 0: none
	Kept bool           // the order was canceled while its list kept it back
	// Prevented is the number of the newest match with the order that self-trade prevention has prevented, 0: none.
	Prevented uint64
	// Strategy and StrategyType are the labels that the order was given; nil: none.
	Strategy, StrategyType *int64

	Status      engine.Status
	Cause       engine.CancelCause // why the order was canceled
	Filled      int64              // lots
	FilledQuote fixed.U128         // product units
	Open        int64              // lots that can still trade, hidden ones too; 0 once the order has ended
	Canceled    int64              // lots that the cancel took out
	// Reduced is the part of Amount, in lots, lost to self-trade prevention (decrement); 0 when
	// ByQuote.
	Reduced int64

	// Fee is the sum of the fees of all fills, in their units. FeeKnown is false for a first answer of whose fills some
	// are not retained.
	Fee      fixed.U128
	FeeKnown bool

	CreatedNs int64 // Unix ns
	ChangedNs int64 // Unix ns of the last change
	EndedNs   int64 // Unix ns, 0: open
	// Seq is the seq of the last event of the last command that changed the order (of a mass
	// cancel: of the order's own cancel).
	Seq   engine.Seq
	Fills []Fill // oldest first, at most the newest 1,000; nil in results of lists
}

// HasAmount reports whether the order has an amount: neither by quote, nor one that its list has not given yet (opo).
func (r *OrderRecord) HasAmount() bool { return r.Amount != 0 }

// Trigger is the state of an order's stop price.
type Trigger uint8

// The states of a stop price.
const (
	NoStop    Trigger = iota // the order has none
	Waiting                  // the market has not reached it; nor had it when the order ended
	Triggered                // the market has reached it
)

// StatusFilter chooses orders by their state.
type StatusFilter uint8

// The filters of GET /api/user/orders (docs/contract/trading.md#routes).
const (
	AnyStatus     StatusFilter = iota
	OnlyOpen                   // Created, PartiallyCompleted, Pending; of lists: that are executing
	OnlyCanceled               // Canceled, PartiallyExecutedAndCanceled; of lists: that are done
	OnlyEnded                  // neither of the states of OnlyOpen; orders only
	OnlyCompleted              // Completed; orders only
)

func (f StatusFilter) matches(s engine.Status) bool {
	switch f {
	case OnlyOpen:
		return s.Open()
	case OnlyCanceled:
		return s == engine.Canceled || s == engine.PartiallyExecutedAndCanceled
	case OnlyEnded:
		return !s.Open()
	case OnlyCompleted:
		return s == engine.Completed
	default:
		return true
	}
}

// Query chooses orders, fills or order lists of an account.
type Query struct {
	Account engine.AccountID
	Pair    engine.PairID  // engine.ControlPair: every pair
	Status  StatusFilter   // orders and lists only
	Order   engine.OrderID // fills only: of this order; 0: of every order
	Side    uint8          // orders and fills only: 1 + the side; 0: both
	Type    uint8          // orders only: 1 + the type; 0: every type
	SinceNs int64          // inclusive; compared with CreatedNs of orders and lists, TimeNs of fills
	UntilNs int64          // inclusive; compared with the same times
	Offset  int            // skip this many of the newest
	Limit   int            // return at most this many
	After   Cursor         // continue after this row; then Offset must be 0. The zero value: begin at the newest row
}

// Cursor names a row of a list, so that the next page continues after it whatever happened since.
type Cursor struct {
	TimeNs int64 // CreatedNs of an order or a list, TimeNs of a fill
	Order  engine.OrderID
	Trade  engine.TradeID // 0: the row is an order or a list
}

// Cursor returns the place of the order in a list of orders.
func (r *OrderRecord) Cursor() Cursor { return Cursor{TimeNs: r.CreatedNs, Order: r.ID} }

// Cursor returns the place of the fill in a list of fills.
func (f *Fill) Cursor() Cursor { return Cursor{TimeNs: f.TimeNs, Order: f.Order, Trade: f.Trade} }

func (q *Query) matches(pair engine.PairID, timeNs int64) bool {
	return (q.Pair == engine.ControlPair || q.Pair == pair) && timeNs >= q.SinceNs && timeNs <= q.UntilNs
}

func (q *Query) sides(s engine.Side) bool { return q.Side == 0 || q.Side == 1+uint8(s) }

// selects reports whether the order belongs to the list, behind its cursor.
func (q *Query) selects(o *orderRec) bool {
	return q.matches(o.id.Pair(), o.createdNs) && q.Status.matches(o.status) && q.sides(o.side) &&
		(q.Type == 0 || q.Type == 1+uint8(o.typ)) &&
		(q.After == Cursor{} || newerKey(o.key(), orderKey{q.After.TimeNs, q.After.Order}) > 0)
}

// Order returns the order with this id and its fills. It finds open orders and retained closed ones.
func (h *History) Order(id engine.OrderID) (OrderRecord, bool) {
	o := h.retained(id)
	if o == nil {
		return OrderRecord{}, false
	}
	r := h.record(o)
	r.Fills = h.fillsOf(id, o.lastFill)
	return r, true
}

// Summary returns the record that Order returns, but without its fills.
func (h *History) Summary(id engine.OrderID) (OrderRecord, bool) {
	o := h.retained(id)
	if o == nil {
		return OrderRecord{}, false
	}
	return h.record(o), true
}

// retained returns an open order or a retained closed one, nil if there is none with this id.
func (h *History) retained(id engine.OrderID) *orderRec {
	o, w := h.lookup(id)
	if w&^placeMask == inRemembered {
		return nil
	}
	return o
}

// Current returns an order without its fills, for an observer of the feed: also in the middle of a command, when an
// order that has ended is still among the open ones.
func (h *History) Current(id engine.OrderID) (OrderRecord, bool) {
	o, w := h.find(id)
	if o == nil || w&^placeMask != inOpen {
		return OrderRecord{}, false
	}
	return h.record(o), true
}

// FirstAnswer returns the order as it was when its placing command ended. A client that repeats
// the client id with the same content receives this answer. The result is false for orders
// without a client id and for orders evicted long ago.
func (h *History) FirstAnswer(id engine.OrderID) (OrderRecord, bool) {
	o, _ := h.lookup(id)
	if o == nil || o.extra == 0 {
		return OrderRecord{}, false
	}
	x := h.extras.At(o.extra)
	if !x.client.Named() || x.firstSeq == 0 {
		return OrderRecord{}, false
	}
	first := *o
	first.filled, first.filledQuote, first.open = x.firstFilled, x.firstFilledQuote, x.firstOpen
	first.status, first.seq = x.firstStatus, x.firstSeq
	first.price, first.amount = x.firstPrice, x.firstAmount
	if first.bits = 0; x.firstTriggered {
		first.bits = bitTriggered
	}
	if first.changedNs = o.createdNs; first.status.Open() {
		first.cause = 0
	} else {
		first.bits |= o.bits & bitKept
	}
	r := h.record(&first)
	r.Stop, r.Trail, r.Prevented = x.firstStop, x.firstTrail, x.firstPrevented
	if r.TrackNs = 0; x.firstTracks {
		r.TrackNs = o.createdNs
	}
	r.Fills = h.fillsOf(o.id, x.firstFill)
	r.Fee, r.FeeKnown = sumFees(r.Fills, r.Filled)
	return r, true
}

func (h *History) lookup(id engine.OrderID) (*orderRec, location) {
	h.endCommand()
	o, w := h.find(id)
	if o == nil || w&^placeMask == inOpen && !o.status.Open() {
		return nil, 0
	}
	return o, w
}

// find returns an order as the newest event left it.
func (h *History) find(id engine.OrderID) (*orderRec, location) {
	if int(id.Pair()) >= len(h.pairs) || h.pairs[id.Pair()] == nil {
		return nil, 0
	}
	w := h.pairs[id.Pair()].orders.get(id)
	var o *orderRec
	switch place := uint32(w & placeMask); w &^ placeMask {
	case inOpen:
		o = h.open.At(int32(place))
	case inClosed:
		o = h.closed.find(place)
	case inRemembered:
		o = h.remembered.find(place)
	}
	if o == nil || o.id != id {
		return nil, 0
	}
	return o, w
}

func (h *History) record(o *orderRec) OrderRecord {
	r := OrderRecord{
		ID: o.id, Account: o.account, Side: o.side, Type: o.typ, TIF: o.tif, STP: o.stp,
		PostOnly: o.flags&engine.FlagPostOnly != 0, ByQuote: o.flags&engine.FlagQuote != 0,
		Strict: o.flags&engine.FlagStrict != 0, Expire: o.flags&engine.FlagExpire != 0,
		Price: o.price, Amount: o.amount,
		Status: o.status, Cause: o.cause, Filled: o.filled, FilledQuote: o.filledQuote,
		CreatedNs: o.createdNs, ChangedNs: o.changedNs, Seq: o.seq, Fee: o.fee, FeeKnown: true,
	}
	r.Kept = o.bits&bitKept != 0
	if o.status.Open() {
		r.Open = o.open
	} else {
		r.Canceled, r.EndedNs = o.open, o.changedNs
	}
	if !r.ByQuote && o.cause != engine.CauseReplace {
		r.Reduced = o.amount - o.filled - o.open
	}
	if o.typ.Waits() {
		if r.Trigger = Waiting; o.bits&bitTriggered != 0 {
			r.Trigger = Triggered
		}
	}
	if o.extra != 0 {
		x := h.extras.At(o.extra)
		r.Quote, r.Stop, r.Display = x.quote, x.stop, x.display
		r.Trail, r.TrackNs, r.Prevented = x.trail, x.trackNs, x.prevented
		if x.list != 0 {
			r.List = o.id - engine.OrderID(x.list-1)
		}
		if x.client != nil {
			r.Client, r.Strategy, r.StrategyType = x.client.Text, x.client.Strategy, x.client.StrategyType
		}
	}
	return r
}

// fillsOf returns the retained fills of an order, oldest first. newest is 1 + the number of the newest one.
func (h *History) fillsOf(id engine.OrderID, newest uint64) []Fill {
	in := h.pairs[id.Pair()].instrument
	var out []Fill
	h.walkFills(id, newest, func(f *fillRec, maker bool) bool {
		out = append(out, f.fill(maker, in))
		return len(out) < fillsPerOrder
	})
	slices.Reverse(out)
	return out
}

// walkFills calls yield for the retained fills of an order, newest first, until yield returns false. newest is 1 +
// the number of the newest one.
func (h *History) walkFills(id engine.OrderID, newest uint64, yield func(f *fillRec, maker bool) bool) {
	for n := newest; n != 0 && h.fills.has(n-1); {
		f := h.fills.at(n - 1)
		maker := f.maker == id
		if !yield(f, maker) {
			return
		}
		back := f.takerPrev
		if maker {
			back = f.makerPrev
		}
		if back == 0 {
			return
		}
		n -= uint64(back)
	}
}

// sumFees returns the sum of the fees of an order's fills. It returns false when fills are missing: their amounts
// are not the filled amount.
func sumFees(fills []Fill, filled int64) (sum fixed.U128, known bool) {
	for i := range fills {
		filled -= fills[i].Amount
		sum = sum.Add(fills[i].Fee)
	}
	if filled != 0 {
		return fixed.U128{}, false
	}
	return sum, true
}

// walkBuiltin finds the open orders of the built-in account through the indexes of all pairs and
// sorts them. It walks over every retained order.
func (h *History) walkBuiltin(yield func(*orderRec) bool) {
	var found []*orderRec
	for _, p := range h.pairs {
		if p == nil {
			continue
		}
		for _, page := range p.orders.pages {
			if page == nil {
				continue
			}
			for _, w := range page {
				if w&^placeMask != inOpen {
					continue
				}
				if o := h.open.At(int32(w & placeMask)); o.account == 0 && o.status.Open() && p.orders.get(o.id) == w {
					found = append(found, o)
				}
			}
		}
	}
	slices.SortFunc(found, newer)
	for _, o := range found {
		if !yield(o) {
			return
		}
	}
}
