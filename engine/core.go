package engine

import "github.com/tickhive/tickhive/engine/slots"

// Core holds every pair of one loop, and in control the assets, which belong to no pair. It is a pure state machine:
// equal commands with equal stamped times produce equal events. One goroutine owns it.
//
// Choices where docs/contract/matching.md leaves the behavior open:
//
//   - Fill-or-kill under self-trade prevention is refused when an order of the same account precedes the last lot
//     needed, unless the mode cancels the maker. It is never filled in part.
//   - A stop that the book refuses when it is triggered already has an id, so it is canceled with CauseUnfillable, even
//     when it is triggered on arrival.
//   - The mode decrement and a replace to a lower total reduce an iceberg's reserve first; the iceberg keeps its place.
//   - Self-trade prevention acts where the taker would trade a lot. Money and price limit end a taker before.
//   - Each pair remembers the client order ids of all accounts together, so that one pair's evictions never depend on
//     another pair; a repeat is answered in any pair state.
type Core struct {
	opts   Options
	books  []*book // by PairID; nil: not a pair of this core
	byCode map[string]PairID
	count  int
	digits map[string]int // of the currencies of the pairs
	slice  slice
	warmer warmer
	ledger ledger

	control control
}

// NewCore returns an empty core. Options that do not Validate are a programming error.
func NewCore(o Options) *Core {
	if err := o.Validate(); err != nil {
		panic("BUG: " + err.Error())
	}
	return &Core{
		opts: o.withDefaults(), warmer: warmer{fetch: slots.Fetch},
		byCode: map[string]PairID{}, digits: map[string]int{},
		control: control{assets: map[string]*Asset{}},
	}
}

// Apply carries out one sequenced command, or its first part, and appends the events to dst. It
// retains neither cmd nor dst; the objects that cmd points to must not change afterwards.
//
// A command has at least one event in all its parts. A void command (Void) has none and changes
// nothing.
func (c *Core) Apply(cmd *Command, dst []Event) []Event {
	if cmd.First {
		c.slice = slice{}
	} else if c.slice.over {
		return dst
	}
	c.ledger.begin(len(dst))
	if int(cmd.Kind) > int(PlaceList) {
		return c.ledger.fold(c.applyControl(cmd, dst))
	}
	b := c.book(cmd.Pair)
	if b == nil {
		return c.ledger.fold(c.control.refuse(cmd, UnknownPair, dst))
	}
	from := len(dst)
	if b.unfinished != nil {
		dst = b.finish(cmd, dst)
	}
	b.stream.startCommand(cmd, dst)
	b.stream.bound(c.opts.PartEvents)
	switch cmd.Kind {
	case Place:
		b.place(cmd)
	case Cancel:
		b.cancel(cmd)
	case Replace:
		b.replace(cmd)
	case CancelAll:
		b.cancelAll(cmd)
	case PlaceList:
		b.placeList(cmd)
	default:
		panic("BUG: engine: no command of a pair") // applyControl handles all other kinds
	}
	work := b.stream.work(from)
	if c.slice.add(work, c.opts.PartEvents) || b.unfinished != nil {
		c.slice.over = true
	}
	return c.ledger.fold(b.stream.endCommand())
}

func (c *Core) applyControl(cmd *Command, dst []Event) []Event {
	switch cmd.Kind {
	case AddPair:
		return c.addPair(cmd, dst)
	case SetPair:
		return c.setPair(cmd, dst)
	case SetAsset:
		return c.setAsset(cmd, dst)
	case Continue:
		return c.applyContinue(cmd, dst)
	case Other:
		return dst
	default:
		panic("BUG: engine: command of unknown kind")
	}
}
