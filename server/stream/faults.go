package stream

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/tickhive/tickhive/internal/fault"
)

// Bounds of the messages that fault rules hold back on all connections. Beyond them a message is sent at once.
const (
	maxDelayedMessages = 10_000
	maxDelayedBytes    = 16 << 20
	// reorderWithin limits the time for which a message waits to be overtaken.
	reorderWithin = time.Second
)

// heldMessage is a message that a fault rule holds back.
type delayedMessage struct {
	*message
	dueNs     int64 // machine time
	overtaken bool  // the next message is sent first
}

// faultyDelivery holds the state of deliveries to which fault rules apply. Owner: the hub's goroutine.
type faultyDelivery struct {
	hub     *Hub
	waiting []*subscription // subscriptions with held messages
	count   int
	bytes   int
	ended   []endedConn // connections that a rule ends after the delivery
}

// endedConn is a connection that a fault rule closes or leaves half open.
type endedConn struct {
	conn *session
	open bool
}

// deliver queues messages like Hub.deliver and applies the fault rules, in the order in which they were added.
// A fault happens to one subscriber's copy of a message. Snapshots and answers to operations are never faulty, so a
// client can always start over.
func (f *faultyDelivery) deliver(batch []delivery, rules []*fault.Active) {
	if rules == nil {
		f.releaseHeld(func(*delayedMessage) bool { return true })
	}
	for _, b := range batch {
		for _, sub := range b.stream.subs {
			if sub.live {
				f.one(sub, b.message, rules)
			}
		}
	}
	f.hub.writers.flush()
	for _, e := range f.ended {
		f.endConn(e)
	}
	f.ended = f.ended[:0]
}

// one queues a message for one subscriber, unless a fault rule holds it back or loses it.
func (f *faultyDelivery) one(sub *subscription, m *message, rules []*fault.Active) {
	match := fault.Match{
		Listener: "public", Channel: sub.stream.key.name(), NowNs: f.hub.opts.Clock.NowNs(), Names: sub.namesPair(m),
	}
	if sub.conn.hub.authed {
		match.Key = sub.conn.hub.key.PublicKey
	}
	copies, held := 1, delayedMessage{}
	for _, a := range rules {
		member := memberOf(a.Action)
		if member != nil && !bytes.Contains(m.frame, member) {
			continue
		}
		d := a.Decide(&match)
		if !d.Happens {
			continue
		}
		switch a.Action {
		case fault.Drop:
			return
		case fault.Close, fault.HalfOpen:
			f.ended = append(f.ended, endedConn{sub.conn, a.Action == fault.HalfOpen})
			return
		case fault.Repeat:
			copies = 2
		case fault.Gap:
			m = changed(m, member, func(n uint64) uint64 { return n + 1 })
		case fault.Checksum:
			m = changed(m, member, func(n uint64) uint64 { return n ^ 1 })
		case fault.Reorder, fault.Delay:
			if f.count >= maxDelayedMessages || f.bytes+len(m.frame) > maxDelayedBytes {
				a.Skip()
				continue
			}
			delay := reorderWithin
			if a.Action == fault.Delay {
				delay = a.DelayOf(d)
			}
			held = delayedMessage{m, f.hub.opts.MachineNs() + int64(delay), a.Action == fault.Reorder}
		case fault.Latency, fault.Status, fault.RateLimit, fault.Truncate, fault.Stale, fault.LostAck, fault.Skew,
			fault.Slow, fault.Empty, fault.HTML, fault.BrokenJSON, fault.Redirect, fault.ContentType, fault.Missing,
			fault.Null, fault.Zero, fault.Crossed, fault.Doubled:
			// of requests
		}
	}
	for range copies {
		held.message = m
		f.queueInOrder(sub, held)
	}
}

// queueInOrder queues a message behind the ones that are held back for the subscriber. It is sent at once when there
// are none and it has no due time.
func (f *faultyDelivery) queueInOrder(sub *subscription, m delayedMessage) {
	n := len(sub.delayed)
	switch {
	case n > 0 && sub.delayed[n-1].overtaken:
		last := sub.delayed[n-1].message
		f.forget(sub, n-1, n)
		if m.overtaken { // one of two neighbors overtakes
			m.overtaken, m.dueNs = false, 0
		}
		f.queueInOrder(sub, m)
		f.queueInOrder(sub, delayedMessage{message: last})
	case n > 0:
		m.dueNs = max(m.dueNs, sub.delayed[n-1].dueNs)
		f.delay(sub, m)
	case m.dueNs > 0:
		f.delay(sub, m)
	default:
		f.push(sub, m.message)
	}
}

