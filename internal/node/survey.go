package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/tickhive/tickhive/internal/cmdline"
	"github.com/tickhive/tickhive/internal/stream"
	"github.com/tickhive/tickhive/internal/stream/jet"
	"github.com/tickhive/tickhive/internal/wal"
)

// Survey holds the findings of a reading of a whole stream.
type Survey struct {
	Epoch    string            `json:"epoch"`
	Messages uint64            `json:"messages"`
	From     uint64            `json:"from,omitempty"` // the first message that was read, behind a snapshot
	Void     uint64            `json:"void"`           // messages that do not count
	Term     uint64            `json:"term"`
	Writer   string            `json:"writer"`   // address, empty: not known
	Position uint64            `json:"position"` // of the last record
	SentMs   int64             `json:"lastMessageAt"`
	Digests  int               `json:"digests"` // that were compared
	Seq      uint64            `json:"seq,omitempty"`
	Hash     string            `json:"hash,omitempty"` // of all parts
	Parts    map[string]string `json:"parts,omitempty"`
}

// Read reads the messages that the stream has now and calls each for those that count, with the state behind it. It
// begins at the first one, or behind a snapshot; nil: there is none. The records must continue the snapshot.
//
// Errors: those of log and each; ErrOffChain; cmdline.DamageError for a message that does not verify.
func (s *Survey) Read(
	ctx context.Context, log jet.Log, keys *stream.Keys, from *wal.SnapshotFile, progress func(done, total int64),
	each func(m *stream.Message, at stream.State) error,
) error {
	var at stream.State
	var end wal.Position // of what was read and of the snapshot
	if from != nil {
		h, err := ParseHead(from.Meta)
		if err != nil {
			return err
		}
		m := OwnMachine()
		if at, _, err = Begins(ctx, &m, log, h.Stream); err != nil {
			return err
		}
		end = wal.Position{Seq: from.Meta.Seq, Chain: from.Meta.Chain}
	}
	last, err := log.Last(ctx)
	if err != nil {
		return err
	}
	if at.Seq > 0 {
		s.From, s.Messages = at.Seq+1, at.Seq
	}
	r := stream.NewReader(at, Rules, keys)
	if at.Seq < last {
		err = log.Follow(ctx, at.Seq+1, s.message(r, last, progress, func(m *stream.Message) error {
			if err := Meets(end, m); err != nil {
				return err
			}
			at := r.State()
			if at.End.Seq >= end.Seq {
				end = at.End
			}
			return each(m, at)
		}))
	}
	at = r.State()
	s.Term, s.SentMs = at.Term, at.SentNs/int64(time.Millisecond)
	s.Position = at.End.Seq
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err = r.Unsure(); err != nil {
		return cmdline.DamageError{Err: err}
	}
	return nil
}

// message returns the function that takes each message, and returns io.EOF for the last one.
func (s *Survey) message(r *stream.Reader, last uint64, progress func(done, total int64),
	each func(m *stream.Message) error,
) func(seq uint64, data []byte) error {
	return func(seq uint64, data []byte) error {
		m, valid, err := r.Next(seq, data)
		switch {
		case Newer(err):
			return err
		case err != nil:
			return cmdline.DamageError{Err: err}
		case !valid:
			s.Void++
		default:
			if m.Kind == stream.Term {
				s.noteTerm(m.Info)
			}
			if err := each(&m); err != nil {
				return damage(fmt.Errorf("message %d: %w", seq, err))
			}
		}
		progress(int64(seq), int64(last))
		if s.Messages = seq; seq == last {
			return io.EOF
		}
		return nil
	}
}

// noteTerm keeps the address of the writer.
func (s *Survey) noteTerm(text []byte) {
	var info struct{ Address string }
	_ = json.Unmarshal(text, &info) // without an address the writer advertises none
	s.Writer = info.Address
}

// Print prints the findings. nowMs is the present time.
func (s *Survey) Print(out io.Writer, asJSON bool, nowMs int64) error {
	if asJSON {
		return json.NewEncoder(out).Encode(s)
	}
	writer := s.Writer
	if writer == "" {
		writer = "(it advertises no address)"
	}
	fmt.Fprintf(out, "epoch      %s\nterm       %d\nwriter     %s\nmessages   %d, void %d\n", s.Epoch, s.Term, writer,
		s.Messages, s.Void)
	if s.From > 0 {
		fmt.Fprintf(out, "trimmed    read from message %d on, behind a snapshot\n", s.From)
	}
	fmt.Fprintf(out, "position   record %d\nlast       %s ago\n", s.Position,
		time.Duration(max(nowMs-s.SentMs, 0))*time.Millisecond)
	if s.Parts != nil {
		fmt.Fprintf(out, "verified   %d digests equal\nseq %d\n", s.Digests, s.Seq)
		for _, name := range slices.Sorted(maps.Keys(s.Parts)) {
			fmt.Fprintf(out, "%-10s %s\n", name, s.Parts[name])
		}
	}
	if s.Hash != "" {
		fmt.Fprintf(out, "hash %s\n", s.Hash)
	}
	return nil
}
