package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// How the outbound side of a connection is written.
const (
	// wsJoinBytes is how much is joined into one write: ten messages in one write cost
	// about a ninth of ten writes (docs/internals/performance.md#s1).
	wsJoinBytes = 64 << 10
	// wsWriteStep is how long one write may block before the writer looks whether the
	// connection is to end, or messages were withdrawn: with a tick of the hub before it
	// that is less than the second in which private messages end.
	wsWriteStep = 500 * time.Millisecond
	// wsCloseWait is how long a closing connection may take for what it is owed last.
	wsCloseWait = 20 * time.Second
)

// wsOut is the outbound queue of a connection. Who pushes marks it due with its pump, which
// writes all that waits in one call; a peer that does not take it at once gets a goroutine
// until it has (slow).
type wsOut struct {
	mu        sync.Mutex
	queue     []*wsQueued
	waiting   wsWaiting // bytes of queue
	pong      wsFrame   // owed to the newest ping, written ahead of queue; nil: none
	due       bool      // stands in the pump's list, or is slow
	slow      bool      // a goroutine of its own writes
	closing   bool      // no pushes any more; the last frame is the close frame
	ended     bool      // the connection is gone
	over      bool      // done is closed
	hungry    bool      // the hub waits for room
	withdrawn uint32    // how often private messages were withdrawn
	done      chan struct{}
	pump      *wsPump
	conn      *wsConn
}

// push queues a frame; false when its kind's bound is reached and nothing was queued. The
// pump goes through what is due when it is told to flush.
func (o *wsOut) push(f wsFrame, kind wsKind) bool { return o.share(&wsQueued{frame: f, kind: kind}) }

// share is push of a message that other connections get too. Too many answers end the
// connection here, since the reader's side queues some too and knows no hub.
func (o *wsOut) share(q *wsQueued) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing || o.ended {
		return true
	}
	waiting := &o.waiting[q.kind]
	if n := *waiting; n > 0 && n+len(q.frame) > wsBounds[q.kind] {
		if q.kind == wsAnswer {
			o.shut(closeFrame(wsCloseTryLater, "SLOW_CONSUMER"), true)
		}
		return false
	}
	o.queue = append(o.queue, q)
	*waiting += len(q.frame)
	o.mark()
	return true
}

// answerPing owes the peer a pong for its newest ping. Pings come inside the reading of a
// message, where no limit counts them; a pong for each would let a client that never reads
// fill the memory as fast as its line allows. RFC 6455 section 5.5.3 lets us answer the
// newest alone.
func (o *wsOut) answerPing(data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closing && !o.ended {
		o.pong = newFrame(wsOpPong, data)
		o.mark()
	}
}

// drop forgets the backlog but for answers; the writer tells the hub when it comes by
// again, which is when the peer has taken what was under way.
func (o *wsOut) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.queue[:0]
	for _, q := range o.queue {
		if q.kind == wsAnswer {
			kept = append(kept, q)
		}
	}
	o.waiting = wsWaiting{wsAnswer: o.waiting[wsAnswer]}
	clear(o.queue[len(kept):])
	o.queue, o.hungry = kept, true
	o.mark()
}

// withdraw forgets the private messages that wait: the key that they were for has ended. A
// writer that has taken some and not begun to write them leaves them out (withhold).
func (o *wsOut) withdraw() {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.queue[:0]
	for _, q := range o.queue {
		if q.private {
			o.waiting[q.kind] -= len(q.frame)
		} else {
			kept = append(kept, q)
		}
	}
	clear(o.queue[len(kept):])
	o.queue = kept
	o.withdrawn++
}

// room reports whether snapshots may be queued; when not, the writer tells the hub once
// there is.
func (o *wsOut) room() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting.total() < wsLowBytes {
		return true
	}
	o.hungry = true
	return false
}

// close ends the connection after a last frame. dropFirst forgets the backlog, so that a
// client that reads again finds the close frame soon.
func (o *wsOut) close(f wsFrame, dropFirst bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut(f, dropFirst)
}

// shut is close under mu.
func (o *wsOut) shut(f wsFrame, dropFirst bool) {
	if o.closing {
		return
	}
	o.closing = true
	if dropFirst {
		clear(o.queue)
		o.queue, o.waiting = o.queue[:0], wsWaiting{}
	}
	o.queue = append(o.queue, &wsQueued{frame: f, kind: wsAnswer})
	o.waiting[wsAnswer] += len(f)
	o.mark()
}

// end tells the writer that nobody reads any more; a close frame is still written.
func (o *wsOut) end() {
	o.mu.Lock()
	o.ended = !o.closing
	o.mark()
	o.mu.Unlock()
	o.pump.flush()
}

// mark puts the connection into its pump's list once; under mu.
func (o *wsOut) mark() {
	if !o.due {
		o.due = true
		o.pump.add(o.conn)
	}
}

