package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Bounds of one connection's outbound side (Decisions section 11.5).
const (
	// wsQueueBytes is the queue of Decisions 11.5: full once, then one snapshot per stream.
	wsQueueBytes = 1 << 20
	// wsLowBytes is where the hub goes on with snapshots that wait for room.
	wsLowBytes = 256 << 10
	// wsJoinBytes is how much is joined into one write: ten messages in one write cost
	// about a ninth of ten writes (performance.md, HTTP 11).
	wsJoinBytes = 64 << 10
	// wsWriteStep is how long one write may block before the writer looks whether the
	// connection is to end.
	wsWriteStep = time.Second
	// wsCloseWait is how long a closing connection may take for what it is owed last.
	wsCloseWait = 20 * time.Second
)

// wsOut is the outbound queue of a connection. The hub pushes, the connection's writer
// goroutine takes all that waits and writes it joined.
type wsOut struct {
	mu      sync.Mutex
	queue   []wsQueued
	bytes   int
	closing bool // no pushes any more; the last frame is the close frame
	ended   bool // the connection is gone
	hungry  bool // the hub waits for room
	wake    chan struct{}
}

type wsQueued struct {
	frame wsFrame
	keep  bool // an answer to an operation: survives the dropping of a backlog
}

func newOut() *wsOut { return &wsOut{wake: make(chan struct{}, 1)} }

// push queues a frame; false when the queue is full and nothing was queued.
func (o *wsOut) push(f wsFrame, keep bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closing || o.ended {
		return true
	}
	// Answers are bounded by the inbound limits and are never dropped.
	if !keep && o.bytes > 0 && o.bytes+len(f) > wsQueueBytes {
		return false
	}
	o.queue = append(o.queue, wsQueued{f, keep})
	o.bytes += len(f)
	o.signal()
	return true
}

// drop forgets the backlog but for answers; the writer tells the hub when it comes by
// again, which is when the peer has taken what was under way.
func (o *wsOut) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.queue[:0]
	o.bytes = 0
	for _, q := range o.queue {
		if q.keep {
			kept = append(kept, q)
			o.bytes += len(q.frame)
		}
	}
	clear(o.queue[len(kept):])
	o.queue, o.hungry = kept, true
	o.signal()
}

// room reports whether snapshots may be queued; when not, the writer tells the hub once
// there is.
func (o *wsOut) room() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes < wsLowBytes {
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
	if o.closing {
		return
	}
	o.closing = true
	if dropFirst {
		o.queue = o.queue[:0]
	}
	o.queue = append(o.queue, wsQueued{f, true})
	o.signal()
}

// end tells the writer that nobody reads any more; a close frame is still written.
func (o *wsOut) end() {
	o.mu.Lock()
	o.ended = !o.closing
	o.signal()
	o.mu.Unlock()
}

func (o *wsOut) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take moves what waits, up to wsJoinBytes, into buf. more: something is left. last: the
// close frame is in buf.
func (o *wsOut) take(buf []byte) (joined []byte, last, hungry, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for n < len(o.queue) && (n == 0 || len(buf)+len(o.queue[n].frame) <= wsJoinBytes) {
		buf = append(buf, o.queue[n].frame...)
		o.bytes -= len(o.queue[n].frame)
		n++
	}
	rest := copy(o.queue, o.queue[n:])
	clear(o.queue[rest:])
	o.queue = o.queue[:rest]
	if o.closing && rest == 0 {
		last = n > 0
		o.bytes = 0
	}
	if o.hungry && o.bytes < wsLowBytes {
		o.hungry, hungry = false, true
	}
	if rest > 0 {
		o.signal()
	}
	return buf, last, hungry, o.ended
}

// dying reports that the connection is to end and since when the writer may give up.
func (o *wsOut) dying() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.closing || o.ended
}

// write sends all of buf. A peer that takes nothing blocks it until the connection is
// to end, and then for wsCloseWait at most.
func (o *wsOut) write(nc net.Conn, buf []byte) error {
	var giveUp time.Time
	for len(buf) > 0 {
		_ = nc.SetWriteDeadline(time.Now().Add(wsWriteStep))
		n, err := nc.Write(buf)
		buf = buf[n:]
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
	return nil
}
