package public

import (
	"strings"
	"sync/atomic"

	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// Documents over more than sharedFloorPairs pairs are rendered at most once per sharedFloorNs: until then a
// reader receives the previous rendering, although the market has changed
// (docs/internals/performance.md#publication-10). Smaller documents are always current.
const (
	sharedFloorPairs = 100
	sharedFloorNs    = 5_000_000
)

// docVersion identifies the inputs of a document over all pairs: equal versions, equal bodies.
type docVersion [4]uint64

// sharedDoc is a document over all pairs. The first reader that finds it outdated renders it and swaps it in,
// unless another reader stored a newer one. No reader waits for another; two may render at the same time.
type sharedDoc struct {
	cur     atomic.Pointer[rendering]
	version func(r *marketdata.Root) docVersion
	// render returns the document as of root r.
	render func(r *marketdata.Root, nowNs int64) *marketdata.Doc
	// hasFloor enables the minimum of 5 ms between two renderings of a large document.
	hasFloor bool
}

// rendering holds a rendered document, its root and its time (machine ns). Immutable.
type rendering struct {
	root    *marketdata.Root
	version docVersion
	atNs    int64
	doc     *marketdata.Doc
}

// get returns the document as of root or newer. A large document may be older, by less than the floor.
func (d *sharedDoc) get(root *marketdata.Root, machineNs func() int64) *marketdata.Doc {
	made := d.cur.Load()
	if made != nil && made.version == d.version(root) {
		return made.doc
	}
	now := machineNs()
	if made != nil && d.hasFloor && root.Len() > sharedFloorPairs && now-made.atNs < sharedFloorNs && now >= made.atNs {
		return made.doc
	}
	// The version first: what is rendered is no older.
	fresh := &rendering{root: root, version: d.version(root), atNs: now}
	fresh.doc = d.render(root, now)
	for {
		made = d.cur.Load()
		if made != nil && made.root.Gen > root.Gen {
			return made.doc
		}
		if made != nil && made.version == fresh.version {
			return made.doc
		}
		if d.cur.CompareAndSwap(made, fresh) {
			return fresh.doc
		}
	}
}

// Holds reports whether doc is the newest rendering.
func (d *sharedDoc) Holds(doc *marketdata.Doc) bool {
	made := d.cur.Load()
	return made != nil && made.doc == doc
}

type sharedDocs struct {
	aggTickers, aggPairs, aggAsset, summary sharedDoc
	currencies, pairs, commissions          sharedDoc
	geckoPairs, geckoTickers                sharedDoc
	capTickers                              sharedDoc
}

// tickersVersion returns the version of documents over every pair's ticker.
func tickersVersion(r *marketdata.Root) docVersion {
	return docVersion{r.TickersVersion, r.TickersSeqSum, r.PairsVersion}
}

// configVersion returns the version of documents over pairs and assets.
func configVersion(r *marketdata.Root) docVersion {
	return docVersion{r.PairsVersion, uint64(r.ControlSeq)}
}

// sendShared sends a document over all pairs.
func (m *Market) sendShared(c *edge.Ctx, d *sharedDoc) *refuse.Refusal {
	return c.SendDoc(d.get(m.board.Load(), c.MachineNs), edge.DocPlace{Shared: d})
}

// setConfig makes d a document over pairs and assets, which render appends.
func (d *sharedDoc) setConfig(render func(dst []byte, r *marketdata.Root) []byte) {
	d.version = configVersion
	d.render = func(r *marketdata.Root, nowNs int64) *marketdata.Doc {
		return edge.NewDoc(render(nil, r), edge.NoSeq, nowNs)
	}
}

// setTickers makes d a document over every pair's ticker and the assets, rendered as a whole.
func (d *sharedDoc) setTickers(render func(dst []byte, r *marketdata.Root) []byte) {
	d.hasFloor = true
	d.version = func(r *marketdata.Root) docVersion {
		return docVersion{r.TickersVersion, r.TickersSeqSum, r.PairsVersion, uint64(r.ControlSeq)}
	}
	d.render = func(r *marketdata.Root, nowNs int64) *marketdata.Doc {
		return edge.NewDoc(render(nil, r), r.TickersSeqSum, nowNs)
	}
}

// setQuoted makes d the document of with its decimals as strings.
func (d *sharedDoc) setQuoted(of *sharedDoc) {
	d.version, d.hasFloor = of.version, of.hasFloor
	d.render = func(r *marketdata.Root, nowNs int64) *marketdata.Doc {
		body := of.render(r, nowNs).Body
		return edge.NewDoc(edge.AppendQuotedDecimals(nil, body), r.TickersSeqSum, nowNs)
	}
}

// setRows makes d a document over the tickers of all pairs. row returns a pair's row, cached with the view,
// with the row's hash in Seq. Empty rows are left out.
func (d *sharedDoc) setRows(row func(v *marketdata.View) *marketdata.Doc) {
	d.version, d.hasFloor = tickersVersion, true
	d.render = func(r *marketdata.Root, nowNs int64) *marketdata.Doc {
		body, tag := joinRows(r, row)
		return &marketdata.Doc{
			Body: body, ETag: string(edge.AppendTag(nil, tag)), Seq: r.TickersSeqSum, RenderedNs: nowNs,
		}
	}
}

// joinRows renders a body from the rows of all pairs. tag is its hash, made from the hashes of its rows.
func joinRows(r *marketdata.Root, row func(v *marketdata.View) *marketdata.Doc) (body []byte, tag uint64) {
	sorted := r.Sorted()
	rows := make([]*marketdata.Doc, len(sorted))
	size := len("[]")
	tag = edge.TagSeed0
	for i, id := range sorted {
		one := row(r.View(id))
		rows[i] = one
		if n := len(one.Body); n > 0 {
			size += n + len(",")
			tag = edge.JoinTag(tag, one.Seq)
		}
	}
	var text strings.Builder // unlike make, it does not zero the memory first
	text.Grow(size)
	between := byte('[')
	for _, one := range rows {
		if len(one.Body) > 0 {
			text.WriteByte(between)
			text.Write(one.Body)
			between = ','
		}
	}
	if between == '[' {
		return []byte("[]"), tag
	}
	text.WriteByte(']')
	return edge.StringBytes(text.String()), tag
}
