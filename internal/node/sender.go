package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/wal"
)

// Times of a sender.
const (
	senderEvery = 5 * time.Millisecond  // between two looks at the log for which nothing waits, or at the loop
	senderIdle  = 50 * time.Millisecond // between two looks at the loop while nothing happens
)

// sendBytes is the number of bytes of records that are handed over at a time.
const sendBytes = 256 << 10

// errSenderEnds ends a sender in order.
var errSenderEnds = errors.New("node: the sender stops")

// SenderOptions describes the writer whose records a Sender sends.
type SenderOptions struct {
	Machine
	Log  *wal.Log
	Term *Term
	// Sent is the position of the last record that the stream has when the Sender begins.
	Sent uint64
	// Synced makes a record wait for the disk before it is sent. Otherwise it is sent when it is written.
	Synced bool
	// Look returns what the loop tells between two commands. After an error the loop runs no more.
	Look func() (Look, error)
	// Confirmed hears the state of the stream behind what it has confirmed, before a caller that waits for it does.
	Confirmed func(at stream.State)
	// Ended hears that nothing more will be confirmed, in order or not; Failed hears once why the stream receives
	// nothing more.
	Ended  func()
	Failed func(err error)
}

// Look is what the loop tells between two commands.
type Look struct {
	Pos      uint64
	SealedNs int64          // no later command has an earlier time
	Digest   machine.Digest // of the state at Pos
}

// Sender tails the log of a writer and sends its records to the stream: the position of a record in the stream is the
// one in the log. A goroutine runs it, or a driver; any goroutine may call its methods.
type Sender struct {
	o      SenderOptions
	reader *wal.Reader
	sent   uint64 // position of the last record that the term has
	to     uint64 // the reader's limit

	batch   [][]byte // records that wait for the term, behind sent
	payload []byte   // their bytes

	lookedNs int64 // when the loop was asked last
	looked   Look  // its answer
	noted    bool  // the term has its digest

	kick   chan struct{}
	wanted atomic.Uint64 // a record that something waits for
	stop   chan struct{}
	ended  sync.WaitGroup
	once   chan struct{} // closed by the step that has seen stop, with a driver
	states States        // that the stream has confirmed

	acks clock.Histogram // from the handover of records to their confirmation

	mu      sync.Mutex
	changed chan struct{} // closed when the stream has confirmed something, or the sender has failed
	at      stream.State
	err     error
	timed   uint64 // the record whose confirmation is timed
	timedNs int64  // since when, by the machine's clock; 0: none is
}

// NewSender returns a sender that begins to send what the stream lacks.
//
// Errors: the log does not have these records.
func NewSender(o SenderOptions) (*Sender, error) {
	_, at := o.Term.Status()
	s := &Sender{
		o: o, sent: o.Sent, to: o.Log.LastSeq(), noted: true, at: at,
		kick: make(chan struct{}, 1), stop: make(chan struct{}), once: make(chan struct{}),
		changed: make(chan struct{}),
	}
	s.states.Note(at)
	var err error
	if s.reader, err = o.Log.Reader(s.sent + 1); err != nil {
		return nil, Lacks(err)
	}
	o.Log.KeepFrom(s.sent)
	if d := o.Driver; d != nil {
		d.Drive("sender", s)
		return s, nil
	}
	s.ended.Go(s.listen)
	s.ended.Go(s.run)
	return s, nil
}

// Lacks explains why a log cannot send what a stream lacks.
func Lacks(err error) error {
	return fmt.Errorf("the stream lacks records that the log does not have any more. `tickhive backup` of a node that "+
		"has them and `tickhive restore` make a directory that begins a new stream: %w", err)
}

// run repeats the steps until the sender ends.
func (s *Sender) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		p := s.Step()
		switch {
		case p.Stopped:
			return
		case p.Worked:
			continue
		}
		timer.Reset(p.Wait(s.o.Clock.NowNs()))
		select {
		case <-s.stop:
		case <-s.kick:
		case <-timer.C:
		}
	}
}

// listen notes what the stream confirms, while run may wait for the loop.
func (s *Sender) listen() {
	for {
		select {
		case <-s.stop:
			return
		case <-s.o.Term.Ended():
			s.note()
			s.fail(s.o.Term.Appender.Ended())
			return
		case <-s.o.Term.Wake():
			s.note()
		}
	}
}

