package marketdata

import "github.com/tickhive/tickhive/engine"

// Limits of the retained level changes of a pair. docs/contract/streams.md#resume promises the changes of
// 10,000 updates or of 60 s, whichever is more; maxChanges bounds the memory, at 24 bytes a change.
const (
	chunkChanges    = 128     // changes in one chunk: 3 KiB, little for a quiet pair
	blockChunks     = 32      // chunks allocated at once for a pair that changes often: 96 KiB
	retainedUpdates = 10_000  // commands that changed the book; one update on the wire covers one or more of them
	retainedSec     = 60      // seconds
	maxChanges      = 1 << 18 // 6 MiB a pair: 60 s at 4,300 changes a second
	// smallest number of chunks to drop at once, because each drop copies the list of chunks
	dropChangesAt = 32
)

// levelChange is one change of a level. It holds the amount shown before the change, because readers only undo
// changes. The next change of the same price, or the book, holds the amount after it.
type levelChange struct {
	seqSide uint64 // seq << 1 | side
	price   int64  // ticks
	before  int64  // lots, 0: the level did not exist
}

// levelChunk holds consecutive changes. The writer fills only slots that no published view includes.
type levelChunk struct {
	changes [chunkChanges]levelChange
	timeNs  int64  // time of the newest change, set when the chunk is full; only the writer reads it
	updates uint64 // levelLog.updates at the newest change, set when the chunk is full; only the writer reads it
}

// Changes is a view of a pair's newest level changes. With it a reader can reconstruct the book at any seq from
// Base to the view's seq. A recovery rebuilds the changes from the journal records after the snapshot. They are
// not part of the state (state.go): two feeds with equal state may have different Bases. Frozen.
type Changes struct {
	chunks []*levelChunk
	end    int // slots used, counted from chunks[0]
	base   engine.Seq
}

// Base returns the oldest seq at which the book can be reconstructed.
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

// levelLog records the level changes of one pair. Owner: the feed's goroutine.
type levelLog struct {
	view    Changes      // the published part; the writer appends chunks beyond the length of every published copy
	updates uint64       // commands that changed the book
	open    bool         // the current command has already changed the book
	block   []levelChunk // chunks that are allocated but not used yet
	last    *levelChunk  // the chunk that receives changes: the newest of view.chunks
	used    int          // filled slots of last
	timeNs  int64        // time of the newest change
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

// startCommand marks the start of a command, so that all its changes count as one update.
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

// trim drops the oldest chunks that the limits do not require, before a new chunk starts. It copies the list of
// chunks: readers may hold the old list, and a list with the old slots would keep dropped chunks alive. Which
// changes are retained depends on the events alone.
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
