package cluster

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// The classes of faults, in the order in which they end: a node becomes ready only when it reaches the stream.
const (
	ofServers = iota
	ofRoutes
	ofLines
	ofFronts
	ofNodes
	faultClasses
)

// clusterFault is something that happens to a cluster until it ends.
type clusterFault struct {
	name  string
	class int
	three bool          // needs three servers
	long  time.Duration // at most, beside what is ordinary
	// begin begins it at a node or a server, and returns what ends it.
	begin func(c *failing, n int) (end func())
}

// election is the longest time in which three servers elect another leader, with some to spare.
const election = 10 * time.Second

var clusterFaults = func() (all []clusterFault) {
	all = []clusterFault{
		{name: "kill a node", class: ofNodes, begin: func(c *failing, n int) func() {
			c.kill(c.nodes[n].Load())
			return func() { c.startNode(n) }
		}},
		{name: "freeze a node", class: ofNodes, begin: func(c *failing, n int) func() {
			in := c.nodes[n].Load()
			c.send(in, syscall.SIGSTOP)
			return func() { c.send(in, syscall.SIGCONT) }
		}},
		{
			name: "kill a node, which comes back as the next version", class: ofNodes,
			begin: func(c *failing, n int) func() {
				c.kill(c.nodes[n].Load())
				c.later[n] = nextVersion
				return func() { c.startNode(n) }
			},
		},
		{name: "kill a server", class: ofServers, long: election, begin: func(c *failing, n int) func() {
			c.kill(c.servers[n].Instance)
			return func() { c.servers[n].start(c.t) }
		}},
		{name: "freeze a server", class: ofServers, long: election, begin: func(c *failing, n int) func() {
			c.servers[n].Signal(syscall.SIGSTOP)
			return func() { c.servers[n].Signal(syscall.SIGCONT) }
		}},
		{name: "kill all servers", class: ofServers, begin: func(c *failing, _ int) func() {
			for _, s := range c.servers {
				c.kill(s.Instance)
			}
			return c.startServers
		}},
		{name: "freeze all servers", class: ofServers, begin: func(c *failing, _ int) func() {
			for _, s := range c.servers {
				s.Signal(syscall.SIGSTOP)
			}
			return func() {
				for _, s := range c.servers {
					s.Signal(syscall.SIGCONT)
				}
			}
		}},
		{name: "cut all servers from each other", class: ofRoutes, three: true, begin: func(c *failing,
			_ int,
		) func() {
			for n := range c.servers {
				c.isolate(n, harness.WireCut)
			}
			return func() { c.joinServers() }
		}},
		{
			name: "cut a server and the writer from the others", class: ofRoutes, three: true, long: election,
			begin: func(c *failing, n int) func() {
				c.isolate(n, harness.WireCut)
				w := c.target(ofNodes, true, 0)
				for i, l := range c.lines[w] {
					if i != n {
						l.Set(harness.WireCut)
					}
				}
				return func() {
					c.joinServers()
					c.setLines(w, harness.WireUp)
				}
			},
		},
		{name: "cut two servers from each other", class: ofRoutes, three: true, long: election, begin: func(c *failing,
			n int,
		) func() {
			between(c.servers, n, (n+1)%3, harness.WireCut)
			return func() { c.joinServers() }
		}},
	}
	for _, w := range []struct {
		name string
		harness.Wire
	}{
		{"cut", harness.WireCut},
		{"hold, then deliver", harness.WireHeld},
		{"hold what goes out of", harness.WireNoThere},
		{"hold what comes to", harness.WireNoBack},
		{"delay by 200 ms", harness.WireSlow},
		{"leave half-open", harness.WireHalf},
	} {
		all = append(all,
			clusterFault{
				name: w.name + ": a node and the stream", class: ofLines,
				begin: func(c *failing, n int) func() {
					c.setLines(n, w.Wire)
					return func() { c.setLines(n, harness.WireUp) }
				},
			},
			clusterFault{
				name: w.name + ": a node's clients", class: ofFronts,
				begin: func(c *failing, n int) func() {
					c.fronts[n].Set(w.Wire)
					return func() { c.fronts[n].Set(harness.WireUp) }
				},
			},
			clusterFault{
				name: w.name + ": a server and the others", class: ofRoutes, three: true, long: election,
				begin: func(c *failing, n int) func() {
					c.isolate(n, w.Wire)
					return func() { c.joinServers() }
				},
			})
	}
	for _, d := range []struct {
		name   string
		damage func(path string, at int64) error
	}{
		{"flip a byte of", flipByte},
		{"cut the end of", os.Truncate},
		{"remove", func(path string, _ int64) error { return os.Remove(path) }},
	} {
		all = append(all, clusterFault{
			name: d.name + " a file of a killed server", class: ofServers, three: true, long: election,
			begin: func(c *failing, n int) func() {
				s := c.servers[n]
				c.kill(s.Instance)
				return func() {
					files := s.files(c.t)
					if len(files) > 0 {
						path := files[c.r.IntN(len(files))]
						info, err := os.Stat(path)
						if err == nil {
							err = d.damage(path, c.r.Int64N(info.Size()))
						}
						if err != nil {
							c.t.Fatal(err)
						}
						c.told = append(c.told, fmt.Sprintf("%s %s of server %d", d.name,
							strings.TrimPrefix(path, s.folder), n))
					}
					if s.startDamaged(c.t) {
						c.told = append(c.told, "which is emptied")
					}
				}
			},
		})
	}
	return all
}()

