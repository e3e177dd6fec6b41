package replay

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"tickhive/engine"
	"tickhive/sim/replay/format"
)

// logStart holds the knowledge of a log that the replay needs before it feeds the first record.
type logStart struct {
	first int // number of the record that is fed first: a book
	known map[uint64]knownOrder
	early map[uint64]bool // ids whose deletion comes before their creation
	most  int             // deleted ids that are remembered
}

// knownOrder is an order that rests when the replay starts.
type knownOrder struct {
	side          engine.Side
	price, amount int64
}

// logReader holds the state of readStart while it reads.
type logReader struct {
	logStart
	fromNs  int64
	n       int
	gone    goneIDs
	created map[uint64]bool
	later   map[uint64]knownOrder // first named after the start, and not created before that
	firstID uint64                // the lowest that is created after the start
}

// readStart reads the log once to find the first book at or after fromNs and the orders that
// rested then: those created before and not deleted, and those that change or are
// cancelled later, with an id older than any created after it. They rested with at least
// the amount that the log first reports of them; what they had above it has no name. It remembers the
// newest deleted ids, most of them.
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
		return logStart{}, fmt.Errorf("replay: no book at or after %s; start earlier", format.NsText(fromNs))
	}
	for id, o := range l.later {
		if id < l.firstID && !l.created[id] {
			l.known[id] = o
		}
	}
	return l.logStart, nil
}

// take follows a record of the log.
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

// bookPlace is a price of one side.
type bookPlace struct {
	side  engine.Side
	price int64
}

// seed makes the opening book: at each price first one order without a name for what no
// known order explains, then the known ones in order of their ids. All of them are post-only:
// an order that the log did not name must not trade.
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
