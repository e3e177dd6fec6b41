package stream

import (
	"os"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// bounds limit what the adversary of a search may do.
type bounds struct {
	commands  int // that are added in all
	campaigns int // beyond the first
	timeouts  int
	drops     int // publications and answers
	copies    int // of publications
	stale     int // answers that the log has ended
	rounds    int // doubts that end, so that open messages are published again
	reorder   bool
	inFlight  int
}

// search tries every schedule within its bounds, and keeps the states that it has seen.
type search struct {
	seen  map[uint64]struct{}
	found *cluster
	path  []action
	limit int
	key   []byte
}

// action is one choice of the adversary.
type action struct {
	what string
	node int
	n    uint64
}

// run searches behind c. It returns when it has found a broken invariant or has seen limit states.
func (s *search) run(c *cluster, b bounds) {
	if s.found != nil || len(s.seen) >= s.limit {
		return
	}
	if c.failed != "" {
		s.found = c
		return
	}
	c.forget()
	s.key = c.fingerprint(s.key[:0])
	for _, n := range []int{b.commands, b.campaigns, b.timeouts, b.drops, b.copies, b.stale, b.rounds} {
		s.key = append(s.key, byte(n))
	}
	key := xxhash.Sum64(s.key)
	if _, ok := s.seen[key]; ok {
		return
	}
	s.seen[key] = struct{}{}
	try := func(a action, left bounds, change func(*cluster)) {
		if s.found != nil {
			return
		}
		d := c.clone()
		change(d)
		s.path = append(s.path, a)
		s.run(d, left)
		if s.found == nil {
			s.path = s.path[:len(s.path)-1]
		}
	}
	s.tryNodes(c, b, try)
	s.tryFlights(c, b, try)
}

func (s *search) tryNodes(c *cluster, b bounds, try func(action, bounds, func(*cluster))) {
	for n := range c.nodes {
		w := c.nodes[n].w
		if w == nil || w.Status() == Fenced {
			if left := b; b.campaigns > 0 {
				left.campaigns--
				for back := range min(2, len(c.log)+1) { // level with the log, or one message behind
					try(action{"campaigns, messages behind:", n, uint64(back)}, left, func(d *cluster) {
						d.campaign(n, uint64(len(c.log)-back), b.inFlight)
					})
				}
			}
			continue
		}
		if left := b; w.Status() == Leading && b.commands > 0 {
			left.commands--
			try(action{"adds a command", n, 0}, left, func(d *cluster) { d.add(n) })
		}
		if !w.doubt && w.flying < w.limits.InFlight && (w.flying < len(w.window) || w.open.count > 0) {
			try(action{"publishes", n, w.number + 1}, b, func(d *cluster) { d.publish(n) })
		}
		if left := b; w.flying > 0 && b.timeouts > 0 {
			left.timeouts--
			try(action{"has a timeout", n, w.number}, left, func(d *cluster) { d.timeout(n, w.window[0].number) })
		}
		seq, ok := w.read.at.Seq+1, w.doubt // resolve proves the last valid message, too
		if left := b; ok && seq <= uint64(len(c.log)) {
			try(action{"reads", n, seq}, b, func(d *cluster) { d.resolve(n, false) })
			if b.stale > 0 && b.rounds > 0 {
				left.stale, left.rounds = left.stale-1, left.rounds-1
				try(action{"reads an old copy", n, seq}, left, func(d *cluster) { d.resolve(n, true) })
			}
		} else if ok && b.rounds > 0 {
			left.rounds--
			try(action{"reads the end", n, seq}, left, func(d *cluster) { d.resolve(n, false) })
		}
	}
}

func (s *search) tryFlights(c *cluster, b bounds, try func(action, bounds, func(*cluster))) {
	first := make([]bool, len(c.nodes))
	for i, f := range c.out {
		if first[f.node] && !b.reorder {
			continue
		}
		first[f.node] = true
		try(action{"publication arrives", f.node, f.p.Number}, b, func(d *cluster) { d.deliver(i, false) })
		if left := b; b.copies > 0 {
			left.copies--
			try(action{"publication arrives, a copy is on the way", f.node, f.p.Number}, left, func(d *cluster) {
				d.deliver(i, true)
			})
		}
		if left := b; b.drops > 0 {
			left.drops--
			try(action{"publication is lost", f.node, f.p.Number}, left, func(d *cluster) { drop(&d.out, i) })
		}
	}
	clear(first)
	for i, f := range c.back {
		if first[f.node] && !b.reorder {
			continue
		}
		first[f.node] = true
		try(action{"answer", f.node, f.p.Number}, b, func(d *cluster) { d.answer(i) })
		if left := b; b.drops > 0 {
			left.drops--
			try(action{"answer is lost", f.node, f.p.Number}, left, func(d *cluster) { drop(&d.back, i) })
		}
	}
}

// leading returns a cluster of which the last node leads.
func leading(nodes int, compare bool, bug planted, inFlight int) *cluster {
	c, n := newCluster(nodes, compare, bug), nodes-1
	c.campaign(n, 0, inFlight)
	for w := c.nodes[n].w; w.Status() != Leading || w.doubt; c.resolve(n, false) {
		for c.publish(n) {
			c.deliver(0, false)
			c.answer(0)
		}
	}
	return c
}

// explore searches from a log in which one node leads.
func explore(compare bool, bug planted, b bounds, limit int) *search {
	c := leading(2, compare, bug, b.inFlight)
	s := &search{seen: map[uint64]struct{}{}, limit: limit}
	s.run(c, b)
	return s
}

// exploreLoss searches from a log that has lost its last messages, some of which counted. Its writer has ended, one
// node campaigns behind what is left, and the other one behind what it had read before.
func exploreLoss(bug planted, counted, void, lost int, b bounds) *search {
	c := leading(3, true, sound, b.inFlight)
	for range counted {
		c.add(2)
		c.publish(2)
		c.deliver(0, false)
		c.answer(0)
	}
	for range void {
		c.append(c.log[0])
	}
	read := c.states[len(c.states)-1]
	c.nodes[2] = node{}
	d := newCluster(3, true, bug)
	for _, data := range c.log[:len(c.log)-lost] {
		d.append(data)
	}
	d.lossy, d.lives, d.ids = true, c.lives, c.ids
	d.campaign(0, uint64(len(d.log)), b.inFlight)
	d.campaignBehind(1, read, b.inFlight)
	s := &search{seen: map[uint64]struct{}{}, limit: 1 << 20}
	s.run(d, b)
	return s
}

// A log that has lost messages takes the term records of candidates that have read them, and of such that have not.
// Whoever leads has the state that a reader has, and what it acknowledges is in the log.
func TestEverySmallScheduleBehindALoss(t *testing.T) {
	b := bounds{commands: 1, timeouts: 1, rounds: 3, reorder: true, inFlight: 2}
	if os.Getenv("TICKHIVE_SOAK") == "1" {
		b = bounds{commands: 2, timeouts: 1, drops: 1, rounds: 4, reorder: true, inFlight: 2}
	}
	found, total := 0, 0
	for counted := range 3 {
		for void := range 3 {
			for lost := 1; lost <= counted+void; lost++ {
				s := exploreLoss(sound, counted, void, lost, b)
				if s.found != nil {
					t.Fatalf("%d of %d and %d messages lost: %s: %s\n%v", lost, counted, void, s.found.failed,
						s.found.detail, s.path)
				}
				if total += len(s.seen); len(s.seen) == s.limit {
					t.Errorf("%d of %d and %d messages lost: the bounds are too wide", lost, counted, void)
				}
				if s := exploreLoss(termByNumber, counted, void, lost, b); s.found != nil {
					found++
				}
			}
		}
	}
	t.Logf("%d states; a term that is believed by its number is found in %d cases", total, found)
	if total < 1000 || found == 0 {
		t.Error("the bounds are wrong")
	}
}

// searches are the bounds within which every schedule is tried.
var searches = []struct {
	name    string
	compare bool
	b, soak bounds
}{
	{
		"a takeover", true,
		bounds{commands: 3, campaigns: 1, rounds: 1, reorder: true, inFlight: 3},
		bounds{commands: 3, campaigns: 1, timeouts: 1, rounds: 2, reorder: true, inFlight: 3},
	},
	{
		"a takeover, messages and answers are lost", true,
		bounds{commands: 2, campaigns: 1, timeouts: 1, drops: 1, rounds: 1, reorder: true, inFlight: 2},
		bounds{commands: 2, campaigns: 1, timeouts: 2, drops: 1, rounds: 2, reorder: true, inFlight: 2},
	},
	{
		"two takeovers", true,
		bounds{commands: 2, campaigns: 2, timeouts: 1, rounds: 1, reorder: true, inFlight: 2},
		bounds{commands: 2, campaigns: 2, timeouts: 2, rounds: 2, reorder: true, inFlight: 2},
	},
	{
		"late copies, old ends of the log", true,
		bounds{commands: 2, campaigns: 1, copies: 1, stale: 1, rounds: 1, reorder: true, inFlight: 2},
		bounds{commands: 2, campaigns: 1, timeouts: 1, copies: 1, stale: 1, rounds: 2, reorder: true, inFlight: 2},
	},
	{
		"a log that compares no numbers", false,
		bounds{commands: 2, campaigns: 1, copies: 1, rounds: 1, reorder: true, inFlight: 2},
		bounds{commands: 2, campaigns: 1, timeouts: 1, copies: 1, rounds: 2, reorder: true, inFlight: 2},
	},
}

// TestEverySmallScheduleKeepsTheInvariants tries every schedule within bounds: every order of arrivals and answers,
// with takeovers at every moment.
func TestEverySmallScheduleKeepsTheInvariants(t *testing.T) {
	total := 0
	for _, c := range searches {
		b := c.b
		if os.Getenv("TICKHIVE_SOAK") == "1" {
			b = c.soak
		}
		s := explore(c.compare, sound, b, 1<<22)
		if s.found != nil {
			t.Fatalf("%s: %s: %s\n%v", c.name, s.found.failed, s.found.detail, s.path)
		}
		if len(s.seen) < 1000 || len(s.seen) == s.limit {
			t.Errorf("%s: %d states: the bounds are wrong", c.name, len(s.seen))
		}
		total += len(s.seen)
		t.Logf("%s: %d states", c.name, len(s.seen))
	}
	t.Logf("%d states", total)
}

// Each planted bug breaks an invariant within small bounds. The last two differ in the log: the rule of validity is
// needed against copies without any takeover, and against a takeover although the log compares numbers, loses nothing,
// repeats nothing and keeps the order of each node.
func TestTheSearchFindsPlantedBugs(t *testing.T) {
	for _, c := range []struct {
		name    string
		bug     planted
		compare bool
		b       bounds
		want    failure
	}{
		{
			"acknowledgements of any number", anyAck, true,
			bounds{commands: 2, campaigns: 1, rounds: 1, reorder: true, inFlight: 2},
			lost,
		},
		{
			"commands without an answer are refused", denyUnknown, true,
			bounds{commands: 1, timeouts: 1, rounds: 1, inFlight: 1},
			refused,
		},
		{
			"a takeover does not read to its term", blindTerm, false,
			bounds{commands: 2, campaigns: 1, inFlight: 2},
			lost,
		},
		{
			"no rule of validity, copies", believeAll, false,
			bounds{commands: 1, copies: 1, inFlight: 1},
			twice,
		},
		{
			"no rule of validity, the expected number is believed", believeAll, true,
			bounds{commands: 2, campaigns: 1, rounds: 1, inFlight: 2},
			refused,
		},
	} {
		s := explore(c.compare, c.bug, c.b, 1<<20)
		if s.found == nil || s.found.failed != c.want {
			t.Errorf("%s: %d states, found %v", c.name, len(s.seen), s.found)
			continue
		}
		t.Logf("%s: %q after %d states: %v", c.name, s.found.failed, len(s.seen), s.path)
		if s := explore(c.compare, sound, c.b, 1<<20); s.found != nil {
			t.Errorf("%s: without the bug: %s: %s", c.name, s.found.failed, s.found.detail)
		}
	}
}
