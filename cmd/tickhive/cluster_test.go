package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var (
	clusterRuns = flag.Int("cluster.runs", 2, "number of fault runs of a cluster")
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

// failing is a cluster whose processes and connections fail: a writer that waits for the stream, two replicas, and the
// stream's server in a process of its own, behind a line for each node. With an even seed the replicas are standbys,
// and every node comes back as one. With a seed that three divides the stream has three servers, without lines.
type failing struct {
	t        *testing.T
	r        *rand.Rand
	seed     uint64
	standbys bool
	args     [clusterNodes][]string

	servers []*streamServer
	lines   [clusterNodes]*line
	nodes   [clusterNodes]atomic.Pointer[instance]

	acked   *acked
	clients []*clusterClient
	reads   atomic.Int64
	term    any // at the end
	stop    chan struct{}
	work    sync.WaitGroup
}

func startFailing(t *testing.T, seed uint64) *failing {
	t.Helper()
	c := &failing{
		t: t, r: rand.New(rand.NewPCG(seed, 0)), seed: seed, acked: newAcked(),
		servers: newServers(t, map[bool]int{true: 3, false: 1}[seed%3 == 0]), stop: make(chan struct{}),
		standbys: seed%2 == 0,
	}
	for _, s := range c.servers {
		s.start(t)
	}
	key := filepath.Join(t.TempDir(), "cluster.key")
	common := []string{
		"--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--quiet", "--set", "log.level=warn",
		"--set", "rate.allow=127.0.0.1", "--set", "cluster.key_file=" + key,
	}
	for n := range c.nodes {
		c.lines[n] = newLine(t, "http://"+c.servers[0].at)
		from := "nats://" + c.lines[n].ln.Addr().String()
		if len(c.servers) > 1 {
			from = ""
			for i, s := range c.servers {
				from += []string{"nats://", ",", ","}[i] + s.at
			}
		}
		dir := filepath.Join(t.TempDir(), "node")
		if n == theWriter {
			c.args[n] = append([]string{
				"serve", "--journal", from, "--ack", "quorum", "--data-dir", dir, "--pairs", "none",
				"--sim", "off",
				"--set", "journal.segment_bytes=65536", "--set", "journal.snapshot_bytes=60000",
				"--set", "engine.account_orders=100000",
			}, common...)
			if c.standbys {
				c.args[n] = append(c.args[n], "--promote", "--set", "cluster.archive_every=2s", "--set",
					"replica.max_lag=1h")
			}
			c.startNode(n)
			c.acked.begin(c.nodes[n].Load())
		}
		if n != theWriter || c.standbys {
			c.args[n] = append([]string{"replica", "--from", from, "--set", "replica.max_lag=1h"}, common...)
		}
		if c.standbys {
			c.args[n] = append(c.args[n], "--promote", "--data-dir", dir, "--set", "sim.enabled=false",
				"--set", "cluster.archive_every=2s") // a node that starts again begins with a snapshot
		}
		if n != theWriter {
			c.startNode(n)
		}
	}
	for i := range 4 {
		c.clients = append(c.clients, &clusterClient{
			voter: c.nodes[theWriter].Load().trader(), id: i, orders: map[string]string{},
		})
		c.acked.deposited["USDT"] += 10_000
	}
	return c
}

// server returns one of the stream's servers for a fault of the node n.
func (c *failing) server(n int) *streamServer { return c.servers[n%len(c.servers)] }

func (c *failing) startNode(n int) {
	c.t.Helper()
	in := launch(c.t, nil, c.args[n]...)
	in.takeAddresses(in.waitLine("ready "))
	c.nodes[n].Store(in)
}

// clusterFault is something that happens to a cluster until it ends.
type clusterFault struct {
	name       string
	begin, end func(c *failing, n int)
}

func (c *failing) kill(in *instance) {
	c.t.Helper()
	c.send(in, syscall.SIGKILL)
	in.wait()
}

// send sends a signal to a process, which may have ended: a writer does when another node has taken over.
func (c *failing) send(in *instance, s syscall.Signal) {
	c.t.Helper()
	if err := in.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Fatal(err)
	}
}

