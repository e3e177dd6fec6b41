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

// delayedMessage is a message that a fault rule holds back.
type delayedMessage struct {
	*message
	dueNs     int64 // machine time
	overtaken bool  // the next message is sent first
}

// holdback bounds the messages that fault rules hold back on all connections of a Sockets. Owner: its goroutine.
type holdback struct{ count, bytes int }

// faultyDelivery holds the state of deliveries to which fault rules apply. Owner: the hub's goroutine.
type faultyDelivery struct {
	holdback
	hub     *Hub
	waiting []*subscription // subscriptions with held messages
	ended   []endedConn     // connections that a rule ends after the delivery
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
	v := f.judge(rules, &match, m, memberOf, f.hub.opts.MachineNs())
	if v.ends {
		f.ended = append(f.ended, endedConn{sub.conn, v.open})
	}
	for range v.copies {
		f.queueInOrder(&sub.delayed, v.delayedMessage, func(m *message) { f.push(sub, m) })
	}
	if len(sub.delayed) > 0 && !slices.Contains(f.waiting, sub) {
		f.waiting = append(f.waiting, sub)
	}
}

// verdict is what fault rules make of a message: how often and when it is sent, and whether its connection ends.
type verdict struct {
	delayedMessage
	copies     int
	ends, open bool // the connection is closed, or left open and silent
}

// judge applies the fault rules to a message, in the order in which they were added. memberOf returns the member that
// an action falsifies, nil when it falsifies none.
func (f *holdback) judge(rules []*fault.Active, match *fault.Match, m *message, memberOf func(fault.Action) []byte,
	nowNs int64,
) verdict {
	v := verdict{copies: 1}
	var happened []*fault.Active
	for _, a := range rules {
		member := memberOf(a.Action)
		if member != nil && !bytes.Contains(m.frame, member) {
			continue
		}
		d := a.Decide(match)
		if !d.Happens {
			continue
		}
		switch a.Action {
		case fault.Drop, fault.Close, fault.HalfOpen:
			for _, unseen := range happened {
				unseen.Undo()
			}
			if a.Action == fault.Drop {
				return verdict{}
			}
			return verdict{ends: true, open: a.Action == fault.HalfOpen}
		case fault.Repeat:
			v.copies = 2
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
			v.dueNs, v.overtaken = nowNs+int64(delay), a.Action == fault.Reorder
		default: // of requests
		}
		happened = append(happened, a)
	}
	v.message = m
	return v
}

// queueInOrder queues a message behind the ones that are held back for a client. It is sent at once when there are none
// and it has no due time.
func (f *holdback) queueInOrder(held *[]delayedMessage, m delayedMessage, push func(*message)) {
	n := len(*held)
	switch {
	case n > 0 && (*held)[n-1].overtaken:
		last := (*held)[n-1].message
		f.forget(held, n-1, n)
		if m.overtaken { // one of two neighbors overtakes
			m.overtaken, m.dueNs = false, 0
		}
		f.queueInOrder(held, m, push)
		f.queueInOrder(held, delayedMessage{message: last}, push)
	case n > 0:
		m.dueNs = max(m.dueNs, (*held)[n-1].dueNs)
		f.delay(held, m, push)
	case m.dueNs > 0:
		f.delay(held, m, push)
	default:
		push(m.message)
	}
}

// delay holds a message back for a client. When the bounds are reached, everything that is delayed for the client is
// sent first, so that the order stays.
func (f *holdback) delay(held *[]delayedMessage, m delayedMessage, push func(*message)) {
	if f.count >= maxDelayedMessages || f.bytes+len(m.frame) > maxDelayedBytes {
		f.release(held, func(*delayedMessage) bool { return true }, push)
		push(m.message)
		return
	}
	*held = append(*held, m)
	f.count++
	f.bytes += len(m.frame)
}

// release sends the first messages that are held back for a client while they are due.
func (f *holdback) release(held *[]delayedMessage, due func(*delayedMessage) bool, push func(*message)) {
	n := 0
	for ; n < len(*held) && due(&(*held)[n]); n++ {
		push((*held)[n].message)
	}
	f.forget(held, 0, n)
}

// forget removes the messages from..to that are held back for a client.
func (f *holdback) forget(held *[]delayedMessage, from, to int) {
	for _, m := range (*held)[from:to] {
		f.count--
		f.bytes -= len(m.frame)
	}
	*held = slices.Delete(*held, from, to)
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
			f.forget(&sub.delayed, 0, len(sub.delayed))
		}
		f.release(&sub.delayed, due, func(m *message) { f.push(sub, m) })
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
	e.conn.breakOff(e.open)
}

// breakOff closes a connection without a close frame, or leaves it open and silent.
func (c *Conn) breakOff(open bool) {
	c.sockets.forget(c)
	if open {
		c.backlog.finish()
	} else {
		c.failSocket()
	}
}

// Faults applies fault rules to the messages of sessions of another protocol than the hub's. Owner: the goroutine of
// the Sockets.
type Faults struct {
	holdback
	Rules     *fault.Switch // nil: none
	MachineNs func() int64
}

// Held holds the messages of one stream that fault rules hold back, in the order in which they are sent.
type Held struct{ messages []delayedMessage }

// Queue queues a message of a stream, unless a fault rule holds it back or loses it. gap is the member that a rule of
// Gap makes one too high, nil when the message has none. It returns true when a rule has ended the connection: it is
// closed, or open and silent.
func (f *Faults) Queue(c *Conn, held *Held, t Text, match *fault.Match, gap []byte) (ended bool) {
	member := func(a fault.Action) []byte {
		switch {
		case a == fault.Gap && gap != nil:
			return gap
		case a == fault.Gap || a == fault.Checksum:
			return noMember
		default:
			return nil
		}
	}
	v := f.judge(f.Rules.Streams(), match, &message{frame: t.frame, kind: kindSnapshot}, member, f.MachineNs())
	if v.ends {
		c.breakOff(v.open)
	}
	for range v.copies {
		f.queueInOrder(&held.messages, v.delayedMessage, func(m *message) { c.backlog.pushShared(m) })
	}
	return v.ends
}

// noMember is in no message.
var noMember = []byte("\x00")

// Concern reports whether a message of the stream must be queued with Queue: there are rules, or messages that wait.
func (f *Faults) Concern(held *Held) bool { return len(held.messages) > 0 || f.Rules.Streams() != nil }

// Release queues the held messages of a stream that are due; without rules all are.
func (f *Faults) Release(c *Conn, held *Held) {
	if len(held.messages) > 0 {
		none, now := f.Rules.Streams() == nil, f.MachineNs()
		f.release(&held.messages, func(m *delayedMessage) bool { return none || m.dueNs <= now },
			func(m *message) { c.backlog.pushShared(m) })
	}
}

// Forget drops the held messages of a stream that ends.
func (f *Faults) Forget(held *Held) {
	if len(held.messages) > 0 {
		f.forget(&held.messages, 0, len(held.messages))
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
