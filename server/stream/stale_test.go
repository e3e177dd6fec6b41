package stream

import (
	"encoding/json"
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
