package stream

import (
	"cmp"
	"hash/crc32"
	"maps"
	"math"
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// messageKind selects the limit of a queued message and whether drop discards it.
type messageKind uint8

const (
	// kindUpdate is a message of a stream. Only updates count against the queue of
	// docs/contract/limits.md#streams. When it is full, all are dropped and each stream
	// starts over with a snapshot.
	kindUpdate messageKind = iota
	// kindSnapshot is the first message of a subscription: a snapshot, or the update or trades
	// of a resume. It is queued when there is room (lowMarkBytes) and dropped with the backlog,
	// because the stream then starts over.
	kindSnapshot
	// kindAnswer is an answer to a client's operation (or the server's ping). It is never
	// dropped, because nothing would repeat it.
	kindAnswer
	messageKinds
)

// Limits of one connection's outbound side (docs/contract/limits.md#streams).
const (
	// maxUpdateBytes is the limit of queued updates (docs/contract/limits.md#streams). A full
	// queue leads to one snapshot per stream.
	maxUpdateBytes = 1 << 20
	// maxAnswerBytes limits the queued answers. The inbound limit of 20 messages a second does
	// not: one message of 8,192 wrong pair codes causes 1.2 MB of errors, so a client that
	// never reads could cause 24 MB a second. Well-behaved clients stay far below the limit:
	// the acknowledgements of 1,000 subscriptions take 0.13 MB and their list 0.1 MB. Beyond
	// the limit the server closes the connection; dropping only the answer would leave the
	// client waiting for it.
	maxAnswerBytes = 4 << 20
	// lowMarkBytes is the backlog below which the hub queues the next waiting snapshot, so at most one snapshot
	// ends above the mark. A hard limit would refuse a book of 60,000 levels (1.2 MB) for ever. If snapshots
	// counted against maxUpdateBytes, that book would leave no room for the following update, which would make
	// the client resync again.
	lowMarkBytes = 256 << 10
)

// maxQueuedBytes limits the queued bytes of each kind. A single message is always accepted.
var maxQueuedBytes = [messageKinds]int{
	kindUpdate: maxUpdateBytes, kindSnapshot: math.MaxInt,
	kindAnswer: maxAnswerBytes,
}

// queuedBytes counts the queued bytes of each kind.
type queuedBytes [messageKinds]int

func (w *queuedBytes) total() int { return w[kindUpdate] + w[kindSnapshot] + w[kindAnswer] }

// message is a queued message, shared by all connections that receive it. A queue is a list
// of pointers, because the hub writes it on one core and a writer reads it on another.
type message struct {
	frame   frame // one frame, or those of several updates one after the other
	more    int   // number of updates beyond the first one
	kind    messageKind
	private bool // of a private channel; withdrawn when the key ends
}

// channel is one channel of docs/contract/streams.md.
type channel uint8

// The channels; those from chOrders on need credentials.
const (
	chTicker channel = iota
	chTrades
	chBook
	chCandles
	chStatus
	chOrders
	chFills
	chBalances
)

// streamKey identifies one stream. All subscribers with the same options share the stream, and the
// hub encodes each of its messages once.
type streamKey struct {
	channel  channel
	interval marketdata.Interval // candles
	text     bool                // decimals=string
	pair     engine.PairID
	depth    int              // book: levels a side, 0: all
	every    int              // book: ms between two messages, 0: a message for each publication
	account  engine.AccountID // private channels
}

// name returns the channel's name on the wire.
func (k streamKey) name() string {
	switch k.channel {
	case chTicker:
		return "ticker"
	case chTrades:
		return "trades"
	case chBook:
		return "book"
	case chCandles:
		return "candles." + k.interval.String()
	case chStatus:
		return "status"
	case chOrders:
		return "orders"
	case chFills:
		return "fills"
	default:
		return "balances"
	}
}

// paired reports whether the channel belongs to one pair.
func (k streamKey) paired() bool { return k.channel <= chCandles }

// private reports whether the channel needs credentials.
func (k streamKey) private() bool { return k.channel >= chOrders }

// stream holds the state that all live subscribers of one key have received. Owner: the hub.
type stream struct {
	key  streamKey
	subs []*subscription

	view   *marketdata.View // the state of the last message
	trade  engine.TradeID   // id of the last trade sent
	candle marketdata.Candle
	closed bool // the candle was sent as closed
	seq    uint64
	lastMs int64 // machine time of the last message
	// machine time at which the last subscriber left, or at which the stream was opened
	idleMs int64
	rows   map[engine.PairID]engine.Seq // status: seq of each pair's row when it was sent last

	snapshot frame // cached snapshot message of view with the reason below; nil: none
	reason   string
	resumes  map[uint64]frame // book: cached answers to resumes, by the seq from which they start
}

// subscription holds the state of one subscription of one connection. Owner: the hub.
//
// It goes between two states:
//
//	subscribe --> pending --startPending: room in the backlog--> live
//	                 ^                                             |
//	                 +---- resync; slow client; new options -------+
//
//	pending  it is in conn.hub.pending and receives no message. startLive queues its first
//	         message: a snapshot, an update (hasFromSeq) or trades (nextTrade). tradesStarted is set
//	         from the first part of a resume of trades to the last one.
//	live     deliver queues every message of its stream.
type subscription struct {
	backlog *backlog // the same as conn.backlog; saves a cache miss for each message (bench streams)
	conn    *session
	stream  *stream
	live    bool   // the subscription receives the stream's messages; otherwise it waits for its snapshot
	pending bool   // the subscription is in the connection's pending list
	reason  string // reason to state in the snapshot for which it waits
	// nextTrade is the next trade that a resuming subscriber of trades needs, 0: none.
	nextTrade     engine.TradeID
	tradesStarted bool // the first trades of the resume were queued
	// fromSeq is the seq from which the client resumes with a difference instead of a snapshot.
	fromSeq    uint64
	hasFromSeq bool
	// delayed are the messages that fault rules hold back, in the order in which they are sent.
	delayed []delayedMessage
}

// remove takes a subscription out of the stream at a machine time in ms.
func (s *stream) remove(sub *subscription, nowMs int64) {
	if i := slices.Index(s.subs, sub); i >= 0 {
		last := len(s.subs) - 1
		s.subs[i] = s.subs[last]
		s.subs[last] = nil
		s.subs = s.subs[:last]
		if last == 0 {
			s.idleMs = nowMs
		}
	}
}

// streamTable holds the streams. Owner: the hub.
type streamTable struct {
	streams     map[streamKey]*stream
	opened      []*stream // all streams in the order in which they were opened, so that a driver can repeat a run
	unconflated []*stream // streams that are advanced after each publication
}

// add adds a stream, in place of an older one of the same key.
func (t *streamTable) add(s *stream) {
	if old := t.streams[s.key]; old != nil {
		t.remove(func(other *stream) bool { return other == old })
	}
	t.streams[s.key] = s
	t.opened = append(t.opened, s)
	if s.key.channel == chTrades || s.key.channel == chBook && s.key.every == 0 {
		t.unconflated = append(t.unconflated, s)
	}
}

// remove removes the streams for which gone returns true.
func (t *streamTable) remove(gone func(s *stream) bool) {
	t.unconflated = slices.DeleteFunc(t.unconflated, gone)
	t.opened = slices.DeleteFunc(t.opened, func(s *stream) bool {
		if !gone(s) {
			return false
		}
		delete(t.streams, s.key)
		return true
	})
}

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
	w := json.On(h.buf[:0])
	writeHead(&w, "update", "", "status", "")
	writeSeqTime(&w, root.SeqSum, h.opts.nowMs())
	w.Name("pairs").List()
	for _, id := range root.Sorted() {
		v := root.View(id)
		if s.rows[id] == v.Seq {
			continue
		}
		s.rows[id] = v.Seq
		h.opts.StatusRow(&w, v, 0)
	}
	if len(s.rows) > len(root.Sorted()) {
		for _, id := range slices.Sorted(maps.Keys(s.rows)) {
			if v := root.View(id); v.Instrument.State == engine.Delisted { // its last row
				delete(s.rows, id)
				h.opts.StatusRow(&w, v, 0)
			}
		}
	}
	w.EndList()
	w.EndObject()
	s.seq = root.SeqSum
	h.send(s, w.Bytes())
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
		w := json.On(dst)
		writeHead(&w, "snapshot", "", "status", "")
		writeSeqTime(&w, s.seq, now)
		w.Name("status").Raw(h.opts.Status(nil))
		w.EndObject()
		return w.Bytes()
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

// bookWalk iterates over the first depth levels of one side of a frozen book.
type bookWalk struct {
	pages []*marketdata.Page
	page  int
	level int
	left  int
}

// start positions the walk at the best level; depth 0 means the whole side. It reuses pages.
func (w *bookWalk) start(s *marketdata.Side, depth int) {
	w.pages, w.page, w.level = w.pages[:0], 0, 0
	w.left = s.Len()
	if depth > 0 {
		w.left = min(w.left, depth)
	}
	need := w.left
	s.Pages(func(p *marketdata.Page) bool {
		w.pages = append(w.pages, p)
		need -= len(p.Levels())
		return need > 0
	})
}

func (w *bookWalk) peek() (marketdata.Level, bool) {
	if w.left == 0 {
		return marketdata.Level{}, false
	}
	return w.pages[w.page].Levels()[w.level], true
}

func (w *bookWalk) step() {
	w.left--
	w.level++
	if w.level == len(w.pages[w.page].Levels()) {
		w.page, w.level = w.page+1, 0
	}
}

// samePage skips a page that both sides share and that is wholly within the depth of both. Pages are frozen, so
// equal pointers mean equal content.
func samePage(a, b *bookWalk) bool {
	if a.level != 0 || b.level != 0 || a.left == 0 || b.left == 0 || a.pages[a.page] != b.pages[b.page] {
		return false
	}
	n := len(a.pages[a.page].Levels())
	if n > a.left || n > b.left {
		return false
	}
	a.left, b.left = a.left-n, b.left-n
	a.page, b.page = a.page+1, b.page+1
	return true
}

// sideDiff lists the changes from the old side to the new one: changed levels with their new
// amount, 0 for levels that are gone or outside the depth.
type sideDiff struct {
	from, to bookWalk
	out      []marketdata.Level
}

func (d *sideDiff) run(from, to *marketdata.Side, depth int, bids bool) []marketdata.Level {
	d.from.start(from, depth)
	d.to.start(to, depth)
	d.out = d.out[:0]
	for {
		if samePage(&d.from, &d.to) {
			continue
		}
		a, okA := d.from.peek()
		b, okB := d.to.peek()
		switch {
		case !okA && !okB:
			return d.out
		case okA && okB && a.Price == b.Price:
			if a.Amount != b.Amount {
				d.out = append(d.out, b)
			}
			d.from.step()
			d.to.step()
		case !okB || (okA && (a.Price > b.Price) == bids):
			d.out = append(d.out, marketdata.Level{Price: a.Price})
			d.from.step()
		default:
			d.out = append(d.out, b)
			d.to.step()
		}
	}
}

// checksumLevels is the number of levels of each side in the checksum
// (docs/contract/streams.md#checksum).
const checksumLevels = 10

// writeHead writes the first members of a message: type, id (if any), channel, pair.
func writeHead(w *json.Writer, kind, id, channel, pair string) {
	w.Object()
	w.Name("type").Word(kind)
	if id != "" {
		w.Name("id").Raw([]byte(id))
	}
	if channel != "" {
		w.Name("channel").Word(channel)
	}
	if pair != "" {
		w.Name("currencyPairCode").Word(pair)
	}
}

func writeSeqTime(w *json.Writer, seq uint64, timeMs int64) {
	w.Name("seq").Uint(seq)
	w.Name("time").Int(timeMs)
}

// writeIDOrNull writes the id of a request, which is JSON already, or null without one.
func writeIDOrNull(w *json.Writer, id string) { w.Name("id").Raw([]byte(cmp.Or(id, "null"))) }

// errorFrame returns an error message; the socket stays open.
func errorFrame(req request, pair string, r *refuse.Refusal) frame {
	var w json.Writer
	w.Object()
	w.Name("type").Word("error")
	writeIDOrNull(&w, req.id)
	w.Name("channel").TextOrNull(req.channel)
	w.Name("currencyPairCode").TextOrNull(pair)
	w.Name("code").Text(string(r.Code))
	w.Name("message").Text(r.Message)
	w.Name("field").TextOrNull(r.Field)
	w.EndObject()
	return newFrame(opText, w.Bytes())
}

// appendBookSnapshot appends the snapshot message of a book stream. Its seq is the stream's
// seq, because that is the prevSeq of the next update. The stream's seq stays behind the
// view's seq while only levels outside the depth change.
func appendBookSnapshot(dst []byte, s *stream, epoch, reason string, timeMs int64) []byte {
	v, depth := s.view, s.key.depth
	w := json.On(dst)
	writeHead(&w, "snapshot", "", "book", v.Instrument.Code)
	w.Name("epoch").Word(epoch)
	writeSeqTime(&w, s.seq, timeMs)
	w.Name("reason").Word(reason)
	writeTopLevels(w.Name("bids"), &v.Bids, v.Instrument, depth)
	writeTopLevels(w.Name("asks"), &v.Asks, v.Instrument, depth)
	w.Name("checksum").Uint(uint64(bookChecksum(v)))
	w.EndObject()
	return w.Bytes()
}

func writeTopLevels(w *json.Writer, s *marketdata.Side, in *engine.Instrument, depth int) {
	n := 0
	w.List()
	s.All(func(l marketdata.Level) bool {
		if depth > 0 && n == depth {
			return false
		}
		writeLevel(w, l, in)
		n++
		return true
	})
	w.EndList()
}

func writeLevel(w *json.Writer, l marketdata.Level, in *engine.Instrument) {
	w.List()
	w.Units(l.Price, in.DigitsPrice)
	w.Units(l.Amount, in.DigitsAmount)
	w.EndList()
}

// appendBookUpdate appends the update message of a book stream from prevSeq to seq.
func appendBookUpdate(
	dst []byte, v *marketdata.View, prevSeq, seq uint64, bids, asks []marketdata.Level, timeMs int64,
) []byte {
	w := json.On(dst)
	writeHead(&w, "update", "", "book", v.Instrument.Code)
	w.Name("prevSeq").Uint(prevSeq)
	writeSeqTime(&w, seq, timeMs)
	writeChanged(w.Name("bids"), bids, v.Instrument)
	writeChanged(w.Name("asks"), asks, v.Instrument)
	w.Name("checksum").Uint(uint64(bookChecksum(v)))
	w.EndObject()
	return w.Bytes()
}

func writeChanged(w *json.Writer, levels []marketdata.Level, in *engine.Instrument) {
	w.List()
	for _, l := range levels {
		writeLevel(w, l, in)
	}
	w.EndList()
}

// bookChecksum returns the CRC-32 (IEEE) of the top 10 bids, `|` and the top 10 asks. Each level
// is price:amount as printed, joined by commas (docs/contract/streams.md#checksum).
func bookChecksum(v *marketdata.View) uint32 {
	var buf [1024]byte
	text := appendChecksumSide(buf[:0], &v.Bids, v.Instrument)
	text = append(text, '|')
	text = appendChecksumSide(text, &v.Asks, v.Instrument)
	return crc32.ChecksumIEEE(text)
}

func appendChecksumSide(dst []byte, s *marketdata.Side, in *engine.Instrument) []byte {
	n := 0
	s.All(func(l marketdata.Level) bool {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = fixed.AppendI64(dst, l.Price, in.DigitsPrice)
		dst = fixed.AppendI64(append(dst, ':'), l.Amount, in.DigitsAmount)
		n++
		return n < checksumLevels
	})
	return dst
}

// appendHeartbeat appends a heartbeat with the seq of a silent stream.
func appendHeartbeat(dst []byte, s *stream, pair string, timeMs int64) []byte {
	w := json.On(dst)
	w.Object()
	w.Name("type").Word("heartbeat")
	w.Name("channel").Word(s.key.name())
	w.Name("currencyPairCode").TextOrNull(pair)
	w.Name("seq").Uint(s.seq)
	w.Name("tradeId")
	if s.key.channel == chTrades {
		w.Uint(uint64(s.trade))
	} else {
		w.Null()
	}
	w.Name("time").Int(timeMs)
	w.EndObject()
	return w.Bytes()
}

// appendTrades appends a trades snapshot or update: from..to, oldest first, without a gap.
func appendTrades(dst []byte, kind string, v *marketdata.View, from, to engine.TradeID, timeMs int64) []byte {
	w := json.On(dst)
	writeHead(&w, kind, "", "trades", v.Instrument.Code)
	writeSeqTime(&w, uint64(v.TradesSeq), timeMs)
	w.Name("trades").List()
	for id := from; id <= to && id != 0; id++ {
		t := v.Trades.At(id)
		w.Object()
		w.Name("tradeId").Uint(uint64(id))
		objects.WriteDeal(&w, v.Instrument, id, &t, nil)
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
	return w.Bytes()
}

// appendTicker appends a snapshot or update of the ticker channel: the document of /api/tickers, and beside it those
// figures of the same 24 h that the document lacks.
func appendTicker(dst []byte, kind string, v *marketdata.View, timeMs int64) []byte {
	t, in := &v.Ticker, v.Instrument
	w := json.On(dst)
	writeHead(&w, kind, "", "ticker", in.Code)
	writeSeqTime(&w, uint64(v.TickerSeq), timeMs)
	objects.WriteTicker(w.Name("ticker"), v)
	w.Name("high24h").Units(t.High, in.DigitsPrice)
	w.Name("low24h").Units(t.Low, in.DigitsPrice)
	w.Name("quoteVolume24h").Sum(t.QuoteVolume, in.DigitsTotal())
	w.EndObject()
	return w.Bytes()
}

// appendCandle appends a snapshot or update of a candles channel; no candle is null.
func appendCandle(
	dst []byte, kind string, s *stream, v *marketdata.View, c marketdata.Candle, closed bool, timeMs int64,
) []byte {
	w := json.On(dst)
	writeHead(&w, kind, "", s.key.name(), v.Instrument.Code)
	writeSeqTime(&w, uint64(v.TradesSeq), timeMs)
	w.Name("candle")
	if c.Trades == 0 {
		w.Null()
	} else {
		objects.WriteCandle(&w, v.Instrument, &c)
	}
	w.Name("closed").Bool(closed)
	w.EndObject()
	return w.Bytes()
}
