package edge

import (
	"cmp"
	"net"
	"slices"
	"time"
)

// Values of CountedConn.use besides ranks.
const (
	useBusy    = 0  // a request is being answered, or the connection was upgraded and is used: never closed for others
	useEvicted = -1 // closed for another connection
)

// useServed is the bit of a rank that says that the connection has sent a complete request.
const useServed = 1 << 62

// victimBatch is the number of victims that one look at all connections picks: each new connection
// to a full table costs a share of the look.
const victimBatch = 64

// victimPause is the pause after a look that found none. Connections that a client upgraded may
// fill the table, and each refused connection would cost a look.
const victimPause = 100 * time.Millisecond

// victim is a connection with its rank at the time of the look.
type victim struct {
	conn *CountedConn
	rank int64
}

// rankOf returns the usefulness of a connection that waits for a request since a time: the
// connections that never sent one are the least useful, then the ones that wait longest.
func rankOf(served bool, since time.Time) int64 {
	rank := since.UnixNano() >> 2
	if served {
		rank |= useServed
	}
	return rank
}

// leastUseful takes the least useful connection that waits for a request, nil without one. The
// caller holds mu and closes the connection after it has released mu.
func (t *ConnTable) leastUseful() *CountedConn {
	for e := t.unserved.Front(); e != nil; e = t.unserved.Front() {
		c := t.unserved.Remove(e).(*CountedConn)
		if rank := c.use.Load(); 0 < rank && rank < useServed && c.use.CompareAndSwap(rank, useEvicted) {
			return c
		}
	}
	if c := t.takeVictim(); c != nil {
		return c
	}
	now := time.Now()
	if now.Before(t.nextLook) {
		return nil
	}
	for c := range t.conns {
		rank := c.use.Load()
		if rank <= 0 || c.exempt || len(t.victims) == victimBatch && rank >= t.victims[0].rank {
			continue
		}
		i, _ := slices.BinarySearchFunc(t.victims, rank, func(v victim, rank int64) int {
			return cmp.Compare(rank, v.rank)
		})
		t.victims = slices.Insert(t.victims, i, victim{c, rank})
		if len(t.victims) > victimBatch {
			t.victims = slices.Delete(t.victims, 0, 1)
		}
	}
	if len(t.victims) == 0 {
		t.nextLook = now.Add(victimPause)
	}
	return t.takeVictim()
}

// takeVictim takes the last victim of the last look that still waits as it did then.
func (t *ConnTable) takeVictim() *CountedConn {
	for n := len(t.victims); n > 0; n = len(t.victims) {
		v := t.victims[n-1]
		t.victims[n-1] = victim{}
		t.victims = t.victims[:n-1]
		if _, open := t.conns[v.conn]; open && v.conn.use.CompareAndSwap(v.rank, useEvicted) {
			return v.conn
		}
	}
	return nil
}

// beginRequest marks the connection as busy. It returns false if the connection was closed to make
// room for another one: its request must not run, because no answer can arrive.
func (c *CountedConn) beginRequest() bool {
	c.served = true
	c.wait.mu.Lock()
	c.wait.idleUntil = time.Time{} // answers that are still kept no longer end a wait
	c.wait.mu.Unlock()
	return c.use.Swap(useBusy) != useEvicted
}

// evict closes the connection at once: no lingering, and no farewell of TLS, which could wait for
// the peer.
func (c *CountedConn) evict() {
	if c.closed.CompareAndSwap(false, true) {
		c.table.untrack(c)
		_ = c.socket.Close() // its requests fail either way
		c.table.uncount(c.ip)
	}
}

// Counted returns the listener's connection of an upgraded one, nil when it has none. Only the upgrade callback may
// call it: once it has returned, the server gives conn to another client. The result stays with its client.
func Counted(conn net.Conn) *CountedConn {
	if upgraded, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
		conn = upgraded.UnsafeConn()
	}
	c, _ := conn.(*CountedConn)
	return c
}

// SetSpare says whether an upgraded connection may be closed for another one. It then ranks as if it waited for a
// request since the first of these calls. It returns false when the connection was closed for another. Any goroutine
// may call it, also after the connection has ended. On nil it does nothing and returns true.
func (c *CountedConn) SetSpare(spare bool) bool {
	if c == nil {
		return true
	}
	c.upgraded.Store(true)
	switch rank := c.use.Load(); {
	case spare && rank == useBusy:
		c.use.CompareAndSwap(useBusy, rankOf(true, time.Now()))
	case !spare && rank > useBusy:
		c.use.CompareAndSwap(rank, useBusy) // fails when the connection was closed for another
	}
	return c.use.Load() != useEvicted
}
