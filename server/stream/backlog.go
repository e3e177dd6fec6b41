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
	// maxChunkBytes limits the bytes of messages that are joined in one write. One write of ten messages costs
	// about a ninth of ten writes (docs/internals/performance.md#s1).
	maxChunkBytes = 64 << 10
	// writeTimeout limits the time that a write may block. Then the writer checks whether the connection must
	// end or messages were withdrawn. writeTimeout and one tick of the hub together are less than the second
	// within which private messages must end.
	writeTimeout = 500 * time.Millisecond
	// closeWriteWait limits the time in which a closing connection reads its last messages.
	closeWriteWait = 20 * time.Second
)

// backlog holds the messages queued for a connection. push puts the connection on its writer's list, and the
// writer writes the whole queue in one call. When the socket accepts only a part, the connection is blocked:
// its own goroutine then writes the rest.
//
// A writer sees the backlog of a connection in one of these states (fields under backlog.mu):
//
//	idle --schedule--> scheduled --socket accepts all--> idle
//	                       |
//	                       +--socket accepts a part--> blocked --all written--> idle
//
//	scheduled   the connection is in the list of its writer.
//	blocked     the connection's own goroutine (writeBlocked) writes; scheduled stays set.
//	awaitsRoom  the hub wants to queue a snapshot: the writer notifies it once the backlog is
//	            drained, that is below lowMarkBytes (Sockets.drained).
//	closing     the close frame is queued last; nothing is queued behind it.
//	readerEnded the reader ended without a close frame: the writer discards the backlog.
//	finished    nothing more is written, and done is closed.
//
// Owner: any goroutine; mu guards the fields.
type backlog struct {
	mu          sync.Mutex
	queue       []*message
	queued      queuedBytes // queued bytes by kind
	pong        frame       // answer to the newest ping, written before queue; nil: none
	scheduled   bool        // the connection is in its writer's list, or blocked
	blocked     bool        // the connection's own goroutine is writing
	closing     bool        // nothing more is queued; the last frame is the close frame
	readerEnded bool        // the reader ended without a close frame
	finished    bool        // done has been closed
	awaitsRoom  bool        // the hub waits for room in the queue
	updates     int         // limit of queued updates in bytes; 0: maxUpdateBytes
	withdrawals uint32      // number of times that private messages were withdrawn
	done        chan struct{}
	writer      *writer
	conn        *Conn
}

// push queues a frame. It returns false, and queues nothing, when the limit of the frame's
// kind is reached. The writer writes scheduled connections after the next flush.
func (b *backlog) push(f frame, kind messageKind) bool {
	return b.pushShared(&message{frame: f, kind: kind})
}

// pushShared queues a message like push; other connections may get the same message. When too many answers
// wait, it closes the connection itself, because readers queue answers without the hub.
func (b *backlog) pushShared(q *message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pushLocked(q)
}

// pushUpdates queues the updates of a run: as the message that joins them, unless that is nil or does not fit. It
// returns false when one of them does not fit.
func (b *backlog) pushUpdates(run []delivery, joined *message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if joined != nil && b.queued[kindUpdate]+len(joined.frame) <= b.limit(kindUpdate) {
		return b.pushLocked(joined)
	}
	fits := true
	for _, d := range run {
		fits = b.pushLocked(d.message) && fits
	}
	return fits
}

// pushLocked does the work of pushShared. The caller holds mu.
func (b *backlog) pushLocked(q *message) bool {
	if b.closing || b.readerEnded {
		return true
	}
	waiting := &b.queued[q.kind]
	if n := *waiting; n > 0 && n+len(q.frame) > b.limit(q.kind) {
		if q.kind == kindAnswer {
			b.writer.slowCloses.Add(1)
			b.closeLocked(closeFrame(closeTryLater, "SLOW_CONSUMER"), true)
		}
		return false
	}
	b.queue = append(b.queue, q)
	*waiting += len(q.frame)
	b.schedule()
	return true
}

// limit returns the limit of the queued bytes of a kind.
func (b *backlog) limit(kind messageKind) int {
	if kind == kindUpdate && b.updates != 0 {
		return b.updates
	}
	return maxQueuedBytes[kind]
}

