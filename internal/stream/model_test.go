package stream

import (
	"errors"
	"fmt"
	"slices"
)

// planted is a bug that a run of the model has, to show that the model finds it.
type planted uint8

const (
	sound        planted = iota
	anyAck               // the writer takes an acknowledgement for all messages up to its own, whatever its number
	believeAll           // every reader executes every message: no rule of validity
	denyUnknown          // the writer reports a command as not executed when its answer does not arrive
	blindTerm            // a candidate is the writer once its term is acknowledged, without reading up to it
	termByNumber         // the same, if the number is the one that it expects
)

// failure names a broken invariant.
type failure string

const (
	lost      failure = "an acknowledged command is not in the log"
	twice     failure = "a command is executed twice"
	refused   failure = "a command that was refused is executed"
	disagree  failure = "a node knows another state than a reader"
	falling   failure = "a term does not rise, or a position has a gap"
	unsettled failure = "the log is quiet and commands stay open"
	broken    failure = "a reader stops"
)

// command is a record of the model: which node added it, and a number that is never used again.
type command struct{ id int }

func (c command) bytes() []byte { return fmt.Appendf(nil, "%d", c.id) }

// execution is a command that a reader has executed.
type execution struct {
	at   uint64
	text string
}

// follower is a reader and what it has executed.
type follower struct {
	Reader
	executed []execution
}

// read reads the next message, with the planted bug.
func (f *follower) read(seq uint64, data []byte, bug planted) (Message, bool, error) {
	force(&f.at, data, bug)
	m, ok, err := f.Next(seq, data)
	if ok {
		for at, r := range m.All() {
			f.executed = append(f.executed, execution{at, string(r)})
		}
	}
	return m, ok, err
}

// force changes the state so that the rule of validity accepts what a reader with the bug accepts.
func force(s *State, data []byte, bug planted) {
	m, err := Decode(data, testKeys)
	if err != nil {
		return
	}
	switch bug {
	case believeAll:
		s.Prev, s.SentNs = m.Prev, m.SentNs
		switch m.Kind {
		case Records, Beat:
			s.Term, s.Node, s.End = m.Term, m.Node, m.At
		case Term:
			s.Term, s.End, s.Key = m.Term-1, m.At, m.key
		case Base:
			s.History = [16]byte{}
		}
	case sound, anyAck, denyUnknown, blindTerm, termByNumber:
	}
}

// flight is a publication on its way to the log, or an answer on its way back (seq or 0: refused).
type flight struct {
	node   int
	life   int // of the node: answers to a former one are dropped
	p      Publication
	seq    uint64
	copies int // that the adversary has made
}

// node is a process: a writer or a candidate, or neither.
type node struct {
	w        *Writer
	life     int
	added    []command // of this life, in the order of their positions in its log
	start    uint64    // position before them
	reported int       // so many were acknowledged
}

// cluster is a log, its nodes, and what is on the way between them. An adversary chooses the next action.
type cluster struct {
	bug     planted
	compare bool // the log compares the expected number
	lossy   bool // the log has lost messages: a node may have read others than a reader finds
	log     [][]byte
	truth   follower // has read the whole log
	states  []State  // truth after each message
	nodes   []node
	out     []flight // publications
	back    []flight // answers
	ids     int
	lives   int
	acked   []command
	denied  map[int]bool // ids that were reported as not executed
	failed  failure
	detail  string
}

func newCluster(nodes int, compare bool, bug planted) *cluster {
	return &cluster{
		bug: bug, compare: compare, nodes: make([]node, nodes), states: []State{{}},
		truth: follower{Reader: *NewReader(State{}, 1, testKeys)}, denied: map[int]bool{},
	}
}

func (c *cluster) fail(f failure, format string, args ...any) {
	if c.failed == "" {
		c.failed, c.detail = f, fmt.Sprintf(format, args...)
	}
}

// campaign makes a node a candidate that has read the log up to seq.
func (c *cluster) campaign(n int, seq uint64, inFlight int) {
	c.campaignBehind(n, c.states[seq], inFlight)
}

// campaignBehind makes a node a candidate behind a state.
func (c *cluster) campaignBehind(n int, at State, inFlight int) {
	c.lives++
	w, err := Campaign(&Candidate{
		At: at, Node: uint64(c.lives), Rules: 1, Keys: testKeys, Found: Founding{History: [16]byte{byte(c.lives)}},
		Limits: Limits{InFlight: inFlight, Queue: 1 << 20},
	}, 0)
	if err != nil {
		panic(err)
	}
	c.nodes[n] = node{w: w, life: c.lives, start: at.End.Seq}
}

// add adds a command at a writer.
func (c *cluster) add(n int) {
	c.ids++
	nd := &c.nodes[n]
	cmd := command{c.ids}
	if len(nd.added) == 0 {
		nd.start = nd.w.Last()
	}
	if _, err := nd.w.Add(0, cmd.bytes()); err != nil {
		panic(err)
	}
	nd.added = append(slices.Clip(nd.added), cmd)
}

// publish takes the next message of a writer.
func (c *cluster) publish(n int) bool {
	p, ok := c.nodes[n].w.Publish(0)
	if ok {
		c.out = append(c.out, flight{node: n, life: c.nodes[n].life, p: p})
	}
	return ok
}

// deliver gives a publication to the log. keep leaves a copy on the way.
func (c *cluster) deliver(i int, keep bool) {
	f := c.out[i]
	if keep {
		c.out = slices.Clone(c.out)
		c.out[i].copies++
	} else {
		c.out = slices.Delete(slices.Clone(c.out), i, i+1)
	}
	if !c.compare || f.p.Expect == uint64(len(c.log)) {
		c.append(f.p.Data)
		f.seq = uint64(len(c.log))
	}
	c.back = append(slices.Clip(c.back), f)
}

