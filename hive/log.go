package hive

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"sort"
	"sync/atomic"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/wire"
)

// Hash is a transaction hash or the hash of a log entry.
type Hash [32]byte

// String returns 0x and 64 lower-case hex digits.
func (h Hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// Entry is one action of an agent in the action log. It never changes.
type Entry struct {
	ID      uint64 // number of the entry, from 1
	TimeNs  int64  // Unix ns; not before the time of the entry before
	Source  Agent
	Target  uint32 // workerId, 0: no token
	Type    ActionType
	Payload string // a JSON object without white space between tokens
	Reason  string
	Prev    Hash // hash of the entry before, zero for the first
}

// Sec returns the entry's time in Unix seconds, as answers print it.
func (e *Entry) Sec() int64 { return e.TimeNs / secondNs }

// TargetTokenID returns the agentNftId of the target, 0 for no token.
func (e *Entry) TargetTokenID() uint64 {
	if e.Target == 0 {
		return 0
	}
	return tokenOf(e.Target)
}

// Hash returns the entry's hash: SHA-256 over Prev and every other member. The next entry contains it.
func (e *Entry) Hash() Hash {
	var buf [256]byte
	c := wire.Writer(append(buf[:0], e.Prev[:]...))
	e.code(c)
	return sha256.Sum256(c.Bytes())
}

// code encodes or decodes every member but Prev, the hash of the entry before.
func (e *Entry) code(c *wire.Coder) {
	c.U64(&e.ID)
	c.I64(&e.TimeNs)
	c.U8((*uint8)(&e.Source.Tier), uint8(WorkerTier))
	c.U32(&e.Source.N)
	c.U32(&e.Target)
	c.U8((*uint8)(&e.Type), uint8(actionTypes)-1)
	c.Text(&e.Payload, MaxPayload)
	c.Text(&e.Reason, MaxReason)
	if c.Reading() && (e.Source.Tier == NoTier || e.Source.N == 0 || e.TimeNs < 0 || e.Target > MaxWorkers ||
		e.Source.Tier == WorkerTier && e.Source.N > MaxWorkers) {
		c.Fail("entry %d: source %d-%d, target %d", e.ID, e.Source.Tier, e.Source.N, e.Target)
	}
}

// txHash returns the transaction hash of an entry. It depends only on the ledger's seed and the entry's number.
func txHash(seed, entryID uint64) Hash {
	b := append(make([]byte, 0, 40), "tickhive/hive/tx\x00"...)
	b = binary.BigEndian.AppendUint64(b, seed)
	b = binary.BigEndian.AppendUint64(b, entryID)
	return sha256.Sum256(b)
}

// blockAt returns the number of the ledger's block at a time (docs/contract/launchpad.md#ledger). The first
// block has number 1.
func blockAt(genesisNs, ns int64) int64 { return max(ns-genesisNs, 0)/blockNs + 1 }

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

// idList is an ascending list of entry numbers with one writer and any number of readers. The writer fills the last
// chunk above the published length. A list never moves a full chunk: a list of all entries has 64 MB. The part that
// readers can see never changes.
type idList struct{ head atomic.Pointer[idArray] }

// idArray is replaced when it is full.
type idArray struct {
	n      atomic.Uint32 // number of published ids
	chunks [][]uint32    // all of idChunk ids, but for the only one of a short list
}

// idChunk is the length of a chunk. A shorter list doubles.
const idChunk = 1024

func (l *idList) append(id uint64) {
	a := l.head.Load()
	if a == nil {
		a = &idArray{chunks: [][]uint32{make([]uint32, 4)}}
		l.head.Store(a)
	}
	n := a.n.Load()
	if last := len(a.chunks) - 1; int(n) == last*idChunk+len(a.chunks[last]) {
		grown := new(idArray)
		if size := len(a.chunks[0]); size < idChunk {
			grown.chunks = [][]uint32{make([]uint32, 2*size)}
			copy(grown.chunks[0], a.chunks[0])
		} else {
			grown.chunks = append(a.chunks, make([]uint32, idChunk))
		}
		grown.n.Store(n)
		a = grown
		l.head.Store(a)
	}
	a.chunks[n/idChunk][n%idChunk] = uint32(id)
	a.n.Store(n + 1)
}

// upTo returns the ids that are at most last: the entries that a view with last entries covers.
func (l *idList) upTo(last uint64) (list idSpan) {
	a := l.head.Load()
	if a == nil {
		return list
	}
	list = idSpan{a.chunks, int(a.n.Load())}
	if list.n == 0 || list.at(list.n-1) <= last {
		return list
	}
	list.n = sort.Search(list.n, func(i int) bool { return list.at(i) > last })
	return list
}

// idSpan is the published part of a list.
type idSpan struct {
	chunks [][]uint32
	n      int
}

func (s idSpan) at(i int) uint64 { return uint64(s.chunks[i/idChunk][i%idChunk]) }

// postings holds one list for each combination of action type and source tier, "any" included. A query with any
// filter therefore reads one list and merges none.
type postings struct {
	lists [(actionTypes + 1) * (tiers + 1)]idList
}

// list returns the posting list of a filter; nil means any.
func (p *postings) list(t *ActionType, tier *Tier) *idList {
	i := 0
	if t != nil {
		i = (int(*t) + 1) * (tiers + 1)
	}
	if tier != nil {
		i += int(*tier)
	}
	return &p.lists[i]
}

func (p *postings) add(e *Entry) {
	for _, t := range []*ActionType{nil, &e.Type} {
		p.list(t, nil).append(e.ID)
		p.list(t, &e.Source.Tier).append(e.ID)
	}
}

// LogQuery asks for a page of the action log. A nil member does not filter. Since and Until are Unix seconds,
// both included.
type LogQuery struct {
	Page
	TokenID      *uint64
	Type         *ActionType
	Tier         *Tier
	Since, Until *int64
}

// Check refuses members out of range, and a period that ends before it begins.
func (q *LogQuery) Check() *refuse.Refusal {
	if rej := q.Page.Check(); rej != nil {
		return rej
	}
	if q.Since != nil && q.Until != nil && *q.Since > *q.Until {
		return refuse.Param("since", "since is not after until.")
	}
	return nil
}

// find returns the posting list of a query's filter and the range lo to hi that its period selects. A page
// therefore costs two binary searches and its own entries.
func (v *View) find(q *LogQuery) (list ids, lo, hi int) {
	p := v.all
	if q.TokenID != nil {
		p = v.untargeted
		if *q.TokenID != 0 {
			w, ok := v.worker(*q.TokenID)
			if !ok {
				return ids{}, 0, 0
			}
			p = &w.postings.aimed
		}
	}
	list = v.entriesOf(p.list(q.Type, q.Tier))
	lo, hi = 0, list.len()
	if q.Since != nil {
		lo = list.from(*q.Since)
	}
	if q.Until != nil && *q.Until < math.MaxInt64 {
		hi = max(lo, list.from(*q.Until+1))
	}
	return list, lo, hi
}

// Log returns one page, newest first. q must have passed Check.
func (v *View) Log(q LogQuery) List[EntryInfo] {
	list, lo, hi := v.find(&q)
	out := List[EntryInfo]{TotalItems: int64(hi - lo)}
	if q.After != 0 {
		hi = lo + sort.Search(hi-lo, func(i int) bool { return list.at(lo+i) >= q.After })
	}
	from, to := q.span(hi - lo)
	for i := from; i < to; i++ {
		out.Next = list.at(hi - 1 - i)
		out.Items = append(out.Items, v.log.entry(out.Next).info(v.seed, v.genesisNs))
	}
	out.endAt(to == hi-lo)
	return out
}