// clusterFaults are the faults of a node and its line, those of the stream's server are the last ones.
var clusterFaults = []clusterFault{
	{"kill a node", func(c *failing, n int) { c.kill(c.nodes[n].Load()) }, func(c *failing, n int) { c.startNode(n) }},
	{
		"freeze a node", func(c *failing, n int) { c.send(c.nodes[n].Load(), syscall.SIGSTOP) },
		func(c *failing, n int) { c.send(c.nodes[n].Load(), syscall.SIGCONT) },
	},
	{
		"cut a line", func(c *failing, n int) { c.lines[n].set(lineCut) },
		func(c *failing, n int) { c.lines[n].set(lineUp) },
	},
	{
		"hold a line and deliver late", func(c *failing, n int) { c.lines[n].set(lineFrozen) },
		func(c *failing, n int) { c.lines[n].set(lineUp) },
	},
	{
		"kill a server of the stream", func(c *failing, n int) { c.kill(c.server(n).instance) },
		func(c *failing, n int) { c.server(n).start(c.t) },
	},
	{
		"freeze a server of the stream", func(c *failing, n int) { c.server(n).signal(syscall.SIGSTOP) },
		func(c *failing, n int) { c.server(n).signal(syscall.SIGCONT) },
	},
	{
		"kill all servers of the stream", func(c *failing, _ int) {
			for _, s := range c.servers {
				c.kill(s.instance)
			}
		},
		func(c *failing, _ int) {
			for _, s := range c.servers {
				s.start(c.t)
			}
		},
	},
}

// pause waits for a random time, during which the load goes on.
func (c *failing) pause(most time.Duration) {
	<-time.After(time.Duration(c.r.Int64N(int64(most))))
}

// fail brings about one fault, or one and another of the stream's server, and ends them: the server's first, because a
// writer does not become ready without the stream.
func (c *failing) fail() (names string) {
	at, n := c.r.IntN(len(clusterFaults)), c.r.IntN(clusterNodes)
	if c.standbys && c.r.IntN(2) == 0 { // something that makes another node the writer
		at = c.r.IntN(4)
		for i := range c.nodes {
			if roleOf(c.nodes[i].Load()) == "writer" {
				n = i
			}
		}
	}
	faults := []clusterFault{clusterFaults[at]}
	if at < 4 && c.r.IntN(3) == 0 {
		faults = append(faults, clusterFaults[4+c.r.IntN(3)])
	}
	for _, f := range faults {
		f.begin(c, n)
		names += fmt.Sprintf("%s (%d); ", f.name, n)
	}
	long := 1500 * time.Millisecond
	if c.standbys {
		long *= 3 // a takeover begins after 1.5 s
	}
	c.pause(long)
	for _, f := range slices.Backward(faults) {
		f.end(c, n)
	}
	c.supervise()
	return names
}

// supervise starts the writers again, as standbys, that have ended because another node is the writer.
func (c *failing) supervise() {
	c.t.Helper()
	for n := range c.nodes {
		in := c.nodes[n].Load()
		if !in.ended() {
			continue
		}
		if !c.standbys || !strings.Contains(in.stderr.String(), "another node is the writer now") {
			c.t.Fatalf("node %d has ended: %s", n, in.stderr.String())
		}
		c.startNode(n)
	}
}

// load sends what the list of acknowledged answers counts, to the writer while there is one.
func (c *failing) load() {
	for round := c.seed; !c.stopped(20 * time.Millisecond); round++ {
		if in := c.writer(); in != nil {
			c.acked.load(in, round, c.stop)
		}
	}
}

