package edge

import (
	"bytes"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/refuse"
)

// maxHeldRequests bounds the requests that fault rules hold back at a time; each keeps a goroutine and a connection.
const maxHeldRequests = 4096

// maxKeptBody is the largest body that a fault rule keeps or changes.
const maxKeptBody = 8 << 20

// outcome holds the faults that happen to a request after its handler has run.
type outcome struct {
	cut, lost, keep, slow, broken, typed *fault.Active
	edits                                []*fault.Active
	brokenBy                             fault.Decision

	planned  []*fault.Active // the rules that have decided on a fault which has not happened yet
	happened bool            // a fault has happened to the answer
}

// faultyRequest is a request to which fault rules may apply.
type faultyRequest struct{ *Ctx }

// of returns the place of an action that happens once to an answer; nil for other actions.
func (o *outcome) of(a fault.Action) **fault.Active {
	switch a {
	case fault.Truncate:
		return &o.cut
	case fault.LostAck:
		return &o.lost
	case fault.Stale:
		return &o.keep
	case fault.Slow:
		return &o.slow
	case fault.BrokenJSON:
		return &o.broken
	case fault.ContentType:
		return &o.typed
	default:
		return nil
	}
}

// plan notes that a rule has decided on a fault which happens to the answer.
func (o *outcome) plan(a *fault.Active) {
	*o.of(a.Action) = a
	o.planned = append(o.planned, a)
}

// settle takes a rule out of those whose fault has not happened yet. It reports whether it was one of them.
func (o *outcome) settle(a *fault.Active) bool {
	i := slices.Index(o.planned, a)
	if i >= 0 {
		o.planned = slices.Delete(o.planned, i, i+1)
	}
	return i >= 0
}

// skip records that an answer is too long for a rule, or that too many are held back. The rule may be nil.
func (o *outcome) skip(a *fault.Active) {
	if o.settle(a) {
		a.Skip()
	}
}

// spare takes back the decisions on faults that have not happened.
func (o *outcome) spare() {
	for _, a := range o.planned {
		a.Undo()
	}
}

// handleFaulty calls the handler of a request and applies the fault rules that concern it, in the order in which
// they were added. It runs after every check, so a fault happens only to a request that would have been answered.
func (e *Listener) handleFaulty(ctx *Ctx, rules []*fault.Active) *refuse.Refusal {
	c := faultyRequest{ctx}
	m := c.match()
	var after outcome
	defer after.spare()
	for _, a := range rules {
		once := after.of(a.Action)
		if !concerns(a.Action, c.route) || once != nil && *once != nil || c.isTarget(a) {
			continue
		}
		if a.Action.Edits() {
			if refused := c.planEdit(a, m, &after); refused != nil {
				c.nameFault(a)
				return refused
			}
			continue
		}
		d := a.Decide(&m)
		if !d.Happens {
			continue
		}
		switch a.Action {
		case fault.Latency:
			if !e.holdBack(a, a.DelayOf(d)) {
				continue
			}
		case fault.Status, fault.RateLimit:
			c.nameFault(a)
			return c.faultyAnswer(a)
		case fault.Empty, fault.HTML, fault.Redirect:
			c.nameFault(a)
			c.replaceAnswer(a)
			return nil
		case fault.Close:
			c.dropConnection()
			return nil
		case fault.HalfOpen:
			if !e.holdBack(a, a.Delay) {
				continue
			}
			c.dropConnection()
			return nil
		case fault.Stale:
			if c.repeat(a) {
				c.nameFault(a)
				return nil
			}
			after.plan(a)
			continue
		case fault.Skew:
			c.skewNs = int64(a.Skew)
		case fault.BrokenJSON:
			after.brokenBy = d
			fallthrough
		default: // happens to the answer
			after.plan(a)
			continue
		}
		c.nameFault(a)
	}
	return c.handle(&after, m)
}

// planEdit adds a rule that edits documents to those that decide once the document is known. It returns the refusal of
// a request of one pair that the rule leaves out.
func (c faultyRequest) planEdit(a *fault.Active, m fault.Match, after *outcome) *refuse.Refusal {
	m.Names = func(string) bool { return true } // the rule's pair selects entries of documents
	if !a.Selects(&m) {
		return nil
	}
	if a.Action == fault.Missing {
		if refused := c.missing(a, m); refused != nil {
			return refused
		}
	}
	after.edits = append(after.edits, a)
	return nil
}

