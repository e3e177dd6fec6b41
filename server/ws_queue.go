package server

import "math"

// wsKind says by which bound a message waits, and whether it outlives the backlog.
type wsKind uint8

const (
	// wsUpdate is a message of a stream. The queue of docs/contract/limits.md#streams is theirs
	// alone; full, they are dropped together and each stream starts over with a snapshot.
	wsUpdate wsKind = iota
	// wsSnapshot is what a subscription begins with: a snapshot, a resume's update or a part
	// of its trades. It is queued where there is room (wsLowBytes) and dropped with the
	// backlog, since the stream then starts over.
	wsSnapshot
	// wsAnswer is owed to an operation of the client (or a ping of ours) and is never
	// dropped: nothing would say it again.
	wsAnswer
	wsKinds
)

// Bounds of one connection's outbound side (docs/contract/limits.md#streams).
const (
	// wsQueueBytes is the queue of docs/contract/limits.md#streams: full once, then one snapshot
	// per stream.
	wsQueueBytes = 1 << 20
	// wsAnswerBytes bounds the answers. The inbound limit of 20 messages a second does not:
	// one message of 8,192 wrong pair codes is answered with 1.2 MB of errors, so a client
	// that never reads could ask for 24 MB a second. The most that well-behaved clients ask
	// for at once is far below: 1,000 subscriptions are acknowledged with 0.13 MB and listed
	// with 0.1 MB. Beyond the bound the connection is closed; to refuse the answer alone
	// would leave a client waiting for it.
	wsAnswerBytes = 4 << 20
	// wsLowBytes is where the hub goes on with snapshots that wait for room. It is their
	// bound: at most one snapshot begins below it and ends above. A bound in bytes would
	// refuse a book of 60,000 levels (1.2 MB) for ever, and counted against wsQueueBytes it
	// would make the queue full for the update behind it, which drops it again.
	wsLowBytes = 256 << 10
)

// wsBounds is how many bytes of a kind may wait. A message alone is always taken.
var wsBounds = [wsKinds]int{wsUpdate: wsQueueBytes, wsSnapshot: math.MaxInt, wsAnswer: wsAnswerBytes}

// wsWaiting is how many bytes of each kind wait.
type wsWaiting [wsKinds]int

func (w *wsWaiting) total() int { return w[wsUpdate] + w[wsSnapshot] + w[wsAnswer] }

// wsQueued is a message on its way, shared by all connections that get it: a queue is
// a list of pointers, since the hub writes it on one core and a pump reads it on another.
type wsQueued struct {
	frame   wsFrame
	kind    wsKind
	private bool // of a private channel: withdrawn when the key ends
}
