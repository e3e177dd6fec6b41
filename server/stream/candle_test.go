package stream

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tickhive/tickhive/marketdata"
)

// candleMessage is a message of a candles channel.
type candleMessage struct {
	Type   string
	Candle *struct{ Volume, Close float64 }
	Closed bool
}

func (x *manualHub) candles(c *session) (out []candleMessage) {
	x.t.Helper()
	x.tick()
	x.deliver()
	texts, _ := x.texts(c)
	for _, text := range texts {
		var m candleMessage
		if err := json.Unmarshal(text, &m); err != nil {
			x.t.Fatalf("%v: %s", err, text)
		}
		if m.Type == "update" || m.Type == "snapshot" {
			out = append(out, m)
		}
	}
	return out
}

// docs/contract/streams.md#channels: a candle is closed once, when no later trade can belong to
// it. A trade of its last second that the disk delays is published after the hub's clock has
// passed the end, and still belongs to it.
func TestACandleIsClosedOnce(t *testing.T) {
	x := newManualHub(t, marketdata.Options{}, "AA_BB")
	clk := x.market.Clock
	x.trade(1)
	c := x.connect()
	x.ask(c, `{"op":"subscribe","channel":"candles.minute","pairs":["AA_BB"]}`)
	if m := x.candles(c); len(m) != 1 || m[0].Closed {
		t.Fatalf("the snapshot: %+v", m)
	}
	end := clk.NowNs() + int64(time.Minute)
	clk.Set(end - 1)
	delayed := clk.NowNs()
	clk.Set(end + int64(time.Second)) // the hub's clock; the trade is on its way
	if m := x.candles(c); len(m) != 0 {
		t.Errorf("closed before its last trade: %+v", m)
	}
	late := x.connect()
	x.ask(late, `{"op":"subscribe","channel":"candles.minute","pairs":["AA_BB"]}`)
	if m := x.candles(late); len(m) != 1 || m[0].Closed {
		t.Errorf("a later snapshot: %+v", m)
	}
	clk.Set(delayed)
	x.trade(1)
	clk.Set(end + int64(time.Second))
	m := x.candles(c)
	if len(m) != 1 || m[0].Closed || m[0].Candle == nil || m[0].Candle.Volume != 0.0002 {
		t.Fatalf("after the delayed trade: %+v", m)
	}
	x.market.Publish() // no trade, time alone
	if m = x.candles(c); len(m) != 1 || !m[0].Closed || m[0].Candle.Volume != 0.0002 {
		t.Errorf("at the end: %+v", m)
	}
	x.trade(1)
	if m = x.candles(c); len(m) != 1 || m[0].Closed || m[0].Candle.Volume != 0.0001 {
		t.Errorf("the next candle: %+v", m)
	}
	clk.Set(end + 3*int64(time.Minute))
	x.market.Publish()
	if m = x.candles(c); len(m) != 1 || !m[0].Closed {
		t.Errorf("its end: %+v", m)
	}
	if m = x.candles(c); len(m) != 0 {
		t.Errorf("said again: %+v", m)
	}
}
