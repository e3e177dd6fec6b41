package hive

import "fmt"

// chain verifies log entries one after another: their numbers, their times, and the hash of the entry before in
// each. The zero value expects entry 1.
type chain struct {
	n    uint64
	last int64
	head Hash
}

// chainFrom returns a chain that expects entry n+1. head is the hash of entry n.
func chainFrom(n uint64, head Hash) *chain { return &chain{n: n, head: head} }

// Next verifies the next entry. An error names the entry at which the chain breaks.
func (c *chain) Next(e *Entry) error {
	switch {
	case e.ID != c.n+1:
		return fmt.Errorf("hive: entry %d follows entry %d", e.ID, c.n)
	case e.Prev != c.head:
		return fmt.Errorf("hive: entry %d does not carry the hash of entry %d: one of the two was changed", e.ID, c.n)
	case e.TimeNs < c.last:
		return fmt.Errorf("hive: entry %d is older than entry %d", e.ID, c.n)
	}
	c.n, c.last, c.head = e.ID, e.TimeNs, e.Hash()
	return nil
}

// Len returns the number of the last entry verified.
func (c *chain) Len() uint64 { return c.n }

// Head returns the hash of the last entry. Comparing it with a stored head reveals a change of the last entry,
// which no later entry's hash covers.
func (c *chain) Head() Hash { return c.head }
