package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// manyRun describes the load of many pairs on one socket.
type manyRun struct {
	pairs   []string
	orders  int64        // at least so many are sent
	sent    atomic.Int64 // orders
	samples int          // books compared with REST, spread over the orders
}

// Pace of the load: manyBatch orders in each of at most manyRate requests per second. A machine that is too busy for it
// makes fewer: what is late is left out.
const (
	manyRate  = 200
	manyBatch = 100
)

// docs/contract/streams.md#server-messages: with the books of 100 pairs on one socket and
// up to 20,000 orders per second, no chain breaks, every message's checksum is right (the follower
// recomputes it), and the rebuilt book equals the REST order book at the same seq.
func TestManyBooksOnOneSocketStayRight(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	run := &manyRun{orders: 3 * manyRate * manyBatch, samples: 10}
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		run.orders, run.samples = 600*manyRate*manyBatch, 1000
	}
	in := harness.Start(t, "--pairs", "none", "--sim", "off", "--set", "rate.allow=127.0.0.1")
	for i := range 100 {
		run.pairs = append(run.pairs, fmt.Sprintf("M%02d_USDT", i))
		in.Pair(run.pairs[i])
	}
	f, err := client.NewFollower(context.Background(), client.StreamURL(in.Public), run.pairs, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Stream.Close() })
	f.Patience = harness.Patience
	ended := make(chan error, 1)
	stop := make(chan struct{})
	go func() {
		err := run.load(in, stop)
		if err != nil {
			_ = f.Stream.Close() // the follower would wait for updates that never arrive
		}
		ended <- err
	}()
	err = run.follow(t, in, f)
	close(stop)
	if err = errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
}

// load posts a batch at each tick until stop: six of seven orders rest near the middle, the
// seventh takes one side out, so that books change and stay small.
func (run *manyRun) load(in *harness.Instance, stop <-chan struct{}) error {
	r := rand.New(rand.NewPCG(1, 2))
	var body bytes.Buffer
	tick := time.NewTicker(time.Second / manyRate)
	defer tick.Stop()
	began := time.Now()
	for {
		select {
		case <-stop:
			sent := run.sent.Load()
			in.T.Logf("%d orders, %.0f a second", sent, float64(sent)/time.Since(began).Seconds())
			return nil
		case <-tick.C:
		}
		body.Reset()
		body.WriteString(`{"commands":[`)
		for i := range manyBatch {
			if i > 0 {
				body.WriteByte(',')
			}
			away, side := 1+r.IntN(25), "buy"
			price, amount, tif := 1000-away, 1+r.IntN(5), "gtc"
			if r.IntN(2) == 0 {
				price, side = 1000+away, "sell"
			}
			if r.IntN(7) == 0 { // to the far end of the other side
				price, amount, tif = 2000-price, 40, "ioc"
			}
			fmt.Fprintf(&body,
				`{"place":{"currencyPairCode":%q,"side":%q,"type":"limit","timeInForce":%q,"price":"%d.%02d",`+
					`"amount":"%d.5"}}`,
				run.pairs[r.IntN(len(run.pairs))], side, tif, price/100, price%100, amount)
		}
		body.WriteString(`]}`)
		if a := in.Do("POST", in.Internal+"/orders/batch", body.String()); a.Status != 200 {
			return fmt.Errorf("a batch was answered %d: %.200s", a.Status, a.Body)
		}
		run.sent.Add(manyBatch)
	}
}

// manyBook is a REST order book.
type manyBook struct {
	client.OrderBook
	err error
}

// follow reads the stream for the length of the run and compares samples.
func (run *manyRun) follow(t *testing.T, in *harness.Instance, f *client.Follower) error {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	ask, answer := make(chan string, 1), make(chan manyBook, 1)
	defer close(ask)
	go func() {
		for pair := range ask {
			b, err := (&client.Client{Base: in.Public}).OrderBook(context.Background(), pair, 0)
			answer <- manyBook{b, err}
		}
	}()
	var (
		watched            string // the pair of the current sample
		states             []*client.Book
		want               *manyBook
		messages, compared int
		updates, passed    int
	)
	began := time.Now()
	for run.sent.Load() < run.orders || compared < run.samples {
		m, err := f.Step()
		if err != nil {
			return fmt.Errorf("after %d messages: %w", messages, err)
		}
		if f.Resyncs > 0 {
			return fmt.Errorf("after %d messages: %w", messages, f.Last)
		}
		messages++
		if m.Type == "error" || m.Type == "snapshot" && m.Reason != "subscribe" {
			return fmt.Errorf("after %d messages: %.300s", messages, m.Raw)
		}
		if m.Type != "update" {
			continue
		}
		updates++
		due := int(int64(run.samples) * run.sent.Load() / run.orders)
		if watched == "" && compared < min(due, run.samples) {
			watched, states = run.pairs[r.IntN(len(run.pairs))], states[:0]
		}
		if m.Pair != watched {
			continue
		}
		if states = append(states, f.Books[watched].Clone()); len(states) == 1 {
			ask <- watched
		}
		if want == nil {
			select {
			case a := <-answer:
				if a.err != nil {
					return a.err
				}
				want = &a
			default:
				continue
			}
		}
		if states[len(states)-1].Seq < want.Seq {
			continue
		}
		i := slices.IndexFunc(states, func(b *client.Book) bool { return b.Seq == want.Seq })
		if i >= 0 {
			harness.SameBook(t, states[i], want.OrderBook)
			compared++
		} else {
			passed++ // one update connected this seq with the next
		}
		watched, want = "", nil
	}
	if f.Repeats > 0 {
		t.Errorf("%d updates repeated what was known", f.Repeats)
	}
	t.Logf("%d messages, %d updates (%.0f a second), each with its checksum; %d books equal to REST's, %d asked at a "+
		"seq that an update joined with the next",
		messages, updates, float64(updates)/time.Since(began).Seconds(), compared, passed)
	return nil
}
