package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"tickhive/client"
)

// follower subscribes to the full book of a pair of the running program.
func (in *instance) follower(pair string) *client.Follower {
	in.t.Helper()
	f, err := client.NewFollower(context.Background(), client.StreamURL(in.public), []string{pair}, 0, 0)
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() { _ = f.Stream.Close() })
	return f
}

// step reads one message, and fails the test if none arrives in time.
func step(t *testing.T, f *client.Follower) *client.Message {
	t.Helper()
	if err := f.Stream.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	m, err := f.Step()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sameAsREST reads on to the seq of a REST response and compares the books level by level.
func sameAsREST(t *testing.T, in *instance, f *client.Follower, pair string) {
	t.Helper()
	want, err := (&client.Client{Base: in.public}).OrderBook(context.Background(), pair, 0)
	if err != nil {
		t.Fatal(err)
	}
	for f.Books[pair].Seq < want.Seq {
		step(t, f)
	}
	b := f.Books[pair]
	if b.Seq != want.Seq {
		t.Fatalf("the stream is at seq %d, REST at %d", b.Seq, want.Seq)
	}
	sameBook(t, b, want)
}

// After a kill or a stop of the server, a client resumes from its seq without a gap or a
// repeat, even if it missed the last messages. With another epoch it must start over.
func TestStreamsGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) { streamsGoOn(t, s) })
	}
}

func streamsGoOn(t *testing.T, end syscall.Signal) {
	dir := t.TempDir()
	in := startEmpty(t, "--data-dir", dir)
	in.pair("AA_USDT")
	orders := func(in *instance, n int) {
		for i := range n {
			in.limit("AA_USDT", []string{"buy", "sell"}[i%2], fmt.Sprintf("%d.50", 10+i%2*3+i%3), "1.5")
		}
	}
	orders(in, 20)
	f := in.follower("AA_USDT")
	for !f.Books["AA_USDT"].Ready() {
		step(t, f)
	}
	orders(in, 20)
	sameAsREST(t, in, f, "AA_USDT")
	behind := f.Books["AA_USDT"].Seq
	orders(in, 30) // no client reads these
	in.signal(end)
	in.wait()

	in = startEmpty(t, "--data-dir", dir)
	if err := f.Reconnect(context.Background(), client.StreamURL(in.public)); err != nil {
		t.Fatal(err)
	}
	if ack := step(t, f); ack.Type != "subscribed" || ack.Epoch != f.Books["AA_USDT"].Epoch {
		t.Fatalf("after the restart: %s; the epoch was %s", ack.Raw, f.Books["AA_USDT"].Epoch)
	}
	if m := step(t, f); m.Type != "update" || m.PrevSeq != behind {
		t.Fatalf("after the restart: %s; want the update from %d", m.Raw, behind)
	}
	orders(in, 10)
	sameAsREST(t, in, f, "AA_USDT")
	if f.Resyncs != 0 {
		t.Errorf("%d snapshots were asked for, the last for %v", f.Resyncs, f.Last)
	}

	f.Books["AA_USDT"].Epoch = strings.Repeat("f", 16)
	if err := f.Reconnect(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	step(t, f)
	if m := step(t, f); m.Type != "snapshot" || m.Reason != "gap" {
		t.Errorf("with another epoch: %s", m.Raw)
	}
}
