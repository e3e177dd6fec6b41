package edge

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/server/forward"
	"github.com/tickhive/tickhive/server/json"
)

const (
	// reachWithin bounds the wait of a replica for a seq.
	reachWithin = 250 * time.Millisecond
	// reachAhead is the distance to the seq of a replica that the writer cannot have run ahead: an hour of a busy pair.
	// A larger one is no seq that an answer has named, so the replica neither waits nor asks the writer.
	reachAhead = 10_000_000
)

// paramMinSeq is a parameter of every public route of one pair: the seq that the answer must reflect.
var paramMinSeq = Declare(json.Field{Name: "minSeq", Kind: json.KindInt64, Range: []int64{0}},
	func(raw []byte) (uint64, string) {
		seq, ok := parseSeq(raw)
		if !ok {
			return 0, fmt.Sprintf("must be an integer from 0 to %d.", int64(math.MaxInt64))
		}
		return seq, ""
	})

var hdrMinSeq = []byte("X-Min-Seq")

// AddMinSeq gives a route the parameter minSeq, if it is a public read of one pair. New calls it.
func (r *Route) AddMinSeq() {
	r.pair = r.Symbol
	for _, f := range r.Params {
		if f.Kind == json.KindPairCode && f.Required && r.Public && r.Method == fasthttp.MethodGet {
			r.pair, r.pairInPath = f.Name, strings.Contains(r.Path, "{"+f.Name+"}")
			r.Params = append(slices.Clip(r.Params), &paramMinSeq.spec)
			return
		}
	}
}

// minSeq returns the seq that the header X-Min-Seq or the parameter minSeq names.
func (c *Ctx) minSeq() (seq uint64, given bool, err *refuse.Refusal) {
	seq, given, err = paramMinSeq.read(c)
	if err != nil {
		return 0, false, err
	}
	if c.Request.Header.PeekCanonical(hdrMinSeq) == nil { // PeekAll allocates
		return seq, given, nil
	}
	lines := c.Request.Header.PeekAll(string(hdrMinSeq))
	u, ok := parseSeq(lines[0])
	if len(lines) > 1 || !ok || given && u != seq {
		return 0, false, refuse.Param(string(hdrMinSeq), "The header %s must be given once, as an integer from 0 to "+
			"%d, and equal to the parameter minSeq.", hdrMinSeq, int64(math.MaxInt64))
	}
	return u, true, nil
}

// parseSeq parses a seq. A larger one is refused, not clamped: the answer would name another seq than the client.
func parseSeq(raw []byte) (seq uint64, ok bool) {
	v, err := strconv.ParseUint(BytesKey(raw), 10, 63)
	return v, err == nil
}

// reach makes sure that the answer of c reflects the seq that the client asks for: a replica waits for it, and then
// forwards the request. done reports that the request has its answer.
func (e *Listener) reach(c *Ctx) (done bool, err *refuse.Refusal) {
	want, given, err := c.minSeq()
	if err != nil || !given || e.seqOf == nil {
		return err != nil, err
	}
	code, _ := c.UserValue(c.route.pair).(string)
	if !c.route.pairInPath {
		raw, err := c.query(c.route.pair)
		if err != nil {
			return true, err
		}
		code = BytesKey(raw)
		if c.route.Code != nil {
			code = c.route.Code(code)
		}
	}
	at, known := e.seqOf(code)
	switch {
	case at >= want:
		return false, nil
	case e.replica == nil && !known:
		return false, nil
	case e.replica != nil && want <= at+reachAhead:
		if e.waitFor(code, want) {
			return false, nil
		}
		if err := e.forwardRead(c); err == nil || err.Code != refuse.NotWriter {
			return true, err
		}
	}
	c.stale = true
	return true, refuse.New(refuse.Stale, "", "The pair %s is at seq %d here, and the request asks for %d.", code, at,
		want).After(1)
}

// forwardRead makes the writer's answer the answer of a read that a replica could give later. Such a read costs the
// writer a request, so it counts against the client's limit, also where the class of its route has none.
func (e *Listener) forwardRead(c *Ctx) *refuse.Refusal {
	if e.limiter != nil && !e.limiter.covers(c.route.Class) {
		if err := e.limiter.check(c); err != nil {
			return err
		}
	}
	err := e.forward(c)
	c.stale = err == nil && bytes.HasPrefix(c.Response.Body(), staleBody)
	return err
}

// staleBody is the beginning of the writer's answer to a read that asks for a seq that it does not have.
var staleBody = []byte(`{"code":"` + refuse.Stale + `"`)

// waitFor waits until the views of a replica have reached a seq. It returns false when they do not in time.
func (e *Listener) waitFor(code string, want uint64) bool {
	for late := e.MachineNs() + int64(reachWithin); ; {
		published := e.replica.Published()
		if at, _ := e.seqOf(code); at >= want {
			return true
		}
		if !step.Within(e.replica.Driver, e.MachineNs, time.Duration(late-e.MachineNs()), published, e.closing) {
			return false
		}
	}
}

// answerOnReplica forwards a request that only the writer can answer, and refuses a read of views that are too old.
// done reports that the request has its answer. Early routes answer in any case, but not on a listener for the writer
// alone.
func (e *Listener) answerOnReplica(c *Ctx) (done bool, err *refuse.Refusal) {
	if e.writerOnly {
		return true, e.replica.Forward.NotWriter()
	}
	signed := c.route.Auth == AuthRequired || c.route.Auth == AuthOptional &&
		c.Request.Header.PeekCanonical(reqPublicKey) != nil
	if signed || c.route.Method != fasthttp.MethodGet {
		return true, e.forward(c)
	}
	if c.route.Early {
		return false, nil
	}
	ms, err := e.replica.Read()
	c.Response.Header.SetCanonical(hdrLagMs, strconv.AppendInt(c.number[:0], ms, 10))
	return err != nil, err
}

// forward makes the writer's answer the answer of c.
func (e *Listener) forward(c *Ctx) *refuse.Refusal {
	return e.replica.Forward.Do(c.RequestCtx, c.ClientAddr(), c.id)
}

// takeClient takes the client's address from the header of a replica.
func (e *Listener) takeClient(c *Ctx) *refuse.Refusal {
	if e.peers == nil || len(c.Request.Header.PeekAll(forward.ClientHeader)) == 0 {
		return nil
	}
	addr, ok := forward.Client(e.peers, &c.Request, e.MachineNs())
	if !ok {
		return refuse.New(refuse.Forbidden, forward.ClientHeader, "Only a node of this cluster may name the client "+
			"of a request: its key (cluster.key_file) or its clock differs.")
	}
	c.client = addr.Unmap()
	return nil
}
