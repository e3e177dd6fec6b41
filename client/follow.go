package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// Follower keeps the books of several pairs correct over one stream: it subscribes, checks every
// message and requests new snapshots of the pairs that failed, until it has them, without
// reconnecting.
type Follower struct {
	Stream  *Stream
	Books   map[string]*Book
	Resyncs int   // resyncs of books
	Repeats int   // updates that repeated known state
	Last    error // the reason for the last resync
	// Patience limits the wait of a Step for a message, after which it fails with ErrSilent:
	// every subscription sends a message at least once a second, so three seconds of silence
	// mean a broken connection. 0: no limit.
	Patience time.Duration

	url             string
	depth, interval int
	resyncs         resyncer
}

// ErrSilent means that the server sent no message for longer than the follower's patience; Reconnect
// continues from there.
var ErrSilent = errors.New("client: the server is silent")

// NewFollower subscribes to the books of pairs.
func NewFollower(ctx context.Context, url string, pairs []string, depth, interval int) (*Follower, error) {
	s, err := Dial(ctx, url)
	if err != nil {
		return nil, err
	}
	f := &Follower{
		Stream: s, Books: make(map[string]*Book, len(pairs)), url: url, depth: depth, interval: interval,
		resyncs: newResyncer(pairs),
	}
	for _, p := range pairs {
		f.Books[p] = &Book{}
	}
	if err := f.send(f.due(time.Now())); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return f, nil
}

// Step reads one message and applies it. A failed check requests a new snapshot. It is no error of
// Step; Resyncs counts it.
func (f *Follower) Step() (*Message, error) {
	m, err := f.next()
	if err != nil {
		return nil, err
	}
	return m, f.send(f.receive(m, time.Now()))
}

func (f *Follower) send(requests []Request) error {
	for _, r := range requests {
		if err := f.Stream.Send(r); err != nil {
			return err
		}
	}
	return nil
}

func (f *Follower) next() (*Message, error) {
	if f.Patience > 0 {
		if err := f.Stream.SetReadDeadline(time.Now().Add(f.Patience)); err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
	}
	m, err := f.Stream.Next()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%w: nothing for %s", ErrSilent, f.Patience)
	}
	return m, err
}

// Reconnect reopens a broken stream and resumes from the seqs of the books: each book gets
// the updates that it missed, or a snapshot with reason gap when the server no longer has
// them. The following Steps send the subscriptions of many pairs, within the server's limit
// of messages: reading in between keeps the server's queue short. url is the server's present
// address; empty: unchanged.
func (f *Follower) Reconnect(ctx context.Context, url string) error {
	if url != "" {
		f.url = url
	}
	_ = f.Stream.Close() // broken already, or given up
	s, err := Dial(ctx, f.url)
	if err != nil {
		return err
	}
	f.Stream = s
	f.resyncs = newResyncer(slices.Sorted(maps.Keys(f.Books)))
	return f.send(f.due(time.Now()))
}
