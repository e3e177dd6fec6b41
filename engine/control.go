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

// setAsset adds or changes an asset. Its digits may change until it has a pair or a balance.
func (c *Core) setAsset(cmd *Command, dst []Event) []Event {
	k, a := &c.control, *cmd.Control.Asset
	if _, ok := k.assets[a.Symbol]; !ok && len(k.assets) >= c.opts.Assets {
		return k.refuse(cmd, TooManyOrders, dst)
	}
	if d, ok := c.digitsInUse(a.Symbol); ok && d != a.Digits {
		return k.refuse(cmd, AssetInUse, dst)
	}
	k.assets[a.Symbol] = &a
	e := k.event(cmd, EventAsset)
	e.Control = &ControlRecord{Asset: &a}
	return append(dst, e)
}

// digitsInUse returns the digits of a currency that has a pair or a balance.
func (c *Core) digitsInUse(currency string) (digits int, ok bool) {
	if digits, ok = c.digits[currency]; !ok && c.ledger.funds != nil {
		digits, ok = c.ledger.funds.Digits(currency)
	}
	return digits, ok
}

// Digits returns the digits of a currency; false for one that has no pair, no balance and no asset.
func (c *Core) Digits(currency string) (digits int, ok bool) {
	if a := c.control.assets[currency]; a != nil {
		return a.Digits, true
	}
	return c.digitsInUse(currency)
}

// addPair gives a new pair its number and its book. The pair's stream begins with this event.
func (c *Core) addPair(cmd *Command, dst []Event) []Event {
	if _, ok := c.byCode[cmd.Instrument.Code]; ok {
		return c.control.refuse(cmd, PairExists, dst)
	}
	inst := *cmd.Instrument
	var past []PastCandle
	if cmd.Control != nil {
		past = cmd.Control.Past
	}
	inst.TakeDigits(c.Digits)
	if inst.Validate() != nil || inst.State == Delisted || c.count >= c.opts.Pairs || checkPast(past,
		cmd.TimeNs) != nil {
		return c.control.refuse(cmd, InvalidPair, dst)
	}
	id := PairID(len(c.books))
	if wish := cmd.Pair; wish < MaxPairs && (uint64(wish) >= uint64(len(c.books)) || c.books[wish] == nil) {
		id = wish
	}
	inst.ID, inst.CreatedNs = id, cmd.TimeNs
	b := newBook(&inst, &c.opts, &c.ledger)
	c.register(b)
	if len(past) == 0 {
		return b.emitPair(cmd, dst)
	}
	b.stream.startCommand(cmd, dst)
	b.stream.emit(EventPair).Instrument = b.inst
	b.stream.emit(EventPast).Control = &ControlRecord{Past: past}
	return b.stream.endCommand()
}

func (c *Core) register(b *book) {
	for uint64(len(c.books)) <= uint64(b.id) {
		c.books = append(c.books, nil)
	}
	c.books[b.id] = b
	c.byCode[b.inst.Code] = b.id
	c.digits[b.inst.Base], c.digits[b.inst.Quote] = b.inst.BaseDigits, b.inst.QuoteDigits
	c.count++
}

// setPair changes what may change of a pair: state, limits of an order, fees. A delisted pair does not change.
func (c *Core) setPair(cmd *Command, dst []Event) []Event {
	b := c.book(cmd.Pair)
	if b == nil || b.inst.State == Delisted {
		return c.control.refuse(cmd, UnknownPair, dst)
	}
	if b.unfinished != nil {
		dst = b.finish(cmd, dst)
	}
	inst := *b.inst
	set := cmd.Instrument
	inst.State, inst.MinQuote, inst.HasMinQuote = set.State, set.MinQuote, set.HasMinQuote
	inst.MaxQuote, inst.BandUp, inst.BandDown = set.MaxQuote, set.BandUp, set.BandDown
	inst.MaxPrice, inst.MaxAmount = set.MaxPrice, set.MaxAmount
	inst.MakerFee, inst.TakerFee = set.MakerFee, set.TakerFee
	switch {
	case inst.Validate() != nil:
		return c.control.refuse(cmd, InvalidPair, dst)
	case inst.State == Delisted && b.orders.count > 0:
		return c.control.refuse(cmd, PairInUse, dst)
	}
	b.inst = &inst
	return b.emitPair(cmd, dst)
}

func (b *book) emitPair(cmd *Command, dst []Event) []Event {
	b.stream.startCommand(cmd, dst)
	b.stream.emit(EventPair).Instrument = b.inst
	return b.stream.endCommand()
}
