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
	// gzipMinBytes is the smallest compressed body: below, compression costs more than it saves.
	gzipMinBytes = 1 << 10
	// gzipMinAge is the age at which a document is compressed. A document that changes more often is never
	// compressed.
	gzipMinAge = 100 * time.Millisecond
	// maxGzipWaiting limits the documents that wait for gzipMinAge; each stays in memory meanwhile.
	maxGzipWaiting = 64
	gzipLevel      = 4
)

// gzipMaker compresses answers. It compresses cached documents outside the request path: the first request that accepts
// gzip schedules the compression, which runs when the document is gzipMinAge old, if the document is then still the
// newest. Until then every client gets the uncompressed body. It compresses bodies made for one request at once.
type gzipMaker struct {
	machineNs func() int64
	waiting   atomic.Int64
	made      atomic.Uint64
	writers   sync.Pool
}

// gzipScheduled marks a Doc whose compression is scheduled.
var gzipScheduled = new([]byte)

// DocPlace is the place where a document is cached: the view of a pair, or a document over all pairs. The
// compression uses it to check whether the document is still the newest.
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

// get returns the gzip encoding of d. If there is none yet, it schedules the compression and returns nil.
func (g *gzipMaker) get(d *marketdata.Doc, at DocPlace) []byte {
	switch p := d.Gzip.Load(); p {
	case nil:
		g.schedule(d, at)
		return nil
	case gzipScheduled:
		return nil
	default:
		return *p
	}
}

func (g *gzipMaker) schedule(d *marketdata.Doc, at DocPlace) {
	if g.waiting.Add(1) > maxGzipWaiting || !d.Gzip.CompareAndSwap(nil, gzipScheduled) {
		g.waiting.Add(-1)
		return
	}
	wait := gzipMinAge - time.Duration(g.machineNs()-d.RenderedNs)
	time.AfterFunc(max(wait, 0), func() {
		defer g.waiting.Add(-1)
		if at.holds(d) {
			g.compress(d)
		}
	})
}

func (g *gzipMaker) compress(d *marketdata.Doc) {
	b := g.pack(d.Bytes())
	d.Gzip.Store(&b)
	g.made.Add(1)
}

// pack returns body in gzip.
func (g *gzipMaker) pack(body []byte) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(body)/4))
	w, _ := g.writers.Get().(*gzip.Writer)
	if w == nil {
		w, _ = gzip.NewWriterLevel(out, gzipLevel) // never fails, because the level is a valid constant
	} else {
		w.Reset(out)
	}
	// Writing into memory never fails.
	_, _ = w.Write(body)
	_ = w.Close()
	g.writers.Put(w)
	return out.Bytes()
}

// Coding returns the first of the content codings, best first, that the request accepts, or "". It
// sets Vary.
func (c *Ctx) Coding(codings ...string) string {
	c.Response.Header.SetCanonical(hdrVary, valVary)
	for _, coding := range codings {
		if accepts(c.RequestCtx, []byte(coding)) {
			return coding
		}
	}
	return ""
}

// accepts reports whether Accept-Encoding names this content coding, and not with q=0. x-gzip is gzip (RFC 9110
// 8.4.1.3).
func accepts(ctx *fasthttp.RequestCtx, coding []byte) bool {
	list := ctx.Request.Header.PeekCanonical(ReqAcceptEncoding)
	for len(list) > 0 {
		var one []byte
		if i := bytes.IndexByte(list, ','); i >= 0 {
			one, list = list[:i], list[i+1:]
		} else {
			one, list = list, nil
		}
		name, q, _ := bytes.Cut(one, []byte(";"))
		if name = bytes.TrimSpace(name); bytes.EqualFold(name, valXGzip) {
			name = valGzip
		}
		if bytes.EqualFold(name, coding) {
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