// answerPing queues a pong for the peer's newest ping. Pings arrive while a message is being
// read, where no limit counts them: a pong for each would let a client that never reads fill
// the memory at line speed. RFC 6455 section 5.5.3 permits answering only the newest ping.
func (b *backlog) answerPing(data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closing && !b.readerEnded {
		b.pong = newFrame(opPong, data)
		b.schedule()
	}
}

// drop discards the queued messages except answers. When the peer has accepted the bytes being written, the
// writer notifies the hub that there is room.
func (b *backlog) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.queue[:0]
	for _, q := range b.queue {
		if q.kind == kindAnswer {
			kept = append(kept, q)
		} else {
			b.writer.dropped.Add(uint64(1 + q.more))
		}
	}
	b.queued = queuedBytes{kindAnswer: b.queued[kindAnswer]}
	clear(b.queue[len(kept):])
	b.queue, b.awaitsRoom = kept, true
	b.schedule()
}

// withdrawPrivate discards the queued private messages, because their key has ended. If a writer has taken some
// of them but not begun to write them, it leaves them out (withholdPrivate).
func (b *backlog) withdrawPrivate() {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.queue[:0]
	for _, q := range b.queue {
		if q.private {
			b.queued[q.kind] -= len(q.frame)
		} else {
			kept = append(kept, q)
		}
	}
	clear(b.queue[len(kept):])
	b.queue = kept
	b.withdrawals++
}

// hasRoom reports whether a snapshot may be queued. If not, the writer will notify the hub when there is room.
func (b *backlog) hasRoom() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queued.total() < lowMarkBytes {
		return true
	}
	b.awaitsRoom = true
	return false
}

// closeWith queues a last frame and ends the connection after it. With dropFirst it discards the backlog first,
// so that a client that reads again soon receives the close frame.
func (b *backlog) closeWith(f frame, dropFirst bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closeLocked(f, dropFirst)
}

// closeLocked does the work of closeWith. The caller holds mu.
func (b *backlog) closeLocked(f frame, dropFirst bool) {
	if b.closing {
		return
	}
	b.closing = true
	if dropFirst {
		clear(b.queue)
		b.queue, b.queued = b.queue[:0], queuedBytes{}
	}
	b.queue = append(b.queue, &message{frame: f, kind: kindAnswer})
	b.queued[kindAnswer] += len(f)
	b.schedule()
}

// endReader records that the reader has ended. A queued close frame is still written.
func (b *backlog) endReader() {
	b.mu.Lock()
	b.readerEnded = !b.closing
	b.schedule()
	b.mu.Unlock()
	b.writer.flush()
}

// schedule puts the connection on its writer's list unless it is there already. The caller holds mu.
func (b *backlog) schedule() {
	if !b.scheduled {
		b.scheduled = true
		b.writer.add(b.conn)
	}
}

// chunk holds the bytes of the next write to the socket.
type chunk struct {
	bytes       []byte // one shared frame, or several frames joined in the writer's buffer
	more        bool   // the queue holds more
	last        bool   // bytes end with the close frame
	drained     bool   // the hub waits for room, and there is room now
	readerEnded bool   // the reader has ended

	private     []span // positions of private messages in bytes
	withdrawals uint32 // backlog.withdrawals when the bytes were taken
}

// span is the half-open range of a message within bytes.
type span struct{ from, to int }

// chunkBuffer is the buffer in which a writer joins messages.
type chunkBuffer struct {
	bytes   []byte
	private []span
}

// advance removes the first n bytes. It copies the remainder, because the writer reuses its buffer.
func (t *chunk) advance(n int) {
	t.bytes = append([]byte(nil), t.bytes[n:]...)
	left := make([]span, 0, len(t.private))
	for _, s := range t.private {
		left = append(left, span{s.from - n, s.to - n})
	}
	t.private = left
}

