package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"tickhive/internal/cmdline"
	"tickhive/internal/node"
	"tickhive/internal/seal"
	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
	"tickhive/internal/stream/jet/jettest"
	"tickhive/internal/wal"
)

// large is the body of a snapshot.
func large(seed string) string { return strings.Repeat("machine "+seed, 60_000) }

// snapshot returns the bytes of a snapshot behind a message.
func snapshot(t *testing.T, at stream.State, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	h := node.Head{Version: "v", At: at, Writer: []byte(`{"address":"h:1"}`), Genesis: node.Genesis{Epoch: "e1"}}
	h.Chain = 1<<64 - 1
	err := node.WriteSnapshot(&out, &h, func(w io.Writer) error {
		for len(text) > 0 { // in pieces, as encoders write
			n := min(len(text), 100_000)
			if _, err := io.WriteString(w, text[:n]); err != nil {
				return err
			}
			text = text[n:]
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read reads a snapshot whole.
func read(data []byte) (s *node.Snapshot, text string, err error) {
	if s, err = node.ReadSnapshot(io.NopCloser(bytes.NewReader(data))); err != nil {
		return nil, "", err
	}
	err = s.Body(func(body io.Reader) error {
		all, err := io.ReadAll(body)
		text = string(all)
		return err
	})
	return s, text, err
}

// What is written is read again, and no byte of it can be missing or different without an error.
func TestSnapshotsAreWhole(t *testing.T) {
	at := stream.State{Seq: 7, Prev: 1<<64 - 2, Term: 3, Node: 1<<64 - 1, SentNs: 5, Pos: 2}
	at.History[15] = 9
	body := large("a")
	s, got, err := read(snapshot(t, at, body))
	if err != nil || s.At != at || s.End() != (wal.Position{Seq: 2, Chain: 1<<64 - 1}) ||
		string(s.Writer) != `{"address":"h:1"}` || s.Genesis.Epoch != "e1" {
		t.Fatalf("%v, %+v", err, s)
	}
	if got != body {
		t.Errorf("the body has %d bytes, %d were written", len(got), len(body))
	}

	small := snapshot(t, at, "m")
	for n := range small {
		bad := bytes.Clone(small)
		bad[n] ^= 1
		if _, _, err := read(bad); !errors.Is(err, node.ErrSnapshot) {
			t.Errorf("byte %d changed: %v", n, err)
		}
		if _, _, err := read(small[:n]); !errors.Is(err, node.ErrSnapshot) {
			t.Errorf("cut behind byte %d: %v", n, err)
		}
	}
	if _, _, err := read(append(small, 0)); !errors.Is(err, node.ErrSnapshot) {
		t.Errorf("a byte behind the end: %v", err)
	}
}

// A snapshot of an earlier or a later format is refused by name.
func TestSnapshotsOfOtherFormatsAreRefused(t *testing.T) {
	small := snapshot(t, stream.State{Seq: 1, Pos: 10_000}, "m")
	for _, format := range []string{"3", "5"} { // a position had another type in format 3
		other := bytes.Replace(small, []byte(`"format":4`), []byte(`"format":`+format), 1)
		other = bytes.Replace(other, []byte(`"Pos":10000`), []byte(`"Pos":[0,0]`), 1)
		_, _, err := read(other)
		if !errors.Is(err, node.ErrSnapshot) ||
			!strings.Contains(err.Error(), "format "+format+", and this program reads 4") {
			t.Errorf("format %s: %v", format, err)
		}
	}
}

// archived is a log with valid messages, and an archive.
type archived struct {
	t       *testing.T
	log     jet.Log
	archive jet.Archive
	states  []stream.State // behind each message
}

func newArchived(t *testing.T) *archived {
	t.Helper()
	log := jettest.NewMem().Connect()
	a := &archived{t: t, log: log, archive: log.Archive(), states: make([]stream.State, 1)}
	held, err := node.Campaign(t.Context(), log, &stream.Candidate{
		Node: 5, Rules: node.Rules, Info: []byte("{}"),
		Found:  stream.Founding{History: [16]byte{1}, Info: []byte(`{"epoch":"e1"}`)},
		Limits: stream.Limits{InFlight: 1, Queue: stream.MaxMessage},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wait := time.NewTicker(10 * time.Millisecond)
	defer wait.Stop()
	for last := uint64(0); last < 6; { // base, term and beats
		<-wait.C
		if last, err = log.Last(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	held.End()
	r := stream.NewReader(stream.State{}, node.Rules)
	for seq := uint64(1); seq <= 6; seq++ {
		data, err := log.Read(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if _, valid, err := r.Next(seq, data); err != nil || !valid {
			t.Fatalf("message %d: %t, %v", seq, valid, err)
		}
		a.states = append(a.states, r.State())
	}
	return a
}

// put archives a snapshot behind a message.
func (a *archived) put(seq uint64, change func(at *stream.State, data []byte) []byte) {
	a.t.Helper()
	at := a.states[seq]
	change(&at, nil)
	data := change(&at, snapshot(a.t, at, large(fmt.Sprint(seq))))
	if err := a.archive.Put(a.t.Context(), seq, bytes.NewReader(data), 10); err != nil {
		a.t.Fatal(err)
	}
}

// The newest snapshot that is whole and that the stream continues is chosen. Without one, a stream that has its first
// message is read from there, and another one is an error that says why each was refused.
func TestTheNewestUsableSnapshotIsChosen(t *testing.T) {
	a, ctx := newArchived(t), t.Context()
	newest := func(until uint64) string {
		t.Helper()
		s, err := node.Newest(ctx, a.log, until)
		if err != nil {
			return err.Error()
		}
		if s == nil {
			return "none"
		}
		defer s.Close()
		return fmt.Sprint(s.At.Seq)
	}
	same := func(_ *stream.State, data []byte) []byte { return data }
	if got := newest(100); got != "none" {
		t.Errorf("an empty archive: %s", got)
	}
	a.put(2, same)
	a.put(3, same)
	a.put(4, func(_ *stream.State, data []byte) []byte { // cut
		return data[:len(data)/4]
	})
	a.put(5, same)
	a.put(5, func(_ *stream.State, data []byte) []byte { // damaged in the body
		if data != nil {
			data[len(data)-100] ^= 1
		}
		return data
	})
	if got := newest(5); got != "3" {
		t.Errorf("with damage near the end: %s is chosen, want 3", got)
	}
	a.put(5, func(at *stream.State, data []byte) []byte { // of a stream that has lost its end since
		at.Prev++
		return data
	})
	a.put(6, func(at *stream.State, data []byte) []byte { // under a wrong name
		*at = a.states[5]
		return data
	})
	for until, want := range map[uint64]string{100: "3", 3: "3", 2: "2", 1: "none"} {
		if got := newest(until); got != want {
			t.Errorf("up to %d: %s is chosen, want %s", until, got, want)
		}
	}
	if s, err := node.Oldest(ctx, a.log); s != nil || err != nil {
		t.Errorf("the stream has its first message, and the oldest snapshot is %v, %v", s, err)
	}
	if at, g, err := node.ReadStream(ctx, a.log); err != nil || at.Term != 1 || at.Seq < 6 || g.Epoch != "e1" {
		t.Errorf("ReadStream: %+v, %+v, %v", at, g, err)
	}
	if err := a.log.Trim(ctx, 1); err != nil {
		t.Fatal(err)
	}
	s, err := node.Oldest(ctx, a.log)
	if err != nil || s.At.Seq != 2 {
		t.Errorf("the oldest snapshot: %v, %v", s, err)
	}
	if g, err := node.ReadGenesis(ctx, a.log); err != nil || g.Epoch != "e1" {
		t.Errorf("the genesis of a trimmed stream: %+v, %v", g, err)
	}
	if err := a.log.Trim(ctx, 3); err != nil {
		t.Fatal(err)
	}
	got := newest(100)
	for _, part := range []string{"no archived snapshot can be used", "its last message, number 5", "snapshot 4: "} {
		if !strings.Contains(got, part) {
			t.Errorf("without a usable snapshot: %q lacks %q", got, part)
		}
	}
}

// An Archivist archives when the newest snapshot is old enough, and trims what two snapshots reflect.
func TestAnArchivistTrimsBehindTwoSnapshots(t *testing.T) {
	a := newArchived(t)
	seqs := []uint64{2, 0, 2, 4, 6}
	done, checked := make(chan uint64), make(chan struct{})
	arch := node.Archivist{
		Log: a.log, Every: time.Nanosecond, Trim: true,
		Take: func(w io.Writer) (uint64, error) {
			seq := seqs[0]
			if len(seqs) > 1 {
				seqs = seqs[1:]
			}
			_, err := w.Write(snapshot(t, a.states[seq], large("x")))
			return seq, err
		},
		Report: func(seq uint64, bytes int64, err error) {
			if err != nil || bytes == 0 {
				t.Errorf("%d bytes of %d: %v", bytes, seq, err)
			}
			done <- seq
			<-checked // nothing more is trimmed until then
		},
	}
	go arch.Run(t.Context())
	for _, want := range []struct{ seq, first uint64 }{{2, 1}, {4, 2}, {6, 4}} {
		if seq := <-done; seq != want.seq {
			t.Errorf("snapshot %d is archived, want %d", seq, want.seq)
		}
		for seq := uint64(1); seq <= 6; seq++ {
			_, err := a.log.Read(t.Context(), seq)
			if gone := errors.Is(err, jet.ErrTrimmed); gone != (seq < want.first) {
				t.Errorf("behind snapshot %d, message %d: %v", want.seq, seq, err)
			}
		}
		checked <- struct{}{}
	}
	all, err := a.archive.List(t.Context())
	if err != nil || len(all) != 2 || all[0].Seq != 6 || all[1].Seq != 4 {
		t.Errorf("the archive has %v, %v", all, err)
	}
}

// A survey behind a snapshot of the last message ends, although no message follows.
func TestASurveyBehindTheLastMessageEnds(t *testing.T) {
	a := newArchived(t)
	a.put(6, func(_ *stream.State, data []byte) []byte { return data })
	if err := a.log.Trim(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var s node.Survey
	began := uint64(0)
	err := s.Read(ctx, a.log, node.Oldest, func(int64, int64) {}, func(from *node.Snapshot) error {
		began = from.At.Seq
		return nil
	}, func(m *stream.Message) error { return fmt.Errorf("a message of kind %d", m.Kind) })
	if err != nil || began != 6 || s.From != 7 || s.Messages != 6 || s.Term != 1 {
		t.Errorf("%v, begun behind %d: %+v", err, began, s)
	}
}

// A record that no configured key opens is not damage: its error says which key to put back.
func TestAMissingKeyIsNoDamage(t *testing.T) {
	a := newArchived(t)
	none := func(context.Context, jet.Log) (*node.Snapshot, error) { return nil, nil }
	missing, other := &seal.MissingKeyError{ID: "1", Have: new(seal.Key)}, errors.New("other")
	for err, code := range map[error]bool{missing: false, other: true} {
		var s node.Survey
		got := s.Read(t.Context(), a.log, none, func(int64, int64) {}, nil, func(*stream.Message) error { return err })
		for _, got := range []error{got, node.Explain(err)} {
			if is := errors.As(got, new(cmdline.DamageError)); is != code || !errors.Is(got, err) {
				t.Errorf("%v: %v, damage %t", err, got, is)
			}
		}
	}
}
