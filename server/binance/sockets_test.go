package binance

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/private"
	sockets "github.com/tickhive/tickhive/server/stream"
)

// looks is a facade over a real core and feed whose sockets the test steps; no goroutine runs.
type looks struct {
	*Facade
	t      *testing.T
	market *markettest.Market
	nowNs  int64
}

func newLooks(t *testing.T) *looks {
	t.Helper()
	x := &looks{t: t, market: markettest.New(marketdata.Options{}), nowNs: 1}
	x.market.AddPair(markettest.Instrument("AA_BB", 2, 4))
	x.market.Publish()
	x.Facade = New(Options{
		Board: x.market.Feed.Board(), Clock: x.market.Clock, Feed: private.New(nil, nil),
		Sockets: sockets.SocketOptions{MachineNs: func() int64 { return x.nowNs }},
	})
	return x
}

// connect returns a connection with streams.
func (x *looks) connect(names ...string) *sockets.MemoryConn {
	x.t.Helper()
	return x.connectIn(milliseconds, names...)
}

// connectIn returns a connection with streams whose times are in a unit.
func (x *looks) connectIn(u unit, names ...string) *sockets.MemoryConn {
	x.t.Helper()
	s := &socket{f: x.Facade, unit: u}
	for _, name := range names {
		if !s.add(name) {
			x.t.Fatal(name)
		}
	}
	return x.sockets.Connect(s.begin, s.joined)
}

// ask sends a request and returns the answer. Other messages are dropped.
func (x *looks) ask(c *sockets.MemoryConn, request string) string {
	x.t.Helper()
	x.nowNs += int64(time.Second) // five messages a second are taken
	c.Send([]byte(request))
	x.tick()
	texts, _ := c.Take()
	for _, text := range texts {
		if strings.HasPrefix(string(text), `{"result":`) || strings.HasPrefix(string(text), `{"error":`) {
			return string(text)
		}
	}
	x.t.Fatalf("%s: no answer, but %s", request, texts)
	return ""
}

// tick lets 100 ms pass.
func (x *looks) tick() {
	for x.sockets.Step().Worked {
	}
	x.nowNs += tickMs * int64(time.Millisecond)
	for x.sockets.Step().Worked {
	}
}

// touched is the part of a depth update that says what it covers.
type touched struct {
	First uint64     `json:"U"`
	Last  uint64     `json:"u"`
	Bids  [][]string `json:"b"`
}

func depths(t *testing.T, texts [][]byte) (list []touched) {
	t.Helper()
	for _, text := range texts {
		if !strings.HasPrefix(string(text), `{"e":"depthUpdate"`) {
			continue
		}
		var u touched
		if err := json.Unmarshal(text, &u); err != nil {
			t.Fatal(err)
		}
		list = append(list, u)
	}
	return list
}

// A connection that is lost is not rendered any more, and its account is not watched any more: nothing of it is left.
func TestALostConnectionIsNotRenderedAnyMore(t *testing.T) {
	x := newLooks(t)
	x.opt.Feed = private.New(nil, func(engine.AccountID, string) (b accounts.BalanceView) { return b })
	for range 3 {
		c := x.connect("aabb@depth@100ms", "aabb@trade")
		x.tick()
		var events *private.Subscription
		for s := range x.rendered.sockets {
			one := &stream{kind: userDataStream, user: &userStream{}}
			s.follow(one, 7)
			s.streams, events = append(s.streams, one), one.user.events
			s.f.stats.subscriptions.Add(1)
		}
		happens := func() bool {
			x.opt.Feed.BalanceChanged(7, "AA")
			x.opt.Feed.Publish(0)
			waits := events.Waiting()
			events.Take(1)
			return waits
		}
		if n := len(x.rendered.made); len(x.rendered.sockets) != 1 || n != 2 || !happens() {
			t.Fatalf("%d sockets, %d rendered streams, want 1 and 2, and the account watched", len(x.rendered.sockets), n)
		}
		c.Close()
		x.tick()
		if n := len(x.rendered.made); len(x.rendered.sockets)+n != 0 || happens() {
			t.Fatalf("%d sockets and %d rendered streams stay, or the account is watched", len(x.rendered.sockets), n)
		}
		if n := x.stats.subscriptions.Load(); n != 0 {
			t.Fatalf("%d subscriptions stay", n)
		}
	}
}

