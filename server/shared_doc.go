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
	// render makes the document; before is the rendering that it replaces, nil at first.
	render func(r *marketdata.Root, nowNs int64, before *madeDoc) *madeDoc
	// floors: large documents are made at most every 5 ms.
	floors bool
}

// madeDoc is a rendering: of which root, when (machine ns). Frozen.
type madeDoc struct {
	root    *marketdata.Root
	version docVersion
	atNs    int64
	doc     *marketdata.Doc
	rows    []*marketdata.Doc // what doc was joined from, in order; nil: not joined
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
	fresh := d.render(root, now, made)
	fresh.root, fresh.version, fresh.atNs = root, d.version(root), now
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
	d.render = func(r *marketdata.Root, nowNs int64, _ *madeDoc) *madeDoc {
		return &madeDoc{doc: newDoc(render(nil, r), noSeq, nowNs)}
	}
}

// ofRows makes d a document over all pairs' tickers that is joined from rows kept with the
// views; a row's tag stands in its Seq. Empty rows are left out.
func (d *sharedDoc) ofRows(row func(v *marketdata.View) *marketdata.Doc) {
	d.version, d.floors = tickersVersion, true
	d.render = func(r *marketdata.Root, nowNs int64, before *madeDoc) *madeDoc {
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
		if before != nil && len(before.rows) == len(rows) && len(rows) > 0 {
			patchRows(&text, rows, before)
		} else {
			joinRows(&text, rows)
		}
		return &madeDoc{rows: rows, doc: &marketdata.Doc{
			Body: stringBytes(text.String()), ETag: string(appendTag(nil, tag)), Seq: r.TickersSeqSum, MadeNs: nowNs,
		}}
	}
}

func joinRows(text *strings.Builder, rows []*marketdata.Doc) {
	text.WriteByte('[')
	for i, one := range rows {
		if i > 0 {
			text.WriteByte(',')
		}
		text.Write(one.Body)
	}
	text.WriteByte(']')
}

// patchRows is joinRows by copying the runs of rows that have not changed out of the
// document before: a few long copies in place of a thousand from all over the memory.
func patchRows(text *strings.Builder, rows []*marketdata.Doc, before *madeDoc) {
	body := before.doc.Body
	from, at := 0, 1 // start of the run that is not yet copied; start of the row in body
	for i, old := range before.rows {
		end := at + len(old.Body)
		if rows[i] != old {
			text.Write(body[from:at])
			text.Write(rows[i].Body)
			from = end
		}
		at = end + 1
	}
	text.Write(body[from:])
}
