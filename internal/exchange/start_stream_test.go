package exchange_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
)

// heldTurns is how often a message that is held back lets other goroutines run: a start that does not wait for it ends
// meanwhile. heldLooks is how often a standby looks meanwhile whether the writer is silent.
const (
	heldTurns = 1 << 16
	heldLooks = 64
)

// slowLog is a log that holds messages back until the start has ended, or has had its chance.
type slowLog struct {
	jet.Log
	sends    bool          // holds back records that the node sends
	receives atomic.Uint64 // holds back messages from this one on; 0: none
	stands   bool          // the node takes over
	cut      atomic.Bool   // the log does not answer Last, as a server that cannot be reached
	ended    atomic.Bool   // the start has
	held     atomic.Int64  // messages that were held back
	looks    atomic.Int64
	looked   chan struct{} // receives when looks or ended has changed
}

func newSlowLog(log jet.Log) *slowLog { return &slowLog{Log: log, looked: make(chan struct{}, 1)} }

func (l *slowLog) hold() {
	l.held.Add(1)
	if l.stands {
		l.awaitLooks(heldLooks)
		return
	}
	for n := 0; n < heldTurns && !l.ended.Load(); n++ {
		runtime.Gosched()
	}
}

// awaitLooks waits until the standby has looked so often, or the start has ended. One goroutine calls it.
func (l *slowLog) awaitLooks(n int64) {
	for l.looks.Load() < n && !l.ended.Load() {
		<-l.looked
	}
}

func (l *slowLog) changed() {
	select {
	case l.looked <- struct{}{}:
	default:
	}
}

// end notes that the start has ended.
func (l *slowLog) end() {
	l.ended.Store(true)
	l.changed()
}

// Publish implements jet.Log.
func (l *slowLog) Publish(number, expect uint64, data []byte) error {
	if m, err := stream.Decode(data, clusterKeys()); err == nil && l.sends && m.Kind == stream.Records {
		l.hold()
	}
	return l.Log.Publish(number, expect, data)
}

// Last implements jet.Log.
func (l *slowLog) Last(ctx context.Context) (uint64, error) {
	l.looks.Add(1)
	l.changed()
	if l.cut.Load() {
		return 0, jet.ErrUnavailable
	}
	return l.Log.Last(ctx)
}

// Follow implements jet.Log.
func (l *slowLog) Follow(ctx context.Context, from uint64, deliver func(uint64, []byte) error) error {
	return l.Log.Follow(ctx, from, func(seq uint64, data []byte) error {
		if from := l.receives.Load(); from > 0 && seq >= from {
			l.hold()
		}
		return deliver(seq, data)
	})
}

// streams makes an exchange send its records to a log.
func streams(t *testing.T, o *exchange.Options, log jet.Log) {
	t.Helper()
	o.Cluster.Key = clusterRing()
	o.Stream = exchange.StreamOptions{
		Sim: exchange.SimOff, Quorum: true,
		Open: func(context.Context, string) (jet.Log, func(), error) { return log, func() {}, nil },
	}
}

// realTime returns the options of an exchange on the machine's clock.
func realTime(dir string) exchange.Options {
	o := exchangetest.Options(dir)
	o.Clock = exchange.ClockOptions{}
	return o
}

// fill places orders and adds users, and returns the position of the last record.
func fill(t *testing.T, x *exchangetest.Rig) (pos uint64) {
	t.Helper()
	for range 20 {
		x.Limit("BTC_USDT", "buy", "1", "1")
		x.Call("POST", "/users", "{}")
	}
	pos, err := x.Position()
	if err != nil {
		t.Fatal(err)
	}
	return pos
}

// A writer with quorum shows what its directory has, and admits clients when the stream has it too: a standby that
// takes over would take back what a client saw before.
func TestAWriterAdmitsNoClientBeforeTheStreamHasEverything(t *testing.T) {
	o := realTime(t.TempDir())
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	want := fill(t, x)
	x.Stop()
	mem := jettest.NewMem()
	log := newSlowLog(mem.Connect())
	log.sends = true
	streams(t, &o, log)
	launch := exchangetest.Open(t, o).Opened.Launch()
	t.Cleanup(func() { launch.Stop(context.Background()) })
	_, err := launch.Running()
	at, readErr := node.End(t.Context(), mem.Connect(), clusterKeys())
	log.end()
	if err != nil || readErr != nil {
		t.Fatal(err, readErr)
	}
	if at.End.Seq < want {
		t.Errorf("the start has ended, and clients are admitted, when the stream has the records up to %d; want %d",
			at.End.Seq, want)
	} else if log.held.Load() == 0 {
		t.Error("the start has sent no record")
	}
}

// A replica admits clients when it has executed everything that the stream had at its start.
func TestAReplicaAdmitsNoClientBeforeItHasTheStream(t *testing.T) {
	mem := jettest.NewMem()
	o := realTime(t.TempDir())
	streams(t, &o, mem.Connect())
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	want := fill(t, x)
	x.Stop()
	log := newSlowLog(mem.Connect())
	last, err := log.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log.receives.Store(last)
	y := follower(t, log, nil)
	got := y.Position()
	log.end()
	if log.held.Load() == 0 {
		t.Error("the replica has not read the last message")
	}
	if got != want {
		t.Errorf("the start has ended, and clients are admitted, when the replica has the records up to %d; "+
			"want %d, which the stream had", got, want)
	}
	y.Stop(t.Context())
}

