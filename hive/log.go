package hive

import "sort"

const (
	chunkRows  = 1024
	blockBytes = 64 << 10 // room for at least 15 entries with texts of maximal length
)

// row is an entry in 64 bytes without pointers, so that the garbage collector does not scan the rows of a
// million entries.
type row struct {
	timeNs  int64
	prev    Hash
	source  uint32
	target  uint32
	block   uint32 // index of the text block
	off     uint16 // offset in the text block of the payload; the reason follows it
	payload uint16 // length in bytes
	reason  uint8  // length in bytes
	typ     ActionType
	tier    Tier
}

// log holds the entries in order. It fills chunks and text blocks once and never moves them, so views share
// them.
type log struct {
	logView
	used int // used bytes of the last text block
}

// logView is the log up to entry n. Its reader does not read beyond entry n, and the writer does not change
// anything up to it.
type logView struct {
	n      uint64
	head   Hash
	chunks []*[chunkRows]row
	blocks []*[blockBytes]byte
}

func (l *log) append(e *Entry) {
	if e.ID != l.n+1 || e.Prev != l.head {
		panic("BUG: hive: the entry does not continue the log")
	}
	if l.n > 0 && e.TimeNs < l.row(l.n).timeNs {
		panic("BUG: hive: the entry is older than the log")
	}
	size := len(e.Payload) + len(e.Reason)
	if len(l.blocks) == 0 || l.used+size > blockBytes {
		l.blocks, l.used = append(l.blocks, new([blockBytes]byte)), 0
	}
	at := l.used
	copy(l.blocks[len(l.blocks)-1][at:], e.Payload)
	copy(l.blocks[len(l.blocks)-1][at+len(e.Payload):], e.Reason)
	l.used += size
	if l.n%chunkRows == 0 {
		l.chunks = append(l.chunks, new([chunkRows]row))
	}
	l.chunks[l.n/chunkRows][l.n%chunkRows] = row{
		timeNs: e.TimeNs, prev: e.Prev, source: e.Source.N, target: e.Target,
		block: uint32(len(l.blocks) - 1), off: uint16(at), payload: uint16(len(e.Payload)),
		reason: uint8(len(e.Reason)),
		typ:    e.Type, tier: e.Source.Tier,
	}
	l.n = e.ID
	l.head = e.Hash()
}

func (l *logView) row(id uint64) *row { return &l.chunks[(id-1)/chunkRows][(id-1)%chunkRows] }

func (l *logView) sec(id uint64) int64 { return l.row(id).timeNs / secondNs }

// entry returns a copy of the entry with this number.
func (l *logView) entry(id uint64) Entry {
	r := l.row(id)
	text := l.blocks[r.block][r.off:]
	return Entry{
		ID: id, TimeNs: r.timeNs, Source: Agent{r.tier, r.source}, Target: r.target, Type: r.typ,
		Payload: string(text[:r.payload]), Reason: string(text[r.payload:][:r.reason]), Prev: r.prev,
	}
}

// ids is the part of a posting list that a view of the log covers: numbers of entries, ascending.
type ids struct {
	log *logView
	idSpan
}

func (s ids) len() int { return s.n }

// from returns the index of the first entry at or after sec. It is a binary search, because the times in a list
// never decrease.
func (s ids) from(sec int64) int {
	return sort.Search(s.len(), func(i int) bool { return s.log.sec(s.at(i)) >= sec })
}

// since returns the number of entries later than sec.
func (s ids) since(sec int64) int64 { return int64(s.len() - s.from(sec+1)) }
