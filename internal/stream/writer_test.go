package stream

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// leader returns a writer that leads, and its log.
func leader(t *testing.T) (*Writer, *log) {
	t.Helper()
	var l log
	w := campaign(t, State{}, 1)
	if _, err := w.Add(0, []byte("early")); !errors.Is(err, ErrNotLeading) {
		t.Fatalf("add before the term record counts: %v", err)
	}
	lead(t, w, &l)
	return w, &l
}

// What arrives while enough is in flight shares the next message.
func TestRecordsShareAMessageWhileOthersAreInFlight(t *testing.T) {
	w, l := leader(t)
	w.limits.InFlight = 2
	var flights []Publication
	for i, r := range []string{"a", "b", "c", "d", "e"} {
		add(t, w, r)
		if p, ok := w.Publish(0); ok {
			flights = append(flights, p)
		} else if i < 2 {
			t.Fatal("nothing to publish")
		}
	}
	for _, p := range flights {
		w.Acked(p.Number, l.append(p.Expect, p.Data))
	}
	send(w, l)
	if len(flights) != 2 || len(*l) != 5 || w.State().End.Seq != 5 || w.Unconfirmed() != 0 {
		t.Errorf("%d at once, %d messages, %d confirmed, %d open",
			len(flights), len(*l), w.State().End.Seq, w.Unconfirmed())
	}
	r := NewReader(State{}, 1, testKeys)
	for i, data := range *l {
		if _, ok, err := r.Next(uint64(i+1), data); !ok || err != nil {
			t.Fatalf("message %d: %v, %v", i+1, ok, err)
		}
	}
	if r.State() != w.State() {
		t.Errorf("reader %+v, writer %+v", r.State(), w.State())
	}
}

func TestAcknowledgementsInAnyOrderAreTakenInOrder(t *testing.T) {
	w, l := leader(t)
	var flights []Publication
	for _, r := range []string{"a", "b", "c"} {
		add(t, w, r)
		p, _ := w.Publish(0)
		flights = append(flights, p)
	}
	for _, p := range flights {
		l.append(p.Expect, p.Data)
	}
	for i, want := range []uint64{0, 0, 3} {
		w.Acked(flights[2-i].Number, uint64(5-i))
		if got := w.State().End.Seq; got != want {
			t.Errorf("after the acknowledgement of message %d: %d confirmed, want %d", 2-i, got, want)
		}
	}
}

// Each way in which an acknowledgement may be missing or wrong ends with the records in the log once.
func TestADoubtReadsTheLog(t *testing.T) {
	for name, answer := range map[string]func(w *Writer, l *log, p Publication){
		"lost on the way there": func(w *Writer, _ *log, p Publication) { w.Failed(p.Number) },
		"lost on the way back": func(w *Writer, l *log, p Publication) {
			l.append(p.Expect, p.Data)
			w.Failed(p.Number)
		},
		"another number": func(w *Writer, l *log, p Publication) {
			w.Acked(p.Number, l.append(p.Expect, p.Data)+1)
		},
		"number 0": func(w *Writer, l *log, p Publication) { w.Acked(p.Number, 0) },
		"stored twice": func(w *Writer, l *log, p Publication) {
			*l = append(*l, p.Data, p.Data)
			w.Acked(p.Number, uint64(len(*l)))
		},
		"behind a void one": func(w *Writer, l *log, p Publication) {
			*l = append(*l, (*l)[0], p.Data)
			w.Acked(p.Number, uint64(len(*l)))
		},
	} {
		w, l := leader(t)
		add(t, w, "a")
		p, _ := w.Publish(0)
		answer(w, l, p)
		if w.State().End.Seq != 0 {
			t.Errorf("%s: confirmed without reading", name)
		}
		if _, ok := w.Wants(); !ok {
			t.Errorf("%s: no doubt", name)
		}
		if _, ok := w.Publish(0); ok {
			t.Errorf("%s: publishes in doubt", name)
		}
		w.Acked(p.Number, uint64(len(*l))) // late
		resolve(t, w, *l)
		send(w, l)
		add(t, w, "b")
		send(w, l)
		if _, records := valid(t, *l); len(records) != 2 || records[0] != "a" || records[1] != "b" {
			t.Errorf("%s: records %v", name, records)
		}
		if w.State().End.Seq != 2 || w.Unconfirmed() != 0 {
			t.Errorf("%s: %d confirmed, %d open", name, w.State().End.Seq, w.Unconfirmed())
		}
	}
}

