package clusterdemo

import (
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
)

func order(id string, filled client.Decimal) client.Order {
	return client.Order{ID: id, Pair: botPair, Status: "Completed", FilledAmount: filled, Fee: &filled}
}

// An order is lost when the node does not have its id, and when one figure differs; figures behind pointers are
// compared by their values. What the node has beyond is not counted.
func TestLostOrdersAreCounted(t *testing.T) {
	acknowledged := []client.Order{order("1", "0.1"), order("2", "0.2"), order("3", "0.3")}
	have := map[string]client.Order{}
	for _, o := range []client.Order{order("1", "0.1"), order("2", "0.2"), order("3", "0.3"), order("4", "9")} {
		have[o.ID] = o
	}
	if n := lost(acknowledged, have); n != 0 {
		t.Errorf("%d lost of orders that are all there", n)
	}
	fee := have["2"]
	other := client.Decimal("0.21")
	fee.Fee = &other
	have["2"] = fee
	delete(have, "3")
	if n := lost(acknowledged, have); n != 2 {
		t.Errorf("%d lost, want one that is missing and one with another fee", n)
	}
	if n := lost(acknowledged, nil); n != 3 {
		t.Errorf("%d lost of 3 when nothing is there", n)
	}
}

// A takeover lasts from the kill to the first order that was sent afterwards and acknowledged. An answer of the old
// writer that is read late ends no outage, nor does the end of a process that is not the writer begin one.
func TestATakeoverLastsFromTheKillToTheNextOrder(t *testing.T) {
	b := newBot(nil, nil)
	ack := func(by string, sent time.Time) { b.acknowledged(by, sent, client.Order{}) }
	ack("node-1", time.Now())
	b.ended("node-3")
	if b.view().outage != nil {
		t.Fatal("the end of a replica is an outage")
	}
	before := time.Now()
	b.killed("node-1")
	ack("node-1", before)
	ack("node-1", time.Now()) // between the two, the process still runs
	b.ended("node-1")
	ack("node-1", before)
	if v := b.view(); v.outage == nil || len(v.taken) != 0 {
		t.Fatalf("an answer of the killed node ends the outage: %+v", v)
	}
	began := b.view().outage.began
	ack("node-2", time.Now())
	ack("node-1", before)
	v := b.view()
	if v.outage != nil || len(v.taken) != 1 || v.Acknowledged != 6 {
		t.Fatalf("%+v", v)
	}
	if got := v.taken[0]; got.Node != "node-2" || got.Former != "node-1" || got.After != got.At.Sub(began) {
		t.Errorf("%+v, began %s", got, began)
	}
	// The one node that is left ends and comes back: it takes over from itself.
	b.killed("node-2")
	b.ended("node-2")
	ack("node-2", time.Now())
	if v := b.view(); len(v.taken) != 2 || v.taken[1].Node != "node-2" || v.taken[1].Former != "node-2" {
		t.Errorf("%+v", v.taken)
	}
}

func TestTheSentence(t *testing.T) {
	for want, x := range map[string]takeover{
		"node-2 took over after 1.9 s; 9,072 acknowledged orders, 0 lost": {
			Node: "node-2", After: 1_870 * time.Millisecond, counts: counts{Acknowledged: 9072, Checked: 9072},
		},
		"node-1 took over after 12.0 s; 1,234,567 acknowledged orders, the newest 50,000 read back, 12 lost": {
			Node: "node-1", After: 12 * time.Second,
			counts: counts{Acknowledged: 1_234_567, Checked: 50_000, Lost: 12},
		},
	} {
		if got := x.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
