package stream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/json"
)

// Limits of one operation.
const (
	maxSubscriptions = 1000 // subscriptions of one connection (docs/contract/limits.md#streams)
	maxPairs         = 8192 // pairs of one operation: no more fit into a message
	maxWordBytes     = 32
	maxTextBytes     = 128
	maxSignature     = 1024    // hex digits: of an RSA key of 4096 bits
	maxRecvWindowMs  = 60_000  // as of API-RecvWindow (docs/contract/signing.md#headers)
	defaultGraceMs   = 5_000   // time after which the orders of a guarded socket that is gone are canceled
	maxGraceMs       = 600_000 // ten minutes; a client that is away for longer has its dead man's switch
)

// request is one operation of a client, decoded (docs/contract/streams.md#operations).
type request struct {
	op      string
	id      string // JSON text as sent; empty: none
	channel string
	pairs   []string

	depth, every       *int // nil: the default
	fromSeq, fromTrade *uint64
	epoch              string
	text               bool // decimals=string

	credentials        Credentials
	cancelOnDisconnect bool
	graceMs            *int64 // nil: the default
}

// requestForm holds the members of every operation.
var requestForm = json.Of(
	json.Text("op", maxWordBytes, func(q *request, v string) { q.op = v }).Need(),
	json.Value("id", json.KindAny, readID, func(q *request, v string) { q.id = v }),
	json.Text("channel", maxWordBytes, func(q *request, v string) { q.channel = v }),
	json.Read("pairs", json.KindArray, readPairs),
	choice("depth", func(q *request, v int) { q.depth = &v }, 10, 25, 100, 1000, 0),
	choice("interval", func(q *request, v int) { q.every = &v }, 0, 100, 1000),
	json.Integer("fromSeq", 0, 1<<62, func(q *request, v int64) { q.fromSeq = stored(v) }),
	json.Text("epoch", maxWordBytes, func(q *request, v string) { q.epoch = v }),
	json.Integer("fromTradeId", 1, 1<<62, func(q *request, v int64) { q.fromTrade = stored(v) }),
	json.Value("decimals", json.KindWord, readDecimals, func(q *request, v bool) { q.text = v }),
	json.Text("publicKey", maxTextBytes, func(q *request, v string) { q.credentials.PublicKey = v }),
	json.Value("timestamp", json.KindAny, readTimestamp, func(q *request, v string) { q.credentials.Timestamp = v }),
	json.Text("nonce", maxTextBytes, func(q *request, v string) { q.credentials.Nonce = v }),
	json.Text("signature", maxSignature, func(q *request, v string) { q.credentials.Signature = v }),
	json.Integer("recvWindow", 1, maxRecvWindowMs, func(q *request, v int64) { q.credentials.RecvWindowMs = v }),
	json.Flag("cancelOnDisconnect", func(q *request, v bool) { q.cancelOnDisconnect = v }),
	json.Integer("graceMs", 0, maxGraceMs, func(q *request, v int64) { q.graceMs = &v }),
)

// parseRequest parses one operation strictly. It reports the first wrong member of the text. On
// an error req holds the id if it came before.
func parseRequest(raw []byte) (req request, bad *json.Error) {
	var r json.Reader
	r.Reset(raw)
	requestForm.Fill(&r, &req)
	return req, r.Finish()
}

func stored(v int64) *uint64 {
	u := uint64(v)
	return &u
}

func readPairs(r *json.Reader, req *request) bool {
	if !r.Array() {
		return false
	}
	for r.Element() {
		if len(req.pairs) == maxPairs {
			r.Fail("must have at most 8192 elements.")
			break
		}
		req.pairs = append(req.pairs, string(r.Text(maxWordBytes)))
	}
	return true
}

// readID reads the id as JSON text, for the echo in the answer.
func readID(r *json.Reader) (id string, given bool) {
	if r.Peek() == '"' {
		if s := r.Text(maxTextBytes); s != nil {
			id = string(json.AppendText(nil, string(s)))
		}
	} else if v, given := r.Integer(-1<<62, 1<<62); given {
		id = strconv.FormatInt(v, 10)
	}
	return id, id != ""
}

