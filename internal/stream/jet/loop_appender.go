package jet

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/stream"
)

// ErrFenced ends an appender: the stream has a message of another node where this appender's message should be. The
// process of the writer then ends with node.ErrFenced.
var ErrFenced = errors.New("jet: another node is the writer")

// ErrForged reports a message that counts and bears this writer's name, and that it has not sent.
var ErrForged = errors.New("jet: the stream has a message in the name of this writer that it has not sent: somebody " +
	"else has the credentials of its servers, or this machine was set back to an earlier state")

// Timing is the behaviour of an appender in time.
type Timing struct {
	NowNs      func() int64  // the time that messages carry
	Clock      clock.Clock   // of the machine, for the durations below; nil: clock.Real
	BeatAfter  time.Duration // between two beats
	AckTimeout time.Duration // after which an answer counts as missing
	StaleFor   time.Duration // how long the log may lack what it has confirmed; 0: staleFor
}

// Appender drives a stream.Writer over a Log. Either one goroutine calls Run, or a driver calls Step; any goroutine may
// call the other methods.
type Appender struct {
	log    Log
	timing Timing
	ctx    context.Context // ends with Stop
	stop   context.CancelCauseFunc
	kick   chan struct{} // there is something to send
	wake   chan struct{} // something was confirmed, or the appender has ended

	// of Step
	beatNs  int64 // of the next beat
	retryNs int64 // of the next attempt to end a doubt; 0: at once
	lost    lasting

	mu      sync.Mutex
	w       *stream.Writer
	state   stream.State
	ended   error
	soundNs int64 // when the log last confirmed something, or a doubt began or ended
}

// NewAppender returns an appender that begins with the campaign of w. Run or Step does the work.
func NewAppender(log Log, w *stream.Writer, t Timing) *Appender {
	if t.Clock == nil {
		t.Clock = clock.Real{}
	}
	now := t.Clock.NowNs()
	a := &Appender{
		log: log, w: w, timing: t, state: w.State(), kick: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		beatNs: now + int64(t.BeatAfter), soundNs: now,
		lost: lasting{within: cmp.Or(t.StaleFor, staleFor)},
	}
	a.ctx, a.stop = context.WithCancelCause(context.Background())
	return a
}

// Add adds records, all or none, and returns the position of the last one. They are sent at once.
//
// Errors: as stream.Writer.Add, and the error by which Run has ended.
func (a *Appender) Add(records ...[]byte) (pos uint64, err error) {
	if pos, err = a.Collect(records...); err == nil {
		a.Send()
	}
	return pos, err
}

// Collect does the same as Add, but the records may wait for more, so that a message has many of them, until Send.
//
// Errors: as Add.
func (a *Appender) Collect(records ...[]byte) (pos uint64, err error) {
	now := a.timing.NowNs()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended != nil {
		return 0, a.ended
	}
	open := a.w.Unconfirmed()
	if pos, err = a.w.Add(now, records...); err != nil || a.w.Unconfirmed() > open {
		signal(a.kick) // a message is full, or the queue
	}
	return pos, err
}

// Send lets the appender send what was collected.
func (a *Appender) Send() { signal(a.kick) }

// NoteDigest notes the digest of the state after the record pos, as stream.Writer.NoteDigest.
func (a *Appender) NoteDigest(pos uint64, digest [4]uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.w.NoteDigest(pos, digest)
}

// Unconfirmed returns the number of messages that are not confirmed.
func (a *Appender) Unconfirmed() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.w.Unconfirmed()
}

// Status returns the status of the writer and its state of the log: the confirmed position.
func (a *Appender) Status() (stream.Status, stream.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.w.Status(), a.w.State()
}

// Wake returns a channel that receives when Status has changed, or Run has ended.
func (a *Appender) Wake() <-chan struct{} { return a.wake }

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Stop ends the appender with a reason. Which of the unconfirmed records count is open until the next writer's term
// record.
func (a *Appender) Stop(reason error) { a.stop(reason) }

// Ended returns the reason why the appender has ended, nil while it works. After ErrFenced, exactly the confirmed
// records count.
func (a *Appender) Ended() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// Run works until ctx ends, another node is the writer (ErrFenced), somebody sends in its name (ErrForged), or the log
// cannot be read any more. It returns the reason, as Ended does.
func (a *Appender) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { a.stop(context.Cause(ctx)) })()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		p := a.Step()
		switch {
		case p.Stopped:
			return a.Ended()
		case p.Worked:
			continue
		}
		timer.Reset(p.Wait(a.timing.Clock.NowNs()))
		select {
		case <-a.ctx.Done():
		case answer := <-a.log.Answers():
			a.take(answer)
		case <-a.kick:
		case <-timer.C:
		}
	}
}

