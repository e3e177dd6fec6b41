package stream

import (
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/tickhive/tickhive/internal/wal"
)

// The operating errors of a reader. They are wrapped: use errors.Is.
var (
	// ErrGap reports a message that is not the next one: the reader has to begin with a snapshot.
	ErrGap = errors.New("stream: messages are missing")
	// ErrRules reports a valid message whose rules this program does not know.
	ErrRules = errors.New("stream: a later program has written this; replace this one by the writer's version")
)

// State holds what the log up to a message means. The zero State is before the first message. A snapshot of a node
// has the State that it reflects.
type State struct {
	Seq     uint64   // number in the log of the last message read, valid or not
	Valid   uint64   // number of the last valid message, 0: none
	Prev    uint64   // sum of the last valid message
	History [16]byte // identity of the exchange; zero before Base
	Term    uint64   // 0 before the first term
	Node    uint64   // the writer
	Rules   uint16
	SentNs  int64  // of the last valid message
	Key     uint32 // id of the key that signed it
	End     wal.Position
}

// sumOf returns the sum of a message, which the next valid one has as Prev. It contains the Prev of the message
// itself, so it covers the whole history.
func sumOf(data []byte) uint64 { return xxhash.Sum64(data) }

// EndsWith reports whether data is the last valid message of s. Whether the log has it under the number s.Valid tells
// whether the log is the one that s was read from.
func (s *State) EndsWith(data []byte) bool { return s.Prev == sumOf(data) }

// allows is the rule of validity: it reports whether a message counts behind s, and sets s to the state behind it
// if so.
func (s *State) allows(m *Message, data []byte) bool {
	if m.Prev != s.Prev || m.Rules < s.Rules || m.SentNs < s.SentNs {
		return false
	}
	next := *s
	switch m.Kind {
	case Base:
		if s.History != ([16]byte{}) {
			return false
		}
		next.History = m.History
	case Term:
		if s.History == ([16]byte{}) || m.At != s.End || m.Term != s.Term+1 || m.key != s.Key {
			return false
		}
		next.Term, next.Node = m.Term, m.Node
	case Records, Beat:
		if s.Term == 0 || m.At != s.End || m.Term != s.Term || m.Node != s.Node {
			return false
		}
	}
	next.Prev, next.Rules, next.SentNs, next.Key, next.End = sumOf(data), m.Rules, m.SentNs, m.key, m.end()
	*s = next
	return true
}

// lacks reports whether a message that does not count behind s shows that another node leads by a term record which s
// does not have: only who leads sends records and beats.
func (s *State) lacks(m *Message) bool {
	return (m.Kind == Records || m.Kind == Beat) && (m.Term > s.Term || m.Term == s.Term && m.Node != s.Node)
}

// maxStrays is the number of messages of the present writer that a Reader skips because they do not count, after a
// message that did not verify. A writer whose message was displaced sends the message again, behind as many messages as
// it has in flight, so some skipped messages are normal. A writer whose message was damaged in the log never sends it
// again: then all later messages would be skipped, so the Reader stops (Unsure).
const maxStrays = 64

// Reader folds the messages of a log in their order.
//
// A message that does not verify is one of nobody, or one of a writer that was damaged in the log. What follows tells:
// a writer continues what counts, so behind a message of nobody a valid one comes, and behind a damaged one none. Until
// then the reader is unsure.
type Reader struct {
	at    State
	rules uint16
	keys  *Keys

	odd    uint64 // number of the first message behind the last valid one that does not verify; 0: none
	why    error  // why it does not
	strays int    // messages of the present writer behind it that do not count
}

// NewReader returns a Reader that continues behind at. rules is the latest version of the rules that the program can
// execute, k holds the keys of the cluster.
func NewReader(at State, rules uint16, k *Keys) *Reader {
	return &Reader{at: at, rules: rules, keys: k}
}

// Unsure returns an error while it is open whether a message that does not verify counts for others: it may be damaged
// in the log (ErrDamaged), of a key that this node lacks (ErrKey), or of an earlier format (ErrVersion). A node that
// campaigned now could do so behind a message that other nodes do not know as the last one. Otherwise nil.
func (r *Reader) Unsure() error {
	if r.odd == 0 {
		return nil
	}
	return fmt.Errorf("message %d: %w, and no message behind it counts", r.odd, r.why)
}

// State returns the state behind the last message.
func (r *Reader) State() State { return r.at }

// Next reads the message with the number seq. valid reports whether it counts; its records are executed only then. A
// message that does not count was sent by a node that was not the writer any more, is a repetition, or does not verify.
//
// Errors: ErrGap, ErrRules; ErrVersion of a message that a node of the cluster has written; the one of Unsure when the
// messages behind one that does not verify show that it counted. The reader stays before the message.
//
// Retains: m refers to data.
func (r *Reader) Next(seq uint64, data []byte) (m Message, valid bool, err error) {
	if seq != r.at.Seq+1 {
		return m, false, fmt.Errorf("%w: %d follows %d", ErrGap, seq, r.at.Seq)
	}
	m, authentic, err := decode(data, r.keys)
	switch {
	case err != nil && authentic && errors.Is(err, ErrVersion):
		return m, false, fmt.Errorf("message %d: %w", seq, err)
	case err != nil:
		if r.at.Seq = seq; r.odd == 0 {
			r.odd, r.why = seq, err
		}
		return Message{}, false, nil
	}
	at := r.at
	if valid = at.allows(&m, data); valid && m.Rules > r.rules {
		return m, false, fmt.Errorf("message %d: %w: version %d of the rules, and this program knows %d",
			seq, ErrRules, m.Rules, r.rules)
	}
	switch {
	case valid:
		at.Valid, r.odd, r.strays = seq, 0, 0
	case r.odd != 0 && m.Term == at.Term && m.Node == at.Node:
		if r.strays == maxStrays {
			return m, false, r.Unsure()
		}
		r.strays++
	}
	r.at, r.at.Seq = at, seq
	return m, valid, nil
}
