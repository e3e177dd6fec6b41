package accounts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tickhive/internal/fixed"
)

// Format of a snapshot: the sections below, in this order, each list preceded by its length.
// Currencies are sorted by code and everything else by number, so that equal states have equal
// bytes. A snapshot has no reservations: they end with the process.
//
//	version | lastNs, enginePos | config | totals by currency | pairs | users (profile,
//	inviter, links, keys, level changes, balances) | receivers of the deal accruals kept,
//	oldest first | open holds | accruals and archive by receiver
//
// Since version 2 sums (balances, totals, archive) have 24 bytes, the least significant
// word first, and an open hold ends with its earn limit; version 1 wrote sums as money, in
// 16 bytes, and had no limits.

// AppendSnapshot appends the whole state, secrets included. Store's goroutine. Folds wait while
// it writes the users and copies the holds. It writes the holds and the accruals, which never
// change, after that.
func (s *State) AppendSnapshot(dst []byte) []byte {
	s.Abandon()
	s.mu.Lock()
	s.snapshotPos = s.enginePos
	s.mu.Unlock()
	dst = append(dst, SnapshotVersion)
	dst, w := s.appendFigures(dst)
	slices.SortFunc(w.orders, func(a, b orderHold) int { return cmp.Compare(a.id, b.id) })
	dst = putUint(dst, uint64(len(w.orders)))
	for i := range w.orders {
		dst = w.order(dst, &w.orders[i])
	}
	dst = putUint(dst, uint64(len(w.received)))
	for i := range w.received {
		r := &w.received[i]
		dst = putUint(dst, uint64(r.to))
		dst = w.archive(w.accruals(w.accruals(dst, r.deals), r.others), r.archive)
	}
	return dst
}

// appendFigures appends the sections that need the lock, and copies the data of the others.
func (s *State) appendFigures(dst []byte) ([]byte, *snapshotWriter) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w := s.writer()
	dst = putUint(putInt(dst, s.lastNs), s.enginePos)
	dst = putConfig(dst, &s.config)
	dst = w.pairs(w.currencies(dst))
	dst = putUint(dst, uint64(len(s.users)))
	for _, u := range s.users {
		dst = w.user(dst, u)
		if len(u.deals)+len(u.others)+len(u.archive) > 0 {
			w.received = append(w.received, receivedBy{u.n, u.deals, u.others, maps.Clone(u.archive)})
		}
	}
	dst = putUint(dst, uint64(len(s.dealQueue)))
	for _, n := range s.dealQueue {
		dst = putUint(dst, uint64(n))
	}
	w.orders = make([]orderHold, 0, len(s.orders))
	for _, o := range s.orders {
		w.orders = append(w.orders, *o)
	}
	return dst, w
}

// receivedBy holds the accruals that one user received.
type receivedBy struct {
	to            uint32
	deals, others []accrual
	archive       map[archiveKey]fixed.I192
}

// snapshotWriter writes the sections and replaces currency numbers by their rank by code.
type snapshotWriter struct {
	s    *State
	byNo []uint32 // currency number of each rank
	rank []uint32 // rank of each currency number

	orders   []orderHold
	received []receivedBy
}

func (s *State) writer() *snapshotWriter {
	w := &snapshotWriter{s: s, rank: make([]uint32, len(s.currencies))}
	for i := range s.currencies {
		w.byNo = append(w.byNo, uint32(i))
	}
	slices.SortFunc(w.byNo, func(a, b uint32) int { return cmp.Compare(s.currencies[a], s.currencies[b]) })
	for rank, no := range w.byNo {
		w.rank[no] = uint32(rank)
	}
	return w
}

func (w *snapshotWriter) currencies(b []byte) []byte {
	b = putUint(b, uint64(len(w.byNo)))
	for _, no := range w.byNo {
		t := &w.s.totals[no]
		b = putText(b, w.s.currencies[no])
		b = putSum(putSum(putSum(b, t.fees), t.deposited), t.withdrawn)
	}
	return b
}

func (w *snapshotWriter) pairs(b []byte) []byte {
	b = putUint(b, uint64(len(w.s.pairs)))
	for _, id := range slices.Sorted(maps.Keys(w.s.pairs)) {
		p := w.s.pairs[id]
		b = putUint(putUint(putUint(b, uint64(id)), uint64(w.rank[p.base])), uint64(w.rank[p.quote]))
		b = append(b, byte(p.digitsPrice), byte(p.digitsAmount))
		b = putUint(b, p.seq)
	}
	return b
}

