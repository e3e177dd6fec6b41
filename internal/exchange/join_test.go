package exchange_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/datadir"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
	"github.com/tickhive/tickhive/internal/vfs"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// clusterRing returns the key of the clusters of these tests.
func clusterRing() *clusterkey.Ring {
	ring, err := clusterkey.Parse(strings.Repeat("c1", 32))
	if err != nil {
		panic(err)
	}
	return ring
}

// clusterKeys returns the keys of the messages.
func clusterKeys() *stream.Keys { return stream.KeysOf(clusterRing()) }

// pair is a writer's directory and its stream.
type pair struct {
	t   *testing.T
	o   exchange.Options
	mem *jettest.Mem
}

// newPair starts a writer with an order, stops it, and returns its directory and its stream.
func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t, realTime(t.TempDir()), jettest.NewMem()}
	x := p.start()
	x.Pair("BTC_USDT")
	x.Limit("BTC_USDT", "buy", "1", "1")
	x.Stop()
	return p
}

// start starts the writer.
func (p *pair) start() *exchangetest.Rig {
	p.t.Helper()
	streams(p.t, &p.o, p.mem.Connect())
	return exchangetest.Start(p.t, p.o)
}

// alone makes n orders in the directory without its stream.
func (p *pair) alone(n int) {
	p.t.Helper()
	o := p.o
	o.Stream = exchange.StreamOptions{}
	x := exchangetest.Start(p.t, o)
	for range n {
		x.Limit("BTC_USDT", "buy", "2", "1")
	}
	x.Stop()
}

// copied makes the pair one of a copy of the directory.
func (p *pair) copied() *pair {
	p.t.Helper()
	dir := p.t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(p.o.Dir)); err != nil {
		p.t.Fatal(err)
	}
	c := *p
	c.o.Dir = dir
	return &c
}

// refused returns the error of a start.
func (p *pair) refused() error {
	p.t.Helper()
	streams(p.t, &p.o, p.mem.Connect())
	return refused(p.t, p.o)
}

// end returns the state of the stream.
func (p *pair) end() stream.State {
	p.t.Helper()
	at, err := node.End(p.t.Context(), p.mem.Connect(), clusterKeys())
	if err != nil {
		p.t.Fatal(err)
	}
	return at
}

// placeOf returns the position and the state of a writer.
func placeOf(t *testing.T, x *exchangetest.Rig) (pos uint64, hash string) {
	t.Helper()
	pos, err := x.Position()
	h, hashErr := x.OwnHash()
	if err = errors.Join(err, hashErr); err != nil {
		t.Fatal(err)
	}
	return pos, h.Hash
}

// A stream that is longer than the log: the start takes the rest and has the state of the process before.
func TestAStartTakesWhatTheStreamHas(t *testing.T) {
	for _, snapshot := range []bool{false, true} {
		p := newPair(t)
		short := p.copied()
		x := p.start()
		for range 20 {
			x.Limit("BTC_USDT", "buy", "1", "1")
			x.Call("POST", "/users", "{}")
		}
		if snapshot { // which the copy does not have
			if err := x.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
		short.o.Dir = func() string { // the terms of the directory, and its log of before
			dir := x.Kill()
			for _, part := range []string{"engine"} {
				if err := errors.Join(os.RemoveAll(filepath.Join(dir, part)),
					os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(short.o.Dir, part)))); err != nil {
					t.Fatal(err)
				}
			}
			return dir
		}()
		pos, hash := placeOf(t, x)
		x.Stop()
		y := short.start()
		if gotPos, gotHash := placeOf(t, y); gotPos != pos || gotHash != hash {
			t.Errorf("the start is at record %d with the state %s; want %d, %s", gotPos, gotHash, pos, hash)
		}
		y.Limit("BTC_USDT", "buy", "1", "1")
		y.Stop()
	}
}

// A copy of the directory from before, with the terms of then, catches up as well.
func TestYesterdaysCopyCatchesUp(t *testing.T) {
	p := &pair{t, realTime(t.TempDir()), jettest.NewMem()}
	x := p.start()
	x.Pair("BTC_USDT")
	c := *p
	c.o.Dir = x.Kill()
	fill(t, x)
	pos, hash := placeOf(t, x)
	x.Stop()
	y := c.start()
	if gotPos, gotHash := placeOf(t, y); gotPos != pos || gotHash != hash {
		t.Errorf("the start is at record %d with the state %s; want %d, %s", gotPos, gotHash, pos, hash)
	}
}

