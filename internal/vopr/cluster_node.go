package vopr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
	server "github.com/tickhive/tickhive/server/stream"
)

// clusterDir is the directory of each node, on its own disk.
const clusterDir = "d"

// maxLag is the age of a follower's state beyond which it refuses reads.
const maxLag = 4 * time.Second

// takeoverAfter is the silence after which a standby campaigns.
const takeoverAfter = 2 * time.Second

// clusterNode is a machine and the process on it. It does what `tickhive serve --promote` and `tickhive replica` do.
type clusterNode struct {
	c        *cluster
	number   int
	name     string
	stands   bool // it may become the writer
	keeps    bool // it has a directory
	disk     *vfstest.Mem
	machine  simMachine
	ppm      int64 // its clocks run so much faster than the world's
	newer    bool  // its program is the later one of two versions
	boot     int
	lives    int
	stopped  bool // it stands still
	stopping bool // the operator has asked it to stop

	p     *process
	clock *clock.Steady
	link  *link
	x     *exchange.Running   // it leads
	y     *exchange.Following // it follows
	ended error               // why the process has ended by itself
	seq   uint64              // the newest that clients of this process have seen

	reading bool
	asked   []func() // end requests under way, when the process has ended
}

// begin starts a process on the machine, unless one runs.
func (n *clusterNode) begin() {
	if !n.p.dead {
		return
	}
	c := n.c
	if c.mixed && !n.newer && (node.Newer(n.ended) || c.rnd.IntN(4) == 0) {
		n.newer = true
		c.mix.Upgraded++
		c.logf("%s has the later program", n.name)
	}
	n.p = &process{rnd: c.rnd}
	n.clock, n.link = clock.NewSteady(&n.machine), c.net.connect(n.p)
	n.x, n.y, n.ended, n.seq, n.stopping, n.reading = nil, nil, nil, 0, false, false
	n.lives++
	c.mix.Starts++
	p := n.p
	c.logf("%s starts", n.name)
	p.begin("main", func() {
		err := n.program()
		if p.dead {
			return
		}
		n.ended, n.x, n.y = err, nil, nil
		c.mix.Ended++
		if node.Newer(err) {
			c.mix.Older++
		}
		c.logf("%s ends: %v", n.name, err)
		c.later(time.Second, "start of "+n.name, func() {
			if n.p == p { // its coroutines stay on the machine until the next start
				n.die("restart", n.disk.Kill())
				n.begin()
			}
		})
	})
}

// die ends the process. disk has what it leaves.
func (n *clusterNode) die(how string, disk *vfstest.Mem) {
	n.c.logf("%s: %s", n.name, how)
	n.disk = disk
	n.x, n.y = nil, nil
	n.p.end()
	asked := n.asked
	n.asked = nil
	for _, end := range asked {
		end()
	}
}

// program runs until the process ends.
func (n *clusterNode) program() error {
	ctx := context.Background()
	o := n.options()
	for first, fenced := true, false; ; first = false {
		leads, err := n.mayLead(first)
		if err != nil {
			return err
		}
		leads = leads && !fenced
		var h *exchange.Handover
		if !leads {
			if h, err = n.follow(ctx, o); h == nil {
				if errors.Is(err, jet.ErrUnavailable) {
					n.sleep(time.Second)
					continue
				}
				return err
			}
		}
		if err = n.lead(ctx, o, h); !errors.Is(err, node.ErrFenced) || !n.stands {
			return err
		}
		fenced = true
		n.c.mix.Deposed++
		n.c.logf("%s is deposed", n.name)
	}
}

