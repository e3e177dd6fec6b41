package binance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fault"
	sockets "github.com/tickhive/tickhive/server/stream"
)

// faultyLooks returns a facade with fault rules and a connection with streams that has had its first messages.
func faultyLooks(t *testing.T, rules []string, names ...string) (x *looks, c *sockets.MemoryConn) {
	t.Helper()
	x = newLooks(t)
	c = x.connect(names...)
	x.tick()
	c.Take()
	parsed, err := fault.ParseAll(rules)
	if err != nil {
		t.Fatal(err)
	}
	x.faults.Rules = &fault.Switch{}
	if _, err := x.faults.Rules.Add(parsed, 0); err != nil {
		t.Fatal(err)
	}
	return x, c
}

// bids places four orders, one in each tick, and returns the ids of the updates of the book: first-last.
func (x *looks) bids(c *sockets.MemoryConn) (ids []string) {
	x.t.Helper()
	for i := range 4 {
		x.market.Limit(0, engine.Buy, int64(100+i), 1)
		x.market.Publish()
		x.tick()
	}
	texts, _ := c.Take()
	for _, u := range depths(x.t, texts) {
		ids = append(ids, fmt.Sprint(u.First, "-", u.Last))
	}
	return ids
}

// The rules of streams reach the messages of this interface, each kind as the contract says, and no others.
func TestFaultRulesReachStreams(t *testing.T) {
	const name = "aabb@depth@100ms"
	x, c := faultyLooks(t, nil, name)
	base := x.bids(c)
	if len(base) != 4 {
		t.Fatalf("%v without rules", base)
	}
	var first, last uint64
	if _, err := fmt.Sscanf(base[0], "%d-%d", &first, &last); err != nil {
		t.Fatal(err)
	}
	high := fmt.Sprint(first+1, "-", last)
	for rule, want := range map[string][]string{
		"drop count=1":                                 base[1:],
		"drop listener=public":                         base,
		"drop listener=binance channel=book":           {},
		"drop channel=trades":                          base,
		"drop pair=AA_BB":                              {},
		"drop pair=CC_BB":                              base,
		"drop key=k":                                   base,
		"repeat count=1":                               slices.Concat(base[:1], base),
		"reorder count=1":                              {base[1], base[0], base[2], base[3]},
		"gap count=1":                                  slices.Concat([]string{high}, base[1:]),
		"checksum":                                     base,
		"delay delay=150ms count=1":                    base,
		"delay delay=1m count=1":                       {},
		"close channel=trades count=1":                 base,
		"half-open listener=binance channel=* count=1": {},
	} {
		x, c := faultyLooks(t, []string{rule}, name)
		if got := x.bids(c); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", rule, got, want)
		}
		if rule == "delay delay=1m count=1" { // without the rule they come at once
			x.faults.Rules.Remove(0)
			x.tick()
			texts, _ := c.Take()
			if got := depths(t, texts); len(got) != len(base) || got[0].First != first {
				t.Errorf("behind the rule: %v", got)
			}
		}
	}
}
