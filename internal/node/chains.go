package node

import (
	"tickhive/internal/stream"
	"tickhive/internal/wal"
)

// logNames has the names of the logs, which their chains begin with.
var logNames = [stream.Logs]string{"engine", "accounts"}

// Chains follows the checksum chains of the logs for a node that writes none of them. One goroutine uses it.
type Chains [stream.Logs]wal.Position

// BeginAt sets the chains to the positions of a snapshot.
func (c *Chains) BeginAt(h *Head) {
	for i := range c {
		c[i] = wal.Position{Seq: h.At.Pos[i], Chain: h.Chains[i]}
	}
}

// Take adds the records of the next message that counts.
func (c *Chains) Take(m *stream.Message) {
	if m.Kind == stream.Base {
		for i, name := range logNames {
			c[i] = wal.Begins(m.History, name)
		}
	}
	for at, record := range m.All() {
		c[at.Log-1] = c[at.Log-1].Next(record)
	}
}

// Chains returns the chain of each log behind its last record.
func (c *Chains) Chains() (sums [stream.Logs]uint64) {
	for i := range c {
		sums[i] = c[i].Chain
	}
	return sums
}
