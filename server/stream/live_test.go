package stream_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/public"
	"github.com/tickhive/tickhive/server/stream"
)

const testEpoch = "00112233445566aa"

// live is a running exchange with streams on a loopback port.
type live struct {
	t      *testing.T
	loop   *markettest.Loop
	feed   *marketdata.Feed
	hub    *stream.Hub
	srv    *edge.Server
	market *public.Market
	addr   string
	base   string
	pairs  []string
	stop   func()
}

func newLive(t *testing.T, pairs int) *live {
	t.Helper()
	return newLiveWith(t, pairs, func(*stream.Options, *edge.Options) {})
}

func newLiveWith(t *testing.T, pairs int, set func(*stream.Options, *edge.Options)) *live {
	t.Helper()
	rig := markettest.New(marketdata.Options{})
	feed := rig.Feed
	clk := clock.Real{}
	x := &live{t: t, feed: feed}
	hubOptions := stream.Options{
		Board: feed.Board(), Clock: clk, Epoch: testEpoch,
		Status: func(dst []byte) []byte {
			whole, _ := x.market.StatusView()
			return whole(dst)
		},
		StatusRow: public.WritePairStatus,
	}
	options := edge.Options{
		Clock: clk, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	set(&hubOptions, &options)
	x.hub = stream.NewHub(hubOptions)
	x.market = public.New(public.Options{Board: feed.Board(), Clock: clk})
	options.Resources = []edge.Resource{x.market.Routes, stream.Routes(x.hub)}
	srv, err := edge.New(options)
	if err != nil {
		t.Fatal(err)
	}
	x.srv = srv
	x.loop = rig.Run(t, sequencer.LoopOptions{Clock: clk, Sinks: []sequencer.Sink{feed.Sink(), x.hub}})
	go x.hub.Run()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x.addr = ln.Addr().String()
	x.base = "http://" + x.addr
	served := make(chan struct{})
	go func() { _ = srv.Serve(ln); close(served) }()
	for i := range pairs {
		code := fmt.Sprintf("C%02d_USDT", i)
		x.loop.AddPairs(markettest.Instrument(code, 2, 4))
		x.pairs = append(x.pairs, code)
	}
	srv.SetReady()
	stopped := false
	x.stop = func() {
		if stopped {
			return
		}
		stopped = true
		x.hub.Shutdown()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = srv.Shutdown(ctx)
		<-served
	}
	t.Cleanup(x.stop)
	return x
}

func (x *live) submit(cmds ...engine.Command) { x.loop.Do(cmds...) }

// order places a limit order on the i-th pair.
func (x *live) order(i int, side engine.Side, price, amount int64) {
	x.submit(engine.Command{Kind: engine.Place, Pair: engine.PairID(i), Side: side, Price: price, Amount: amount})
}

// churnAt trades at random on every pair until done is closed: 20 commands for each receive
// of turn.
func (x *live) churnAt(seed uint64, done <-chan struct{}, turn <-chan time.Time) {
	r := rand.New(rand.NewPCG(seed, 5))
	mid := int64(10_000)
	for {
		select {
		case <-done:
			return
		case <-turn:
		}
		mid += r.Int64N(3) - 1
		var cmds []engine.Command
		for range 20 {
			side := engine.Side(r.IntN(2))
			off := 1 + r.Int64N(60)
			if r.IntN(6) == 0 {
				off = -2
			}
			price := mid - off
			if side == engine.Sell {
				price = mid + off
			}
			cmds = append(cmds, engine.Command{
				Kind: engine.Place, Pair: engine.PairID(r.IntN(len(x.pairs))), Side: side, Price: price, Amount: 1 +
					r.Int64N(1000),
			})
		}
		if r.IntN(8) == 0 { // else a book would be empty whenever it is published
			cmds = append(cmds, engine.Command{
				Kind: engine.CancelAll, Pair: engine.PairID(r.IntN(len(x.pairs))), Flags: engine.FlagAllAccount,
				Order: engine.MakeOrderID(0, 1<<30),
			})
		}
		x.submit(cmds...)
	}
}

func (x *live) dial(query string) *client.Stream {
	x.t.Helper()
	s, err := client.Dial(context.Background(), "ws://"+x.addr+"/ws"+query)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = s.Close() })
	_ = s.SetReadDeadline(time.Now().Add(time.Minute))
	return s
}

// until reads messages until one satisfies ok.
func until(t *testing.T, s *client.Stream, what string, ok func(*client.Message) bool) *client.Message {
	t.Helper()
	for {
		m, err := s.Next()
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		if ok(m) {
			return m
		}
	}
}

func kind(want string) func(*client.Message) bool {
	return func(m *client.Message) bool { return m.Type == want }
}
