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

// paceFree and paceEvery keep a client that subscribes pair by pair within the server's 20
// messages a second.
const (
	paceFree  = 15
	paceEvery = 60 * time.Millisecond
)

// Follower keeps the books of several pairs right over one stream: it subscribes, checks
// every message and asks for a new snapshot of a pair that failed, without reconnecting.
type Follower struct {
	Stream  *Stream
	Books   map[string]*Book
	Resyncs int   // how often a book had to be taken anew
	Repeats int   // updates that said what was known
	Last    error // why it last had to
	// Patience is how long a Step waits for a message before it fails with ErrSilent: every
	// subscription speaks once a second at least, so that three seconds are a broken line.
	// 0: for ever.
	Patience time.Duration

	url             string
	depth, interval int
}

// ErrSilent says that the server was not heard for longer than the follower's patience;
// Reconnect goes on from there.
var ErrSilent = errors.New("client: the server is silent")

// NewFollower subscribes to the books of pairs.
func NewFollower(ctx context.Context, url string, pairs []string, depth, interval int) (*Follower, error) {
	s, err := Dial(ctx, url)
	if err != nil {
		return nil, err
	}
	f := &Follower{Stream: s, Books: make(map[string]*Book, len(pairs)), url: url, depth: depth, interval: interval}
	for _, p := range pairs {
		f.Books[p] = &Book{}
	}
	err = s.Send(Request{Op: "subscribe", ID: "books", Channel: "book", Pairs: pairs, Depth: &depth, Interval: &interval})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return f, nil
}

// Step reads one message and applies it. A failed check asks for a new snapshot and is
// no error of Step; it is counted in Resyncs.
func (f *Follower) Step() (*Message, error) {
	m, err := f.next()
	if err != nil {
		return nil, err
	}
	b := f.Books[m.Pair]
	if b == nil || m.Channel != "book" {
		return m, nil
	}
	if m.Type == "update" && b.Ready() && m.Seq <= b.Seq {
		f.Repeats++
	}
	var bad error
	if m.Type == "heartbeat" {
		bad = b.Heartbeat(m)
	} else {
		bad = b.Apply(m)
	}
	if bad == nil {
		return m, nil
	}
	f.Resyncs++
	f.Last = bad
	return m, f.Stream.Send(Request{Op: "resync", Channel: "book", Pairs: []string{m.Pair}})
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

// Reconnect opens the stream anew after it broke and goes on from the seqs that the books
// have: each gets what it missed, or a snapshot with reason gap when the server cannot say.
// url is where the server is now; empty: where it was.
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
	for i, pair := range slices.Sorted(maps.Keys(f.Books)) {
		if i >= paceFree {
			select {
			case <-time.After(paceEvery):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		r := Request{Op: "subscribe", ID: pair, Channel: "book", Pairs: []string{pair}, Depth: &f.depth, Interval: &f.interval}
		if b := f.Books[pair]; b.Ready() {
			from := b.Seq
			r.FromSeq, r.Epoch = &from, b.Epoch
		}
		if err := s.Send(r); err != nil {
			return err
		}
	}
	return nil
}