// A client that does not read costs a bounded number of bytes, however much happens, and no other client waits for
// it. When it reads again, its book has no gap and its trades are complete.
func TestASlowReaderIsBounded(t *testing.T) {
	const ticks, orders, bound = 500, 60, 256<<10 + 64<<10
	x := newLooks(t)
	slow := x.connect("aabb@depth@100ms", "aabb@trade", "aabb@bookTicker")
	quick := x.connect("aabb@depth@100ms", "aabb@trade", "aabb@bookTicker")
	x.tick()
	var last uint64
	all := 0
	for i := range ticks {
		for n := range orders {
			x.market.Limit(0, engine.Buy, int64(100+(i*orders+n)%2000), 1)
		}
		x.market.Limit(0, engine.Sell, 1, 1)
		x.market.Publish()
		x.tick()
		texts, _ := quick.Take()
		for _, text := range texts {
			all += len(text)
		}
		updates := depths(t, texts)
		if len(updates) != 1 || last != 0 && updates[0].First != last+1 {
			t.Fatalf("tick %d: the quick client has %+v behind %d", i, updates, last)
		}
		last = updates[0].Last
	}
	waiting := slow.Waiting()
	if waiting > bound || all < 2*bound {
		t.Fatalf("%d bytes wait for a client that reads nothing, want %d at most; the other got %d", waiting, bound,
			all)
	}
	var updates []touched
	trades := 0
	for range 4 {
		texts, closed := slow.Take()
		if closed != 0 {
			t.Fatalf("closed with %d", closed)
		}
		trades += strings.Count(string(joined(texts)), `{"e":"trade"`)
		updates = append(updates, depths(t, texts)...)
		x.tick()
	}
	for i := 1; i < len(updates); i++ {
		if updates[i].First != updates[i-1].Last+1 {
			t.Errorf("update %d begins with %d behind %d", i, updates[i].First, updates[i-1].Last)
		}
	}
	if n := len(updates); n == 0 || n >= ticks || updates[n-1].Last != last || trades != ticks {
		t.Errorf("%d updates and %d trades after the pause, want fewer than %d and %d", n, trades, ticks, ticks)
	}
}

func joined(texts [][]byte) (all []byte) {
	for _, text := range texts {
		all = append(all, text...)
	}
	return all
}

// A client that reads so slowly that changes of the book are no longer kept is closed with 1013.
func TestAClientBehindTheKeptChangesIsClosed(t *testing.T) {
	x := newLooks(t)
	slow := x.connect("aabb@depth@100ms")
	x.tick()
	v := x.market.Feed.Board().Load().View(0)
	for i := 0; x.market.Feed.Board().Load().View(0).Changes.Base() <= v.BookSeq; i++ {
		x.market.Limit(0, engine.Buy, int64(100+i%500), 1)
		if i%100 == 0 {
			x.market.Pass(int64(time.Second))
			x.market.Publish()
		}
	}
	x.tick()
	if _, closed := slow.Take(); closed != 1013 {
		t.Errorf("closed with %d, want 1013", closed)
	}
}

// The messages of a tick are made once for all sockets, in both forms, and every client gets the same bytes.
func TestStreamsOfOneNameShareTheirMessages(t *testing.T) {
	x := newLooks(t)
	clients := []*sockets.MemoryConn{x.connect("aabb@depth@100ms"), x.connect("aabb@depth@100ms")}
	x.tick()
	for range 5 {
		x.market.Limit(0, engine.Buy, 100, 1)
		x.market.Publish()
		x.tick()
		if n := len(x.rendered.made); n != 1 {
			t.Errorf("%d streams were rendered, want 1 for both sockets", n)
		}
		first, _ := clients[0].Take()
		second, _ := clients[1].Take()
		if len(first) != 1 || fmt.Sprintf("%s", first) != fmt.Sprintf("%s", second) {
			t.Errorf("one client gets %s, the other %s", first, second)
		}
	}
}

// The server pings every 20 s. It closes a client that sends nothing for 60 s with 1008, and no other.
func TestPingsAndSilentSockets(t *testing.T) {
	x := newLooks(t)
	silent, alive := x.connect("aabb@trade"), x.connect("aabb@trade")
	silent.Silent, alive.Silent = true, true
	at := map[int]bool{} // seconds with a ping
	ended := 0
	for second := 1; second <= 70; second++ {
		for range 10 {
			x.tick()
		}
		if second%5 == 0 {
			alive.Send([]byte(`{"method":"LIST_SUBSCRIPTIONS","id":1}`))
		}
		before := silent.Pings
		if _, closed := silent.Take(); closed != 0 {
			if ended = second; closed != 1008 {
				t.Errorf("closed with %d, want 1008", closed)
			}
		}
		if silent.Pings != before {
			at[second] = true
		}
	}
	if !maps.Equal(at, map[int]bool{21: true, 42: true}) || ended != 61 {
		t.Errorf("pings after %v s, closed after %d s, want every 20 s and 60 s, each at the next full second", at,
			ended)
	}
	x.tick()
	if texts, closed := alive.Take(); closed != 0 || len(texts) != 14 {
		t.Errorf("a client that sends requests: %d answers, closed with %d, want 14 and 0", len(texts), closed)
	}
}

