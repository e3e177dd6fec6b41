package client

import (
	"slices"
	"time"
)

// A Follower's own messages must stay within the server's limit of 20 messages a second, even when every book
// fails at once: the server refuses a message above the limit with every request in it.
const (
	sendWindow  = 1100 * time.Millisecond // a little longer than the second over which the server counts
	sendAtMost  = 15                      // messages in a window; the rest of the server's 20 is left to the caller
	resyncEvery = 100 * time.Millisecond  // a resync covers the books that fail within this time
	retryAfter  = time.Second             // shortest time between two requests for the same pair
)

// subscription holds the state of one pair's subscription.
type subscription struct {
	acked bool
	asked time.Time // time of the last subscribe or resync for the pair; zero: request it at once
}

// resyncer decides which requests a Follower sends to the server. It reads no clock and sends nothing itself.
//
//	wanted --subscribe--> asked --subscribed--> acked --failed--> broken --resync--> acked
//
// Invariant: each pair that the server did not refuse permanently either is acked with a ready book,
// or will be requested again.
type resyncer struct {
	subscriptions map[string]*subscription
	wanted        []string            // pairs to subscribe to, in this order
	broken        map[string]struct{} // acked pairs whose book is not ready
	sent          []time.Time         // times of the messages sent within the last sendWindow
	synced        time.Time           // time of the last resync
}

func newResyncer(pairs []string) resyncer {
	m := resyncer{
		subscriptions: make(map[string]*subscription, len(pairs)), wanted: slices.Clone(pairs),
		broken: map[string]struct{}{},
	}
	for _, p := range pairs {
		m.subscriptions[p] = &subscription{}
	}
	return m
}

// receive applies one message at the time now and returns the requests to send.
func (f *Follower) receive(m *Message, now time.Time) []Request {
	b, l := f.Books[m.Pair], f.resyncs.subscriptions[m.Pair]
	switch {
	case m.Type == "error":
		f.resyncs.handleError(m)
	case b == nil || l == nil || m.Channel != "book":
	case m.Type == "subscribed":
		l.acked = true
	default:
		f.check(b, l, m)
	}
	return f.due(now)
}

// check applies a message to its book and marks the pair as broken if that fails.
func (f *Follower) check(b *Book, l *subscription, m *Message) {
	was := b.Ready()
	if m.Type == "update" && was && m.Seq <= b.Seq {
		f.Repeats++
	}
	apply := b.Apply
	if m.Type == "heartbeat" {
		apply = b.Heartbeat
	}
	if err := apply(m); err != nil {
		f.Resyncs++
		f.Last = err
	}
	if b.Ready() {
		delete(f.resyncs.broken, m.Pair)
		return
	}
	f.resyncs.broken[m.Pair] = struct{}{}
	if was {
		l.asked = time.Time{}
	}
}

// handleError handles an error message of the server. An error about the message limit names no pair; every
// pair that is not acked is then requested again.
func (m *resyncer) handleError(e *Message) {
	l := m.subscriptions[e.Pair]
	switch {
	case e.Pair == "" && e.Code == CodeRateLimit:
		for pair, l := range m.subscriptions {
			if !l.acked && !slices.Contains(m.wanted, pair) {
				m.wanted = append(m.wanted, pair)
			}
		}
		slices.Sort(m.wanted)
	case l == nil || e.Channel != "book":
	case l.acked && e.Code == CodeNotFound && string(e.ID) == `"resync"`: // the server no longer has the subscription
		l.acked = false
		delete(m.broken, e.Pair)
		m.wanted = append(m.wanted, e.Pair)
	case e.Code == CodeStale: // it resumes behind more than the replica has yet
		delete(m.broken, e.Pair)
		m.wanted = append(m.wanted, e.Pair)
	default:
		delete(m.broken, e.Pair) // the same request would get the same error
	}
}

// due returns the requests to send at the time now: one resync for all failed books, one subscribe for all
// pairs without a book, and one for each pair that resumes from its seq.
func (f *Follower) due(now time.Time) (out []Request) {
	m := &f.resyncs
	m.sent = slices.DeleteFunc(m.sent, func(t time.Time) bool { return now.Sub(t) >= sendWindow })
	if pairs := m.failed(now); len(pairs) > 0 && m.spendMessage(now) {
		m.markAsked(pairs, now)
		m.synced = now
		out = append(out, Request{Op: "resync", ID: "resync", Channel: "book", Pairs: pairs})
	}
	if len(m.wanted) == 0 {
		return out
	}
	var bare, resumed, later []string
	for _, p := range m.wanted {
		switch l := m.subscriptions[p]; {
		case l.acked:
		case now.Sub(l.asked) < retryAfter:
			later = append(later, p)
		case f.Books[p].Ready():
			resumed = append(resumed, p)
		default:
			bare = append(bare, p)
		}
	}
	if len(bare) > 0 && m.spendMessage(now) {
		m.markAsked(bare, now)
		out = append(out, f.subscribe("books", bare))
		bare = nil
	}
	for len(resumed) > 0 && m.spendMessage(now) {
		p := resumed[:1]
		m.markAsked(p, now)
		r := f.subscribe(p[0], p)
		from := f.Books[p[0]].Seq
		r.FromSeq, r.Epoch = &from, f.Books[p[0]].Epoch
		out, resumed = append(out, r), resumed[1:]
	}
	m.wanted = slices.Concat(bare, resumed, later)
	return out
}

func (f *Follower) subscribe(id string, pairs []string) Request {
	return Request{Op: "subscribe", ID: id, Channel: "book", Pairs: pairs, Depth: &f.depth, Interval: &f.interval}
}

// failed returns the broken pairs to request at the time now.
func (m *resyncer) failed(now time.Time) (pairs []string) {
	if len(m.broken) == 0 || now.Sub(m.synced) < resyncEvery {
		return nil
	}
	for p := range m.broken {
		if l := m.subscriptions[p]; l.acked && now.Sub(l.asked) >= retryAfter {
			pairs = append(pairs, p)
		}
	}
	slices.Sort(pairs)
	return pairs
}

// spendMessage counts one message in the window. It returns false when the window is full.
func (m *resyncer) spendMessage(now time.Time) bool {
	if len(m.sent) >= sendAtMost {
		return false
	}
	m.sent = append(m.sent, now)
	return true
}

func (m *resyncer) markAsked(pairs []string, now time.Time) {
	for _, p := range pairs {
		m.subscriptions[p].asked = now
	}
}
