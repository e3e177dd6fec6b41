package replay

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"tickhive/engine"
	"tickhive/sim/replay/format"
	"tickhive/sim/replay/format/input"
)

// logStart holds the facts about a log that the replay needs before it feeds the first record.
type logStart struct {
	first int // number of the first record to feed; it is a book
	known map[uint64]knownOrder
	early map[uint64]bool // ids whose deletion comes before their creation
	most  int             // bound of the deleted ids to store
}

// knownOrder is an order that rests when the replay starts.
type knownOrder struct {
	side          engine.Side
	price, amount int64
}

// logReader holds the state of readStart.
type logReader struct {
	logStart
	fromNs  int64
	n       int
	gone    goneIDs
	created map[uint64]bool
	later   map[uint64]knownOrder // orders that are first named after the start and not created after it
	firstID uint64                // lowest id that is created after the start
}

// readStart reads the log once. It finds the first book at or after fromNs and the orders that rested at that
// time. These are the orders created before and not deleted, and the orders that a later line changes or
// cancels, with an id below every id created later. Each rested with at least the amount that the log first
// reports; an unnamed order covers the rest of the level. most bounds the deleted ids to store.
func readStart(r format.Reader, s *format.Survey, fromNs int64, most int) (logStart, error) {
	if err := r.Open(s); err != nil {
		return logStart{}, err
	}
	defer r.Close()
	l := logReader{
		logStart: logStart{known: map[uint64]knownOrder{}, early: map[uint64]bool{}, most: most}, fromNs: fromNs,
		gone: newGoneIDs(most), created: map[uint64]bool{}, later: map[uint64]knownOrder{}, firstID: ^uint64(0),
	}
	var rec format.Record
	for {
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return logStart{}, err
		}
		l.take(&rec)
	}
	if l.first == 0 {
		return logStart{}, fmt.Errorf("replay: no book at or after %s; start earlier", input.NsText(fromNs))
	}
	for id, o := range l.later {
		if id < l.firstID && !l.created[id] {
			l.known[id] = o
		}
	}
	return l.logStart, nil
}

// take applies one record of the log.
func (l *logReader) take(r *format.Record) {
	l.n++
	o := knownOrder{r.Side, r.Price, r.Amount}
	late, again := l.gone.has(r.ID), l.created[r.ID]
	switch r.Kind {
	case format.Book:
		if l.first == 0 && r.NS >= l.fromNs {
			l.first = l.n
		}
		return
	case format.Cancel:
		l.gone.add(r.ID, r.Amount == 0)
	case format.Place:
		l.created[r.ID] = true
		if l.first != 0 {
			l.firstID = min(l.firstID, r.ID)
		}
		if late && len(l.early) < l.most {
			l.early[r.ID] = true
		}
	case format.Change:
	default:
		return
	}
	_, known := l.known[r.ID]
	_, later := l.later[r.ID]
	switch before := l.first == 0; {
	case late:
	case before && r.Kind == format.Place && !again, before && r.Kind == format.Change && known:
		l.known[r.ID] = o
	case before && r.Kind == format.Cancel:
		delete(l.known, r.ID)
	case !before && r.Kind != format.Place && r.Amount != 0 && !again && !later:
		l.later[r.ID] = o
	}
}

// bookPlace is a price on one side of the book.
type bookPlace struct {
	side  engine.Side
	price int64
}

// seed enters the opening book. At each price it first enters an unnamed order for the amount that no known
// order accounts for, then the known orders by ascending id. All are post-only, because unnamed orders must not
// trade.
func (l *logFeed) seed(r *format.Record) error {
	explained := map[bookPlace]int64{}
	ids := slices.Sorted(maps.Keys(l.known))
	for _, id := range ids {
		o := l.known[id]
		explained[bookPlace{o.side, o.price}] += o.amount
	}
	for i, levels := range r.Levels {
		side := engine.Side(i)
		for _, level := range levels {
			l.seen[side][level.Price] = true
			if rest := level.Amount - explained[bookPlace{side, level.Price}]; rest > 0 {
				l.entry.place(side, level.Price, rest, engine.FlagPostOnly)
			}
		}
	}
	if err := l.sendAnonymous(); err != nil {
		return err
	}
	for _, id := range ids {
		o := l.known[id]
		if err := l.place(id, o.side, o.price, o.amount, engine.FlagPostOnly); err != nil {
			return err
		}
	}
	return nil
}
