package vopr

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
)

// clusterNodes is the number of nodes of a cluster: the first writer, two standbys, a replica without a directory.
const clusterNodes = 4

// ClusterMix counts what a cluster did.
type ClusterMix struct {
	Requests, Acknowledged, Refused, Unknown int
	Orders, Deposits, Again                  int // acknowledged ones; requests that were sent again

	Terms, Takeovers, Deposed, Starts, Kills, PowerCuts, Wiped, Stops int
	Cuts, Slow, Stale, Down, Tails, Wipes, Steps                      int // faults of the network and of clocks
	Aside, Ended,
	Adopted int // copies put aside; processes that ended by themselves; snapshots

	Upgraded, Older                int // nodes that got the later program; earlier ones that could not follow one
	Messages, Void, Repeated, Lost int // of the stream; packets that came twice or not
	Marks, Met                     int // states that were noted, and states of other processes at the same place
	Checks, Reads, AtLeast         int // orders that a new writer had to have; reads by followers' clients; with a seq

	StreamMix
	Moved, Own, Fills int // readers that went to another node; messages and fills of private channels
	TakeoverMs        int // the longest time from the end of a writer to the next one, without other faults
}

// Add adds the counts of another run.
func (m *ClusterMix) Add(o *ClusterMix) {
	for _, p := range []struct {
		to *int
		n  int
	}{
		{&m.Requests, o.Requests},
		{&m.Acknowledged, o.Acknowledged},
		{&m.Refused, o.Refused},
		{&m.Unknown, o.Unknown},
		{&m.Upgraded, o.Upgraded},
		{&m.Older, o.Older},
		{&m.Orders, o.Orders},
		{&m.Deposits, o.Deposits},
		{&m.Again, o.Again},
		{&m.Terms, o.Terms},
		{&m.Takeovers, o.Takeovers},
		{&m.Deposed, o.Deposed},
		{&m.Starts, o.Starts},
		{&m.Kills, o.Kills},
		{&m.PowerCuts, o.PowerCuts},
		{&m.Wiped, o.Wiped},
		{&m.Stops, o.Stops},
		{&m.Cuts, o.Cuts},
		{&m.Slow, o.Slow},
		{&m.Stale, o.Stale},
		{&m.Down, o.Down},
		{&m.Tails, o.Tails},
		{&m.Wipes, o.Wipes},
		{&m.Steps, o.Steps},
		{&m.Aside, o.Aside},
		{&m.Ended, o.Ended},
		{&m.Adopted, o.Adopted},
		{&m.Messages, o.Messages},
		{&m.Void, o.Void},
		{&m.Repeated, o.Repeated},
		{&m.Lost, o.Lost},
		{&m.Marks, o.Marks},
		{&m.Met, o.Met},
		{&m.Checks, o.Checks},
		{&m.Reads, o.Reads},
		{&m.AtLeast, o.AtLeast},
		{&m.Moved, o.Moved},
		{&m.Own, o.Own},
		{&m.Fills, o.Fills},
	} {
		*p.to += p.n
	}
	m.StreamMix.add(&o.StreamMix)
	m.TakeoverMs = max(m.TakeoverMs, o.TakeoverMs)
}

// ClusterResult describes a run of one seed.
type ClusterResult struct {
	Mix        ClusterMix
	Transcript string // hash of everything that happened
}

// cluster is one run: the nodes, their stream, and the model of their clients.
type cluster struct {
	seed  uint64
	rnd   *rand.Rand
	nowNs int64
	net   *network
	ring  *clusterkey.Ring
	keys  *stream.Keys
	nodes [clusterNodes]*clusterNode
	truth *truth
	model *clusterModel

	readers *clusterReaders

	led    uint64 // the highest term in which a node has led
	mixed  bool   // nodes have two versions of the program
	events []event
	lossy  bool // the stream has lost what it had confirmed: what was acknowledged may be lost

	mix     ClusterMix
	failure error
	sum     hash.Hash
	trace   io.Writer
}

// event is something that happens at a time.
type event struct {
	atNs int64
	what string
	do   func()
}