// handle calls the handler and applies the faults that happen to its answer. Without a fault the answer is as without
// rules: a client that has it already gets a 304.
func (c faultyRequest) handle(after *outcome, m fault.Match) *refuse.Refusal {
	if after.keep != nil {
		after.edits = nil // what is kept for later is the answer of the exchange
	}
	tags := bytes.Clone(c.Request.Header.PeekCanonical(reqIfNoneMatch))
	body := len(after.edits) > 0 || after.cut != nil || after.slow != nil || after.broken != nil || after.typed != nil
	if body { // these faults happen to a body, also when the client has it
		c.Request.Header.DelBytes(reqIfNoneMatch)
	}
	err := c.route.Handle(c.Ctx)
	if len(tags) > 0 {
		c.Request.Header.SetCanonical(reqIfNoneMatch, tags)
	}
	if err != nil || c.Hijacked() {
		return err
	}
	c.edit(after, m)
	if err = c.apply(after); err != nil || c.Hijacked() || !body || after.happened {
		return err
	}
	if tag := string(c.Response.Header.PeekCanonical(HdrETag)); tag != "" && NotModified(c.RequestCtx, tag) {
		c.NotModified()
	}
	return nil
}

// CheckFault returns an error when no route of a listener that is on can have the fault of a rule.
func (s *Server) CheckFault(r *fault.Rule) error {
	if r.Stream() {
		return nil
	}
	_, all := s.listeners()
	for _, l := range all {
		for _, route := range l.Table {
			if r.SelectsRoute(l.Name, route.Method, route.Path) && concerns(r.Action, route) {
				return nil
			}
		}
	}
	return fmt.Errorf("%s: no listener that is on has a route that the rule selects and to which this can happen; "+
		"/swagger lists the routes, with {pair} where one stands in the path; the listener aggregator is on with "+
		"aggregator.listen alone", r.Action)
}

// concerns reports whether an action can happen to requests of a route.
func concerns(a fault.Action, r *Route) bool {
	switch a {
	case fault.Stale:
		return r.Method == fasthttp.MethodGet && !r.Time
	case fault.LostAck:
		return r.Method != fasthttp.MethodGet
	case fault.Skew:
		return r.Time
	case fault.Missing, fault.Null, fault.Zero, fault.Crossed, fault.Doubled:
		return r.Method == fasthttp.MethodGet && r.Public
	default:
		return true
	}
}

// happens names a fault that happens to the answer.
func (c faultyRequest) happens(o *outcome, a *fault.Active) {
	o.settle(a)
	o.happened = true
	c.nameFault(a)
}

// apply applies the faults that happen to an answer.
func (c faultyRequest) apply(o *outcome) *refuse.Refusal {
	if c.Response.StatusCode() != fasthttp.StatusOK {
		return nil
	}
	if o.lost != nil {
		c.happens(o, o.lost)
		if o.lost.Status == 0 {
			c.dropConnection()
			return nil
		}
		c.Response.ResetBody()
		return c.faultyAnswer(o.lost)
	}
	if o.keep != nil && !c.keepAnswer(o.keep) {
		o.skip(o.keep)
	}
	if o.broken != nil {
		c.breakJSON(o)
	}
	if o.typed != nil {
		c.Response.Header.SetContentType(o.typed.Type)
		c.Response.Header.SetCanonical(HdrCacheControl, ValNoStore)
		c.happens(o, o.typed)
	}
	c.spoilBody(o)
	return nil
}

// match describes the request to the rules.
func (c faultyRequest) match() fault.Match {
	m := fault.Match{
		Listener: c.edge.Name, Method: c.route.Method, Route: c.route.Path, NowNs: c.edge.Clock.NowNs(),
		Names: c.namesPair,
	}
	if c.Principal != nil {
		m.Key = c.Principal.PublicKey
	} else {
		m.Key = string(c.Request.Header.PeekCanonical(reqPublicKey)) +
			string(c.Request.Header.PeekCanonical(reqBinanceKey))
	}
	return m
}

// namesPair reports whether the target or the body of the request contains a pair's code, also without its
// separator or with / in its place.
func (c faultyRequest) namesPair(pair string) bool {
	for _, text := range [...][]byte{c.Request.Header.RequestURI(), c.Request.Body()} {
		for _, separator := range [...]string{"_", "", "/", "%2F"} {
			if bytes.Contains(text, []byte(strings.Replace(pair, "_", separator, 1))) {
				return true
			}
		}
	}
	return false
}

// nameFault adds the rule to the header X-Fault.
func (c faultyRequest) nameFault(a *fault.Active) {
	h := &c.Response.Header
	text := append([]byte(nil), h.PeekBytes(hdrFault)...)
	if len(text) > 0 {
		text = append(text, ", "...)
	}
	text = append(append(text, a.Action.String()...), "; rule="...)
	h.SetCanonical(hdrFault, strconv.AppendUint(text, a.ID, 10))
}

