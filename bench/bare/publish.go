package bare

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Publish publishes data again and again for the time d, at most window messages at a time without an answer, and
// returns the number of messages and the time until the last one was acknowledged.
func (l *Log) Publish(data []byte, window int, d time.Duration) (n int, took time.Duration, err error) {
	var flight []jetstream.PubAckFuture
	start := time.Now()
	for time.Since(start) < d || len(flight) > 0 {
		if len(flight) == window || time.Since(start) >= d {
			if err := l.answered(flight[0]); err != nil {
				return n, 0, err
			}
			flight = flight[1:]
			n++
			continue
		}
		f, err := l.conn.js.PublishMsgAsync(&nats.Msg{Subject: l.subject, Data: data},
			jetstream.WithExpectLastSequence(l.last+uint64(len(flight))))
		if err != nil {
			return n, 0, fmt.Errorf("bare: %w", err)
		}
		flight = append(flight, f)
	}
	return n, time.Since(start), nil
}

// answered waits for the acknowledgement of the oldest message.
func (l *Log) answered(f jetstream.PubAckFuture) error {
	select {
	case ack := <-f.Ok():
		if ack.Sequence != l.last+1 {
			return fmt.Errorf("bare: message %d was acknowledged as %d", l.last+1, ack.Sequence)
		}
		l.last++
		return nil
	case err := <-f.Err():
		return fmt.Errorf("bare: %w", err)
	case <-time.After(within):
		return fmt.Errorf("bare: no answer within %s", within)
	}
}

// Append publishes data and waits for the acknowledgement, for the time d, and passes each latency on.
func (l *Log) Append(data []byte, d time.Duration, record func(time.Duration)) error {
	for start := time.Now(); time.Since(start) < d; {
		sent := time.Now()
		if err := l.one(data, within); err != nil {
			return err
		}
		record(time.Since(sent))
	}
	return nil
}

func (l *Log) one(data []byte, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ack, err := l.conn.js.PublishMsg(ctx, &nats.Msg{Subject: l.subject, Data: data},
		jetstream.WithExpectLastSequence(l.last), jetstream.WithRetryAttempts(0))
	if err != nil {
		return fmt.Errorf("bare: %w", err)
	}
	l.last = ack.Sequence
	return nil
}

// Outage publishes one message after the other until stop is closed, and returns the longest time between two
// acknowledgements. A message that fails is sent again, whether or not it had arrived.
func (l *Log) Outage(data []byte, stop <-chan struct{}) (longest time.Duration) {
	acked := time.Now()
	for {
		select {
		case <-stop:
			return max(longest, time.Since(acked))
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := l.conn.js.PublishMsg(ctx, &nats.Msg{Subject: l.subject, Data: data}, jetstream.WithRetryAttempts(0))
		cancel()
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		longest, acked = max(longest, time.Since(acked)), time.Now()
	}
}
