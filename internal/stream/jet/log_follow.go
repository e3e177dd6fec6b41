package jet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/stream"
)

const (
	// silence is the time without a message after which a follower asks for the end of the log. A writer sends a
	// beat more often.
	silence = 700 * time.Millisecond
	// retryAfter is the time after which a follower tries again what failed.
	retryAfter = 50 * time.Millisecond
	// aheadBytes bounds the messages that the server sends ahead.
	aheadBytes = 8 << 20
)

// delivered wraps an error of the caller's function, so that it ends Follow.
type delivered struct{ error }

// follower is the place of a Follow in the log.
type follower struct {
	next uint64 // number of the next message
	last []byte // the message before, nil before the first delivery
}

func (l *jetLog) Follow(ctx context.Context, from uint64, deliver func(uint64, []byte) error) error {
	lost := lasting{within: l.conn.staleFor}
	for f := (follower{next: max(from, 1)}); ; {
		err := l.consume(ctx, &f, deliver)
		var d delivered
		switch {
		case errors.As(err, &d):
			return d.error
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrTrimmed), errors.Is(err, ErrLost), errors.Is(err, nats.ErrConnectionClosed),
			lost.proves(err, clock.MachineNs()):
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// continues returns an error unless the log goes on behind the last message that was delivered.
func (l *jetLog) continues(ctx context.Context, f *follower) error {
	first, last, err := l.ends(ctx)
	switch {
	case err != nil:
		return err
	case f.next < first && first <= last:
		return fmt.Errorf("%w: %d, and the log has %d to %d", ErrTrimmed, f.next, first, last)
	case last < f.next-1:
		return fmt.Errorf("%w: it ends at %d, and had %d", ErrMissing, last, f.next-1)
	case f.last == nil || f.next-1 < first:
		return nil
	}
	data, err := l.Read(ctx, f.next-1)
	if err == nil && !bytes.Equal(data, f.last) {
		err = fmt.Errorf("%w: message %d: %w", ErrMissing, f.next-1, stream.ErrReplaced)
	}
	return err
}

// consume delivers messages until something fails, or until the consumer is silent although the log goes on, or the
// client library has begun another one. It never returns nil.
func (l *jetLog) consume(ctx context.Context, f *follower, deliver func(uint64, []byte) error) error {
	if err := l.continues(ctx, f); err != nil {
		return err
	}
	request, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	c, err := l.stream.OrderedConsumer(request, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: f.next, MaxResetAttempts: 1,
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	messages, err := c.Messages(jetstream.PullMaxBytes(aheadBytes))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)() // Next waits for the next message otherwise
	for n := uint64(1); ; n++ {
		m, err := messages.Next(jetstream.NextMaxWait(silence))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, nats.ErrTimeout):
			if _, last, err := l.ends(ctx); err != nil || last != f.next-1 {
				return fmt.Errorf("%w: silent before message %d", ErrUnavailable, f.next)
			}
			n--
			continue
		case err != nil:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		meta, err := m.Metadata()
		switch {
		case err != nil || meta.Sequence.Consumer != n: // of another consumer, perhaps of another stream
			return fmt.Errorf("%w: not message %d", ErrUnavailable, f.next)
		case meta.Sequence.Stream > f.next:
			return fmt.Errorf("%w: %d to %d", ErrMissing, f.next, meta.Sequence.Stream-1)
		case meta.Sequence.Stream != f.next:
			return fmt.Errorf("%w: not message %d", ErrUnavailable, f.next)
		}
		if err := deliver(f.next, m.Data()); err != nil {
			return delivered{err}
		}
		f.next, f.last = f.next+1, m.Data()
	}
}