// mayLead reports whether the directory is a writer's.
func (n *clusterNode) mayLead(first bool) (bool, error) {
	if n.number == 0 && n.lives == 1 && first {
		return true, nil
	}
	if !n.keeps {
		return false, nil
	}
	_, err := n.disk.Open(clusterDir + "/meta.json")
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// lead serves as the writer.
func (n *clusterNode) lead(ctx context.Context, o exchange.Options, h *exchange.Handover) error {
	o.Dir, o.Stream.Handover = clusterDir, h
	o.Stream.Open = func(context.Context, string) (jet.Log, func(), error) {
		n.c.net.there = true
		return n.link, func() {}, nil
	}
	opened, err := exchange.Open(o)
	if err != nil {
		return err
	}
	recovered, err := opened.Recover(ctx)
	if err != nil {
		opened.Stop(ctx)
		return err
	}
	x, err := recovered.Start(ctx)
	if err != nil {
		recovered.Stop(ctx)
		return err
	}
	x.Admit()
	n.x = x
	n.c.mix.Terms++
	n.c.logf("%s leads at record %d", n.name, x.Loop().Position())
	term := n.term()
	n.c.led = max(n.c.led, term)
	n.p.begin("check orders", func() { n.c.checkOrders(n, term) })
	for {
		select {
		case err := <-x.Failed():
			n.x = nil
			x.Stop(ctx)
			return err
		default:
			if n.stopping {
				n.x = nil
				x.Stop(ctx)
				return errStopped
			}
			n.p.pause()
		}
	}
}

// errStopped ends a process in order.
var errStopped = errors.New("vopr: the node is stopped")

// snapshot returns a copy of the newest snapshot of another node, as a download gives it; nil: none has one, or the
// operator has named none.
func (n *clusterNode) snapshot(context.Context) (*wal.SnapshotFile, error) {
	type found struct {
		on   *clusterNode
		name string
	}
	var all []found
	for _, from := range n.c.nodes {
		if from == n || from.p.dead {
			continue
		}
		if name := from.newestSnapshot(); name != "" {
			all = append(all, found{from, name})
		}
	}
	if len(all) == 0 || n.c.rnd.IntN(4) == 0 {
		return nil, nil
	}
	chosen := all[n.c.rnd.IntN(len(all))]
	to := clusterDir + "/" + node.DownloadName
	n.disk.Put(to, bytes.Clone(chosen.on.disk.Content(chosen.name)))
	f, err := node.OpenSnapshot(n.disk, to, exchange.EngineLogOptions())
	if err != nil {
		n.c.fail("%s: the snapshot %s of %s: %v", n.name, chosen.name, chosen.on.name, err)
		return nil, nil
	}
	n.c.mix.Adopted++
	n.c.logf("%s begins with the snapshot %s of %s", n.name, chosen.name, chosen.on.name)
	return f, nil
}

// newestSnapshot returns the file of the node's newest snapshot, empty when it has none.
func (n *clusterNode) newestSnapshot() (newest string) {
	for _, name := range n.disk.Paths() {
		if strings.HasPrefix(name, clusterDir+"/engine/") && strings.HasSuffix(name, ".snap") {
			newest = max(newest, name)
		}
	}
	return newest
}

// follow follows until the node has the term.
func (n *clusterNode) follow(ctx context.Context, o exchange.Options) (*exchange.Handover, error) {
	g, err := n.genesis(ctx)
	if err != nil {
		return nil, err
	}
	f := &exchange.FollowOptions{
		Log: n.link, Keys: n.c.keys, Genesis: g, MaxLag: maxLag, Stands: n.stands, Snapshot: n.snapshot,
	}
	o.Follow, o.Dir, o.Sim.Seed, o.Sim.SeedGiven = f, "", int64(g.Seed), true
	if n.keeps {
		if f.Copy, err = n.openCopy(ctx, f); err != nil {
			return nil, err
		}
	}
	end := func(err error) (*exchange.Handover, error) {
		if f.Copy == nil {
			return nil, err
		}
		if errors.Is(err, node.ErrOffChain) {
			if err := errors.Join(f.Copy.SetAside(err), f.Copy.Close()); err != nil {
				return nil, err
			}
			return nil, jet.ErrUnavailable // once more
		}
		return nil, errors.Join(err, f.Copy.Close())
	}
	opened, err := exchange.Open(o)
	if err != nil {
		return end(err)
	}
	recovered, err := opened.Recover(ctx)
	if err != nil {
		opened.Stop(ctx)
		return end(err)
	}
	y, err := recovered.Follow(ctx)
	if err != nil {
		recovered.Stop(ctx)
		return end(err)
	}
	y.Admit()
	n.link.sentNs = 0 // until it reads another one, its state may be of a later message
	n.y = y
	n.c.logf("%s follows at record %d", n.name, n.position())
	if !n.stands {
		err := n.wait(y)
		n.y = nil
		y.Stop(ctx)
		return end(err)
	}
	h, err := y.TakeOver(ctx, takeoverAfter)
	n.y = nil
	y.Stop(ctx)
	if err != nil || h == nil {
		return end(err)
	}
	n.c.mix.Takeovers++
	n.c.logf("%s takes over in term %d", n.name, h.Term)
	if err := h.Finish(&o); err != nil {
		h.Held.End()
		return nil, err
	}
	return h, nil
}

// wait waits until a replica cannot go on.
func (n *clusterNode) wait(y *exchange.Following) error {
	n.p.Wait(y.Over())
	return y.Wait(nil)
}

// openCopy opens the copy of the node; a directory that it left as the writer becomes one.
func (n *clusterNode) openCopy(ctx context.Context, f *exchange.FollowOptions) (*node.Copy, error) {
	if meta, err := n.mayLead(false); err != nil {
		return nil, err
	} else if meta {
		d := exchange.Demotion{
			Machine: n.node(), Dir: clusterDir, Stream: f.Log, Keys: f.Keys, Genesis: f.Genesis,
		}
		tail, err := d.Run(ctx)
		if err != nil {
			return nil, err
		}
		n.c.logf("%s is a copy again, tail %q", n.name, tail)
	}
	return node.OpenCopy(clusterDir, node.CopyOptions{
		Machine: n.node(), Log: exchange.EngineLogOptions(), Genesis: f.Genesis,
		Aside: func(to string, why error) {
			n.c.mix.Aside++
			n.c.logf("%s puts its copy aside: %v", n.name, why)
		},
	})
}

func (n *clusterNode) node() node.Machine {
	return node.Machine{FS: n.disk, Clock: n.clock, Driver: n.p, Rules: n.rules()}
}

// laterRules is the version of the rules of the later program. It executes records as the earlier one does: what counts
// is which node reads and leads.
const laterRules = node.Rules + 1

// rules returns the version of the rules of the node's program.
func (n *clusterNode) rules() uint16 {
	if n.newer {
		return laterRules
	}
	return node.Rules
}

// genesis reads the genesis of the stream, once it is there.
func (n *clusterNode) genesis(ctx context.Context) (node.Genesis, error) {
	for {
		if _, err := n.link.Last(ctx); err == nil {
			r := stream.NewReader(stream.State{}, n.rules(), n.c.keys)
			for i, data := range n.c.net.log {
				m, valid, err := r.Next(uint64(i+1), data)
				if err != nil {
					return node.Genesis{}, err
				}
				if valid && m.Kind == stream.Base {
					var g node.Genesis
					return g, json.Unmarshal(m.Info, &g)
				}
			}
		}
		n.sleep(100 * time.Millisecond)
	}
}

// sleep lets the other coroutines run for a time.
func (n *clusterNode) sleep(d time.Duration) {
	for late := n.c.nowNs + int64(d); n.c.nowNs < late; {
		n.p.pause()
	}
}

func (n *clusterNode) options() exchange.Options {
	random := rand.NewChaCha8([32]byte{
		byte(n.c.seed), byte(n.c.seed >> 8), byte(n.c.seed >> 16), byte(n.lives), byte(n.number), 9,
	})
	o := exchange.Options{
		Log:     slog.New(nodeLog{n}),
		Binance: exchange.BinanceConfig{Listen: []string{"none: a driver has no sockets"}},
		Journal: exchange.JournalOptions{JournalConfig: exchange.JournalConfig{
			SegmentBytes: 8 << 10, SnapshotBytes: 12 << 10,
		}},
		Cluster: exchange.ClusterOptions{Key: n.c.ring},
		Hooks:   exchange.Hooks{Streams: func(o *server.Options) { o.QueueBytes = streamQueueBytes }},
		Sim:     exchange.SimOptions{SimConfig: exchange.SimConfig{Seed: 1}},
		Stream:  exchange.StreamOptions{Quorum: n.stands, Durable: true, Sim: exchange.SimOff},
		Machine: exchange.Machine{
			FS: n.disk, Clock: n.clock, Boot: fmt.Sprintf("boot-%d", n.boot), Random: random, Driver: n.p,
			Rules: n.rules(),
		},
	}
	(&world{}).configure(&o)
	return o
}

// leads reports whether the node serves as the writer.
func (n *clusterNode) leads() bool { return n.x != nil && !n.p.dead }

// place returns where the node is. ok is false while it has no state of a place.
func (n *clusterNode) place() (p exchange.Place, ok bool) {
	switch {
	case n.x != nil:
		return n.x.Place()
	case n.y != nil:
		return n.y.Place()
	}
	return p, false
}

// position returns the position of the node's log.
func (n *clusterNode) position() uint64 {
	p, _ := n.place()
	return p.Log.Seq
}

// term returns the newest term that the node knows.
func (n *clusterNode) term() uint64 {
	p, _ := n.place()
	return p.Term
}

func (n *clusterNode) state() string {
	switch {
	case n.p.dead:
		return "dead"
	case n.x != nil:
		return fmt.Sprintf("leads in term %d at record %d, shown %d", n.term(), n.position(), n.x.Loop().Shown())
	case n.y != nil:
		return fmt.Sprintf("follows term %d at record %d", n.term(), n.position())
	case n.ended != nil:
		return "ended: " + n.ended.Error()
	}
	return "starts: " + fmt.Sprint(n.p.names())
}

// nodeLog is the slog.Handler of a node: warnings belong to the transcript.
type nodeLog struct{ *clusterNode }

// Enabled implements slog.Handler.
func (n nodeLog) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements slog.Handler.
func (n nodeLog) Handle(_ context.Context, r slog.Record) error {
	if n.p.dead {
		return nil
	}
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	n.c.logf("%s: log %s", n.name, text)
	return nil
}

// WithAttrs implements slog.Handler.
func (n nodeLog) WithAttrs([]slog.Attr) slog.Handler { return n }

// WithGroup implements slog.Handler.
func (n nodeLog) WithGroup(string) slog.Handler { return n }