func flipByte(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		return err
	}
	b[0] ^= 1 << (at % 8)
	_, err = f.WriteAt(b, at)
	return err
}

// isolate sets the ways between a server and the two others.
func (c *failing) isolate(n int, w harness.Wire) {
	between(c.servers, n, (n+1)%3, w)
	between(c.servers, n, (n+2)%3, w)
}

// joinServers mends all ways between servers.
func (c *failing) joinServers() {
	for n := range c.servers {
		c.isolate(n, harness.WireUp)
	}
}

func (c *failing) startServers() {
	for _, s := range c.servers {
		s.start(c.t)
	}
}

// setLines sets the ways between a node and all servers.
func (c *failing) setLines(n int, w harness.Wire) {
	for _, l := range c.lines[n] {
		l.Set(w)
	}
}

// planned is a fault of a run, as the seed decides it.
type planned struct {
	*clusterFault
	leading bool // at the writer, or at the server that leads the stream, if there is one
	other   int  // otherwise
	after   time.Duration
}

// episode is one fault, or two that overlap, and how long both last.
type episode struct {
	faults []planned
	long   time.Duration
}

// plan decides the faults of a run.
func (c *failing) plan(n int) (all []episode) {
	for range n {
		e := episode{faults: []planned{c.choose(-1)}}
		if c.r.IntN(2) == 0 {
			second := c.choose(e.faults[0].class)
			second.after = time.Duration(c.r.Int64N(int64(4 * time.Second))) // within a takeover, too
			e.faults = append(e.faults, second)
		}
		long := 1500 * time.Millisecond
		if c.standbys {
			long *= 3 // a takeover begins after 1.5 s
		}
		for _, f := range e.faults {
			long = max(long, f.long)
		}
		e.long = long/4 + time.Duration(c.r.Int64N(int64(long)))
		all = append(all, e)
	}
	return all
}

// choose chooses a fault of another class.
func (c *failing) choose(not int) planned {
	for {
		f := &clusterFaults[c.r.IntN(len(clusterFaults))]
		p := planned{clusterFault: f, leading: c.r.IntN(2) == 0, other: c.r.IntN(clusterNodes)}
		fits := f.class != not && (!f.three || len(c.servers) == 3)
		if storage := ofServers; not == ofRoutes && f.class == storage || not == storage && f.class == ofRoutes {
			fits = false // more than a minority of the servers would fail
		}
		if fits && (f.class == ofNodes || c.r.IntN(2) == 0) { // nodes have few kinds, and matter most
			return p
		}
	}
}

// target returns the node or server at which a fault begins now.
func (c *failing) target(class int, leading bool, other int) int {
	switch {
	case class <= ofRoutes && leading:
		if n := leaderOf(c.servers); n >= 0 {
			return n
		}
	case leading:
		for n := range c.nodes {
			if c.roles[n].Load() == "writer" {
				return n
			}
		}
	}
	if class <= ofRoutes {
		return other % len(c.servers)
	}
	return other
}

// fail brings about the faults of an episode, and ends them.
func (c *failing) fail(e episode) {
	begun := time.Now()
	var ends [faultClasses][]func()
	for _, f := range e.faults {
		c.wait(time.Until(begun.Add(f.after)))
		n := c.target(f.class, f.leading, f.other)
		what := fmt.Sprintf("%s (%d)", f.name, n)
		at := fallen{name: f.name, at: time.Since(c.history.begun), node: -1}
		switch {
		case f.class == ofNodes || f.class == ofLines:
			if c.roles[n].Load() == "writer" {
				what, at.name, at.node = what+" the writer", at.name+", the writer", n
			}
		case f.class <= ofRoutes && f.leading:
			what, at.name = what+" the leader", at.name+", the leader"
		}
		if f.after > 0 {
			what += fmt.Sprintf(" after %.1fs", f.after.Seconds())
		}
		c.told, c.fallen = append(c.told, what), append(c.fallen, at)
		ends[f.class] = append(ends[f.class], f.begin(c, n))
	}
	c.wait(time.Until(begun.Add(e.long)))
	for _, class := range ends {
		for _, end := range class {
			end()
		}
	}
	c.supervise()
}
