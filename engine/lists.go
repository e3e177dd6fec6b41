package engine

import (
	"math"

	"github.com/tickhive/tickhive/engine/owners"
	"github.com/tickhive/tickhive/engine/slots"
	"github.com/tickhive/tickhive/internal/fixed"
)

// PairLists limits the open order lists of all accounts of a pair together, the built-in one included.
const PairLists = 2_000

// lists holds the open order lists of a pair, oldest first.
type lists struct {
	all            slots.Slab[list]
	oldest, newest int32
}

// list is an open order list. It ends with its last order.
type list struct {
	n       uint64               // number of its first order; those of the others follow
	orders  [MaxListOrders]int32 // slots of its orders, 0: it has ended
	older   int32                // neighbors by age
	newer   int32
	owner   int32
	client  int32 // slot of its client id, 0: none
	kind    ListKind
	cause   CancelCause // why the newest of its orders ended that no other order of the list has ended
	ending  bool        // all its orders are being canceled
	brought fixed.U128  // opo: units of the base that its working order has brought
}

// Works reports whether the first order of a list works and the others pend until it is filled.
func (k ListKind) Works() bool { return k != OCO }

// Brings reports whether the orders of a list sell what its working order brings.
func (k ListKind) Brings() bool { return k >= OPO }

// Orders returns the number of orders of a list.
func (k ListKind) Orders() int {
	if k == OTOCO || k == OPOCO {
		return 3
	}
	return 2
}

// Leg returns the place of the first order of a list that does not work.
func (k ListKind) Leg() int {
	if k.Works() {
		return 1
	}
	return 0
}

// Pairs reports whether a list has two orders of which one cancels the other: those from Leg on.
func (k ListKind) Pairs() bool { return k.Orders()-k.Leg() == 2 }

// Fault returns what is wrong with the form of a list, and with which order, from 1 (0: the list); "": nothing. Prices
// and amounts are checked when the list is placed.
func (l *List) Fault() (order int, what string) {
	if l.Kind == NoList || l.Kind > lastList {
		return 0, "The list has no kind."
	}
	if len(l.Orders) != l.Kind.Orders() {
		return 0, "An oco, an oto and an opo have 2 orders, an otoco and an opoco have 3."
	}
	for i := range l.Orders {
		if l.Orders[i].Flags&FlagQuote != 0 {
			return i + 1, "An order of a list has an amount, and no quote amount."
		}
	}
	first, legs := &l.Orders[0], l.Orders[l.Kind.Leg():]
	if l.Kind.Works() && first.Type != Limit {
		return 1, "The working order of a list is a limit order."
	}
	if l.Kind.Brings() && first.Side != Buy {
		return 1, "The working order of an opo and an opoco buys."
	}
	for i := range legs {
		if l.Kind.Brings() && (legs[i].Side != Sell || legs[i].Amount != 0) {
			return i + 2, "A pending order of an opo or an opoco sells what its working order has bought, and has " +
				"no amount."
		}
	}
	if len(legs) == 1 {
		return 0, ""
	}
	return l.faultOfLegs(l.Kind.Leg()+1, &legs[0], &legs[1])
}

// faultOfLegs returns what is wrong with two orders of which one cancels the other.
func (l *List) faultOfLegs(first int, one, two *Command) (order int, what string) {
	switch {
	case one.Side != two.Side:
		return first + 1, "Two orders of which one cancels the other have one side."
	case one.Amount != two.Amount && one.Refuse == NotRejected && two.Refuse == NotRejected:
		return first + 1, "Two orders of which one cancels the other have one amount."
	case one.stops() == two.stops():
		return 0, "Of two orders of which one cancels the other, one is a stop_limit or stop_market."
	}
	for i, o := range [...]*Command{one, two} {
		if !o.stops() && o.Flags&FlagPostOnly == 0 && !o.Type.Waits() || o.Type == Market {
			return first + i, "Of two orders of which one cancels the other, one is a stop, and one is a limit order " +
				"that is post only, or a take profit."
		}
	}
	return 0, ""
}

