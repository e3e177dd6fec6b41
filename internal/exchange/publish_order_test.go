package exchange_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/stream"
)

// behindViews is a sink in front of the hub. It checks that the views have everything that was folded when the hub
// publishes: the hub loads them then, and without a further change it does not look again. Owner: the goroutine that
// publishes.
type behindViews struct {
	t         *testing.T
	board     *marketdata.Board
	folded    engine.Seq // of the only pair
	seen      engine.Seq // seq of its view at the last publication
	published int        // publications after an event of it
}

// Fold implements sequencer.Sink.
func (f *behindViews) Fold(events []engine.Event, _ uint64) {
	for i := range events {
		if events[i].Pair != engine.ControlPair {
			f.folded = max(f.folded, events[i].Seq)
		}
	}
}

// Publish implements sequencer.Sink.
func (f *behindViews) Publish(int64) {
	v := f.board.Load().View(0)
	if v == nil {
		return
	}
	f.published++
	if f.seen = v.Seq; v.Seq < f.folded {
		f.t.Errorf("the hub publishes seq %d before the views have it", f.folded)
	}
}

// NextNs implements sequencer.Sink.
func (f *behindViews) NextNs() int64 { return math.MaxInt64 }

// A hub publishes behind the views, at a writer and at a replica.
func TestAHubPublishesBehindTheViews(t *testing.T) {
	mem := jettest.NewMem()
	options := func(dir string) (exchange.Options, *behindViews) {
		f := &behindViews{t: t}
		o := exchangetest.Options(dir)
		o.Clock = exchange.ClockOptions{}
		o.Hooks.Streams = func(s *stream.Options) { f.board = s.Board }
		o.Hooks.Sinks = func(s []sequencer.Sink) []sequencer.Sink {
			at := slices.IndexFunc(s, func(one sequencer.Sink) bool { _, ok := one.(*stream.Hub); return ok })
			return slices.Insert(s, at, sequencer.Sink(f))
		}
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
	if writer.published < 20 || writer.folded == 0 || replica.seen != writer.folded {
		t.Errorf("the writer's hub has published %d times up to seq %d, the replica's %d times up to %d, want the same",
			writer.published, writer.folded, replica.published, replica.seen)
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
