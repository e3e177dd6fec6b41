package owners

import (
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"slices"
	"unsafe"

	"github.com/tickhive/tickhive/engine/slots"
)

// Client order ids of one pair (docs/contract/matching.md#client-order-ids). A pair remembers
// the ids of open orders and, in a window by order of placement, the newest AccountClientIDs of
// each account: at most ClientIDs in total. When room is needed, the oldest leave the window
// first. The pair forgets an id that leaves the window at once when its order is closed, else
// when that order ends.
//
// Two rules use the table, and each command says which one applies. By the first a remembered id names its order for
// good, and a repeat finds that order. By the second an id belongs to its order while the order is open, and a later
// order takes the id over (Forget).

// Client is one remembered id: 64 bytes, and 11 to 22 in the table.
type Client struct {
	Hash    [2]uint64
	Content [2]uint64
	order   uint64 // order number << 3, with the flags clientOpen, clientWindow and clientOrder
	Owner   int32
	prev    int32 // the owner's neighbors by age in the window; prev of the oldest one is not used
	next    int32
	older   int32 // neighbors by age in the pair's window
	newer   int32
}

const (
	clientOpen   = 1
	clientWindow = 2
	clientOrder  = 4 // it is the id of an order; otherwise of the list that begins with the order
)

// Order returns the number of the order that has the id, or of the first order of the list that has it.
func (e *Client) Order() uint64 { return e.order >> 3 }

// Key returns a number by which the ids are in the order of their placement: that of a list precedes that of its first
// order.
func (e *Client) Key() uint64 { return e.order >> 2 }

// Key returns the key of an id of order n, or of the list that begins with it.
func Key(n uint64, ofList bool) uint64 {
	if ofList {
		return n << 1
	}
	return n<<1 | clientOrder>>2
}

// OfList reports whether the id is of a list.
func (e *Client) OfList() bool { return e.order&clientOrder == 0 }

// Open reports whether the order or list is open.
func (e *Client) Open() bool { return e.order&clientOpen != 0 }

// Clients holds the client order ids of one pair. All of its slots are of entries.
type Clients struct {
	entries        slots.Slab[Client]
	table          slots.Table // of the entries
	oldest, newest int32       // oldest and newest entry of the pair's window
	open           int         // number of entries whose order is open
	perPair        int
	perOwner       int32
	secret         [2]uint64
}

// secret says where the ids of this process are in their tables. Whoever sends orders chooses the ids, and with them
// the hashes: without the secret, ids that are all at one place could be found in advance. Nothing else depends on it:
// states, snapshots and events have the hashes, and nothing reads the order of a table.
var secret = [2]uint64{rand.Uint64(), rand.Uint64()} // the source is seeded by the system's randomness

// NewClients returns an empty table that remembers at most perPair ids of the pair and perOwner ids of an account.
func NewClients(perPair int, perOwner int32) Clients {
	return Clients{perPair: perPair, perOwner: perOwner, secret: secret}
}

// At returns the client order id in a slot.
func (c *Clients) At(s int32) *Client { return c.entries.At(s) }

// Window yields the ids in the window, oldest first.
func (c *Clients) Window() iter.Seq[*Client] {
	return func(yield func(*Client) bool) {
		for s := c.oldest; s != 0; s = c.entries.At(s).newer {
			if !yield(c.entries.At(s)) {
				return
			}
		}
	}
}

// place returns the bits by which the table finds an id: both halves of its hash, mixed with the secret.
func (c *Clients) place(hash *[2]uint64) uint32 {
	high, low := bits.Mul64(hash[0]^c.secret[0], hash[1]^c.secret[1])
	return uint32(high ^ low)
}

// Find returns the slot of a client id, 0: not remembered.
func (c *Clients) Find(hash [2]uint64) int32 {
	at := c.place(&hash)
	s, next := c.table.Seek(at, 0)
	for s != 0 && c.entries.At(s).Hash != hash {
		s, next = c.table.Seek(at, next)
	}
	if s == 0 {
		s = c.table.Spilled(hash)
	}
	return s
}