// append appends a message to the log, and the reader of the whole log reads it.
func (c *cluster) append(data []byte) {
	c.log = append(slices.Clip(c.log), data)
	before, n := c.truth.State(), len(c.truth.executed)
	c.truth.executed = slices.Clip(c.truth.executed)
	m, ok, err := c.truth.read(uint64(len(c.log)), data, c.bug)
	if err != nil {
		c.fail(broken, "%v", err)
		return
	}
	c.states = append(slices.Clip(c.states), c.truth.State())
	if ok && m.Kind == Term && m.Term != before.Term+1 && c.bug == sound {
		c.fail(falling, "term %d after %d", m.Term, before.Term)
	}
	for i := n; i < len(c.truth.executed); i++ {
		e := c.truth.executed[i]
		for _, o := range c.truth.executed[:i] {
			if o.text == e.text {
				c.fail(twice, "command %s at %d and %d", e.text, o.at, e.at)
			}
		}
		if c.denied[idOf(e.text)] {
			c.fail(refused, "command %s at %d", e.text, e.at)
		}
		if c.bug == sound && i > 0 && e.at != c.truth.executed[i-1].at+1 {
			c.fail(falling, "position %d after %d", e.at, c.truth.executed[i-1].at)
		}
	}
}

func idOf(text string) (id int) {
	_, _ = fmt.Sscan(text, &id)
	return id
}

// drop removes a publication or an answer.
func drop(list *[]flight, i int) { *list = slices.Delete(slices.Clone(*list), i, i+1) }

// answer passes an answer on to its writer.
func (c *cluster) answer(i int) {
	f := c.back[i]
	drop(&c.back, i)
	nd := &c.nodes[f.node]
	if nd.w == nil || nd.life != f.life {
		return
	}
	switch {
	case f.seq == 0:
		nd.w.Failed(f.p.Number)
	case nd.w.State().History == [16]byte{}: // its base message is open
		nd.w.Acked(f.p.Number, f.seq)
	case c.bug == anyAck, c.bug == blindTerm && nd.w.Status() == Campaigning,
		c.bug == termByNumber && nd.w.Status() == Campaigning && f.seq == nd.w.State().Seq+1:
		believe(nd.w, f.p.Number, f.seq)
	default:
		nd.w.Acked(f.p.Number, f.seq)
	}
	c.settle(f.node)
}

// believe takes an acknowledgement for all messages up to its own, whatever its number in the log.
func believe(w *Writer, number, seq uint64) {
	for w.flight(number) != nil {
		w.read.at.Seq = seq - 1
		w.confirm()
	}
}

// timeout reports a publication of a writer as not answered.
func (c *cluster) timeout(n int, number uint64) {
	c.nodes[n].w.Failed(number)
	if c.bug == denyUnknown {
		c.deny(n)
	}
	c.settle(n)
}

// resolve takes one step of a writer's doubt. stale answers that the log ends where the writer is.
func (c *cluster) resolve(n int, stale bool) {
	w := c.nodes[n].w
	seq, ok := w.Wants()
	if !ok {
		return
	}
	if !w.proven {
		if err := c.prove(w, seq); err != nil {
			if c.lossy && (errors.Is(err, ErrReplaced) || errors.Is(err, ErrShrunk)) {
				c.nodes[n] = node{} // it ends
			} else {
				c.fail(broken, "%v", err)
			}
			return
		}
		seq, _ = w.Wants()
	}
	end := uint64(len(c.log))
	if stale {
		end = min(end, seq-1)
	}
	if seq > end {
		if err := w.End(end); err != nil {
			c.fail(disagree, "%v", err)
		}
		return
	}
	force(&w.read.at, c.log[seq-1], c.bug)
	if err := w.Read(seq, c.log[seq-1]); err != nil {
		c.fail(broken, "%v", err)
	}
	c.settle(n)
}

// prove lets a writer read the last valid message that it knows.
func (c *cluster) prove(w *Writer, seq uint64) error {
	if seq > uint64(len(c.log)) {
		return w.End(uint64(len(c.log)))
	}
	return w.Read(seq, c.log[seq-1])
}

// settle acknowledges what a writer has confirmed, and denies the rest when it is fenced.
func (c *cluster) settle(n int) {
	nd := &c.nodes[n]
	s := nd.w.State()
	for nd.reported < len(nd.added) && nd.start+uint64(nd.reported) < s.End.Seq {
		cmd := nd.added[nd.reported]
		pos := nd.start + uint64(nd.reported) + 1
		nd.reported++
		c.acked = append(slices.Clip(c.acked), cmd)
		want := execution{pos, string(cmd.bytes())}
		if !slices.Contains(c.truth.executed, want) {
			c.fail(lost, "command %d, position %d", cmd.id, pos)
		}
		if c.denied[cmd.id] {
			c.fail(refused, "command %d, position %d", cmd.id, pos)
		}
	}
	if nd.w.Status() == Fenced {
		c.deny(n)
	}
	if c.bug == sound && (!c.lossy || nd.w.Status() == Leading) && s != c.states[s.Seq] {
		c.fail(disagree, "node %d: %+v, a reader: %+v", n, s, c.states[s.Seq])
	}
}

// deny reports the open commands of a node as not executed.
func (c *cluster) deny(n int) {
	nd := &c.nodes[n]
	denied := map[int]bool{}
	for id := range c.denied {
		denied[id] = true
	}
	for _, cmd := range nd.added[nd.reported:] {
		denied[cmd.id] = true
		if slices.ContainsFunc(c.truth.executed, func(e execution) bool { return e.text == string(cmd.bytes()) }) {
			c.fail(refused, "command %d", cmd.id)
		}
	}
	c.denied = denied
}
