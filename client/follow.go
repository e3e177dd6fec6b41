package client

import (
	"context"
	"errors"
)

// Follower keeps the books of several pairs right over one stream: it subscribes, checks
// every message and asks for a new snapshot of a pair that failed, without reconnecting.
type Follower struct {
	Stream  *Stream
	Books   map[string]*Book
	Resyncs int   // how often a book had to be taken anew
	Last    error // why it last had to
}

// NewFollower subscribes to the books of pairs.
func NewFollower(ctx context.Context, url string, pairs []string, depth, interval int) (*Follower, error) {
	s, err := Dial(ctx, url)
	if err != nil {
		return nil, err
	}
	f := &Follower{Stream: s, Books: make(map[string]*Book, len(pairs))}
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
	m, err := f.Stream.Next()
	if err != nil {
		return nil, err
	}
	b := f.Books[m.Pair]
	if b == nil || m.Channel != "book" {
		return m, nil
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
