package edge

import (
	"bytes"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
)

// Principal is the authenticated principal of a request: the result of Options.Authenticate.
type Principal struct {
	Account   uint32 // the number of the user
	UserID    string // UUID
	PublicKey string
	CanTrade  bool // the key permits this request on a route with Trade
}

// Ctx is one request and its answer. The handler owns it until it returns. Slices that Ctx
// returns alias the request buffer; copy them to retain them.
type Ctx struct {
	*fasthttp.RequestCtx
	// Principal is nil for a call without credentials.
	Principal *Principal
	// Credentials holds the credentials of the request, which Options.Authenticate verifies.
	Credentials Credentials

	edge   *Listener
	client netip.Addr // that a node of the cluster has named; zero: the client has sent the request itself
	route  *Route
	id     []byte // request id, in idBuf
	idBuf  [maxRequestID]byte

	public bool // every origin may read the answer
	stale  bool // the pair is not at the seq that the client asks for

	params       []param
	DecimalsText bool // ?decimals=string
	csv          bool // ?format=csv

	faultStatus int   // status of an error that a fault rule causes; 0: none
	skewNs      int64 // the error of SkewNs

	scratch []byte // the handler's buffer for rendering and header values
	number  [24]byte
	tag     [32]byte
}

// RequestID returns the id that is echoed in X-Request-Id and in errors.
func (c *Ctx) RequestID() string { return string(c.id) }

// MachineNs returns the time of the machine's clock in Unix ns.
func (c *Ctx) MachineNs() int64 { return c.edge.MachineNs() }

// SkewNs returns what a route with Time adds to the time that it answers: 0 unless a fault rule skews it.
func (c *Ctx) SkewNs() int64 { return c.skewNs }

// Cancels reports whether the route only cancels orders.
func (c *Ctx) Cancels() bool { return c.route.Cancels }

// PlainDecimals makes the answer ignore decimals=string.
func (c *Ctx) PlainDecimals() { c.DecimalsText = false }

// Unlimited reports whether the allow-list contains the client's address or verified key.
func (c *Ctx) Unlimited() bool { return c.edge.limiter.exempts(c) }

// PathParam returns a parameter of the path, for checks and logs apart from a handler; it is empty when the path has no
// such parameter.
func (c *Ctx) PathParam(name string) string {
	s, _ := c.UserValue(name).(string)
	return s
}

func (e *Listener) acquire(ctx *fasthttp.RequestCtx) *Ctx {
	c := e.ctxPool.Get().(*Ctx)
	c.RequestCtx = ctx
	return c
}

// maxPooledScratch is the largest rendering buffer that a pooled Ctx retains.
const maxPooledScratch = 256 << 10

func (e *Listener) release(c *Ctx) {
	c.RequestCtx, c.Principal, c.route, c.id = nil, nil, nil, nil
	c.params, c.DecimalsText, c.csv, c.public, c.stale = c.params[:0], false, false, false, false
	c.faultStatus, c.skewNs, c.client, c.Credentials = 0, 0, netip.Addr{}, Credentials{}
	if cap(c.scratch) > maxPooledScratch {
		c.scratch = nil
	}
	e.ctxPool.Put(c)
}

// Private answers 200 with a body for this client only: no-store and no ETag. The body must not change until
// the answer is sent.
func (c *Ctx) Private(body []byte) {
	c.Response.Header.SetCanonical(HdrCacheControl, ValNoStore)
	c.writeJSON(body)
}

// writeJSON sets body as the answer, in the form that the request asked for.
func (c *Ctx) writeJSON(body []byte) {
	c.Response.Header.SetContentTypeBytes(c.mediaTypeOut())
	c.Response.SetBodyRaw(c.formed(body))
}

// formed returns a body of JSON in the form that the request asked for: as comma-separated values, or with decimals as
// strings.
func (c *Ctx) formed(body []byte) []byte {
	switch {
	case c.csv:
		rows, ok := c.route.Rows.AppendCSV(make([]byte, 0, len(body)), body)
		if !ok {
			panic("BUG: edge: the rows of " + c.route.Path + " are no list of objects")
		}
		return rows
	case c.DecimalsText:
		return AppendQuotedDecimals(make([]byte, 0, len(body)+len(body)/4), body)
	}
	return body
}

// mediaTypeOut returns the media type of the answer.
func (c *Ctx) mediaTypeOut() []byte {
	if c.csv {
		return valCSV
	}
	return ValJSON
}

// param is one query parameter; both slices alias the request.
type param struct{ key, value []byte }

// maxParams is the largest number of query parameters that are read. The limit on the
// target's length bounds them anyway.
const maxParams = 1024

// parseQuery reads the query: it scans the raw bytes, or uses fasthttp's decoder when the query
// is encoded.
func (c *Ctx) parseQuery() {
	raw := c.URI().QueryString()
	if len(raw) == 0 {
		return
	}
	if bytes.IndexByte(raw, '%') >= 0 || bytes.IndexByte(raw, '+') >= 0 {
		c.decodeQuery()
		return
	}
	for len(raw) > 0 && len(c.params) < maxParams {
		var pair []byte
		if i := bytes.IndexByte(raw, '&'); i >= 0 {
			pair, raw = raw[:i], raw[i+1:]
		} else {
			pair, raw = raw, nil
		}
		if len(pair) == 0 {
			continue
		}
		if i := bytes.IndexByte(pair, '='); i >= 0 {
			c.params = append(c.params, param{pair[:i], pair[i+1:]})
		} else {
			c.params = append(c.params, param{pair, nil})
		}
	}
}