// RunCluster simulates a cluster by a seed. It writes the transcript to trace unless it is nil. The error is a Failure.
func RunCluster(seed uint64, trace io.Writer) (ClusterResult, error) {
	c := newClusterWorld(seed, trace)
	defer func() {
		for _, n := range c.nodes {
			n.p.end() // its coroutines hold a whole exchange
		}
	}()
	c.live()
	c.mix.Messages, c.mix.Repeated, c.mix.Lost = len(c.net.log), c.net.repeated, c.net.lost
	r := ClusterResult{Mix: c.mix, Transcript: hex.EncodeToString(c.sum.Sum(nil))}
	if c.failure != nil {
		return r, &Failure{seed, c.failure.Error()}
	}
	return r, nil
}

func newClusterWorld(seed uint64, trace io.Writer) *cluster {
	ring, err := clusterkey.Parse(strings.Repeat("k", clusterkey.MinKeyBytes))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	c := &cluster{
		seed: seed, rnd: rand.New(rand.NewPCG(seed, 0xc105)), ring: ring,
		keys: stream.KeysOf(ring),
		sum:  sha256.New(), trace: trace, model: newClusterModel(), truth: newTruth(),
	}
	c.net = &network{rnd: c.rnd, keys: c.keys, faults: netFaults{
		loseOut: c.rnd.IntN(15), loseBack: c.rnd.IntN(15), repeat: c.rnd.IntN(30), slow: c.rnd.IntN(100),
	}}
	for i := range c.nodes {
		c.nodes[i] = &clusterNode{
			c: c, number: i, name: fmt.Sprintf("node %d", i+1), disk: vfstest.NewMem(),
			stands: i < clusterNodes-1, keeps: i < clusterNodes-1, p: &process{rnd: c.rnd, dead: true},
			ppm: int64(c.rnd.IntN(400) - 200),
		}
		c.nodes[i].machine.wallNs = startNs + int64(c.rnd.IntN(4_000)-2_000)*int64(time.Millisecond)
	}
	c.readers, c.mixed = newClusterReaders(c), c.rnd.IntN(2) == 0
	c.logf("faults %+v, two versions %t", c.net.faults, c.mixed)
	return c
}

// live runs the seed: the cluster forms, works with faults, and comes to rest without them.
func (c *cluster) live() {
	c.nodes[0].begin()
	if !c.run(2*time.Minute, func() bool { return c.nodes[0].leads() }) {
		c.fail("the first writer does not start: %s", c.states())
		return
	}
	c.await(c.nodes[0], "set-up", c.setUp)
	for _, n := range c.nodes[1:] {
		n.begin()
	}
	if !c.run(2*time.Minute, func() bool { return c.level() }) {
		c.fail("the nodes do not start: %s", c.states())
		return
	}
	c.readers.begun = true
	for range 3 + c.rnd.IntN(4) {
		c.hurt()
		if c.work(20+c.rnd.IntN(60), c.span(8*time.Second), 40*time.Second); c.failure != nil {
			return
		}
	}
	c.heal()
	c.run(takeoverAfter+time.Second, func() bool { return false }) // what is lost is sent again, or another node leads
	c.settle()
	if c.takeOver(); c.failure == nil {
		c.settle()
	}
}

// mostTakeover is the time from the end of a writer to the next one, where nothing else fails.
const mostTakeover = takeoverAfter + time.Second

// takeOver ends the writer of a cluster at rest: a standby is the writer in time.
func (c *cluster) takeOver() {
	w := c.writer()
	if c.failure != nil || w == nil || c.lossy {
		return
	}
	fromNs := c.nowNs
	w.die("kill at rest", w.disk.Kill())
	if !c.run(mostTakeover, func() bool { return c.writer() != nil }) {
		c.fail("no standby leads %s after the end of the writer: %s", mostTakeover, c.states())
	}
	c.mix.TakeoverMs = int((c.nowNs - fromNs) / int64(time.Millisecond))
	w.begin()
}

func (c *cluster) logf(format string, args ...any) {
	line := fmt.Appendf(nil, "%d "+format+"\n", append([]any{c.nowNs}, args...)...)
	_, _ = c.sum.Write(line)
	if c.trace != nil {
		_, _ = c.trace.Write(line)
	}
}

// fail keeps the first broken promise as the run's failure.
func (c *cluster) fail(format string, args ...any) {
	if c.failure == nil {
		c.failure = fmt.Errorf(format, args...)
		c.logf("FAILURE %v", c.failure)
	}
}

