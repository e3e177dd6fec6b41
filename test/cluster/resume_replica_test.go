package cluster

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// A client of the book moves from a node to another with fromSeq, and misses and repeats nothing, also at a replica
// that is behind the client when it asks.
func TestStreamsGoOnAtAnotherReplica(t *testing.T) {
	t.Parallel()
	at := harness.StreamAddress(t)
	writer := harness.Start(t, "--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off", "--quiet", "--journal",
		"embedded",
		"--set", "stream.listen="+at)
	writer.Pair("AA_USDT")
	replicas := []*harness.Instance{harness.StartReplica(t, at), harness.StartReplica(t, at)}
	orders := func(n int) {
		for i := range n {
			writer.Limit("AA_USDT", []string{"buy", "sell"}[i%2], fmt.Sprintf("%d.50", 10+i%2*3+i%3), "1.5")
		}
	}
	orders(10)
	harness.WaitFor(t, func() bool {
		a := replicas[0].Do("GET", replicas[0].Public+"/api/orderbook?currencyPairCode=AA_USDT", "")
		return a.Status == 200 && a.Header.Get("X-Seq") != "0"
	})
	f := replicas[0].Follower("AA_USDT")
	for !f.Books["AA_USDT"].Ready() {
		harness.Step(t, f)
	}
	for round := range 10 {
		from, to := replicas[round%2], replicas[(round+1)%2]
		to.Signal(syscall.SIGSTOP)
		orders(10)
		harness.SameAsREST(t, from, f, "AA_USDT")
		harness.SameAsREST(t, writer, f, "AA_USDT")
		behind := f.Books["AA_USDT"].Seq
		to.Signal(syscall.SIGCONT)
		if err := f.Reconnect(context.Background(), client.StreamURL(to.Public)); err != nil {
			t.Fatal(err)
		}
		if ack := harness.Step(t, f); ack.Type != "subscribed" || ack.Epoch != f.Books["AA_USDT"].Epoch {
			t.Fatalf("round %d: %s; the epoch was %s", round, ack.Raw, f.Books["AA_USDT"].Epoch)
		}
		orders(1)
		if m := harness.Step(t, f); m.Type != "update" || m.PrevSeq != behind {
			t.Fatalf("round %d: %s; want the update from %d", round, m.Raw, behind)
		}
	}
	harness.SameAsREST(t, writer, f, "AA_USDT")
	if f.Resyncs != 0 {
		t.Errorf("%d snapshots were asked for, the last for %v", f.Resyncs, f.Last)
	}
}