// Step sends what is new. It is Stopped once the sender has ended.
func (s *Sender) Step() step.Progress {
	select {
	case <-s.stop:
		close(s.once)
		return step.Progress{Stopped: true}
	default:
	}
	if s.o.Driver != nil {
		s.note()
		select {
		case <-s.o.Term.Ended():
			s.fail(s.o.Term.Appender.Ended())
		default:
		}
	}
	if s.Failure() != nil {
		return step.Idle() // until it is stopped
	}
	p, err := s.send()
	if err != nil {
		s.fail(err)
		return step.Idle()
	}
	return p
}

// last returns the last record that may be sent.
func (s *Sender) last() uint64 {
	if s.o.Synced {
		return s.o.Log.DurableSeq()
	}
	return s.o.Log.LastSeq()
}

// send hands records to the term, and asks the loop from time to time for a time and a digest, which the messages
// carry.
func (s *Sender) send() (p step.Progress, err error) {
	to := s.last()
	if !s.noted && s.looked.Pos > s.sent { // the message that has this record carries the digest
		to = min(to, s.looked.Pos)
	}
	before, since := s.sent, s.o.Clock.NowNs()
	if err := s.sendTo(to); err != nil {
		return p, err
	}
	if s.sent != before {
		s.time(since)
		s.o.Term.Send()
	}
	s.seal()
	if len(s.batch) > 0 { // the queue is full
		return step.Progress{NextNs: s.o.Clock.NowNs() + int64(senderEvery)}, nil
	}
	now := s.o.Clock.NowNs()
	if now < s.lookedNs { // the clock went back
		s.lookedNs = now
	}
	busy := s.sent != before || s.last() != s.sent
	due := s.lookedNs + int64(senderIdle)
	if busy {
		due = s.lookedNs + int64(senderEvery)
	}
	if now >= due && s.noted {
		s.look(now)
		return step.Worked(), nil
	}
	if s.last() > s.sent {
		return step.Worked(), nil
	}
	return step.Progress{NextNs: now + int64(senderEvery)}, nil
}

// look asks the loop. When the loop has stopped, the next start sends what it has left.
func (s *Sender) look(now int64) {
	s.lookedNs = now
	at, err := s.o.Look()
	if err != nil {
		return
	}
	s.looked, s.noted = at, at.Pos == 0
	s.seal()
}

// seal gives the term the time and the digest of the last look, once it has the records up to there.
func (s *Sender) seal() {
	if s.sent < s.looked.Pos {
		return
	}
	if !s.noted {
		s.o.Term.NoteDigest(s.looked.Pos, s.looked.Digest)
		s.noted = true
	}
	s.o.Term.SealedNs.Store(max(s.o.Term.SealedNs.Load(), s.looked.SealedNs))
}

// sendTo hands over the records up to a position, so many at a time that a message ends, where it can, with a write of
// the log. Those for which the queue has no room wait in batch.
func (s *Sender) sendTo(to uint64) error {
	for {
		if len(s.batch) == 0 {
			if err := s.collect(to); err != nil || len(s.batch) == 0 {
				return err
			}
		}
		pos, err := s.o.Term.Collect(s.batch...)
		switch {
		case errors.Is(err, stream.ErrBusy):
			return nil
		case err != nil:
			return err
		case pos != s.sent+uint64(len(s.batch)):
			return fmt.Errorf("BUG: %d records behind %d end at %d", len(s.batch), s.sent, pos)
		}
		s.sent, s.batch, s.payload = pos, s.batch[:0], s.payload[:0]
	}
}

