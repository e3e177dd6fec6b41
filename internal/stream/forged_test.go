package stream

import (
	"testing"
)

// forged returns a message of the writer's own name behind its last one, as a process makes it that has the keys.
func forged(t *testing.T, w *Writer, record string) []byte {
	t.Helper()
	twin := *w
	add(t, &twin, record)
	p, ok := twin.Publish(0)
	if !ok {
		t.Fatal("nothing to publish")
	}
	return p.Data
}

// Who meets a message that it has not sent: one that does not verify, a repetition and one of a former term are passed
// over, and the writer goes on. One that counts in the writer's own name ends its sending, but nobody has taken its
// place. A term record that counts is another writer.
func TestAWriterMeetsMessagesThatItHasNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		strange func(w *Writer, l *log) []byte
		want    Status
	}{
		"nothing":      {func(*Writer, *log) []byte { return nil }, Leading},
		"text":         {func(*Writer, *log) []byte { return []byte("hello") }, Leading},
		"a repetition": {func(_ *Writer, l *log) []byte { return (*l)[1] }, Leading},
		"a late record of a former place": {func(w *Writer, l *log) []byte {
			data := forged(t, w, "late")
			send(w, l)
			add(t, w, "between")
			send(w, l)
			return data
		}, Leading},
		"a forged record": {func(w *Writer, _ *log) []byte { return forged(t, w, "a deposit") }, Forged},
		"a term record": {func(w *Writer, _ *log) []byte {
			p, _ := campaign(t, w.State(), 9).Publish(0)
			return p.Data
		}, Fenced},
	} {
		w, l := leader(t)
		add(t, w, "a")
		send(w, l)
		*l = append(*l, c.strange(w, l)) // the log accepts everything
		before := w.State()
		add(t, w, "b")
		send(w, l) // refused: the number is taken
		resolve(t, w, *l)
		if w.Status() != c.want {
			t.Errorf("%s: status %d, want %d", name, w.Status(), c.want)
			continue
		}
		send(w, l)
		if _, err := w.Add(0, []byte("c")); (err == nil) != (c.want == Leading) {
			t.Errorf("%s: the writer takes a further record: %v", name, err)
		}
		send(w, l)
		switch _, records := valid(t, *l); {
		case c.want == Leading &&
			(w.Unconfirmed() != 0 || records[len(records)-2] != "b" || records[len(records)-1] != "c"):
			t.Errorf("%s: %d open, records %v", name, w.Unconfirmed(), records)
		case c.want != Leading && w.State() != before:
			t.Errorf("%s: the state is %+v, not the one before the message %+v", name, w.State(), before)
		}
	}
}

// A writer that goes on for days behind messages that do not verify counts no strays over them.
func TestAWriterOutlastsManyMessagesOfNobody(t *testing.T) {
	w, l := leader(t)
	for range 10 * maxStrays {
		add(t, w, "a")
		p, _ := w.Publish(0)
		*l = append(*l, []byte("hello"), p.Data, p.Data) // counts, and its repetition does not
		w.Failed(p.Number)
		resolve(t, w, *l)
		send(w, l)
	}
	if w.Status() != Leading || w.Unconfirmed() != 0 || w.State().End.Seq != 10*maxStrays {
		t.Errorf("status %d, %d open, %+v", w.Status(), w.Unconfirmed(), w.State())
	}
	valid(t, *l)
}
