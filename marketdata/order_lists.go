package marketdata

import (
	"slices"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/slots"
)

// ListRecord is a copy of an order list in the history. The caller may retain it.
type ListRecord struct {
	ID      engine.OrderID // the id of its first order
	Account engine.AccountID
	Kind    engine.ListKind
	Client  string           // client id of the list, "" when there is none
	Orders  []engine.OrderID // in the order of their ids

	Done  bool               // its last order has ended
	Cause engine.CancelCause // of a list that is done: why it has ended

	CreatedNs int64 // Unix ns
	ChangedNs int64 // Unix ns at which it began; of a list that is done, at which it ended
	// Seq is the seq of the last event of the command that began the list, or ended it.
	Seq engine.Seq
}

// Cursor returns the place of the list in a list of order lists.
func (r *ListRecord) Cursor() Cursor { return Cursor{TimeNs: r.CreatedNs, Order: r.ID} }

// listRec is the retained record of an order list.
type listRec struct {
	id                   engine.OrderID
	client               *engine.ClientID
	createdNs, changedNs int64
	seq                  engine.Seq
	account              engine.AccountID
	older, newer         int32 // slots of the account's next older and next newer list, 0: none
	kind                 engine.ListKind
	orders               uint8
	done                 bool
	cause                engine.CancelCause
}

func (l *listRec) key() orderKey { return orderKey{l.createdNs, l.id} }

func (l *listRec) matches(f StatusFilter) bool {
	return f == AnyStatus || l.done == (f == OnlyCanceled)
}

func (l *listRec) record() ListRecord {
	r := ListRecord{
		ID: l.id, Account: l.account, Kind: l.kind, Orders: make([]engine.OrderID, l.orders), Done: l.done,
		Cause: l.cause, CreatedNs: l.createdNs, ChangedNs: l.changedNs, Seq: l.seq,
	}
	for i := range r.Orders {
		r.Orders[i] = l.id + engine.OrderID(i)
	}
	if l.client != nil {
		r.Client = l.client.Text
	}
	return r
}

// orderLists holds the order lists of a history: those that execute, and the newest that have ended. Owner: the
// history.
type orderLists struct {
	slab   slots.Slab[listRec]
	byID   map[engine.OrderID]int32
	named  map[listName]int32 // the newest list of each client id
	ended  queue[int32]       // slots of the ended lists, by their end
	limit  int                // of ended
	change []int32            // slots of the lists that the current command has begun or ended
	seq    *engine.Seq        // of the pair of the current command
}

// listName is a client id of a list.
type listName struct {
	account engine.AccountID
	pair    engine.PairID
	client  string
}

func (l *listRec) name() listName {
	if !l.client.Named() {
		return listName{}
	}
	return listName{l.account, l.id.Pair(), l.client.Text}
}

func newOrderLists(limit int) orderLists {
	return orderLists{byID: map[engine.OrderID]int32{}, named: map[listName]int32{}, limit: limit}
}

// endCommand gives the command's last seq to the lists that the command has begun or ended.
func (l *orderLists) endCommand() {
	for _, i := range l.change {
		l.slab.At(i).seq = *l.seq
	}
	l.change = l.change[:0]
}

func (h *History) beginList(p *pairState, e *engine.Event) {
	i := h.lists.slab.Alloc()
	*h.lists.slab.At(i) = listRec{
		id: e.Order, account: e.Account, kind: e.List, orders: uint8(e.Amount), client: e.Client,
		createdNs: e.TimeNs, changedNs: e.TimeNs,
	}
	h.linkList(i)
	h.lists.change, h.lists.seq = append(h.lists.change, i), &p.seq
}

// linkList makes a list its account's newest one, and that of its client id.
func (h *History) linkList(i int32) {
	l := h.lists.slab.At(i)
	a := h.account(l.account)
	if l.older = a.list; l.older != 0 {
		h.lists.slab.At(l.older).newer = i
	}
	a.list = i
	h.lists.byID[l.id] = i
	if name := l.name(); name.client != "" {
		h.lists.named[name] = i
	}
}

func (h *History) endList(p *pairState, e *engine.Event) {
	i := h.lists.byID[e.Order]
	if i == 0 || h.lists.slab.At(i).done {
		panic("BUG: marketdata: the end of a list that does not execute")
	}
	l := h.lists.slab.At(i)
	l.done, l.cause, l.changedNs = true, e.Cause, e.TimeNs
	h.lists.change, h.lists.seq = append(h.lists.change, i), &p.seq
	h.lists.ended.pushBack(i)
}

// evictLists removes the lists that ended first while there are more ended ones than the limit.
func (h *History) evictLists() {
	for h.lists.ended.len() > h.lists.limit {
		i := *h.lists.ended.at(0)
		h.lists.ended.popFront()
		l := h.lists.slab.At(i)
		if l.newer != 0 {
			h.lists.slab.At(l.newer).older = l.older
		} else {
			h.accounts[l.account].list = l.older
		}
		if l.older != 0 {
			h.lists.slab.At(l.older).newer = l.newer
		}
		delete(h.lists.byID, l.id)
		if name := l.name(); h.lists.named[name] == i {
			delete(h.lists.named, name)
		}
		*l = listRec{}
		h.lists.slab.Release(i)
	}
}

// List returns the order list with this id: one that executes, or a retained ended one.
func (h *History) List(id engine.OrderID) (ListRecord, bool) {
	h.endCommand()
	return h.list(h.lists.byID[id])
}

