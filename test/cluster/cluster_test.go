package cluster

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

var (
	clusterRuns = flag.Int("cluster.runs", 1, "number of fault runs of a cluster")
	clusterSeed = flag.Uint64("cluster.seed", 0, "seed of the first run; 0: a random one")
	clusterTime = flag.Duration("cluster.time", 0, "time after which no fault run begins; 0: no limit")
)

// The nodes of a failing cluster, as indexes of its arrays. The stream's server is no node.
const (
	theWriter = iota
	firstReplica
	secondReplica
	clusterNodes
)

// clusterLoad is the number of clients that repeat nothing and count only what is acknowledged.
const clusterLoad = 16

// failing is a cluster whose processes, connections and files fail: a writer that waits for the stream, two replicas,
// and the stream's servers in processes of their own. Between each two processes, and between the clients and each
// node, is a link. With an even seed the replicas are standbys, and every node comes back as one. Unless three divides
// the seed, the stream has three servers.
type failing struct {
	t        *testing.T
	r        *rand.Rand
	seed     uint64
	standbys bool
	args     [clusterNodes][]string
	dirs     [clusterNodes]string
	later    [clusterNodes][]string // environment of its next start: the present version of the program, or the next

	servers []*streamServer
	lines   [clusterNodes][]*harness.Line // to each server
	fronts  [clusterNodes]*harness.Line   // from the clients, and from nodes that forward to this one
	nodes   [clusterNodes]atomic.Pointer[harness.Instance]
	roles   [clusterNodes]atomic.Value // string; empty: the node does not answer

	acked   *harness.Acked
	clients []*clusterClient
	reads   atomic.Int64
	history history
	once    []*harness.Voter
	agents  agents
	batcher string
	savers  []string
	term    any      // at the end
	told    []string // the faults, in words
	fallen  []fallen
	stop    chan struct{}
	ending  sync.Once // closes stop
	work    sync.WaitGroup

	mu  sync.Mutex
	led []led
}

func startFailing(t *testing.T, seed uint64) *failing {
	t.Helper()
	c := &failing{
		t: t, r: rand.New(rand.NewPCG(seed, 0)), seed: seed, acked: harness.NewAcked(),
		servers: newServers(t, map[bool]int{true: 1, false: 3}[seed%3 == 0]), stop: make(chan struct{}),
		standbys: seed%2 == 0,
	}
	c.startServers()
	common := []string{
		"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--quiet", "--set", "log.level=warn",
		"--set", "rate.allow=127.0.0.1", "--set", "cluster.key_file=" + harness.StreamSeed.Key,
	}
	for n := range c.nodes {
		from := ""
		for i, s := range c.servers {
			c.lines[n] = append(c.lines[n], harness.NewLine(t, s.at))
			from += []string{"nats://", ",", ","}[i] + c.lines[n][i].Addr()
		}
		c.fronts[n] = harness.NewLine(t, "127.0.0.1:1")
		common := append([]string{"--advertise", c.fronts[n].Addr()}, common...)
		dir := filepath.Join(t.TempDir(), "node")
		c.dirs[n] = dir
		if n == theWriter {
			c.args[n] = append([]string{
				"serve", "--journal", from, "--ack", "quorum", "--data-dir", dir, "--pairs", "none",
				"--sim", "off",
				"--set", "journal.segment_bytes=65536", "--set", "journal.snapshot_bytes=60000",
				"--set", "engine.account_orders=1000000", "--set", "rate.votes_per_minute=10000",
				"--set", "launchpad.fee=1", "--set", "launchpad.cooldown=0",
			}, common...)
			if c.standbys {
				c.args[n] = append(c.args[n], "--promote", "--set", "replica.max_lag=1h")
			}
			c.startNode(n)
			c.acked.Begin(c.nodes[n].Load())
			c.beginWork()
		}
		if n != theWriter || c.standbys {
			c.args[n] = append([]string{
				"replica", "--from", from, "--set", "replica.max_lag=1h", "--set", "rate.votes_per_minute=10000",
			}, common...)
		}
		if c.standbys {
			c.args[n] = append(c.args[n], "--promote", "--data-dir", dir, "--set", "sim.enabled=false")
		}
		if n != theWriter {
			c.startNode(n)
		}
	}
	for i := range 2 {
		c.clients = append(c.clients, &clusterClient{
			Voter: c.nodes[theWriter].Load().Trader(), id: i, orders: map[string]string{},
		})
		c.acked.Deposited["USDT"] += 10_000
	}
	return c
}

