package hive

import "fmt"

// Chain verifies entries one after another: the numbers, the times, and that each one
// carries the hash of the one before. The zero value begins at entry 1.
type Chain struct {
	n    uint64
	last int64
	head Hash
}

// ChainFrom goes on behind entry n, whose hash is head.
func ChainFrom(n uint64, head Hash) *Chain { return &Chain{n: n, head: head} }

// Next takes the next entry; an error names the entry at which the chain breaks.
func (c *Chain) Next(e *Entry) error {
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

// Len returns the number of entries up to here.
func (c *Chain) Len() uint64 { return c.n }

// Head returns the hash of the last entry. Comparing it with a head stored elsewhere detects
// a change of the last entry, which no later entry covers.
func (c *Chain) Head() Hash { return c.head }
