package client

import (
	"maps"
	"slices"
	"time"
)

// openOrders knows the orders and lists of which the caller of a PrivateStream does not know the end, and the orders of
// which it does.
type openOrders struct {
	open    map[string]bool
	lists   map[string]bool
	ended   map[string]string // by id the dates of orders that ended lately
	limit   int               // length of ended from which on old ones are forgotten
	newest  string            // date of the newest order
	heardMs int64             // time of the last message about orders
}

// ended reports whether nothing more can happen to the order.
func (o *Order) ended() bool {
	return o.Status != "Created" && o.Status != "PartiallyCompleted" && o.Status != "Pending"
}

// note notes the state of an order. It returns false when the caller knows already that the order has ended.
func (k *openOrders) note(o *Order) bool {
	if k.ended[o.ID] != "" {
		return false
	}
	k.newest = max(k.newest, o.Date)
	if !o.ended() {
		set(&k.open, o.ID)
		return true
	}
	delete(k.open, o.ID)
	if k.ended == nil {
		k.ended = map[string]string{}
	}
	if len(k.ended) >= max(k.limit, 1000) { // those that no list of orders placed lately has
		old := formatDate(dateBefore(k.newest))
		maps.DeleteFunc(k.ended, func(_, date string) bool { return date < old })
		k.limit = 2 * len(k.ended)
	}
	k.ended[o.ID] = o.Date
	return true
}

// noteFill notes the order of a fill before the first snapshot of orders: the caller may not know its end.
func (k *openOrders) noteFill(f *Fill) {
	if k.heardMs == 0 && k.ended[f.OrderID] == "" {
		set(&k.open, f.OrderID)
	}
}

// listsOf adds to the ids of lists those of orders that have ended, before the first snapshot of orders: the caller may
// not know their end.
func (k *openOrders) listsOf(ended []Order, lists []string) []string {
	for i := range ended {
		if id := ended[i].ListID; id != nil && k.heardMs == 0 && !k.lists[*id] {
			lists = append(lists, *id)
		}
	}
	return lists
}

// noteList notes the state of a list; nil: of none.
func (k *openOrders) noteList(l *List) {
	switch {
	case l == nil:
	case l.Status == "done":
		delete(k.lists, l.ID)
	default:
		set(&k.lists, l.ID)
	}
}

// restart begins again with a snapshot. It returns the ids of the orders and lists that were open before and are not in
// it.
func (k *openOrders) restart(m *Message) (orders, lists []string) {
	wereOpen, executed := k.open, k.lists
	k.open, k.lists = map[string]bool{}, map[string]bool{}
	for i := range m.Orders {
		k.note(&m.Orders[i])
	}
	for i := range m.Lists {
		k.noteList(&m.Lists[i])
	}
	gone := func(before, now map[string]bool) []string {
		maps.DeleteFunc(before, func(id string, _ bool) bool { return now[id] })
		return slices.Sorted(maps.Keys(before))
	}
	return gone(wereOpen, k.open), gone(executed, k.lists)
}

// remember takes back what restart returned.
func (k *openOrders) remember(orders, lists []string) {
	for _, id := range orders {
		set(&k.open, id)
	}
	for _, id := range lists {
		set(&k.lists, id)
	}
}

func set(m *map[string]bool, id string) {
	if *m == nil {
		*m = map[string]bool{}
	}
	(*m)[id] = true
}

// formatDate prints a time as the exchange prints dates, without a Z.
func formatDate(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.0000000") }
