package replay

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"

	"tickhive/engine"
)

// The message types of LOBSTER that change the displayed book. 5 (hidden execution), 6
// (cross) and 7 (halt) do not.
const (
	lobsterAdd     = 1
	lobsterReduce  = 2
	lobsterDelete  = 3
	lobsterExecute = 4
	lobsterTypes   = 7
)

// maxLobsterLevels bounds the levels of one orderbook row.
const maxLobsterLevels = 1000

// lobsterDummy is the price of an unused level, ask positive and bid negative.
const lobsterDummy = 9_999_999_999

// lobsterMessage is one row of a message file.
type lobsterMessage struct {
	ns    int64 // since midnight
	kind  int
	id    uint64 // of the resting order, 0 for hidden ones
	size  int64  // shares
	price int64  // 10^-4 dollars
	side  engine.Side
}

// lobsterLevel is one price of an orderbook row.
type lobsterLevel struct{ price, size int64 }

// lobsterRow is one row of an orderbook file: used levels only, best first.
type lobsterRow struct {
	sides [2][]lobsterLevel
	depth int // levels that the file has room for
}

// cell is one part of a comma separated row, without blanks.
type cell struct {
	text []byte
	at   int // byte of the row at which the text begins
}

// columns splits a comma separated row into at most len(dst) parts; n is how many it has.
func columns(line []byte, dst []cell) (n int) {
	for at := 0; ; {
		end := bytes.IndexByte(line[at:], ',')
		part := line[at:]
		if end >= 0 {
			part = part[:end]
		}
		if n < len(dst) {
			text, skipped := trim(part)
			dst[n] = cell{text, at + skipped}
		}
		n++
		if end < 0 {
			return n
		}
		at += end + 1
	}
}

func parseLobsterMessage(line []byte) (m lobsterMessage, err error) {
	var col [6]cell
	if n := columns(line, col[:]); n != len(col) {
		return m, flawAt(0, "give the message file first, then the orderbook file", "%d columns, a message has 6: time, type, order id, size, price, direction", n)
	}
	if m.ns, err = secondsToNs(col[0].text); err != nil {
		return m, locate(col[0].at, err)
	}
	if m.ns >= 2*dayNs {
		return m, flawAt(col[0].at, "times of this format are seconds after midnight", "time %s is beyond the day", col[0].text)
	}
	if m.kind, err = strconv.Atoi(string(col[1].text)); err != nil || m.kind < 1 || m.kind > lobsterTypes {
		return m, flawAt(col[1].at, remedyValue, "type %q is not 1 to 7", clip(col[1].text))
	}
	if m.kind > lobsterExecute {
		return m, nil // nothing of it is used, and halts carry other numbers
	}
	if m.id, err = strconv.ParseUint(string(col[2].text), 10, 64); err != nil {
		return m, flawAt(col[2].at, remedyValue, "order id %q is not a number", clip(col[2].text))
	}
	if m.size, err = positiveUnits("size", col[3].text, 0); err != nil {
		return m, locate(col[3].at, err)
	}
	if m.price, err = positiveUnits("price", col[4].text, 0); err != nil {
		return m, locate(col[4].at, err)
	}
	switch string(col[5].text) {
	case "1":
		m.side = engine.Buy
	case "-1":
		m.side = engine.Sell
	default:
		return m, flawAt(col[5].at, remedyValue, "direction %q is not 1 or -1", clip(col[5].text))
	}
	return m, nil
}

// parseLobsterRow reads a row into r, reusing its slices.
func parseLobsterRow(line []byte, r *lobsterRow) error {
	r.sides[0], r.sides[1], r.depth = r.sides[0][:0], r.sides[1][:0], 0
	open := [2]bool{true, true}
	rest, at := line, 0
	for more := true; more; r.depth++ {
		if r.depth == maxLobsterLevels {
			return flawAt(len(line)-len(rest), remedyValue, "more than %d levels", maxLobsterLevels)
		}
		for _, side := range [2]engine.Side{engine.Sell, engine.Buy} {
			at = len(line) - len(rest)
			if !more {
				return flawAt(len(line)-1, remedyValue, "%d levels and a half: want ask price, ask size, bid price, bid size for each", r.depth)
			}
			var price, size []byte
			price, rest, more = bytes.Cut(rest, []byte{','})
			if !more {
				return flawAt(at, remedyValue, "level %d: a price without a size", r.depth+1)
			}
			size, rest, more = bytes.Cut(rest, []byte{','})
			l, err := parseLobsterLevel(price, size)
			if err == nil && l.size != 0 {
				err = r.add(side, l, open[side])
			}
			if err != nil {
				return locate(at, fmt.Errorf("level %d: %w", r.depth+1, err))
			}
			open[side] = open[side] && l.size != 0
		}
	}
	return nil
}

func (r *lobsterRow) add(side engine.Side, l lobsterLevel, open bool) error {
	levels := r.sides[side]
	if !open {
		return errors.New("a level below an unused one")
	}
	if n := len(levels); n > 0 && !worse(side, l.price, levels[n-1].price) {
		return fmt.Errorf("price %d is not worse than the level before", l.price)
	}
	r.sides[side] = append(levels, l)
	return nil
}

func parseLobsterLevel(price, size []byte) (l lobsterLevel, err error) {
	if l.price, err = strconv.ParseInt(string(bytes.TrimSpace(price)), 10, 64); err != nil {
		return l, fmt.Errorf("price %q is not a whole number", clip(price))
	}
	if l.size, err = strconv.ParseInt(string(bytes.TrimSpace(size)), 10, 64); err != nil || l.size < 0 {
		return l, fmt.Errorf("size %q is not a whole number", clip(size))
	}
	if l.price >= lobsterDummy || l.price <= -lobsterDummy {
		l.size = 0
	}
	if l.size != 0 && l.price <= 0 {
		return l, fmt.Errorf("price %d must be above zero", l.price)
	}
	return l, nil
}

// worse reports whether a is further from the touch than b.
func worse(side engine.Side, a, b int64) bool {
	if side == engine.Buy {
		return a < b
	}
	return a > b
}

// find is the size at a price of the row, 0 when it is not there.
func (r *lobsterRow) find(side engine.Side, price int64) int64 {
	for _, l := range r.sides[side] {
		if l.price == price {
			return l.size
		}
	}
	return 0
}

// worst is the worst price of a side that has all its levels filled; a side with room
// for more hides nothing.
func (r *lobsterRow) worst(side engine.Side) int64 {
	levels := r.sides[side]
	if len(levels) == r.depth {
		return levels[len(levels)-1].price
	}
	if side == engine.Buy {
		return math.MinInt64
	}
	return math.MaxInt64
}
