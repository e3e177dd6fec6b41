package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The references of the scenario replication are loops of nats.go alone. A loop publishes, acknowledges or consumes
// bytes as a program without an exchange would, on the server that the product uses at the same time. Its stream has
// the settings of the product's stream: files, an expected last number with each message, as many copies. A loop that
// is not acknowledged, or that counts another number of messages than it sent, is an error.

// natsWithin bounds one request to the server. Three servers need some seconds to elect a leader.
const natsWithin = 30 * time.Second

// natsConn is a connection to the servers of a stream.
type natsConn struct {
	nc *nats.Conn
	js jetstream.JetStream
}

// dialNATS connects to the first server of urls that answers, with the credentials in the file seed. A lost connection
// is made again.
func dialNATS(urls, seed string) (*natsConn, error) {
	user, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	nc, err := nats.Connect(urls, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond),
		nats.ReconnectBufSize(-1), user)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("bench: %w", err)
	}
	return &natsConn{nc, js}, nil
}

// close ends the connection.
func (c *natsConn) close() { c.nc.Close() }

// natsLog is a stream on the product's server that only this package uses.
type natsLog struct {
	name string

	conn    *natsConn
	subject string
	last    uint64 // number of its last message
}

// log makes a stream with the given number of copies and publishes one message to it.
func (c *natsConn) log(name string, copies int) (*natsLog, error) {
	l := &natsLog{name: name, conn: c, subject: "bench." + name}
	var err error
	for end := time.Now().Add(natsWithin); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), natsWithin/6)
		_, err = c.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{l.subject}, Storage: jetstream.FileStorage, Replicas: copies,
			Discard: jetstream.DiscardNew, DenyDelete: true,
		})
		cancel()
		if err == nil {
			return l, l.begin()
		}
	}
	return nil, fmt.Errorf("bench: stream %s: %w", name, err)
}

// begin waits until the stream has a message. Of eight messages that are open on a new stream with three copies, the
// second was now and then refused, because the first one had not arrived (wrong last sequence: 0).
func (l *natsLog) begin() error {
	for end := time.Now().Add(natsWithin); ; time.Sleep(10 * time.Millisecond) {
		err := l.one([]byte("first"), natsWithin)
		if !errors.Is(err, jetstream.ErrNoStreamResponse) || time.Now().After(end) {
			return err
		}
	}
}

// remove deletes a stream.
func (c *natsConn) remove(stream string) error {
	ctx, cancel := context.WithTimeout(context.Background(), natsWithin)
	defer cancel()
	if err := c.js.DeleteStream(ctx, stream); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return nil
}

// productPrefix begins the names of the product's streams.
const productPrefix = "TICKHIVE_"

// natsStream describes a stream of the product.
type natsStream struct {
	name     string
	leader   string // the server that leads it; empty with a single server
	messages uint64
	bytes    uint64 // of all messages, with their headers
	current  bool   // every other server has everything
}

// product returns the only stream of the product, whatever its epoch.
func (c *natsConn) product() (s natsStream, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), natsWithin/6)
	defer cancel()
	found := 0
	list := c.js.ListStreams(ctx)
	for info := range list.Info() {
		if !strings.HasPrefix(info.Config.Name, productPrefix) {
			continue
		}
		found++
		s = natsStream{name: info.Config.Name, messages: info.State.LastSeq, bytes: info.State.Bytes, current: true}
		if info.Cluster != nil {
			s.leader = info.Cluster.Leader
			for _, p := range info.Cluster.Replicas {
				s.current = s.current && p.Current && !p.Offline
			}
		}
	}
	if list.Err() != nil {
		return s, fmt.Errorf("bench: %w", list.Err())
	}
	if found != 1 {
		return s, fmt.Errorf("bench: %d streams of the product, want 1", found)
	}
	return s, nil
}

// epoch returns the epoch of the exchange.
func (s natsStream) epoch() string { return strings.TrimPrefix(s.name, productPrefix) }

// settled returns the stream of the product once it has a leader and every other server has everything.
func (c *natsConn) settled(limit time.Duration) (s natsStream, err error) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if s, err = c.product(); err == nil && s.leader != "" && s.current {
			return s, nil
		}
	}
	return s, errors.Join(err, fmt.Errorf("bench: the stream has no leader and copies after %s: %+v", limit, s))
}

