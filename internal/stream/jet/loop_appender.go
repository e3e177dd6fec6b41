package jet

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"tickhive/internal/stream"
)

// ErrFenced reports that another node is the writer.
var ErrFenced = errors.New("jet: another node is the writer")

// ErrForged reports a message that counts and bears this writer's name, and that it has not sent.
var ErrForged = errors.New("jet: the stream has a message in the name of this writer that it has not sent: somebody " +
	"else has the credentials of its servers, or this machine was set back to an earlier state")

// Timing is the behaviour of an appender in time.
type Timing struct {
	NowNs      func() int64
	BeatAfter  time.Duration // without a message
	AckTimeout time.Duration // after which an answer counts as missing
	StaleFor   time.Duration // how long the log may lack what it has confirmed; 0: staleFor
}

// Appender drives a stream.Writer over a Log.
type Appender struct {
	log    Log
	timing Timing
	kick   chan struct{} // there is something to send
	wake   chan struct{} // something was confirmed, or the appender has ended

	mu    sync.Mutex
	w     *stream.Writer
	state stream.State
	ended error
	last  uint64 // number of the last publication
}

// NewAppender returns an appender that begins with the campaign of w. Run does the work.
func NewAppender(log Log, w *stream.Writer, t Timing) *Appender {
	return &Appender{
		log: log, w: w, timing: t, state: w.State(), kick: make(chan struct{}, 1), wake: make(chan struct{}, 1),
	}
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

// SetDigest sets the digest that the next messages carry.
func (a *Appender) SetDigest(pos, digest uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.w.SetDigest(pos, digest)
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

// Run works until ctx ends, another node is the writer (ErrFenced), somebody sends in its name (ErrForged), or the log
// cannot be read any more. It returns the
// reason. Which records count is open until the next writer's term record, unless it is ErrFenced: then exactly the
// confirmed ones count.
func (a *Appender) Run(ctx context.Context) error {
	err := a.run(ctx)
	a.mu.Lock()
	a.ended = err
	a.mu.Unlock()
	signal(a.wake)
	return err
}

func (a *Appender) run(ctx context.Context) error {
	beat := time.NewTicker(a.timing.BeatAfter)
	defer beat.Stop()
	timeout := time.NewTicker(a.timing.AckTimeout)
	defer timeout.Stop()
	waiting := uint64(0) // what the log had at the last timeout, plus 1, if anything was open
	for {
		doubt := a.publish()
		if doubt {
			if err := a.resolve(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case answer := <-a.log.Answers():
			a.take(answer)
		case <-a.kick:
		case <-beat.C:
			a.mu.Lock()
			a.w.Beat(a.timing.NowNs())
			a.mu.Unlock()
		case <-timeout.C:
			a.mu.Lock()
			open, at := a.w.Unconfirmed(), a.w.State().Seq+1
			if open > 0 && at == waiting {
				a.w.Failed(a.last)
			}
			if waiting = at; open == 0 {
				waiting = 0
			}
			a.mu.Unlock()
		}
	}
}

// publish sends what the writer may send, and reports whether the writer is in doubt.
func (a *Appender) publish() (doubt bool) {
	now := a.timing.NowNs()
	for {
		a.mu.Lock()
		p, ok := a.w.Publish(now)
		if ok {
			a.last = p.Number
		}
		_, doubt = a.w.Wants()
		a.mu.Unlock()
		if !ok {
			return doubt
		}
		if err := a.log.Publish(p.Number, p.Expect, p.Data); err != nil {
			a.take(Answer{Number: p.Number, Err: err})
		}
	}
}

// take passes on an answer and the ones behind it.
func (a *Appender) take(answer Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
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
	a.changed()
}

// changed wakes the owner when the state has changed. The caller holds the lock.
func (a *Appender) changed() {
	if s := a.w.State(); s != a.state {
		a.state = s
		signal(a.wake)
	}
}

// resolve reads the log until the doubt ends. While the log does not answer, or a server answers from an older state,
// it tries again.
func (a *Appender) resolve(ctx context.Context) error {
	lost := lasting{within: cmp.Or(a.timing.StaleFor, staleFor)}
	for {
		err := a.readToEnd(ctx)
		a.mu.Lock()
		_, doubt := a.w.Wants()
		status := a.w.Status()
		a.changed()
		a.mu.Unlock()
		switch {
		case status == stream.Fenced:
			return ErrFenced
		case status == stream.Forged:
			return ErrForged
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case lost.proves(err), err != nil && lost.sinceNs == 0 && !errors.Is(err, ErrUnavailable):
			return err
		case !doubt:
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
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