// stops reports whether the order is a stop, and no take profit.
func (cmd *Command) stops() bool { return cmd.Type == StopLimit || cmd.Type == StopMarket }

// embraces reports whether the prices of two orders of which one cancels the other are on both sides of the last trade:
// of sells, the limit or take profit above it and the stop below. Without a last trade (0), they embrace any price. An
// order that trails without a stop price is at none.
func embraces(one, two *Command, last int64) bool {
	stop, other := one, two
	if two.stops() {
		stop, other = two, one
	}
	aim := other.Price
	if other.Type.Waits() {
		aim = other.Stop
	}
	low, high := stop.Stop, aim
	if stop.Side == Buy {
		low, high = aim, stop.Stop
	}
	if low == 0 || high == 0 { // it trails
		return last == 0 || low < last && (high == 0 || high > last)
	}
	return low < high && (last == 0 || low < last && last < high)
}

// ahead counts the orders of a list before one that is checked.
type ahead struct {
	orders, waiting, named int
	lots                   [2]int64 // by side: they will rest
	slices                 int64
	kept                   bool // the order that is checked pends
}

// alone is before an order that is of no list. It is only read.
var alone ahead

// placeList places the orders of a list, or none of them. It first answers a repeat of the list's client id. Then it
// checks each order in turn as place does, where the first one answers for the money of all; then the list; and then
// what the book says.
func (b *book) placeList(cmd *Command) {
	if b.repeatsList(cmd) {
		return
	}
	if at, r := b.checkList(cmd); r != NotRejected {
		b.stream.refuse(cmd, r).MakerOpen = int64(at)
		return
	}
	b.placeOrders(cmd)
}

// placeListAgain goes on with a list in a later part.
func (b *book) placeListAgain(cmd *Command) {
	if r := b.coverList(cmd.List); r != NotRejected {
		b.scan = scan{}
		b.stream.refuse(cmd, r).MakerOpen = 1
		return
	}
	b.placeOrders(cmd)
}

// repeatsList answers a list whose client id is known already.
func (b *book) repeatsList(cmd *Command) bool {
	if !cmd.Client.Named() {
		return false
	}
	known := b.clients.Find(cmd.Client.Hash)
	if known == 0 {
		return false
	}
	switch e := b.clients.At(known); {
	case cmd.Client.Reusable && !e.Open():
		return false // the list takes the id over when it is accepted
	case !cmd.Client.Reusable && e.Content == cmd.Client.Content:
		b.stream.refuse(cmd, NotRejected).Order = MakeOrderID(b.id, e.Order())
	default:
		b.stream.refuse(cmd, DuplicateClientOrderID)
	}
	return true
}

// checkList returns the first fault of a list, and the number of its order, 0: of the list.
func (b *book) checkList(cmd *Command) (at int, r Reason) {
	l, a := cmd.List, ahead{}
	if _, fault := l.Fault(); fault != "" {
		return 0, ListPrices
	}
	if cmd.Client.Named() {
		a.named++
	}
	for i := range l.Orders {
		o := l.order(i)
		if r = b.checkOrder(l, i, &o, &a); r != NotRejected {
			return i + 1, r
		}
		a.add(b, &o)
	}
	if b.lists.all.InUse() >= PairLists || cmd.Account != 0 && b.listsOf(cmd.Account) >= b.opts.AccountLists {
		return 0, TooManyLists
	}
	if last := b.last; l.Kind.Pairs() {
		if l.Kind.Works() {
			last = 0 // what the last trade will be when they are released is not known
		}
		if legs := l.Orders[l.Kind.Leg():]; !embraces(&legs[0], &legs[1], last) {
			return 0, ListPrices
		}
	}
	return 0, NotRejected
}

// order returns an order of a list as it is checked: with the most that it can have as amount.
func (l *List) order(i int) Command {
	o := l.Orders[i]
	if i > 0 && l.Kind.Brings() {
		o.Amount = l.Orders[0].Amount
	}
	return o
}

