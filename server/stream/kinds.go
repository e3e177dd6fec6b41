package stream

import "math"

// messageKind selects the limit of a queued message and whether drop discards it.
type messageKind uint8

const (
	// kindUpdate is a message of a stream. Only updates count against the queue of
	// docs/contract/limits.md#streams. When it is full, all are dropped and each stream
	// starts over with a snapshot.
	kindUpdate messageKind = iota
	// kindSnapshot is the first message of a subscription: a snapshot, or the update or trades
	// of a resume. It is queued when there is room (lowMarkBytes) and dropped with the backlog,
	// because the stream then starts over.
	kindSnapshot
	// kindAnswer is an answer to a client's operation (or the server's ping). It is never
	// dropped, because nothing would repeat it.
	kindAnswer
	messageKinds
)

// Limits of one connection's outbound side (docs/contract/limits.md#streams).
const (
	// maxUpdateBytes is the limit of queued updates (docs/contract/limits.md#streams). A full
	// queue leads to one snapshot per stream.
	maxUpdateBytes = 1 << 20
	// maxAnswerBytes limits the queued answers. The inbound limit of 20 messages a second does
	// not: one message of 8,192 wrong pair codes causes 1.2 MB of errors, so a client that
	// never reads could cause 24 MB a second. Well-behaved clients stay far below the limit:
	// the acknowledgements of 1,000 subscriptions take 0.13 MB and their list 0.1 MB. Beyond
	// the limit the server closes the connection; dropping only the answer would leave the
	// client waiting for it.
	maxAnswerBytes = 4 << 20
	// lowMarkBytes is the backlog below which the hub queues the next waiting snapshot, so at most one snapshot
	// ends above the mark. A hard limit would refuse a book of 60,000 levels (1.2 MB) for ever. If snapshots
	// counted against maxUpdateBytes, that book would leave no room for the following update, which would make
	// the client resync again.
	lowMarkBytes = 256 << 10
)

// maxQueuedBytes limits the queued bytes of each kind. A single message is always accepted.
var maxQueuedBytes = [messageKinds]int{
	kindUpdate: maxUpdateBytes, kindSnapshot: math.MaxInt,
	kindAnswer: maxAnswerBytes,
}

// queuedBytes counts the queued bytes of each kind.
type queuedBytes [messageKinds]int

func (w *queuedBytes) total() int { return w[kindUpdate] + w[kindSnapshot] + w[kindAnswer] }

// message is a queued message, shared by all connections that receive it. A queue is a list
// of pointers, because the hub writes it on one core and a writer reads it on another.
type message struct {
	frame   frame // one frame, or those of several updates one after the other
	more    int   // number of updates beyond the first one
	kind    messageKind
	private bool // of a private channel; withdrawn when the key ends
}
