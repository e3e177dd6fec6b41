package stream

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/marketdata"
)

// delivery is a message and the stream whose subscribers must get it.
type delivery struct {
	stream  *stream
	message *message
}

// subscribersPerPass is the number of connections that get all messages of a delivery before the next
// connections do. A client of ten pairs is in ten streams; deliver then queues its ten messages while the
// client's queue is in the CPU cache.
const subscribersPerPass = 256

// deliver queues the messages sent since the last delivery.
func (h *Hub) deliver() {
	if len(h.undelivered) == 0 {
		return
	}
	batch := h.undelivered
	h.slow = h.slow[:0]
	if rules := h.opts.Faults.Streams(); rules != nil || len(h.faulty.waiting) > 0 {
		h.faulty.deliver(batch, rules)
	} else {
		deliverAll(h, batch)
	}
	clear(batch)
	h.undelivered, h.joined = batch[:0], joinedUpdates{}
	h.slow.resync(h)
}

// deliverAll queues messages that no fault rule changes.
func deliverAll(h *Hub, batch []delivery) {
	for from, left := 0, true; left; from += subscribersPerPass {
		left = false
		for rest := batch; len(rest) > 0; {
			alike := rest[:subscribedAlike(rest)]
			rest = rest[len(alike):]
			n := len(alike[0].stream.subs)
			left = left || n > from+subscribersPerPass
			for i := from; i < min(n, from+subscribersPerPass); i++ {
				deliverTo(h, alike, i)
			}
		}
		h.writers.flush()
	}
}

// subscribedAlike returns the number of deliveries at the front of a batch whose streams probably have the same
// subscribers in the same order, because clients often subscribe to the same pairs. It is at least one.
func subscribedAlike(batch []delivery) int {
	subs := batch[0].stream.subs
	for i, d := range batch {
		if i > 0 && (d.message.private || batch[0].message.private || len(d.stream.subs) != len(subs) ||
			len(subs) > 0 && d.stream.subs[0].backlog != subs[0].backlog) {
			return i
		}
	}
	return len(batch)
}

// deliverTo queues the messages of a batch for the i-th subscriber of each stream. A connection gets the messages of
// consecutive streams at once.
func deliverTo(h *Hub, batch []delivery, i int) {
	for from := 0; from < len(batch); {
		sub, to := batch[from].stream.subs[i], from+1
		if !sub.live {
			from++
			continue
		}
		for to < len(batch) && batch[to].stream.subs[i].live && batch[to].stream.subs[i].backlog == sub.backlog {
			to++
		}
		fits := false
		if to == from+1 {
			fits = sub.backlog.pushShared(batch[from].message)
		} else {
			fits = sub.backlog.pushUpdates(batch[from:to], h.joined.of(batch[from:to]))
		}
		if !fits {
			h.slow = append(h.slow, sub.conn)
		}
		from = to
	}
}

// joinedUpdates holds consecutive messages of a delivery as one, so that the queue of each connection that gets all
// of them has one entry, which a writer need not copy.
type joinedUpdates struct {
	first *message // of those that a connection has got last
	n     int
	whole *message // nil: one connection has got them so far
}

// of returns messages as one. It returns nil for the first connection that gets them, which may be the only one, and
// when they are longer than one write.
func (j *joinedUpdates) of(run []delivery) *message {
	if j.first != run[0].message || j.n != len(run) {
		*j = joinedUpdates{first: run[0].message, n: len(run)}
		return nil
	}
	if j.whole == nil {
		size := 0
		for _, d := range run {
			size += len(d.message.frame)
		}
		if size > maxChunkBytes {
			return nil
		}
		j.whole = &message{frame: make(frame, 0, size), more: len(run) - 1}
		for _, d := range run {
			j.whole.frame = append(j.whole.frame, d.message.frame...)
		}
	}
	return j.whole
}

// slowConns are the connections for which an update of a delivery did not fit.
type slowConns []*session

// resync resyncs the slow connections. It runs when the delivery is over, because resyncSlow may remove subscribers
// from a stream. A connection for which several updates did not fit is resynced once.
func (s slowConns) resync(h *Hub) {
	h.deliveries++
	for _, c := range s {
		if c.hub.lastFullDelivery != h.deliveries {
			c.hub.lastFullDelivery = h.deliveries
			h.resyncSlow(c)
		}
	}
}

