package exchange_test

import (
	"context"
	"testing"
	"time"

	"tickhive/engine"
	"tickhive/internal/exchange"
	"tickhive/internal/exchange/exchangetest"
	"tickhive/internal/node"
	"tickhive/internal/stream/jet"
	"tickhive/internal/stream/jet/jettest"
	"tickhive/marketdata"
	sockets "tickhive/server/stream"
)

// behindViews is the private feed of a hub. It checks that the views have everything that was folded when the hub
// publishes: the hub loads them then, and without a further change it does not look again. Owner: the goroutine that
// publishes.
type behindViews struct {
	sockets.PrivateFeed
	t         *testing.T
	board     *marketdata.Board
	folded    engine.Seq // of the only pair
	published int        // publications after an event of it
}

func (f *behindViews) Fold(events []engine.Event) {
	for i := range events {
		if events[i].Pair != engine.ControlPair {
			f.folded = max(f.folded, events[i].Seq)
		}
	}
	f.PrivateFeed.Fold(events)
}

func (f *behindViews) Publish() {
	if f.folded > 0 {
		f.published++
		if v := f.board.Load().View(0); v == nil || v.Seq < f.folded {
			f.t.Errorf("the hub publishes seq %d before the views have it", f.folded)
		}
	}
	f.PrivateFeed.Publish()
}

// A hub publishes behind the views, at a writer and at a replica.
func TestAHubPublishesBehindTheViews(t *testing.T) {
	mem := jettest.NewMem()
	options := func(dir string) (exchange.Options, *behindViews) {
		f := &behindViews{t: t}
		o := exchangetest.Options(dir)
		o.Clock = exchange.ClockOptions{}
		o.Hooks.Streams = func(s *sockets.Options) { f.PrivateFeed, f.board, s.Private = s.Private, s.Board, f }
		return o, f
	}
	o, writer := options(t.TempDir())
	o.Journal.Keep = exchange.KeepAll
	o.Cluster.Key = clusterRing()
	o.Stream = exchange.StreamOptions{
		Sim:  exchange.SimOff,
		Open: func(context.Context, string) (jet.Log, func(), error) { return mem.Connect(), func() {}, nil },
	}
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	for range 20 {
		x.Limit("BTC_USDT", "buy", "1", "0.001")
	}
	x.Stop()
	log := mem.Connect()
	genesis, err := node.ReadGenesis(t.Context(), log, clusterKeys())
	if err != nil {
		t.Fatal(err)
	}
	r, replica := options("")
	r.Follow = &exchange.FollowOptions{Log: log, Keys: clusterKeys(), Genesis: genesis, MaxLag: time.Hour}
	follows(t, r, func(string) {})
	if writer.published < 20 || replica.published == 0 || replica.folded != writer.folded {
		t.Errorf("writer %d publications up to seq %d, replica %d up to %d: too few to show anything", writer.published,
			writer.folded, replica.published, replica.folded)
	}
}

// follows runs a replica while use runs.
func follows(t *testing.T, o exchange.Options, use func(internal string)) {
	t.Helper()
	o.Log = exchangetest.Options("").Log
	y := followed(t, o)
	y.Admit()
	defer y.Stop(t.Context())
	use("http://" + y.InternalAddr() + "/internal/v1")
}
