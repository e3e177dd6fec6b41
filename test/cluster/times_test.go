package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fallen is the begin of a fault.
type fallen struct {
	name string
	at   time.Duration // since the begin of the run
	node int           // the writer that it befell, -1: none
}

// led is the moment at which a node was seen as the writer that was not before.
type led struct {
	node int
	at   time.Duration
}

// distribution collects durations by what they are of.
type distribution struct {
	mu sync.Mutex
	of map[string][]time.Duration
}

func (d *distribution) add(name string, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of == nil {
		d.of = map[string][]time.Duration{}
	}
	d.of[name] = append(d.of[name], took)
}

// table returns a line for each name and one for all of them.
func (d *distribution) table(title string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	var all []time.Duration
	for name, of := range d.of {
		names, all = append(names, name), append(all, of...)
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "%-66s %5s %7s %7s %7s %7s\n", title, "n", "min", "p50", "p90", "max")
	line := func(name string, of []time.Duration) {
		slices.Sort(of)
		at := func(q int) float64 { return of[(len(of)-1)*q/100].Seconds() }
		fmt.Fprintf(&b, "%-66s %5d %6.2fs %6.2fs %6.2fs %6.2fs\n", name, len(of), at(0), at(50), at(90), at(100))
	}
	for _, name := range names {
		line(name, d.of[name])
	}
	if len(names) > 1 {
		line("all", all)
	}
	return b.String()
}

// The times of all runs of a process.
var takeovers, outages distribution

// measure adds the times of a run: from a fault of a writer to another writer, and from any fault to the first change
// that began behind it and was acknowledged.
func (c *failing) measure() {
	for i, f := range c.fallen {
		if took, ok := c.history.firstAfter(f.at); ok {
			outages.add(f.name, took)
		}
		if f.node < 0 || !c.standbys {
			continue
		}
		end := time.Duration(1 << 62)
		if i+1 < len(c.fallen) && c.fallen[i+1].node >= 0 {
			end = c.fallen[i+1].at
		}
		for _, l := range c.led {
			if l.at > f.at && l.at < end && l.node != f.node {
				takeovers.add(f.name, l.at-f.at)
				break
			}
		}
	}
}

// watch keeps the roles of all nodes until the load ends.
func (c *failing) watch(n int) {
	for was := ""; !c.stopped(30 * time.Millisecond); {
		now := roleOf(c.nodes[n].Load())
		c.roles[n].Store(now)
		if now == "writer" && was != now {
			c.mu.Lock()
			c.led = append(c.led, led{n, time.Since(c.history.begun)})
			c.mu.Unlock()
		}
		if now != "" {
			was = now
		}
	}
}

// A table has the least, the median, the ninetieth percentile and the most.
func TestTheTimesOfFaultsAreListed(t *testing.T) {
	t.Parallel()
	var d distribution
	for n := range 11 {
		d.add("kill", time.Duration(11-n)*time.Second)
	}
	d.add("cut", 20*time.Second)
	for _, want := range []string{
		"kill  ", " 11   1.00s   6.00s  10.00s  11.00s", "all  ", " 12   1.00s   6.00s  10.00s  20.00s",
	} {
		if got := d.table("by fault"); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