// checkOrder checks an order of a list but for the book.
func (b *book) checkOrder(l *List, i int, o *Command, a *ahead) Reason {
	if r := b.checkMembers(o); r != NotRejected {
		return r
	}
	if a.kept = i >= l.Kind.Leg() && l.Kind.Works(); !o.Type.AtMarket() && (a.kept || l.Kind == OCO) {
		if lots := a.lots[o.Side]; lots > math.MaxInt64-o.Amount || !b.roomFor(o.Side, lots+o.Amount) {
			return AmountOutOfRange
		}
	}
	if i == 0 {
		if r := b.coverList(l); r != NotRejected {
			return r
		}
	}
	if b.taken(l, i) {
		return DuplicateClientOrderID
	}
	return b.checkState(o, a)
}

// add counts an order.
func (a *ahead) add(b *book, o *Command) {
	if a.orders++; o.Client.Named() {
		a.named++
	}
	if o.Type.Waits() || a.orders > 1 {
		a.waiting++
	}
	if !o.Type.AtMarket() {
		a.lots[o.Side] += o.Amount
		a.slices += b.slicesAhead(o)
	}
}

// taken reports whether the client id of an order of a list is taken: by an order before it, or one outside.
func (b *book) taken(l *List, i int) bool {
	id := l.Orders[i].Client
	if !id.Named() {
		return false
	}
	for k := range i {
		if other := l.Orders[k].Client; other.Named() && other.Hash == id.Hash {
			return true
		}
	}
	known := b.clients.Find(id.Hash)
	return known != 0 && (!id.Reusable || b.clients.At(known).Open())
}

// coverList asks whether the account of a list may hold what the list holds when it is accepted: the larger need of two
// orders of which one cancels the other, or the need of its working order.
func (b *book) coverList(l *List) Reason {
	if b.ledger.funds == nil {
		return NotRejected
	}
	first := &l.Orders[0]
	need := b.inst.needs(first, b.last)
	if l.Kind == OCO && b.checkMembers(&l.Orders[1]) == NotRejected {
		need = larger(need, b.inst.needs(&l.Orders[1], b.last))
	}
	return b.cover(first.Account, first.Side, need)
}

func larger(a, b fixed.U128) fixed.U128 {
	if a.Less(b) {
		return b
	}
	return a
}

// listsOf returns the number of open lists of an account.
func (b *book) listsOf(id AccountID) int {
	return int(b.orders.owners.At(b.orders.owners.Find(uint32(id))).Lists)
}

// placeOrders places the orders of a list that has been checked, unless the book refuses one that would enter it. While
// the walk of a fill-or-kill order is unfinished the list has no id, and a later part calls placeOrders again.
func (b *book) placeOrders(cmd *Command) {
	l := cmd.List
	var takers [MaxListOrders]taker
	for i := range l.Orders {
		takers[i].set(&l.Orders[i], b.orders.owners.AddOrder(uint32(cmd.Account)))
	}
	expires := false // the working order, which is then canceled
	for i := range l.Orders {
		if l.Orders[i].Type.Waits() || i >= l.Kind.Leg() && l.Kind.Works() {
			continue
		}
		r, known := b.mayEnter(&takers[i])
		if r != NotRejected && known && l.Orders[i].Flags&FlagExpire != 0 {
			expires = takers[i].expires(r)
		}
		if r == NotRejected || expires {
			continue
		}
		for range l.Orders {
			b.orders.owners.DropOrder(takers[0].owner)
		}
		if known {
			b.stream.refuse(cmd, r).MakerOpen = int64(i + 1)
		} else {
			b.pause().cmd = cmd.clone()
		}
		return
	}
	b.acceptList(cmd, takers[:len(l.Orders)])
	if expires {
		b.cancelTaker(&takers[0])
	} else if l.Kind.Works() && b.enter(&takers[0]) {
		b.cascade()
	}
}

