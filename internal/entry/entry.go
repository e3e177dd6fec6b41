package entry

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
)

// Exchange is the way to the engine: a *sequencer.Loop, or the *sequencer.Gate that leads to it.
type Exchange interface {
	// Submit submits a batch and waits for its outcome.
	Submit(b *sequencer.Batch) error
	// Query runs fn between two commands, or parts of one, on the goroutine that owns core and
	// history. QueryPair runs it when the pair has no unfinished command. QueryParts serves other pairs
	// at each pause.
	Query(fn func()) error
	QueryPair(p engine.PairID, fn func()) error
	QueryParts(p engine.PairID, read func(pause func())) error
}

// Options configures an Entry. All members but Limits are required.
type Options struct {
	Exchange Exchange
	Core     *engine.Core        // read only inside Exchange.Query
	History  *marketdata.History // read only inside Exchange.Query and Batch.Collect
	Board    *marketdata.Board
	Clock    clock.Clock
	Limits   engine.Limits // what refusals name; a zero member means its default
}

// Entry takes the orders of both listeners. Any goroutine may call its methods.
//
// At the start:
//
//	e, err := entry.New(entry.Options{Exchange: loop, Core: core, History: feed.History(),
//		Board: feed.Board(), Clock: clk})
//	e.Attach(state.Shown()) // the recovered accounts, before the first request
//
// For each request:
//
//	r := e.Acquire(caller)      // 0: an operator
//	defer e.Release(r)
//	c := r.One()                // or fill r.Commands and call r.Submit
//	c.Kind = entry.PlaceOrder
//	decode(body, &c.Place)      // decimals stay text of checked form
//	if refusal := r.SubmitOne(); refusal != nil {
//		return refusal          // the caller maps its code to a status
//	}
//	encode(&r.Answers[0])       // before Release
//
//	n, refusal := e.CancelAll(entry.MassCancel{Caller: caller, Pair: pair})
//	a, refusal := e.Order(caller, text) // one retained order
type Entry struct {
	opt      Options
	requests sync.Pool // *Request

	// Set by Attach, before the first request. Nil: only the built-in account exists.
	shown *accounts.Shown
}

// New returns an Entry without users: the built-in account alone can trade.
func New(o Options) (*Entry, error) {
	if o.Exchange == nil || o.Core == nil || o.History == nil || o.Board == nil || o.Clock == nil {
		return nil, errors.New("entry: Options need an exchange, core, history, board and clock")
	}
	o.Limits = engine.Options{Limits: o.Limits}.EffectiveLimits()
	e := &Entry{opt: o}
	e.requests.New = func() any { return newRequest(e) }
	return e, nil
}

// Attach sets what readers see of the recovered accounts. The caller calls it once, before the first request.
func (e *Entry) Attach(shown *accounts.Shown) { e.shown = shown }

// Find returns the number of the user with that id. The built-in account is no user.
func (e *Entry) Find(id [16]byte) (engine.AccountID, bool) {
	if e.shown == nil {
		return 0, false
	}
	n, ok := e.shown.NumberOf(id)
	return engine.AccountID(n), ok && n != 0
}

// account returns the number of the account that an order names; the zero id is the built-in
// account.
func (e *Entry) account(id [16]byte) (engine.AccountID, *refuse.Refusal) {
	if id == [16]byte{} {
		return 0, nil
	}
	n, ok := e.Find(id)
	if !ok {
		return 0, refuse.Missing("accountId", "There is no account %s.", uuid.UUID(id))
	}
	return n, nil
}

// Instrument returns the instrument of a listed pair's code, nil if there is none.
func (e *Entry) Instrument(code []byte) *engine.Instrument {
	if v := e.opt.Board.Load().Lookup(string(code)); v != nil {
		return v.Instrument
	}
	return nil
}

// OrderPattern is the form of an order id. ParseOrder takes other integers too, for which it finds no order.
const OrderPattern = "^[0-9]{1,16}$"

