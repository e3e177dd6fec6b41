package stream

import (
	"cmp"
	"strconv"
	"sync"
	"time"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/fault"
	"tickhive/internal/refuse"
	"tickhive/internal/step"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/private"
)

// Intervals and limits of the hub.
const (
	tickEvery = 100 * time.Millisecond // conflated books, tickers (10 a second), candles
	// ticks in a second; books of 1000 ms, status and housekeeping run once a second
	ticksPerSecond   = 10
	heartbeatEvery   = time.Second
	idleStreamAge    = 2 * time.Minute // after this time a stream without subscribers is removed
	maxQueuedOps     = 4096            // queued operations of all connections
	secondFullWithin = 10 * time.Second
)

// Options configures a Hub. Board, Clock and Epoch are required.
type Options struct {
	Board *marketdata.Board
	Clock clock.Clock
	Epoch string // 16 hex digits that identify the history of seqs (docs/contract/streams.md#resume)
	// Status renders /api/status.
	Status func(dst []byte) []byte
	// StatusRow renders the status row of one pair.
	StatusRow func(dst []byte, v *marketdata.View, ageNs int64) []byte
	// NotWriter returns the refusal of credentials by a replica; nil: not a replica.
	NotWriter func() *refuse.Refusal
	// Stale returns the reason why a replica refuses reads, nil while it serves them; nil: it never does.
	Stale func() *refuse.Refusal
	// Published returns a channel that is closed when the views of a replica change; nil: not a replica.
	Published func() <-chan struct{}
	// Private is the source of the channels that need credentials; nil disables them.
	Private private.Feed
	// PingEvery is the interval between pings to a client (default 20 s). PongWithin is how
	// long a client may stay silent before the hub closes its connection (default 60 s). Both
	// are machine time, checked once a second.
	PingEvery, PongWithin time.Duration
	// MachineNs returns the machine's time, Unix ns; nil: clock.MachineNs. Ticks, pings, heartbeats and
	// limits use it.
	MachineNs func() int64
	// QueueBytes limits the queued updates of a connection (default 1 MiB).
	QueueBytes int
	// Faults holds the rules of faults on demand; nil: there are none.
	Faults *fault.Switch
	// Driver steps the hub while Shutdown waits; nil: the goroutine of Run does.
	Driver step.Driver
}

// Hub turns published views into streams. It compares the views that it loads, so it costs
// the publisher nothing and never loses a change: it only joins several, and a delay in the
// hub leads to one larger update. One goroutine calls Run, or Step, and owns every field below
// stopped.
type Hub struct {
	opts    Options
	notify  chan struct{} // receives a value after each publication
	ops     chan func()
	stop    chan struct{}
	stopped chan struct{}
	once    sync.Once

	published bool   // Run has received from notify; the next Step advances the streams
	op        func() // received from ops by Run; the next Step runs it
	tickNs    int64  // machine time of the next tick
	ended     bool

	streamTable
	board       boardReader
	writers     *writers
	conns       map[*conn]struct{}
	diff        [2]sideDiff
	private     privateStreams
	resumes     resumeDiff
	buf         []byte
	undelivered []delivery // encoded messages that are not queued for their subscribers yet
	slow        slowConns  // scratch buffer of deliver
	joined      joinedUpdates
	ticks       int
	// deliveries counts deliveries; a connection counts as slow at most once in each.
	deliveries uint64
	faulty     faultyDelivery
	stats      hubStats
}

// NewHub returns a hub; Run starts it.
func NewHub(o Options) *Hub {
	if o.MachineNs == nil {
		o.MachineNs = clock.MachineNs
	}
	o.PingEvery = cmp.Or(o.PingEvery, defaultPingEvery)
	o.QueueBytes = cmp.Or(o.QueueBytes, maxUpdateBytes)
	o.PongWithin = cmp.Or(o.PongWithin, defaultPongWithin)
	h := &Hub{
		opts: o, notify: make(chan struct{}, 1), ops: make(chan func(), maxQueuedOps),
		stop: make(chan struct{}), stopped: make(chan struct{}),
		writers: newWriters(), conns: make(map[*conn]struct{}),
		streamTable: streamTable{streams: make(map[streamKey]*stream)},
	}
	h.board.Board = o.Board
	h.private.hub, h.faulty.hub, h.tickNs = h, h, o.MachineNs()+int64(tickEvery)
	if o.Private != nil {
		o.Private.OnKeyDeleted(h.private.keyDeleted)
	}
	return h
}