// pass lets time pass for the network and all machines, and does what is due.
func (c *cluster) pass(ns int64) {
	c.nowNs += ns
	c.net.nowNs = c.nowNs
	for _, n := range c.nodes {
		n.machine.pass(ns + ns*n.ppm/1_000_000)
	}
	c.net.pass()
	c.truth.read(c)
	for i := 0; i < len(c.events); i++ {
		if e := c.events[i]; e.atNs <= c.nowNs {
			c.events = append(c.events[:i:i], c.events[i+1:]...)
			c.logf("%s", e.what)
			e.do()
			i = -1
		}
	}
}

// later lets something happen after a time.
func (c *cluster) later(d time.Duration, what string, do func()) {
	c.events = append(c.events, event{c.nowNs + int64(d), what, do})
}

// turn lets one node work, or time pass.
func (c *cluster) turn() {
	n := c.nodes[c.rnd.IntN(len(c.nodes))]
	if !n.p.dead && !n.stopped {
		for range 1 + c.rnd.IntN(4) {
			if n.p.turn(); n.p.bug != "" {
				c.fail("%s: %s", n.name, n.p.bug)
				return
			}
		}
		n.look()
		if c.rnd.IntN(60) == 0 {
			n.read()
		}
	}
	if c.rnd.IntN(16) == 0 {
		c.readers.act()
	}
	if c.rnd.IntN(6) == 0 {
		d := int64(time.Millisecond)
		if c.rnd.IntN(16) == 0 {
			d = int64(20 * time.Millisecond)
		}
		c.pass(1 + c.rnd.Int64N(d))
	}
}

// run takes turns until done, at most for a time of the world. It reports whether it is done.
func (c *cluster) run(within time.Duration, done func() bool) bool {
	for late := c.nowNs + int64(within); c.nowNs < late && c.failure == nil; {
		if done() {
			return true
		}
		c.turn()
	}
	return false
}

// await runs something in a coroutine of a node, between what runs there already.
func (c *cluster) await(n *clusterNode, name string, fn func(n *clusterNode)) {
	ended := false
	n.p.begin(name, func() { fn(n); ended = true })
	if !c.run(time.Minute, func() bool { return ended || n.p.dead }) {
		c.fail("%s: %s hangs: %s", n.name, name, c.states())
	}
}

// level reports whether one node leads and all others follow at its position, and nothing is on the way.
func (c *cluster) level() bool {
	var writer *clusterNode
	for _, n := range c.nodes {
		if n.leads() {
			if writer != nil {
				return false
			}
			writer = n
		}
	}
	if writer == nil {
		return false
	}
	for _, n := range c.nodes {
		if n != writer && (n.y == nil || n.position() != writer.position()) {
			return false
		}
	}
	return writer.x.Loop().Shown() == writer.position()
}

// states describes the nodes.
func (c *cluster) states() (text string) {
	for _, n := range c.nodes {
		text += fmt.Sprintf("%s: %s; ", n.name, n.state())
	}
	return text + fmt.Sprintf("stream: %d messages to record %d, term %d", len(c.net.log),
		c.truth.reader.State().End.Seq, c.truth.reader.State().Term)
}

// span returns a time up to a bound.
func (c *cluster) span(most time.Duration) time.Duration {
	return time.Duration(c.rnd.Int64N(int64(most)))
}

