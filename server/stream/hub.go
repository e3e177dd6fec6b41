package stream

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/private"
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
			Method: fasthttp.MethodGet, Path: "/ws", Auth: edge.AuthNever, Params: edge.Params(streamsOf),
			Handle: func(c *edge.Ctx) *refuse.Refusal { return upgrade(c, h, &up) },
		}}
	}
}

// streamsOf names the streams that a socket begins with.
var streamsOf = edge.Text("streams")

func upgrade(c *edge.Ctx, h *Hub, up *websocket.FastHTTPUpgrader) *refuse.Refusal {
	text, err := streamsOf.Of(c)
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
	if h.Stopping() {
		return refuse.Later(1, "The server is shutting down; connect again in a few seconds.")
	}
	remote := c.ClientAddr()
	failed := up.Upgrade(c.RequestCtx, func(ws *websocket.Conn) {
		var s *session
		h.Serve(ws.NetConn(), remote, func(c *Conn) Session {
			s = newSession(h, c)
			return s
		}, func() {
			for _, r := range first {
				operation{h, s, r}.run()
			}
		})
	})
	if failed != nil {
		c.Response.Reset()
		return refuse.Param("Upgrade", "The WebSocket handshake failed: %s.", failed)
	}
	return nil
}

// Intervals and limits of the hub.
const (
	heartbeatEvery   = time.Second
	idleStreamAge    = 2 * time.Minute // after this time a stream without subscribers is removed
	secondFullWithin = 10 * time.Second
)

// Options configures a Hub. Board, Clock and Epoch are required.
type Options struct {
	SocketOptions
	Board *marketdata.Board
	Clock clock.Clock
	Epoch string // 16 hex digits that identify the history of seqs (docs/contract/streams.md#resume)
	// Status renders /api/status.
	Status func(dst []byte) []byte
	// StatusRow writes the status row of one pair.
	StatusRow func(w *json.Writer, v *marketdata.View, ageNs int64)
	// NotWriter returns the refusal of credentials by a replica; nil: not a replica.
	NotWriter func() *refuse.Refusal
	// Stale returns the reason why a replica refuses reads, nil while it serves them; nil: it never does.
	Stale func() *refuse.Refusal
	// Published returns a channel that is closed when the views change; nil: no other node shows a client more than
	// these views have.
	Published func() <-chan struct{}
	// Private is the source of the channels that need credentials; nil disables them. Feed has the events of accounts.
	Private Accounts
	Feed    *private.Feed
	// Faults holds the rules of faults on demand; nil: there are none.
	Faults *fault.Switch
}

// Hub turns published views into streams. It compares the views that it loads, so it costs
// the publisher nothing and never loses a change: it only joins several, and a delay in the
// hub leads to one larger update. It is the native protocol of its Sockets, whose goroutine owns every field.
type Hub struct {
	*Sockets
	opts Options

	streamTable
	board       boardReader
	pairs       uint64 // Root.PairsVersion up to which endDelisted has looked
	diff        [2]sideDiff
	private     privateStreams
	resumes     resumeDiff
	buf         []byte
	undelivered []delivery // encoded messages that are not queued for their subscribers yet
	slow        slowConns  // scratch buffer of deliver
	joined      joinedUpdates
	// deliveries counts deliveries; a connection counts as slow at most once in each.
	deliveries uint64
	faulty     faultyDelivery
	stats      hubStats
}

// NewHub returns a hub; Run starts it.
func NewHub(o Options) *Hub {
	h := &Hub{opts: o, streamTable: streamTable{streams: make(map[streamKey]*stream)}}
	h.Sockets = NewSockets(h, &h.opts.SocketOptions)
	h.board.Board = o.Board
	h.private.hub, h.faulty.hub = h, h
	if o.Private != nil {
		o.Private.OnKeyDeleted(h.private.keyDeleted)
	}
	return h
}

// SetEpoch replaces the epoch of a hub that does not run yet.
func SetEpoch(h *Hub, epoch string) { h.opts.Epoch = epoch }

// Fold implements sequencer.Sink: the hub uses views and the events of Options.Feed.
func (h *Hub) Fold([]engine.Event, uint64) {}

// Publish implements sequencer.Sink: it wakes the hub and never waits.
func (h *Hub) Publish(int64) { h.Wake() }

// NextNs implements sequencer.Sink: the hub needs no call at a market time.
func (h *Hub) NextNs() int64 { return 1<<63 - 1 }

// unsubscribeAll removes a connection and its key from all streams.
func (h *Hub) unsubscribeAll(c *session) {
	h.private.unguard(c, false)
	h.private.unbind(c)
	left := false
	for key, sub := range c.hub.subs {
		h.endSubscription(sub)
		left = left || key.private()
	}
	c.hub.pending = nil
	if left {
		h.private.watch()
	}
}

