package owners

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"tickhive/engine/slots"
)

// Client order ids of one pair (docs/contract/matching.md#client-order-ids). A pair remembers
// the ids of open orders and, in a window by order of placement, the newest AccountClientIDs of
// each account: at most ClientIDs in total. When room is needed, the oldest leave the window
// first. The pair forgets an id that leaves the window at once when its order is closed, else
// when that order ends.

// clientShards is the number of tables that share the ids by hash, so that growing one table
// moves few ids.
const clientShards = 64

// Client is one remembered id: 56 bytes, and 4 to 10 in the table.
type Client struct {
	Hash    [2]uint64
	Content [2]uint64
	order   uint64 // order number << 2, with the flags clientOpen and clientWindow
	Owner   int32
	next    int32 // the owner's next newer entry in the window
	older   int32 // neighbors by age in the pair's window
	newer   int32
}

const (
	clientOpen   = 1
	clientWindow = 2
)

// Order returns the number of the order that has the id.
func (e *Client) Order() uint64 { return e.order >> 2 }

// Open reports whether the order is open.
func (e *Client) Open() bool { return e.order&clientOpen != 0 }

// clientShard is an open-addressing table of entry slots, 0 empty.
type clientShard struct {
	slots []int32
	count int
}

// Clients holds the client order ids of one pair. All of its slots are of entries.
type Clients struct {
	entries        slots.Slab[Client]
	shards         *[clientShards]clientShard // nil: never used
	oldest, newest int32                      // oldest and newest entry of the pair's window
	open           int                        // number of entries whose order is open
	perPair        int
	perOwner       int32
}

// NewClients returns an empty table for so many ids of a pair and of an account.
func NewClients(perPair int, perOwner int32) Clients {
	return Clients{perPair: perPair, perOwner: perOwner}
}

// At returns the id of a slot.
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

// Find returns the slot of a client id, 0: not remembered.
func (c *Clients) Find(hash [2]uint64) int32 {
	if c.shards == nil {
		return 0
	}
	t := &c.shards[hash[1]%clientShards]
	if t.count == 0 {
		return 0
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash[0] & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 || c.entries.At(s).Hash == hash {
			return s
		}
	}
}

func (c *Clients) insert(s int32, hash [2]uint64) {
	if c.shards == nil {
		c.shards = new([clientShards]clientShard)
	}
	t := &c.shards[hash[1]%clientShards]
	if (t.count+1)*4 > len(t.slots)*3 {
		old := t.slots
		t.slots = make([]int32, max(8, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				t.place(o, c.entries.At(o).Hash[0])
			}
		}
	}
	t.place(s, hash[0])
	t.count++
}

func (t *clientShard) place(s int32, h uint64) {
	mask := uint64(len(t.slots) - 1)
	i := h & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// remove deletes an entry from its table and moves the later entries of the run back.
func (c *Clients) remove(s int32) {
	hash := c.entries.At(s).Hash
	t := &c.shards[hash[1]%clientShards]
	mask := uint64(len(t.slots) - 1)
	i := hash[0] & mask
	for t.slots[i] != s {
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		if t.slots[j] == 0 {
			break
		}
		home := c.entries.At(t.slots[j]).Hash[0] & mask
		if (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = 0
	t.count--
	c.entries.Release(s)
}

// HasRoom reports whether one more id can be remembered. Every id without an open order is in
// the window and can be evicted.
func (c *Clients) HasRoom() bool { return c.open < c.perPair }

// Remember stores the id of a new order of owner ws. HasRoom must be true.
func (c *Clients) Remember(o *Set, hash, content [2]uint64, n uint64, ws int32) int32 {
	w := o.slots.At(ws)
	for c.entries.InUse() >= c.perPair {
		if c.oldest == 0 {
			panic("BUG: engine: no room for a client id that was let in")
		}
		c.leaveWindow(o, c.oldest)
	}
	s := c.entries.Alloc()
	*c.entries.At(s) = Client{Hash: hash, Content: content, order: n<<2 | clientOpen, Owner: ws}
	c.insert(s, hash)
	c.open++
	c.enterWindow(s, w)
	if w.window > c.perOwner {
		c.leaveWindow(o, w.clientHead)
	}
	return s
}

// Restore adds an entry of a decoded state. The caller adds entries by ascending order number.
func (c *Clients) Restore(o *Set, id Client, n uint64, account uint32, open, window bool) int32 {
	ws := o.AddOrder(account)
	s := c.entries.Alloc()
	id.order, id.Owner = n<<2, ws
	*c.entries.At(s) = id
	if open {
		c.entries.At(s).order |= clientOpen
		c.open++
	}
	c.insert(s, id.Hash)
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
	if w.clientTail != 0 {
		c.entries.At(w.clientTail).next = s
	} else {
		w.clientHead = s
	}
	w.clientTail = s
	w.window++
}

// leaveWindow removes an owner's oldest entry from the window. The pair's oldest entry is always the oldest of
// its owner.
func (c *Clients) leaveWindow(o *Set, s int32) {
	e := c.entries.At(s)
	ws := e.Owner
	w := o.slots.At(ws)
	if w.clientHead != s {
		panic("BUG: engine: a client id leaves the window before an older one")
	}
	if w.clientHead = e.next; e.next == 0 {
		w.clientTail = 0
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
	if c.shards == nil {
		return nil
	}
	for i := range c.shards {
		for _, s := range c.shards[i].slots {
			if s != 0 && c.entries.At(s).order&clientWindow == 0 {
				slots = append(slots, s)
			}
		}
	}
	slices.SortFunc(slots, func(x, y int32) int {
		return cmp.Compare(c.entries.At(x).order, c.entries.At(y).order)
	})
	return slots
}

// Check walks over the table and the window and reports the first broken invariant. named is the number of open orders
// that have client ids.
func (c *Clients) Check(named int) error {
	inTables := 0
	if c.shards != nil {
		for i := range c.shards {
			for _, s := range c.shards[i].slots {
				if s == 0 {
					continue
				}
				inTables++
				if e := c.entries.At(s); c.Find(e.Hash) != s {
					return fmt.Errorf("the client id of order %d is not found", e.Order())
				}
			}
		}
	}
	n, window, open := uint64(0), 0, 0
	for e := range c.Window() {
		if e.Order() <= n || e.order&clientWindow == 0 {
			return fmt.Errorf("the client id of order %d is out of order", e.Order())
		}
		n = e.Order()
		window++
		if e.Open() {
			open++
		}
	}
	if named != c.open {
		return fmt.Errorf("%d open orders have client ids, counted %d", named, c.open)
	}
	// A client id that has left the window stays in the table only while its order is open.
	if outside := named - open; inTables != c.entries.InUse() || inTables != window+outside || inTables > c.perPair {
		return fmt.Errorf("%d client ids in tables, %d held, %d in the window, %d of open orders outside",
			inTables, c.entries.InUse(), window, outside)
	}
	return nil
}