// A log that is longer than the stream: the sender sends the rest.
func TestAStartSendsWhatTheStreamLacks(t *testing.T) {
	p := newPair(t)
	p.alone(5)
	x := p.start()
	pos, _ := placeOf(t, x)
	if at := p.end(); at.End.Seq < pos-1 {
		t.Errorf("the stream ends at record %d, the log at %d", at.End.Seq, pos)
	}
}

// A log and a stream with different records: the start is refused with both places, and changes neither.
func TestAStartWithAnotherChainIsRefused(t *testing.T) {
	for _, c := range []struct{ own, other int }{{3, 1}, {1, 3}, {2, 2}} {
		p := newPair(t)
		other := p.copied()
		other.alone(c.own)
		x := p.start()
		for range c.other {
			x.Limit("BTC_USDT", "buy", "1", "1")
		}
		x.Stop()
		terms, err := datadir.ReadMeta(p.o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		at := p.end()
		if err := other.refused(); !errors.Is(err, node.ErrFenced) {
			t.Errorf("a directory that does not know the newest term: %v", err)
		}
		if err := datadirTerms(other.o.Dir, terms.Terms); err != nil {
			t.Fatal(err)
		}
		err = other.refused()
		if !errors.Is(err, node.ErrOtherChain) {
			t.Fatalf("own %d, other %d: %v", c.own, c.other, err)
		}
		for _, part := range []string{
			fmt.Sprintf("the stream at record %d", at.End.Seq),
			"data directory ends at record",
		} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("refused without %q: %v", part, err)
			}
		}
		if p.end() != at {
			t.Error("the refused start has changed the stream")
		}
	}
}

// datadirTerms gives a directory terms.
func datadirTerms(dir string, terms [2]uint64) error {
	d, err := datadir.OpenIdle(vfs.OS{}, dir)
	if err != nil {
		return err
	}
	return errors.Join(datadir.KeepTerm(d, terms[0], terms[1]), d.Unlock())
}

// A stream of another exchange is refused.
func TestAForeignStreamIsRefused(t *testing.T) {
	p, other := newPair(t), newPair(t)
	p.mem = other.mem
	if err := datadirTerms(p.o.Dir, [2]uint64{other.end().Node, other.end().Node}); err != nil {
		t.Fatal(err)
	}
	if err := p.refused(); err == nil || !strings.Contains(err.Error(), "it belongs to another exchange") {
		t.Error(err)
	}
}

// A server that was wiped has an empty stream: the start founds it at the first record, or at the older of two
// snapshots.
func TestAWipedServerGetsTheStreamAgain(t *testing.T) {
	p := newPair(t)
	p.mem = jettest.NewMem()
	x := p.start()
	if at := p.base(); at.End.Seq != 0 {
		t.Errorf("the stream begins behind record %d", at.End.Seq)
	}
	var older uint64
	for range 2 {
		older = x.Covered()
		x.Limit("BTC_USDT", "buy", "1", "1")
		if err := x.Snapshot(); err != nil {
			t.Fatal(err)
		}
	}
	x.Stop()
	p.mem = jettest.NewMem()
	y := p.start()
	if at := p.base(); older == 0 || at.End.Seq != older {
		t.Errorf("the stream begins behind record %d, the older snapshot has %d", at.End.Seq, older)
	}
	pos, _ := placeOf(t, y)
	if at := p.end(); at.End.Seq < pos-1 {
		t.Errorf("the stream ends at record %d, the log at %d", at.End.Seq, pos)
	}
}

// base returns the state of the stream behind its first message.
func (p *pair) base() stream.State {
	p.t.Helper()
	data, err := p.mem.Connect().Read(p.t.Context(), 1)
	if err != nil {
		p.t.Fatal(err)
	}
	r := stream.NewReader(stream.State{}, node.Rules, clusterKeys())
	if _, valid, err := r.Next(1, data); err != nil || !valid {
		p.t.Fatal(valid, err)
	}
	return r.State()
}

// A writer of a stream loses in a power cut what was not synced, and the start gets it from the stream: what clients
// have seen is there, in the same epoch. Without the stream's records it would be another one.
func TestAStartGetsWhatAPowerCutTook(t *testing.T) {
	for _, c := range []struct {
		name          string
		durable, wipe bool
		keeps         bool
	}{
		{"durable servers", true, false, true},
		{"servers that sync later", false, false, false},
		{"an empty stream", true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			lost := 0
			for seed := range uint64(8) {
				lost += powerCut(t, seed, c.durable, c.wipe, c.keeps)
			}
			if c.keeps && lost == 0 {
				t.Error("no power cut takes a record")
			}
		})
	}
}

