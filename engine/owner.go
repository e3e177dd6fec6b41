package engine

import "tickhive/engine/slots"

// builtinOwner is the slot of the built-in account in every book.
const builtinOwner int32 = 1

// owner holds the state of one account in one pair: the list of its open orders by id, so
// that a mass cancel never reads another account's orders, and the window of its newest
// client ids. It exists while the account has either.
type owner struct {
	id         AccountID
	open       int32 // number of open orders, the order being matched included
	stops      int32 // waiting stops
	head, tail int32 // first and last of its orders, by id; unused for the built-in account (cancel.go)

	window                 int32 // number of its client ids in the window
	clientHead, clientTail int32 // its oldest and newest client id in the window
}

// owners finds accounts in a book. It caches the last one found, because an account tends to
// send several commands in a row.
type owners struct {
	slots   slots.Slab[owner]
	byID    map[AccountID]int32
	lastID  AccountID
	lastPos int32
	builtin *owner // of slot builtinOwner
}

func newOwners() owners {
	o := owners{byID: map[AccountID]int32{}}
	o.slots.Alloc() // builtinOwner
	o.builtin = o.slots.At(builtinOwner)
	o.lastPos = builtinOwner
	return o
}

// find returns the slot of an account, 0 when it has nothing in this pair.
func (o *owners) find(id AccountID) int32 {
	if id == 0 {
		return builtinOwner
	}
	if id == o.lastID {
		return o.lastPos
	}
	s := o.byID[id]
	if s != 0 {
		o.lastID, o.lastPos = id, s
	}
	return s
}

// addOrder counts one more open order of an account and returns the account's slot. It makes the slot if
// necessary.
func (o *owners) addOrder(id AccountID) int32 {
	if id == 0 {
		o.builtin.open++
		return builtinOwner
	}
	s := o.find(id)
	if s == 0 {
		s = o.slots.Alloc()
		*o.slots.At(s) = owner{id: id}
		o.byID[id] = s
		o.lastID, o.lastPos = id, s
	}
	o.slots.At(s).open++
	return s
}

// dropOrder counts one open order less, and removes the owner when it has neither orders nor client ids left.
func (o *owners) dropOrder(s int32) {
	if s == builtinOwner {
		o.builtin.open--
		return
	}
	w := o.slots.At(s)
	w.open--
	o.removeIdle(s, w)
}

// account returns the account of a slot.
func (o *owners) account(s int32) AccountID {
	if s == builtinOwner {
		return 0
	}
	return o.slots.At(s).id
}

func (o *owners) removeIdle(s int32, w *owner) {
	if w.open != 0 || w.window != 0 || s == builtinOwner {
		return
	}
	delete(o.byID, w.id)
	if o.lastPos == s {
		o.lastID, o.lastPos = 0, builtinOwner
	}
	o.slots.Release(s)
}
