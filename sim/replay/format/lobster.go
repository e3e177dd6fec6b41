package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/tickhive/tickhive/engine"
)

// lobster reads the two files of a NASDAQ day. Row k of the orderbook file is the state after row k of the
// message file. Prices have four decimals, amounts none.
type lobster struct {
	messages, books string    // paths
	day             time.Time // midnight, UTC
	dated           bool      // the name of the message file has the day
	zone            *time.Location
	midnight        int64 // in the zone, Unix ns

	s         *Survey
	msg, book *lineReader
	last      int64            // time of the message before, ns
	open      map[uint64]int64 // open shares by order id, during a survey
}

func newLobster(files []string) (Reader, error) {
	if len(files) != 2 {
		return nil, fmt.Errorf("replay: lobster takes a message file and an orderbook file, in this order; "+
			"%d files given", len(files))
	}
	l := &lobster{messages: files[0], books: files[1]}
	ns, dated := dayOf(filepath.Base(files[0]))
	l.day, l.dated = time.Unix(0, ns).UTC(), dated
	l.use(time.UTC)
	return l, nil
}

// use takes the times as those of a zone. The zone has one offset all day, the one of noon: clocks are changed in the
// night, when no market is open.
func (l *lobster) use(zone *time.Location) {
	l.zone = zone
	noon := time.Date(l.day.Year(), l.day.Month(), l.day.Day(), 12, 0, 0, 0, zone)
	l.midnight = noon.Add(-12 * time.Hour).UnixNano()
}

// taken says how the two files are read.
func (l *lobster) taken() []Taken {
	day := "of " + l.day.Format(time.DateOnly)
	if !l.dated {
		day += ", because the name of the file has no day"
	}
	t := Taken{
		File: filepath.Base(l.messages), Form: "the form LOBSTER", Rows: l.s.Records,
		Time:   fmt.Sprintf("column 1, s after midnight %s, in the zone %s", day, l.zone),
		Price:  "column 5, divided by 10^4",
		Amount: "column 4, shares", Side: "column 6, the resting order's", Order: "oldest first", Unused: []string{},
		Left: []string{}, Flags: "--timezone " + l.zone.String(),
	}
	if l.zone == time.UTC {
		t.Left = append(t.Left, "the files do not name their zone: --timezone America/New_York takes 09:30 as "+
			"NASDAQ's opening")
	}
	return []Taken{t}
}

var tickerInName = regexp.MustCompile(`^([A-Za-z]{1,8})_`)

func (l *lobster) Open(s *Survey) (err error) {
	l.Close()
	l.s, l.last = s, 0
	if s.learning() {
		s.Shape, s.Price.most, s.FixedDigits, l.open = Messages, 4, true, map[uint64]int64{}
		s.Ignored = "%d crosses and halts: not fed"
		if m := tickerInName.FindStringSubmatch(filepath.Base(l.messages)); m != nil {
			s.Pair = pairOf(m[1], "USD")
		}
	}
	if l.msg, err = openLines(l.messages); err != nil {
		return err
	}
	l.book, err = openLines(l.books)
	return err
}

func (l *lobster) Close() {
	l.msg.Close()
	l.book.Close()
	l.msg, l.book = nil, nil
}

func (l *lobster) Notes() []string { return nil }

func (l *lobster) Next(r *Record) error {
	r.reset()
	line, err := l.msg.Next()
	if errors.Is(err, io.EOF) {
		if _, err := l.book.Next(); !errors.Is(err, io.EOF) {
			return l.book.Fail("give the two files of one recording", "the message file has ended at row %d", l.msg.N)
		}
		return io.EOF
	}
	if err != nil {
		return err
	}
	r.At = l.msg.Here(0)
	book, bookErr := l.book.Next() // before an error of the message, so that the two files stay side by side
	if err := parseLobsterMessage(line, r); err != nil {
		return l.msg.Refuse(err)
	}
	if r.NS < l.last {
		return l.msg.Fail("sort the rows of both files by time", "time goes back")
	}
	l.last = r.NS
	r.NS += l.midnight
	if errors.Is(bookErr, io.EOF) {
		return l.book.Fail("give the two files of one recording", "the file has ended before message row %d", l.msg.N)
	}
	if bookErr != nil {
		return bookErr
	}
	if err := parseLobsterRow(book, r); err != nil {
		return l.book.Refuse(err)
	}
	if !l.s.learning() {
		return nil
	}
	l.s.count(r.NS)
	l.s.Depth = max(l.s.Depth, r.Depth)
	if r.Hidden {
		l.s.Hidden++
	}
	return l.follow(r)
}

// follow tracks the open orders during a survey. It refuses an id that is added while it is open: the first
// order of that id would stay in the book to the end.
func (l *lobster) follow(r *Record) error {
	switch r.Kind {
	case Place:
		if _, ok := l.open[r.ID]; ok {
			return l.msg.Fail("remove the line", "order %d is added a second time while it is open", r.ID)
		}
		l.open[r.ID] = r.Amount
	case Cancel:
		delete(l.open, r.ID)
	case Reduce, Execute:
		if l.open[r.ID] -= r.Amount; l.open[r.ID] <= 0 {
			delete(l.open, r.ID)
		}
	default:
	}
	return nil
}

