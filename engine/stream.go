package engine

import (
	"math"
	"slices"
)

// stream is the event stream of one pair: it numbers the events and appends them to the slice of
// the command under way.
type stream struct {
	pair  PairID
	out   []Event // the caller's slice up to its capacity, during Apply
	n     int     // number of events in it
	nowNs int64
	seq   Seq
	// refused is the seq of the newest refusal. Only a command of the same slice asks for it: a state does not have it.
	refused Seq

	stop   int // number of events from which on the command pauses
	visits int // in the part under way, see visit and weigh
}

// startCommand directs the following events to dst.
func (t *stream) startCommand(cmd *Command, dst []Event) {
	t.out, t.n, t.nowNs = dst[:cap(dst)], len(dst), cmd.TimeNs
	t.stop, t.visits = math.MaxInt, 0
}

// bound makes the part under way pause before it has made more than events events.
func (t *stream) bound(events int) { t.stop = t.n + events - partReserve }

// spent reports whether the part under way has done its work: the command must pause.
func (t *stream) spent() bool { return t.n >= t.stop }

// visit counts an order or level that the command looked at without an event.
func (t *stream) visit() {
	if t.visits++; t.visits%visitsPerEvent == 0 {
		t.stop--
	}
}

// weigh makes the newest event count as the given number of events, when its work is more than one event's.
func (t *stream) weigh(events int) {
	t.stop -= events - 1
	t.visits += visitsPerEvent * (events - 1)
}

// work returns the work of the part that began at from, in events.
func (t *stream) work(from int) int { return t.n - from + t.visits/visitsPerEvent }

// endCommand returns the slice with the events since begin.
func (t *stream) endCommand() (dst []Event) {
	dst, t.out = t.out[:t.n], nil
	return dst
}

// emit appends the next event of the pair with its common members set and the others zero. The pointer is valid
// until the next emit.
func (t *stream) emit(kind EventKind) *Event {
	n := t.n
	if uint(n) >= uint(len(t.out)) {
		t.grow()
		return t.emit(kind)
	}
	e := &t.out[n]
	t.n = n + 1
	*e = Event{}
	t.seq++
	e.Seq = t.seq
	e.TimeNs = t.nowNs
	e.Pair = t.pair
	e.Kind = kind
	return e
}

// grow makes room for events. It is a function of its own because few calls of emit need it.
//
//go:noinline
func (t *stream) grow() {
	t.out = slices.Grow(t.out, 1)
	t.out = t.out[:cap(t.out)]
}

// level emits the current shown amount of a level.
func (t *stream) level(lv *level) {
	e := t.emit(EventLevel)
	e.Side = lv.side
	e.Price = lv.price
	e.Amount = lv.shown
}

// refuse emits the refusal of a command, which changes nothing.
func (t *stream) refuse(cmd *Command, r Reason) *Event {
	e := t.emit(EventRejected)
	t.refused = e.Seq
	e.Reason = r
	e.Side = cmd.Side
	e.Account = cmd.Account
	if cmd.Kind == Cancel || cmd.Kind == Replace {
		e.Order = cmd.Order
	} else {
		e.Client = cmd.Client
	}
	if r != NotRejected {
		e.Status = Rejected
	}
	return e
}

// canceled emits the end of an order that has open lots.
func (t *stream) canceled(o *order, account AccountID, price, open int64, cause CancelCause) *Event {
	e := t.emit(EventCanceled)
	t.weigh(cancelWeight)
	e.Order = MakeOrderID(t.pair, o.n)
	e.Account = account
	e.Side = o.side
	e.Price = price
	e.Amount = open
	e.Cause = cause
	e.Status = finalStatus(o.total - open)
	return e
}

// reduced emits that self-trade prevention reduced an order by d lots.
func (t *stream) reduced(id OrderID, account AccountID, side Side, price, d int64) *Event {
	e := t.emit(EventReduced)
	e.Order = id
	e.Account = account
	e.Side = side
	e.Price = price
	e.Amount = d
	return e
}

// triggered emits that a stop has become the taker by.
func (t *stream) triggered(by *taker) {
	e := t.emit(EventTriggered)
	e.Order = by.id
	e.Account = by.account
	e.Side = by.side
	e.Type = by.typ
	e.MakerOpen = by.stop
	e.Amount = by.sells
	e.OpenAmount = by.open()
	e.Price = by.own()
	if by.byAmount() {
		e.Display, e.Quote = by.hold, by.money
	}
}
