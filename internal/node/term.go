package node

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tickhive/internal/stream"
	"tickhive/internal/stream/jet"
)

// Times of a writer.
const (
	BeatAfter  = 200 * time.Millisecond // without a message
	ackTimeout = 2 * time.Second
)

// ErrEnded is the reason why the work of a Term ends in order.
var ErrEnded = errors.New("node: the term was given up")

// Term is the term of this node: the goroutine that appends to the stream.
type Term struct {
	*jet.Appender
	SealedNs atomic.Int64 // time of the next messages; no record that is added later is earlier
	FoundNs  int64        // time of the last message before the term

	cancel context.CancelCauseFunc
	ended  chan struct{}
	err    error // valid once ended is closed
}

// NewNumber returns a random number that identifies the node for one term.
func NewNumber() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("node number: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]) | 1, nil
}

// Candidate returns the candidate for the term behind at.
func Candidate(at stream.State, number uint64, term []byte, found stream.Founding) *stream.Candidate {
	return &stream.Candidate{
		At: at, Node: number, Rules: Rules, Info: term, Found: found,
		Limits: stream.Limits{InFlight: 4, Queue: 16 << 20},
	}
}

// Campaign makes the candidate the writer and waits until its term counts, or ctx ends. A new stream that does not
// begin with the first records has the snapshot f, which is archived first; otherwise f is nil.
//
// Errors: jet.ErrFenced, when another node is the writer; those of stream.Campaign and jet.Appender.Run; ctx's. After
// an error of ctx it is open whether the term counts.
func Campaign(ctx context.Context, log jet.Log, c *stream.Candidate, f *Founding) (*Term, error) {
	t := &Term{ended: make(chan struct{}), FoundNs: c.At.SentNs}
	t.SealedNs.Store(c.At.SentNs)
	w, err := stream.Campaign(c, c.At.SentNs)
	if err != nil {
		return nil, err
	}
	founded, founds := w.Founded()
	if founds = founds && f != nil; founds {
		if err := f.archive(ctx, log, founded); err != nil {
			return nil, fmt.Errorf("the first snapshot: %w", err)
		}
	}
	t.Appender = jet.NewAppender(log, w, jet.Timing{
		NowNs: t.SealedNs.Load, BeatAfter: BeatAfter, AckTimeout: ackTimeout,
	})
	work, cancel := context.WithCancelCause(context.Background())
	t.cancel = cancel
	go func() {
		defer close(t.ended)
		t.err = t.Run(work)
	}()
	err = t.await(ctx)
	if err == nil && founds {
		err = f.settle(ctx, log, founded)
	}
	if err != nil {
		t.End()
		return nil, err
	}
	return t, nil
}

// await waits until the term record counts.
func (t *Term) await(ctx context.Context) error {
	for {
		switch status, _ := t.Status(); status {
		case stream.Leading:
			return nil
		case stream.Fenced:
			return jet.ErrFenced
		case stream.Forged:
			return jet.ErrForged
		case stream.Campaigning:
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the term is not confirmed: %w", context.Cause(ctx))
		case <-t.ended:
			return t.err
		case <-t.Wake():
		case <-time.After(BeatAfter):
		}
	}
}

// Wait returns the reason why the appender has ended.
func (t *Term) Wait() error {
	<-t.ended
	return t.err
}

// End gives the term up and returns when the appender has ended. Records that are not confirmed may still count.
func (t *Term) End() {
	t.cancel(ErrEnded)
	<-t.ended
}