// ParseOrder returns the order id that a path names and the instrument of its pair. caller is
// the account of a signed request, 0 for an operator.
func (e *Entry) ParseOrder(caller engine.AccountID, text string) (engine.OrderID, *engine.Instrument, *refuse.Refusal) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > 19 || strings.Trim(digits, "0123456789") != "" {
		return 0, nil, refuse.Param(orderParam(caller), "The order id must be an integer.")
	}
	n, _ := strconv.ParseInt(text, 10, 64) // it clamps
	if id := engine.OrderID(n); n >= 0 && id.Pair() < engine.MaxPairs {
		if v := e.opt.Board.Load().View(id.Pair()); v != nil {
			return id, v.Instrument, nil
		}
	}
	return 0, nil, noOrder(caller, text)
}

// Order returns the retained order that a path names. A signed request finds only the caller's
// own orders.
func (e *Entry) Order(caller engine.AccountID, text string) (Answer, *refuse.Refusal) {
	id, ins, refusal := e.ParseOrder(caller, text)
	if refusal != nil {
		return Answer{}, refusal
	}
	a := Answer{Order: id, Instrument: ins}
	if err := e.opt.Exchange.QueryPair(id.Pair(), func() {
		a.Record, a.Found = e.opt.History.Order(id)
	}); err != nil {
		return Answer{}, NotApplied(err)
	}
	if !a.Found || caller != 0 && a.Record.Account != caller {
		return Answer{}, noOrder(caller, text)
	}
	return a, nil
}

// ClientOrder returns the retained order of the caller that has a client order id, as long as the pair remembers
// the id (docs/contract/matching.md#client-order-ids).
func (e *Entry) ClientOrder(caller engine.AccountID, pair, client string) (Answer, *refuse.Refusal) {
	v := e.opt.Board.Load().LookupAll(pair)
	if v == nil {
		return Answer{}, refuse.Missing("currencyPairCode", "There is no pair %s.", pair)
	}
	ins := v.Instrument
	a := Answer{Instrument: ins}
	hash := clientHash(caller, ins.ID, client)
	if err := e.opt.Exchange.QueryPair(ins.ID, func() {
		if a.Order = e.opt.Core.ClientOrder(ins.ID, hash); a.Order != 0 {
			a.Record, a.Found = e.opt.History.Order(a.Order)
		}
	}); err != nil {
		return Answer{}, NotApplied(err)
	}
	if !a.Found || a.Record.Account != caller {
		return Answer{}, refuse.Missing("clientOrderId", "You have no order %s in the pair %s.", client, pair)
	}
	return a, nil
}

// Orders returns a page of an account's orders, newest first, and the cursor of the page after it; the zero
// cursor means that this page is the last.
func (e *Entry) Orders(q marketdata.Query) ([]marketdata.OrderRecord, marketdata.Cursor, *refuse.Refusal) {
	return page(e, q, e.opt.History.Orders, (*marketdata.OrderRecord).Cursor)
}

// Fills returns a page of an account's fills, newest first, and the cursor of the page after it, as Orders does.
func (e *Entry) Fills(q marketdata.Query) ([]marketdata.Fill, marketdata.Cursor, *refuse.Refusal) {
	return page(e, q, e.opt.History.Fills, (*marketdata.Fill).Cursor)
}

// page reads one row more than the page has, which tells whether it is the last.
func page[T any](e *Entry, q marketdata.Query, list func(marketdata.Query, func(func()) error) ([]T, error),
	cursor func(*T) marketdata.Cursor,
) (rows []T, next marketdata.Cursor, refusal *refuse.Refusal) {
	limit := q.Limit
	if limit > 0 {
		q.Limit++
	}
	rows, err := list(q, e.opt.Exchange.Query)
	if err != nil {
		return nil, next, NotApplied(err)
	}
	if len(rows) > limit {
		rows = rows[:limit]
		next = cursor(&rows[limit-1])
	}
	return rows, next, nil
}
