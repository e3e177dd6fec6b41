package stream

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Sizes and timeouts of writes to a connection.
const (
	// wsJoinBytes is the maximum of joined messages in one write, in bytes: ten messages in
	// one write cost about a ninth of ten writes (docs/internals/performance.md#s1).
	wsJoinBytes = 64 << 10
	// wsWriteStep is how long one write may block before the writer checks whether the
	// connection must end or messages were withdrawn. One tick of the hub and this step take
	// less than the second within which private messages must end.
	wsWriteStep = 500 * time.Millisecond
	// wsCloseWait is how long a closing connection may take to read its last messages.
	wsCloseWait = 20 * time.Second
)

// wsOut is the outbound queue of a connection. A push marks it due in its pump, and the pump
// writes the whole queue in one call. A slow peer, which does not accept all bytes at once,
// gets its own goroutine until it has caught up.
type wsOut struct {
	mu        sync.Mutex
	queue     []*wsQueued
	waiting   wsWaiting // queued bytes by kind
	pong      wsFrame   // answer to the newest ping, written ahead of queue; nil: none
	due       bool      // is in the pump's list, or is slow
	slow      bool      // the connection's own goroutine writes
	closing   bool      // no more pushes; the last frame is the close frame
	ended     bool      // the connection is gone
	over      bool      // done is closed
	hungry    bool      // the hub waits for room in the queue
	withdrawn uint32    // counts withdrawals of private messages
	done      chan struct{}
	pump      *wsPump
	conn      *wsConn
}

// push queues a frame. It returns false, and queues nothing, when the limit of the frame's
// kind is reached. The pump writes due connections at its next flush.
func (o *wsOut) push(f wsFrame, kind wsKind) bool { return o.share(&wsQueued{frame: f, kind: kind}) }

// share is push for a message that other connections receive too. It closes the connection
// itself when too many answers wait, because the reader queues answers without the hub.
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

// answerPing queues a pong for the peer's newest ping. Pings arrive while a message is being
// read, where no limit counts them: a pong for each would let a client that never reads fill
// the memory at line speed. RFC 6455 section 5.5.3 permits answering only the newest ping.
func (o *wsOut) answerPing(data []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closing && !o.ended {
		o.pong = newFrame(wsOpPong, data)
		o.mark()
	}
}

// drop discards the backlog except answers. The writer notifies the hub on its next visit,
// once the peer has accepted the bytes in flight.
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

// withdraw discards the queued private messages because their key has ended. A writer that
// has taken some of them and not begun to write them leaves them out (withhold).
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

// room reports whether snapshots may be queued. If not, the writer notifies the hub once
// there is room.
func (o *wsOut) room() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting.total() < wsLowBytes {
		return true
	}
	o.hungry = true
	return false
}

// close ends the connection after a last frame. dropFirst discards the backlog, so that a
// client that reads again soon receives the close frame.
func (o *wsOut) close(f wsFrame, dropFirst bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut(f, dropFirst)
}

// shut is close for callers that hold mu.
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

// end notifies the writer that the reader has ended; a close frame is still written.
func (o *wsOut) end() {
	o.mu.Lock()
	o.ended = !o.closing
	o.mark()
	o.mu.Unlock()
	o.pump.flush()
}

// mark adds the connection to its pump's list unless it is there. The caller holds mu.
func (o *wsOut) mark() {
	if !o.due {
		o.due = true
		o.pump.add(o.conn)
	}
}

// wsTaken is the next run of bytes for the socket.
type wsTaken struct {
	bytes  []byte // one shared frame, or several frames joined in the writer's buffer
	more   bool   // the queue holds more
	last   bool   // bytes end with the close frame
	hungry bool   // the hub waits for room, and there is room now
	ended  bool   // the reader has ended

	private   []wsSpan // positions of private messages in bytes
	withdrawn uint32   // wsOut.withdrawn when the bytes were taken
}

// wsSpan is the half-open range of a message within bytes.
type wsSpan struct{ from, to int }

// wsScratch is the buffer in which a writer joins messages.
type wsScratch struct {
	bytes   []byte
	private []wsSpan
}

// written removes the first n bytes. It copies the remainder, because the pump reuses its scratch.
func (t *wsTaken) written(n int) {
	t.bytes = append([]byte(nil), t.bytes[n:]...)
	left := make([]wsSpan, 0, len(t.private))
	for _, s := range t.private {
		left = append(left, wsSpan{s.from - n, s.to - n})
	}
	t.private = left
}

// take returns the queued bytes, up to wsJoinBytes, joined in buf when they are more than one
// frame. slow is true when the connection's own goroutine calls; while that goroutine runs,
// the pump receives nothing. A single frame is not copied.
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

// note records the position of a private message.
func (b *wsScratch) note(q *wsQueued, at int) {
	if q.private {
		b.private = append(b.private, wsSpan{at, at + len(q.frame)})
	}
}

// withhold removes private messages behind the first done bytes of t if they were withdrawn
// since t was taken. A message that is partly written is completed: otherwise the client
// could not parse the rest.
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
			t.bytes = append(t.bytes[:s.from:s.from], t.bytes[s.to:]...) // a copy: the frame is shared
		}
	}
	t.private = nil
}

// lag moves the connection from the pump to its own goroutine.
func (o *wsOut) lag() {
	o.mu.Lock()
	o.due, o.slow = true, true
	o.mu.Unlock()
}

// finish marks the end of writing.
func (o *wsOut) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.over, o.ended, o.queue, o.pong = true, true, nil, nil
		close(o.done)
	}
}

// dying reports whether the connection must end, so that the writer may give up.
func (o *wsOut) dying() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closing || o.ended
}

// write sends all of t and clears its deadline. A peer that accepts nothing blocks write
// until the connection must end, and then for wsCloseWait at most.
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
