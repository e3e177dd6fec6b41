package stream

import "fmt"

// Candidate holds what a node needs to become the writer.
type Candidate struct {
	// At is the state behind the last message that the node has read. A log that is empty needs Found.
	At    State
	Node  uint64 // a random number that was never used before, not 0
	Rules uint16 // the latest rules that the program can execute; its records are written by them
	Info  []byte // for the readers: addresses, version; at most MaxInfo bytes
	// Found is used when the log is empty: the node writes the base message, too.
	Found Founding
	// Limits bound the writer.
	Limits Limits
}

// Founding is the content of a base message.
type Founding struct {
	History [16]byte // not zero
	Start   uint64   // position of the last record that is not in the stream
	Info    []byte   // for the readers: what the meaning of the records depends on; at most MaxInfo bytes
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
	w := &Writer{
		read: *NewReader(c.At, c.Rules), node: c.Node, limits: c.Limits,
		prev: c.At.Prev, last: c.At.Pos, sentNs: c.At.SentNs,
	}
	if c.At.History == ([16]byte{}) {
		if c.Found.Start > MaxPosition/2 {
			return nil, fmt.Errorf("stream: position %d is out of range", c.Found.Start)
		}
		w.last = c.Found.Start
		m := w.head(Base, nowNs)
		m.History, m.Start, m.Info = c.Found.History, c.Found.Start, c.Found.Info
		w.push(encode(&m), Campaigning)
	}
	w.term = c.At.Term + 1
	m := w.head(Term, nowNs)
	m.Info = c.Info
	w.push(encode(&m), Leading)
	return w, nil
}
