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

// Follower keeps the books of several pairs correct over one stream. It subscribes, verifies every message, and
// requests new snapshots of pairs whose check failed, without reconnecting.
type Follower struct {
	Stream  *Stream
	Books   map[string]*Book
	Resyncs int   // number of resyncs of books
	Repeats int   // number of updates that repeated a known state
	Last    error // reason for the last resync
	// Patience limits the time that Step waits for a message; then Step returns ErrSilent. Every subscription
	// sends at least one message a second, so three seconds of silence mean a broken connection. 0: no limit.
	Patience time.Duration

	url             string
	depth, interval int
	resyncs         resyncer
}

// ErrSilent reports that the server sent no message within Patience. Reconnect continues from the known seqs.
var ErrSilent = errors.New("client: the server is silent")

// NewFollower opens a stream and subscribes to the books of pairs.
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

// Step reads one message and applies it. When a check fails, Step requests a new snapshot and counts it in
// Resyncs; this is no error.
func (f *Follower) Step() (*Message, error) { return f.StepContext(context.Background()) }

// StepContext is Step until ctx ends. Then the stream is closed; Reconnect continues from the known seqs.
func (f *Follower) StepContext(ctx context.Context) (*Message, error) {
	m, err := f.next(ctx)
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

func (f *Follower) next(ctx context.Context) (*Message, error) {
	if f.Patience > 0 {
		if err := f.Stream.SetReadDeadline(time.Now().Add(f.Patience)); err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
	}
	m, err := f.Stream.NextContext(ctx)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%w: nothing for %s", ErrSilent, f.Patience)
	}
	return m, err
}

// Reconnect opens the stream again and resumes from the seqs of the books. The server sends each book the
// updates that it missed, or a snapshot with reason gap when it no longer has them. Reconnect itself subscribes
// only a part of many pairs, because of the server's limit of messages; the following Steps subscribe the rest.
// url is the server's address; empty: unchanged.
func (f *Follower) Reconnect(ctx context.Context, url string) error {
	if url != "" {
		f.url = url
	}
	_ = f.Stream.Close() // the connection is already broken or no longer wanted
	s, err := Dial(ctx, f.url)
	if err != nil {
		return err
	}
	f.Stream = s
	f.resyncs = newResyncer(slices.Sorted(maps.Keys(f.Books)))
	return f.send(f.due(time.Now()))
}
