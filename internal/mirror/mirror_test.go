package mirror

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/datadir"
	"tickhive/internal/node"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
	"tickhive/internal/stream/jet/jettest"
	"tickhive/internal/vfs"
	"tickhive/internal/wal"
)

// lateLog delivers messages of a process that was killed before the first publication of the present one.
type lateLog struct {
	jet.Log
	t    *testing.T
	late [][]byte
}

func (l *lateLog) Publish(number, expect uint64, data []byte) error {
	for _, late := range l.late {
		other := l.Log
		last, err := other.Last(l.t.Context())
		if err == nil {
			err = other.Publish(1<<40, last, late)
		}
		if err != nil {
			l.t.Error(err)
		}
		<-other.Answers()
		expect = last // as it was before
	}
	l.late = nil
	return l.Log.Publish(number, expect, data)
}

// quiet returns an exchange without records.
func quiet(t *testing.T) *Source {
	t.Helper()
	path := t.TempDir()
	dir, err := datadir.Open(datadir.Options{Path: path, FS: vfs.OS{}, StartNs: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(true); err != nil {
			t.Error(err)
		}
	})
	s := &Source{
		Dir: dir, Look: func(bool) (Look, error) { return Look{}, nil },
		MakeDurable: func() error { return nil }, NowNs: clock.MachineNs, Failed: func(error) {},
		Confirmed: func(uint64) {}, Ended: func() {},
	}
	if s.Log, err = wal.Open(vfs.OS{}, filepath.Join(path, "engine"), wal.Options{NoLock: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Log.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// termOf returns a term record behind a state.
func termOf(t *testing.T, at stream.State, number uint64) []byte {
	t.Helper()
	w, err := stream.Campaign(node.Candidate(at, number, nil, stream.Founding{}), at.SentNs)
	if err != nil {
		t.Fatal(err)
	}
	p, ok := w.Publish(at.SentNs)
	if !ok {
		t.Fatal("no term record")
	}
	return p.Data
}

// The term record of a process that was killed may arrive after the next one has read the stream: the directory is the
// same, so it leads behind that term, now and at later starts. That of another node fences it.
func TestALateTermOfTheSameDirectoryIsNoOtherWriter(t *testing.T) {
	s, mem := quiet(t), jettest.NewMem()
	first, err := Begin(t.Context(), mem.Connect(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	end := func() stream.State {
		at, _, err := node.ReadStream(t.Context(), mem.Connect())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	at := end()
	if err := datadir.KeepTerm(s.Dir, at.Node, 77); err != nil { // as the killed process did
		t.Fatal(err)
	}
	log := &lateLog{Log: mem.Connect(), t: t, late: [][]byte{termOf(t, at, 77)}}
	second, err := Begin(t.Context(), log, s)
	if err != nil {
		t.Fatalf("behind its own late term: %v", err)
	}
	if err := second.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := end(); got.Term != at.Term+2 {
		t.Errorf("term %d behind %d", got.Term, at.Term)
	}
	at = end()
	log = &lateLog{Log: mem.Connect(), t: t, late: [][]byte{termOf(t, at, 78)}}
	if third, err := Begin(t.Context(), log, s); err == nil {
		t.Error("the term of another node does not fence it")
		_ = third.Drain(t.Context())
	}
}

// A cut is the state of the stream behind exactly the records that it names. One that the stream does not confirm ends
// with its caller, and the mirror goes on.
func TestACutIsAStateOfTheStream(t *testing.T) {
	s, mem := quiet(t), jettest.NewMem()
	s.DurableAll = true
	m, err := Begin(t.Context(), mem.Connect(), s)
	if err != nil {
		t.Fatal(err)
	}
	add := func() (uint64, error) { // a record of the state, and one behind it
		at, err := s.Log.Append([][]byte{[]byte("record"), []byte("later")})
		return at - 1, err
	}
	for i := range uint64(3) {
		at, err := m.Cut(t.Context(), add)
		if err != nil || at.Pos != 2*i+1 {
			t.Fatalf("%+v, %v", at, err)
		}
		data, err := mem.Connect().Read(t.Context(), at.Seq)
		if err != nil || !at.EndsWith(data) {
			t.Errorf("message %d is another one: %v", at.Seq, err)
		}
	}
	failed := errors.New("failed")
	fails := func() (uint64, error) { return 0, failed }
	if _, err := m.Cut(t.Context(), fails); !errors.Is(err, failed) {
		t.Error(err)
	}
	mem.SetDown(true)
	brief, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, failed)
	defer cancel()
	if _, err := m.Cut(brief, add); !errors.Is(err, failed) {
		t.Errorf("without a stream: %v", err)
	}
	mem.SetDown(false)
	if at, err := m.Cut(t.Context(), add); err != nil || at.Pos != 9 {
		t.Errorf("%+v, %v", at, err)
	}
	if err := m.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Cut(t.Context(), add); err == nil {
		t.Error("a mirror that has ended makes a cut")
	}
}
