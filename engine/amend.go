package engine

// MaxAmends is the most amendments of an order.
const MaxAmends = 10

// amend carries out a Replace that may only lower the total (docs/contract/matching.md#replace). The order keeps its
// place, and may get another client id.
func (b *book) amend(cmd *Command, s int32, o *order) {
	if r := b.mayAmend(cmd, s, o); r != NotRejected {
		b.stream.refuse(cmd, r)
		return
	}
	at := b.stream.n
	b.change(cmd, s, o)
	e := &b.stream.out[at]
	if e.Kind != EventReplaced {
		return
	}
	e.Flags = FlagSmallerOnly
	o.amends++
	if cmd.Client.Named() {
		e.Client = cmd.Client
		b.rename(s, o, cmd.Client)
	}
}

// mayAmend checks what only an amendment has to meet.
func (b *book) mayAmend(cmd *Command, s int32, o *order) Reason {
	filled := o.total - o.shown - b.orders.hidden(s, o)
	switch {
	case cmd.Flags&FlagHasAmount != 0 && b.lacksAmount(s, o):
		return OrderPending
	case cmd.Flags&(FlagHasPrice|FlagHasStop|FlagHasTrail|FlagHasAmount) != FlagHasAmount,
		cmd.Amount >= o.total, cmd.Amount <= filled:
		return AmendNotSmaller
	case cmd.Client.Named():
		if r := b.mayRename(s, o, cmd.Client); r != NotRejected {
			return r
		}
	}
	if o.amends >= MaxAmends {
		return TooManyAmends
	}
	return NotRejected
}

// mayRename checks whether an order may have another client id. It may have its own.
func (b *book) mayRename(s int32, o *order, id *ClientID) Reason {
	own, known := b.orders.clientOf(s, o), b.clients.Find(id.Hash)
	switch {
	case known != 0 && known != own && (!id.Reusable || b.clients.At(known).Open()):
		return DuplicateClientOrderID
	case own == 0 && !b.clients.HasRoom(0):
		return TooManyOrders
	}
	return NotRejected
}

// rename gives an order another client id. The pair forgets the one before.
func (b *book) rename(s int32, o *order, id *ClientID) {
	own := b.orders.clientOf(s, o)
	if own != 0 && b.clients.At(own).Hash == id.Hash {
		return
	}
	b.clients.Forget(&b.orders.owners, id.Hash)
	if own != 0 {
		b.clients.Rename(own, id.Hash)
		return
	}
	b.orders.cold.At(s).client = b.clients.Attach(&b.orders.owners, id.Hash, id.Content, o.n, o.owner)
	o.marks |= markClient
}
