package jet

import (
	"context"
	"errors"
	"io"
	"time"

	"tickhive/internal/clock"
	"tickhive/internal/stream"
)

// The operating errors of a log. They are wrapped: use errors.Is.
var (
	// ErrRefused reports that the log does not end where the publication expects it.
	ErrRefused = errors.New("jet: the log ends elsewhere")
	// ErrUnavailable reports that no server answered. A publication may still arrive.
	ErrUnavailable = errors.New("jet: the log is not available")
	// ErrTrimmed reports messages that were removed at the beginning of the log: a reader needs a snapshot.
	ErrTrimmed = errors.New("jet: the messages were removed")
	// ErrLost reports that the server does not know the log any more.
	ErrLost = errors.New("jet: the log does not exist any more")
	// ErrMissing reports messages that the log had and does not have any more, although it was not trimmed up to them.
	ErrMissing = errors.New("jet: the log has lost messages")
	// ErrSettings reports settings, of a connection or of an existing stream, that the log must not have.
	ErrSettings = errors.New("jet: settings")
	// ErrSeed reports a text that is not the seed of a user.
	ErrSeed = errors.New("jet: no seed of a user, as nk makes it")
)

// Answer is the answer to a publication: its number in the log, or an error.
type Answer struct {
	Number uint64 // of the publication
	Seq    uint64
	Err    error
}

// Log is a totally ordered log of messages, numbered 1, 2, 3 ... Any goroutine may call it.
type Log interface {
	// Publish sends a message that is appended if the log ends at expect. It does not wait. The answer, if any,
	// arrives at Answers. An error means that nothing was sent.
	//
	// Retains: data, which must not change.
	Publish(number, expect uint64, data []byte) error
	// Answers returns the channel of answers. Answers that are not received in time are dropped.
	Answers() <-chan Answer
	// Last returns the number of the last message, 0 for an empty log. It asks again for a while when no server
	// answers; ctx may bound that.
	Last(ctx context.Context) (uint64, error)
	// Read returns a message. One that the log does not have, between its ends or behind the last one, is ErrMissing:
	// it is lost, or the server is behind.
	Read(ctx context.Context, seq uint64) ([]byte, error)
	// Follow calls deliver with the messages from the number from on, as they come, until ctx ends, deliver returns
	// an error or messages were removed (ErrTrimmed) or are lost (ErrMissing, ErrLost). It outlasts failures of the
	// server, and a server that answers from an older state. It returns the error, never nil.
	Follow(ctx context.Context, from uint64, deliver func(seq uint64, data []byte) error) error
	// Trim removes the messages up to a number. A reader that has not read them needs a snapshot.
	Trim(ctx context.Context, seq uint64) error
	// Archive opens the snapshots that nodes have archived for readers of this log.
	Archive() Archive
	// Respond calls answer with each question of another node, one after the other, until stop is called. nil is no
	// answer.
	//
	// Errors: ErrUnavailable.
	Respond(answer func(question []byte) []byte) (stop func(), err error)
	// Ask asks all nodes that respond, and returns at most the given number of answers. It waits for the time within,
	// but after an answer only for a tenth of within. Any client of the servers may have sent the answers.
	//
	// Errors: ErrUnavailable.
	Ask(ctx context.Context, question []byte, within time.Duration, most int) (answers [][]byte, err error)
	// Close ends the use of the log by this node.
	Close()
}

// Archived describes a snapshot in an Archive.
type Archived struct {
	Seq   uint64 // number of the last message that it reflects
	Bytes uint64
	AtMs  int64 // when it was archived, Unix ms
}

// Archive holds snapshots of nodes, by the number of the last message that each reflects. Any goroutine may call it.
type Archive interface {
	// List returns the snapshots that are complete, the newest one first.
	List(ctx context.Context) ([]Archived, error)
	// Put adds a snapshot and removes all but the newest keep ones.
	Put(ctx context.Context, seq uint64, body io.Reader, keep int) error
	// Open returns the body of a snapshot. Its last Read fails if the body is not the one that was put. The caller
	// closes it.
	//
	// Errors: ErrTrimmed when there is none.
	Open(ctx context.Context, seq uint64) (io.ReadCloser, error)
}

// staleFor is the time for which a log may look shorter than it was, or lack a message, before messages count as lost.
// A server that was frozen, or cut off from the other servers, answers with its former log: it believes for 10 s that
// it leads.
const staleFor = 30 * time.Second

// lasting tells what lasts from what passes: a log that lacks messages may be one of a server that is behind.
type lasting struct {
	within  time.Duration
	sinceNs int64 // by the machine's clock; 0: the last error was another one
}

// proves notes an error, and reports whether it has been ErrMissing or ErrShrunk for long enough to be believed.
func (l *lasting) proves(err error) bool {
	if !errors.Is(err, ErrMissing) && !errors.Is(err, stream.ErrShrunk) {
		l.sinceNs = 0
		return false
	}
	now := clock.MachineNs()
	if l.sinceNs == 0 {
		l.sinceNs = now
	}
	return now-l.sinceNs >= int64(l.within)
}

// openAnswers is the number of answers that may wait in the channel.
const openAnswers = 1024

// offer puts an answer into the channel unless it is full. A missing answer is a doubt, never an error.
func offer(answers chan<- Answer, a Answer) {
	select {
	case answers <- a:
	default:
	}
}