// lead makes a server the leader of the log.
func (l *natsLog) lead(server string) error {
	var leader string
	for end := time.Now().Add(natsWithin); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), natsWithin/6)
		s, err := l.conn.js.Stream(ctx, l.name)
		cancel()
		if err != nil || s.CachedInfo().Cluster == nil {
			continue
		}
		if leader = s.CachedInfo().Cluster.Leader; leader == server {
			return nil
		}
		body := fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, server)
		// A request that fails is made again.
		_, _ = l.conn.nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+l.name, body, natsWithin/6)
	}
	return fmt.Errorf("bench: the stream %s is led by %q, not by %q", l.name, leader, server)
}

// alive reports whether the log takes a message.
func (l *natsLog) alive() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := l.conn.js.Publish(ctx, l.subject, []byte("alive"), jetstream.WithRetryAttempts(0))
	return err == nil
}

// publish publishes data again and again for the time d, at most window messages at a time without an answer, and
// returns the number of messages and the time until the last one was acknowledged.
func (l *natsLog) publish(data []byte, window int, d time.Duration) (n int, took time.Duration, err error) {
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
			return n, 0, fmt.Errorf("bench: %w", err)
		}
		flight = append(flight, f)
	}
	return n, time.Since(start), nil
}

// answered waits for the acknowledgement of the oldest message.
func (l *natsLog) answered(f jetstream.PubAckFuture) error {
	select {
	case ack := <-f.Ok():
		if ack.Sequence != l.last+1 {
			return fmt.Errorf("bench: message %d was acknowledged as %d", l.last+1, ack.Sequence)
		}
		l.last++
		return nil
	case err := <-f.Err():
		return fmt.Errorf("bench: %w", err)
	case <-time.After(natsWithin):
		return fmt.Errorf("bench: no answer natsWithin %s", natsWithin)
	}
}

// append publishes data and waits for the acknowledgement, for the time d, and passes each latency on.
func (l *natsLog) append(data []byte, d time.Duration, record func(time.Duration)) error {
	for start := time.Now(); time.Since(start) < d; {
		sent := time.Now()
		if err := l.one(data, natsWithin); err != nil {
			return err
		}
		record(time.Since(sent))
	}
	return nil
}

func (l *natsLog) one(data []byte, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ack, err := l.conn.js.PublishMsg(ctx, &nats.Msg{Subject: l.subject, Data: data},
		jetstream.WithExpectLastSequence(l.last), jetstream.WithRetryAttempts(0))
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	l.last = ack.Sequence
	return nil
}

// outage publishes one message after the other until stop is closed, and returns the longest time between two
// acknowledgements. A message that fails is sent again, whether or not it had arrived.
func (l *natsLog) outage(data []byte, stop <-chan struct{}) (longest time.Duration) {
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

// natsMarks notes when marks arrive in the messages of a stream.
type natsMarks struct {
	messages jetstream.MessagesContext
	ended    sync.WaitGroup

	mu   sync.Mutex
	seen map[string]time.Time
}

// markBytes is the length of a mark, its prefix included.
const markBytes = 16

// natsMark returns the n-th mark of a prefix, a text that orders can carry as their client order id.
func natsMark(prefix string, n int) string {
	return fmt.Sprintf("%s%0*d", prefix, markBytes-len(prefix), n)
}

// watch consumes a stream from its next message on, and notes when each mark of the prefix arrives. Its consumer is the
// library's ordered one, as the product's.
func (c *natsConn) watch(stream, prefix string) (*natsMarks, error) {
	ctx, cancel := context.WithTimeout(context.Background(), natsWithin)
	defer cancel()
	consumer, err := c.js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverNewPolicy,
	})
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	m := &natsMarks{seen: map[string]time.Time{}}
	if m.messages, err = consumer.Messages(jetstream.PullMaxBytes(8 << 20)); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
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
func (m *natsMarks) note(prefix, data []byte, at time.Time) {
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

// at returns when a mark arrived; ok is false if it has not.
func (m *natsMarks) at(mark string) (at time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok = m.seen[mark]
	return at, ok
}

// stop ends the consumer.
func (m *natsMarks) stop() {
	m.messages.Stop()
	m.ended.Wait()
}
