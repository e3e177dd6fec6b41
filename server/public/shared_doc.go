package public

import (
	"strings"
	"sync/atomic"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/edge"
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
	render func(r *marketdata.Root, nowNs int64) *doc.Doc
	// hasFloor enables the minimum of 5 ms between two renderings of a large document.
	hasFloor bool
}

// rendering holds a rendered document, its root and its time (machine ns). Immutable.
type rendering struct {
	root    *marketdata.Root
	version docVersion
	atNs    int64
	doc     *doc.Doc
}

// get returns the document as of root or newer. A large document may be older, by less than the floor.
func (d *sharedDoc) get(root *marketdata.Root, machineNs func() int64) *doc.Doc {
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

// Holds reports whether one is the newest rendering. It implements doc.Keeper.
func (d *sharedDoc) Holds(_ uint64, one *doc.Doc) bool {
	made := d.cur.Load()
	return made != nil && made.doc == one
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
	return c.SendDoc(d.get(m.board.Load(), c.MachineNs), doc.Place{In: d})
}

// setConfig makes d a document over pairs and assets, which render appends.
func (d *sharedDoc) setConfig(render func(dst []byte, r *marketdata.Root) []byte) {
	d.version = configVersion
	d.render = func(r *marketdata.Root, nowNs int64) *doc.Doc {
		return doc.New(render(nil, r), doc.NoSeq, nowNs)
	}
}

// setTickers makes d a document over every pair's ticker and the assets, rendered as a whole.
func (d *sharedDoc) setTickers(render func(dst []byte, r *marketdata.Root) []byte) {
	d.hasFloor = true
	d.version = func(r *marketdata.Root) docVersion {
		return docVersion{r.TickersVersion, r.TickersSeqSum, r.PairsVersion, uint64(r.ControlSeq)}
	}
	d.render = func(r *marketdata.Root, nowNs int64) *doc.Doc {
		return doc.New(render(nil, r), r.TickersSeqSum, nowNs)
	}
}

// setQuoted makes d the document of with its decimals as strings.
func (d *sharedDoc) setQuoted(of *sharedDoc) {
	d.version, d.hasFloor = of.version, of.hasFloor
	d.render = func(r *marketdata.Root, nowNs int64) *doc.Doc {
		body := of.render(r, nowNs).Body
		return doc.New(edge.AppendQuotedDecimals(nil, body), r.TickersSeqSum, nowNs)
	}
}

// pairRow is a pair's row of a document over all pairs. Frozen.
type pairRow struct {
	text []byte // empty: the document leaves the pair out
	hash uint64
}

// pairRowOf returns a pair's row, which is kept with the view; it renders the row if necessary.
func pairRowOf(v *marketdata.View, slot marketdata.Slot, render func(dst []byte, v *marketdata.View) []byte) *pairRow {
	if one, _ := v.Kept(slot).(*pairRow); one != nil {
		return one
	}
	text := render(make([]byte, 0, 512), v)
	return v.Keep(slot, &pairRow{text: text, hash: doc.Hash(text)}).(*pairRow)
}

// setRows makes d a document over the tickers of all pairs. Each view keeps its row in a slot.
func (d *sharedDoc) setRows(slot marketdata.Slot, render func(dst []byte, v *marketdata.View) []byte) {
	d.version, d.hasFloor = tickersVersion, true
	d.render = func(r *marketdata.Root, nowNs int64) *doc.Doc {
		body, hash := joinRows(r, slot, render)
		return doc.Hashed(body, hash, r.TickersSeqSum, nowNs)
	}
}

// joinRows renders a body from the rows of all pairs. hash is made from the hashes of its rows.
func joinRows(r *marketdata.Root, slot marketdata.Slot, render func(dst []byte, v *marketdata.View) []byte,
) (body []byte, hash uint64) {
	sorted := r.Sorted()
	rows := make([]*pairRow, len(sorted))
	size := len("[]")
	hash = doc.Seed
	for i, id := range sorted {
		one := pairRowOf(r.View(id), slot, render)
		rows[i] = one
		if n := len(one.text); n > 0 {
			size += n + len(",")
			hash = doc.Join(hash, one.hash)
		}
	}
	var text strings.Builder // unlike make, it does not zero the memory first
	text.Grow(size)
	between := byte('[')
	for _, one := range rows {
		if len(one.text) > 0 {
			text.WriteByte(between)
			text.Write(one.text)
			between = ','
		}
	}
	if between == '[' {
		return []byte("[]"), hash
	}
	text.WriteByte(']')
	return edge.StringBytes(text.String()), hash
}
