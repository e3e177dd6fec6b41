package stream

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
// subscribers in the same order, as those of clients that subscribe to the same pairs. It is at least one.
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
