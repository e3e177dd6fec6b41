package stream

import (
	"errors"
	"testing"
)

// log is a totally ordered log. It compares the expected number, as JetStream does.
type log [][]byte

// append appends a message if the log ends at expect, and returns its number, 0 if it is refused.
func (l *log) append(expect uint64, data []byte) uint64 {
	if expect != uint64(len(*l)) {
		return 0
	}
	*l = append(*l, data)
	return uint64(len(*l))
}

// candidate returns a candidate behind at.
func candidate(at State, node uint64) *Candidate {
	return &Candidate{
		At: at, Node: node, Rules: 1, Info: []byte{byte(node)}, Found: Founding{History: [16]byte{7}},
		Limits: Limits{InFlight: 8, Queue: 1 << 20},
	}
}

func campaign(t *testing.T, at State, node uint64) *Writer {
	t.Helper()
	w, err := Campaign(candidate(at, node), 0)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// send publishes all that the writer has, and passes on the answers.
func send(w *Writer, l *log) {
	for {
		p, ok := w.Publish(0)
		if !ok {
			return
		}
		if seq := l.append(p.Expect, p.Data); seq != 0 {
			w.Acked(p.Number, seq)
		} else {
			w.Failed(p.Number)
		}
	}
}

// resolve reads the log as the writer asks.
func resolve(t *testing.T, w *Writer, l log) {
	t.Helper()
	for {
		seq, ok := w.Wants()
		if !ok {
			return
		}
		if seq > uint64(len(l)) {
			if err := w.End(uint64(len(l))); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := w.Read(seq, l[seq-1]); err != nil {
			t.Fatal(err)
		}
	}
}

func add(t *testing.T, w *Writer, records ...string) {
	t.Helper()
	for _, r := range records {
		if _, err := w.Add(0, []byte(r)); err != nil {
			t.Fatal(err)
		}
	}
}

// valid returns the verdict on each message, and the records that count.
func valid(t *testing.T, l log) (verdicts []bool, records []string) {
	t.Helper()
	r := NewReader(State{}, 1)
	for i, data := range l {
		m, ok, err := r.Next(uint64(i+1), data)
		if err != nil {
			t.Fatal(err)
		}
		verdicts = append(verdicts, ok)
		if ok {
			for _, r := range m.All() {
				records = append(records, string(r))
			}
		}
	}
	return verdicts, records
}

func TestRuleOfValidity(t *testing.T) {
	history := [16]byte{7}
	base := State{Seq: 1, Prev: 11, History: history, Rules: 2, SentNs: 50}
	led := base
	led.Term, led.Node, led.Pos = 3, 42, 9
	message := func(kind Kind, term, node uint64, change ...func(*Message)) Message {
		m := Message{Kind: kind, Rules: 2, Term: term, Node: node, SentNs: 50, Prev: 11, History: history}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	for name, c := range map[string]struct {
		at   State
		m    Message
		want bool
	}{
		"first base":              {State{}, message(Base, 0, 1, func(m *Message) { m.Prev = 0 }), true},
		"second base":             {base, message(Base, 0, 1), false},
		"term without a base":     {State{}, message(Term, 1, 1, func(m *Message) { m.Prev = 0 }), false},
		"first term":              {base, message(Term, 1, 1), true},
		"term after the first":    {base, message(Term, 2, 1), false},
		"next term":               {led, message(Term, 4, 1), true},
		"same term":               {led, message(Term, 3, 1), false},
		"term too far":            {led, message(Term, 5, 1), false},
		"term of another past":    {led, message(Term, 4, 1, func(m *Message) { m.Prev = 12 }), false},
		"term of older rules":     {led, message(Term, 4, 1, func(m *Message) { m.Rules = 1 }), false},
		"term of later rules":     {led, message(Term, 4, 1, func(m *Message) { m.Rules = 3 }), true},
		"term of an earlier time": {led, message(Term, 4, 1, func(m *Message) { m.SentNs = 49 }), false},
		"beat before any term":    {base, message(Beat, 1, 42), false},
		"beat":                    {led, message(Beat, 3, 42), true},
		"beat of another node":    {led, message(Beat, 3, 43), false},
		"beat of an older term":   {led, message(Beat, 2, 42), false},
		"beat of a later term":    {led, message(Beat, 4, 42), false},
		"beat of another past":    {led, message(Beat, 3, 42, func(m *Message) { m.Prev = 12 }), false},
	} {
		data := encode(&c.m)
		r := NewReader(c.at, 9)
		_, got, err := r.Next(c.at.Seq+1, data)
		if err != nil || got != c.want {
			t.Errorf("%s: valid %v, %v; want %v", name, got, err, c.want)
		}
		want := c.at
		if want.Seq++; got {
			want.Prev, want.Rules, want.SentNs = sumOf(data), c.m.Rules, c.m.SentNs
			switch c.m.Kind {
			case Base:
				want.History = history
			case Term:
				want.Term, want.Node = c.m.Term, c.m.Node
			case Records, Beat:
			}
		}
		if r.State() != want {
			t.Errorf("%s: state %+v, want %+v", name, r.State(), want)
		}
	}
}

// Records count only directly behind the last position.
func TestRecordsBeginBehindTheLastPosition(t *testing.T) {
	at := State{Prev: 1, History: [16]byte{7}, Term: 1, Node: 1, Rules: 1, Pos: 9}
	for first, want := range map[uint64]uint64{1: 9, 9: 9, 10: 12, 11: 9} {
		var b builder
		for i := range uint64(3) {
			b.add(first+i, []byte("r"), 0)
		}
		r := NewReader(at, 1)
		_, _, err := r.Next(1, b.take(&Message{Kind: Records, Rules: 1, Term: 1, Node: 1, Prev: 1}))
		if now := r.State().Pos; err != nil || now != want {
			t.Errorf("from %d: position %d, %v; want %d", first, now, err, want)
		}
	}
}

func TestAReaderStopsAtWhatItCannotJudge(t *testing.T) {
	var l log
	send(campaign(t, State{}, 1), &l)
	r := NewReader(State{}, 1)
	if _, _, err := r.Next(2, l[1]); !errors.Is(err, ErrGap) {
		t.Errorf("a gap: %v", err)
	}
	old := NewReader(State{}, 0)
	if _, _, err := old.Next(1, l[0]); !errors.Is(err, ErrRules) {
		t.Errorf("later rules: %v", err)
	}
	for _, stopped := range []*Reader{r, old} {
		if stopped.State() != (State{}) {
			t.Errorf("the reader went on: %+v", stopped.State())
		}
	}
	if _, ok, err := r.Next(1, l[0]); !ok || err != nil {
		t.Errorf("the message itself: %v, %v", ok, err)
	}
}

// What does not verify does not count. While nothing that counts follows, it may be a message of the writer that was
// damaged in the log: nobody may campaign, and the writer's further messages, which do not continue what the reader
// has, stop it at a bound. A message of nobody is passed over: the writer continues what counts.
func TestAMessageThatDoesNotVerify(t *testing.T) {
	w, l := leader(t)
	for range 2 * maxStrays {
		add(t, w, "a")
		send(w, l)
	}
	read := func(l log) (r *Reader, counted int, err error) {
		r = NewReader(State{}, 1)
		for i, data := range l {
			_, ok, err := r.Next(uint64(i+1), data)
			if err != nil {
				return r, counted, err
			}
			if ok {
				counted++
			}
		}
		return r, counted, nil
	}
	const at = 10
	flipped := append([]byte(nil), (*l)[at]...)
	flipped[70] ^= 1
	for name, odd := range map[string][]byte{
		"nothing": {}, "text": []byte("hello"), "a flipped bit": flipped, "large": make([]byte, MaxMessage+1),
	} {
		nobodys := append(append(append(log{}, (*l)[:at]...), odd, odd), (*l)[at:]...)
		r, counted, err := read(nobodys[:at+2])
		if err != nil || counted != at || !errors.Is(r.Unsure(), ErrDamaged) {
			t.Errorf("%s at the end: %d count, %v, unsure %v", name, counted, err, r.Unsure())
		}
		r, counted, err = read(nobodys)
		if err != nil || counted != len(*l) || r.Unsure() != nil || r.State().Pos != w.State().Pos {
			t.Errorf("%s of nobody: %d count, %v, unsure %v", name, counted, err, r.Unsure())
		}
		damaged := append(log{}, *l...)
		damaged[at] = odd
		r, counted, err = read(damaged)
		if !errors.Is(err, ErrDamaged) || counted != at || !errors.Is(r.Unsure(), ErrDamaged) ||
			r.State().Seq != at+1+maxStrays {
			t.Errorf("%s in the place of a message: %d count, at %d, %v", name, counted, r.State().Seq, err)
		}
	}
}

// JetStream accepts an old writer's messages behind the term record of the new one: the expected number is a count
// and not an identity.
func TestExpectedNumberDoesNotFence(t *testing.T) {
	var l log
	old := campaign(t, State{}, 1)
	send(old, &l)
	add(t, old, "m0")
	send(old, &l)
	at := old.State()

	var late []Publication // in flight while another node takes over
	for _, r := range []string{"m1", "m2", "m3"} {
		add(t, old, r)
		p, _ := old.Publish(0)
		late = append(late, p)
	}
	next := campaign(t, at, 2)
	send(next, &l)
	if next.Status() != Leading {
		t.Fatal("the new writer does not lead")
	}
	accepted := make([]uint64, 0, len(late))
	for _, p := range late {
		accepted = append(accepted, l.append(p.Expect, p.Data))
	}
	if accepted[0] != 0 || accepted[1] == 0 || accepted[2] == 0 {
		t.Fatalf("the log accepted %v; the case needs m1 refused, m2 and m3 accepted", accepted)
	}
	for i := len(late) - 1; i >= 0; i-- { // their acknowledgements arrive first
		if accepted[i] != 0 {
			old.Acked(late[i].Number, accepted[i])
		} else {
			old.Failed(late[i].Number)
		}
	}
	resolve(t, old, l)
	if old.Status() != Fenced || old.State().Pos != 1 {
		t.Errorf("old writer: status %d, %d records confirmed", old.Status(), old.State().Pos)
	}
	add(t, next, "n1") // the new writer sends with a number that a void message has taken
	send(next, &l)
	resolve(t, next, l)
	send(next, &l)
	if next.Status() != Leading || next.State().Pos != 2 {
		t.Errorf("new writer: status %d, %d records confirmed", next.Status(), next.State().Pos)
	}
	verdicts, records := valid(t, l)
	if len(records) != 2 || records[0] != "m0" || records[1] != "n1" {
		t.Errorf("records %v, verdicts %v", records, verdicts)
	}
}
