package node_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/node"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/stream/jet/jettest"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
)

// driver steps components in turns, on a clock of its own.
type driver struct {
	t     *testing.T
	clock *clock.Manual
	parts []step.Stepper
}

func newDriver(t *testing.T) *driver { return &driver{t: t, clock: clock.NewManual(1)} }

// Drive implements step.Driver.
func (d *driver) Drive(_ string, s step.Stepper) { d.parts = append(d.parts, s) }

// turn steps every component once, and moves the clock to the next work when none has any.
func (d *driver) turn() {
	next, worked := step.Never, false
	parts := d.parts
	d.parts = nil
	var left []step.Stepper
	for _, s := range parts {
		p := s.Step()
		if !p.Stopped {
			left = append(left, s)
			next, worked = min(next, max(p.NextNs, d.clock.NowNs())), worked || p.Worked
		}
	}
	d.parts = append(left, d.parts...)
	if !worked && next != step.Never {
		d.clock.Set(next)
	}
}

// Wait implements step.Driver.
func (d *driver) Wait(c <-chan struct{}) {
	for range 1_000_000 {
		select {
		case <-c:
			return
		default:
			d.turn()
		}
	}
	d.t.Fatal("nothing ends the wait")
}

// bench is a log with a sender, driven.
type bench struct {
	*driver
	mem    *jettest.Mem
	log    *wal.Log
	term   *node.Term
	sender *node.Sender
	loop   node.Look
	heard  []uint64 // confirmed positions
	ended  int
	failed error
}

func history() (id wal.ID) { return wal.ID{1} }

func testKeys() *stream.Keys { return stream.NewKeys(make([]byte, 32)) }

