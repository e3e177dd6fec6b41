package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
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
		{"after half an hour", state, "c618c683d36607589a48555f646d2bf601b03f0d0f11f39edb332df0e8e84952"},
		{"at the start", fresh, "429ee88e3a76cd6714e4a76cdb3e8f51b69a4267e634368303dd97dffd83317c"},
	} {
		sum := sha256.Sum256(c.state)
		if got := hex.EncodeToString(sum[:]); got != c.want {
			t.Errorf("%s: %d bytes with the hash %s, want %s", c.name, len(c.state), got, c.want)
		}
	}
}

// A state of an earlier or a later version is refused by name.
func TestStatesOfOtherVersionsAreRefused(t *testing.T) {
	t.Parallel()
	fresh := func() *Market { return New(Options{Core: engine.NewCore(engine.Options{}), StartNs: testStart}) }
	state := fresh().AppendState(nil)
	for version := range byte(6) {
		state[0] = version
		err := fresh().DecodeState(state)
		says := fmt.Sprintf("has version %d, and this program reads 3 alone", version)
		if version == 3 && err != nil || version != 3 && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("version %d: %v", version, err)
		}
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