// acceptList accepts a list and its orders, and gives each order its slot, in the order of the ids.
func (b *book) acceptList(cmd *Command, takers []taker) {
	l, owner := cmd.List, takers[0].owner
	ls := b.lists.add(list{n: b.lastN + 1, owner: owner, kind: l.Kind})
	b.orders.owners.At(owner).Lists++
	if cmd.Client.Named() {
		if cmd.Client.Reusable {
			b.clients.Forget(&b.orders.owners, cmd.Client.Hash)
		}
		b.lists.at(ls).client = b.clients.RememberList(&b.orders.owners, cmd.Client.Hash, cmd.Client.Content, b.lastN+1,
			owner)
	}
	e := b.stream.emit(EventList)
	e.Order = MakeOrderID(b.id, b.lastN+1)
	e.Account = cmd.Account
	e.List = l.Kind
	e.Amount = int64(len(takers))
	e.Client = cmd.Client
	for i := range takers {
		takers[i].list = ls
		e := b.accept(&l.Orders[i], &takers[i])
		e.Maker = MakeOrderID(b.id, b.lists.at(ls).n)
		if i >= l.Kind.Leg() && l.Kind.Works() {
			e.Status, e.Quote = Pending, fixed.U128{}
		}
	}
	for i := range takers {
		b.lists.at(ls).orders[i] = b.settle(&takers[i], &l.Orders[i], l.Kind.Works(), i == 0)
	}
}

// settle gives an accepted order of a list its slot: a working one on no level, because it enters next.
func (b *book) settle(t *taker, cmd *Command, works, first bool) int32 {
	switch {
	case works && !first:
		return b.store(t, cmd, pends)
	case cmd.Type.Waits():
		return b.park(t, cmd)
	}
	if b.seat(t); !works {
		b.rest(t)
	}
	return t.slot
}

// at returns a list.
func (w *lists) at(ls int32) *list { return w.all.At(ls) }

// add adds the newest list.
func (w *lists) add(l list) (ls int32) {
	ls = w.all.Alloc()
	l.older = w.newest
	*w.all.At(ls) = l
	if w.newest != 0 {
		w.all.At(w.newest).newer = ls
	} else {
		w.oldest = ls
	}
	w.newest = ls
	return ls
}

// remove removes a list.
func (w *lists) remove(ls int32) {
	l := w.all.At(ls)
	if l.older != 0 {
		w.all.At(l.older).newer = l.newer
	} else {
		w.oldest = l.newer
	}
	if l.newer != 0 {
		w.all.At(l.newer).older = l.older
	} else {
		w.newest = l.older
	}
	w.all.Release(ls)
}

// listOf returns the list of an order, 0: it is of none.
func (b *book) listOf(s int32, o *order) int32 {
	if o.marks&markList == 0 {
		return 0
	}
	at := b.orders.cold.At(s).stop
	if o.marks&markStop != 0 {
		return b.stops.parked.At(at).list
	}
	return at
}

// tradeOfList does what a trade of q lots means for the lists of the taker and the maker: the first fill of one of two
// orders ends the other, and what a working order of an opo brings is for its pending orders. The maker's order is not
// filled yet.
func (b *book) tradeOfList(t *taker, s int32, o *order, q int64) {
	if t.list != 0 && t.side == Buy {
		b.bring(t.list, t.n, q, t.takerFee, t.discount)
	}
	if o.marks&markList == 0 {
		return
	}
	ls := b.listOf(s, o)
	if o.side == Buy {
		b.bring(ls, o.n, q, o.makerFee, o.discount)
	}
	b.cancelOther(ls, s)
}

// bring adds what a working order of an opo has bought, less the fee.
func (b *book) bring(ls int32, n uint64, lots int64, rate, discount uint32) {
	if l := b.lists.at(ls); l.kind.Brings() && l.n == n {
		units := b.inst.BaseUnits(lots)
		l.brought = l.brought.Add(units.Sub(fixed.Fee(units, rate, discount)))
	}
}

// other returns the slot of the order that an order of a list cancels, 0: it cancels none.
func (l *list) other(s int32) int32 {
	if !l.kind.Pairs() {
		return 0
	}
	switch legs := l.orders[l.kind.Leg():]; s {
	case legs[0]:
		return legs[1]
	case legs[1]:
		return legs[0]
	}
	return 0
}

