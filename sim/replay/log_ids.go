package replay

// maxGone bounds the deleted ids that are remembered, about two days of the log. Lines
// about a deleted order come right beside its deletion. At the bound the oldest id is
// forgotten, and counted: a later line about it is taken as one about an order that rested
// before the log begins.
const maxGone = 262_144

// goneIDs remembers the newest deleted ids, and for each whether its order was filled.
type goneIDs struct {
	filled    map[uint64]bool
	ring      []uint64 // in order of deletion; at is the oldest once it is full
	at        int
	most      int
	forgotten int
}

func newGoneIDs(most int) goneIDs { return goneIDs{filled: map[uint64]bool{}, most: most} }

// has reports whether the id was deleted.
func (g *goneIDs) has(id uint64) bool {
	_, ok := g.filled[id]
	return ok
}

// add remembers a deleted id and reports whether it was not there yet.
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

// oddLines counts lines of a log that contradict those before them.
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