// endSubscription ends a subscription. The caller calls private.watch once it has ended every private one that it ends.
func (h *Hub) endSubscription(sub *subscription) {
	sub.stream.remove(sub, h.opts.machineMs())
	delete(sub.conn.hub.subs, sub.stream.key.subKey())
}

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
	h.endDelisted(root)
	h.private.sendMessages()
}

// Render implements Protocol. Every occasion ends with the delivery of what it has made, so that a writer can join it.
func (h *Hub) Render(o Occasion) {
	switch o {
	case Published:
		h.advanceUnconflated()
	case Tick:
		h.advanceAll(false)
	case Second:
		h.advanceAll(true)
		h.housekeeping()
	case Operated: // the operation has queued its answers
	}
	h.deliver()
}

// advanceAll advances the conflated streams, those of a second too if it is over.
func (h *Hub) advanceAll(second bool) {
	h.endStale()
	root := h.board.load()
	for _, s := range h.opened {
		if s.key.every == 1000 || s.key.channel == chStatus {
			if !second {
				continue
			}
		}
		h.advance(s, root)
	}
	h.endDelisted(root)
	h.private.sendMessages()
	h.heartbeats()
	h.faulty.releaseDue()
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

// endDelisted ends the streams of pairs that were delisted. Their subscribers get the last change of the pair first,
// whatever the interval, and then an error.
func (h *Hub) endDelisted(root *marketdata.Root) {
	if h.pairs == root.PairsVersion {
		return
	}
	h.pairs = root.PairsVersion
	var ended []*stream
	for _, s := range h.opened {
		if !s.key.paired() || len(s.subs) == 0 {
			continue
		}
		if v := root.View(s.key.pair); v != nil && v.Instrument.State == engine.Delisted {
			h.advance(s, root)
			ended = append(ended, s)
		}
	}
	if len(ended) == 0 {
		return
	}
	h.deliver()
	for _, s := range ended {
		code := s.view.Instrument.Code
		for _, sub := range slices.Clone(s.subs) { // the refusal may close the connection, which shrinks s.subs
			h.endSubscription(sub)
			if sub.conn.SetSpare(); !sub.conn.hub.detached {
				operation{h, sub.conn, request{channel: s.key.name()}}.refuse(code,
					refuse.Missing("", "The pair %s was delisted: this subscription has ended.", code))
			}
		}
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

// sessions returns the sessions of all connections.
func (h *Hub) sessions(yield func(*session) bool) {
	for c := range h.conns {
		if !yield(c.session.(*session)) {
			return
		}
	}
}

// housekeeping closes the connections that have not caught up in time and removes idle streams.
func (h *Hub) housekeeping() {
	now := h.opts.MachineNs()
	for c := range h.sessions {
		if c.hub.resyncing && now-c.hub.fullNs > int64(secondFullWithin) {
			h.closeSlow(c)
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
	f := errorFrame(request{}, "", r)
	for c := range h.sessions {
		if c.hub.detached {
			continue
		}
		c.hub.detached = true
		c.backlog.push(f, kindAnswer)
		c.backlog.closeWith(closeFrame(closeTryLater, string(r.Code)), false)
		h.unsubscribeAll(c)
	}
}

// channelNames names the channels in Stats; all intervals of candles are one.
var channelNames = [...]string{
	chTicker: "ticker", chTrades: "trades", chBook: "book", chCandles: "candles", chStatus: "status",
	chOrders: "orders", chFills: "fills", chBalances: "balances",
}

// hubStats counts for metrics. The hub changes it, except where a member says otherwise; any goroutine reads it.
type hubStats struct {
	subscriptions [len(channelNames)]atomic.Int64
	resyncs       atomic.Uint64
	slowCloses    atomic.Uint64
	limited       atomic.Uint64 // messages and subscriptions beyond a limit; counted by readers, too
}

// Stats are the figures of a hub. The numbers of subscriptions are at most a second old.
type Stats struct {
	Figures
	Subscriptions map[string]int64 // by channel
	Resyncs       uint64           // connections whose messages were dropped and whose streams start over
	Limited       uint64           // messages and subscriptions beyond a limit
}

// StatsOf returns the figures of a hub since the start. Any goroutine.
func StatsOf(h *Hub) Stats {
	s := Stats{
		Figures: h.Figures(), Subscriptions: make(map[string]int64, len(channelNames)),
		Resyncs: h.stats.resyncs.Load(), Limited: h.stats.limited.Load(),
	}
	s.SlowCloses += h.stats.slowCloses.Load()
	for i, name := range channelNames {
		s.Subscriptions[name] = h.stats.subscriptions[i].Load()
	}
	return s
}

// update counts the subscriptions. Only the hub may call it.
func (s *hubStats) update(h *Hub) {
	var n [len(channelNames)]int64
	for key, one := range h.streams {
		n[key.channel] += int64(len(one.subs))
	}
	for i := range n {
		s.subscriptions[i].Store(n[i])
	}
}