func (w *snapshotWriter) user(b []byte, u *user) []byte {
	b = putProfile(b, &u.profile)
	b = putUint(putInt(b, u.createdNs), uint64(u.inviter))
	b = putUint(b, uint64(len(u.links)))
	for _, l := range u.links {
		b = putInt(putUint(putUint(b, l.number), uint64(l.rate)), l.createdNs)
	}
	b = putUint(b, uint64(len(u.keys)))
	for _, k := range u.keys {
		b = putKey(b, &k.rec)
	}
	b = putUint(b, uint64(len(u.levelChanges)))
	for _, c := range u.levelChanges {
		b = append(putInt(b, c.atNs), c.old, c.new)
	}
	rows := slices.Clone(u.rows)
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.free.Sign() == 0 && r.held.Sign() == 0 })
	slices.SortFunc(rows, func(x, y row) int { return cmp.Compare(w.rank[x.currency], w.rank[y.currency]) })
	b = putUint(b, uint64(len(rows)))
	for i := range rows {
		b = putSum(putSum(putUint(b, uint64(w.rank[rows[i].currency])), rows[i].free), rows[i].held)
	}
	return b
}

func (w *snapshotWriter) accruals(b []byte, list []accrual) []byte {
	b = putUint(b, uint64(len(list)))
	for i := range list {
		a := &list[i]
		b = putMoney(putInt(b, a.timeNs), a.amount)
		b = putUint(putUint(putUint(b, uint64(a.from)), uint64(w.rank[a.currency])), uint64(a.level))
		if b = append(b, byte(a.typ)); a.typ == StakeAccrual {
			b = putMoney(putUint(b, uint64(a.applied)), a.source)
			b = putBool(append(b, a.received), a.bonus)
		}
	}
	return b
}

func (w *snapshotWriter) archive(b []byte, archive map[archiveKey]fixed.I192) []byte {
	keys := make([]archiveKey, 0, len(archive))
	for k := range archive {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y archiveKey) int {
		return cmp.Or(
			cmp.Compare(x.day, y.day), cmp.Compare(x.from, y.from), cmp.Compare(w.rank[x.currency], w.rank[y.currency]),
			cmp.Compare(x.level, y.level), cmp.Compare(x.typ, y.typ),
		)
	})
	b = putUint(b, uint64(len(keys)))
	for _, k := range keys {
		b = putUint(putInt(b, k.day), uint64(k.from))
		b = append(putUint(putUint(b, uint64(w.rank[k.currency])), uint64(k.level)), byte(k.typ))
		b = putSum(b, archive[k])
	}
	return b
}

func (w *snapshotWriter) order(b []byte, o *orderHold) []byte {
	b = putUint(putUint(putUint(b, o.id), uint64(o.account)), uint64(o.pair))
	b = append(b, byte(o.side), byte(o.typ))
	b = putBool(putBool(putBool(b, o.byQuote), o.capped), o.waiting)
	b = putInt(putInt(putInt(b, o.price), o.open), o.filled)
	b = putMoney(b, fixed.I128{Hi: int64(o.quote.Hi), Lo: o.quote.Lo})
	b = putUint(putUint(putUint(b, uint64(o.rates.Maker)), uint64(o.rates.Taker)), uint64(o.rates.Discount))
	b = putBool(putMoney(b, o.held), o.limited)
	if o.limited {
		b = putMoney(b, o.coming)
	}
	return b
}

// DecodeSnapshot is the inverse of AppendSnapshot. The state shares nothing with b.
func DecodeSnapshot(b []byte, opts Options) (*State, error) {
	s := New(opts)
	r := &snapshotReader{reader: reader{b: b}, s: s}
	if r.version = r.byte(); r.version < 1 || r.version > SnapshotVersion {
		return nil, fmt.Errorf("%w: snapshot version %d, this program reads up to %d", errCorrupt, r.version, SnapshotVersion)
	}
	s.lastNs, s.enginePos = r.int(), r.uint()
	s.snapshotPos = s.enginePos
	s.config = r.config()
	r.currencies()
	r.pairs()
	r.users()
	for n := r.count(1); n > 0 && !r.bad; n-- {
		s.dealQueue = append(s.dealQueue, r.userNo())
	}
	r.orders()
	r.received()
	if err := r.end(); err != nil {
		return nil, err
	}
	if err := s.complete(); err != nil {
		return nil, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	return s, nil
}
