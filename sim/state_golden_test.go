package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"
)

// Snapshots hold the bytes of AppendState: other bytes need another stateVersion.
func TestStateBytesAreGolden(t *testing.T) {
	t.Parallel()
	b := newBench(t, 5, testPairs())
	b.advance(t, 30*time.Minute)
	var state []byte
	if err := b.loop.Query(func() { state = b.market.AppendState(nil) }); err != nil {
		t.Fatal(err)
	}
	fresh := New(Options{Core: b.Core, Seed: 9, StartNs: testStart, Pairs: testPairs()}).AppendState(nil)
	for _, c := range []struct {
		name  string
		state []byte
		want  string
	}{
		{"after half an hour", state, "1e6c1fc45f26386db3a13d6ab17bf17ea6800f634bab024dbb6598448c7d8b8d"},
		{"at the start", fresh, "1af73df043c9f1ee841d22a6ad9ca101eefe10a522e2d0aa0936f6c95fce98e4"},
	} {
		sum := sha256.Sum256(c.state)
		if got := hex.EncodeToString(sum[:]); got != c.want {
			t.Errorf("%s: %d bytes with the hash %s, want %s", c.name, len(c.state), got, c.want)
		}
	}
}

// Snapshots of older programs hold version 1: the market that continues from one is the same except for what version 1
// does not have.
func TestAnOlderStateIsRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, 5, testPairs())
	b.advance(t, 30*time.Minute)
	var old, want []byte
	if err := b.loop.Query(func() {
		old = b.market.appendState(nil, 1)
		for _, a := range b.market.pairs {
			a.impact, a.meta = 0, 0
		}
		want = b.market.AppendState(nil)
	}); err != nil {
		t.Fatal(err)
	}
	next := New(Options{Core: b.Core, Seed: 9, StartNs: testStart, Pairs: testPairs()})
	if err := next.DecodeState(old); err != nil {
		t.Fatal(err)
	}
	if got := next.AppendState(nil); string(got) != string(want) {
		t.Errorf("%d bytes after version 1, want %d", len(got), len(want))
	}
	if err := next.DecodeState([]byte{stateVersion + 1}); err == nil {
		t.Error("the state of a newer program is read")
	}
}

// A history has lean books until FullNs, and deep ones from then on.
func TestAHistoryBecomesDeep(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, 5, testPairs()[:1], nil)
	b.market.full = testStart + int64(20*time.Minute)
	b.advance(t, 19*time.Minute)
	if n := b.Core.OpenOrders(b.ids[0]); n < 100 || n > 1000 {
		t.Errorf("%d open orders in the history", n)
	}
	b.advance(t, 21*time.Minute)
	v := b.Feed.Board().Load().View(b.ids[0])
	bid, _ := v.Bids.Best()
	ask, _ := v.Asks.Best()
	if v.Bids.Len() < majorLevelsMin-100 || v.Asks.Len() < majorLevelsMin-100 || ask.Price-bid.Price > 20 {
		t.Errorf("%d bids, %d asks, a spread of %d ticks after it", v.Bids.Len(), v.Asks.Len(), ask.Price-bid.Price)
	}
}
