package jet

import (
	"context"
	"errors"
	"time"

	"github.com/tickhive/tickhive/internal/stream"
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
	// an error or messages were removed (ErrTrimmed) or are lost (ErrMissing, ErrLost): also when the log has another
	// message in the place of one that was delivered. It outlasts failures of the server, and a server that answers
	// from an older state. It returns the error, never nil.
	Follow(ctx context.Context, from uint64, deliver func(seq uint64, data []byte) error) error
	// Trim removes the messages up to a number. A reader that has not read them needs a snapshot.
	Trim(ctx context.Context, seq uint64) error
	// Close ends the use of the log by this node.
	Close()
}

// staleFor is the time for which a log may look shorter than it was, or lack a message, before messages count as lost.
// A server that was frozen, or cut off from the other servers, answers with its former log: it believes for 10 s that
// it leads.
const staleFor = 30 * time.Second

// lasting tells what lasts from what passes: a log that lacks messages may be one of a server that is behind.
type lasting struct {
	within  time.Duration
	sinceNs int64 // 0: the last error was another one
}

// proves notes an error, and reports whether the log has lacked messages for long enough to be believed. nowNs is the
// machine's clock.
func (l *lasting) proves(err error, nowNs int64) bool {
	if !errors.Is(err, ErrMissing) && !errors.Is(err, stream.ErrShrunk) && !errors.Is(err, stream.ErrReplaced) {
		l.sinceNs = 0
		return false
	}
	if l.sinceNs == 0 {
		l.sinceNs = nowNs
	}
	return nowNs-l.sinceNs >= int64(l.within)
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
