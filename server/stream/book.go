package stream

import (
	"time"

	"tickhive/engine"
	"tickhive/marketdata"
)

// wsTradesChunk is the maximum number of trades in one message. A resuming subscriber
// that needs more receives several messages.
const wsTradesChunk = 1000

// wsTradesSnapshot is the number of trades in a snapshot (docs/contract/streams.md#channels).
const wsTradesSnapshot = 100

// advanceBook sends the difference between the stream's last view and v. It sends nothing
// when only levels outside the stream's depth changed.
func (h *Hub) advanceBook(s *wsStream, v *marketdata.View) {
	if v.BookSeq == s.view.BookSeq {
		return
	}
	bids := h.diff[0].run(&s.view.Bids, &v.Bids, s.key.depth, true)
	asks := h.diff[1].run(&s.view.Asks, &v.Asks, s.key.depth, false)
	if len(bids)+len(asks) == 0 && s.key.depth != 0 {
		// The next difference starts from the newer view; the seq chain stays at s.seq.
		s.view, s.snapshot, s.resumes = v, nil, nil
		return
	}
	prev := s.seq
	h.setView(s, v, uint64(v.BookSeq))
	h.send(s, appendBookUpdate(h.buf[:0], v, prev, s.seq, bids, asks, h.nowMs()))
}

// advanceTrades sends the trades since the last message.
func (h *Hub) advanceTrades(s *wsStream, v *marketdata.View) {
	if v.Trades.Last() == s.trade {
		return
	}
	for s.trade < v.Trades.Last() {
		from := max(s.trade+1, v.Trades.First())
		to := min(v.Trades.Last(), from+wsTradesChunk-1)
		s.trade = to
		h.setView(s, v, uint64(v.TradesSeq))
		h.send(s, appendWSTrades(h.buf[:0], "update", v, from, to, h.nowMs()))
	}
}

// advanceCandles sends every candle that ended since the last message as closed, and the
// open candle when it changed. A candle also ends when no trade occurs.
func (h *Hub) advanceCandles(s *wsStream, v *marketdata.View) {
	series := &v.Candles[s.key.interval]
	nowSec := h.opts.Clock.NowNs() / int64(time.Second)
	for i := series.Search(s.candle.Start); i < series.Len(); i++ {
		c := series.At(i)
		closed := i < series.Len()-1 || nowSec >= s.key.interval.Next(c.Start)
		if c == s.candle && closed == s.closed {
			continue
		}
		s.candle, s.closed = c, closed
		h.setView(s, v, uint64(v.TradesSeq))
		h.send(s, appendWSCandle(h.buf[:0], "update", s, v, c, closed, h.nowMs()))
	}
}

// advanceStatus sends the rows that changed.
func (h *Hub) advanceStatus(s *wsStream, root *marketdata.Root) {
	if root.SeqSum == s.seq || h.opts.StatusRow == nil {
		return
	}
	dst := appendWSHead(h.buf[:0], "update", "", "status", "")
	dst = appendSeqTime(dst, root.SeqSum, h.nowMs())
	dst = append(dst, `,"pairs":[`...)
	n := 0
	for _, id := range root.Sorted() {
		v := root.View(id)
		if s.rows[id] == v.Seq {
			continue
		}
		s.rows[id] = v.Seq
		if n++; n > 1 {
			dst = append(dst, ',')
		}
		dst = h.opts.StatusRow(dst, v, 0)
	}
	s.seq = root.SeqSum
	h.send(s, append(dst, `]}`...))
}

// begin queues the snapshot that a subscription waits for and makes the subscription live.
// It returns false when more messages must follow first. Only the snapshot of a view is
// cached for the next subscriber: a status snapshot also holds the time and the incidents,
// which change while the market is idle.
func (h *Hub) begin(sub *wsSub) bool {
	s := sub.stream
	if s.key.channel == chTrades && sub.from != 0 {
		return h.beginTrades(sub)
	}
	if sub.hasResume {
		if h.beginResume(sub) {
			sub.live = true
			return true
		}
		sub.reason = "gap"
	}
	f := s.snapshot
	if f == nil || s.reason != sub.reason {
		f = h.frame(s, h.appendSnapshot(h.buf[:0], s, sub.reason))
		if s.key.paired() {
			s.snapshot, s.reason = f, sub.reason
		}
	}
	sub.conn.out.share(&wsQueued{f, wsSnapshot, s.key.private()})
	sub.live = true
	return true
}

// beginTrades queues the trades that a resuming subscriber missed, one chunk per call, until the
// subscriber has caught up with the stream. Between two chunks the stream advances and old trades
// are evicted: a subscriber whose next trade is evicted receives a snapshot and starts over.
func (h *Hub) beginTrades(sub *wsSub) bool {
	s := sub.stream
	kind := "update"
	if first := s.view.Trades.First(); !sub.started || sub.from < first {
		kind, sub.started = "snapshot", true
		sub.from = max(sub.from, first)
	}
	to := min(s.trade, sub.from+wsTradesChunk-1)
	sub.conn.out.push(h.frame(s, appendWSTrades(h.buf[:0], kind, s.view, sub.from, to, h.nowMs())), wsSnapshot)
	sub.from = max(sub.from, to+1)
	if sub.from > s.trade {
		sub.from, sub.live = 0, true
		return true
	}
	return false
}

// appendSnapshot appends the snapshot message of the stream's state.
func (h *Hub) appendSnapshot(dst []byte, s *wsStream, reason string) []byte {
	now := h.nowMs()
	switch s.key.channel {
	case chBook:
		return appendBookSnapshot(dst, s, h.opts.Epoch, reason, now)
	case chTrades:
		from := max(s.view.Trades.First(), 1)
		if s.trade >= wsTradesSnapshot {
			from = max(from, s.trade-wsTradesSnapshot+1)
		}
		return appendWSTrades(dst, "snapshot", s.view, from, s.trade, now)
	case chTicker:
		return appendWSTicker(dst, "snapshot", s.view, now)
	case chCandles:
		return appendWSCandle(dst, "snapshot", s, s.view, s.candle, s.closed, now)
	case chStatus:
		dst = appendWSHead(dst, "snapshot", "", "status", "")
		dst = appendSeqTime(dst, s.seq, now)
		dst = h.opts.Status(append(dst, `,"status":`...))
		return append(dst, '}')
	}
	return h.private.appendSnapshot(dst, s, now)
}

// open creates a stream that starts at the currently published view.
func (h *Hub) open(key wsKey, v *marketdata.View, root *marketdata.Root) *wsStream {
	now := h.machineMs()
	s := &wsStream{key: key, view: v, lastMs: now, idleMs: now}
	switch key.channel {
	case chBook:
		s.seq = uint64(v.BookSeq)
	case chTrades:
		s.seq, s.trade = uint64(v.TradesSeq), v.Trades.Last()
	case chTicker:
		s.seq = uint64(v.TickerSeq)
	case chCandles:
		s.seq = uint64(v.TradesSeq)
		if n := v.Candles[key.interval].Len(); n > 0 {
			s.candle = v.Candles[key.interval].At(n - 1)
			s.closed = h.opts.Clock.NowNs()/int64(time.Second) >= key.interval.Next(s.candle.Start)
		}
	case chStatus:
		s.seq = root.SeqSum
		s.rows = make(map[engine.PairID]engine.Seq)
		for _, id := range root.Sorted() {
			s.rows[id] = root.View(id).Seq
		}
	}
	h.streams[key] = s
	if key.channel == chTrades || key.channel == chBook && key.every == 0 {
		h.instant[key] = s
	}
	return s
}
