package jet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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

func (l *jetLog) Follow(ctx context.Context, from uint64, deliver func(uint64, []byte) error) error {
	lost := lasting{within: l.conn.staleFor}
	for next := max(from, 1); ; {
		err := l.consume(ctx, &next, deliver)
		var d delivered
		switch {
		case errors.As(err, &d):
			return d.error
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrTrimmed), errors.Is(err, ErrLost), errors.Is(err, nats.ErrConnectionClosed),
			lost.proves(err):
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// consume delivers the messages from next on until something fails, or until the consumer is silent although the log
// goes on. It never returns nil.
func (l *jetLog) consume(ctx context.Context, next *uint64, deliver func(uint64, []byte) error) error {
	first, last, err := l.ends(ctx)
	if err != nil {
		return err
	}
	switch {
	case *next < first && first <= last:
		return fmt.Errorf("%w: %d, and the log has %d to %d", ErrTrimmed, *next, first, last)
	case last < *next-1:
		return fmt.Errorf("%w: it ends at %d, and had %d", ErrMissing, last, *next-1)
	}
	request, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	c, err := l.stream.OrderedConsumer(request, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: *next, MaxResetAttempts: 1,
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
	for {
		m, err := messages.Next(jetstream.NextMaxWait(silence))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, nats.ErrTimeout):
			if _, last, err := l.ends(ctx); err != nil || last != *next-1 {
				return fmt.Errorf("%w: silent before message %d", ErrUnavailable, *next)
			}
			continue
		case err != nil:
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		meta, err := m.Metadata()
		switch {
		case err == nil && meta.Sequence.Stream > *next:
			return fmt.Errorf("%w: %d to %d", ErrMissing, *next, meta.Sequence.Stream-1)
		case err != nil || meta.Sequence.Stream != *next:
			return fmt.Errorf("%w: not message %d", ErrUnavailable, *next)
		}
		if err := deliver(*next, m.Data()); err != nil {
			return delivered{err}
		}
		*next++
	}
}
