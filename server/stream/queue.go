package stream

import "math"

// wsKind selects the limit of a queued message and whether drop discards it.
type wsKind uint8

const (
	// wsUpdate is a message of a stream. Only updates count against the queue of
	// docs/contract/limits.md#streams. When it is full, all are dropped and each stream
	// starts over with a snapshot.
	wsUpdate wsKind = iota
	// wsSnapshot is the first message of a subscription: a snapshot, or the update or trades
	// of a resume. It is queued when there is room (wsLowBytes) and dropped with the backlog,
	// because the stream then starts over.
	wsSnapshot
	// wsAnswer is an answer to a client's operation (or the server's ping). It is never
	// dropped, because nothing would repeat it.
	wsAnswer
	wsKinds
)

// Limits of one connection's outbound side (docs/contract/limits.md#streams).
const (
	// wsQueueBytes is the limit of queued updates (docs/contract/limits.md#streams). A full
	// queue leads to one snapshot per stream.
	wsQueueBytes = 1 << 20
	// wsAnswerBytes limits the queued answers. The inbound limit of 20 messages a second does
	// not: one message of 8,192 wrong pair codes causes 1.2 MB of errors, so a client that
	// never reads could cause 24 MB a second. Well-behaved clients stay far below the limit:
	// the acknowledgements of 1,000 subscriptions take 0.13 MB and their list 0.1 MB. Beyond
	// the limit the server closes the connection; dropping only the answer would leave the
	// client waiting for it.
	wsAnswerBytes = 4 << 20
	// wsLowBytes is the low mark: below it the hub queues the next waiting snapshot, so at
	// most one snapshot starts below the mark and ends above it. A hard limit would refuse a
	// book of 60,000 levels (1.2 MB) for ever. Counted against wsQueueBytes, that book would
	// make the queue full for the update behind it, which would drop the book again.
	wsLowBytes = 256 << 10
)

// wsBounds limits the queued bytes of each kind. A single message is always accepted.
var wsBounds = [wsKinds]int{wsUpdate: wsQueueBytes, wsSnapshot: math.MaxInt, wsAnswer: wsAnswerBytes}

// wsWaiting counts the queued bytes of each kind.
type wsWaiting [wsKinds]int

func (w *wsWaiting) total() int { return w[wsUpdate] + w[wsSnapshot] + w[wsAnswer] }

// wsQueued is a queued message, shared by all connections that receive it. A queue is a list
// of pointers, because the hub writes it on one core and a pump reads it on another.
type wsQueued struct {
	frame   wsFrame
	kind    wsKind
	private bool // of a private channel; withdrawn when the key ends
}