// resyncSlow handles an update that did not fit: it drops the backlog, and each stream starts
// over with a snapshot once there is room. A second update that does not fit within
// secondFullWithin closes the connection.
func (h *Hub) resyncSlow(c *session) {
	if c.hub.detached {
		return
	}
	now := h.opts.MachineNs()
	if now-c.hub.fullNs < int64(secondFullWithin) {
		h.closeSlow(c)
		return
	}
	c.hub.fullNs, c.hub.resyncing = now, true
	h.stats.resyncs.Add(1)
	c.backlog.drop()
	for _, sub := range slices.SortedFunc(maps.Values(c.hub.subs), byKey) { // so that a driver can repeat a run
		if sub.tradesStarted { // a part of its trades may have been dropped with the backlog
			sub.nextTrade, sub.tradesStarted = 0, false
		}
		h.awaitSnapshot(sub, "slow")
	}
}

// byKey orders the subscriptions of a connection by channel, pair, interval and account.
func byKey(a, b *subscription) int {
	x, y := &a.stream.key, &b.stream.key
	return cmp.Or(cmp.Compare(x.channel, y.channel), cmp.Compare(x.pair, y.pair), cmp.Compare(x.interval, y.interval),
		cmp.Compare(x.account, y.account))
}

// closeSlow closes the connection of a slow client with 1013 and removes its subscriptions.
func (h *Hub) closeSlow(c *session) {
	c.hub.detached = true
	h.stats.slowCloses.Add(1)
	c.backlog.closeWith(closeFrame(closeTryLater, "SLOW_CONSUMER"), true)
	h.unsubscribeAll(c)
}

// awaitSnapshot makes a subscription pending: it receives no messages until its snapshot is queued.
func (h *Hub) awaitSnapshot(sub *subscription, reason string) {
	sub.live, sub.reason = false, reason
	h.faulty.forget(&sub.delayed, 0, len(sub.delayed))
	if !sub.pending {
		sub.pending = true
		sub.conn.hub.pending = append(sub.conn.hub.pending, sub)
	}
}

// startPending makes pending subscriptions live while the backlog has room for their snapshots.
func (h *Hub) startPending(c *session) {
	h.deliver() // other subscribers must get the updates that lead to the snapshot's state
	for len(c.hub.pending) > 0 {
		if !c.backlog.hasRoom() {
			return
		}
		sub := c.hub.pending[0]
		if c.hub.subs[sub.stream.key.subKey()] == sub {
			h.advanceToResume(sub)
			if c.hub.detached { // advanceToResume delivers messages, which may end a connection
				return
			}
			if !h.startLive(sub) {
				continue // a resuming subscriber must get further messages first
			}
		}
		sub.pending = false
		c.hub.pending = c.hub.pending[1:]
	}
	if len(c.hub.pending) == 0 {
		c.hub.pending, c.hub.resyncing = nil, false
	}
}

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

// holdWithin bounds the time for which a node holds a subscription.
const holdWithin = 2 * time.Second

// hold waits until the hub lacks nothing of what a client resumes behind: the client may have it from a node that is
// ahead. The reader of the connection calls it, so the client's later messages wait too.
func hold(h *Hub, req *request) {
	if req.op != "subscribe" || h.opts.Published == nil {
		return
	}
	late := h.opts.MachineNs() + int64(holdWithin)
	for _, pair := range req.pairs {
		for {
			published := h.opts.Published()
			if !h.lacks(req, h.opts.Board.Load().Lookup(pair)) {
				break
			}
			left := time.Duration(late - h.opts.MachineNs())
			if !step.Within(h.opts.Driver, h.opts.MachineNs, left, published, h.stop) {
				return
			}
		}
	}
}

// lacks reports whether a client resumes behind more of a pair than the view shows, and another node may have shown
// that in this epoch. A view of nil lacks nothing: there is no such pair.
func (h *Hub) lacks(r *request, v *marketdata.View) bool {
	if h.opts.Published == nil || v == nil || r.epoch != "" && r.epoch != h.opts.Epoch {
		return false
	}
	return r.fromSeq != nil && *r.fromSeq > uint64(v.BookSeq) ||
		r.fromTrade != nil && *r.fromTrade > uint64(v.Trades.Last())+1
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
