package server

import (
	"slices"
	"strconv"
	"strings"

	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
)

// wsDefaultDepth and wsDefaultEvery are the defaults of a book subscription.
const (
	wsDefaultDepth = 100
	wsDefaultEvery = 100
)

// handle carries out one operation on the hub's goroutine.
func (h *Hub) handle(c *wsConn, r wsRequest) {
	if c.hub.gone {
		return
	}
	switch r.op {
	case "subscribe":
		h.each(c, r, h.subscribe)
	case "unsubscribe":
		h.each(c, r, h.unsubscribe)
	case "resync":
		h.each(c, r, h.resync)
	case "list":
		h.list(c, r)
	case "auth":
		h.authenticate(c, r)
	case "ping":
		dst := appendWSHead(nil, "pong", r.id, "", "")
		dst = strconv.AppendInt(append(dst, `,"time":`...), h.nowMs(), 10)
		h.answer(c, newFrame(wsOpText, append(dst, '}')))
	default:
		h.refuse(c, r, "", refuse.InvalidParam, "op must be one of subscribe, unsubscribe, resync, list, auth, ping.")
	}
}

func (h *Hub) refuse(c *wsConn, r wsRequest, pair string, code refuse.Code, message string) {
	h.answer(c, wsErrorFrame(r, pair, code, message))
}

// answer queues an answer. It closes the connection of a client that does not read its answers.
func (h *Hub) answer(c *wsConn, f wsFrame) {
	if !c.out.push(f, wsAnswer) {
		h.tooSlow(c)
	}
}

// each calls fn for every pair of the request, or once for channels without pairs.
func (h *Hub) each(c *wsConn, r wsRequest, fn func(*wsConn, wsRequest, wsKey, *marketdata.View)) {
	key, ok := parseChannel(r.channel)
	switch {
	case !ok:
		h.refuse(c, r, "", refuse.InvalidParam, "channel must be one of ticker, trades, book, candles.{interval}, status, orders, fills, balances.")
		return
	case key.private() && h.opts.Private == nil:
		h.refuse(c, r, "", refuse.NotFound, "This server has no accounts.")
		return
	case key.private() && !h.signed(c):
		h.refuse(c, r, "", refuse.Unauthorized, "The channel "+r.channel+" needs auth first.")
		return
	}
	key.text = r.text
	if !key.paired() {
		if len(r.pairs) > 0 {
			h.refuse(c, r, r.pairs[0], refuse.InvalidParam, "The channel "+r.channel+" takes no pairs.")
			return
		}
		if key.private() {
			key.account = c.hub.key.Account
		}
		fn(c, r, key, nil)
		return
	}
	if len(r.pairs) == 0 {
		h.refuse(c, r, "", refuse.InvalidParam, "The channel "+r.channel+" needs pairs.")
		return
	}
	root := h.opts.Board.Load()
	for _, pair := range r.pairs {
		if c.hub.gone { // closed because of the unread answers for earlier pairs
			return
		}
		h.eachPair(c, r, key, root, pair, fn)
	}
}

// signed reports whether a connection has a key that is still valid.
func (h *Hub) signed(c *wsConn) bool {
	h.endKeys()
	return c.hub.authed
}

