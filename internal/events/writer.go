package events

import (
	"strconv"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// Writer folds the events of a market, from the first one on, and returns the messages of one batch at a time, without
// their sources. The same batches give the same messages.
type Writer struct {
	epoch   string
	pairs   []*engine.Instrument
	account func(engine.AccountID) string
	books   []book // by pair: the levels that changed in this batch
	changed []engine.PairID
	out     []jet.Event
}

// book holds the levels of a pair that changed in a batch, in order.
type book struct {
	first, last engine.Seq
	timeNs      int64
	bids, asks  []level
}

// level is a level of a book after a change; amount 0: it is gone.
type level struct{ price, amount int64 }

// NewWriter returns a writer for the market of an epoch. account returns the id of an account.
func NewWriter(epoch string, account func(engine.AccountID) string) *Writer {
	return &Writer{epoch: epoch, account: account}
}

// Fold adds events to the batch.
func (w *Writer) Fold(events []engine.Event) {
	for i := range events {
		w.fold(&events[i])
	}
}

func (w *Writer) fold(e *engine.Event) {
	switch e.Kind {
	case engine.EventPair:
		w.setPair(e.Instrument)
	case engine.EventLevel:
		w.addLevel(e)
	case engine.EventTrade:
		w.add(e, "trade", w.tradeBody(e))
	case engine.EventAccepted, engine.EventRejected, engine.EventCanceled, engine.EventReplaced,
		engine.EventTriggered, engine.EventRefilled, engine.EventReduced, engine.EventReleased, engine.EventActivated:
		if e.Pair != engine.ControlPair {
			w.add(e, "order", w.orderBody(e))
		}
	case engine.EventList, engine.EventListEnded:
		w.add(e, "list", w.listBody(e))
	case engine.EventPrevented:
		w.add(e, "prevented", w.preventedBody(e))
	case engine.EventNothing, engine.EventAsset, engine.EventPast:
	}
}

// Take returns the messages of the batch and begins the next one. A pair's changes of its book in one batch are one
// message, behind the others.
func (w *Writer) Take() []jet.Event {
	for _, p := range w.changed {
		b := &w.books[p]
		w.out = append(w.out, jet.Event{
			Subject: w.subject(p, "book"), ID: w.id(p, b.last), Data: w.bookBody(p, b),
		})
		*b = book{bids: b.bids[:0], asks: b.asks[:0]}
	}
	out := w.out
	w.out, w.changed = nil, w.changed[:0]
	return out
}

func (w *Writer) add(e *engine.Event, kind string, body any) {
	w.out = append(w.out, jet.Event{
		Subject: w.subject(e.Pair, kind), ID: w.id(e.Pair, e.Seq), Data: encode(body),
	})
}

func (w *Writer) subject(p engine.PairID, kind string) string { return w.pairs[p].Code + "." + kind }

func (w *Writer) id(p engine.PairID, seq engine.Seq) string {
	return w.pairs[p].Code + ":" + strconv.FormatUint(uint64(seq), 10)
}

func (w *Writer) setPair(in *engine.Instrument) {
	for int(in.ID) >= len(w.pairs) {
		w.pairs = append(w.pairs, nil)
		w.books = append(w.books, book{})
	}
	w.pairs[in.ID] = in
}

func (w *Writer) addLevel(e *engine.Event) {
	b := &w.books[e.Pair]
	if b.last == 0 {
		b.first = e.Seq
		w.changed = append(w.changed, e.Pair)
	}
	b.last, b.timeNs = e.Seq, e.TimeNs
	side := &b.bids
	if e.Side == engine.Sell {
		side = &b.asks
	}
	*side = append(*side, level{e.Price, e.Amount})
}
