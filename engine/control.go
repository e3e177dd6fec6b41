package engine

// control holds the stream of what belongs to no pair: assets, and refusals of commands for pairs that do not exist
// (docs/contract/matching.md#sequence-numbers).
type control struct {
	seq    Seq
	assets map[string]*Asset
}

func (k *control) event(cmd *Command, kind EventKind) Event {
	k.seq++
	return Event{Seq: k.seq, TimeNs: cmd.TimeNs, Pair: ControlPair, Kind: kind}
}

// refuse emits the refusal of a command that belongs to no existing pair.
func (k *control) refuse(cmd *Command, r Reason, dst []Event) []Event {
	e := k.event(cmd, EventRejected)
	e.Reason, e.Status = r, Rejected
	e.Side, e.Account = cmd.Side, cmd.Account
	if cmd.Kind == Cancel || cmd.Kind == Replace {
		e.Order = cmd.Order
	} else {
		e.Client = cmd.Client
	}
	return append(dst, e)
}

func (k *control) setAsset(cmd *Command, o *Options, dst []Event) []Event {
	a := *cmd.Asset
	if _, ok := k.assets[a.Symbol]; !ok && len(k.assets) >= o.Assets {
		return k.refuse(cmd, TooManyOrders, dst)
	}
	k.assets[a.Symbol] = &a
	e := k.event(cmd, EventAsset)
	e.Asset = &a
	return append(dst, e)
}

// addPair gives a new pair its number and its book. The pair's stream begins with this event.
func (c *Core) addPair(cmd *Command, dst []Event) []Event {
	if _, ok := c.byCode[cmd.Instrument.Code]; ok {
		return c.control.refuse(cmd, PairExists, dst)
	}
	if cmd.Instrument.Validate() != nil || c.count >= c.opts.Pairs {
		return c.control.refuse(cmd, InvalidPair, dst)
	}
	id := PairID(len(c.books))
	if wish := cmd.Pair; wish < MaxPairs && (uint64(wish) >= uint64(len(c.books)) || c.books[wish] == nil) {
		id = wish
	}
	inst := *cmd.Instrument
	inst.ID, inst.CreatedNs = id, cmd.TimeNs
	b := newBook(&inst, &c.opts)
	c.register(b)
	return b.emitPair(cmd, dst)
}

func (c *Core) register(b *book) {
	for uint64(len(c.books)) <= uint64(b.id) {
		c.books = append(c.books, nil)
	}
	c.books[b.id] = b
	c.byCode[b.inst.Code] = b.id
	c.count++
}

// setPair changes what may change of a pair: state, limits of an order, fees.
func (c *Core) setPair(cmd *Command, dst []Event) []Event {
	b := c.book(cmd.Pair)
	if b == nil {
		return c.control.refuse(cmd, UnknownPair, dst)
	}
	if b.unfinished != nil {
		dst = b.finish(cmd, dst)
	}
	inst := *b.inst
	set := cmd.Instrument
	inst.State, inst.MinQuote, inst.HasMinQuote = set.State, set.MinQuote, set.HasMinQuote
	inst.MaxQuote, inst.BandUp, inst.BandDown = set.MaxQuote, set.BandUp, set.BandDown
	inst.MakerFee, inst.TakerFee = set.MakerFee, set.TakerFee
	if inst.Validate() != nil {
		return c.control.refuse(cmd, InvalidPair, dst)
	}
	b.inst = &inst
	return b.emitPair(cmd, dst)
}

func (b *book) emitPair(cmd *Command, dst []Event) []Event {
	b.stream.startCommand(cmd, dst)
	b.stream.emit(EventPair).Instrument = b.inst
	return b.stream.endCommand()
}