func (h *Hub) eachPair(c *wsConn, r wsRequest, key wsKey, root *marketdata.Root, pair string, fn func(*wsConn, wsRequest, wsKey, *marketdata.View)) {
	if !engine.ValidPairCode(pair) {
		h.refuse(c, r, pair, refuse.InvalidParam, "A pair code has the form BASE_QUOTE.")
		return
	}
	v := root.Lookup(pair)
	if v == nil {
		h.refuse(c, r, pair, refuse.NotFound, "There is no pair "+pair+".")
		return
	}
	key.pair = v.Instrument.ID
	if key.channel == chBook {
		key.depth, key.every = wsDefaultDepth, wsDefaultEvery
		if r.hasDepth {
			key.depth = r.depth
		}
		if r.hasEvery {
			key.every = r.every
		}
	}
	fn(c, r, key, v)
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

func (h *Hub) subscribe(c *wsConn, r wsRequest, key wsKey, v *marketdata.View) {
	old := c.hub.subs[key.subKey()]
	if old == nil && len(c.hub.subs) >= wsMaxSubs {
		h.refuse(c, r, codeOf(v), refuse.RateLimit, "A connection has at most 1000 subscriptions.")
		return
	}
	s := h.streams[key]
	if s == nil {
		s = h.open(key, v, h.opts.Board.Load())
	} else if len(s.subs) == 0 && !key.private() {
		s = h.open(key, v, h.opts.Board.Load()) // idle, so not current: start over
	} else if len(s.subs) == 0 {
		s.lastMs = machineMs() // no subscriber was waiting for a heartbeat
	}
	h.acknowledge(c, r, "subscribed", key, v)
	if c.hub.gone {
		return
	}
	if old != nil && old.stream == s && !r.hasFromSeq && !r.hasFromTrade {
		return // a repeat without a change
	}
	if old != nil {
		old.stream.remove(old)
	}
	sub := &wsSub{out: c.out, conn: c, stream: s, reason: "subscribe"}
	c.hub.subs[key.subKey()] = sub
	s.subs = append(s.subs, sub)
	if key.private() {
		h.watch()
		h.private() // the queued messages are older than the snapshot
		if c.hub.gone {
			return
		}
	}
	if r.hasFromSeq && key.channel == chBook {
		sub.resume, sub.hasResume = r.fromSeq, true
		if r.epoch != "" && r.epoch != h.opts.Epoch {
			sub.hasResume, sub.reason = false, "gap"
		}
	}
	if r.hasFromTrade && key.channel == chTrades {
		sub.from = engine.TradeID(r.fromTrade)
	}
	h.wait(sub, sub.reason)
	h.feed(c)
}

func (h *Hub) unsubscribe(c *wsConn, r wsRequest, key wsKey, v *marketdata.View) {
	if sub := c.hub.subs[key.subKey()]; sub != nil {
		sub.stream.remove(sub)
		delete(c.hub.subs, key.subKey())
		if key.private() {
			h.watch()
		}
	}
	h.acknowledge(c, r, "unsubscribed", key, v)
}

func (h *Hub) resync(c *wsConn, r wsRequest, key wsKey, v *marketdata.View) {
	sub := c.hub.subs[key.subKey()]
	if sub == nil {
		h.refuse(c, r, codeOf(v), refuse.NotFound, "There is no such subscription on this connection.")
		return
	}
	sub.hasResume, sub.from = false, 0
	h.wait(sub, "resync")
	h.feed(c)
}

func (h *Hub) acknowledge(c *wsConn, r wsRequest, kind string, key wsKey, v *marketdata.View) {
	dst := appendWSHead(nil, kind, "", "", "")
	dst = appendIDOrNull(append(dst, `,"id":`...), r.id)
	dst = append(append(append(dst, `,"channel":"`...), key.name()...), '"')
	dst = appendJSONNullable(append(dst, `,"currencyPairCode":`...), codeOf(v))
	dst = append(append(append(dst, `,"epoch":"`...), h.opts.Epoch...), `"}`...)
	h.answer(c, newFrame(wsOpText, dst))
}

func codeOf(v *marketdata.View) string {
	if v == nil {
		return ""
	}
	return v.Instrument.Code
}

// list sends every subscription of the connection with its options.
func (h *Hub) list(c *wsConn, r wsRequest) {
	dst := appendWSHead(nil, "subscriptions", "", "", "")
	dst = appendIDOrNull(append(dst, `,"id":`...), r.id)
	dst = append(dst, `,"items":[`...)
	items := make([]string, 0, len(c.hub.subs))
	for _, sub := range c.hub.subs {
		items = append(items, string(appendSubscription(nil, sub.stream)))
	}
	slices.Sort(items)
	dst = append(dst, strings.Join(items, ",")...)
	h.answer(c, newFrame(wsOpText, append(dst, `]}`...)))
}

func appendSubscription(dst []byte, s *wsStream) []byte {
	k := s.key
	dst = append(append(append(dst, `{"channel":"`...), k.name()...), '"')
	pair := ""
	if k.paired() {
		pair = s.view.Instrument.Code
	}
	dst = appendJSONNullable(append(dst, `,"currencyPairCode":`...), pair)
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