// collect reads the next records, at most up to a position.
func (s *Sender) collect(to uint64) error {
	for s.sent+uint64(len(s.batch)) < to && len(s.payload) < sendBytes {
		rec, err := s.reader.Next()
		if errors.Is(err, io.EOF) && s.to < to {
			s.to = to
			if err = s.reader.Extend(s.o.Log, to); err == nil {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("the log of this node: %w", err)
		}
		from := len(s.payload)
		s.payload = append(s.payload, rec.Payload...)
		s.batch = append(s.batch, s.payload[from:len(s.payload):len(s.payload)])
	}
	return nil
}

// note takes what the stream has confirmed.
func (s *Sender) note() {
	_, at := s.o.Term.Status()
	s.mu.Lock()
	same := at == s.at
	s.mu.Unlock()
	if same { // one goroutine changes it
		return
	}
	s.o.Log.KeepFrom(at.End.Seq)
	s.o.Confirmed(at)
	s.states.Note(at)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = at
	s.timeAck()
	s.tell()
}

// tell wakes what waits. The caller holds the lock.
func (s *Sender) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// timeAck ends the measurement of a confirmation, if the stream has confirmed its record. The caller holds the lock.
func (s *Sender) timeAck() {
	if s.timedNs != 0 && s.at.End.Seq >= s.timed {
		s.acks.Observe(s.o.Clock.NowNs() - s.timedNs)
		s.timedNs = 0
	}
}

// time begins to measure how long the stream takes to confirm what was handed over since sinceNs. There is one
// measurement at a time, so it takes no memory while the stream cannot be reached.
func (s *Sender) time(sinceNs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timedNs == 0 {
		s.timed, s.timedNs = s.sent, sinceNs
		s.timeAck()
	}
}

// Acks returns the times until the stream has confirmed records.
func (s *Sender) Acks() clock.Counts { return s.acks.Counts() }

// fail keeps the first error, which ends the sending.
func (s *Sender) fail(err error) {
	s.mu.Lock()
	first := s.err == nil
	if first {
		s.err = err
		s.tell()
	}
	s.mu.Unlock()
	if !first {
		return
	}
	s.o.Ended()
	if !errors.Is(err, errSenderEnds) && !errors.Is(err, ErrEnded) {
		s.o.Failed(err)
	}
}

// Failure returns the reason why the sender has ended, nil while it works.
func (s *Sender) Failure() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Want makes the sender send the records up to pos at once.
func (s *Sender) Want(pos uint64) {
	for was := s.wanted.Load(); pos > was; was = s.wanted.Load() {
		if s.wanted.CompareAndSwap(was, pos) {
			s.hurry()
			return
		}
	}
}

// hurry makes the sender look at the log now.
func (s *Sender) hurry() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// Settle waits until the stream has confirmed the record at want.
//
// Errors: those by which the sender has ended, ctx's, and one that says what is missing after the time within.
func (s *Sender) Settle(ctx context.Context, want uint64, within time.Duration) error {
	lateNs := s.o.Clock.NowNs() + int64(within)
	s.hurry()
	for {
		at, changed, err := s.confirmed()
		switch {
		case at >= want:
			return nil
		case err != nil:
			return err
		}
		switch err := s.o.await(ctx, changed, lateNs); {
		case errors.Is(err, errLate):
			return fmt.Errorf("the stream has confirmed record %d, not %d, within %s", at, want, within)
		case err != nil:
			return err
		}
	}
}

// confirmed returns what the stream has confirmed, a channel that is closed when this changes or the sender ends, and
// the reason why it has ended.
func (s *Sender) confirmed() (at uint64, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at.End.Seq, s.changed, s.err
}

// At returns what the stream has confirmed.
func (s *Sender) At() stream.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// Before returns the newest state of the stream that has no record behind a position; the zero State when the sender
// does not know one.
func (s *Sender) Before(pos uint64) stream.State { return s.states.Before(pos) }

// Drain sends what is left, within a second, and ends the sender and its term. The loop still runs. The error says why
// the stream lacks the last records.
func (s *Sender) Drain(ctx context.Context) (err error) {
	if ctx.Err() == nil {
		err = s.Settle(ctx, s.o.Log.LastSeq(), time.Second)
	}
	s.fail(errSenderEnds)
	if failed := s.Failure(); err == nil && !errors.Is(failed, errSenderEnds) {
		err = failed // the stream has all that there was, and takes nothing that comes now
	}
	close(s.stop)
	if d := s.o.Driver; d != nil {
		d.Wait(s.once)
	}
	s.ended.Wait()
	s.o.Term.End()
	return errors.Join(err, s.reader.Close())
}
