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
		{"after half an hour", state, "4e69af169c6825461b87129d26229b6cd36aea151a113eba0752a4cdefc76c19"},
		{"at the start", fresh, "be5f4e15fa9b5c0acf069942c4538e2f976c334538d28e4923db123852ddb148"},
	} {
		sum := sha256.Sum256(c.state)
		if got := hex.EncodeToString(sum[:]); got != c.want {
			t.Errorf("%s: %d bytes with the hash %s, want %s", c.name, len(c.state), got, c.want)
		}
	}
}
