package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/internal/step"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
)

// Times of a writer.
const (
	BeatAfter  = 200 * time.Millisecond // without a message
	ackTimeout = 2 * time.Second
)

// ErrEnded is the reason why the work of a Term ends in order.
var ErrEnded = errors.New("node: the term was given up")

// Term is the term of this node: what appends to the stream, on a goroutine or by a driver.
type Term struct {
	*jet.Appender
	SealedNs atomic.Int64 // time of the next messages; no record that is added later is earlier
	FoundNs  int64        // time of the last message before the term

	m       Machine
	decided chan struct{} // closed when the term counts or never will; with a driver
	ended   chan struct{} // closed when the appender has ended
}

// NewNumber returns a number that identifies the node for one term.
func NewNumber(random io.Reader) (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return 0, fmt.Errorf("node number: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]) | 1, nil
}

// Candidate returns the candidate for the term behind at.
func (m *Machine) Candidate(at stream.State, number uint64, term []byte, keys *stream.Keys) *stream.Candidate {
	return &stream.Candidate{
		At: at, Node: number, Rules: m.Knows(), Info: term, Keys: keys,
		Limits: stream.Limits{InFlight: 4, Queue: 16 << 20},
	}
}

// CampaignWithin is the time that a writer's start gives its term record to count.
const CampaignWithin = 30 * time.Second

// CampaignBriefly is Campaign within CampaignWithin.
func CampaignBriefly(ctx context.Context, m Machine, log jet.Log, c *stream.Candidate) (*Term, error) {
	ctx, cancel := m.within(ctx, CampaignWithin, fmt.Errorf("no answer within %s", CampaignWithin))
	defer cancel()
	return Campaign(ctx, m, log, c)
}

// Campaign makes the candidate the writer and waits until its term counts, or ctx ends.
//
// Errors: jet.ErrFenced, when another node is the writer; those of stream.Campaign and jet.Appender.Run; ctx's. After
// an error of ctx it is open whether the term counts.
func Campaign(ctx context.Context, m Machine, log jet.Log, c *stream.Candidate) (*Term, error) {
	w, err := stream.Campaign(c, c.At.SentNs)
	if err != nil {
		return nil, err
	}
	t := &Term{m: m, FoundNs: c.At.SentNs, decided: make(chan struct{}), ended: make(chan struct{})}
	t.SealedNs.Store(c.At.SentNs)
	t.Appender = jet.NewAppender(log, w, jet.Timing{
		NowNs: t.SealedNs.Load, Clock: m.Clock, BeatAfter: BeatAfter, AckTimeout: ackTimeout,
	})
	if m.Driver != nil {
		m.Driver.Drive("stream", t)
	} else {
		go func() {
			defer close(t.ended)
			_ = t.Run(context.Background()) // Ended has the reason
		}()
	}
	if err := t.await(ctx); err != nil {
		t.End()
		return nil, err
	}
	return t, nil
}

// Step implements step.Stepper for a driver.
func (t *Term) Step() step.Progress {
	p := t.Appender.Step()
	if status, _ := t.Status(); status != stream.Campaigning || p.Stopped {
		select {
		case <-t.decided:
		default:
			close(t.decided)
		}
	}
	if p.Stopped {
		close(t.ended)
	}
	return p
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
		if err := t.Appender.Ended(); err != nil {
			return err
		}
		if err := t.awaitChange(ctx); err != nil {
			return fmt.Errorf("the term is not confirmed: %w", err)
		}
	}
}

// awaitChange waits until the status may have changed.
func (t *Term) awaitChange(ctx context.Context) error {
	if t.m.Driver != nil {
		return t.m.await(ctx, t.decided, step.Never)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.ended:
	case <-t.Wake():
	}
	return nil
}

// Ended returns a channel that is closed when the appender has ended.
func (t *Term) Ended() <-chan struct{} { return t.ended }

// Wait returns the reason why the appender has ended, once it has.
func (t *Term) Wait() error {
	step.Wait(t.m.Driver, t.ended)
	return t.Appender.Ended()
}

// End gives the term up and returns when the appender has ended. Records that are not confirmed may still count.
func (t *Term) End() {
	t.Stop(ErrEnded)
	step.Wait(t.m.Driver, t.ended)
}
