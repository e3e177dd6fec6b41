package stream

import (
	"tickhive/engine"
	"tickhive/marketdata"
)

// maxTradesPerMessage is the maximum number of trades in one message. A resuming subscriber
// that needs more receives several messages.
const maxTradesPerMessage = 1000

// snapshotTrades is the number of trades in a snapshot (docs/contract/streams.md#channels).
const snapshotTrades = 100

// advanceBook sends the difference between the stream's last view and v. It sends nothing
// when only levels outside the stream's depth changed.
func (h *Hub) advanceBook(s *stream, v *marketdata.View) {
	if v.BookSeq == s.view.BookSeq {
		return
	}
	bids := h.diff[0].run(&s.view.Bids, &v.Bids, s.key.depth, true)
	asks := h.diff[1].run(&s.view.Asks, &v.Asks, s.key.depth, false)
	if len(bids)+len(asks) == 0 && s.key.depth != 0 {
		// The next difference starts at the newer view. s.seq, to which the next update refers, does not change.
		s.view, s.snapshot, s.resumes = v, nil, nil
		return
	}
	prev := s.seq
	h.setView(s, v, uint64(v.BookSeq))
	h.send(s, appendBookUpdate(h.buf[:0], v, prev, s.seq, bids, asks, h.opts.nowMs()))
}

// advanceTrades sends the trades since the last message.
func (h *Hub) advanceTrades(s *stream, v *marketdata.View) {
	if v.Trades.Last() == s.trade {
		return
	}
	for s.trade < v.Trades.Last() {
		from := max(s.trade+1, v.Trades.First())
		to := min(v.Trades.Last(), from+maxTradesPerMessage-1)
		s.trade = to
		h.setView(s, v, uint64(v.TradesSeq))
		h.send(s, appendTrades(h.buf[:0], "update", v, from, to, h.opts.nowMs()))
	}
}

// advanceCandles sends every candle that ended since the last message as closed, and the
// open candle when it changed. A candle also ends when no trade occurs.
func (h *Hub) advanceCandles(s *stream, v *marketdata.View) {
	series := v.Candles(s.key.interval)
	for i := series.Search(s.candle.Start); i < series.Len(); i++ {
		c := series.At(i)
		closed := i < series.Len()-1 || h.board.closed(s.key.interval, &c)
		if c == s.candle && closed == s.closed {
			continue
		}
		s.candle, s.closed = c, closed
		h.setView(s, v, uint64(v.TradesSeq))
		h.send(s, appendCandle(h.buf[:0], "update", s, v, c, closed, h.opts.nowMs()))
	}
}

// advanceStatus sends the rows that changed.
func (h *Hub) advanceStatus(s *stream, root *marketdata.Root) {
	if root.SeqSum == s.seq || h.opts.StatusRow == nil {
		return
	}
	dst := appendHead(h.buf[:0], "update", "", "status", "")
	dst = appendSeqTime(dst, root.SeqSum, h.opts.nowMs())
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

// startLive queues the first message of a pending subscription and makes the subscription live. It returns
// false when further messages must come first. Only snapshots of views are cached for the next subscriber. A
// status snapshot is not, because it has the time and the incidents, which change without a publication.
func (h *Hub) startLive(sub *subscription) bool {
	s := sub.stream
	if s.key.channel == chTrades && sub.nextTrade != 0 {
		return h.resumeTrades(sub)
	}
	if sub.hasFromSeq {
		if h.resumeBook(sub) {
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
	sub.conn.backlog.pushShared(&message{frame: f, kind: kindSnapshot, private: s.key.private()})
	sub.live = true
	return true
}

// resumeTrades queues the trades that a resuming subscriber has missed, one chunk per call, until the
// subscriber has all trades of the stream. Between two calls the stream advances and old trades are evicted. If
// the next trade has been evicted, the subscriber gets a snapshot instead.
func (h *Hub) resumeTrades(sub *subscription) bool {
	s := sub.stream
	kind := "update"
	if first := s.view.Trades.First(); !sub.tradesStarted || sub.nextTrade < first {
		kind, sub.tradesStarted = "snapshot", true
		sub.nextTrade = max(sub.nextTrade, first)
	}
	to := min(s.trade, sub.nextTrade+maxTradesPerMessage-1)
	f := h.frame(s, appendTrades(h.buf[:0], kind, s.view, sub.nextTrade, to, h.opts.nowMs()))
	sub.conn.backlog.push(f, kindSnapshot)
	sub.nextTrade = max(sub.nextTrade, to+1)
	if sub.nextTrade > s.trade {
		sub.nextTrade, sub.live = 0, true
		return true
	}
	return false
}

// appendSnapshot appends the snapshot message of the stream's state.
func (h *Hub) appendSnapshot(dst []byte, s *stream, reason string) []byte {
	now := h.opts.nowMs()
	switch s.key.channel {
	case chBook:
		return appendBookSnapshot(dst, s, h.opts.Epoch, reason, now)
	case chTrades:
		from := max(s.view.Trades.First(), 1)
		if s.trade >= snapshotTrades {
			from = max(from, s.trade-snapshotTrades+1)
		}
		return appendTrades(dst, "snapshot", s.view, from, s.trade, now)
	case chTicker:
		return appendTicker(dst, "snapshot", s.view, now)
	case chCandles:
		return appendCandle(dst, "snapshot", s, s.view, s.candle, s.closed, now)
	case chStatus:
		dst = appendHead(dst, "snapshot", "", "status", "")
		dst = appendSeqTime(dst, s.seq, now)
		dst = h.opts.Status(append(dst, `,"status":`...))
		return append(dst, '}')
	default:
		return h.private.appendSnapshot(dst, s, now)
	}
}

// openStream creates a stream that starts at the currently published view.
func (h *Hub) openStream(key streamKey) *stream {
	root, now := h.board.load(), h.opts.machineMs()
	var v *marketdata.View
	if key.paired() {
		v = root.View(key.pair)
	}
	s := &stream{key: key, view: v, lastMs: now, idleMs: now}
	switch key.channel {
	case chBook:
		s.seq = uint64(v.BookSeq)
	case chTrades:
		s.seq, s.trade = uint64(v.TradesSeq), v.Trades.Last()
	case chTicker:
		s.seq = uint64(v.TickerSeq)
	case chCandles:
		s.seq = uint64(v.TradesSeq)
		series := v.Candles(key.interval)
		if n := series.Len(); n > 0 {
			s.candle = series.At(n - 1)
			s.closed = h.board.closed(key.interval, &s.candle)
		}
	case chStatus:
		s.seq = root.SeqSum
		s.rows = make(map[engine.PairID]engine.Seq)
		for _, id := range root.Sorted() {
			s.rows[id] = root.View(id).Seq
		}
	default: // a private stream begins with its first message
	}
	h.add(s)
	return s
}