// writer returns the node that says that it is the writer, nil if there is none at the moment.
func (c *failing) writer() *instance {
	if !c.standbys {
		return c.nodes[theWriter].Load()
	}
	for n := range c.nodes {
		if in := c.nodes[n].Load(); roleOf(in) == "writer" {
			return in
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

// settled waits until there is a writer and every other node has its records. It returns the writer and the others.
func (c *failing) settled() (writer *instance, replicas []*instance) {
	c.t.Helper()
	waitFor(c.t, func() bool {
		c.supervise()
		if writer = c.writer(); writer == nil || roleOf(writer) != "writer" {
			return false
		}
		_, w := position(c.t, writer)
		replicas = replicas[:0]
		for n := range c.nodes {
			in := c.nodes[n].Load()
			if in == writer {
				continue
			}
			if roleOf(in) != "replica" {
				return false
			}
			if _, r := position(c.t, in); r != w {
				return false
			}
			replicas = append(replicas, in)
		}
		return true
	})
	return writer, replicas
}

// check compares the nodes with each other and with the acknowledged answers, after the load.
func (c *failing) check() {
	t := c.t
	t.Helper()
	writer, replicas := c.settled()
	status, _ := object(t, writer.do("GET", writer.public+"/api/status", "").body)["replication"].(map[string]any)
	c.term = status["term"]
	want := writer.call(200, "GET", "/state-hash", "")
	for n, replica := range replicas {
		got := replica.call(200, "GET", "/state-hash", "")
		if fmt.Sprint(got) != fmt.Sprint(want) || want["hash"] == nil {
			t.Errorf("the state hash of replica %d is %v, the writer's %v", n, got, want)
		}
	}
	for id, o := range c.acked.orders {
		a := writer.do("GET", fmt.Sprintf("%s/orders/%d", writer.internal, id), "")
		if a.status != 200 || c.acked.canceled[id] && !strings.Contains(a.body, "Canceled") {
			t.Fatalf("order %d was acknowledged with %+v and is %d %s", id, o, a.status, a.body)
		}
	}
	c.acked.verifyStores(t, writer)
	for _, u := range c.clients {
		found := 0
		for id, order := range u.orders {
			target := "/api/orders/by-client-id/AA_USDT/" + id
			a := writer.do("GET", writer.public+target, "", u.signed(fmt.Sprint(time.Now().UnixMilli()), "GET", target,
				"")...)
			if order != "" && (a.status != 200 || !strings.Contains(a.body, order)) {
				t.Errorf("order %s of %s was answered, and is %d %s", order, id, a.status, a.body)
			}
			if a.status == 200 {
				found++
			}
		}
		if n := writer.opened(u.voter); n != found {
			t.Errorf("%d orders are in the book, %d clientOrderIds have one: something was executed twice", n, found)
		}
	}
}

// run loads the cluster during three faults, and checks it.
func (c *failing) run() {
	c.work.Go(c.load)
	for _, u := range c.clients {
		c.work.Go(func() { u.trade(c) })
	}
	for i := range uint64(3) {
		c.work.Go(func() { c.session(1000 + i) })
	}
	var faults string
	for range 3 {
		c.pause(time.Second)
		faults += c.fail()
	}
	if c.standbys {
		faults = "standbys: " + faults
	}
	faults = fmt.Sprintf("%d servers; ", len(c.servers)) + faults
	c.pause(time.Second)
	close(c.stop)
	c.work.Wait()
	c.check()
	signed := 0
	for _, u := range c.clients {
		signed += len(u.orders)
	}
	c.t.Logf("%sterm %v, %d orders, %d signed ones, %d users, %d tokens, %d log entries, %d reads", faults,
		c.term, len(c.acked.orders), signed, len(c.acked.users), len(c.acked.tokens), c.acked.entries, c.reads.Load())
	for _, n := range []int{theWriter, firstReplica, secondReplica} {
		c.kill(c.nodes[n].Load())
	}
	for _, s := range c.servers {
		c.kill(s.instance)
	}
}

// Whatever fails, nothing that a cluster has acknowledged is lost or executed twice, all nodes have one state, the
// money adds up, and no session reads an older state after a newer one.
func TestClusterLosesNothing(t *testing.T) {
	t.Parallel()
	seed := *clusterSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	begun := time.Now()
	for i := range uint64(*clusterRuns) {
		if *clusterTime > 0 && time.Since(begun) > *clusterTime {
			t.Logf("%d runs", i)
			break
		}
		t.Run(fmt.Sprintf("seed=%d", seed+i), func(t *testing.T) { startFailing(t, seed+i).run() })
	}
}