// A wrong request is answered with the documented code and text, and changes nothing.
func TestWrongStreamRequests(t *testing.T) {
	x := newLooks(t)
	c := x.connect("aabb@trade")
	const request, oneOf = "Invalid request: ", ", expected one of `SUBSCRIBE`, `UNSUBSCRIBE`, `LIST_SUBSCRIPTIONS`, " +
		"`SET_PROPERTY`, `GET_PROPERTY` at line 1 column "
	for _, w := range []struct {
		request string
		code    int
		msg, id string
	}{
		{`x`, 3, "Invalid JSON: expected value at line 1 column 1", "null"},
		{"{\n\"id\":,", 3, "Invalid JSON: expected value at line 2 column 6", "null"},
		{``, 3, "Invalid JSON: expected value at line 1 column 0", "null"},
		{`[]`, 2, request + "a request is one object", "null"},
		{`{"method":"op","id":2}`, 2, request + "unknown variant `op`" + oneOf + "14", "2"},
		{`{"id":2,"method":"subscribe"}`, 2, request + "unknown variant `subscribe`" + oneOf + "28", "2"},
		{`{"id":2}`, 2, request + "missing field `method` at line 1 column 8", "2"},
		{`{"id":2,"method":"LIST_SUBSCRIPTIONS","x":1}`, 2, request + "too many parameters", "2"},
		{`{"id":2,"method":"LIST_SUBSCRIPTIONS","params":[1]}`, 2, request + "too many parameters", "2"},
		{`{"id":2,"method":"LIST_SUBSCRIPTIONS","id":3}`, 2, request + "duplicate field `id`", "3"},
		{`{"method":"LIST_SUBSCRIPTIONS"}`, 2, request + "request ID must be an unsigned integer", "null"},
		{`{"id":1.5,"method":"LIST_SUBSCRIPTIONS"}`, 2, request + "request ID must be an unsigned integer", "null"},
		{`{"id":{},"method":"LIST_SUBSCRIPTIONS"}`, 2, request + "request ID must be an unsigned integer", "null"},
		{`{"id":"a b","method":"LIST_SUBSCRIPTIONS"}`, 2, request + "request ID must be an unsigned integer", "null"},
		{`{"id":9223372036854775808,"method":"LIST_SUBSCRIPTIONS"}`, 2, request +
			"request ID must be an unsigned integer", "null"},
		{`{"id":1,"method":"SUBSCRIBE"}`, 2, request + "params must be a list of names of streams", "1"},
		{`{"id":1,"method":"SUBSCRIBE","params":"aabb@depth"}`, 2, request +
			"params must be a list of names of streams", "1"},
		{`{"id":1,"method":"SUBSCRIBE","params":["aabb@depth",1]}`, 2, request +
			"params must be a list of names of streams", "1"},
		{`{"id":1,"method":"UNSUBSCRIBE","params":[null]}`, 2, request +
			"params must be a list of names of streams", "1"},
		{`{"id":1,"method":"GET_PROPERTY","params":["foo"]}`, 0, "Unknown property", "1"},
		{`{"id":1,"method":"GET_PROPERTY"}`, 2, request + "property name must be a string", "1"},
		{`{"id":1,"method":"GET_PROPERTY","params":[1]}`, 2, request + "property name must be a string", "1"},
		{`{"id":1,"method":"GET_PROPERTY","params":["combined",true]}`, 2, request + "too many parameters", "1"},
		{`{"id":1,"method":"SET_PROPERTY","params":["foo",true]}`, 0, "Unknown property", "1"},
		{`{"id":1,"method":"SET_PROPERTY","params":[null,true]}`, 2, request + "property name must be a string", "1"},
		{
			`{"id":1,"method":"SET_PROPERTY","params":["combined","true"]}`, 1,
			"Invalid value type: expected Boolean", "1",
		},
		{`{"id":1,"method":"SET_PROPERTY","params":["combined"]}`, 1, "Invalid value type: expected Boolean", "1"},
		{`{"id":1,"method":"SET_PROPERTY","params":["combined",true,1]}`, 2, request + "too many parameters", "1"},
	} {
		x.nowNs += int64(time.Second) // five messages a second are taken
		c.Send([]byte(w.request))
		x.tick()
		want := fmt.Sprintf(`{"error":{"code":%d,"msg":%q},"id":%s}`, w.code, w.msg, w.id)
		if got, closed := c.Take(); len(got) != 1 || string(got[0]) != want || closed != 0 {
			t.Errorf("%s: %s, closed with %d, want %s", w.request, got, closed, want)
		}
	}
	if got := x.ask(c, `{"method":"LIST_SUBSCRIPTIONS","params":[],"id":-1}`); got !=
		`{"result":["aabb@trade"],"id":-1}` {
		t.Errorf("afterwards %s", got)
	}
	if got := x.ask(c, `{"method":"GET_PROPERTY","params":["combined"],"id":"a-_1"}`); got !=
		`{"result":false,"id":"a-_1"}` {
		t.Errorf("afterwards %s", got)
	}
}