func (c *Ctx) decodeQuery() {
	var args *fasthttp.Args = c.QueryArgs()
	for key, value := range args.All() {
		if len(c.params) == maxParams {
			return
		}
		c.params = append(c.params, param{key, value})
	}
}

// query returns the value of a parameter of the query; an empty value counts as missing. It refuses a parameter that is
// given twice (docs/contract/errors.md#parameters).
func (c *Ctx) query(name string) ([]byte, *refuse.Refusal) {
	var value []byte
	found := false
	for i := range c.params {
		if string(c.params[i].key) != name {
			continue
		}
		if found {
			return nil, refuse.Param(name, "The parameter %s must not be given more than once.", name)
		}
		value, found = c.params[i].value, true
	}
	return value, nil
}

// parseInteger parses -?[0-9]{1,19}; it clamps values beyond int64.
func parseInteger(raw []byte) (int64, bool) {
	digits, neg := raw, false
	if len(digits) > 0 && digits[0] == '-' {
		digits, neg = digits[1:], true
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var u uint64
	for _, d := range digits {
		if d-'0' > 9 {
			return 0, false
		}
		u = u*10 + uint64(d-'0')
	}
	u = min(u, 1<<63-1)
	if neg {
		return -int64(u), true
	}
	return int64(u), true
}

// DealUnitNs is the precision of dealDateUtc; date parameters compare with the printed date.
const DealUnitNs = 100

// Moment is a date of a request. It holds seconds and nanoseconds, because the years that a
// request can carry (0 to 9999) exceed the range of int64 nanoseconds.
type Moment struct{ Sec, Nsec int64 }

// After reports whether m is later than o.
func (m Moment) After(o Moment) bool { return m.Sec > o.Sec || m.Sec == o.Sec && m.Nsec > o.Nsec }

// The range of Unix seconds that fit into int64 nanoseconds, with room for rounding up.
const (
	MinSec = -9_223_372_035
	MaxSec = 9_223_372_035
)

// FloorNs returns the latest multiple of unit ns that is not after m, or the nearest second
// that fits into int64.
func (m Moment) FloorNs(unit int64) int64 {
	if m.Sec < MinSec {
		return MinSec * 1_000_000_000
	}
	if m.Sec > MaxSec {
		return MaxSec * 1_000_000_000
	}
	return m.Sec*1_000_000_000 + m.Nsec/unit*unit
}

// CeilNs returns the earliest multiple of unit ns that is not before m.
func (m Moment) CeilNs(unit int64) int64 {
	ns := m.FloorNs(unit)
	if m.Nsec%unit != 0 && m.Sec >= MinSec && m.Sec <= MaxSec {
		ns += unit
	}
	return ns
}

func parseDate(s []byte) (Moment, bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return Moment{}, false
	}
	year, ok1 := number(s[:4])
	month, ok2 := number(s[5:7])
	day, ok3 := number(s[8:10])
	if !ok1 || !ok2 || !ok3 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return Moment{}, false
	}
	var h, m, sec, nsec int
	if s = s[10:]; len(s) > 0 {
		var ok bool
		if h, m, sec, nsec, ok = parseClock(s); !ok {
			return Moment{}, false
		}
	}
	t := time.Date(year, time.Month(month), day, h, m, sec, 0, time.UTC)
	return Moment{t.Unix(), int64(nsec)}, true
}

// parseClock reads THH:MM:SS[.fraction][Z].
func parseClock(s []byte) (h, m, sec, nsec int, ok bool) {
	if len(s) < 9 || s[0] != 'T' || s[3] != ':' || s[6] != ':' {
		return 0, 0, 0, 0, false
	}
	h, ok1 := number(s[1:3])
	m, ok2 := number(s[4:6])
	sec, ok3 := number(s[7:9])
	if !ok1 || !ok2 || !ok3 || h > 23 || m > 59 || sec > 59 {
		return 0, 0, 0, 0, false
	}
	s = s[9:]
	if len(s) > 0 && s[len(s)-1] == 'Z' {
		s = s[:len(s)-1]
	}
	if len(s) == 0 {
		return h, m, sec, 0, true
	}
	digits := s[1:]
	if s[0] != '.' || len(digits) == 0 || len(digits) > 9 {
		return 0, 0, 0, 0, false
	}
	nsec, ok = number(digits)
	for range 9 - len(digits) {
		nsec *= 10
	}
	return h, m, sec, nsec, ok
}

// number parses decimal digits; the caller limits their number.
func number(s []byte) (int, bool) {
	n := 0
	for _, c := range s {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// ParseDateTime parses a date like parseDate and also accepts an offset at the end: +02:00.
func ParseDateTime(s []byte) (Moment, bool) {
	const offsetBytes = len("+00:00")
	at := len(s) - offsetBytes
	if at < len("2006-01-02T15:04:05") || s[at+3] != ':' || s[at] != '+' && s[at] != '-' && s[at] != ' ' {
		return parseDate(s)
	}
	hours, ok1 := number(s[at+1 : at+3])
	minutes, ok2 := number(s[at+4:])
	if !ok1 || !ok2 || hours > 23 || minutes > 59 || s[at-1] == 'Z' {
		return Moment{}, false
	}
	m, ok := parseDate(s[:at])
	offset := int64(hours*3600 + minutes*60)
	if s[at] == '-' {
		offset = -offset
	}
	m.Sec -= offset // a plus sign that was not percent-encoded arrives as a space
	return m, ok
}
