package cli

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

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
	in := harness.StartEmpty(t, "--data-dir", dir)
	in.Pair("AA_USDT")
	orders := func(in *harness.Instance, n int) {
		for i := range n {
			in.Limit("AA_USDT", []string{"buy", "sell"}[i%2], fmt.Sprintf("%d.50", 10+i%2*3+i%3), "1.5")
		}
	}
	orders(in, 20)
	f := in.Follower("AA_USDT")
	for !f.Books["AA_USDT"].Ready() {
		harness.Step(t, f)
	}
	orders(in, 20)
	harness.SameAsREST(t, in, f, "AA_USDT")
	behind := f.Books["AA_USDT"].Seq
	orders(in, 30) // no client reads these
	in.Signal(end)
	in.Wait()

	in = harness.StartEmpty(t, "--data-dir", dir)
	if err := f.Reconnect(context.Background(), client.StreamURL(in.Public)); err != nil {
		t.Fatal(err)
	}
	if ack := harness.Step(t, f); ack.Type != "subscribed" || ack.Epoch != f.Books["AA_USDT"].Epoch {
		t.Fatalf("after the restart: %s; the epoch was %s", ack.Raw, f.Books["AA_USDT"].Epoch)
	}
	if m := harness.Step(t, f); m.Type != "update" || m.PrevSeq != behind {
		t.Fatalf("after the restart: %s; want the update from %d", m.Raw, behind)
	}
	orders(in, 10)
	harness.SameAsREST(t, in, f, "AA_USDT")
	if f.Resyncs != 0 {
		t.Errorf("%d snapshots were asked for, the last for %v", f.Resyncs, f.Last)
	}

	f.Books["AA_USDT"].Epoch = strings.Repeat("f", 16)
	if err := f.Reconnect(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	harness.Step(t, f)
	if m := harness.Step(t, f); m.Type != "snapshot" || m.Reason != "gap" {
		t.Errorf("with another epoch: %s", m.Raw)
	}
}
