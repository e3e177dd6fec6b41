package node

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/wal"
)

// ErrFenced ends a process as the writer: another node is the writer of the stream, and this one must acknowledge
// nothing more. A start finds that out by the newest term (Joining.Read), a running writer by the jet.ErrFenced of its
// appender, which internal/exchange turns into this one.
var ErrFenced = errors.New("another node is the writer now: what this one has stored and the stream has not " +
	"confirmed does not count")

// ErrOtherChain reports a log that is not one of the stream's: neither of the two is the beginning of the other.
var ErrOtherChain = errors.New("node: the log and the stream have different records")

// Joining brings a writer's log and its stream together, before its loop runs: the log takes the records that the
// stream has beyond it. One goroutine uses it.
type Joining struct {
	Machine
	Stream  jet.Log
	Keys    *stream.Keys
	History [16]byte // of the exchange
	Log     *wal.Log
	State   *machine.State // at the end of Log
	// Known is a state of the stream whose records the log has; the zero State: none is known.
	Known stream.State
	// Had reports whether the term of a number was this exchange's.
	Had func(number uint64) bool

	r      *stream.Reader
	behind stream.State // before the first message with a record that the log lacks
	beyond bool         // there is such a message
}

// Read reads the stream to its present end, from the place where the last Read ended, and takes the records that the
// log lacks. The log has all records of the stream then, and at is the stream's state.
//
// Errors: ErrFenced, ErrOtherChain, those of jet.Log, stream.Reader and Execute.
func (j *Joining) Read(ctx context.Context) (at stream.State, err error) {
	last, err := j.Stream.Last(ctx)
	if err != nil {
		return at, err
	}
	if j.r == nil {
		if at, err = begins(ctx, j.Stream, j.Known); err != nil {
			return at, err
		}
		j.r = stream.NewReader(at, j.Knows(), j.Keys)
	}
	j.beyond = false
	differs, err := j.survey(ctx, last)
	if errors.Is(err, jet.ErrTrimmed) {
		err = fmt.Errorf("%w: the directory lacks records that nodes have in their snapshots. Start this machine as a "+
			"standby, tickhive replica --promote --data-dir NEW, or make a directory from the snapshot of a node, "+
			"tickhive restore FILE NEW", err)
	}
	if err != nil {
		return at, err
	}
	at = j.r.State()
	switch {
	case at.History == [16]byte{}:
		return at, j.r.Unsure()
	case at.History != j.History:
		return at, fmt.Errorf("it belongs to another exchange, of the history %x", at.History)
	case at.Term > 0 && !j.Had(at.Node):
		return at, fmt.Errorf("%w (term %d). Start this machine as a standby: the same command with --promote, or "+
			"tickhive replica --promote --data-dir DIR", ErrFenced, at.Term)
	case differs:
		return at, j.otherChain(at)
	}
	if err := j.r.Unsure(); err != nil { // this node campaigns behind it
		return at, err
	}
	if at.End.Seq < j.Log.LastSeq() {
		return at, j.check(at)
	}
	return at, j.take(ctx, last)
}

// begins is Begins for a caller that has just asked the stream for its end: no message is waited for.
func begins(ctx context.Context, log jet.Log, known stream.State) (at stream.State, err error) {
	at, _, err = oneOf([]stream.State{known}, func(seq uint64) ([]byte, error) { return log.Read(ctx, seq) })
	return at, err
}

// survey reads the messages and compares the chain at the end of the log.
func (j *Joining) survey(ctx context.Context, last uint64) (differs bool, err error) {
	at, own := j.r.State(), j.Log.Position()
	compare := func(end wal.Position) { differs = differs || end.Seq == own.Seq && end != own }
	compare(at.End)
	err = follow(ctx, j.Stream, j.r, last, func(before stream.State, m *stream.Message) error {
		end := j.r.State().End
		if m.Kind == stream.Base && end.Seq > own.Seq {
			return fmt.Errorf("%w: it begins behind record %d, and the data directory ends at record %d",
				jet.ErrTrimmed, end.Seq, own.Seq)
		}
		if end.Seq > own.Seq && !j.beyond {
			j.behind, j.beyond = before, true
		}
		if m.At.Seq <= own.Seq && own.Seq <= end.Seq && m.Kind != stream.Base {
			end = m.At
			compare(end)
			for _, record := range m.All() {
				end = end.Next(record)
				compare(end)
			}
		}
		compare(end)
		return nil
	})
	return differs, err
}