func readDecimals(r *json.Reader) (text, given bool) {
	switch string(r.Text(maxWordBytes)) {
	case "string":
		return true, true
	case "number", "":
	default:
		r.Bad("must be number or string.")
	}
	return false, true
}

func readTimestamp(r *json.Reader) (text string, given bool) {
	if r.Peek() == '"' {
		text = string(r.Text(maxWordBytes))
	} else if v, given := r.Integer(0, 1<<62); given {
		text = strconv.FormatInt(v, 10)
	}
	return text, text != ""
}

// choice returns a member that is an integer, one of allowed.
func choice(name string, set func(*request, int), allowed ...int) json.Member[request] {
	return json.Value(name, json.KindInteger, func(r *json.Reader) (int, bool) {
		v, given := r.Integer(0, 1000)
		if given && !slices.Contains(allowed, int(v)) {
			list := strings.Trim(strings.ReplaceAll(fmt.Sprint(allowed), " ", ", "), "[]")
			r.Bad("must be one of " + list + ".")
			return 0, false
		}
		return int(v), given
	}, set)
}

// defaultDepth and defaultEvery are the defaults of a book subscription.
const (
	defaultDepth = 100
	defaultEvery = 100
)

// channelOptions are the members that one channel has.
var channelOptions = []struct {
	name  string
	of    channel
	given func(*request) bool
}{
	{"depth", chBook, func(q *request) bool { return q.depth != nil }},
	{"interval", chBook, func(q *request) bool { return q.every != nil }},
	{"fromSeq", chBook, func(q *request) bool { return q.fromSeq != nil }},
	{"epoch", chBook, func(q *request) bool { return q.epoch != "" }},
	{"fromTradeId", chTrades, func(q *request) bool { return q.fromTrade != nil }},
}

// operation is one request of a client on its connection. It runs on the hub's goroutine.
type operation struct {
	hub  *Hub
	conn *session
	req  request
}

// operations holds what a client can ask for, by the member op.
var operations = []struct {
	op  string
	run func(operation)
}{
	{"subscribe", func(o operation) { o.each(operation.subscribe) }},
	{"unsubscribe", func(o operation) { o.each(operation.unsubscribe) }},
	{"resync", func(o operation) { o.each(operation.resync) }},
	{"list", operation.list},
	{"auth", operation.authenticate},
	{"ping", operation.ping},
}

// run carries out the operation.
func (o operation) run() {
	if o.conn.hub.detached {
		return
	}
	var names []string
	for _, known := range operations {
		if known.op == o.req.op {
			known.run(o)
			return
		}
		names = append(names, known.op)
	}
	o.refuse("", refuse.Param("op", "op must be one of %s.", strings.Join(names, ", ")))
}

func (o operation) ping() {
	var w json.Writer
	writeHead(&w, "pong", o.req.id, "", "")
	w.Name("time").Int(o.hub.opts.nowMs())
	w.EndObject()
	o.hub.answer(o.conn, newFrame(opText, w.Bytes()))
}

func (o operation) refuse(pair string, r *refuse.Refusal) {
	o.hub.answer(o.conn, errorFrame(o.req, pair, r))
}

// answer queues an answer. It closes the connection of a client that does not read its answers.
func (h *Hub) answer(c *session, f frame) {
	if !c.backlog.push(f, kindAnswer) {
		h.closeSlow(c)
	}
}

