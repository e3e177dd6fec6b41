package stream

import (
	"cmp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/internal/clock"
	"tickhive/internal/fault"
	"tickhive/internal/refuse"
	"tickhive/internal/step"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// Routes returns the resource that serves GET /ws (docs/contract/streams.md).
func Routes(h *Hub) edge.Resource {
	up := websocket.FastHTTPUpgrader{
		ReadBufferSize: 1, WriteBufferSize: 1, // unused: inbound reads and writer writes
		// Every origin is allowed, because market data is public and private channels need a signature.
		CheckOrigin: func(*fasthttp.RequestCtx) bool { return true },
	}
	return func(*edge.Server) []*edge.Route {
		return []*edge.Route{{
			Method: fasthttp.MethodGet, Path: "/ws", Auth: edge.AuthNever,
			Handle: func(c *edge.Ctx) *refuse.Refusal { return upgrade(c, h, &up) },
		}}
	}
}

func upgrade(c *edge.Ctx, h *Hub, up *websocket.FastHTTPUpgrader) *refuse.Refusal {
	text, err := c.Str("streams")
	if err != nil {
		return err
	}
	first, err := parseStreams(text)
	if err != nil {
		return err
	}
	if !websocket.FastHTTPIsWebSocketUpgrade(c.RequestCtx) {
		return refuse.Param("Upgrade", "This path serves WebSocket only: send the header Upgrade: websocket.")
	}
	select {
	case <-h.stop:
		return refuse.Later(1, "The server is shutting down; connect again in a few seconds.")
	default:
	}
	remote := c.ClientAddr()
	failed := up.Upgrade(c.RequestCtx, func(ws *websocket.Conn) {
		newConn(h, ws.NetConn(), remote).serve(h, first)
	})
	if failed != nil {
		c.Response.Reset()
		return refuse.Param("Upgrade", "The WebSocket handshake failed: %s.", failed)
	}
	return nil
}

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
	Private PrivateFeed
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

// Run runs the hub on the caller's goroutine and returns after Shutdown.
func (h *Hub) Run() {
	h.writers.start(h)
	defer h.writers.stop()
	timer := time.NewTimer(tickEvery)
	defer timer.Stop()
	timerNs := int64(0) // the time for which the timer is set
	for p := h.Step(); !p.Stopped; p = h.Step() {
		if p.Worked {
			continue
		}
		if timerNs != p.NextNs { // usually once a tick
			timerNs = p.NextNs
			timer.Reset(p.Wait(h.opts.MachineNs()))
		}
		select {
		case <-h.notify:
			h.published = true
		case h.op = <-h.ops:
		case <-timer.C:
			timerNs = 0
		case <-h.stop:
		}
	}
}

// Step does one piece of the hub's work: the due tick, the changes of a publication, or one queued
// operation. Then it queues the resulting messages and wakes the writers, and waits for neither.
// Without work, NextNs is the machine time of the next tick. The first step after Shutdown was called
// queues every client's last message and close frame; its result is Stopped.
func (h *Hub) Step() step.Progress {
	if h.ended {
		return step.Progress{Stopped: true}
	}
	select {
	case <-h.stop:
		h.announceShutdown()
		h.writers.flush()
		h.ended = true
		close(h.stopped)
		return step.Progress{Stopped: true}
	default:
	}
	if !h.tickDue() && !h.arrived() {
		return step.Progress{NextNs: h.tickNs}
	}
	h.deliver()
	h.writers.flush() // after all messages are queued, so that one write can join them
	return step.Worked()
}

// tickDue runs a tick that is due and reports whether there was one. After a delay it does not make up for the
// missed ticks.
func (h *Hub) tickDue() bool {
	now := h.opts.MachineNs()
	late := now - h.tickNs
	if late < 0 {
		return false
	}
	h.tickNs = now + int64(tickEvery) - late%int64(tickEvery)
	h.tick()
	return true
}

// arrived sends the changes of a publication or carries out one queued operation, and reports
// whether there was one.
func (h *Hub) arrived() bool {
	if !h.published && h.op == nil {
		select {
		case <-h.notify:
			h.published = true
		default: // a fixed order of checks, so that a driver can repeat a run
			select {
			case h.op = <-h.ops:
			default:
				return false
			}
		}
	}
	if h.published {
		h.published = false
		h.advanceUnconflated()
		return true
	}
	op := h.op
	h.op = nil
	op()
	return true
}

// Shutdown notifies every client, closes the sockets with 1001 and ends Run.
func (h *Hub) Shutdown() {
	h.once.Do(func() { close(h.stop) })
	step.Wait(h.opts.Driver, h.stopped)
}

// channelNames names the channels in Stats; all intervals of candles are one.
var channelNames = [...]string{
	chTicker: "ticker", chTrades: "trades", chBook: "book", chCandles: "candles", chStatus: "status",
	chOrders: "orders", chFills: "fills", chBalances: "balances",
}

// hubStats counts for metrics. The hub changes it, except where a member says otherwise; any goroutine reads it.
type hubStats struct {
	sockets       atomic.Int64
	subscriptions [len(channelNames)]atomic.Int64
	resyncs       atomic.Uint64
	slowCloses    atomic.Uint64
	limited       atomic.Uint64 // messages and subscriptions beyond a limit; counted by readers, too
}

// Stats are the figures of a hub. The numbers of sockets and subscriptions are at most a second old.
type Stats struct {
	Sockets       int64
	Subscriptions map[string]int64 // by channel
	Messages      uint64           // taken for sockets, with answers
	Bytes         uint64
	Dropped       uint64 // messages that clients did not read in time
	Resyncs       uint64 // connections whose messages were dropped and whose streams start over
	SlowCloses    uint64 // connections that were closed because the client does not read
	Limited       uint64 // messages and subscriptions beyond a limit
}

// StatsOf returns the figures of a hub since the start. Any goroutine.
func StatsOf(h *Hub) Stats {
	s := Stats{
		Sockets: h.stats.sockets.Load(), Subscriptions: make(map[string]int64, len(channelNames)),
		Resyncs: h.stats.resyncs.Load(), SlowCloses: h.stats.slowCloses.Load(), Limited: h.stats.limited.Load(),
	}
	for i, name := range channelNames {
		s.Subscriptions[name] = h.stats.subscriptions[i].Load()
	}
	for _, w := range h.writers.all {
		s.Messages += w.messages.Load()
		s.Bytes += w.bytes.Load()
		s.Dropped += w.dropped.Load()
		s.SlowCloses += w.slowCloses.Load()
	}
	return s
}

// update counts the sockets and subscriptions. Only the hub may call it.
func (s *hubStats) update(h *Hub) {
	var n [len(channelNames)]int64
	for key, one := range h.streams {
		n[key.channel] += int64(len(one.subs))
	}
	for i := range n {
		s.subscriptions[i].Store(n[i])
	}
	s.sockets.Store(int64(len(h.conns)))
}
