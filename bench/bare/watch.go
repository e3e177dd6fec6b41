package bare

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Marks notes when marks arrive in the messages of a stream.
type Marks struct {
	messages jetstream.MessagesContext
	ended    sync.WaitGroup

	mu   sync.Mutex
	seen map[string]time.Time
}

// markBytes is the length of a mark, its prefix included.
const markBytes = 16

// Mark returns the n-th mark of a prefix, a text that orders can carry as their client order id.
func Mark(prefix string, n int) string {
	return fmt.Sprintf("%s%0*d", prefix, markBytes-len(prefix), n)
}

// Watch consumes a stream from its next message on, and notes when each mark of the prefix arrives. Its consumer is the
// library's ordered one, as the product's.
func (c *Conn) Watch(stream, prefix string) (*Marks, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	consumer, err := c.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverNewPolicy,
	})
	if err != nil {
		return nil, fmt.Errorf("bare: %w", err)
	}
	m := &Marks{seen: map[string]time.Time{}}
	if m.messages, err = consumer.Messages(jetstream.PullMaxBytes(8 << 20)); err != nil {
		return nil, fmt.Errorf("bare: %w", err)
	}
	m.ended.Go(func() {
		for {
			msg, err := m.messages.Next()
			if err != nil {
				return // stopped
			}
			m.note([]byte(prefix), msg.Data(), time.Now())
		}
	})
	return m, nil
}

// note notes the marks in a message.
func (m *Marks) note(prefix, data []byte, at time.Time) {
	for {
		i := bytes.Index(data, prefix)
		if i < 0 || len(data) < i+markBytes {
			return
		}
		mark := string(data[i : i+markBytes])
		data = data[i+markBytes:]
		m.mu.Lock()
		if _, ok := m.seen[mark]; !ok {
			m.seen[mark] = at
		}
		m.mu.Unlock()
	}
}

// At returns when a mark arrived; ok is false if it has not.
func (m *Marks) At(mark string) (at time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok = m.seen[mark]
	return at, ok
}

// Stop ends the consumer.
func (m *Marks) Stop() {
	m.messages.Stop()
	m.ended.Wait()
}