// startNode starts a node and waits until it serves. While the stream does not answer in time, it is started again, as
// a supervisor does. When the stream is one of the next version, the node is replaced by it.
func (c *failing) startNode(n int) {
	c.t.Helper()
	for begun := time.Now(); ; {
		in := harness.Launch(c.t, c.later[n], c.args[n]...)
		if line, ok := in.Line("ready "); ok {
			in.TakeAddresses(line)
			c.nodes[n].Store(in)
			c.fronts[n].Aim(strings.TrimPrefix(in.Public, "http://"))
			return
		}
		code, text := in.Wait(), in.Stderr.String()
		switch {
		case code == 1 && strings.Contains(text, "the log is not available") && time.Since(begun) < harness.Patience:
		case code == 1 && strings.Contains(text, needsLater) && c.later[n] == nil:
			c.later[n] = nextVersion
		default:
			c.t.Fatalf("node %d does not start: %s", n, text)
		}
	}
}

func (c *failing) kill(in *harness.Instance) {
	c.t.Helper()
	c.send(in, syscall.SIGKILL)
	in.Wait()
}

// send sends a signal to a process, which may have ended: a writer does when another node has taken over.
func (c *failing) send(in *harness.Instance, s syscall.Signal) {
	c.t.Helper()
	if err := in.Cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Fatal(err)
	}
}

// wait waits, during which the load goes on.
func (c *failing) wait(d time.Duration) { <-time.After(d) }

// supervise starts the nodes again, as the next version, that have ended because the stream is one of it: a writer that
// another one has replaced goes on as its replica, and its version cannot.
func (c *failing) supervise() {
	c.t.Helper()
	for n := range c.nodes {
		in := c.nodes[n].Load()
		if !in.Ended() {
			continue
		}
		if text := in.Stderr.String(); in.Wait() != 1 || !strings.Contains(text, needsLater) || c.later[n] != nil {
			c.t.Fatalf("node %d has ended: %s", n, text)
		}
		c.startNode(n)
	}
}

// load sends what the list of acknowledged answers counts, to the writer while there is one.
func (c *failing) load() {
	for round := c.seed; !c.stopped(20 * time.Millisecond); round++ {
		if in := c.writer(); in != nil {
			c.acked.LoadBy(clusterLoad, in, round, c.stop)
		}
	}
}

// writer returns the node that says that it is the writer, nil if there is none at the moment.
func (c *failing) writer() *harness.Instance {
	for n := range c.nodes {
		if c.roles[n].Load() == "writer" {
			return c.nodes[n].Load()
		}
	}
	return nil
}

// stopped waits, at most for d, for the end of the load.
func (c *failing) stopped(d time.Duration) bool {
	select {
	case <-c.stop:
		return true
	case <-time.After(d):
		return false
	}
}

// endWork ends the load and waits for it.
func (c *failing) endWork() {
	c.ending.Do(func() { close(c.stop) })
	c.work.Wait()
}

// run loads the cluster during three episodes of faults, and checks it.
func (c *failing) run() {
	c.history.begun = time.Now()
	defer c.endWork() // also after an error: no goroutine may report one behind the end of the test
	for n := range c.nodes {
		c.work.Go(func() { c.watch(n) })
	}
	c.work.Go(c.load)
	for _, u := range c.clients {
		c.work.Go(func() { u.trade(c) })
	}
	for i := range 2 {
		c.work.Go(func() { c.session(1000 + i) })
	}
	c.startWork()
	defer func() {
		c.t.Logf("%d servers, standbys %t: %s", len(c.servers), c.standbys, strings.Join(c.told, "; "))
	}()
	for _, e := range c.plan(3) {
		c.wait(time.Duration(c.r.Int64N(int64(time.Second))))
		c.fail(e)
	}
	c.wait(time.Second)
	c.endWork()
	c.endUpgrade()
	c.check()
	c.measure()
	for n := range c.nodes {
		if found := aside(c.t, c.dirs[n]); len(found) > 0 {
			c.t.Errorf("node %d does not continue its copy: %v", n, found)
		}
	}
	signed := 0
	for _, u := range c.clients {
		signed += len(u.orders)
	}
	c.t.Logf("term %v; tried once: %v; %d orders, %d repeated ones, %d users, %d tokens, %d log entries, %d reads",
		c.term, c.history.counts(), len(c.acked.Orders), signed, len(c.acked.Users), len(c.acked.Tokens),
		c.acked.Entries, c.reads.Load())
	for n := range c.nodes {
		c.kill(c.nodes[n].Load())
	}
	for _, s := range c.servers {
		c.kill(s.Instance)
	}
}

// Whatever fails, nothing that a cluster has acknowledged is lost or executed twice, nothing that it refused is there,
// all nodes have one state, the money adds up, and no session reads an older state after a newer one.
func TestClusterLosesNothing(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	seed := *clusterSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	begun, runs := time.Now(), uint64(0)
	for ; runs < uint64(*clusterRuns) && (*clusterTime == 0 || time.Since(begun) < *clusterTime); runs++ {
		t.Run(fmt.Sprintf("seed=%d", seed+runs), func(t *testing.T) { startFailing(t, seed+runs).run() })
	}
	t.Logf("%d runs in %v\n%s\n%s", runs, time.Since(begun).Round(time.Second),
		takeovers.table("from a fault of the writer to another one"),
		outages.table("from a fault to the next acknowledged change"))
}