// wsTaken is what a writer is to write.
type wsTaken struct {
	bytes  []byte // one shared frame, or several joined in the writer's buffer
	more   bool   // something is left
	last   bool   // the close frame is in it
	hungry bool   // the hub waits for the room that there is now
	ended  bool   // nobody reads any more

	private   []wsSpan // where bytes has private messages
	withdrawn uint32   // the queue's at the time
}

// wsSpan is a message within bytes, from its first byte to the one behind its last.
type wsSpan struct{ from, to int }

// wsScratch is what a writer joins messages in.
type wsScratch struct {
	bytes   []byte
	private []wsSpan
}

// written takes n bytes off the front. What is left is a copy: the scratch is the pump's.
func (t *wsTaken) written(n int) {
	t.bytes = append([]byte(nil), t.bytes[n:]...)
	left := make([]wsSpan, 0, len(t.private))
	for _, s := range t.private {
		left = append(left, wsSpan{s.from - n, s.to - n})
	}
	t.private = left
}

// take gives what waits, up to wsJoinBytes, joined in buf when it is more than one frame.
// slow says that the connection's own goroutine asks; the pump gets nothing while there
// is one. A frame alone is written from where it is: no copy for each connection.
func (o *wsOut) take(buf *wsScratch, slow bool) (t wsTaken) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over || o.slow != slow {
		return t
	}
	n := 0
	t.withdrawn, buf.private = o.withdrawn, buf.private[:0]
	switch {
	case o.pong != nil && len(o.queue) == 0:
		t.bytes, o.pong = o.pong, nil
	case o.pong == nil && len(o.queue) == 1:
		n, t.bytes = 1, o.queue[0].frame
		o.waiting[o.queue[0].kind] -= len(t.bytes)
		buf.note(o.queue[0], 0)
	case len(o.queue) > 0:
		t.bytes = append(buf.bytes[:0], o.pong...)
		o.pong = nil
		for n < len(o.queue) && (n == 0 || len(t.bytes)+len(o.queue[n].frame) <= wsJoinBytes) {
			q := o.queue[n]
			buf.note(q, len(t.bytes))
			t.bytes = append(t.bytes, q.frame...)
			o.waiting[q.kind] -= len(q.frame)
			n++
		}
		buf.bytes = t.bytes
	}
	t.private = buf.private
	rest := copy(o.queue, o.queue[n:])
	clear(o.queue[rest:])
	o.queue = o.queue[:rest]
	t.last = o.closing && rest == 0 && n > 0
	if o.hungry && o.waiting.total() < wsLowBytes {
		o.hungry, t.hungry = false, true
	}
	t.more, t.ended = rest > 0, o.ended
	if rest == 0 && (!slow || len(t.bytes) == 0) {
		o.due, o.slow = false, false
	}
	return t
}

// note remembers where a message begins if it is private.
func (b *wsScratch) note(q *wsQueued, at int) {
	if q.private {
		b.private = append(b.private, wsSpan{at, at + len(q.frame)})
	}
}

// withhold takes private messages out of what a writer has of t, behind the first done
// bytes, when they were withdrawn since. One that is begun is finished: the client could not
// read on otherwise.
func (o *wsOut) withhold(t *wsTaken, done int) {
	o.mu.Lock()
	now := o.withdrawn
	o.mu.Unlock()
	if now == t.withdrawn {
		return
	}
	t.withdrawn = now
	for i := len(t.private) - 1; i >= 0; i-- {
		if s := t.private[i]; s.from >= done {
			t.bytes = append(t.bytes[:s.from:s.from], t.bytes[s.to:]...) // a copy: a message alone is shared
		}
	}
	t.private = nil
}

// lag hands the connection from the pump to a goroutine of its own.
func (o *wsOut) lag() {
	o.mu.Lock()
	o.due, o.slow = true, true
	o.mu.Unlock()
}

// finish says that nothing will be written any more.
func (o *wsOut) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over, o.ended, o.queue, o.pong = true, true, nil, nil
		close(o.done)
	}
}

// dying reports that the connection is to end and since when the writer may give up.
func (o *wsOut) dying() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closing || o.ended
}

// write sends all of t and leaves no deadline behind. A peer that takes nothing blocks it
// until the connection is to end, and then for wsCloseWait at most.
func (o *wsOut) write(nc net.Conn, t *wsTaken) error {
	var giveUp time.Time
	for done := 0; ; {
		o.withhold(t, done)
		if done == len(t.bytes) {
			return nc.SetWriteDeadline(time.Time{})
		}
		_ = nc.SetWriteDeadline(time.Now().Add(wsWriteStep))
		n, err := nc.Write(t.bytes[done:])
		done += n
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if o.dying() {
			if giveUp.IsZero() {
				giveUp = time.Now().Add(wsCloseWait)
			} else if time.Now().After(giveUp) {
				return err
			}
		}
	}
}
