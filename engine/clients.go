package engine

import (
	"cmp"
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

// clientEntry is one remembered id: 56 bytes, and 4 to 10 in the table.
type clientEntry struct {
	hash    [2]uint64
	content [2]uint64
	order   uint64 // order number << 2, with the flags clientOpen and clientWindow
	owner   int32
	next    int32 // the owner's next newer entry in the window
	older   int32 // neighbors by age in the pair's window
	newer   int32
}

const (
	clientOpen   = 1
	clientWindow = 2
)

func (e *clientEntry) n() uint64 { return e.order >> 2 }

// clientShard is an open-addressing table of entry slots, 0 empty.
type clientShard struct {
	slots []int32
	count int
}

type clients struct {
	entries        slots.Slab[clientEntry]
	shards         *[clientShards]clientShard // nil: never used
	oldest, newest int32                      // oldest and newest entry of the pair's window
	open           int                        // number of entries whose order is open
	perPair        int
	perOwner       int32
}

// find returns the entry of a client id, 0: not remembered.
func (c *clients) find(hash [2]uint64) int32 {
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
		if s == 0 || c.entries.At(s).hash == hash {
			return s
		}
	}
}

func (c *clients) insert(s int32, hash [2]uint64) {
	if c.shards == nil {
		c.shards = new([clientShards]clientShard)
	}
	t := &c.shards[hash[1]%clientShards]
	if (t.count+1)*4 > len(t.slots)*3 {
		old := t.slots
		t.slots = make([]int32, max(8, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				t.place(o, c.entries.At(o).hash[0])
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
func (c *clients) remove(s int32) {
	hash := c.entries.At(s).hash
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
		home := c.entries.At(t.slots[j]).hash[0] & mask
		if (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = 0
	t.count--
	c.entries.Release(s)
}

// hasRoom reports whether one more id can be remembered. Every id without an open order is in
// the window and can be evicted.
func (c *clients) hasRoom() bool { return c.open < c.perPair }

// remember stores the id of a new order of owner ws. hasRoom must be true.
func (c *clients) remember(o *owners, id *ClientID, n uint64, ws int32) int32 {
	w := o.slots.At(ws)
	for c.entries.Live() >= c.perPair {
		if c.oldest == 0 {
			panic("BUG: engine: no room for a client id that was let in")
		}
		c.leaveWindow(o, c.oldest)
	}
	s := c.entries.Alloc()
	*c.entries.At(s) = clientEntry{hash: id.Hash, content: id.Content, order: n<<2 | clientOpen, owner: ws}
	c.insert(s, id.Hash)
	c.open++
	c.enterWindow(s, w)
	if w.window > c.perOwner {
		c.leaveWindow(o, w.clientHead)
	}
	return s
}

// restore adds an entry of a decoded state. The caller adds entries by ascending order number.
func (c *clients) restore(o *owners, n uint64, account AccountID, open, window bool, id *ClientID) int32 {
	ws := o.addOrder(account)
	s := c.entries.Alloc()
	*c.entries.At(s) = clientEntry{hash: id.Hash, content: id.Content, order: n << 2, owner: ws}
	if open {
		c.entries.At(s).order |= clientOpen
		c.open++
	}
	c.insert(s, id.Hash)
	if window {
		c.enterWindow(s, o.slots.At(ws))
	}
	o.dropOrder(ws)
	return s
}

func (c *clients) enterWindow(s int32, w *owner) {
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
func (c *clients) leaveWindow(o *owners, s int32) {
	e := c.entries.At(s)
	ws := e.owner
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

// close marks the order of a client id as ended. The caller must call it before it drops the owner.
func (c *clients) close(s int32) {
	e := c.entries.At(s)
	e.order &^= clientOpen
	c.open--
	if e.order&clientWindow == 0 {
		c.remove(s)
	}
}

// outside returns the entries that have left the window and are retained only because their orders are open, by
// order number.
func (c *clients) outside() (slots []int32) {
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
