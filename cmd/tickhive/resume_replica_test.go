package main

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"tickhive/client"
)

// A client of the book moves from a node to another with fromSeq, and misses and repeats nothing, also at a replica
// that is behind the client when it asks.
func TestStreamsGoOnAtAnotherReplica(t *testing.T) {
	t.Parallel()
	at := streamAddress(t)
	writer := start(t, "--data-dir", t.TempDir(), "--pairs", "none", "--sim", "off", "--quiet", "--journal", "embedded",
		"--set", "stream.listen="+at)
	writer.pair("AA_USDT")
	replicas := []*instance{startReplica(t, at), startReplica(t, at)}
	orders := func(n int) {
		for i := range n {
			writer.limit("AA_USDT", []string{"buy", "sell"}[i%2], fmt.Sprintf("%d.50", 10+i%2*3+i%3), "1.5")
		}
	}
	orders(10)
	waitFor(t, func() bool {
		a := replicas[0].do("GET", replicas[0].public+"/api/orderbook?currencyPairCode=AA_USDT", "")
		return a.status == 200 && a.header.Get("X-Seq") != "0"
	})
	f := replicas[0].follower("AA_USDT")
	for !f.Books["AA_USDT"].Ready() {
		step(t, f)
	}
	for round := range 10 {
		from, to := replicas[round%2], replicas[(round+1)%2]
		to.signal(syscall.SIGSTOP)
		orders(10)
		sameAsREST(t, from, f, "AA_USDT")
		sameAsREST(t, writer, f, "AA_USDT")
		behind := f.Books["AA_USDT"].Seq
		to.signal(syscall.SIGCONT)
		if err := f.Reconnect(context.Background(), client.StreamURL(to.public)); err != nil {
			t.Fatal(err)
		}
		if ack := step(t, f); ack.Type != "subscribed" || ack.Epoch != f.Books["AA_USDT"].Epoch {
			t.Fatalf("round %d: %s; the epoch was %s", round, ack.Raw, f.Books["AA_USDT"].Epoch)
		}
		orders(1)
		if m := step(t, f); m.Type != "update" || m.PrevSeq != behind {
			t.Fatalf("round %d: %s; want the update from %d", round, m.Raw, behind)
		}
	}
	sameAsREST(t, writer, f, "AA_USDT")
	if f.Resyncs != 0 {
		t.Errorf("%d snapshots were asked for, the last for %v", f.Resyncs, f.Last)
	}
}
