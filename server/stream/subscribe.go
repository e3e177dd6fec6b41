package stream

import (
	"slices"
	"strconv"
	"strings"

	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/encode"
)

// wsDefaultDepth and wsDefaultEvery are the defaults of a book subscription.
const (
	wsDefaultDepth = 100
	wsDefaultEvery = 100
)

// operation is one operation of a client. It runs on the hub's goroutine.
type operation struct {
	hub  *Hub
	conn *wsConn
	req  wsRequest
}

// run carries out the operation.
func (o operation) run() {
	if o.conn.hub.gone {
		return
	}
	switch o.req.op {
	case "subscribe":
		o.each(operation.subscribe)
	case "unsubscribe":
		o.each(operation.unsubscribe)
	case "resync":
		o.each(operation.resync)
	case "list":
		o.list()
	case "auth":
		o.authenticate()
	case "ping":
		dst := appendWSHead(nil, "pong", o.req.id, "", "")
		dst = strconv.AppendInt(append(dst, `,"time":`...), o.hub.nowMs(), 10)
		o.hub.answer(o.conn, newFrame(wsOpText, append(dst, '}')))
	default:
		o.refuse("", refuse.InvalidParam, "op must be one of subscribe, unsubscribe, resync, list, auth, ping.")
	}
}

func (o operation) refuse(pair string, code refuse.Code, message string) {
	o.hub.answer(o.conn, wsErrorFrame(o.req, pair, code, message))
}

// answer queues an answer. It closes the connection of a client that does not read its answers.
func (h *Hub) answer(c *wsConn, f wsFrame) {
	if !c.out.push(f, wsAnswer) {
		h.tooSlow(c)
	}
}

// each calls fn for every pair of the request, or once for channels without pairs.
func (o operation) each(fn func(operation, wsKey, *marketdata.View)) {
	key, ok := parseChannel(o.req.channel)
	switch {
	case !ok:
		o.refuse("", refuse.InvalidParam, "channel must be one of ticker, trades, book, candles.{interval}, status, orders, fills, balances.")
		return
	case key.private() && o.hub.opts.Private == nil:
		o.refuse("", refuse.NotFound, "This server has no accounts.")
		return
	case key.private() && !o.signed():
		o.refuse("", refuse.Unauthorized, "The channel "+o.req.channel+" needs auth first.")
		return
	}
	key.text = o.req.text
	if !key.paired() {
		if len(o.req.pairs) > 0 {
			o.refuse(o.req.pairs[0], refuse.InvalidParam, "The channel "+o.req.channel+" takes no pairs.")
			return
		}
		if key.private() {
			key.account = o.conn.hub.key.Account
		}
		fn(o, key, nil)
		return
	}
	if len(o.req.pairs) == 0 {
		o.refuse("", refuse.InvalidParam, "The channel "+o.req.channel+" needs pairs.")
		return
	}
	root := o.hub.opts.Board.Load()
	for _, pair := range o.req.pairs {
		if o.conn.hub.gone { // closed because of the unread answers for earlier pairs
			return
		}
		o.eachPair(key, root, pair, fn)
	}
}

// signed reports whether a connection has a key that is still valid.
func (o operation) signed() bool {
	o.hub.private.endKeys()
	return o.conn.hub.authed
}

func (o operation) eachPair(key wsKey, root *marketdata.Root, pair string, fn func(operation, wsKey, *marketdata.View)) {
	if !engine.ValidPairCode(pair) {
		o.refuse(pair, refuse.InvalidParam, "A pair code has the form BASE_QUOTE.")
		return
	}
	v := root.Lookup(pair)
	if v == nil {
		o.refuse(pair, refuse.NotFound, "There is no pair "+pair+".")
		return
	}
	key.pair = v.Instrument.ID
	if key.channel == chBook {
		key.depth, key.every = wsDefaultDepth, wsDefaultEvery
		if o.req.depth != nil {
			key.depth = *o.req.depth
		}
		if o.req.every != nil {
			key.every = *o.req.every
		}
	}
	fn(o, key, v)
}

// parseChannel reads a channel's name.
func parseChannel(name string) (wsKey, bool) {
	for ch := chTicker; ch <= chBalances; ch++ {
		if k := (wsKey{channel: ch}); ch != chCandles && k.name() == name {
			return k, true
		}
	}
	rest, ok := strings.CutPrefix(name, "candles.")
	if !ok {
		return wsKey{}, false
	}
	i, ok := marketdata.ParseInterval(rest)
	return wsKey{channel: chCandles, interval: i}, ok
}

// subKey returns the key under which a connection holds a subscription. It leaves out the
// options: new options change a subscription instead of adding one.
func (k wsKey) subKey() wsKey {
	k.depth, k.every, k.text = 0, 0, false
	return k
}