// delay holds a message back for a subscriber. When the bounds are reached, everything that is delayed for the
// subscriber is sent first, so that the order stays.
func (f *faultyDelivery) delay(sub *subscription, m delayedMessage) {
	if f.count >= maxDelayedMessages || f.bytes+len(m.frame) > maxDelayedBytes {
		for _, held := range sub.delayed {
			f.push(sub, held.message)
		}
		f.forget(sub, 0, len(sub.delayed))
		f.push(sub, m.message)
		return
	}
	if len(sub.delayed) == 0 && !slices.Contains(f.waiting, sub) {
		f.waiting = append(f.waiting, sub)
	}
	sub.delayed = append(sub.delayed, m)
	f.count++
	f.bytes += len(m.frame)
}

// forget removes the messages from..to that are held back for a subscriber.
func (f *faultyDelivery) forget(sub *subscription, from, to int) {
	for _, m := range sub.delayed[from:to] {
		f.count--
		f.bytes -= len(m.frame)
	}
	sub.delayed = slices.Delete(sub.delayed, from, to)
}

func (f *faultyDelivery) push(sub *subscription, m *message) {
	if !sub.backlog.pushShared(m) {
		f.hub.slow = append(f.hub.slow, sub.conn)
	}
}

// releaseDue sends the held messages that are due. The next flush wakes the writers.
func (f *faultyDelivery) releaseDue() {
	if len(f.waiting) == 0 {
		return
	}
	now := f.hub.opts.MachineNs()
	f.hub.slow = f.hub.slow[:0]
	f.releaseHeld(func(m *delayedMessage) bool { return m.dueNs <= now })
	f.hub.slow.resync(f.hub)
}

// releaseHeld sends the first held messages of each subscription while they are due. Messages of a subscription that
// has ended or starts over are discarded.
func (f *faultyDelivery) releaseHeld(due func(*delayedMessage) bool) {
	f.waiting = slices.DeleteFunc(f.waiting, func(sub *subscription) bool {
		if !sub.live || sub.conn.hub.subs[sub.stream.key.subKey()] != sub {
			f.forget(sub, 0, len(sub.delayed))
		}
		n := 0
		for ; n < len(sub.delayed) && due(&sub.delayed[n]); n++ {
			f.push(sub, sub.delayed[n].message)
		}
		f.forget(sub, 0, n)
		return len(sub.delayed) == 0
	})
}

// endConn closes a connection without a close frame, or leaves it open and silent.
func (f *faultyDelivery) endConn(e endedConn) {
	if e.conn.hub.detached {
		return
	}
	e.conn.hub.detached = true
	f.hub.unsubscribeAll(e.conn)
	f.hub.forget(e.conn.Conn)
	if e.open {
		e.conn.backlog.finish()
	} else {
		e.conn.failSocket()
	}
}

// namesPair returns the function that reports whether a message concerns a pair.
func (s *subscription) namesPair(m *message) func(pair string) bool {
	return func(pair string) bool {
		if s.stream.key.paired() {
			return s.stream.view.Instrument.Code == pair
		}
		return bytes.Contains(m.frame, []byte(`"currencyPairCode":"`+pair+`"`))
	}
}

var (
	prevSeqMember  = []byte(`"prevSeq":`)
	checksumMember = []byte(`"checksum":`)
)

// memberOf returns the member that an action falsifies, nil when it falsifies none.
func memberOf(a fault.Action) []byte {
	switch a {
	case fault.Gap:
		return prevSeqMember
	case fault.Checksum:
		return checksumMember
	default:
		return nil
	}
}

// changed returns a copy of a message in which the integer of a member is replaced.
func changed(m *message, member []byte, change func(uint64) uint64) *message {
	payload := m.frame.payload()
	at := bytes.Index(payload, member) + len(member)
	end := at
	for end < len(payload) && payload[end]-'0' <= 9 {
		end++
	}
	n, err := strconv.ParseUint(string(payload[at:end]), 10, 64)
	if err != nil {
		return m
	}
	text := strconv.AppendUint(slices.Clone(payload[:at]), change(n), 10)
	return &message{frame: newFrame(opText, append(text, payload[end:]...)), kind: m.kind, private: m.private}
}
