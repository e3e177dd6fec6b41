package binance

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// unit is the unit of the times that a client gets: of a call, or of a socket. Every time is written by Writer.Time of
// a writer that knows it.
type unit int64

const (
	milliseconds unit = 1_000_000 // ns
	microseconds unit = 1_000
)

// writer returns a writer behind b, with decimals in quotes and times in the unit.
func (u unit) writer(b []byte) json.Writer {
	w := json.Quoted(b)
	if u == microseconds {
		w.Micros()
	}
	return w
}

// writer returns the writer of an answer.
func (q *call) writer() json.Writer { return q.unit.writer(nil) }

// unitOf returns the unit with this name, milliseconds for an empty one.
func unitOf(name string) (unit, *failure) {
	switch {
	case name == "", strings.EqualFold(name, "MILLISECOND"):
		return milliseconds, nil
	case strings.EqualFold(name, "MICROSECOND"):
		return microseconds, nil
	}
	return 0, fail(codeBadUnit, "Invalid value for time unit; expected either MICROSECOND or MILLISECOND.")
}

// unitHeader names the unit of an answer over HTTP, timeUnit that of a socket in its address.
var (
	unitHeader = []byte("X-Mbx-Time-Unit") // X-MBX-TIME-UNIT as the request parser normalizes it
	timeUnit   = edge.Text("timeUnit")
)

// socketUnit returns the unit that the address of a socket names.
func socketUnit(c *edge.Ctx) (unit, *failure) {
	name, refused := timeUnit.Of(c)
	if refused != nil {
		return 0, fromRefusal(refused)
	}
	return unitOf(name)
}

// leastMicros is the smallest time of a request that is in microseconds, of the year 1973. In milliseconds it is of the
// year 5138.
const leastMicros = 100_000_000_000_000

// sent is a time of a request. Times that do not fit into ns count as the last one that does.
type sent struct {
	count int64 // in units
	unit  unit
}

// first and last return the ns of the unit's span.
func (s sent) first() int64 { return min(s.count, math.MaxInt64/int64(s.unit)-1) * int64(s.unit) }
func (s sent) last() int64  { return s.first() + int64(s.unit) - 1 }

// time reads a time, in milliseconds or microseconds.
func (q *call) time(name string, def int64) (sent, *failure) {
	v, err := q.number(name, def)
	if v >= leastMicros {
		return sent{v, microseconds}, err
	}
	return sent{v, milliseconds}, err
}

// span reads startTime and endTime, inclusive and in ns.
func (q *call) span() (startNs, endNs int64, err *failure) {
	start, err := q.time("startTime", 0)
	if err != nil {
		return 0, 0, err
	}
	end, err := q.time("endTime", math.MaxInt64)
	return start.first(), end.last(), err
}

// day reads the span of a query of the caller's orders or trades, of at most 24 hours.
func (q *call) day() (startNs, endNs int64, err *failure) {
	startNs, endNs, err = q.span()
	if err == nil && q.given("startTime") && q.given("endTime") && endNs-startNs > daySec*secNs+int64(milliseconds) {
		err = fail(codeTooWide, "More than 24 hours between startTime and endTime.")
	}
	return startNs, endNs, err
}

// The default and the largest recvWindow in microseconds.
const (
	defaultWindow = 5_000_000
	maxWindow     = 60_000_000
)

const windowForm = `^([0-9]{1,20})(\.[0-9]{1,3})?$`

var windowText = regexp.MustCompile(windowForm)

// stamp reads the parameters timestamp and recvWindow, which is in milliseconds with up to three decimals.
func (q *call) stamp() (s auth.Stamp, err *failure) {
	if _, err = q.required("timestamp"); err != nil {
		return s, err
	}
	at, err := q.time("timestamp", 0)
	if err != nil {
		return s, err
	}
	window := int64(defaultWindow)
	if text, given := q.text("recvWindow"); given {
		if !windowText.MatchString(text) {
			return s, illegal("recvWindow", windowForm)
		}
		whole, decimals, _ := strings.Cut(text, ".")
		window, _ = strconv.ParseInt(whole+(decimals + "000")[:3], 10, 64) // one out of range is the largest
	}
	if window > maxWindow {
		return s, fail(codeBadWindow, "recvWindow must be less than %d.", maxWindow/1000)
	}
	unitNs := int64(at.unit)
	return auth.Stamp{Sent: at.count, Window: window * int64(microseconds) / unitNs, UnitNs: unitNs}, nil
}