// A candidate that gets no answer finds its term record by reading.
func TestACampaignWithoutAnAnswer(t *testing.T) {
	_, l := leader(t)
	r := NewReader(State{}, 1, testKeys)
	for i, data := range *l {
		if _, _, err := r.Next(uint64(i+1), data); err != nil {
			t.Fatal(err)
		}
	}
	w := campaign(t, r.State(), 2)
	p, _ := w.Publish(0)
	w.Failed(p.Number)
	resolve(t, w, *l) // it is not there yet
	if w.Status() != Campaigning {
		t.Fatalf("status %d", w.Status())
	}
	l.append(p.Expect, p.Data) // late
	send(w, l)                 // refused: the number is taken
	resolve(t, w, *l)
	if w.Status() != Leading || w.State().Term != 2 {
		t.Errorf("status %d, term %d", w.Status(), w.State().Term)
	}
}

// A candidate that loses continues as a reader before the message that it lost against.
func TestALostCampaignReadsOn(t *testing.T) {
	old, l := leader(t)
	w := campaign(t, old.State(), 2)
	add(t, old, "a")
	send(old, l)
	send(w, l)
	resolve(t, w, *l)
	if w.Status() != Fenced {
		t.Fatalf("status %d", w.Status())
	}
	r := NewReader(w.State(), 1, testKeys)
	m, ok, err := r.Next(3, (*l)[2])
	if err != nil || !ok || r.State() != old.State() {
		t.Fatalf("%v, %v, %+v", ok, err, r.State())
	}
	for at, record := range m.All() {
		if at != 1 || string(record) != "a" {
			t.Errorf("record %v %q", at, record)
		}
	}
	if _, ok := w.Wants(); ok {
		t.Error("wants to read on")
	}
	if _, ok := w.Publish(0); ok {
		t.Error("publishes")
	}
}

// A term record of rules that the program does not know fences it, too.
func TestALaterProgramFences(t *testing.T) {
	old, l := leader(t)
	c := candidate(old.State(), 2)
	c.Rules = 2
	next, err := Campaign(c, 0)
	if err != nil {
		t.Fatal(err)
	}
	send(next, l)
	add(t, old, "a")
	send(old, l)
	resolve(t, old, *l)
	if old.Status() != Fenced {
		t.Errorf("status %d", old.Status())
	}
	r := NewReader(old.State(), 1, testKeys)
	if _, _, err := r.Next(3, (*l)[2]); !errors.Is(err, ErrRules) {
		t.Errorf("reading on: %v", err)
	}
}

func TestALogThatEndsTooEarlyIsReported(t *testing.T) {
	w, l := leader(t)
	add(t, w, "a")
	p, _ := w.Publish(0)
	w.Failed(p.Number)
	if err := w.End(1); !errors.Is(err, ErrShrunk) {
		t.Errorf("got %v", err)
	}
	if _, ok := w.Wants(); !ok {
		t.Error("the doubt has ended")
	}
	if err := w.End(uint64(len(*l))); err != nil {
		t.Error(err)
	}
}

// A log that was lost and begun again, and has grown since, takes the messages of a former writer, and no reader counts
// them. The writer notices it in the doubt in which the first refusal puts it.
func TestALogThatWasBegunAgainIsReported(t *testing.T) {
	w, _ := leader(t)
	_, again := leader(t)
	second := campaign(t, State{}, 2)
	*again = nil
	lead(t, second, again)
	for range 3 {
		add(t, second, "other")
		send(second, again)
	}
	before := w.State()
	add(t, w, "a")
	send(w, again)
	seq, ok := w.Wants()
	if !ok || seq != before.Valid {
		t.Fatalf("wants message %d, %v", seq, ok)
	}
	if err := w.Read(seq, (*again)[seq-1]); !errors.Is(err, ErrReplaced) {
		t.Errorf("got %v", err)
	}
	if _, ok := w.Publish(0); ok || w.State() != before || w.Unconfirmed() != 1 {
		t.Errorf("the writer goes on: %+v", w.State())
	}
}

// stateOf returns the state behind a log.
func stateOf(t *testing.T, l log) State {
	t.Helper()
	r := NewReader(State{}, 1, testKeys)
	for i, data := range l {
		if _, _, err := r.Next(uint64(i+1), data); err != nil {
			t.Fatal(err)
		}
	}
	return r.State()
}

// read reads the log as a writer in doubt asks, and returns its first error.
func read(w *Writer, l log) error {
	for {
		seq, ok := w.Wants()
		switch {
		case !ok:
			return nil
		case seq > uint64(len(l)):
			if err := w.End(uint64(len(l))); err != nil {
				return err
			}
		default:
			if err := w.Read(seq, l[seq-1]); err != nil {
				return err
			}
		}
	}
}