func (o operation) subscribe(key wsKey, v *marketdata.View) {
	old := o.conn.hub.subs[key.subKey()]
	if old == nil && len(o.conn.hub.subs) >= wsMaxSubs {
		o.refuse(codeOf(v), refuse.RateLimit, "A connection has at most 1000 subscriptions.")
		return
	}
	s := o.hub.streams[key]
	if s == nil {
		s = o.hub.open(key, v, o.hub.opts.Board.Load())
	} else if len(s.subs) == 0 && !key.private() {
		s = o.hub.open(key, v, o.hub.opts.Board.Load()) // idle, so not current: start over
	} else if len(s.subs) == 0 {
		s.lastMs = machineMs() // no subscriber was waiting for a heartbeat
	}
	o.acknowledge("subscribed", key, v)
	if o.conn.hub.gone {
		return
	}
	if old != nil && old.stream == s && o.req.fromSeq == nil && o.req.fromTrade == nil {
		return // a repeat without a change
	}
	if old != nil {
		old.stream.remove(old)
	}
	sub := &wsSub{out: o.conn.out, conn: o.conn, stream: s, reason: "subscribe"}
	o.conn.hub.subs[key.subKey()] = sub
	s.subs = append(s.subs, sub)
	if key.private() {
		o.hub.private.watch()
		o.hub.private.follow() // the queued messages are older than the snapshot
		if o.conn.hub.gone {
			return
		}
	}
	if o.req.fromSeq != nil && key.channel == chBook {
		sub.resume, sub.hasResume = *o.req.fromSeq, true
		if o.req.epoch != "" && o.req.epoch != o.hub.opts.Epoch {
			sub.hasResume, sub.reason = false, "gap"
		}
	}
	if o.req.fromTrade != nil && key.channel == chTrades {
		sub.from = engine.TradeID(*o.req.fromTrade)
	}
	o.hub.wait(sub, sub.reason)
	o.hub.feed(o.conn)
}

func (o operation) unsubscribe(key wsKey, v *marketdata.View) {
	if sub := o.conn.hub.subs[key.subKey()]; sub != nil {
		sub.stream.remove(sub)
		delete(o.conn.hub.subs, key.subKey())
		if key.private() {
			o.hub.private.watch()
		}
	}
	o.acknowledge("unsubscribed", key, v)
}

func (o operation) resync(key wsKey, v *marketdata.View) {
	sub := o.conn.hub.subs[key.subKey()]
	if sub == nil {
		o.refuse(codeOf(v), refuse.NotFound, "There is no such subscription on this connection.")
		return
	}
	sub.hasResume, sub.from = false, 0
	o.hub.wait(sub, "resync")
	o.hub.feed(o.conn)
}

func (o operation) acknowledge(kind string, key wsKey, v *marketdata.View) {
	dst := appendWSHead(nil, kind, "", "", "")
	dst = appendIDOrNull(append(dst, `,"id":`...), o.req.id)
	dst = append(append(append(dst, `,"channel":"`...), key.name()...), '"')
	dst = encode.AppendNullable(append(dst, `,"currencyPairCode":`...), codeOf(v))
	dst = append(append(append(dst, `,"epoch":"`...), o.hub.opts.Epoch...), `"}`...)
	o.hub.answer(o.conn, newFrame(wsOpText, dst))
}

func codeOf(v *marketdata.View) string {
	if v == nil {
		return ""
	}
	return v.Instrument.Code
}

// list sends every subscription of the connection with its options.
func (o operation) list() {
	dst := appendWSHead(nil, "subscriptions", "", "", "")
	dst = appendIDOrNull(append(dst, `,"id":`...), o.req.id)
	dst = append(dst, `,"items":[`...)
	items := make([]string, 0, len(o.conn.hub.subs))
	for _, sub := range o.conn.hub.subs {
		items = append(items, string(appendSubscription(nil, sub.stream)))
	}
	slices.Sort(items)
	dst = append(dst, strings.Join(items, ",")...)
	o.hub.answer(o.conn, newFrame(wsOpText, append(dst, `]}`...)))
}

func appendSubscription(dst []byte, s *wsStream) []byte {
	k := s.key
	dst = append(append(append(dst, `{"channel":"`...), k.name()...), '"')
	pair := ""
	if k.paired() {
		pair = s.view.Instrument.Code
	}
	dst = encode.AppendNullable(append(dst, `,"currencyPairCode":`...), pair)
	if k.channel == chBook {
		dst = strconv.AppendInt(append(dst, `,"depth":`...), int64(k.depth), 10)
		dst = strconv.AppendInt(append(dst, `,"interval":`...), int64(k.every), 10)
	}
	if k.text {
		return append(dst, `,"decimals":"string"}`...)
	}
	return append(dst, `,"decimals":"number"}`...)
}

// parseStreams parses ?streams=book:BTC_USDT,candles.minute:BTC_USDT,status into operations.
func parseStreams(text string) ([]wsRequest, *refuse.Refusal) {
	if text == "" {
		return nil, nil
	}
	var out []wsRequest
	for item := range strings.SplitSeq(text, ",") {
		channel, pair, paired := strings.Cut(item, ":")
		key, ok := parseChannel(channel)
		switch {
		case !ok:
			return nil, refuse.Param("streams", "%q is not a channel.", channel)
		case key.private():
			return nil, refuse.Param("streams", "The channel %s needs auth and cannot stand in the address.", channel)
		case paired != key.paired():
			return nil, refuse.Param("streams", "%q must have the form channel:PAIR, or status alone.", item)
		case len(out) == wsMaxSubs:
			return nil, refuse.Param("streams", "At most %d streams are taken.", wsMaxSubs)
		}
		r := wsRequest{op: "subscribe", channel: channel}
		if paired {
			r.pairs = []string{pair}
		}
		out = append(out, r)
	}
	return out, nil
}
