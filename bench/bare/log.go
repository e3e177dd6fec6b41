package bare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// within bounds one request to the server. Three servers need some seconds to elect a leader.
const within = 30 * time.Second

// Conn is a connection to the servers of a stream.
type Conn struct {
	nc *nats.Conn
	js jetstream.JetStream
}

// Dial connects to the first server of urls that answers, with the credentials in the file seed. A lost connection is made again.
func Dial(urls, seed string) (*Conn, error) {
	user, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("bare: %w", err)
	}
	nc, err := nats.Connect(urls, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond),
		nats.ReconnectBufSize(-1), user)
	if err != nil {
		return nil, fmt.Errorf("bare: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("bare: %w", err)
	}
	return &Conn{nc, js}, nil
}

// Close ends the connection.
func (c *Conn) Close() { c.nc.Close() }

// Log is a stream on the product's server that only this package uses.
type Log struct {
	Name string

	conn    *Conn
	subject string
	last    uint64 // number of its last message
}

// Log makes a stream with so many copies and one message.
func (c *Conn) Log(name string, copies int) (*Log, error) {
	l := &Log{Name: name, conn: c, subject: "bench." + name}
	var err error
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), within/6)
		_, err = c.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: name, Subjects: []string{l.subject}, Storage: jetstream.FileStorage, Replicas: copies,
			Discard: jetstream.DiscardNew, DenyDelete: true,
		})
		cancel()
		if err == nil {
			return l, l.begin()
		}
	}
	return nil, fmt.Errorf("bare: stream %s: %w", name, err)
}

// begin waits until the stream has a message. Of eight messages that are open on a new stream with three copies, the
// second was now and then refused, because the first one had not arrived (wrong last sequence: 0).
func (l *Log) begin() error {
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		err := l.one([]byte("first"), within)
		if !errors.Is(err, jetstream.ErrNoStreamResponse) || time.Now().After(end) {
			return err
		}
	}
}

// Remove deletes a stream.
func (c *Conn) Remove(stream string) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if err := c.js.DeleteStream(ctx, stream); err != nil {
		return fmt.Errorf("bare: %w", err)
	}
	return nil
}

// ProductPrefix begins the names of the product's streams.
const ProductPrefix = "TICKHIVE_"

// Stream describes a stream of the product.
type Stream struct {
	Name     string
	Leader   string // the server that leads it; empty with a single server
	Messages uint64
	Bytes    uint64 // of all messages, with their headers
	Current  bool   // every other server has everything
}

// Product returns the only stream of the product, whatever its epoch.
func (c *Conn) Product() (s Stream, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), within/6)
	defer cancel()
	found := 0
	list := c.js.ListStreams(ctx)
	for info := range list.Info() {
		if !strings.HasPrefix(info.Config.Name, ProductPrefix) {
			continue
		}
		found++
		s = Stream{Name: info.Config.Name, Messages: info.State.LastSeq, Bytes: info.State.Bytes, Current: true}
		if info.Cluster != nil {
			s.Leader = info.Cluster.Leader
			for _, p := range info.Cluster.Replicas {
				s.Current = s.Current && p.Current && !p.Offline
			}
		}
	}
	if list.Err() != nil {
		return s, fmt.Errorf("bare: %w", list.Err())
	}
	if found != 1 {
		return s, fmt.Errorf("bare: %d streams of the product, want 1", found)
	}
	return s, nil
}

// Epoch returns the epoch of the exchange.
func (s Stream) Epoch() string { return strings.TrimPrefix(s.Name, ProductPrefix) }

// Settled returns the stream of the product once it has a leader and every other server has everything.
func (c *Conn) Settled(limit time.Duration) (s Stream, err error) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if s, err = c.Product(); err == nil && s.Leader != "" && s.Current {
			return s, nil
		}
	}
	return s, errors.Join(err, fmt.Errorf("bare: the stream has no leader and copies after %s: %+v", limit, s))
}

// Lead makes a server the leader of the log.
func (l *Log) Lead(server string) error {
	var leader string
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), within/6)
		s, err := l.conn.js.Stream(ctx, l.Name)
		cancel()
		if err != nil || s.CachedInfo().Cluster == nil {
			continue
		}
		if leader = s.CachedInfo().Cluster.Leader; leader == server {
			return nil
		}
		body := fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, server)
		_, _ = l.conn.nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+l.Name, body, within/6) // asked again, if need be
	}
	return fmt.Errorf("bare: the stream %s is led by %q, not by %q", l.Name, leader, server)
}

// Alive reports whether the log takes a message.
func (l *Log) Alive() bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := l.conn.js.Publish(ctx, l.subject, []byte("alive"), jetstream.WithRetryAttempts(0))
	return err == nil
}