// cancelOther cancels the other one of two orders, because the one of slot s works.
func (b *book) cancelOther(ls, s int32) {
	if x := b.lists.at(ls).other(s); x != 0 {
		b.cancelOpen(x, b.orders.at(x), CauseList, nil)
	}
}

// reduceOther lowers the other one of two orders by the d lots that self-trade prevention took off the one of slot s,
// which stays open.
func (b *book) reduceOther(s int32, o *order, d int64) {
	x := b.lists.at(b.listOf(s, o)).other(s)
	if x == 0 {
		return
	}
	p := b.orders.at(x)
	st := b.stops.parked.At(b.orders.cold.At(x).stop)
	b.setLots(p, st, st, p.total-d)
	e := b.stream.reduced(MakeOrderID(b.id, p.n), b.orders.account(p), p.side, st.price, d)
	e.OpenAmount, e.Display = p.shown, st.waitingPrice()
}

// leave takes an order that has ended off its list: the end of the working order releases the pending ones or cancels
// them, the end of one of two orders cancels the other.
func (b *book) leave(ls int32, n uint64, cause CancelCause) {
	l := b.lists.at(ls)
	at := int(n - l.n)
	other := l.other(l.orders[at])
	l.orders[at] = 0
	if cause != CauseList && cause != CauseWorking {
		l.cause = cause
	}
	switch {
	case l.ending, cause == CauseList:
	case other != 0:
		b.cancelOpen(other, b.orders.at(other), CauseList, nil) // the list ends with it
		return
	case at == 0 && l.kind.Works() && cause == causeFilled:
		b.releaseList(l)
		return
	case at == 0 && l.kind.Works():
		b.cancelList(ls, CauseWorking, nil)
		return
	}
	if l.orders == [MaxListOrders]int32{} {
		b.endList(ls)
	}
}

// endsWhole reports whether an end of one of its orders with the cause is the end of all orders of a list.
func (b *book) endsWhole(ls int32, cause CancelCause) bool {
	return (cause == CauseRequest || cause == CauseOperator) && !b.lists.at(ls).ending
}

// cancelList cancels all orders of a list that are open.
func (b *book) cancelList(ls int32, cause CancelCause, own *ClientID) {
	l := b.lists.at(ls)
	l.ending = true
	for _, s := range l.orders {
		if s != 0 {
			b.cancelOpen(s, b.orders.at(s), cause, own)
		}
	}
}

// endList ends a list whose last order has ended.
func (b *book) endList(ls int32) {
	l := b.lists.at(ls)
	e := b.stream.emit(EventListEnded)
	e.Order = MakeOrderID(b.id, l.n)
	e.Account = AccountID(b.orders.owners.Account(l.owner))
	if e.Status = Canceled; l.cause == causeFilled {
		e.Status = Completed
	} else {
		e.Cause = l.cause
	}
	if l.client != 0 {
		b.clients.Close(l.client)
	}
	b.orders.owners.DropList(l.owner)
	b.lists.remove(ls)
}

// releaseList queues the pending orders of a list, whose working order has been filled, behind the stops that are
// reached.
func (b *book) releaseList(l *list) {
	s := l.orders[1]
	b.stops.parked.At(b.orders.cold.At(s).stop).state = due
	b.stops.queue.Push(slots.Queued{N: b.orders.at(s).n, Slot: s, Wave: b.stops.wave})
}

// begin begins the pending orders of the list of the order of slot s, whose turn has come. It returns false when the
// part ends before.
func (b *book) begin(s int32) (done bool) {
	ls := b.listOf(s, b.orders.at(s))
	l := b.lists.at(ls)
	if cause, ok := b.fund(l); !ok {
		b.cancelList(ls, cause, nil)
		return true
	}
	for _, x := range l.orders {
		if x == 0 {
			continue
		}
		o := b.orders.at(x)
		if st := b.stops.parked.At(b.orders.cold.At(x).stop); !st.paysAhead(o) {
			b.emitReleased(x, o, st, o.shown, b.holdOfStop(o, st))
			st.state = waits // from now on it holds, also if the other one ends it before its turn
		}
	}
	for i := range l.orders { // an order that triggers or ends takes the other one off the list
		if x := l.orders[i]; x != 0 && !b.beginOrder(x) {
			return false
		}
	}
	return true
}

