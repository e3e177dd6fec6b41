package marketdata

import "tickhive/engine"

// Limits of the retained level changes of a pair: the window of docs/contract/streams.md#resume
// (10,000 updates or 60 s, the larger), up to a limit of memory at 24 bytes each.
const (
	chunkChanges    = 128     // changes that share an allocation: 3 KiB for a quiet pair
	blockChunks     = 32      // chunks allocated at once for a pair that changes often: 96 KiB
	retainedUpdates = 10_000  // commands that changed the book; an update on the wire joins one or more
	retainedSec     = 60      // seconds
	maxChanges      = 1 << 18 // 6 MiB a pair: 60 s at 4,300 changes a second
	dropChangesAt   = 32      // chunks to drop at once at least: the list of chunks is copied rarely
)

// levelChange is one change of a level, with the amount shown before it, because readers only go
// back. The amount shown after it is in the next change of the same price, or in the book.
type levelChange struct {
	seqSide uint64 // seq << 1 | side
	price   int64  // ticks
	before  int64  // lots, 0: the level did not exist
}

// levelChunk is a run of changes; the writer fills slots only above every published length.
type levelChunk struct {
	changes [chunkChanges]levelChange
	timeNs  int64  // of the newest change, once full; read by the writer alone
	updates uint64 // the log's count of updates at the newest change, once full; writer only
}

// Changes is a view of a pair's newest level changes: a reader can turn the view's book back to
// any seq from Base on. It is part of the fold: a recovery rebuilds it from the journal after
// the snapshot. It is not part of the state (state.go): two feeds with equal state may reach
// back to different seqs. Frozen.
type Changes struct {
	chunks []*levelChunk
	end    int // slots used, counted from chunks[0]
	base   engine.Seq
}

// Base returns the oldest seq to which the book can be turned back.
func (c *Changes) Base() engine.Seq { return c.base }

// Len returns the number of retained changes.
func (c *Changes) Len() int { return c.end }

// Undo yields the changes after seq, newest first, with the amount that each level showed
// before. The last amount yielded for a price is the amount shown at seq. seq must not be below
// Base.
func (c *Changes) Undo(seq engine.Seq, yield func(side engine.Side, price, before int64)) {
	if seq < c.base {
		panic("BUG: marketdata: level changes before the kept ones")
	}
	for i := c.end - 1; i >= 0; i-- {
		ch := &c.chunks[i/chunkChanges].changes[i%chunkChanges]
		if ch.seqSide>>1 <= uint64(seq) {
			return
		}
		yield(engine.Side(ch.seqSide&1), ch.price, ch.before)
	}
}

// levelLog is the writer's side. Owner: the feed's goroutine.
type levelLog struct {
	view    Changes      // chunks is appended to in place, above every published length
	updates uint64       // commands that changed the book
	open    bool         // the current command has changed it
	block   []levelChunk // allocated ahead
	last    *levelChunk  // the newest of view.chunks
	used    int          // slots of last
	timeNs  int64        // of the newest change
}

// chunk returns an empty chunk; for a pair that changes often it allocates several at a time.
func (l *levelLog) chunk() *levelChunk {
	if len(l.block) == 0 {
		n := 1
		if len(l.view.chunks) >= blockChunks {
			n = blockChunks
		}
		l.block = make([]levelChunk, n)
	}
	c := &l.block[0]
	l.block = l.block[1:]
	return c
}

// startCommand notes a command boundary.
func (l *levelLog) startCommand() { l.open = false }

// add records a change and the amount that the level showed before it.
func (l *levelLog) add(e *engine.Event, before int64) {
	full := l.last == nil || l.used == chunkChanges
	if full && l.last != nil {
		l.last.timeNs, l.last.updates = l.timeNs, l.updates
	}
	if !l.open {
		l.open = true
		l.updates++
	}
	if full {
		l.trim(e.TimeNs)
		l.last, l.used = l.chunk(), 0
		l.view.chunks = append(l.view.chunks, l.last)
	}
	l.last.changes[l.used] = levelChange{uint64(e.Seq)<<1 | uint64(e.Side), e.Price, before}
	l.timeNs = e.TimeNs
	l.used++
	l.view.end++
}

// trim drops whole chunks that no window needs, before a new chunk starts. It copies the list:
// readers may hold the old one, and its slots must not keep dropped chunks alive. The retained
// changes are a function of the events alone.
func (l *levelLog) trim(nowNs int64) {
	v := &l.view
	gone, some := 0, max(dropChangesAt, len(v.chunks)/8)
	for gone < len(v.chunks) {
		c := v.chunks[gone]
		if l.updates-c.updates < retainedUpdates || nowNs-c.timeNs < retainedSec*nanosecond {
			break
		}
		gone++
	}
	if len(v.chunks)*chunkChanges >= maxChanges {
		gone = max(gone, some)
	}
	if gone < some {
		return
	}
	last := v.chunks[gone-1].changes[chunkChanges-1]
	v.base = engine.Seq(last.seqSide >> 1)
	keep := make([]*levelChunk, len(v.chunks)-gone, max(2*(len(v.chunks)-gone), 4))
	copy(keep, v.chunks[gone:])
	v.chunks = keep
	v.end -= gone * chunkChanges
}