// Step implements step.Stepper: it takes the answers that have arrived, sends what may be sent, and reads the log in a
// doubt.
func (a *Appender) Step() step.Progress {
	worked, err := a.work()
	if err == nil && a.ctx.Err() != nil {
		err = context.Cause(a.ctx)
	}
	switch {
	case err != nil:
		a.stop(err)
		a.mu.Lock()
		a.ended = err
		a.mu.Unlock()
		signal(a.wake)
		return step.Progress{Stopped: true}
	case worked:
		return step.Worked()
	}
	next := min(a.beatNs, a.lateNs())
	if a.retryNs != 0 {
		next = min(next, a.retryNs)
	}
	return step.Progress{NextNs: next}
}

// work does what has to be done now. An error ends the appender.
func (a *Appender) work() (worked bool, err error) {
	if a.ctx.Err() != nil {
		return false, nil
	}
	select {
	case answer := <-a.log.Answers():
		a.take(answer)
		worked = true
	default:
	}
	now := a.timing.Clock.NowNs()
	a.mu.Lock()
	a.doubtLate(now)
	a.mu.Unlock()
	if now >= a.beatNs {
		a.beatNs = now + int64(a.timing.BeatAfter)
		a.mu.Lock()
		a.w.Beat(a.timing.NowNs())
		a.mu.Unlock()
	}
	sent, doubt := a.publish()
	if doubt && now >= a.retryNs {
		return true, a.resolve()
	}
	return worked || sent, nil
}

// lateNs returns the time at which the writer is in doubt unless the log confirms something before.
func (a *Appender) lateNs() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.soundNs + int64(a.timing.AckTimeout)
}

// doubtLate puts the writer in doubt when the log has confirmed nothing for the time of an answer, even if nothing was
// open: this process may have stood still, and another node may be the writer. The caller holds the lock.
func (a *Appender) doubtLate(now int64) {
	if now-a.soundNs >= int64(a.timing.AckTimeout) {
		a.soundNs = now
		a.w.Doubt()
	}
}

// publish sends what the writer may send, and reports whether there was anything, and whether the writer is in doubt.
func (a *Appender) publish() (sent, doubt bool) {
	now := a.timing.NowNs()
	for {
		a.mu.Lock()
		p, ok := a.w.Publish(now)
		_, doubt = a.w.Wants()
		a.mu.Unlock()
		if !ok {
			return sent, doubt
		}
		sent = true
		if err := a.log.Publish(p.Number, p.Expect, p.Data); err != nil {
			a.take(Answer{Number: p.Number, Err: err})
		}
	}
}

// take passes on an answer and the ones behind it.
func (a *Appender) take(answer Answer) {
	now := a.timing.Clock.NowNs()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.doubtLate(now) // before an answer that is as late is believed
	for ok := true; ok; {
		if answer.Err != nil {
			a.w.Failed(answer.Number)
		} else {
			a.w.Acked(answer.Number, answer.Seq)
		}
		select {
		case answer = <-a.log.Answers():
		default:
			ok = false
		}
	}
	a.changed(now)
}

// changed wakes the owner when the state has changed. The caller holds the lock.
func (a *Appender) changed(now int64) {
	if s := a.w.State(); s != a.state {
		if s.Valid != a.state.Valid {
			a.soundNs = now
		}
		a.state = s
		signal(a.wake)
	}
}

// resolve reads the log to its end, which ends the doubt. While the log does not answer, or a server answers from an
// older state, a later step tries again.
func (a *Appender) resolve() error {
	err := a.readToEnd(a.ctx)
	now := a.timing.Clock.NowNs()
	a.mu.Lock()
	_, doubt := a.w.Wants()
	if !doubt {
		a.soundNs = now
	}
	status := a.w.Status()
	a.changed(now)
	a.mu.Unlock()
	proven := a.lost.proves(err, now)
	switch {
	case status == stream.Fenced:
		return ErrFenced
	case status == stream.Forged:
		return ErrForged
	case a.ctx.Err() != nil:
		return nil // the step returns its cause
	case proven, err != nil && a.lost.sinceNs == 0 && !errors.Is(err, ErrUnavailable):
		return err
	}
	if a.retryNs = 0; doubt {
		a.retryNs = now + int64(retryAfter)
	}
	return nil
}

func (a *Appender) readToEnd(ctx context.Context) error {
	last, err := a.log.Last(ctx)
	if err != nil {
		return err
	}
	for {
		a.mu.Lock()
		seq, doubt := a.w.Wants()
		if doubt && seq > last {
			err = a.w.End(last)
		}
		a.mu.Unlock()
		if !doubt || seq > last {
			return err
		}
		data, err := a.log.Read(ctx, seq)
		if err != nil {
			return err
		}
		a.mu.Lock()
		err = a.w.Read(seq, data)
		a.mu.Unlock()
		if err != nil {
			return err
		}
	}
}
