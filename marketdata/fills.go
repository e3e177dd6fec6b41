package marketdata

import (
	"sort"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Fill is one side of a trade, as one of its two orders sees it.
type Fill struct {
	Pair      engine.PairID
	Order     engine.OrderID
	Account   engine.AccountID
	Trade     engine.TradeID
	TimeNs    int64       // Unix ns
	Price     int64       // ticks
	Amount    int64       // lots
	Fee       fixed.U128  // units of what the side receives: of the base currency for Buy, of the quote for Sell
	Side      engine.Side // the order's side: Buy when this order bought
	TakerSide engine.Side // the taker's side; isBuy of the public deal
	IsMaker   bool
}

// FillOf returns a trade of the pair in as its maker or its taker sees it.
func FillOf(e *engine.Event, in *engine.Instrument, maker bool) Fill {
	f := recordOf(e)
	return f.fill(maker, in)
}

// fillRec is the retained record of a trade, shared by its two orders. Each Prev member links to the previous
// record of the same order or account: it holds the distance between their numbers, 0 when there is none.
type fillRec struct {
	trade                              engine.TradeID
	taker, maker                       engine.OrderID
	timeNs                             int64
	price, amount                      int64
	takerFee, takerDiscount            uint32
	makerFee, makerDiscount            uint32
	takerPrev, makerPrev               uint32
	takerAccountPrev, makerAccountPrev uint32
	takerAccount, makerAccount         engine.AccountID
	side                               engine.Side // the taker's
}

// recordOf returns the record of a trade without its links.
func recordOf(e *engine.Event) fillRec {
	return fillRec{
		taker: e.Order, maker: e.Maker, trade: e.Trade, timeNs: e.TimeNs, price: e.Price, amount: e.Amount,
		takerFee: e.TakerFee, takerDiscount: e.TakerDiscount, makerFee: e.MakerFee, makerDiscount: e.MakerDiscount,
		takerAccount: e.Account, makerAccount: e.MakerAccount, side: e.Side,
	}
}

// fill returns the trade as its maker or its taker sees it.
func (f *fillRec) fill(maker bool, in *engine.Instrument) Fill {
	out := Fill{
		Pair: f.taker.Pair(), Trade: f.trade, TimeNs: f.timeNs, Price: f.price, Amount: f.amount,
		TakerSide: f.side, IsMaker: maker,
	}
	if maker {
		out.Order, out.Account = f.maker, f.makerAccount
	} else {
		out.Order, out.Account = f.taker, f.takerAccount
	}
	out.Side = f.sideOf(maker)
	out.Fee = f.fee(maker, in)
	return out
}

// sideOf returns the side of the maker or of the taker.
func (f *fillRec) sideOf(maker bool) engine.Side {
	if maker {
		return f.side.Opposite()
	}
	return f.side
}

// order returns the order of the maker or of the taker.
func (f *fillRec) order(maker bool) engine.OrderID {
	if maker {
		return f.maker
	}
	return f.taker
}

// fee returns the fee that the maker or the taker of the trade pays, in units of what that side receives. The built-in
// account pays none.
func (f *fillRec) fee(maker bool, in *engine.Instrument) fixed.U128 {
	account, side, rate, discount := f.takerAccount, f.side, f.takerFee, f.takerDiscount
	if maker {
		account, side, rate, discount = f.makerAccount, f.side.Opposite(), f.makerFee, f.makerDiscount
	}
	if account == 0 {
		return fixed.U128{}
	}
	return fixed.Fee(in.Received(side, f.price, f.amount), rate, discount)
}

// Fills returns a page of an account's fills, newest first. A trade of the account with itself is two fills.
//
// turn has the same meaning as in Orders. Trades that happen during the walk do not change the
// page: the walk starts at the newest fill of its first turn and goes back, and a fill never
// changes. When the oldest fills are evicted before the walk reaches them, the list ends there.
// A page after a cursor begins at the cursor's trade, which a binary search over the times finds.
func (h *History) Fills(q Query, turn func(func()) error) ([]Fill, error) {
	if q.Limit <= 0 || q.Offset < 0 {
		return nil, nil
	}
	w := fillWalk{history: h, query: q}
	for !w.done {
		if err := turn(w.turn); err != nil {
			return nil, err
		}
	}
	return w.rows, nil
}

// fillWalk collects the fills of a page in one or more turns. It stores the number of the next fill between
// turns; numbers are never reused, so it stays valid.
//
// Owner: the history's goroutine during a turn, the caller's between two turns.
type fillWalk struct {
	history  *History
	query    Query
	started  bool
	done     bool
	restored uint64 // History.restored when the walk started
	next     uint64 // 1 + number of the next fill to read, 0: no more
	skip     int    // rows to skip before the page begins
	behind   bool   // the walk has passed the cursor
	rows     []Fill
}

// turn reads at most walkRecords fill records. It runs on the history's goroutine.
func (w *fillWalk) turn() {
	h, q := w.history, &w.query
	if !w.started || w.restored != h.restored {
		w.started, w.restored, w.skip, w.rows = true, h.restored, q.Offset, w.rows[:0]
		if int(q.Account) >= len(h.accounts) || q.Offset >= int(h.accounts[q.Account].fillCount) {
			w.done = true
			return
		}
		w.start()
	}
	for range walkRecords {
		if w.next == 0 || !h.fills.has(w.next-1) {
			w.done = true
			return
		}
		h.visited++
		if w.read(h.fills.at(w.next - 1)); w.done {
			return
		}
	}
}

// start sets the newest fill to read.
func (w *fillWalk) start() {
	h, q := w.history, &w.query
	w.next = h.accounts[q.Account].fill
	if q.Order != 0 {
		w.next = 0
		if o, _ := h.lookup(q.Order); o != nil && o.account == q.Account {
			w.next = o.lastFill
		}
	}
	w.behind = q.After == (Cursor{})
	if !w.behind && (q.Order == 0 || q.Order == q.After.Order) {
		w.next = h.findFill(&q.After, q.Account, w.next)
	}
}

// read adds the rows of one trade to the page and sets next to the next older fill of the account, or of the order
// that the query names.
func (w *fillWalk) read(f *fillRec) {
	q := &w.query
	if f.timeNs < q.SinceNs {
		w.done = true
		return
	}
	for _, maker := range [...]bool{false, true} {
		if (maker && f.makerAccount != q.Account) || (!maker && f.takerAccount != q.Account) ||
			!q.matches(f.taker.Pair(), f.timeNs) || q.Order != 0 && q.Order != f.order(maker) ||
			!q.sides(f.sideOf(maker)) ||
			!w.passed(f, maker) {
			continue
		}
		if w.skip > 0 {
			w.skip--
			continue
		}
		w.rows = append(w.rows, f.fill(maker, w.history.pairs[f.taker.Pair()].instrument))
		if len(w.rows) == q.Limit {
			w.done = true
			return
		}
	}
	back := f.takerAccountPrev
	switch {
	case q.Order != 0 && q.Order == f.taker:
		back = f.takerPrev
	case q.Order != 0:
		back = f.makerPrev
	case f.takerAccount != q.Account:
		back = f.makerAccountPrev
	}
	if back == 0 {
		w.next = 0
		return
	}
	w.next -= uint64(back)
}

// passed reports whether a row is behind the cursor. The cursor's own row is not.
func (w *fillWalk) passed(f *fillRec, maker bool) bool {
	c := &w.query.After
	if w.behind || f.timeNs < c.TimeNs {
		w.behind = true
		return true
	}
	w.behind = f.timeNs == c.TimeNs && f.trade == c.Trade && f.order(maker) == c.Order
	return false
}

// findFill returns 1 + the number of the cursor's fill, so that a deep page costs no walk over the newer ones. When
// it is not among the fills of its time, or they are too many to look through, it returns head.
func (h *History) findFill(c *Cursor, account engine.AccountID, head uint64) uint64 {
	first := h.fills.first()
	n := first + uint64(sort.Search(int(h.fills.end-first), func(i int) bool {
		return h.fills.at(first+uint64(i)).timeNs > c.TimeNs
	}))
	for range walkRecords {
		if n == first {
			break
		}
		n--
		f := h.fills.at(n)
		if f.timeNs != c.TimeNs {
			break
		}
		if f.trade == c.Trade && (f.taker == c.Order && f.takerAccount == account ||
			f.maker == c.Order && f.makerAccount == account) {
			return n + 1
		}
	}
	return head
}