// hurt chooses what goes wrong next.
func (c *cluster) hurt() {
	n := c.nodes[c.rnd.IntN(len(c.nodes))]
	if c.rnd.IntN(2) == 0 {
		if w := c.writer(); w != nil {
			n = w
		}
	}
	d := c.span(12 * time.Second)
	switch c.rnd.IntN(18) {
	case 0, 1, 2:
		c.mix.Kills++
		n.die("kill", n.disk.Kill())
		c.later(d, "start of "+n.name, n.begin)
	case 3, 4:
		c.mix.PowerCuts++
		n.die("power cut", n.disk.Crash(c.rnd.Uint64()))
		n.boot++
		c.later(d, "start of "+n.name, n.begin)
	case 5, 16, 17:
		c.mix.Wiped++
		n.die("wiped", vfstest.NewMem())
		c.later(d, "start of "+n.name, n.begin)
	case 6, 7, 8:
		c.mix.Cuts++
		c.cut(n, c.rnd.IntN(3), d)
	case 9:
		c.mix.Stale++
		if l := n.link; l != nil && len(c.net.log) > 5 {
			l.stale = uint64(len(c.net.log)-c.rnd.IntN(5)) + 1
			c.logf("%s has a server that is behind, at %d", n.name, l.stale-1)
			c.later(d, n.name+" has the servers again", func() { l.stale = 0 })
		}
	case 10:
		c.mix.Down++
		c.net.down = true
		c.logf("no server answers")
		c.later(d, "the servers answer", func() { c.net.down = false })
	case 11:
		c.mix.Steps++
		s := time.Duration(c.rnd.Int64N(int64(8*time.Second))) - 4*time.Second
		n.machine.wallNs += int64(s)
		c.logf("the clock of %s is set by %s", n.name, s)
	case 12:
		c.mix.Kills++
		c.logf("%s stands still for %s", n.name, d)
		n.stopped = true
		c.later(d, n.name+" goes on", func() { n.stopped = false })
	case 13:
		c.mix.Stops++
		n.stopping = true
		c.logf("%s is stopped", n.name)
	case 14:
		c.loseTail()
	case 15:
		c.loseStream()
	}
}

// loseTail loses the end of the stream. What was acknowledged is in the logs of the nodes, but not of those that were
// behind: one of them may become the writer.
func (c *cluster) loseTail() {
	if c.rnd.IntN(4) != 0 || len(c.net.log) < 20 {
		return
	}
	c.mix.Tails++
	c.lossy = true
	k := 1 + c.rnd.IntN(6)
	c.logf("the stream loses its last %d messages", k)
	c.net.loseTail(k)
	c.later(time.Minute, "all nodes are started again", func() {
		for _, n := range c.nodes {
			if !n.p.dead {
				n.die("stop", n.disk.Kill())
			}
		}
		for _, n := range c.nodes {
			n.begin()
		}
	})
}

// loseStream loses the whole stream. The operator starts the writer again, which sends everything, and then the other
// nodes.
func (c *cluster) loseStream() {
	w := c.writer()
	if w == nil || c.rnd.IntN(4) != 0 || len(c.events) > 0 || !c.level() {
		return
	}
	c.mix.Wipes++
	c.logf("the stream is lost")
	c.net.wipe()
	for _, n := range c.nodes {
		if !n.p.dead {
			n.die("stop", n.disk.Kill())
		}
	}
	w.begin()
	if !c.run(2*time.Minute, w.leads) {
		c.fail("the writer does not begin the stream again: %s", c.states())
	}
	for _, n := range c.nodes {
		n.begin()
	}
}

// cut cuts a node off from the stream: both ways, or one.
func (c *cluster) cut(n *clusterNode, ways int, d time.Duration) {
	l := n.link
	if l == nil {
		return
	}
	l.cutOut, l.cutBack = ways != 1, ways != 0
	c.logf("%s is cut off: out %v, back %v", n.name, l.cutOut, l.cutBack)
	c.later(d, n.name+" is connected", func() { l.cutOut, l.cutBack = false, false })
}

// heal ends all faults: what waits happens now.
func (c *cluster) heal() {
	c.net.faults, c.net.down = netFaults{}, false
	for len(c.events) > 0 {
		e := c.events[0]
		c.events = c.events[1:]
		c.logf("%s", e.what)
		e.do()
	}
	for _, n := range c.nodes {
		n.stopping = false // of a node that leads no more
		if n.p.dead {
			n.begin()
		}
	}
}

// settle waits until the cluster is at rest, and compares everything.
func (c *cluster) settle() {
	if !c.run(10*time.Minute, func() bool { return c.model.open == 0 && c.level() }) {
		c.fail("the cluster does not come to rest: %s", c.states())
		return
	}
	w := c.writer()
	c.await(w, "check", c.checkAll)
	if !c.run(time.Minute, c.level) {
		c.fail("the cluster is not at rest: %s", c.states())
		return
	}
	if c.compareAll(); c.failure == nil {
		c.readers.settle()
	}
}

// writer returns the node that leads with the highest term, nil if there is none.
func (c *cluster) writer() (w *clusterNode) {
	for _, n := range c.nodes {
		if n.leads() && (w == nil || n.term() > w.term()) {
			w = n
		}
	}
	return w
}