// CacheLine returns the cache line of the table in which Find begins its search.
func (c *Clients) CacheLine(hash [2]uint64) slots.CacheLine { return c.table.CacheLine(c.place(&hash)) }

// EntryCacheLine returns the cache line of the members of an id that Close changes.
func (c *Clients) EntryCacheLine(s int32) slots.CacheLine {
	return slots.CacheLine(unsafe.Pointer(&c.entries.At(s).order))
}

// Open returns the number of ids whose order is open.
func (c *Clients) Open() int { return c.open }

// remove forgets an entry.
func (c *Clients) remove(s int32) {
	e := c.entries.At(s)
	c.table.Delete(c.place(&e.Hash), s, e.Hash)
	c.entries.Release(s)
}

// Forget forgets an id whose order has ended, so that a new order can have it. The id of an open order stays.
func (c *Clients) Forget(o *Set, hash [2]uint64) {
	if s := c.Find(hash); s != 0 && !c.entries.At(s).Open() {
		c.leaveWindow(o, s)
	}
}

// HasRoom reports whether one more id can be remembered behind some others. Every id without an open order is in
// the window and can be evicted.
func (c *Clients) HasRoom(ahead int) bool { return c.open+ahead < c.perPair }

// Remember stores the id of a new order of owner ws. HasRoom must be true.
func (c *Clients) Remember(o *Set, hash, content [2]uint64, n uint64, ws int32) int32 {
	return c.remember(o, hash, content, Key(n, false), ws)
}

// RememberList stores the id of a new list, whose first order has the number n.
func (c *Clients) RememberList(o *Set, hash, content [2]uint64, n uint64, ws int32) int32 {
	return c.remember(o, hash, content, Key(n, true), ws)
}

func (c *Clients) remember(o *Set, hash, content [2]uint64, key uint64, ws int32) int32 {
	s := c.attach(o, hash, content, key, ws)
	w := o.slots.At(ws)
	c.enterWindow(s, w)
	if w.window > c.perOwner {
		c.leaveWindow(o, w.clientHead)
	}
	return s
}

// Attach stores an id of an open order of owner ws outside the window, which has the age of the orders: the pair
// forgets the id when the order ends. HasRoom must be true.
func (c *Clients) Attach(o *Set, hash, content [2]uint64, n uint64, ws int32) int32 {
	return c.attach(o, hash, content, Key(n, false), ws)
}

func (c *Clients) attach(o *Set, hash, content [2]uint64, key uint64, ws int32) int32 {
	for c.entries.InUse() >= c.perPair {
		if c.oldest == 0 {
			panic("BUG: engine: no room for a client id that was let in")
		}
		c.leaveWindow(o, c.oldest)
	}
	s := c.entries.Alloc()
	*c.entries.At(s) = Client{Hash: hash, Content: content, order: key<<2 | clientOpen, Owner: ws}
	c.table.Put(c.place(&hash), s, hash)
	c.open++
	return s
}

// Rename gives an entry another id, which no entry may have.
func (c *Clients) Rename(s int32, hash [2]uint64) {
	e := c.entries.At(s)
	c.table.Delete(c.place(&e.Hash), s, e.Hash)
	e.Hash = hash
	c.table.Put(c.place(&hash), s, hash)
}

// Restore adds an entry of a decoded state. The caller adds entries by ascending key.
func (c *Clients) Restore(o *Set, id Client, key uint64, account uint32, open, window bool) int32 {
	ws := o.AddOrder(account)
	s := c.entries.Alloc()
	id.order, id.Owner = key<<2, ws
	*c.entries.At(s) = id
	if open {
		c.entries.At(s).order |= clientOpen
		c.open++
	}
	c.table.Put(c.place(&id.Hash), s, id.Hash)
	if window {
		c.enterWindow(s, o.slots.At(ws))
	}
	o.DropOrder(ws)
	return s
}