// A standby takes over behind everything that the stream has, however late it receives it, and admits clients with it.
func TestAStandbyTakesOverBehindTheWholeStream(t *testing.T) {
	mem := jettest.NewMem()
	o := realTime(t.TempDir())
	streams(t, &o, mem.Connect())
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	fill(t, x)
	log := newSlowLog(mem.Connect())
	log.stands = true
	dir := t.TempDir()
	y := follower(t, log, copyIn(t, log, dir))
	log.receives.Store(1) // from here on the standby receives nothing until it takes over
	want := fill(t, x)
	hash, err := x.OwnHash()
	if err != nil {
		t.Fatal(err)
	}
	x.Stop()
	log.looks.Store(0)
	h, err := y.TakeOver(t.Context(), 16*time.Millisecond)
	log.end()
	if err != nil {
		t.Fatal(err)
	}
	if got := y.Position(); log.held.Load() == 0 || got != want {
		t.Errorf("the standby has taken over with the records up to %d; want %d, which the stream has (%d were late)",
			got, want, log.held.Load())
	}
	w := leadsBehind(t, y, h, log, realTime(dir))
	pos, err := w.Position()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.OwnHash(); err != nil || pos != want || got.Hash != hash.Hash {
		t.Errorf("clients are admitted at record %d with the state %s; want record %d, %s (%v)",
			pos, got.Hash, want, hash.Hash, err)
	}
}

// A stream that has lost its end has less than the copy of a standby. The standby takes over, and sends the rest.
func TestAStandbySendsWhatTheStreamHasLost(t *testing.T) {
	t.Parallel() // the standby waits 30 s for the message that it knows
	mem := jettest.NewMem()
	o := realTime(t.TempDir())
	streams(t, &o, mem.Connect())
	x := exchangetest.Start(t, o)
	x.Pair("BTC_USDT")
	dir := t.TempDir()
	stands := func() *exchange.Following { return follower(t, mem.Connect(), copyIn(t, mem.Connect(), dir)) }
	want := fill(t, x)
	hash, err := x.OwnHash()
	if err != nil {
		t.Fatal(err)
	}
	x.Stop()
	y := stands()
	y.Stop(t.Context())
	if err := y.Options().Follow.Copy.Close(); err != nil {
		t.Fatal(err)
	}
	last, err := mem.Connect().Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left := last
	for {
		mem.Cut(left - 1)
		left--
		if at, err := node.End(t.Context(), mem.Connect(), clusterKeys()); err != nil || left < 2 {
			t.Fatal(left, err)
		} else if at.End.Seq < want {
			break
		}
	}

	y = stands()
	h, err := y.TakeOver(t.Context(), 16*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	w := leadsBehind(t, y, h, mem.Connect(), realTime(dir))
	pos, err := w.Position()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.OwnHash(); err != nil || pos != want || got.Hash != hash.Hash {
		t.Errorf("the standby leads at record %d with the state %s; want record %d, %s (%v)", pos, got.Hash, want,
			hash.Hash, err)
	}
	w.Stop()
	if at, err := node.End(t.Context(), mem.Connect(), clusterKeys()); err != nil || at.End.Seq != want {
		t.Errorf("the stream has the records up to %d, want %d: %v", at.End.Seq, want, err)
	}
}

// A writer may start again as one that the standby cannot replace. The standby reports it then, and when that writer is
// silent it does not take over, and says why.
func TestAStandbyReplacesNoWriterThatHasChanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(o *exchange.StreamOptions)
		want   string
	}{
		{"local", func(o *exchange.StreamOptions) { o.Quorum = false }, "start the writer with --ack quorum"},
		{"sim", func(o *exchange.StreamOptions) { o.Sim = "intensity 50, scenario none" }, "this node's is off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := jettest.NewMem()
			o := realTime(t.TempDir())
			streams(t, &o, mem.Connect())
			x := exchangetest.Start(t, o)
			x.Pair("BTC_USDT")
			log := newSlowLog(mem.Connect())
			kept := copyIn(t, log, t.TempDir())
			y := follower(t, log, kept)
			y.Admit()
			log.cut.Store(true) // until the other writer has come and gone
			outcome := make(chan error, 1)
			go func() {
				h, err := y.TakeOver(t.Context(), 16*time.Millisecond)
				if h != nil {
					h.Held.End()
				}
				outcome <- err
			}()
			log.awaitLooks(4)
			x.Stop()
			streams(t, &o, mem.Connect())
			c.change(&o.Stream)
			again := exchangetest.Start(t, o)
			again.Limit("BTC_USDT", "buy", "1", "1")
			again.Stop()
			log.cut.Store(false)
			if err := <-outcome; err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the standby ends with %v; want %q: it replaces a writer that it must not", err, c.want)
			}
			if n := y.Incidents(); n != 1 {
				t.Errorf("%d incidents, want one of the writer's start", n)
			}
			y.Stop(t.Context())
			if err := kept.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// follower starts a node that follows a log, with a copy a standby.
func follower(t *testing.T, log jet.Log, c *node.Copy) *exchange.Following {
	t.Helper()
	genesis, err := node.ReadGenesis(t.Context(), log, clusterKeys())
	if err != nil {
		t.Fatal(err)
	}
	o := realTime("")
	o.Log, o.Stream = slog.New(slog.DiscardHandler), exchange.StreamOptions{Sim: exchange.SimOff, Quorum: c != nil}
	o.Follow = &exchange.FollowOptions{
		Log: log, Keys: clusterKeys(), Genesis: genesis, MaxLag: time.Hour, Copy: c, Stands: c != nil,
	}
	o.Cluster.Key = clusterRing()
	return followed(t, o)
}
