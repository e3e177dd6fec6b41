package owners

import (
	"fmt"

	"github.com/tickhive/tickhive/engine/slots"
)

// Builtin is the slot of the built-in account, account 0, in every set.
const Builtin int32 = 1

// Owner holds the state of one account in one pair: the list of its open orders by id, so
// that a mass cancel never reads another account's orders, and the window of its newest
// client ids. It exists while the account has either.
type Owner struct {
	Account    uint32
	Open       int32 // number of open orders, the order being matched included
	Stops      int32 // waiting stops
	Lists      int32 // open order lists
	Head, Tail int32 // slots of its first and last order, by id; unused for the built-in account

	window                 int32 // number of its client ids in the window
	clientHead, clientTail int32 // its oldest and newest client id in the window
}

// Set finds the accounts of a pair. It caches the last one found, because an account tends to
// send several commands in a row.
type Set struct {
	slots   slots.Slab[Owner]
	table   slots.Table // of all but the built-in account
	lastID  uint32
	lastPos int32
	builtin *Owner // of slot Builtin
}

// NewSet returns a set with the built-in account.
func NewSet() Set {
	var o Set
	o.slots.Alloc() // Builtin
	o.builtin = o.slots.At(Builtin)
	o.lastPos = Builtin
	return o
}

// At returns the owner of a slot.
func (o *Set) At(s int32) *Owner { return o.slots.At(s) }

// Find returns the slot of an account, 0 when it has nothing in this pair. The owner of slot 0 has no order and no
// stop.
func (o *Set) Find(id uint32) int32 {
	if id == 0 {
		return Builtin
	}
	if id == o.lastID {
		return o.lastPos
	}
	s, _ := o.table.Seek(hashedID(id), 0)
	if s == 0 {
		s = o.table.Spilled(slots.Key{uint64(id)})
	}
	if s != 0 {
		o.lastID, o.lastPos = id, s
	}
	return s
}

// hashedID returns the hash of an account, which no other account has: the factor is odd. So no search has to compare
// accounts. Accounts that follow each other are spread evenly. It needs no secret: nobody chooses the number of an
// account, and a few thousand accounts have too few numbers that collide.
func hashedID(id uint32) uint32 { return id * 0x9E3779B1 }

// AddOrder counts one more open order of an account and returns the account's slot. It makes the slot if
// necessary.
func (o *Set) AddOrder(id uint32) int32 {
	if id == 0 {
		o.builtin.Open++
		return Builtin
	}
	s := o.Find(id)
	if s == 0 {
		s = o.slots.Alloc()
		*o.slots.At(s) = Owner{Account: id}
		o.table.Put(hashedID(id), s, slots.Key{uint64(id)})
		o.lastID, o.lastPos = id, s
	}
	o.slots.At(s).Open++
	return s
}

// DropOrder counts one open order less, and removes the owner when it has neither orders nor client ids left.
func (o *Set) DropOrder(s int32) {
	if s == Builtin {
		o.builtin.Open--
		return
	}
	w := o.slots.At(s)
	w.Open--
	o.removeIdle(s, w)
}

// DropList counts one open order list less.
func (o *Set) DropList(s int32) {
	w := o.slots.At(s)
	w.Lists--
	o.removeIdle(s, w)
}

// Account returns the account of a slot.
func (o *Set) Account(s int32) uint32 {
	if s == Builtin {
		return 0
	}
	return o.slots.At(s).Account
}

func (o *Set) removeIdle(s int32, w *Owner) {
	if w.Open != 0 || w.window != 0 || w.Lists != 0 || s == Builtin {
		return
	}
	o.table.Delete(hashedID(w.Account), s, slots.Key{uint64(w.Account)})
	if o.lastPos == s {
		o.lastID, o.lastPos = 0, Builtin
	}
	o.slots.Release(s)
}

// Check reports the first account that has a wrong entry, or one that removeIdle should have removed.
func (o *Set) Check() (err error) {
	o.table.All(func(s int32) {
		w := o.slots.At(s)
		if at := o.Find(w.Account); at != s || w.Open == 0 && w.window == 0 && w.Lists == 0 {
			err = fmt.Errorf("account %d: nothing is left of it, or it is in slot %d", w.Account, at)
		}
	})
	if err != nil {
		return err
	}
	if n := o.slots.InUse(); n != o.table.Count()+1 {
		return fmt.Errorf("%d owners, %d known", n, o.table.Count())
	}
	return nil
}