// lobsterKinds maps message types to kinds of records. Types 6 (cross) and 7 (halt) are missing, because they neither
// change the displayed book nor name an order.
var lobsterKinds = [lobsterTypes + 1]Kind{1: Place, 2: Reduce, 3: Cancel, 4: Execute, lobsterHidden: Trade}

const (
	lobsterTypes  = 7
	lobsterHidden = 5 // execution of an order that was not displayed
)

// maxLobsterLevels bounds the levels of one orderbook row.
const maxLobsterLevels = 1000

// lobsterDummy is the price of an unused level: positive for asks, negative for bids.
const lobsterDummy = 9_999_999_999

// parseLobsterMessage reads a message. Its time is the time since midnight.
func parseLobsterMessage(line []byte, m *Record) (err error) {
	var col [6]cell
	if n := splitRow(line, ',', col[:]); n != len(col) {
		return flawAt(0, "give the message file first, then the orderbook file",
			"%d columns, a message has 6: time, type, order id, size, price, direction", n)
	}
	if m.NS, err = readSeconds(col[0].Text); err != nil {
		return locate(col[0].At, err)
	}
	if m.NS >= 2*dayNs {
		return flawAt(col[0].At, remedyUnit+"seconds after midnight", "time %s is beyond the day",
			col[0].Text)
	}
	kind, err := strconv.Atoi(string(col[1].Text))
	if err != nil || kind < 1 || kind > lobsterTypes {
		return flawAt(col[1].At, remedyValue, "type %q is not 1 to 7", clip(col[1].Text))
	}
	if m.Kind = lobsterKinds[kind]; m.Kind == Other {
		return nil // the other columns are not used, and in a halt have other meanings
	}
	if m.ID, err = strconv.ParseUint(string(col[2].Text), 10, 64); err != nil {
		return flawAt(col[2].At, remedyValue, "order id %q is not a number", clip(col[2].Text))
	}
	if m.Amount, err = positiveUnits("size", col[3].Text, 0); err != nil {
		return locate(col[3].At, err)
	}
	if m.Price, err = positiveUnits("price", col[4].Text, 0); err != nil {
		return locate(col[4].At, err)
	}
	switch string(col[5].Text) {
	case "1":
		m.Side = engine.Buy
	case "-1":
		m.Side = engine.Sell
	default:
		return flawAt(col[5].At, remedyValue, "direction %q is not 1 or -1", clip(col[5].Text))
	}
	if kind == lobsterHidden { // a trade has the taker's side, a message the resting order's
		m.Side, m.Sided, m.Hidden = m.Side.Opposite(), true, true
	}
	return nil
}

// positiveUnits reads a number above 0 in units of 10^-digits.
func positiveUnits(what string, s []byte, digits int) (int64, error) {
	d, err := ParseDecimal(s)
	v := int64(0)
	if err == nil {
		v, err = d.Units(digits)
	}
	if err == nil && v <= 0 {
		err = errors.New("must be above zero")
	}
	return v, quoted(what, s, err)
}

// parseLobsterRow reads the used levels of an orderbook row, best first.
func parseLobsterRow(line []byte, r *Record) error {
	open := [2]bool{true, true}
	rest, at := line, 0
	for more := true; more; r.Depth++ {
		if r.Depth == maxLobsterLevels {
			return flawAt(len(line)-len(rest), remedyValue, "more than %d levels", maxLobsterLevels)
		}
		for _, side := range [2]engine.Side{engine.Sell, engine.Buy} {
			at = len(line) - len(rest)
			if !more {
				return flawAt(len(line)-1, remedyValue,
					"%d levels and a half: want ask price, ask size, bid price, bid size for each", r.Depth)
			}
			var price, size []byte
			price, rest, more = bytes.Cut(rest, []byte{','})
			if !more {
				return flawAt(at, remedyValue, "level %d: a price without a size", r.Depth+1)
			}
			size, rest, more = bytes.Cut(rest, []byte{','})
			l, err := parseLobsterLevel(price, size)
			if err == nil && l.Amount != 0 {
				err = addLobsterLevel(r, side, l, open[side])
			}
			if err != nil {
				return locate(at, fmt.Errorf("level %d: %w", r.Depth+1, err))
			}
			open[side] = open[side] && l.Amount != 0
		}
	}
	return nil
}

// addLobsterLevel appends a used level.
func addLobsterLevel(r *Record, side engine.Side, l Level, open bool) error {
	levels := r.Levels[side]
	if !open {
		return errors.New("a level below an unused one")
	}
	if n := len(levels); n > 0 && !Worse(side, l.Price, levels[n-1].Price) {
		return fmt.Errorf("price %d is not worse than the level before", l.Price)
	}
	r.Levels[side] = append(levels, l)
	return nil
}

func parseLobsterLevel(price, size []byte) (l Level, err error) {
	if l.Price, err = strconv.ParseInt(string(bytes.TrimSpace(price)), 10, 64); err != nil {
		return l, fmt.Errorf("price %q is not a whole number", clip(price))
	}
	if l.Amount, err = strconv.ParseInt(string(bytes.TrimSpace(size)), 10, 64); err != nil || l.Amount < 0 {
		return l, fmt.Errorf("size %q is not a whole number", clip(size))
	}
	if l.Price >= lobsterDummy || l.Price <= -lobsterDummy {
		l.Amount = 0
	}
	if l.Amount != 0 && l.Price <= 0 {
		return l, fmt.Errorf("price %d must be above zero", l.Price)
	}
	return l, nil
}
