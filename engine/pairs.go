package engine

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
	if uint64(cmd.Pair) >= uint64(len(c.books)) || c.books[cmd.Pair] == nil {
		return c.control.refuse(cmd, UnknownPair, dst)
	}
	b := c.books[cmd.Pair]
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
	b.tape.startCommand(cmd, dst)
	b.tape.emit(EventPair).Instrument = b.inst
	return b.tape.endCommand()
}