// The log has lost messages that it had confirmed, and the term record of a candidate that had not read them took
// their place. The number of the acknowledgement does not tell it to a candidate that had: it reads again, from the
// last message that counted for it.
func TestACampaignBehindMessagesThatWereReplaced(t *testing.T) {
	for name, c := range map[string]struct {
		last   func(w *Writer, l *log) // adds message 4, which is lost
		lost   bool
		status Status
		err    error
	}{
		"nothing was lost": {func(w *Writer, l *log) { send(w, l) }, false, Leading, nil},
		"one that counted": {func(w *Writer, l *log) { send(w, l) }, true, Campaigning, ErrReplaced},
		"one that did not": {func(_ *Writer, l *log) { *l = append(*l, (*l)[0]) }, true, Fenced, nil},
	} {
		first, l := leader(t)
		add(t, first, "a")
		send(first, l)
		before := stateOf(t, *l)
		add(t, first, "b")
		c.last(first, l)
		behind := campaign(t, stateOf(t, *l), 3)
		var other *Writer
		if c.lost {
			*l = (*l)[:3]
			other = campaign(t, before, 2)
			send(other, l)
		}
		send(behind, l) // at the expected number
		err := read(behind, *l)
		if len(*l) != 5 || behind.Status() != c.status || !errors.Is(err, c.err) {
			t.Errorf("%s: %d messages, status %d, %v", name, len(*l), behind.Status(), err)
		}
		if _, err := behind.Add(0, []byte("c")); (err == nil) != (c.status == Leading) {
			t.Errorf("%s: the candidate takes a record: %v", name, err)
		}
		if other == nil {
			continue
		}
		if err := read(other, *l); err != nil || other.Status() != Leading {
			t.Errorf("%s: the other candidate: status %d, %v", name, other.Status(), err)
		}
	}
}

// The same under a writer that goes on, and has no reason to doubt: it believes its next acknowledgement. It notices
// the other writer as soon as it has to read, and acknowledges nothing more.
func TestAWriterWhoseMessagesWereReplaced(t *testing.T) {
	w, l := leader(t)
	before := stateOf(t, *l)
	add(t, w, "a")
	send(w, l)
	*l = (*l)[:2]
	other := campaign(t, before, 2)
	lead(t, other, l)
	add(t, w, "b")
	send(w, l)
	add(t, other, "c")
	send(other, l)
	resolve(t, other, *l)
	send(other, l)
	add(t, w, "d")
	send(w, l) // refused
	confirmed := w.State().End.Seq
	for range 2 { // it asks again, since a server may be behind
		if err := read(w, *l); !errors.Is(err, ErrReplaced) {
			t.Errorf("a message of the other writer: %v", err)
		}
	}
	if _, ok := w.Publish(0); ok || w.State().End.Seq != confirmed || w.Unconfirmed() != 1 {
		t.Errorf("the writer goes on: %+v", w.State())
	}
	add(t, other, "e")
	send(other, l)
	if _, records := valid(t, *l); other.Status() != Leading || !slices.Equal(records, []string{"c", "e"}) {
		t.Errorf("the other writer: status %d, records %v", other.Status(), records)
	}
}

func TestBoundsOfTheQueue(t *testing.T) {
	w, l := leader(t)
	large := bytes.Repeat([]byte("x"), MaxRecord)
	for _, r := range [][]byte{nil, append(large, 'x')} {
		if _, err := w.Add(0, []byte("a"), r); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d bytes: %v", len(r), err)
		}
	}
	if last := w.Last(); last != 0 {
		t.Errorf("a refused call added %d records", last)
	}
	if pos, err := w.Add(0, large); err != nil || pos != 1 {
		t.Fatal(pos, err)
	}
	if pos, err := w.Add(0, []byte("small")); err != nil || pos != 2 {
		t.Fatal(pos, err)
	}
	if _, err := w.Add(0, large); !errors.Is(err, ErrBusy) {
		t.Errorf("beyond the queue: %v", err)
	}
	send(w, l)
	if _, err := w.Add(0, large); err != nil {
		t.Errorf("after the queue is empty: %v", err)
	}
	send(w, l)
	for _, data := range *l {
		if len(data) > MaxMessage {
			t.Errorf("a message of %d bytes", len(data))
		}
	}
	if _, records := valid(t, *l); len(records) != 3 || w.bytes != 0 {
		t.Errorf("%d records, %d bytes open", len(records), w.bytes)
	}
}

