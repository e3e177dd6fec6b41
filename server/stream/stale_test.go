package stream

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

// While a replica is behind its writer, each tick closes the connections that are open: with an error that says why,
// then with 1013, once each. A heartbeat would say that the market is quiet. Afterwards sockets stay open again.
func TestConnectionsOfAStaleReplica(t *testing.T) {
	x := newManualHub(t, marketdataDefaults, "BTC_USDT")
	var stale *refuse.Refusal
	x.opts.Stale = func() *refuse.Refusal { return stale }
	c := x.connect()
	x.ask(c, `{"op":"subscribe","channel":"book","pairs":["BTC_USDT"]}`)
	x.tick()
	x.deliver()
	if _, closed := x.read(c); closed != 0 {
		t.Fatalf("a fresh replica closes with %d", closed)
	}
	stale = refuse.New(refuse.Stale, "", "This replica is behind.")
	x.bid(0, 100)
	for range ticksPerSecond * 2 {
		x.tick()
		x.deliver()
	}
	texts, closed := x.texts(c)
	var m struct{ Type, Code, Message string }
	if len(texts) == 1 {
		if err := json.Unmarshal(texts[0], &m); err != nil {
			t.Fatal(err)
		}
	}
	if closed != closeTryLater || m.Type != "error" || m.Code != "STALE" || m.Message != stale.Message {
		t.Errorf("closed with %d behind %s", closed, texts)
	}
	if len(c.hub.subs) != 0 || !c.hub.detached {
		t.Error("the connection is still subscribed")
	}
	stale = nil
	again := x.connect()
	x.ask(again, `{"op":"subscribe","channel":"book","pairs":["BTC_USDT"]}`)
	x.tick()
	x.deliver()
	if list, closed := x.read(again); closed != 0 || len(list) == 0 || list[len(list)-1].Type != "snapshot" {
		t.Errorf("a replica that has caught up: %v, closed with %d", list, closed)
	}
}

// A node that lacks what a client resumes behind holds the subscription until it has that. Where it does not come in
// time, the node refuses: the client must not see trades twice, nor an older book.
func TestANodeThatIsBehindAResumeHoldsIt(t *testing.T) {
	x := newManualHub(t, marketdataDefaults, "BTC_USDT")
	changed := make(chan struct{})
	x.opts.Published = func() <-chan struct{} { return changed }
	x.trade(3)
	seq := uint64(x.board.load().Lookup("BTC_USDT").BookSeq)
	for _, text := range []string{
		`{"op":"subscribe","channel":"trades","pairs":["BTC_USDT"],"fromTradeId":6}`,
		fmt.Sprintf(`{"op":"subscribe","channel":"book","pairs":["BTC_USDT"],"fromSeq":%d,"epoch":%q}`, seq+1,
			x.opts.Epoch),
	} {
		c := x.connect()
		x.ask(c, text)
		texts, closed := x.texts(c)
		refused := len(texts) == 1 && strings.Contains(string(texts[0]), `"code":"STALE"`)
		if !refused || closed != 0 || len(c.hub.subs) != 0 {
			t.Errorf("%s: %q, closed with %d", text, texts, closed)
		}
	}

	req, _ := parseRequest([]byte(`{"op":"subscribe","channel":"trades","pairs":["BTC_USDT"],"fromTradeId":6}`))
	held := make(chan struct{})
	go func() { hold(x.Hub, &req); close(held) }()
	select {
	case <-held:
		t.Fatal("three of five trades are there, and the subscription is not held")
	case changed <- struct{}{}: // it looks once more
	}
	x.trade(2)
	close(changed)
	<-held
	c := x.connect()
	operation{x.Hub, c, req}.run()
	x.trade(1)
	x.runPublished()
	list, _ := x.read(c)
	var ids []uint64
	for _, m := range list {
		for _, d := range m.Trades {
			ids = append(ids, d.TradeID)
		}
	}
	if !slices.Equal(ids, []uint64{6}) {
		t.Errorf("behind trade 5 came %v of %+v", ids, list)
	}
}