// powerCut cuts the power of a writer and starts it again. lost is 1 if the log had lost records.
func powerCut(t *testing.T, seed uint64, durable, wipe, keeps bool) (lost int) {
	t.Helper()
	disk := vfstest.NewMem()
	p := &pair{t, realTime("data"), jettest.NewMem()}
	p.o.Journal.Sync = sequencer.SyncOff
	start := func(boot string) *exchangetest.Rig {
		streams(t, &p.o, p.mem.Connect())
		p.o.Machine.FS, p.o.Machine.Boot, p.o.Stream.Durable = disk, boot, durable
		return exchangetest.Start(t, p.o)
	}
	start("1").Stop()
	x := start("1")
	x.Pair("BTC_USDT")
	fill(t, x)
	pos, hash := placeOf(t, x)
	epoch := x.Epoch()
	disk = disk.Crash(seed)
	if wipe {
		p.mem = jettest.NewMem()
	}
	y := start("2")
	gotPos, gotHash := placeOf(t, y)
	if kept := y.Epoch() == epoch; kept != keeps {
		t.Errorf("seed %d: the epoch was %s and is %s", seed, epoch, y.Epoch())
	}
	if same := gotPos == pos && gotHash == hash; keeps && !same {
		t.Errorf("seed %d: the start is at record %d with the state %s; it was at %d, %s", seed, gotPos, gotHash, pos,
			hash)
	}
	if strings.Contains(y.Log.String(), "power cut or failed sync") {
		lost = 1
	}
	y.Stop()
	return lost
}

// A directory that another node has replaced becomes a copy of the stream. What the stream does not have is kept
// beside.
func TestADeposedDirectoryBecomesACopy(t *testing.T) {
	for _, tail := range []int{0, 4} {
		t.Run(fmt.Sprint("tail ", tail), func(t *testing.T) {
			p := newPair(t)
			other := p.copied()
			if tail > 0 {
				other.alone(tail)
			}
			x := p.start()
			x.Limit("BTC_USDT", "buy", "1", "1")
			x.Stop()
			genesis, err := node.ReadGenesis(t.Context(), p.mem.Connect(), clusterKeys())
			if err != nil {
				t.Fatal(err)
			}
			d := exchange.Demotion{
				Machine: node.OwnMachine(), Dir: other.o.Dir, Stream: p.mem.Connect(), Keys: clusterKeys(),
				Genesis: genesis,
			}
			kept, err := d.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if (kept != "") != (tail > 0) || kept != "" && len(exchangetest.Files(t, kept, "*")) == 0 {
				t.Errorf("the tail is kept in %q", kept)
			}
			if _, err := datadir.ReadMeta(other.o.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("meta.json: %v", err)
			}
			c, err := node.OpenCopy(other.o.Dir, node.CopyOptions{
				Machine: node.OwnMachine(),
				Log:     exchange.EngineLogOptions(), Genesis: genesis,
				Aside: func(to string, why error) { t.Errorf("the copy is put aside: %v", why) },
			})
			if err != nil {
				t.Fatal(err)
			}
			y := follower(t, p.mem.Connect(), c)
			if pos := y.Position(); pos != p.end().End.Seq {
				t.Errorf("the node is at record %d, the stream at %d", pos, p.end().End.Seq)
			}
			y.Stop(t.Context())
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Segments that two snapshots cover stay until the stream has their records: a start could not send them.
func TestTheLogKeepsWhatTheStreamLacks(t *testing.T) {
	p := &pair{t, realTime(t.TempDir()), jettest.NewMem()}
	p.o.Journal.SegmentBytes = 4096
	streams(t, &p.o, p.mem.Connect())
	p.o.Stream.Quorum = false
	x := exchangetest.Start(t, p.o)
	x.Pair("BTC_USDT")
	p.mem.SetDown(true)
	turn := func() []string {
		for range 100 {
			x.Limit("BTC_USDT", "buy", "1", "1")
		}
		if err := x.Snapshot(); err != nil {
			t.Fatal(err)
		}
		return exchangetest.Files(t, p.o.Dir, "engine/*.wal")
	}
	var all []string
	for range 4 {
		all = turn()
	}
	if len(all) < 3 || !strings.HasSuffix(all[0], "000001.wal") {
		t.Errorf("without a stream the log has the segments %v", all)
	}
	p.mem.SetDown(false)
	if err := x.Settled(); err != nil {
		t.Fatal(err)
	}
	if all = turn(); strings.HasSuffix(all[0], "000001.wal") {
		t.Errorf("the stream has all, and the log has the segments %v", all)
	}
}