// fund gives pending orders their amount, if their working order brings it, and asks whether their account may hold
// what they need: together the larger need. If not, cause says why they end.
func (b *book) fund(l *list) (cause CancelCause, ok bool) {
	if l.kind.Brings() {
		return b.share(l)
	}
	need, account, side := fixed.U128{}, AccountID(0), Buy
	for _, x := range l.orders {
		if x == 0 {
			continue
		}
		o := b.orders.at(x)
		st := b.stops.parked.At(b.orders.cold.At(x).stop)
		account, side = b.orders.account(o), o.side
		cmd := &Command{Side: o.side, Type: st.typ, Price: st.price, Stop: st.stop, Amount: o.shown, Trail: st.trail}
		if st.hold != 0 {
			if b.inst.checkHold(cmd, b.last) != NotRejected {
				return CauseFunds, false
			}
			st.hold, _ = cmd.holdPrice(b.last)
		}
		need = larger(need, b.inst.needs(cmd, b.last))
	}
	return CauseFunds, b.cover(account, side, need) == NotRejected
}

// share gives the pending orders of a list what its working order has brought, in lots.
func (b *book) share(l *list) (cause CancelCause, ok bool) {
	units, _ := l.brought.DivMod64(b.inst.BaseUnits(1).Lo)
	lots := int64(units.Lo)
	if l.brought = (fixed.U128{}); lots == 0 {
		return CauseFunds, false
	}
	both, n := int64(0), int64(0)
	for _, x := range l.orders {
		if x == 0 {
			continue
		}
		if st := b.stops.parked.At(b.orders.cold.At(x).stop); !st.typ.AtMarket() {
			if lots > math.MaxInt64-both {
				return CauseUnfillable, false
			}
			both, n = both+lots, n+st.slices(lots)
		}
	}
	if !b.roomFor(Sell, both) || n > b.opts.PairSlices-b.slices {
		return CauseUnfillable, false
	}
	for _, x := range l.orders {
		if x != 0 {
			st := b.stops.parked.At(b.orders.cold.At(x).stop)
			b.setLots(b.orders.at(x), st, st, lots)
		}
	}
	return 0, true
}

// paysAhead reports whether what a pending order holds is what it costs in the book when it is released.
func (st *stopOrder) paysAhead(o *order) bool {
	return st.typ == Market && o.side == Buy && o.owner != owners.Builtin
}

// emitReleased reports that an order of a list begins.
func (b *book) emitReleased(s int32, o *order, st *stopOrder, lots int64, quote fixed.U128) {
	e := b.stream.emit(EventReleased)
	e.Order = MakeOrderID(b.id, o.n)
	e.Account = b.orders.account(o)
	e.Side = o.side
	e.Type = st.typ
	e.Maker = MakeOrderID(b.id, b.lists.at(b.listOf(s, o)).n)
	e.Price = st.price
	e.MakerOpen = st.stop
	e.Trail = st.trail
	e.Amount, e.OpenAmount = lots, lots
	e.Quote = quote
}

// beginOrder makes an order wait that its list has released, or lets it enter. It returns false when the part ends
// before.
func (b *book) beginOrder(s int32) (done bool) {
	o := b.orders.at(s)
	st := b.stops.parked.At(b.orders.cold.At(s).stop)
	if !st.typ.Waits() {
		pays := st.paysAhead(o)
		t := b.takerOf(s)
		if pays {
			t.due = true // its release is reported when its cost is known
			return b.enterStop(&t)
		}
		return b.enterTriggered(&t)
	}
	st.state = waits
	switch {
	case st.trail != 0 || !through(b.last, st.way(o.side), st.stop):
		b.await(s, o)
	case st.flags&FlagStrict != 0:
		b.cancelOpen(s, o, CauseUnfillable, nil)
	default:
		return b.trigger(s)
	}
	return true
}
