package exchange_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/exchange/exchangetest"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
	"github.com/tickhive/tickhive/internal/wal"
)

// writes starts a writer of a stream with users, money and orders.
func writes(t *testing.T) (x *exchangetest.Rig, dir string, mem *jettest.Mem) {
	t.Helper()
	dir, mem = t.TempDir(), jettest.NewMem()
	o := realTime(dir)
	streams(t, &o, mem.Connect())
	x = exchangetest.Start(t, o)
	t.Cleanup(x.Stop)
	x.Pair("BTC_USDT")
	fill(t, x)
	deposit := accounts.Command{Kind: accounts.Deposit, User: 1, Currency: "USDT", Amount: units(5)}
	if _, err := x.DoAccounts(deposit); err != nil {
		t.Fatal(err)
	}
	return x, dir, mem
}

// followed starts a node that follows, and admits no client yet.
func followed(t *testing.T, o exchange.Options) *exchange.Following {
	t.Helper()
	opened, err := exchange.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	recovered, err := opened.Recover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	y, err := recovered.Follow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// begins starts a node that follows a log with further options.
func begins(t *testing.T, log jet.Log, change func(o *exchange.Options)) *exchange.Following {
	t.Helper()
	y := followed(t, following(t, log, change))
	y.Admit()
	return y
}

// following returns the options of a node that follows a log, changed.
func following(t *testing.T, log jet.Log, change func(o *exchange.Options)) exchange.Options {
	t.Helper()
	genesis, err := node.ReadGenesis(t.Context(), log, clusterKeys())
	if err != nil {
		t.Fatal(err)
	}
	o := realTime("")
	o.Log, o.Stream = slog.New(slog.DiscardHandler), exchange.StreamOptions{Sim: exchange.SimOff}
	o.Cluster.Key = clusterRing()
	o.Follow = &exchange.FollowOptions{Log: log, Keys: clusterKeys(), Genesis: genesis, MaxLag: time.Hour}
	change(&o)
	return o
}

// leadsBehind starts a standby that has taken over as the writer, with the options of its directory.
func leadsBehind(
	t *testing.T, y *exchange.Following, h *exchange.Handover, log jet.Log, o exchange.Options,
) *exchangetest.Rig {
	t.Helper()
	y.Stop(t.Context())
	if err := h.Finish(y.Options()); err != nil {
		t.Fatal(err)
	}
	streams(t, &o, log)
	o.Stream.Handover = h
	return exchangetest.Start(t, o)
}

// copyIn opens a copy in a directory.
func copyIn(t *testing.T, log jet.Log, dir string) *node.Copy {
	t.Helper()
	genesis, err := node.ReadGenesis(t.Context(), log, clusterKeys())
	if err != nil {
		t.Fatal(err)
	}
	c, err := node.OpenCopy(dir, node.CopyOptions{
		Machine: node.OwnMachine(), Log: exchange.EngineLogOptions(), Genesis: genesis,
		Aside: func(to string, why error) { t.Errorf("put aside to %s: %v", to, why) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A replica that pays one unit (10^-8) more than its writer ends at the next beat, whatever else it does, and gives no
// snapshot any more.
func TestAReplicaThatPaysOneUnitMoreEnds(t *testing.T) {
	_, _, mem := writes(t)
	log := mem.Connect()
	pays := false
	c := copyIn(t, log, t.TempDir())
	defer c.Close()
	y := begins(t, log, func(o *exchange.Options) {
		o.Follow.Copy = c
		o.Hooks.Follow = func(s *machine.State, _ *stream.Message) {
			if !pays {
				return
			}
			pays = false
			more := accounts.Command{Kind: accounts.Deposit, User: 1, Currency: "USDT", Amount: fixed.FromI64(1e10)}
			cmd := engine.Command{Kind: engine.Other, TimeNs: s.LastNs, Control: machine.OfAccounts(&more, nil)}
			if res, err := s.ApplyOther(&cmd); err != nil || res.Refused != nil {
				t.Error(res, err)
			}
		}
	})
	defer y.Stop(t.Context())
	if err := y.Query(func() { pays = true }); err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err := y.Wait(late.Done())
	var damage cmdline.DamageError
	if !errors.Is(err, node.ErrDiverged) || !errors.As(err, &damage) || !strings.Contains(err.Error(), "accounts") ||
		strings.Contains(err.Error(), "market") {
		t.Errorf("it ends with: %v", err)
	}
	resp, err := http.Get("http://" + y.InternalAddr() + "/internal/v1/snapshot?fresh=true")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusConflict || !strings.Contains(string(text), "ask another node") {
		t.Errorf("its snapshot: %d %s", resp.StatusCode, text)
	}
}

// The file of the snapshot route starts a replica without a directory, a replica with a copy, and a writer, with the
// state of the writer that gave it.
func TestASnapshotFileStartsANode(t *testing.T) {
	x, _, mem := writes(t)
	fetch := node.Fetch{
		Machine: node.OwnMachine(), From: node.Peer{URL: "http://" + x.InternalAddr(), Client: http.DefaultClient},
		Fresh: true, To: filepath.Join(t.TempDir(), "snapshot"), Options: exchange.EngineLogOptions(),
	}
	file, err := fetch.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	fill(t, x) // records behind the snapshot
	want, err := x.OwnHash()
	if err != nil {
		t.Fatal(err)
	}
	log := mem.Connect()
	for name, dir := range map[string]string{"without a directory": "", "with a copy": filepath.Join(t.TempDir(),
		"copy")} {
		var c *node.Copy
		if dir != "" {
			c = copyIn(t, log, dir)
		}
		executed := uint64(0)
		y := begins(t, log, func(o *exchange.Options) {
			o.Follow.Copy = c
			o.Follow.Snapshot = func(context.Context) (*wal.SnapshotFile, error) {
				return node.OpenSnapshot(fetch.Machine.FS, fetch.To, fetch.Options)
			}
			o.Hooks.Follow = func(s *machine.State, _ *stream.Message) {
				if executed == 0 {
					executed = s.Pos
				}
			}
		})
		if executed != file.Meta.Seq {
			t.Errorf("%s: it begins behind record %d, and the snapshot is of %d", name, executed, file.Meta.Seq)
		}
		got, err := y.StateHash()
		if err != nil || got.Hash != want.Hash {
			t.Errorf("%s: %v, %v, the writer has %v", name, got, err, want)
		}
		y.Stop(t.Context())
		if c == nil {
			continue
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = copyIn(t, log, dir) // goes on by its own snapshot and log
		y = begins(t, log, func(o *exchange.Options) { o.Follow.Copy = c })
		if got, err := y.StateHash(); err != nil || got.Hash != want.Hash {
			t.Errorf("%s, again: %v, %v, the writer has %v", name, got, err, want)
		}
		y.Stop(t.Context())
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The stream has lost the last message that a node has executed, and has another writer's term record in its place. The
// node notices it at the next message: one that does not count for it, or the term record of a candidate that has
// read the lost message, too.
func TestANodeThatHasReadWhatTheStreamHasLost(t *testing.T) {
	for name, ahead := range map[string]bool{"that does not count": false, "of a candidate": true} {
		x, _, mem := writes(t)
		log := mem.Connect()
		c := copyIn(t, log, t.TempDir())
		y := begins(t, log, func(o *exchange.Options) { o.Follow.Copy = c })
		x.Stop()
		last, err := log.Last(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		append := func(expect uint64, data []byte) {
			if err := log.Publish(1, expect, data); err != nil {
				t.Fatal(err)
			}
			if a := <-log.Answers(); a.Err != nil {
				t.Fatal(a.Err)
			}
		}
		term := func(number uint64) []byte { // of a candidate that has read the whole log
			at, err := node.End(t.Context(), log, clusterKeys())
			if err != nil {
				t.Fatal(err)
			}
			w, err := stream.Campaign((&node.Machine{}).Candidate(at, number, []byte("{}"), clusterKeys()), at.SentNs)
			if err != nil {
				t.Fatal(err)
			}
			p, _ := w.Publish(at.SentNs)
			return p.Data
		}
		next := term(8)
		waitFor(t, "the copy has read the log", func() bool { return y.ReadUpTo() >= last })
		mem.Cut(last - 1)
		append(last-1, term(9))
		if !ahead {
			if next, err = log.Read(t.Context(), 1); err != nil { // anything that does not continue what the node has
				t.Fatal(err)
			}
		}
		append(last, next)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := y.Wait(ctx.Done()); !errors.Is(err, node.ErrOffChain) || !errors.Is(err, stream.ErrReplaced) {
			t.Errorf("a message %s: %v", name, err)
		}
		cancel()
		y.Stop(t.Context())
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A stream that was lost and sent again in other messages is read from its first message: a copy of which it has the
// records goes on, without executing one twice, and one of another exchange does not.
func TestACopyGoesOnWithAStreamThatWasSentAgain(t *testing.T) {
	x, writer, mem := writes(t)
	dir := filepath.Join(t.TempDir(), "copy")
	c := copyIn(t, mem.Connect(), dir)
	y := begins(t, mem.Connect(), func(o *exchange.Options) { o.Follow.Copy = c })
	y.Stop(t.Context())
	known := c.At()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	x.Stop()
	o := realTime(writer)
	again := jettest.NewMem()
	streams(t, &o, again.Connect())
	x = exchangetest.Start(t, o)
	defer x.Stop()
	log := again.Connect()
	for last := uint64(0); last <= known.Seq; { // otherwise the server may be behind, for 30 s
		x.Limit("BTC_USDT", "buy", "1", "1")
		var err error
		if last, err = log.Last(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want, err := x.OwnHash()
	if err != nil {
		t.Fatal(err)
	}
	c = copyIn(t, log, dir)
	y = begins(t, log, func(o *exchange.Options) { o.Follow.Copy = c })
	defer c.Close()
	defer y.Stop(t.Context())
	if got, err := y.StateHash(); err != nil || got.Hash != want.Hash {
		t.Errorf("%v, %v, the writer has %v", got, err, want)
	}
}
