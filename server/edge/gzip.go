package edge

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/marketdata"
)

const (
	// gzipMin is the smallest compressed body: below, compression costs more than it saves.
	gzipMin = 1 << 10
	// gzipFloor is the age at which a document is compressed, so that a document that changes
	// all the time never is.
	gzipFloor = 100 * time.Millisecond
	// gzipWaiting limits the documents that wait for gzipFloor; each stays in memory meanwhile.
	gzipWaiting = 64
	gzipLevel   = 4
)

// gzipMaker compresses cached documents outside the request path. The first request that
// accepts gzip orders the compression, which runs once the document is gzipFloor old, if it is
// still the newest. Until then every client gets the identity encoding.
type gzipMaker struct {
	machineNs func() int64
	waiting   atomic.Int64
	made      atomic.Uint64
	writers   sync.Pool
}

// gzipOrdered marks a Doc whose compression is ordered.
var gzipOrdered = new([]byte)

// DocPlace is the place where a document is cached, to check whether it is still there: the
// view of a pair, or a document over all pairs.
type DocPlace struct {
	Board  *marketdata.Board
	Pair   engine.PairID
	Kind   marketdata.DocKind
	Shared interface{ Holds(d *marketdata.Doc) bool }
}

func (p DocPlace) holds(d *marketdata.Doc) bool {
	if p.Shared != nil {
		return p.Shared.Holds(d)
	}
	v := p.Board.Load().View(p.Pair)
	return v != nil && v.Doc(p.Kind) == d
}

// get returns the gzip of d, or orders it and returns nil.
func (g *gzipMaker) get(d *marketdata.Doc, at DocPlace) []byte {
	switch p := d.Gzip.Load(); p {
	case nil:
		g.order(d, at)
		return nil
	case gzipOrdered:
		return nil
	default:
		return *p
	}
}

func (g *gzipMaker) order(d *marketdata.Doc, at DocPlace) {
	if g.waiting.Add(1) > gzipWaiting || !d.Gzip.CompareAndSwap(nil, gzipOrdered) {
		g.waiting.Add(-1)
		return
	}
	wait := gzipFloor - time.Duration(g.machineNs()-d.RenderedNs)
	time.AfterFunc(max(wait, 0), func() {
		defer g.waiting.Add(-1)
		if at.holds(d) {
			g.compress(d)
		}
	})
}

func (g *gzipMaker) compress(d *marketdata.Doc) {
	out := bytes.NewBuffer(make([]byte, 0, d.Size()/4))
	w, _ := g.writers.Get().(*gzip.Writer)
	if w == nil {
		w, _ = gzip.NewWriterLevel(out, gzipLevel) // the level is a constant within range
	} else {
		w.Reset(out)
	}
	// Writes into memory cannot fail.
	_, _ = w.Write(d.Bytes())
	_ = w.Close()
	g.writers.Put(w)
	b := out.Bytes()
	d.Gzip.Store(&b)
	g.made.Add(1)
}

// wantsGzip reports whether Accept-Encoding names gzip, and not with q=0.
func wantsGzip(ctx *fasthttp.RequestCtx) bool {
	list := ctx.Request.Header.PeekCanonical(ReqAcceptEncoding)
	for len(list) > 0 {
		var one []byte
		if i := bytes.IndexByte(list, ','); i >= 0 {
			one, list = list[:i], list[i+1:]
		} else {
			one, list = list, nil
		}
		name, q, _ := bytes.Cut(one, []byte(";"))
		if bytes.EqualFold(bytes.TrimSpace(name), valGzip) {
			return !zeroQuality(q)
		}
	}
	return false
}

// zeroQuality reports whether q is q=0, q=0.0 and so on.
func zeroQuality(q []byte) bool {
	q = bytes.TrimSpace(q)
	if len(q) < 3 || q[0]|0x20 != 'q' || q[1] != '=' {
		return false
	}
	return len(bytes.Trim(q[2:], "0.")) == 0
}
