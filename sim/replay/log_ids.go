package replay

// maxGone bounds the deleted ids that are stored: about two days of the log. Lines about a deleted order
// usually come near its deletion. At the bound the oldest id is dropped and counted. A later line with that id
// is treated as a line about an order that rested before the log begins.
const maxGone = 262_144

// goneIDs stores the newest deleted ids, and for each whether its order was filled.
type goneIDs struct {
	filled    map[uint64]bool
	ring      []uint64 // in order of deletion; a ring once it is full, whose oldest id is at index at
	at        int
	most      int
	forgotten int
}

func newGoneIDs(most int) goneIDs { return goneIDs{filled: map[uint64]bool{}, most: most} }

// has reports whether the id is a stored deleted id.
func (g *goneIDs) has(id uint64) bool {
	_, ok := g.filled[id]
	return ok
}

// add stores a deleted id. It returns false when the id was stored before.
func (g *goneIDs) add(id uint64, filled bool) bool {
	if g.has(id) {
		return false
	}
	g.filled[id] = filled
	if len(g.ring) < g.most {
		g.ring = append(g.ring, id)
		return true
	}
	delete(g.filled, g.ring[g.at])
	g.ring[g.at] = id
	g.at = (g.at + 1) % g.most
	g.forgotten++
	return true
}

// oddLines counts lines of a log that contradict earlier lines.
type oddLines struct {
	deletedTwice, createdLate, createdTwice, changedLate, changedUnknown int
}

func (l *logFeed) notes() []string {
	notes := noted(nil, l.odd.deletedTwice, "%d deletions of ids that were deleted before: left out")
	notes = noted(notes, l.odd.createdLate,
		"%d creations of ids that were deleted before: they do not stay in the book")
	notes = noted(notes, l.odd.createdTwice, "%d creations of ids that are open: left out")
	notes = noted(notes, l.odd.changedLate, "%d changes of ids that were deleted before: left out")
	notes = noted(notes, l.odd.changedUnknown, "%d changes of ids that the log never created: left out")
	return noted(notes, l.gone.forgotten, "%d deleted ids forgotten, the oldest: too many to remember")
}