// CurrentList returns the order list with this id and the client ids of its orders, "" for none, for an observer of the
// feed, as Current does.
func (h *History) CurrentList(id engine.OrderID) (l ListRecord, clients []string, found bool) {
	i := h.lists.byID[id]
	if i == 0 {
		return ListRecord{}, nil, false
	}
	l = h.lists.slab.At(i).record()
	clients = make([]string, len(l.Orders))
	for k, id := range l.Orders {
		if o, _ := h.find(id); o != nil {
			clients[k] = h.record(o).Client
		}
	}
	return l, clients, true
}

// ListByClient returns the newest order list of the account and the pair that has this client id.
func (h *History) ListByClient(account engine.AccountID, pair engine.PairID, client string) (ListRecord, bool) {
	h.endCommand()
	return h.list(h.lists.named[listName{account, pair, client}])
}

func (h *History) list(i int32) (ListRecord, bool) {
	if i == 0 {
		return ListRecord{}, false
	}
	return h.lists.slab.At(i).record(), true
}

// Lists returns a page of an account's order lists, newest first by creation, ties by id descending. OnlyOpen chooses
// the lists that execute, OnlyCanceled the others.
//
// turn has the same meaning as in Orders. A page that takes several turns shows each list at the time of the turn that
// read it. Lists that begin during the walk are not in the page.
func (h *History) Lists(q Query, turn func(func()) error) ([]ListRecord, error) {
	if q.Limit <= 0 || q.Offset < 0 {
		return nil, nil
	}
	w := listWalk{history: h, query: q, last: orderKey{q.After.TimeNs, q.After.Order}, skip: q.Offset}
	for !w.done {
		if err := turn(w.turn); err != nil {
			return nil, err
		}
	}
	return w.rows, nil
}

// listWalk collects the order lists of a page in one or more turns.
//
// Owner: the history's goroutine during a turn, the caller's between two turns.
type listWalk struct {
	history *History
	query   Query
	last    orderKey // the last list that was read, or the cursor; the zero value: begin at the newest list
	skip    int
	done    bool
	rows    []ListRecord
}

// turn reads at most walkRecords lists. It runs on the history's goroutine.
func (w *listWalk) turn() {
	h, q := w.history, &w.query
	h.endCommand()
	next := int32(0)
	if int(q.Account) < len(h.accounts) {
		next = h.accounts[q.Account].list
	}
	if i := h.lists.byID[w.last.id]; i != 0 && h.lists.slab.At(i).account == q.Account {
		next = h.lists.slab.At(i).older
	} // else it is gone: begin at the newest list, and pass over those that are not older
	for range walkRecords {
		if next == 0 {
			w.done = true
			return
		}
		h.visited++
		l := h.lists.slab.At(next)
		next = l.older
		if l.createdNs < q.SinceNs {
			w.done = true
			return
		}
		if w.last != (orderKey{}) && newerKey(l.key(), w.last) <= 0 {
			continue
		}
		w.last = l.key()
		if !q.matches(l.id.Pair(), l.createdNs) || !l.matches(q.Status) {
			continue
		}
		if w.skip > 0 {
			w.skip--
			continue
		}
		if w.rows = append(w.rows, l.record()); len(w.rows) == q.Limit {
			w.done = true
			return
		}
	}
}

// walkLists encodes or decodes the order lists: the ended ones by their end, then the others by number.
func (h *History) walkLists(w walker) {
	var slots []int32
	if !w.Reading() {
		for i := range h.lists.ended.len() {
			slots = append(slots, *h.lists.ended.at(i))
		}
		ended := len(slots)
		for _, i := range h.lists.byID {
			if !h.lists.slab.At(i).done {
				slots = append(slots, i)
			}
		}
		slices.SortFunc(slots[ended:], func(a, b int32) int {
			return newerKey(orderKey{id: h.lists.slab.At(b).id}, orderKey{id: h.lists.slab.At(a).id})
		})
	}
	for i := range w.Len(len(slots)) {
		if w.Reading() {
			slots = append(slots, h.lists.slab.Alloc())
			*h.lists.slab.At(slots[i]) = listRec{}
		}
		l := h.lists.slab.At(slots[i])
		w.list(l)
		if !w.Reading() {
			continue
		}
		if !h.checkList(w, l) {
			return
		}
		h.lists.byID[l.id] = slots[i]
	}
	if !w.Reading() {
		return
	}
	for _, i := range slots {
		if h.lists.slab.At(i).done {
			h.lists.ended.pushBack(i)
		}
	}
	slices.SortFunc(slots, func(a, b int32) int {
		return newerKey(h.lists.slab.At(b).key(), h.lists.slab.At(a).key())
	})
	for _, i := range slots {
		h.linkList(i)
	}
	h.evictLists()
}

// checkList reports whether a list that was read can be.
func (h *History) checkList(w walker, l *listRec) bool {
	if p := int(l.id.Pair()); p >= len(h.pairs) || h.pairs[p] == nil || int(l.account) >= len(h.accounts) {
		w.Fail("list %d belongs to no pair or account", l.id)
	}
	if h.lists.byID[l.id] != 0 {
		w.Fail("list %d is there twice", l.id)
	}
	return w.Err() == nil
}

func (w walker) list(l *listRec) {
	w.U64((*uint64)(&l.id))
	w.U32((*uint32)(&l.account))
	w.U8((*uint8)(&l.kind), uint8(engine.OPOCO))
	w.U8(&l.orders, engine.MaxListOrders)
	w.Bool(&l.done)
	w.cause(&l.cause)
	w.I64(&l.createdNs)
	w.I64(&l.changedNs)
	w.seq(&l.seq)
	w.client(&l.client)
}