func newBench(t *testing.T, synced bool) *bench {
	t.Helper()
	b := &bench{driver: newDriver(t), mem: jettest.NewMem()}
	var err error
	b.log, err = wal.Open(vfstest.NewMem(), "log", wal.Options{
		NoLock: true, Name: "engine", Identity: wal.Identity{History: history(), Directory: wal.ID{2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := node.Machine{Clock: b.clock, Driver: b}
	c := m.Candidate(stream.State{}, 7, nil, testKeys())
	c.Found = stream.Founding{History: history(), End: wal.Begins(history(), "engine")}
	if b.term, err = node.Campaign(t.Context(), m, b.mem.Connect(), c); err != nil {
		t.Fatal(err)
	}
	b.sender, err = node.NewSender(node.SenderOptions{
		Machine: m, Log: b.log, Term: b.term, Synced: synced,
		Look:      func() (node.Look, error) { return b.loop, nil },
		Confirmed: func(at stream.State) { b.heard = append(b.heard, at.End.Seq) },
		Ended:     func() { b.ended++ }, Failed: func(err error) { b.failed = err },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// write writes n records in one write of the log, and the loop is behind them.
func (b *bench) write(n int) {
	b.t.Helper()
	var all [][]byte
	for i := range n {
		all = append(all, fmt.Appendf(nil, "record %d of %d", i, n))
	}
	last, err := b.log.Append(all)
	if err != nil {
		b.t.Fatal(err)
	}
	b.loop = node.Look{Pos: last, SealedNs: b.clock.NowNs(), Digest: [4]uint64{last, 1, 2, 3}}
}

// settle waits until the stream has everything.
func (b *bench) settle() {
	b.t.Helper()
	if err := b.sender.Settle(b.t.Context(), b.log.LastSeq(), time.Second); err != nil {
		b.t.Fatal(err)
	}
}

// messages returns the messages of the stream that count.
func (b *bench) messages() (all []stream.Message) {
	b.t.Helper()
	log := b.mem.Connect()
	last, err := log.Last(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	r := stream.NewReader(stream.State{}, node.Rules, testKeys())
	for seq := uint64(1); seq <= last; seq++ {
		data, err := log.Read(b.t.Context(), seq)
		if err != nil {
			b.t.Fatal(err)
		}
		m, valid, err := r.Next(seq, data)
		if err != nil || !valid {
			b.t.Fatal(seq, valid, err)
		}
		all = append(all, m)
	}
	if at := r.State(); at.End != b.log.Position() {
		b.t.Errorf("the stream ends at %+v, the log at %+v", at.End, b.log.Position())
	}
	return all
}

// The records of the stream are those of the log, at their positions, and a message ends where a write ends.
func TestASenderSendsWholeWrites(t *testing.T) {
	b := newBench(t, false)
	ends := map[uint64]bool{0: true}
	for n := range 40 {
		b.write(1 + n%7)
		ends[b.log.LastSeq()] = true
		if n%3 == 0 {
			b.settle()
		}
	}
	b.settle()
	for _, m := range b.messages() {
		if !ends[m.At.Seq] {
			t.Errorf("a message begins behind record %d, in the middle of a write", m.At.Seq)
		}
	}
	if err := b.sender.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.failed != nil || b.ended != 1 {
		t.Errorf("a drain in order: %v, ended %d times", b.failed, b.ended)
	}
}

// A message that has the position of a look has its digest, and beats have it while nothing comes.
func TestASenderNotesDigests(t *testing.T) {
	b := newBench(t, false)
	for range 20 {
		b.write(3)
		b.settle()
		for range 200 { // time for looks and beats
			b.turn()
		}
	}
	digests, beats := 0, 0
	for _, m := range b.messages() {
		if m.DigestPos == 0 {
			continue
		}
		digests++
		if m.Kind == stream.Beat {
			beats++
		}
		if m.Digest != [4]uint64{m.DigestPos, 1, 2, 3} {
			t.Errorf("the digest of record %d is %v", m.DigestPos, m.Digest)
		}
	}
	if digests < 20 || beats == 0 {
		t.Errorf("%d digests, %d in beats", digests, beats)
	}
}

// With ack = local a record is sent behind its sync.
func TestASenderWaitsForTheSync(t *testing.T) {
	b := newBench(t, true)
	b.write(5)
	if err := b.sender.Settle(t.Context(), 5, time.Second); err == nil {
		t.Error("records are in the stream that the disk may lose")
	}
	if err := b.log.Sync(); err != nil {
		t.Fatal(err)
	}
	b.settle()
	b.messages()
}

// The log keeps what the stream has not confirmed, and the states of the stream are known for snapshots.
func TestASenderKnowsWhatTheStreamHas(t *testing.T) {
	b := newBench(t, false)
	for range 10 {
		b.write(2)
		b.settle()
	}
	for _, pos := range []uint64{0, 2, 7, 20, 99} {
		at := b.sender.Before(pos)
		if at.End.Seq > pos || at.History != history() {
			t.Errorf("before record %d: %+v", pos, at)
		}
	}
	if at := b.sender.Before(20); at.End.Seq != 20 {
		t.Errorf("the newest state is of record %d, the stream has 20", at.End.Seq)
	}
	for i := 1; i < len(b.heard); i++ {
		if b.heard[i] < b.heard[i-1] {
			t.Errorf("confirmed %v", b.heard)
		}
	}
}

// While the stream cannot be reached, nothing is confirmed and nothing is lost; more records than the queue takes wait.
func TestASenderOutlastsTheStream(t *testing.T) {
	b := newBench(t, false)
	b.mem.SetDown(true)
	record := []byte(strings.Repeat("x", 256<<10))
	for range 100 { // more than the queue
		if _, err := b.log.Append([][]byte{record}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.sender.Settle(t.Context(), 100, time.Second); err == nil {
		t.Error("confirmed without a stream")
	}
	b.mem.SetDown(false)
	if err := b.sender.Settle(t.Context(), 100, time.Minute); err != nil {
		t.Fatal(err)
	}
	b.messages()
}

// Another node's term ends the sender, which says so once.
func TestASenderIsFenced(t *testing.T) {
	b := newBench(t, false)
	b.write(1)
	b.settle()
	at := b.sender.At()
	m := node.Machine{Clock: b.clock, Driver: b}
	other := m.Candidate(at, 9, nil, testKeys())
	for range 3 { // behind a beat, if there was one
		t2, err := node.Campaign(t.Context(), m, b.mem.Connect(), other)
		if err == nil {
			defer t2.End()
			break
		}
		other.At = b.sender.At()
	}
	b.write(1)
	if err := b.sender.Settle(t.Context(), 2, time.Minute); !errors.Is(err, jet.ErrFenced) {
		t.Errorf("settled: %v", err)
	}
	if !errors.Is(b.failed, jet.ErrFenced) || b.ended != 1 {
		t.Errorf("%v, ended %d times", b.failed, b.ended)
	}
	if err := b.sender.Drain(t.Context()); !errors.Is(err, jet.ErrFenced) {
		t.Errorf("drained: %v", err)
	}
}

// A writer that is fenced while the stream has everything that it wrote does not end in order: what it writes from then
// on does not count, and must not be acknowledged.
func TestASenderThatIsFencedWithNothingOpen(t *testing.T) {
	b := newBench(t, false)
	b.write(1)
	b.settle()
	for ended := error(nil); ended == nil; ended = b.failed {
		m := node.Machine{Clock: b.clock, Driver: b}
		other := m.Candidate(b.sender.At(), 9, nil, testKeys())
		term, err := node.Campaign(t.Context(), m, b.mem.Connect(), other)
		if err == nil {
			defer term.End()
			for range 1000 {
				b.turn()
			}
		}
	}
	if err := b.sender.Drain(t.Context()); !errors.Is(err, jet.ErrFenced) {
		t.Errorf("drained: %v", err)
	}
}
