package jet_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tickhive/tickhive/internal/stream/jet"
)

// events opens the stream of events of a server.
func events(t *testing.T, c *jet.Conn) *jet.Events {
	t.Helper()
	e, err := c.Events(within(t), "e1", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// some returns n events of one message of the log.
func some(source uint64, n int) (out []jet.Event) {
	for i := range n {
		id := fmt.Sprintf("BTC_USDT:%d", source*1000+uint64(i))
		out = append(out, jet.Event{source, "BTC_USDT.trade", id, []byte(id)})
	}
	return out
}

// Events are in the stream once and in order, over a restart of the server and a second process that appends too.
func TestEventsAreThereOnceAndInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, dir, freeAddress(t))
	url := s.URL()
	c := conn(t, jet.Remote{URLs: []string{url}})
	one, ctx := events(t, c), within(t)
	if err := one.Append(ctx, some(1, 1)); !errors.Is(err, jet.ErrRefused) {
		t.Errorf("appended without a look at the end: %v", err)
	}
	if seq, _, err := one.Last(ctx); seq != 0 || err != nil {
		t.Fatalf("an empty stream ends at %d, %v", seq, err)
	}
	if err := one.Append(ctx, some(1, 600)); err != nil {
		t.Fatal(err)
	}

	two := events(t, c)
	if seq, last, err := two.Last(ctx); seq != 600 || last.Source != 1 || last.ID != "BTC_USDT:1599" || err != nil {
		t.Fatalf("the last event is %d %+v, %v", seq, last, err)
	}
	if err := two.Append(ctx, some(2, 3)); err != nil {
		t.Fatal(err)
	}
	if err := one.Append(ctx, some(2, 3)); !errors.Is(err, jet.ErrRefused) {
		t.Fatalf("the first process appended behind an end that it does not know: %v", err)
	}
	if err := one.Append(ctx, some(2, 3)); !errors.Is(err, jet.ErrRefused) {
		t.Fatalf("it did so at the second attempt: %v", err)
	}
	s.Stop()
	if err := two.Append(ctx, some(3, 1)); err == nil {
		t.Fatal("appended to a server that is down")
	}
	serve(t, dir, url[len("nats://"):])
	again := events(t, conn(t, jet.Remote{URLs: []string{url}}))
	seq, last, err := again.Last(ctx)
	if err != nil || seq != 603 || last.Source != 2 {
		t.Fatalf("after the restart the last event is %d %+v, %v", seq, last, err)
	}
	if err := again.Append(ctx, some(3, 1)); err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(some(1, 600), some(2, 3), some(3, 1))
	for i, w := range want {
		got, err := again.Read(ctx, uint64(i+1))
		if err != nil || got.ID != w.ID || got.Source != w.Source || got.Subject != w.Subject ||
			string(got.Data) != w.ID {
			t.Fatalf("event %d is %+v, %v; want %+v", i+1, got, err, w)
		}
	}
	if _, err := again.Read(ctx, uint64(len(want)+1)); err == nil {
		t.Error("there is an event behind the last one")
	}
}

// The stream of events is no exchange's stream, and keeps the newest bytes alone.
func TestTheStreamOfEventsIsBounded(t *testing.T) {
	t.Parallel()
	c := conn(t, jet.Remote{Embedded: serve(t, t.TempDir(), "")})
	ctx := within(t)
	if _, err := c.Log(ctx, "e1", 1); err != nil {
		t.Fatal(err)
	}
	e, err := c.Events(ctx, "e1", 4096)
	if err != nil {
		t.Fatal(err)
	}
	if epochs, err := c.Epochs(ctx); err != nil || !slices.Equal(epochs, []string{"e1"}) {
		t.Errorf("epochs %v, %v", epochs, err)
	}
	if _, _, err := e.Last(ctx); err != nil {
		t.Fatal(err)
	}
	if err := e.Append(ctx, some(1, 200)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Read(ctx, 1); err == nil {
		t.Error("the first event is still there")
	}
	if _, err := e.Read(ctx, 200); err != nil {
		t.Errorf("the last event: %v", err)
	}
	if _, err := c.Events(ctx, "e1", 1<<20); err != nil {
		t.Errorf("with another size: %v", err)
	}
	if _, err := c.Events(ctx, "e_1", 1); !errors.Is(err, jet.ErrSettings) {
		t.Errorf("an epoch with a sign of the suffix: %v", err)
	}
}