func TestABeatOnlyWhenNothingElseIsOpen(t *testing.T) {
	w, l := leader(t)
	w.Beat(10)
	w.Beat(11)
	send(w, l)
	add(t, w, "a")
	w.Beat(12)
	send(w, l)
	if len(*l) != 4 {
		t.Fatalf("%d messages", len(*l))
	}
	m, err := Decode((*l)[2], testKeys)
	if err != nil || m.Kind != Beat || m.SentNs != 10 || m.DigestPos != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

// A digest is in the message that has its position, and in those that begin there.
func TestAMessageCarriesTheDigestOfItsPosition(t *testing.T) {
	w, l := leader(t)
	digest := func(pos uint64) [4]uint64 { return [4]uint64{pos, 1, 2, 3} }
	note := func(pos uint64) { w.NoteDigest(pos, digest(pos)) }
	check := func(name string, at, last, want uint64) {
		t.Helper()
		send(w, l)
		m, err := Decode((*l)[len(*l)-1], testKeys)
		if err != nil || m.At.Seq != at || m.Last() != last || m.DigestPos != want {
			t.Errorf("%s: behind %d to %d, digest of %d, want %d (%v)", name, m.At.Seq, m.Last(), m.DigestPos, want,
				err)
		}
		if want != 0 && m.Digest != digest(want) {
			t.Errorf("%s: digest %v", name, m.Digest)
		}
	}
	add(t, w, "a", "b", "c")
	note(1)
	note(2)
	check("the newest within the message", 0, 3, 2)
	add(t, w, "d")
	check("none of this message", 3, 4, 0)
	note(4)
	for range 2 {
		w.Beat(1)
		check("each beat at the position", 4, 4, 4)
	}
	add(t, w, "e")
	check("the message that begins there", 4, 5, 4)
	add(t, w, "f")
	note(5)
	check("the message begins there", 5, 6, 5)
	note(9)
	add(t, w, "g")
	check("a position that is not sent yet", 6, 7, 0)
	add(t, w, "h", "i")
	check("a position that was ahead", 7, 9, 9)
	note(3)
	w.Beat(2)
	check("a position that is gone", 9, 9, 0)
}

// The records of one call of Add are in one message if they fit into one.
func TestAMessageEndsWithACall(t *testing.T) {
	w, l := leader(t)
	w.limits.Queue = 8 * MaxMessage
	third := bytes.Repeat([]byte("x"), MaxMessage/3-30)
	for range 2 {
		if _, err := w.Add(0, third, []byte("a")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Add(0, []byte("b"), third, []byte("c")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Add(0, third, third, third, third); err != nil { // more than a message
		t.Fatal(err)
	}
	send(w, l)
	var ends []uint64
	for _, data := range (*l)[2:] {
		m, err := Decode(data, testKeys)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, m.Last())
	}
	if want := []uint64{4, 7, 9, 11}; !slices.Equal(ends, want) {
		t.Errorf("messages end at %d, want %d", ends, want)
	}
	valid(t, *l)
}

// A new writer's time continues at the last message's, if its own clock is behind.
func TestTimeNeverFalls(t *testing.T) {
	w, l := leader(t)
	w.Beat(1_000)
	send(w, l)
	lead(t, campaign(t, w.State(), 2), l)
	if verdicts, _ := valid(t, *l); !verdicts[3] {
		t.Errorf("verdicts %v", verdicts)
	}
}

func TestCandidatesOutOfRange(t *testing.T) {
	for name, change := range map[string]func(*Candidate){
		"no node":         func(c *Candidate) { c.Node = 0 },
		"old rules":       func(c *Candidate) { c.At.Rules = 2 },
		"long info":       func(c *Candidate) { c.Info = make([]byte, MaxInfo+1) },
		"long genesis":    func(c *Candidate) { c.Found.Info = make([]byte, MaxInfo+1) },
		"nothing flies":   func(c *Candidate) { c.Limits.InFlight = 0 },
		"queue too small": func(c *Candidate) { c.Limits.Queue = MaxMessage - 1 },
		"no history":      func(c *Candidate) { c.Found.History = [16]byte{} },
		"start":           func(c *Candidate) { c.Found.End.Seq = MaxPosition },
		"no keys":         func(c *Candidate) { c.Keys = nil },
		"no key of the writer before": func(c *Candidate) {
			c.At = State{History: [16]byte{7}, Term: 1, Node: 2, Key: 1}
		},
	} {
		c := candidate(State{}, 1)
		change(c)
		if _, err := Campaign(c, 0); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