// faultCodes are the codes of error statuses that rules cause, as far as the program has one. Others are UNAVAILABLE
// from 500 on and INVALID_PARAM below.
var faultCodes = map[int]refuse.Code{
	fasthttp.StatusUnauthorized: refuse.Unauthorized, fasthttp.StatusForbidden: refuse.Forbidden,
	fasthttp.StatusNotFound: refuse.NotFound, fasthttp.StatusRequestTimeout: refuse.RequestTimeout,
	fasthttp.StatusConflict: refuse.Conflict, fasthttp.StatusTooManyRequests: refuse.RateLimit,
	fasthttp.StatusTeapot:              refuse.RateLimit,
	fasthttp.StatusInternalServerError: refuse.Internal, fasthttp.StatusGatewayTimeout: refuse.OutcomeUnknown,
}

// faultyAnswer returns the error that a rule answers.
func (c faultyRequest) faultyAnswer(a *fault.Active) *refuse.Refusal {
	status := a.Status
	if a.Action == fault.RateLimit {
		status = fasthttp.StatusTooManyRequests
	}
	code, known := faultCodes[status]
	if !known {
		code = refuse.InvalidParam
		if status >= fasthttp.StatusInternalServerError {
			code = refuse.Unavailable
		}
	}
	c.faultStatus = status
	r := refuse.New(code, "", "A fault rule answers this request; X-Fault names it.")
	if status == fasthttp.StatusTeapot {
		// programs for Binance read from this text when they may ask again
		r = refuse.New(code, "", "Way too much request weight used; IP banned until %d. "+
			"Please use WebSocket Streams for live updates to avoid bans.",
			c.edge.Clock.NowNs()/int64(time.Millisecond)+int64(a.RetryAfter)*1000)
	}
	return r.After(int64(a.RetryAfter))
}

// holdBack waits. It returns early when the rule is removed or the listener shuts down, and reports false when too
// many requests wait already.
func (e *Listener) holdBack(a *fault.Active, d time.Duration) bool {
	defer e.held.Add(-1)
	if e.held.Add(1) > maxHeldRequests {
		a.Skip()
		return false
	}
	e.wait(a, d)
	return true
}

// wait waits. It returns false early when the rule is removed or the listener shuts down.
func (e *Listener) wait(a *fault.Active, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.Ended:
	case <-e.closing:
	}
	return false
}

// dropConnection closes the connection without an answer.
func (c faultyRequest) dropConnection() {
	c.Response.Reset()
	c.HijackSetNoResponse(true)
	c.Hijack(func(net.Conn) {}) // fasthttp closes the connection when the function returns
}

// bodyHeaders are the headers that belong to a body, as sent.
var bodyHeaders = [][]byte{
	hdrEncoding, HdrETag, HdrCacheControl, hdrVary, hdrSeq, HdrTruncated, HdrNextStart, hdrNextCursor,
}

// keptUnder returns the name under which a rule keeps the answer of the request: keys and encodings differ.
func (c faultyRequest) keptUnder() string {
	key := ""
	if c.Principal != nil {
		key = c.Principal.PublicKey
	}
	return c.edge.Name + " " + key + " " + string(c.Request.Header.RequestURI()) + " " +
		string(c.Request.Header.PeekCanonical(ReqAcceptEncoding))
}

// repeat answers with the answer that a rule has kept. It reports false when there is none that is young enough.
func (c faultyRequest) repeat(a *fault.Active) bool {
	kept := a.Answers.Get(c.keptUnder(), time.Unix(0, c.MachineNs()), a.Age)
	if kept == nil {
		return false
	}
	for _, h := range kept.Headers {
		c.Response.Header.SetCanonical([]byte(h[0]), []byte(h[1]))
	}
	if tag := string(c.Response.Header.PeekCanonical(HdrETag)); tag != "" && NotModified(c.RequestCtx, tag) {
		c.NotModified()
		return true
	}
	c.Response.SetBodyRaw(kept.Body)
	return true
}

// keepAnswer keeps the answer for later requests. It reports false when a bound is reached.
func (c faultyRequest) keepAnswer(a *fault.Active) bool {
	body, ok := c.sentBody()
	if !ok {
		return false
	}
	kept := &fault.StaleAnswer{
		Body: bytes.Clone(body), At: time.Unix(0, c.MachineNs()),
		Headers: [][2]string{{"Content-Type", string(c.Response.Header.ContentType())}},
	}
	for _, name := range bodyHeaders {
		if v := c.Response.Header.PeekCanonical(name); len(v) > 0 {
			kept.Headers = append(kept.Headers, [2]string{string(name), string(v)})
		}
	}
	return a.Answers.Put(c.keptUnder(), kept)
}
