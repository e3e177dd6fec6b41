package engine

// The work of a command is bounded. A command pauses when it has made
// Options.PartEvents events, of which a trade and a cancel count for several; the book keeps the rest as a
// continuation, and the pair's next command must be a Continue. Visits count too: stops that are reached, and orders
// and levels that a fill-or-kill order, a market buy by amount or a mass cancel looks at.
//
//	journal  | Place A ....... | Continue A ...... | Continue A
//	events   | accepted, 596   | 600               | the rest
//	core     | unfinished A      unfinished A        done
//
// Each part has the time of its own record. The parts together make the events that the command would make alone.
//
// A slice holds the commands that the sequencer writes to the journal at once; its first record has First. The
// events of a slice are bounded too. When a command of the slice leaves work unfinished, or the
// slice has done the work of sliceParts parts, all later records of the slice are void:
// the core passes over them, and the sequencer writes these commands again. So the order of the
// records is the order of the commands, and a replay needs no other rule.

const (
	// MinPartEvents is the least that Options.PartEvents may be.
	MinPartEvents = partReserve + 8
	// partReserve is more than the events that follow between two checks: a self-trade decrement
	// makes four, then the level, the end of the taker and the next stop's trigger one each; the end of each of the two
	// orders may end two more of its list, and the list.
	partReserve = 14
	// visitsPerEvent is the number of visits that count as one event: a visit costs about 20 ns,
	// an event with its folds 100 to 500 ns.
	visitsPerEvent = 4
	// tradeWeight and cancelWeight are the events that a trade and a cancel count for: in a book of a million orders
	// they cost 3.3 and 1.8 us with their folds, because they touch orders and accounts that no cache holds.
	tradeWeight, cancelWeight = 3, 2
	// sliceParts limits the work of a slice before its last command, in parts. A slice of 256 ordinary commands
	// has the work of 500 to 1,000 events. With its last command, a slice has at most 600 trades, or 900 cancels: 2 ms.
	sliceParts = 2
)

// slice counts the work since the last record with First.
type slice struct {
	work int
	over bool
}

// add adds the work of one command and reports whether the slice is over.
func (s *slice) add(work, partEvents int) bool {
	s.work += work
	return s.work >= sliceParts*partEvents
}

// continuation is the rest of a command of one pair. Which members are set says how it goes on:
//
//	cmd of a Place      walk on (reach), then place the order
//	cmd of a PlaceList  walk on for its working order, then place the list
//	cmd of a CancelAll  cancel on
//	taker with a stop   walk on, then trigger it; then the stops
//	taker that is due   walk on, then release it; then the stops
//	taker               walk on if book.scan says so, then match it; then the stops
//	none                the stops
//
// The stops that the command has reached are in stops.queue meanwhile.
type continuation struct {
	cmd      *Command
	taker    *taker // has a slot, is on no level
	from     uint64 // CancelAll: every selected order below it is canceled
	canceled bool   // CancelAll: a part has canceled an order
}

// pause ends the part under way; the caller fills in how it goes on.
func (b *book) pause() *continuation {
	b.unfinished = &continuation{}
	return b.unfinished
}

// pauseTaker ends the part under way in the middle of t. A new order gets its slot, so that its id
// and its account find it.
func (b *book) pauseTaker(t *taker) {
	if t.slot == 0 {
		b.seat(t)
	}
	kept := *t
	b.pause().taker = &kept
}

// seat gives a new order its slot while it is on no level.
func (b *book) seat(t *taker) {
	s, o := b.orders.add(t.n, t.owner, t.side)
	o.stp, o.marks = t.stp, 0
	o.makerFee, o.takerFee, o.discount = t.makerFee, t.takerFee, t.discount
	b.mark(s, o, t)
	t.slot = s
}

// clone returns the command without what belongs to its record alone.
func (cmd *Command) clone() *Command {
	c := *cmd
	c.TimeNs, c.First = 0, false
	return &c
}

// resume carries out the next part of the unfinished command.
func (b *book) resume() {
	c := b.unfinished
	b.unfinished = nil
	switch {
	case c.cmd != nil && c.cmd.Kind == CancelAll:
		b.cancelOn(c)
	case c.cmd != nil && c.cmd.Kind == PlaceList:
		b.placeListAgain(c.cmd)
	case c.cmd != nil:
		b.placeAgain(c.cmd)
	case c.taker != nil:
		enter := b.enter
		switch {
		case c.taker.stop != 0 || c.taker.due:
			enter = b.enterStop
		case b.scan.need != 0:
			enter = b.enterTriggered
		}
		if enter(c.taker) {
			b.cascade()
		}
	default:
		b.cascade()
	}
}

// applyContinue carries out one part of an unfinished command. Without one it does nothing.
func (c *Core) applyContinue(cmd *Command, dst []Event) []Event {
	b := c.book(cmd.Pair)
	if b == nil || b.unfinished == nil {
		return dst
	}
	b.stream.startCommand(cmd, dst)
	b.stream.bound(c.opts.PartEvents)
	b.resume()
	c.slice.add(b.stream.work(len(dst)), c.opts.PartEvents)
	return b.stream.endCommand()
}

// finish carries out all that is left of the unfinished command, because another command of the
// pair comes before its Continue. The sequencer never sends one; a journal has one when an
// operator has skipped a Continue.
func (b *book) finish(cmd *Command, dst []Event) []Event {
	b.stream.startCommand(cmd, dst)
	for b.unfinished != nil {
		b.resume()
	}
	return b.stream.endCommand()
}

// Void reports whether Apply would pass over cmd, because its slice is over.
func (c *Core) Void(cmd *Command) bool { return !cmd.First && c.slice.over }

// SliceOver reports whether the core will pass over all commands until the next one with First.
func (c *Core) SliceOver() bool { return c.slice.over }

// Unfinished reports whether the newest command of a pair goes on in a Continue.
func (c *Core) Unfinished(p PairID) bool {
	b := c.book(p)
	return b != nil && b.unfinished != nil
}

// AppendUnfinished appends the numbers of the pairs with an unfinished command.
func (c *Core) AppendUnfinished(dst []PairID) []PairID {
	for i, b := range c.books {
		if b != nil && b.unfinished != nil {
			dst = append(dst, PairID(i))
		}
	}
	return dst
}