// SetEpoch replaces the epoch of a hub that does not run yet.
func SetEpoch(h *Hub, epoch string) { h.opts.Epoch = epoch }

// Fold implements sequencer.Sink: only private streams use events, public streams use views.
func (h *Hub) Fold(events []engine.Event, _ uint64) {
	if h.opts.Private != nil {
		h.opts.Private.Fold(events)
	}
}

// Withhold implements sequencer.Withholder.
func (h *Hub) Withhold(pairs []engine.PairID) {
	if h.opts.Private != nil {
		h.opts.Private.Withhold(pairs)
	}
}

// Publish implements sequencer.Sink: it wakes the hub and never waits.
func (h *Hub) Publish(int64) {
	if h.opts.Private != nil {
		h.opts.Private.Publish()
	}
	select {
	case h.notify <- struct{}{}:
	default:
	}
}

// NextNs implements sequencer.Sink: the hub needs no call at a market time.
func (h *Hub) NextNs() int64 { return 1<<63 - 1 }

func (h *Hub) do(op func()) {
	select {
	case h.ops <- op:
	case <-h.stopped:
	}
}

func (h *Hub) join(c *conn, first []request) {
	h.do(func() {
		c.hub.subs = make(map[streamKey]*subscription)
		c.hub.pingNs = h.opts.MachineNs() + int64(h.opts.PingEvery)
		h.conns[c] = struct{}{}
		for _, r := range first {
			operation{h, c, r}.run()
		}
	})
}

func (h *Hub) leave(c *conn) {
	h.do(func() {
		c.hub.detached = true
		delete(h.conns, c)
		h.unsubscribeAll(c)
	})
}

// unsubscribeAll removes a connection and its key from all streams.
func (h *Hub) unsubscribeAll(c *conn) {
	h.private.unguard(c, false)
	h.private.unbind(c)
	left := false
	for key, sub := range c.hub.subs {
		sub.stream.remove(sub, h.opts.machineMs())
		left = left || key.private()
	}
	clear(c.hub.subs)
	c.hub.pending = nil
	if left {
		h.private.watch()
	}
}

func (h *Hub) request(c *conn, r request) { h.do(func() { operation{h, c, r}.run() }) }

// drained notifies the hub that the backlog of c fell below lowMarkBytes and has room for snapshots.
func (h *Hub) drained(c *conn) { h.do(func() { h.startPending(c) }) }

// boardReader reads roots for the hub.
type boardReader struct {
	*marketdata.Board
	sealedNs int64 // the last root holds everything up to this time
}

func (b *boardReader) load() *marketdata.Root {
	b.sealedNs = b.SealedNs()
	return b.Load()
}

// closed reports whether no trade after the last root can belong to a candle. The hub's clock does
// not tell: a trade that was stamped before the end may still be on its way to the board.
func (b *boardReader) closed(i marketdata.Interval, c *marketdata.Candle) bool {
	return b.sealedNs/int64(time.Second) >= i.Next(c.Start)
}

// advanceUnconflated sends the changes since the last publication on streams without an interval: trades, and
// books with interval 0.
func (h *Hub) advanceUnconflated() {
	root := h.board.load()
	for _, s := range h.unconflated {
		h.advance(s, root)
	}
	h.private.sendMessages()
}

// tick advances the conflated streams, and runs housekeeping once a second.
func (h *Hub) tick() {
	h.ticks++
	h.endStale()
	slow := h.ticks%ticksPerSecond == 0
	root := h.board.load()
	for _, s := range h.opened {
		if s.key.every == 1000 || s.key.channel == chStatus {
			if !slow {
				continue
			}
		}
		h.advance(s, root)
	}
	h.private.sendMessages()
	h.heartbeats()
	h.faulty.releaseDue()
	if slow {
		h.housekeeping()
	}
}