// takeChunk returns up to maxChunkBytes of the queued messages. It copies them into buf if there are several;
// it does not copy a single frame. blocked is true when the connection's own goroutine calls; while that
// goroutine writes, the writer gets nothing.
func (b *backlog) takeChunk(buf *chunkBuffer, blocked bool) (t chunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.finished || b.blocked != blocked {
		return t
	}
	n, messages := 0, 0
	t.withdrawals, buf.private = b.withdrawals, buf.private[:0]
	switch {
	case b.pong != nil && len(b.queue) == 0:
		t.bytes, b.pong = b.pong, nil
	case b.pong == nil && len(b.queue) == 1:
		n, t.bytes, messages = 1, b.queue[0].frame, 1+b.queue[0].more
		b.queued[b.queue[0].kind] -= len(t.bytes)
		buf.notePrivate(b.queue[0], 0)
	case len(b.queue) > 0:
		t.bytes = append(buf.bytes[:0], b.pong...)
		b.pong = nil
		for n < len(b.queue) && (n == 0 || len(t.bytes)+len(b.queue[n].frame) <= maxChunkBytes) {
			q := b.queue[n]
			buf.notePrivate(q, len(t.bytes))
			t.bytes = append(t.bytes, q.frame...)
			b.queued[q.kind] -= len(q.frame)
			messages += 1 + q.more
			n++
		}
		buf.bytes = t.bytes
	}
	if n > 0 {
		b.writer.messages.Add(uint64(messages))
		b.writer.bytes.Add(uint64(len(t.bytes)))
	}
	t.private = buf.private
	rest := copy(b.queue, b.queue[n:])
	clear(b.queue[rest:])
	b.queue = b.queue[:rest]
	t.last = b.closing && rest == 0 && n > 0
	if b.awaitsRoom && b.queued.total() < lowMarkBytes {
		b.awaitsRoom, t.drained = false, true
	}
	t.more, t.readerEnded = rest > 0, b.readerEnded
	if rest == 0 && (!blocked || len(t.bytes) == 0) {
		b.scheduled, b.blocked = false, false
	}
	return t
}

// notePrivate records the position of a private message.
func (b *chunkBuffer) notePrivate(q *message, at int) {
	if q.private {
		b.private = append(b.private, span{at, at + len(q.frame)})
	}
}

// withholdPrivate removes the private messages after the first done bytes of t if they were withdrawn since t
// was taken. It leaves a message that is partly written, because the client could not parse what follows an
// incomplete one.
func (b *backlog) withholdPrivate(t *chunk, done int) {
	b.mu.Lock()
	now := b.withdrawals
	b.mu.Unlock()
	if now == t.withdrawals {
		return
	}
	t.withdrawals = now
	for i := len(t.private) - 1; i >= 0; i-- {
		if s := t.private[i]; s.from >= done {
			// append to a copy, because other connections share the frame
			t.bytes = append(t.bytes[:s.from:s.from], t.bytes[s.to:]...)
		}
	}
	t.private = nil
}

// block moves the connection from its writer to its own goroutine.
func (b *backlog) block() {
	b.mu.Lock()
	b.scheduled, b.blocked = true, true
	b.mu.Unlock()
}

// finish records that nothing more will be written.
func (b *backlog) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.finished {
		b.finished, b.readerEnded, b.queue, b.pong = true, true, nil, nil
		close(b.done)
	}
}

// mustEnd reports whether the connection must end, so that the writer may give up.
func (b *backlog) mustEnd() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closing || b.readerEnded
}

// writeChunk sends all of t and clears its deadline. A peer that accepts nothing blocks write
// until the connection must end, and then for closeWriteWait at most.
func (b *backlog) writeChunk(nc net.Conn, t *chunk, encrypted bool) error {
	if encrypted { // TLS cannot repeat a write that timed out, so it has its whole time at once
		b.withholdPrivate(t, 0)
		_ = nc.SetWriteDeadline(time.Now().Add(closeWriteWait))
		if _, err := nc.Write(t.bytes); err != nil {
			return err
		}
		return nc.SetWriteDeadline(time.Time{})
	}
	var giveUp time.Time
	for done := 0; ; {
		b.withholdPrivate(t, done)
		if done == len(t.bytes) {
			return nc.SetWriteDeadline(time.Time{})
		}
		_ = nc.SetWriteDeadline(time.Now().Add(writeTimeout))
		n, err := nc.Write(t.bytes[done:])
		done += n
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if b.mustEnd() {
			if giveUp.IsZero() {
				giveUp = time.Now().Add(closeWriteWait)
			} else if time.Now().After(giveUp) {
				return err
			}
		}
	}
}
