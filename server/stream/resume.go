package stream

import (
	"cmp"
	"slices"
	"time"

	"tickhive/engine"
	"tickhive/marketdata"
)

// maxCachedResumes limits the cached answers to resumes of one stream state. After a restart, most clients of a
// stream resume from the same few seqs.
const maxCachedResumes = 64

// resumeDiff computes the difference between an older book and the current one. The hub reuses its memory.
type resumeDiff struct {
	before   [2]map[int64]int64 // changed levels: price to amount at the older seq
	changed  []marketdata.Level
	old, now []marketdata.Level
	out      [2][]marketdata.Level
}

// since returns the difference between the book at seq and the book of v, within depth levels a
// side (0: all). seq must not be below v.Changes.Base. The result is valid until the next call.
func (w *resumeDiff) since(v *marketdata.View, seq engine.Seq, depth int) (bids, asks []marketdata.Level) {
	for side := range w.before {
		if w.before[side] == nil {
			w.before[side] = make(map[int64]int64)
		}
		clear(w.before[side])
	}
	v.Changes.Undo(seq, func(side engine.Side, price, before int64) { w.before[side][price] = before })
	w.side(engine.Buy, &v.Bids, depth)
	w.side(engine.Sell, &v.Asks, depth)
	return w.out[engine.Buy], w.out[engine.Sell]
}

// betterPrice returns the comparison by which the levels of a side are sorted, best first.
func betterPrice(which engine.Side) func(a, b marketdata.Level) int {
	if which == engine.Buy {
		return func(a, b marketdata.Level) int { return cmp.Compare(b.Price, a.Price) }
	}
	return func(a, b marketdata.Level) int { return cmp.Compare(a.Price, b.Price) }
}

// side computes out[which]. It rebuilds the older side from the current one by undoing the changes.
func (w *resumeDiff) side(which engine.Side, s *marketdata.Side, depth int) {
	better := betterPrice(which)
	changed := w.changed[:0]
	for price, amount := range w.before[which] {
		changed = append(changed, marketdata.Level{Price: price, Amount: amount})
	}
	slices.SortFunc(changed, better)
	w.changed = changed
	w.old, w.now = w.old[:0], w.now[:0]
	limit := depth
	if limit == 0 {
		limit = s.Len() + len(changed)
	}
	back := func() {
		if changed[0].Amount != 0 && len(w.old) < limit {
			w.old = append(w.old, changed[0])
		}
		changed = changed[1:]
	}
	for l := range s.All {
		for len(changed) > 0 && better(changed[0], l) < 0 {
			back()
		}
		switch {
		case len(changed) > 0 && changed[0].Price == l.Price:
			back()
		case len(w.old) < limit:
			w.old = append(w.old, l)
		}
		if len(w.now) < limit {
			w.now = append(w.now, l)
		} else if len(w.old) == limit {
			break
		}
	}
	for len(changed) > 0 {
		back()
	}
	w.out[which] = appendLevelDiff(w.out[which][:0], w.old, w.now, better)
}

// appendLevelDiff appends the changes from old to now, both sorted best first.
func appendLevelDiff(dst, old, now []marketdata.Level, better func(a, b marketdata.Level) int) []marketdata.Level {
	for len(old) > 0 || len(now) > 0 {
		switch {
		case len(now) == 0 || len(old) > 0 && better(old[0], now[0]) < 0:
			dst, old = append(dst, marketdata.Level{Price: old[0].Price}), old[1:]
		case len(old) == 0 || better(now[0], old[0]) < 0:
			dst, now = append(dst, now[0]), now[1:]
		default:
			if old[0].Amount != now[0].Amount {
				dst = append(dst, now[0])
			}
			old, now = old[1:], now[1:]
		}
	}
	return dst
}

// advanceToResume advances the stream of a waiting subscriber to the seq that the subscriber resumes
// from. This seq may be newer than the stream's last message, which its interval delays, but
// not newer than the market: the client has it from another stream with these options or
// from the REST book. The live subscribers receive the update here. The new subscriber is
// not live yet, so it does not receive an update that it already has.
func (h *Hub) advanceToResume(sub *subscription) {
	if sub.hasFromSeq && sub.fromSeq > sub.stream.seq {
		h.advance(sub.stream, h.board.load())
		h.deliver()
	}
}

// holdWithin bounds the time for which a replica holds a subscription.
const holdWithin = 2 * time.Second

// hold waits until the books of a replica have reached the seq that a client resumes from: the client may have it
// from a replica that is ahead. The reader of the connection calls it, so the client's later messages wait too.
func hold(h *Hub, req *request) {
	if req.op != "subscribe" || req.fromSeq == nil || req.epoch != "" && req.epoch != h.opts.Epoch {
		return
	}
	late := time.NewTimer(holdWithin)
	defer late.Stop()
	for _, pair := range req.pairs {
		for {
			published := h.opts.Published()
			v := h.opts.Board.Load().Lookup(pair)
			if v == nil || uint64(v.BookSeq) >= *req.fromSeq {
				break
			}
			select {
			case <-published:
				continue
			case <-late.C:
			case <-h.stop:
			}
			return
		}
	}
}

// resumeBook brings a subscriber from its seq to the stream's seq: by one update, or by no
// message if both are equal. It returns false when the subscriber needs a snapshot.
func (h *Hub) resumeBook(sub *subscription) bool {
	s, from := sub.stream, sub.fromSeq
	sub.hasFromSeq = false
	if from == s.seq {
		return true
	}
	if from > s.seq || engine.Seq(from) < s.view.Changes.Base() {
		return false
	}
	f, ready := s.resumes[from]
	if !ready {
		bids, asks := h.resumes.since(s.view, engine.Seq(from), s.key.depth)
		f = h.frame(s, appendBookUpdate(h.buf[:0], s.view, from, s.seq, bids, asks, h.opts.nowMs()))
		if s.resumes == nil {
			s.resumes = make(map[uint64]frame)
		}
		if len(s.resumes) < maxCachedResumes {
			s.resumes[from] = f
		}
	}
	sub.conn.backlog.push(f, kindSnapshot)
	return true
}
