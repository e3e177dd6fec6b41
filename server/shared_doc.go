package server

import (
	"strings"
	"sync/atomic"

	"tickhive/marketdata"
)

// The floor of documents over all pairs (performance.md, Publication 10): none while they
// are small, else how old one may be served although the market has moved.
const (
	sharedFloorPairs = 100
	sharedFloorNs    = 5_000_000
)

// docVersion says what a document over all pairs was made of: equal versions, equal bodies.
type docVersion [3]uint64

// sharedDoc is a document over all pairs, rendered by the first reader that finds it old
// and swapped in unless a newer one is there. Nobody waits; two readers may render at once.
type sharedDoc struct {
	cur     atomic.Pointer[madeDoc]
	version func(r *marketdata.Root) docVersion
	render  func(r *marketdata.Root, nowNs int64) *marketdata.Doc
	// floors: large documents are made at most every 5 ms.
	floors bool
}

// madeDoc is a rendering: of which root, when (machine ns). Frozen.
type madeDoc struct {
	root    *marketdata.Root
	version docVersion
	atNs    int64
	doc     *marketdata.Doc
}

// get is the document as of root, or one made less than the floor ago.
func (d *sharedDoc) get(root *marketdata.Root, machineNs func() int64) *marketdata.Doc {
	made := d.cur.Load()
	if made != nil && (made.root == root || made.version == d.version(root)) {
		return made.doc
	}
	now := machineNs()
	if made != nil && d.floors && root.Len() > sharedFloorPairs && now-made.atNs < sharedFloorNs && now >= made.atNs {
		return made.doc
	}
	fresh := &madeDoc{root: root, version: d.version(root), atNs: now, doc: d.render(root, now)}
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

// sharedDocs are all documents over all pairs.
type sharedDocs struct {
	aggTickers, aggPairs, aggAsset, summary sharedDoc
	currencies, pairs, commissions          sharedDoc
}

// tickersVersion is the version of documents made of every pair's ticker.
func tickersVersion(r *marketdata.Root) docVersion {
	return docVersion{r.TickersVersion, r.TickersSeqSum, r.PairsVersion}
}

// configVersion is the version of documents made of what is configured.
func configVersion(r *marketdata.Root) docVersion {
	return docVersion{r.PairsVersion, uint64(r.ControlSeq)}
}

// sendShared answers with a document over all pairs.
func (s *Server) sendShared(c *Ctx, d *sharedDoc) *Error {
	return s.sendDoc(c, d.get(s.board.Load(), s.opt.MachineNs), docPlace{shared: d})
}

// ofConfig makes d a document of what is configured, rendered by render.
func (d *sharedDoc) ofConfig(render func(dst []byte, r *marketdata.Root) []byte) {
	d.version = configVersion
	d.render = func(r *marketdata.Root, nowNs int64) *marketdata.Doc {
		return newDoc(render(nil, r), noSeq, nowNs)
	}
}

// ofRows makes d a document over all pairs' tickers that is joined from rows kept with the
// views; a row's tag stands in its Seq. Empty rows are left out.
func (d *sharedDoc) ofRows(row func(v *marketdata.View) *marketdata.Doc) {
	d.version, d.floors = tickersVersion, true
	d.render = func(r *marketdata.Root, nowNs int64) *marketdata.Doc {
		size, tag := 2, uint64(tagSeed0)
		rows := make([]*marketdata.Doc, 0, r.Len())
		for _, id := range r.Sorted() {
			if one := row(r.View(id)); len(one.Body) > 0 {
				rows = append(rows, one)
				size += len(one.Body) + 1
				tag = joinTag(tag, one.Seq)
			}
		}
		// A Builder does not clear what it is about to fill.
		var text strings.Builder
		text.Grow(size)
		text.WriteByte('[')
		for i, one := range rows {
			if i > 0 {
				text.WriteByte(',')
			}
			text.Write(one.Body)
		}
		text.WriteByte(']')
		return &marketdata.Doc{
			Body: stringBytes(text.String()), ETag: string(appendTag(nil, tag)), Seq: r.TickersSeqSum, MadeNs: nowNs,
		}
	}
}