// A name that no stream has is answered like the others and sends nothing; the others of its list begin. The list of
// subscriptions has what sends, and a figure counts the rest.
func TestUnknownNamesAreSilent(t *testing.T) {
	x := newLooks(t)
	unknown := []string{
		"nope@trade", "AABB@trade", "aa_bb@trade", "aabb@depth@50ms", "aabb@depth30", "aabb@markPrice", "!bookTicker",
		"aabb@kline_2m", "aabb@ticker_2h", "!ticker_2h@arr", "aabb", "aabb@", "", strings.Repeat("A", 64),
	}
	c := x.connect(append(unknown, "aabb@trade")...)
	list, _ := json.Marshal(append([]string{"aabb@depth@100ms"}, unknown...))
	if got := x.ask(c, `{"method":"SUBSCRIBE","params":`+string(list)+`,"id":1}`); got != `{"result":null,"id":1}` {
		t.Errorf("%s", got)
	}
	if got := x.ask(c, `{"method":"LIST_SUBSCRIPTIONS","id":2}`); got !=
		`{"result":["aabb@trade","aabb@depth@100ms"],"id":2}` {
		t.Errorf("%s", got)
	}
	if got := x.Stats(); got.UnknownStreams != uint64(2*len(unknown)) || got.Subscriptions != 2 {
		t.Errorf("%d unknown names and %d subscriptions, want %d and 2", got.UnknownStreams, got.Subscriptions,
			2*len(unknown))
	}
}

// A connection has at most 1,024 streams; a request for more changes nothing.
func TestTheNumberOfStreamsIsBounded(t *testing.T) {
	x := newLooks(t)
	var names []string
	for i := range maxStreams {
		x.market.AddPair(markettest.Instrument(fmt.Sprintf("C%d_BB", i), 2, 4))
		names = append(names, fmt.Sprintf("c%dbb@trade", i))
	}
	x.market.Publish()
	c := x.connect(names...)
	if got := x.ask(c, `{"method":"SUBSCRIBE","params":["aabb@trade"],"id":1}`); got !=
		`{"error":{"code":2,"msg":"Invalid request: a connection has at most 1024 streams"},"id":1}` {
		t.Errorf("%s", got)
	}
	if got := x.Stats().Subscriptions; got != maxStreams {
		t.Errorf("%d subscriptions", got)
	}
}

