package stream

import (
	"errors"
	"testing"

	"github.com/tickhive/tickhive/internal/wal"
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
		At: at, Node: node, Rules: 1, Keys: testKeys, Info: []byte{byte(node)}, Found: Founding{History: [16]byte{7}},
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

// lead lets a candidate become the writer.
func lead(t *testing.T, w *Writer, l *log) {
	t.Helper()
	for range 3 { // its base message, its term record
		send(w, l)
		resolve(t, w, *l)
	}
	if w.Status() != Leading {
		t.Fatalf("status %d, %d messages", w.Status(), len(*l))
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
	r := NewReader(State{}, 1, testKeys)
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
	end := wal.Position{Seq: 9, Chain: 900}
	base := State{Seq: 1, Prev: 11, History: history, Rules: 2, SentNs: 50, Key: testKeys.first(), End: end}
	led := base
	led.Term, led.Node = 3, 42
	message := func(kind Kind, term, node uint64, change ...func(*Message)) Message {
		m := Message{Kind: kind, Rules: 2, Term: term, Node: node, SentNs: 50, Prev: 11, History: history, At: end}
		m.key = testKeys.first()
		for _, c := range change {
			c(&m)
		}
		return m
	}
	second := func(m *Message) { m.key = testKeys.ring[1].id }
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
		"term of another end":     {led, message(Term, 4, 1, func(m *Message) { m.At.Seq = 10 }), false},
		"term of another chain":   {led, message(Term, 4, 1, func(m *Message) { m.At.Chain = 901 }), false},
		"term of another key":     {led, message(Term, 4, 1, second), false},
		"beat of another end":     {led, message(Beat, 3, 42, func(m *Message) { m.At.Seq = 8 }), false},
		"beat of another chain":   {led, message(Beat, 3, 42, func(m *Message) { m.At.Chain = 901 }), false},
		"beat of another key":     {led, message(Beat, 3, 42, second), true},
		"beat before any term":    {base, message(Beat, 1, 42), false},
		"beat":                    {led, message(Beat, 3, 42), true},
		"beat of another node":    {led, message(Beat, 3, 43), false},
		"beat of an older term":   {led, message(Beat, 2, 42), false},
		"beat of a later term":    {led, message(Beat, 4, 42), false},
		"beat of another past":    {led, message(Beat, 3, 42, func(m *Message) { m.Prev = 12 }), false},
	} {
		data := encode(&c.m, testKeys)
		r := NewReader(c.at, 9, testKeys)
		_, got, err := r.Next(c.at.Seq+1, data)
		if err != nil || got != c.want {
			t.Errorf("%s: valid %v, %v; want %v", name, got, err, c.want)
		}
		want := c.at
		if want.Seq++; got {
			want.Valid, want.Prev, want.Rules, want.SentNs, want.Key = want.Seq, sumOf(data), c.m.Rules, c.m.SentNs,
				c.m.key
			switch c.m.Kind {
			case Base:
				want.History, want.End = history, end
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

// Records count only directly behind the last position, with the chain up to there, and the state has the chain behind
// them.
func TestRecordsContinueTheChain(t *testing.T) {
	end := wal.Begins([16]byte{7}, "engine")
	for range 9 {
		end = end.Next([]byte("x"))
	}
	at := State{Prev: 1, History: [16]byte{7}, Term: 1, Node: 1, Rules: 1, Key: testKeys.first(), End: end}
	behind := end.Next([]byte("r")).Next([]byte("s"))
	for name, c := range map[string]struct{ at, want wal.Position }{
		"directly behind": {end, behind},
		"from the first":  {wal.Begins([16]byte{7}, "engine"), end},
		"again":           {wal.Position{Seq: 8, Chain: end.Chain}, end},
		"a gap":           {wal.Position{Seq: 10, Chain: end.Chain}, end},
		"another chain":   {wal.Position{Seq: 9, Chain: end.Chain + 1}, end},
	} {
		var b builder
		b.add([]byte("r"), 0)
		b.add([]byte("s"), 0)
		m := Message{Kind: Records, Rules: 1, Term: 1, Node: 1, Prev: 1, At: c.at, key: testKeys.first()}
		r := NewReader(at, 1, testKeys)
		_, _, err := r.Next(1, b.take(&m, testKeys))
		if now := r.State().End; err != nil || now != c.want {
			t.Errorf("%s: end %+v, %v; want %+v", name, now, err, c.want)
		}
	}
}

func TestAReaderStopsAtWhatItCannotJudge(t *testing.T) {
	_, l := leader(t)
	r := NewReader(State{}, 1, testKeys)
	if _, _, err := r.Next(2, (*l)[1]); !errors.Is(err, ErrGap) {
		t.Errorf("a gap: %v", err)
	}
	old := NewReader(State{}, 0, testKeys)
	if _, _, err := old.Next(1, (*l)[0]); !errors.Is(err, ErrRules) {
		t.Errorf("later rules: %v", err)
	}
	for _, stopped := range []*Reader{r, old} {
		if stopped.State() != (State{}) {
			t.Errorf("the reader went on: %+v", stopped.State())
		}
	}
	if _, ok, err := r.Next(1, (*l)[0]); !ok || err != nil {
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
		r = NewReader(State{}, 1, testKeys)
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
	flipped[headBytes] ^= 1
	foreign := append([]byte(nil), (*l)[at]...)
	other := NewKeys(secret(9))
	other.sign(foreign, other.first())
	for name, c := range map[string]struct {
		odd []byte
		why error
	}{
		"nothing":        {nil, ErrDamaged},
		"text":           {[]byte("hello"), ErrDamaged},
		"a flipped bit":  {flipped, ErrDamaged},
		"large":          {make([]byte, MaxMessage+1), ErrDamaged},
		"another key":    {foreign, ErrKey},
		"earlier format": {append([]byte("THM1"), foreign[4:]...), ErrVersion},
	} {
		odd := c.odd
		nobodys := append(append(append(log{}, (*l)[:at]...), odd, odd), (*l)[at:]...)
		r, counted, err := read(nobodys[:at+2])
		if err != nil || counted != at || !errors.Is(r.Unsure(), c.why) {
			t.Errorf("%s at the end: %d count, %v, unsure %v", name, counted, err, r.Unsure())
		}
		r, counted, err = read(nobodys)
		if err != nil || counted != len(*l) || r.Unsure() != nil || r.State().End.Seq != w.State().End.Seq {
			t.Errorf("%s of nobody: %d count, %v, unsure %v", name, counted, err, r.Unsure())
		}
		damaged := append(log{}, *l...)
		damaged[at] = odd
		r, counted, err = read(damaged)
		if !errors.Is(err, c.why) || counted != at || !errors.Is(r.Unsure(), c.why) ||
			r.State().Seq != at+1+maxStrays {
			t.Errorf("%s in the place of a message: %d count, at %d, %v", name, counted, r.State().Seq, err)
		}
	}
}

// A message of the cluster in a later format stops the reader, since nobody else can have written it.
func TestALaterFormatStopsAReader(t *testing.T) {
	var l log
	send(campaign(t, State{}, 1), &l)
	later := append([]byte(nil), l[0]...)
	later[5]++
	testKeys.sign(later, testKeys.first())
	r := NewReader(State{}, 1, testKeys)
	if _, _, err := r.Next(1, later); !errors.Is(err, ErrVersion) || r.State() != (State{}) {
		t.Errorf("%v, %+v", err, r.State())
	}
}

// A term record is signed with the key of the term before, what follows with the first key of the ring: a writer that
// lacks the new key sees that it is deposed, and no reader counts what it sends then.
func TestAWriterThatLacksTheNewKeyIsFenced(t *testing.T) {
	before, both := NewKeys(secret(1)), NewKeys(secret(2), secret(1))
	var l log
	first := candidate(State{}, 1)
	first.Keys = before
	old, err := Campaign(first, 0)
	if err != nil {
		t.Fatal(err)
	}
	lead(t, old, &l)
	add(t, old, "a")
	send(old, &l)
	c := candidate(old.State(), 2)
	c.Keys = both
	next, err := Campaign(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	lead(t, next, &l)
	add(t, next, "b")
	send(next, &l)
	if m, err := Decode(l[4], both); err != nil || m.key != both.first() || next.State().Key != both.first() {
		t.Errorf("a record of the new writer: key %08x, %v", m.key, err)
	}
	add(t, old, "late")
	send(old, &l)
	resolve(t, old, l)
	if old.Status() != Fenced || old.State().End.Seq != 1 {
		t.Errorf("the old writer: status %d, %+v", old.Status(), old.State())
	}
	r := NewReader(State{}, 1, before)
	for i, data := range l {
		if _, _, err := r.Next(uint64(i+1), data); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Unsure(); !errors.Is(err, ErrKey) || r.State().Term != 2 {
		t.Errorf("a reader without the new key: term %d, %v", r.State().Term, err)
	}
	c = candidate(next.State(), 3)
	c.Keys = before
	if _, err := Campaign(c, 0); !errors.Is(err, ErrKey) {
		t.Errorf("a candidate without the key of the writer: %v", err)
	}
	c.Keys = NewKeys(secret(2)) // the former key is retired
	last, err := Campaign(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	lead(t, last, &l)
}

// JetStream accepts an old writer's messages behind the term record of the new one: the expected number is a count
// and not an identity.
func TestExpectedNumberDoesNotFence(t *testing.T) {
	old, l := leader(t)
	add(t, old, "m0")
	send(old, l)
	at := old.State()

	var late []Publication // in flight while another node takes over
	for _, r := range []string{"m1", "m2", "m3"} {
		add(t, old, r)
		p, _ := old.Publish(0)
		late = append(late, p)
	}
	next := campaign(t, at, 2)
	lead(t, next, l)
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
	resolve(t, old, *l)
	if old.Status() != Fenced || old.State().End.Seq != 1 {
		t.Errorf("old writer: status %d, %d records confirmed", old.Status(), old.State().End.Seq)
	}
	add(t, next, "n1") // the new writer sends with a number that a void message has taken
	send(next, l)
	resolve(t, next, *l)
	send(next, l)
	if next.Status() != Leading || next.State().End.Seq != 2 {
		t.Errorf("new writer: status %d, %d records confirmed", next.Status(), next.State().End.Seq)
	}
	verdicts, records := valid(t, *l)
	if len(records) != 2 || records[0] != "m0" || records[1] != "n1" {
		t.Errorf("records %v, verdicts %v", records, verdicts)
	}
}