func (c *Clients) enterWindow(s int32, w *Owner) {
	e := c.entries.At(s)
	e.order |= clientWindow
	e.older, e.newer, e.next = c.newest, 0, 0
	if c.newest != 0 {
		c.entries.At(c.newest).newer = s
	} else {
		c.oldest = s
	}
	c.newest = s
	if e.prev = w.clientTail; e.prev != 0 {
		c.entries.At(e.prev).next = s
	} else {
		w.clientHead = s
	}
	w.clientTail = s
	w.window++
}

// leaveWindow removes an entry from the window, and forgets the id unless its order is open. Most of the time the entry
// is the oldest of its owner: then it touches none of the owner's others.
func (c *Clients) leaveWindow(o *Set, s int32) {
	e := c.entries.At(s)
	ws := e.Owner
	w := o.slots.At(ws)
	switch {
	case w.clientHead == s:
		if w.clientHead = e.next; e.next == 0 {
			w.clientTail = 0
		}
	case w.clientTail == s:
		w.clientTail = e.prev
		c.entries.At(e.prev).next = 0
	default:
		c.entries.At(e.prev).next = e.next
		c.entries.At(e.next).prev = e.prev
	}
	w.window--
	if e.older != 0 {
		c.entries.At(e.older).newer = e.newer
	} else {
		c.oldest = e.newer
	}
	if e.newer != 0 {
		c.entries.At(e.newer).older = e.older
	} else {
		c.newest = e.older
	}
	e.order &^= clientWindow
	if e.order&clientOpen == 0 {
		c.remove(s)
	}
	o.removeIdle(ws, w)
}

// Close marks the order of a client id as ended. The caller must call it before it drops the owner.
func (c *Clients) Close(s int32) {
	e := c.entries.At(s)
	e.order &^= clientOpen
	c.open--
	if e.order&clientWindow == 0 {
		c.remove(s)
	}
}

// Outside returns the entries that have left the window and are retained only because their orders are open, by
// order number.
func (c *Clients) Outside() (slots []int32) {
	c.table.All(func(s int32) {
		if c.entries.At(s).order&clientWindow == 0 {
			slots = append(slots, s)
		}
	})
	slices.SortFunc(slots, func(x, y int32) int {
		return cmp.Compare(c.entries.At(x).order, c.entries.At(y).order)
	})
	return slots
}

// Check walks over the table and the windows of the pair and of its accounts, and reports the first broken invariant.
// named is the number of open orders and lists that have client ids.
func (c *Clients) Check(o *Set, named int) error {
	var lost error
	c.table.All(func(s int32) {
		if e := c.entries.At(s); c.Find(e.Hash) != s {
			lost = fmt.Errorf("the client id of order %d is not found", e.Order())
		}
	})
	if lost != nil {
		return lost
	}
	n, window, open := uint64(0), 0, 0
	newest := map[int32]int32{} // by owner: the newest of its ids so far
	for s := c.oldest; s != 0; s = c.entries.At(s).newer {
		e := c.entries.At(s)
		if e.Key() <= n || e.order&clientWindow == 0 {
			return fmt.Errorf("the client id of order %d is out of order", e.Order())
		}
		if last := newest[e.Owner]; last == 0 && o.slots.At(e.Owner).clientHead != s ||
			last != 0 && (e.prev != last || c.entries.At(last).next != s) {
			return fmt.Errorf("the client id of order %d is at another place of its account", e.Order())
		}
		newest[e.Owner] = s
		n = e.Key()
		window++
		if e.Open() {
			open++
		}
	}
	for ws, s := range newest {
		if c.entries.At(s).next != 0 || o.slots.At(ws).clientTail != s {
			return fmt.Errorf("the client ids of account %d do not end with its newest", o.Account(ws))
		}
	}
	if named != c.open {
		return fmt.Errorf("%d open orders have client ids, counted %d", named, c.open)
	}
	// A client id that has left the window stays in the table only while its order is open.
	outside, known := named-open, c.table.Count()
	if known != c.entries.InUse() || known != window+outside || known > c.perPair {
		return fmt.Errorf("%d client ids in tables, %d held, %d in the window, %d of open orders outside",
			known, c.entries.InUse(), window, outside)
	}
	return nil
}