// each calls fn for every pair of the request, or once for a channel without pairs.
func (o operation) each(fn func(operation, streamKey, *marketdata.View)) {
	key, ok := parseChannel(o.req.channel)
	switch {
	case !ok:
		o.refuse("", refuse.Param("channel", "channel must be one of ticker, trades, book, candles.{interval}, "+
			"status, orders, fills, balances; an interval is %s.", strings.Join(marketdata.IntervalNames(), ", ")))
		return
	case key.private() && o.hub.opts.Private == nil:
		o.refuse("", refuse.Missing("channel", "This server has no accounts."))
		return
	case key.private() && !o.signed():
		o.refuse("", refuse.New(refuse.Unauthorized, "channel", "The channel %s needs auth first.", o.req.channel))
		return
	}
	for _, x := range channelOptions {
		if x.of != key.channel && x.given(&o.req) {
			of := streamKey{channel: x.of}
			o.refuse("", refuse.Param(x.name, "%s is an option of the channel %s, not of %s.", x.name, of.name(),
				o.req.channel))
			return
		}
	}
	key.text = o.req.text
	if !key.paired() {
		if len(o.req.pairs) > 0 {
			o.refuse(o.req.pairs[0], refuse.Param("pairs", "The channel %s takes no pairs.", o.req.channel))
			return
		}
		if key.private() {
			key.account = o.conn.hub.key.Account
		}
		fn(o, key, nil)
		return
	}
	if len(o.req.pairs) == 0 {
		o.refuse("", refuse.Param("pairs", "The channel %s needs pairs.", o.req.channel))
		return
	}
	root := o.hub.board.load()
	for _, pair := range o.req.pairs {
		if o.conn.hub.detached { // the connection was closed, because it did not read the answers for earlier pairs
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

func (o operation) eachPair(key streamKey, root *marketdata.Root, pair string,
	fn func(operation, streamKey, *marketdata.View),
) {
	if !engine.ValidPairCode(pair) {
		o.refuse(pair, refuse.Param("pairs", "A pair code has the form BASE_QUOTE, %s each.", engine.CurrencyForm))
		return
	}
	v := root.Lookup(pair)
	if v == nil {
		o.refuse(pair, refuse.Missing("pairs", "There is no pair %s.", pair))
		return
	}
	key.pair = v.Instrument.ID
	if key.channel == chBook {
		key.depth, key.every = defaultDepth, defaultEvery
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
func parseChannel(name string) (streamKey, bool) {
	for ch := chTicker; ch <= chBalances; ch++ {
		if k := (streamKey{channel: ch}); ch != chCandles && k.name() == name {
			return k, true
		}
	}
	rest, ok := strings.CutPrefix(name, "candles.")
	if !ok {
		return streamKey{}, false
	}
	i, ok := marketdata.ParseInterval(rest)
	return streamKey{channel: chCandles, interval: i}, ok
}

// subKey returns the key of a connection's subscription: the stream's key without the options. A subscribe with
// other options then changes the subscription instead of adding one.
func (k streamKey) subKey() streamKey {
	k.depth, k.every, k.text = 0, 0, false
	return k
}

func (o operation) subscribe(key streamKey, v *marketdata.View) {
	if o.hub.lacks(&o.req, v) {
		o.refuse(codeOf(v), refuse.New(refuse.Stale, "", "This node has not yet what the subscription resumes "+
			"behind: try again, or connect to another node.").After(1))
		return
	}
	old := o.conn.hub.subs[key.subKey()]
	if old == nil && len(o.conn.hub.subs) >= maxSubscriptions {
		o.hub.stats.limited.Add(1)
		o.refuse(codeOf(v), refuse.New(refuse.RateLimit, "", "A connection has at most 1000 subscriptions."))
		return
	}
	s := o.hub.streams[key]
	if s == nil {
		s = o.hub.openStream(key)
	} else if len(s.subs) == 0 && !key.private() {
		// without subscribers the stream is not current, so it is opened again
		s = o.hub.openStream(key)
	} else if len(s.subs) == 0 {
		s.lastMs = o.hub.opts.machineMs() // no subscriber was waiting for a heartbeat
	}
	o.acknowledge("subscribed", key, v)
	if o.conn.hub.detached {
		return
	}
	if old != nil && old.stream == s && o.req.fromSeq == nil && o.req.fromTrade == nil {
		return // the request repeats a subscription without a change
	}
	if old != nil {
		old.stream.remove(old, o.hub.opts.machineMs())
	}
	sub := &subscription{backlog: o.conn.backlog, conn: o.conn, stream: s, reason: "subscribe"}
	o.conn.hub.subs[key.subKey()] = sub
	o.conn.SetSpare()
	s.subs = append(s.subs, sub)
	if key.private() {
		o.hub.private.watch()
		o.hub.private.sendMessages() // send the queued messages first, because they are older than the snapshot
		if o.conn.hub.detached {
			return
		}
	}
	if o.req.fromSeq != nil {
		sub.fromSeq, sub.hasFromSeq = *o.req.fromSeq, true
		if o.req.epoch != "" && o.req.epoch != o.hub.opts.Epoch {
			sub.hasFromSeq, sub.reason = false, "gap"
		}
	}
	if o.req.fromTrade != nil {
		sub.nextTrade = engine.TradeID(*o.req.fromTrade)
	}
	o.hub.awaitSnapshot(sub, sub.reason)
	o.hub.startPending(o.conn)
}

func (o operation) unsubscribe(key streamKey, v *marketdata.View) {
	if sub := o.conn.hub.subs[key.subKey()]; sub != nil {
		o.hub.endSubscription(sub)
		if key.private() {
			o.hub.private.watch()
		}
	}
	o.acknowledge("unsubscribed", key, v)
}

func (o operation) resync(key streamKey, v *marketdata.View) {
	sub := o.conn.hub.subs[key.subKey()]
	if sub == nil {
		o.refuse(codeOf(v), refuse.Missing("channel", "There is no such subscription on this connection."))
		return
	}
	sub.hasFromSeq, sub.nextTrade = false, 0
	o.hub.awaitSnapshot(sub, "resync")
	o.hub.startPending(o.conn)
}

func (o operation) acknowledge(kind string, key streamKey, v *marketdata.View) {
	var w json.Writer
	w.Object()
	w.Name("type").Word(kind)
	writeIDOrNull(&w, o.req.id)
	w.Name("channel").Word(key.name())
	w.Name("currencyPairCode").TextOrNull(codeOf(v))
	w.Name("epoch").Word(o.hub.opts.Epoch)
	w.EndObject()
	o.hub.answer(o.conn, newFrame(opText, w.Bytes()))
}

func codeOf(v *marketdata.View) string {
	if v == nil {
		return ""
	}
	return v.Instrument.Code
}

// list sends every subscription of the connection with its options.
func (o operation) list() {
	items := make([]string, 0, len(o.conn.hub.subs))
	for _, sub := range o.conn.hub.subs {
		items = append(items, string(subscriptionRow(sub.stream)))
	}
	slices.Sort(items)
	var w json.Writer
	w.Object()
	w.Name("type").Word("subscriptions")
	writeIDOrNull(&w, o.req.id)
	w.Name("items").List()
	for _, item := range items {
		w.Raw([]byte(item))
	}
	w.EndList()
	w.EndObject()
	o.hub.answer(o.conn, newFrame(opText, w.Bytes()))
}

// subscriptionRow returns a row of list.
func subscriptionRow(s *stream) []byte {
	k := s.key
	pair, decimals := "", "number"
	if k.paired() {
		pair = s.view.Instrument.Code
	}
	if k.text {
		decimals = "string"
	}
	var w json.Writer
	w.Object()
	w.Name("channel").Word(k.name())
	w.Name("currencyPairCode").TextOrNull(pair)
	if k.channel == chBook {
		w.Name("depth").Int(int64(k.depth))
		w.Name("interval").Int(int64(k.every))
	}
	w.Name("decimals").Word(decimals)
	w.EndObject()
	return w.Bytes()
}

// parseStreams parses ?streams=book:BTC_USDT,candles.minute:BTC_USDT,status into operations.
func parseStreams(text string) ([]request, *refuse.Refusal) {
	if text == "" {
		return nil, nil
	}
	var out []request
	for item := range strings.SplitSeq(text, ",") {
		channel, pair, paired := strings.Cut(item, ":")
		key, ok := parseChannel(channel)
		switch {
		case !ok:
			return nil, refuse.Param("streams", "%q is not a channel such as book or status.", channel)
		case key.private():
			return nil, refuse.Param("streams", "The channel %s needs auth and cannot be in the address; "+
				"subscribe to it after the operation auth.", channel)
		case paired != key.paired():
			return nil, refuse.Param("streams", "%q must have the form channel:PAIR, or status alone.", item)
		case len(out) == maxSubscriptions:
			return nil, refuse.Param("streams", "The parameter streams must name at most %d streams.", maxSubscriptions)
		}
		r := request{op: "subscribe", channel: channel}
		if paired {
			r.pairs = []string{pair}
		}
		out = append(out, r)
	}
	return out, nil
}
