package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/wal"
)

// Start finds the snapshot with which a node begins that has none of its own. One goroutine uses it.
type Start struct {
	Machine Machine
	Log     jet.Log
	Keys    *stream.Keys
	File    string       // a snapshot that the operator has named; it comes first, and has to be usable
	Peers   []string     // URLs of internal listeners, before the one of the writer
	Token   string       // for them; empty: Client proves the node
	Client  *http.Client // asks the nodes; nil: only File counts
	To      string       // file for a download; the caller removes it
	Options wal.Options
	Genesis Genesis // of the stream; the zero Genesis: not known
	Report  *slog.Logger
}

// Find returns the named snapshot, or the newest one of a named node, or of the writer; nil: the node begins with the
// first message. The caller closes it.
func (s *Start) Find(ctx context.Context) (*wal.SnapshotFile, error) {
	if s.File != "" {
		f, err := OpenSnapshot(s.Machine.FS, s.File, s.Options)
		if err == nil {
			if err = s.usable(f); err == nil {
				s.Report.Info("begins with a snapshot", "file", s.File, "record", f.Meta.Seq)
				return f, nil
			}
			err = errors.Join(err, f.Close())
		}
		return nil, fmt.Errorf("--snapshot: %w", err)
	}
	if s.Client == nil {
		return nil, nil
	}
	from := s.Peers
	if len(from) == 0 {
		record, err := NewestTerm(ctx, s.Log, s.Keys)
		if err != nil {
			s.Report.Warn("the address of the writer cannot be read in the stream", "error", err)
		}
		var at struct{ Internal string }
		if json.Unmarshal(record.Info, &at) == nil && at.Internal != "" {
			from = []string{at.Internal}
		}
	}
	for _, url := range from {
		f, err := s.fetch(ctx, url)
		if err == nil {
			s.Report.Info("begins with a snapshot of another node", "node", url, "record", f.Meta.Seq)
			return f, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s.Report.Info("no snapshot of another node", "node", url, "error", err)
	}
	s.Report.Info("begins with the first message of the stream")
	return nil, nil
}

func (s *Start) fetch(ctx context.Context, url string) (*wal.SnapshotFile, error) {
	fetch := Fetch{
		Machine: s.Machine, From: Peer{URL: url, Token: s.Token, Client: s.Client}, To: s.To, Options: s.Options,
	}
	f, err := fetch.Run(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.usable(f); err != nil {
		return nil, errors.Join(err, f.Close(), s.Machine.FS.Remove(s.To))
	}
	return f, nil
}

// usable returns the reason why the node does not begin with a snapshot.
func (s *Start) usable(f *wal.SnapshotFile) error {
	h, err := ParseHead(f.Meta)
	switch {
	case err != nil:
		return err
	case s.Genesis != Genesis{} && h.Genesis.Epoch != s.Genesis.Epoch:
		return fmt.Errorf("it is of the epoch %s, and the stream of %s", h.Genesis.Epoch, s.Genesis.Epoch)
	}
	return nil
}

// lookBack is the number of messages at the end of a stream of which one must verify.
const lookBack = 64

// NewestTerm returns the newest term record of a stream, the zero Message if it cannot be found.
func NewestTerm(ctx context.Context, log jet.Log, keys *stream.Keys) (none stream.Message, err error) {
	last, err := log.Last(ctx)
	if err != nil {
		return none, err
	}
	read := func(seq uint64) (m stream.Message, ok bool, err error) {
		data, err := log.Read(ctx, seq)
		if errors.Is(err, jet.ErrTrimmed) || errors.Is(err, jet.ErrMissing) {
			return m, false, nil
		}
		if err == nil {
			m, err = stream.Decode(data, keys)
			return m, err == nil, nil
		}
		return m, false, err
	}
	high, newest := last, uint64(0)
	for ; high > 0 && high+lookBack > last && newest == 0; high-- {
		m, ok, err := read(high)
		if err != nil {
			return none, err
		}
		if ok {
			newest, high = m.Term, high+1
		}
	}
	if newest == 0 {
		return none, nil
	}
	low := uint64(1)
	for low < high { // the first message with the term
		mid := low + (high-low)/2
		m, ok, err := read(mid)
		if err != nil {
			return none, err
		}
		if ok && m.Term >= newest {
			high = mid
		} else {
			low = mid + 1
		}
	}
	if m, ok, err := read(low); err != nil || ok && m.Kind == stream.Term {
		return m, err
	}
	return none, nil
}

// Times of a look for a message that the stream does not have.
const (
	missingFor  = 30 * time.Second       // until it counts as lost
	missingLook = 500 * time.Millisecond // between two looks
)

// Continues returns nil when the stream still has the last message that counts before the state at. A stream that has
// lost messages, and has others in their place, has messages behind at that seem to continue it: those of another node
// that has read the lost ones, too. While the stream does not answer, it asks again.
//
// Errors: ErrOffChain; jet.ErrMissing; those of log; ctx's cause.
func Continues(ctx context.Context, m *Machine, log jet.Log, at *stream.State) error {
	if at.Valid == 0 {
		return nil
	}
	for {
		data, err := readPatiently(ctx, m, log, at.Valid)
		switch {
		case err == nil && !at.EndsWith(data):
			return fmt.Errorf("%w: message %d: %w", ErrOffChain, at.Valid, stream.ErrReplaced)
		case errors.Is(err, jet.ErrTrimmed): // by nodes that have it in snapshots
			return nil
		case !errors.Is(err, jet.ErrUnavailable):
			return err
		}
		if err := m.await(ctx, nil, m.Clock.NowNs()+int64(missingLook)); !errors.Is(err, errLate) {
			return err
		}
	}
}

// Begins returns the first of some states of a stream that the stream has: by number and sum, which covers the whole
// history. The stream is read behind it. It is the zero State if the stream has none of them: it was lost and sent
// again, it is another one, or the messages were removed; then it is read from its first message.
//
// Errors: those of log.
func Begins(ctx context.Context, m *Machine, log jet.Log, known ...stream.State) (at stream.State, why, err error) {
	return oneOf(known, func(seq uint64) ([]byte, error) { return readPatiently(ctx, m, log, seq) })
}

// oneOf is Begins with a function that reads a message of the stream.
func oneOf(known []stream.State, read func(seq uint64) ([]byte, error)) (at stream.State, why, err error) {
	for _, k := range known {
		if k.Valid == 0 {
			continue
		}
		data, err := read(k.Valid)
		switch {
		case errors.Is(err, jet.ErrMissing), errors.Is(err, jet.ErrTrimmed):
			why = errors.Join(why, fmt.Errorf("message %d: %w", k.Valid, err))
		case err != nil:
			return at, why, err
		case !k.EndsWith(data):
			why = errors.Join(why, fmt.Errorf("the stream has another message %d", k.Valid))
		default:
			k.Seq = k.Valid // what came behind it does not count, and may be gone
			return k, nil, nil
		}
	}
	return at, why, nil
}

// readPatiently reads a message that a server which is behind may lack for a while. After such an answer, one that
// does not come does not end the patience. A request that the end of the patience cuts short says nothing: the error is
// the one of the request before.
func readPatiently(ctx context.Context, m *Machine, log jet.Log, seq uint64) (data []byte, err error) {
	lateNs := m.Clock.NowNs() + int64(missingFor)
	ctx, cancel := m.within(ctx, missingFor, errLate)
	defer cancel()
	for last := error(nil); ; last = err {
		data, err = log.Read(ctx, seq)
		switch {
		case err != nil && ctx.Err() != nil:
			if last != nil {
				err = last
			}
			return nil, err
		case !errors.Is(err, jet.ErrMissing) && (last == nil || !errors.Is(err, jet.ErrUnavailable)):
			return data, err
		}
		look := min(lateNs, m.Clock.NowNs()+int64(missingLook))
		if late := m.await(ctx, nil, look); !errors.Is(late, errLate) || m.Clock.NowNs() >= lateNs {
			return nil, err
		}
	}
}