// follow reads the messages up to the number last and calls each for those that count, with the state before it.
func follow(ctx context.Context, log jet.Log, r *stream.Reader, last uint64,
	each func(before stream.State, m *stream.Message) error,
) error {
	if r.State().Seq >= last {
		return nil
	}
	err := log.Follow(ctx, r.State().Seq+1, func(seq uint64, data []byte) error {
		before := r.State()
		m, valid, err := r.Next(seq, data)
		if err == nil && valid {
			err = each(before, &m)
		}
		if err == nil && seq >= last {
			err = io.EOF
		}
		return err
	})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// End reads a whole stream and returns the state behind it. A node may campaign there.
func End(ctx context.Context, log jet.Log, keys *stream.Keys) (at stream.State, err error) {
	last, err := log.Last(ctx)
	if err != nil {
		return at, err
	}
	r := stream.NewReader(at, Rules, keys)
	err = follow(ctx, log, r, last, func(stream.State, *stream.Message) error { return nil })
	if err == nil {
		err = r.Unsure()
	}
	return r.State(), err
}

// check compares the chains where the stream ends before the log.
func (j *Joining) check(at stream.State) error {
	own, err := positionOf(j.Log, at.End.Seq)
	switch {
	case err != nil:
		return Lacks(err)
	case own != at.End:
		return j.otherChain(at)
	}
	return nil
}

// positionOf returns the place of a log behind a record.
//
// Errors: wal.ErrTruncated.
func positionOf(log *wal.Log, seq uint64) (at wal.Position, err error) {
	if at = log.Position(); at.Seq == seq {
		return at, nil
	}
	r, err := log.Reader(seq + 1)
	if err != nil {
		return at, err
	}
	if at = r.Position(); at.Seq == seq { // it begins there
		return at, r.Close()
	}
	if err = r.Close(); err != nil {
		return at, err
	}
	if r, err = log.Reader(seq); err != nil {
		return at, err
	}
	_, err = r.Next()
	return r.Position(), errors.Join(err, r.Close())
}

// otherChain explains that the log cannot continue the stream.
func (j *Joining) otherChain(at stream.State) error {
	own := j.Log.Position()
	return fmt.Errorf("%w: the data directory ends at record %d (chain %016x), the stream at record %d (chain %016x). "+
		"If the directory was restored from a copy, or is another machine's: start it with another --data-dir, or "+
		"as a standby (--promote). To keep what the directory has: `tickhive stream restore NEW --from-dir DIR` "+
		"makes a directory that begins a new stream; change the credentials of the servers if somebody else has "+
		"written to theirs", ErrOtherChain, own.Seq, own.Chain, at.End.Seq, at.End.Chain)
}

// take executes and appends what the stream has beyond the log.
func (j *Joining) take(ctx context.Context, last uint64) error {
	if !j.beyond {
		return nil
	}
	r := stream.NewReader(j.behind, j.Knows(), j.Keys)
	err := follow(ctx, j.Stream, r, last, func(_ stream.State, m *stream.Message) error {
		if _, err := Execute(j.State, m); err != nil { // before it is in the log
			return fmt.Errorf("a message of it cannot be executed: %w. `tickhive stream restore NEW --from-dir DIR` "+
				"makes a directory of what this one has, which begins a new stream; if somebody else has written "+
				"the message, change the cluster's key and the credentials of the servers", err)
		}
		var batch [][]byte
		for pos, record := range m.All() {
			if pos > j.Log.LastSeq() {
				batch = append(batch, record)
			}
		}
		if len(batch) == 0 {
			return nil
		}
		_, err := j.Log.Append(batch)
		return err
	})
	if err != nil {
		return err
	}
	if own, end := j.Log.Position(), r.State().End; own != end {
		return fmt.Errorf("BUG: the log ends at %v behind the stream at %v", own, end)
	}
	return j.Log.Sync()
}