// advance sends the changes of a stream from its last message to the currently published view.
func (h *Hub) advance(s *stream, root *marketdata.Root) {
	if len(s.subs) == 0 {
		return
	}
	if !s.key.paired() {
		if s.key.channel == chStatus {
			h.advanceStatus(s, root)
		}
		return
	}
	v := root.View(s.key.pair)
	if v == nil || v == s.view && s.key.channel != chCandles {
		return
	}
	switch s.key.channel {
	case chBook:
		h.advanceBook(s, v)
	case chTrades:
		h.advanceTrades(s, v)
	case chTicker:
		if v.TickerVersion != s.view.TickerVersion {
			h.setView(s, v, uint64(v.TickerSeq))
			h.send(s, appendTicker(h.buf[:0], "update", v, h.opts.nowMs()))
		}
	case chCandles:
		h.advanceCandles(s, v)
	default: // other channels do not belong to one pair
	}
}

func (o *Options) nowMs() int64 { return o.Clock.NowNs() / int64(time.Millisecond) }

// machineMs returns the machine's time in ms.
func (o *Options) machineMs() int64 { return o.MachineNs() / int64(time.Millisecond) }

// setView sets the stream's state and drops the cached snapshot, which shows the old one.
func (h *Hub) setView(s *stream, v *marketdata.View, seq uint64) {
	s.view, s.seq, s.snapshot, s.resumes = v, seq, nil, nil
}

// send encodes a message once; deliver later queues it for every live subscriber.
func (h *Hub) send(s *stream, payload []byte) {
	h.buf = payload[:0]
	h.undelivered = append(h.undelivered, delivery{s, &message{frame: h.frame(s, payload), private: s.key.private()}})
	s.lastMs = h.opts.machineMs()
}

// frame returns payload as a frame, with decimals as text when the stream's options ask for it.
func (h *Hub) frame(s *stream, payload []byte) frame {
	if s.key.text {
		return newFrame(opText, edge.AppendQuotedDecimals(nil, payload))
	}
	return newFrame(opText, payload)
}

// heartbeats sends a heartbeat on each stream that was silent for a second.
func (h *Hub) heartbeats() {
	now := h.opts.machineMs()
	for _, s := range h.opened {
		if len(s.subs) == 0 || now-s.lastMs < heartbeatEvery.Milliseconds() {
			continue
		}
		pair := ""
		if s.key.paired() {
			pair = s.view.Instrument.Code
		}
		h.send(s, appendHeartbeat(h.buf[:0], s, pair, h.opts.nowMs()))
	}
}

// housekeeping pings clients, closes silent connections and removes idle streams.
func (h *Hub) housekeeping() {
	now := h.opts.MachineNs()
	for c := range h.conns {
		c.setSpare()
		switch {
		case now-c.pongNs.Load() > int64(h.opts.PongWithin):
			c.backlog.closeWith(closeFrame(closePolicy, "no pong in time"), true)
		case c.hub.resyncing && now-c.hub.fullNs > int64(secondFullWithin): // not caught up since
			h.closeSlow(c)
		case now > c.hub.pingNs:
			c.hub.pingNs = now + int64(h.opts.PingEvery)
			h.answer(c, newFrame(opPing, nil))
		}
	}
	h.stats.update(h)
	h.remove(func(s *stream) bool {
		return len(s.subs) == 0 && now/int64(time.Millisecond)-s.idleMs > idleStreamAge.Milliseconds()
	})
}

// endStale closes every connection while the views of a replica are too old: heartbeats would tell its client that the
// market is quiet. Their client comes back when the replica has caught up, or finds another one.
func (h *Hub) endStale() {
	if h.opts.Stale == nil || len(h.conns) == 0 {
		return
	}
	r := h.opts.Stale()
	if r == nil {
		return
	}
	f := errorFrame(request{}, "", r.Code, r.Message)
	for c := range h.conns {
		if c.hub.detached {
			continue
		}
		c.hub.detached = true
		c.backlog.push(f, kindAnswer)
		c.backlog.closeWith(closeFrame(closeTryLater, string(r.Code)), false)
		h.unsubscribeAll(c)
	}
}

// announceShutdown sends every client the message shutdown and the close frame.
func (h *Hub) announceShutdown() {
	dst := appendHead(h.buf[:0], "shutdown", "", "", "")
	dst = append(dst, `,"time":`...)
	dst = strconv.AppendInt(dst, h.opts.nowMs(), 10)
	dst = append(dst, `,"message":"The server is shutting down; reconnect in a few seconds."}`...)
	f := newFrame(opText, dst)
	for c := range h.conns {
		c.backlog.push(f, kindAnswer)
		c.backlog.closeWith(closeFrame(closeGoingAway, "shutting down"), false)
	}
}