// Each stream speaks when its figures have changed, and not more often than documented. Block trades and reference
// prices do not happen.
func TestTheSpeedOfStreams(t *testing.T) {
	x := newLooks(t)
	names := []string{
		"aabb@avgPrice", "aabb@ticker_1h", "!ticker_1h@arr", "aabb@kline_1s", "aabb@kline_1m", "aabb@ticker",
		"aabb@blockTrade", "aabb@referencePrice",
	}
	clients := map[string]*sockets.MemoryConn{}
	for _, name := range names {
		clients[name] = x.connect(name)
	}
	count := func(seconds int, each func()) map[string]int {
		n := map[string]int{}
		for range seconds {
			x.market.Pass(int64(time.Second))
			each()
			x.market.Publish()
			for range 10 {
				x.tick()
			}
			for name, c := range clients {
				if texts, _ := c.Take(); len(texts) > 0 {
					n[name] += len(texts)
				}
			}
		}
		return n
	}
	trade := func() {
		x.market.Limit(0, engine.Buy, 100, 1)
		x.market.Limit(0, engine.Sell, 100, 1)
	}
	count(1, func() {}) // all begin
	busy := count(8, trade)
	// A candle of a second is sent as closed when the next one begins.
	if want := map[string]int{
		"aabb@avgPrice": 8, "aabb@ticker_1h": 8, "!ticker_1h@arr": 8, "aabb@ticker": 8, "aabb@kline_1s": 15,
		"aabb@kline_1m": 4,
	}; !maps.Equal(busy, want) {
		t.Errorf("eight seconds with a trade each: %v messages, want %v", busy, want)
	}
	x.market.Pass(int64(4 * time.Minute))
	count(1, func() {})
	quiet := count(30, func() {})
	if quiet["aabb@ticker_1h"] != 0 || quiet["!ticker_1h@arr"] != 0 || quiet["aabb@avgPrice"] != 0 {
		t.Errorf("a quiet half minute: %v messages", quiet)
	}
	x.market.Pass(int64(time.Hour)) // the trades leave both windows
	later := count(3, func() {})
	if later["aabb@ticker_1h"] != 1 || later["!ticker_1h@arr"] != 1 || later["aabb@avgPrice"] != 1 ||
		later["aabb@ticker"] != 0 {
		t.Errorf("behind the hour: %v messages", later)
	}
}

// A socket in microseconds has the messages of one in milliseconds, but for the unit of their times.
func TestTimesOfStreamsInMicroseconds(t *testing.T) {
	x := newLooks(t)
	names := []string{
		"aabb@trade", "aabb@aggTrade", "aabb@depth@100ms", "aabb@depth5@100ms", "aabb@bookTicker", "aabb@kline_1m",
		"aabb@kline_1d@+08:00", "aabb@ticker", "aabb@miniTicker", "!ticker@arr", "!miniTicker@arr", "aabb@ticker_1h",
		"!ticker_4h@arr", "aabb@avgPrice",
	}
	times := regexp.MustCompile(`\b(1[0-9]{12})[0-9]{3}\b`)
	for _, name := range names {
		coarse, fine := x.connect(name), x.connectIn(microseconds, name)
		x.tick()
		x.market.Pass(int64(61*time.Second) + 123_456)
		x.market.Limit(0, engine.Buy, 100, 2)
		x.market.Limit(0, engine.Sell, 100, 1)
		x.market.Publish()
		for range 30 {
			x.tick()
		}
		want, _ := coarse.Take()
		got, _ := fine.Take()
		if len(want) == 0 || len(got) != len(want) {
			t.Fatalf("%s: %s, want the times of %s in microseconds", name, got, want)
		}
		for i := range got {
			text := times.ReplaceAllString(string(got[i]), "$1")
			if text != string(want[i]) {
				t.Errorf("%s: %s, want the times of %s in microseconds", name, got[i], want[i])
			}
			if hasTime := strings.Contains(text, `"E":`); hasTime == (text == string(got[i])) {
				t.Errorf("%s: the unit of %s", name, got[i])
			}
		}
		coarse.Close()
		fine.Close()
	}
}

// A connection lives for 24 hours, and its end is announced 10 minutes before, once. A younger one goes on.
func TestAConnectionLivesForADay(t *testing.T) {
	x := newLooks(t)
	old := x.connect("aabb@blockTrade")
	x.tick()
	born := x.nowNs
	at := func(age time.Duration) string {
		x.nowNs = born + int64(age)
		before, _ := old.Take() // shows that the client lives
		for range 10 {
			x.tick()
		}
		after, closed := old.Take()
		return fmt.Sprintf("%s%s %d", before, after, closed)
	}
	const none, announced = "[][] 0", `[][{"e":"serverShutdown","E":1767225600000}] 0`
	if got := at(connectionLife - lifeNotice - 2*time.Second); got != none {
		t.Errorf("before the notice: %s", got)
	}
	young := x.connect("aabb@blockTrade")
	if got := at(connectionLife - lifeNotice); got != announced {
		t.Errorf("at the notice: %s, want %s", got, announced)
	}
	if got := at(connectionLife - 2*time.Second); got != none {
		t.Errorf("between: %s", got)
	}
	young.Take()
	if got := at(connectionLife); got != "[][] 1001" {
		t.Errorf("at the end: %s", got)
	}
	if texts, closed := young.Take(); len(texts) != 0 || closed != 0 {
		t.Errorf("a younger one: %s, closed with %d", texts, closed)
	}
}
