package vfstest

import (
	"math/rand/v2"
	"slices"

	"github.com/tickhive/tickhive/internal/vfs"
)

// blockBytes is the unit that BlockAtomic keeps whole or drops whole.
const blockBytes = 8 * vfs.SectorBytes

// cut is one power cut: what it keeps by chance, and the armed faults of a cut that are aimed at the
// current file or directory.
type cut struct {
	rnd      *rand.Rand
	keep     float64 // chance of an unsynced change to survive
	modes    [SkewedDirs + 1]*armed
	happened [SkewedDirs + 1]bool
}

// aim sets the modes for a file or a directory.
func (c *cut) aim(faults []*armed, name string) {
	clear(c.modes[:])
	for _, a := range faults {
		if a.Class.OfCut() && a.matches(name) {
			c.modes[a.Class] = a
		}
	}
}

// mode records that a fault happens and returns its random numbers.
func (c *cut) mode(class Class) *rand.Rand {
	c.happened[class] = true
	return c.modes[class].rnd
}

// chance reports whether an aimed fault, if there is one, happens to one more piece.
func (c *cut) chance(class Class) bool {
	return c.modes[class] != nil && c.modes[class].rnd.IntN(2) == 0
}

// names returns the names of a directory after the cut.
func (c *cut) names(d *memDir) map[string]*memNode {
	names := copyNames(d.durable)
	kept := make([]bool, len(d.pending))
	for i := range kept {
		kept[i] = c.rnd.Float64() < c.keep
	}
	if c.modes[ReorderedNames] == nil {
		if at := slices.Index(kept, false); at >= 0 {
			clear(kept[at:])
		}
	} else if last := len(kept) - 1; last > 0 {
		rnd := c.modes[ReorderedNames].rnd
		for i := range kept {
			kept[i] = rnd.IntN(2) == 0
		}
		if at := rnd.IntN(last); rnd.IntN(4) > 0 { // a lost change before one that is kept is another order
			kept[at], kept[at+1+rnd.IntN(last-at)] = false, true
		}
		if at := slices.Index(kept, false); at >= 0 && slices.Contains(kept[at:], true) {
			c.happened[ReorderedNames] = true
		}
	}
	for i, change := range d.pending {
		if kept[i] {
			change.apply(names)
		}
	}
	return names
}

// file returns a file as the cut leaves it.
func (c *cut) file(n *memNode) *memNode {
	size := len(n.durable)
	if c.rnd.Float64() < c.keep {
		size = len(n.data)
		if c.rnd.Float64() >= c.keep {
			lo := min(len(n.data), len(n.durable))
			size = lo + c.rnd.IntN(max(len(n.data), len(n.durable))-lo+1)
		}
	}
	b := make([]byte, max(size, len(n.data)))
	copy(b, n.durable)
	pieces := c.pieces(n, len(b))
	kept := 0
	for _, p := range pieces {
		fresh := c.rnd.Float64() < c.keep
		if fresh {
			kept++
		}
		c.piece(b, n, p, fresh)
	}
	if kept > 0 && kept < len(pieces) {
		c.happened[ReorderedSectors] = true
	}
	b = b[:size:size]
	after := newMemNode()
	after.data, after.durable = b, slices.Clone(b)
	return after
}

// piece is a range of a file that a cut keeps whole or not at all: its written sectors reach the
// disk together.
type piece struct {
	lo, hi  int // bytes
	sectors []int64
}

// pieces returns the pieces of the first size bytes of a file that were written and not synced.
func (c *cut) pieces(n *memNode, size int) (all []piece) {
	unit := vfs.SectorBytes
	if c.modes[BlockAtomic] != nil {
		unit = blockBytes
	}
	for _, s := range sortedKeys(n.dirty) {
		if !n.dirty[s] {
			continue
		}
		lo := min(int(s)*vfs.SectorBytes/unit*unit, size)
		if last := len(all) - 1; last >= 0 && all[last].lo == lo {
			all[last].sectors = append(all[last].sectors, s)
			c.happened[BlockAtomic] = true
			continue
		}
		all = append(all, piece{lo, min(lo+unit, size), []int64{s}})
	}
	return all
}

// piece computes what the disk holds of one piece after the cut, and writes it into b, which has the older content.
// If fresh, that is the written content, otherwise the older one. The aimed faults may change it.
func (c *cut) piece(b []byte, n *memNode, p piece, fresh bool) {
	on := b[p.lo:p.hi]
	written := slices.Clone(on)
	for _, s := range p.sectors {
		to := written[min(int(s)*vfs.SectorBytes-p.lo, len(written)):]
		to = to[:min(vfs.SectorBytes, len(to))]
		from := sectorOf(n.data, s)
		if middle := n.middle[s]; len(middle) > 0 && c.chance(MiddleVersion) {
			from = middle[c.mode(MiddleVersion).IntN(len(middle))]
		}
		clear(to[copy(to, from):])
	}
	switch {
	case c.chance(GarbageSector):
		rnd := c.mode(GarbageSector)
		for i := range on {
			on[i] = byte(rnd.Uint32())
		}
	case len(on) > 1 && c.chance(TornSector):
		rnd := c.mode(TornSector)
		// A disk writes from front to back, so the first part of the sector is from the newer write.
		at := 1 + rnd.IntN(len(on)-1)
		if rnd.IntN(2) == 0 {
			copy(on[:at], written)
		} else {
			copy(on[at:], written[at:])
		}
	case fresh:
		copy(on, written)
	}
}
