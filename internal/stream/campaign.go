package stream

import (
	"fmt"

	"github.com/tickhive/tickhive/internal/wal"
)

// Candidate holds what a node needs to become the writer.
type Candidate struct {
	// At is the state behind the last message that the node has read. A log that is empty needs Found.
	At    State
	Node  uint64 // a random number that was never used before, not 0
	Rules uint16 // the latest rules that the program can execute; its records are written by them
	Keys  *Keys  // of the cluster
	Info  []byte // for the readers: addresses, version; at most MaxInfo bytes
	// Found is used when the log is empty: the node writes the base message, too.
	Found Founding
	// Limits bound the writer.
	Limits Limits
}

// Founding is the content of a base message.
type Founding struct {
	History [16]byte // not zero
	// End is the end of the log before the first record of the stream: its position, and the chain up to there.
	End  wal.Position
	Info []byte // for the readers: what the meaning of the records depends on; at most MaxInfo bytes
}

// Campaign returns a Writer whose first message is a term record behind the candidate's state.
//
// The caller must not drop a Writer that campaigns and go on reading: while it is not Fenced, its term record may
// arrive in the log and count.
func Campaign(c *Candidate, nowNs int64) (*Writer, error) {
	switch {
	case c.Node == 0 || nowNs < 0 || c.Rules < c.At.Rules || len(c.Info) > MaxInfo || len(c.Found.Info) > MaxInfo:
		return nil, fmt.Errorf("stream: the candidate is out of range: node %d, rules %d behind %d, info of %d bytes",
			c.Node, c.Rules, c.At.Rules, len(c.Info))
	case c.Limits.InFlight < 1 || c.Limits.Queue < MaxMessage:
		return nil, fmt.Errorf("stream: limits of %d messages and %d bytes are too small",
			c.Limits.InFlight, c.Limits.Queue)
	case c.At.History == [16]byte{} && c.Found.History == [16]byte{}:
		return nil, fmt.Errorf("stream: the log has no history, and the candidate has none")
	}
	term := c.At.Key // every reader of the term before can verify the record that ends it
	if c.At.History == ([16]byte{}) {
		term = c.Keys.first()
	}
	if c.Keys.find(term) == nil {
		return nil, fmt.Errorf("%w: key %08x of the writer before", ErrKey, term)
	}
	w := &Writer{
		read: *NewReader(c.At, c.Rules, c.Keys), node: c.Node, limits: c.Limits,
		prev: c.At.Prev, end: c.At.End, sentNs: c.At.SentNs, key: term,
	}
	if c.At.History == ([16]byte{}) {
		if c.Found.End.Seq > MaxPosition/2 {
			return nil, fmt.Errorf("stream: position %d is out of range", c.Found.End.Seq)
		}
		w.end = c.Found.End
		m := w.head(Base, nowNs)
		m.History, m.Info = c.Found.History, c.Found.Info
		w.push(encode(&m, c.Keys), Campaigning)
	}
	w.term = c.At.Term + 1
	m := w.head(Term, nowNs)
	m.Info = c.Info
	w.push(encode(&m, c.Keys), Leading)
	w.key = c.Keys.first()
	return w, nil
}
