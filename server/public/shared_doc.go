package public

import (
	"slices"
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
	// render returns the document as of root r. before is the rendering that it replaces, nil at first.
	render func(r *marketdata.Root, nowNs int64, before *rendering) *rendering
	// hasFloor enables the minimum of 5 ms between two renderings of a large document.
	hasFloor bool
}

// rendering holds a rendered document, its root and its time (machine ns). Immutable.
type rendering struct {
	root    *marketdata.Root
	version docVersion
	atNs    int64
	doc     *marketdata.Doc
	rows    joinedRows // set only for a document that consists of rows
}

// get returns the document as of root or newer. A large document may be older, by less than the floor.
func (d *sharedDoc) get(root *marketdata.Root, machineNs func() int64) *marketdata.Doc {
	made := d.cur.Load()
	if made != nil && (made.root == root || made.version == d.version(root)) {
		return made.doc
	}
	now := machineNs()
	if made != nil && d.hasFloor && root.Len() > sharedFloorPairs && now-made.atNs < sharedFloorNs && now >= made.atNs {
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
	d.render = func(r *marketdata.Root, nowNs int64, _ *rendering) *rendering {
		return &rendering{doc: edge.NewDoc(render(nil, r), edge.NoSeq, nowNs)}
	}
}

// setTickers makes d a document over every pair's ticker and the assets, rendered as a whole.
func (d *sharedDoc) setTickers(render func(dst []byte, r *marketdata.Root) []byte) {
	d.hasFloor = true
	d.version = func(r *marketdata.Root) docVersion {
		return docVersion{r.TickersVersion, r.TickersSeqSum, r.PairsVersion, uint64(r.ControlSeq)}
	}
	d.render = func(r *marketdata.Root, nowNs int64, _ *rendering) *rendering {
		return &rendering{doc: edge.NewDoc(render(nil, r), r.TickersSeqSum, nowNs)}
	}
}

// setQuoted makes d the document of with its decimals as strings.
func (d *sharedDoc) setQuoted(of *sharedDoc) {
	d.version, d.hasFloor = of.version, of.hasFloor
	d.render = func(r *marketdata.Root, nowNs int64, _ *rendering) *rendering {
		body := of.render(r, nowNs, nil).doc.Body
		return &rendering{doc: edge.NewDoc(edge.AppendQuotedDecimals(nil, body), r.TickersSeqSum, nowNs)}
	}
}

// joinedRows describes the body of a document that has one row per pair: for each pair, in the order of the
// codes, the end of its row and the row's hash. The next rendering of the document copies unchanged rows with
// it. Immutable. It has 12 bytes per pair and no pointers, so the garbage collector does not scan it.
type joinedRows struct {
	// end in the body of each row, with the comma or bracket behind it; an empty row ends where it begins
	ends []uint32
	tags []uint64 // hash of each row
}

// start returns the position in the body at which row i begins.
func (j *joinedRows) start(i int) uint32 {
	if i == 0 {
		return 1
	}
	return j.ends[i-1]
}

// last returns the index of the last row that is not empty, -1 when all rows are empty.
func (j *joinedRows) last() int {
	i := len(j.ends) - 1
	for i >= 0 && j.ends[i] == j.start(i) {
		i--
	}
	return i
}

// tag returns the hash of the document for its ETag, made from the hashes of its rows.
func (j *joinedRows) tag() uint64 {
	tag, start := uint64(edge.TagSeed0), uint32(1)
	for i, end := range j.ends {
		if end != start {
			tag = edge.JoinTag(tag, j.tags[i])
		}
		start = end
	}
	return tag
}

// setRows makes d a document over the tickers of all pairs. row returns a pair's row, cached with the view,
// with the row's hash in Seq. Empty rows are left out.
func (d *sharedDoc) setRows(row func(v *marketdata.View) *marketdata.Doc) {
	d.version, d.hasFloor = tickersVersion, true
	d.render = func(r *marketdata.Root, nowNs int64, before *rendering) *rendering {
		made := &rendering{}
		var body []byte
		if moved, ok := changedRows(r, before); ok {
			body = made.rows.patch(r, before, moved, row)
		} else {
			body = made.rows.join(r, row)
		}
		made.doc = &marketdata.Doc{
			Body: body, ETag: string(edge.AppendTag(nil, made.rows.tag())), Seq: r.TickersSeqSum, RenderedNs: nowNs,
		}
		return made
	}
}

// changedRows returns the indexes of the rows whose views have changed since the rendering before, ascending.
// It returns false when there is no rendering before, or when more than a quarter of the rows changed, because
// joining all rows is then cheaper.
func changedRows(r *marketdata.Root, before *rendering) ([]int, bool) {
	if before == nil {
		return nil, false
	}
	moved := make([]int, 0, 16)
	most := r.Len() / 4
	ok := r.Changed(before.root, func(place int) bool {
		moved = append(moved, place)
		return len(moved) <= most
	})
	slices.Sort(moved)
	return moved, ok
}

// join renders the body from all rows.
func (j *joinedRows) join(r *marketdata.Root, row func(v *marketdata.View) *marketdata.Doc) []byte {
	sorted := r.Sorted()
	j.ends, j.tags = make([]uint32, len(sorted)), make([]uint64, len(sorted))
	rows := make([]*marketdata.Doc, len(sorted))
	end := uint32(1)
	for i, id := range sorted {
		rows[i] = row(r.View(id))
		if n := len(rows[i].Body); n > 0 {
			end += uint32(n) + 1
		}
		j.ends[i], j.tags[i] = end, rows[i].Seq
	}
	var text strings.Builder // unlike make, it does not zero the memory first
	text.Grow(int(end) + 1)
	text.WriteByte('[')
	for _, one := range rows {
		writeRow(&text, one.Body)
	}
	return closeText(&text)
}

// patch renders the body from the previous one: it copies the runs of unchanged rows and inserts the changed
// ones. It thus makes a few long copies instead of a thousand short ones from scattered memory.
func (j *joinedRows) patch(r *marketdata.Root, before *rendering, moved []int,
	row func(v *marketdata.View) *marketdata.Doc,
) []byte {
	old, body, sorted := &before.rows, before.doc.Body, r.Sorted()
	j.ends, j.tags = slices.Clone(old.ends), slices.Clone(old.tags)
	rows := make([]*marketdata.Doc, len(moved))
	var shift uint32 // difference of positions between new and old body; it wraps around when rows became shorter
	for k, i := range moved {
		rows[k] = row(r.View(sorted[i]))
		j.tags[i] = rows[k].Seq
		size := uint32(len(rows[k].Body))
		if size > 0 {
			size++
		}
		shift += size - (old.ends[i] - old.start(i))
		next := len(j.ends)
		if k+1 < len(moved) {
			next = moved[k+1]
		}
		if shift != 0 {
			for n := i; n < next; n++ {
				j.ends[n] = old.ends[n] + shift
			}
		}
	}
	var text strings.Builder
	text.Grow(len(body) + int(int32(shift)) + 1)
	from := uint32(0)
	for k, i := range moved {
		text.Write(body[from:old.start(i)])
		writeRow(&text, rows[k].Body)
		from = old.ends[i]
	}
	if last := old.last(); last >= 0 {
		text.Write(body[from:])
		out := closeText(&text)
		if at := int(j.ends[last]) - 1; j.ends[last] != j.start(last) && at < len(out)-1 {
			out[at] = ',' // the last row had a bracket behind it and now needs a comma
		}
		return out
	}
	if from == 0 {
		text.WriteByte('[')
	}
	return closeText(&text)
}

func writeRow(text *strings.Builder, row []byte) {
	if len(row) > 0 {
		text.Write(row)
		text.WriteByte(',')
	}
}

// closeText ends the array. text holds '[' and the rows, each followed by a comma.
func closeText(text *strings.Builder) []byte {
	if text.Len() == 1 {
		text.WriteByte(']')
	}
	b := edge.StringBytes(text.String()) // safe to change: no other goroutine has the text yet
	b[len(b)-1] = ']'
	return b
}
