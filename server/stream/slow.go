package stream

import (
	"cmp"
	"maps"
	"slices"
)

// slowConns are the connections for which an update of a delivery did not fit.
type slowConns []*conn

// resync handles them once the delivery is over, because resyncSlow may remove subscribers from a stream. Several
// updates that do not fit count once.
func (s slowConns) resync(h *Hub) {
	h.deliveries++
	for _, c := range s {
		if c.hub.lastFullDelivery != h.deliveries {
			c.hub.lastFullDelivery = h.deliveries
			h.resyncSlow(c)
		}
	}
}

// resyncSlow handles an update that did not fit: it drops the backlog, and each stream starts
// over with a snapshot once there is room. A second update that does not fit within
// secondFullWithin closes the connection.
func (h *Hub) resyncSlow(c *conn) {
	if c.hub.detached {
		return
	}
	now := h.opts.MachineNs()
	if now-c.hub.fullNs < int64(secondFullWithin) {
		h.closeSlow(c)
		return
	}
	c.hub.fullNs, c.hub.resyncing = now, true
	h.stats.resyncs.Add(1)
	c.backlog.drop()
	for _, sub := range slices.SortedFunc(maps.Values(c.hub.subs), byKey) { // so that a driver can repeat a run
		if sub.tradesStarted { // a part of its trades may have been dropped with the backlog
			sub.nextTrade, sub.tradesStarted = 0, false
		}
		h.awaitSnapshot(sub, "slow")
	}
}

// byKey orders the subscriptions of a connection by channel, pair, interval and account.
func byKey(a, b *subscription) int {
	x, y := &a.stream.key, &b.stream.key
	return cmp.Or(cmp.Compare(x.channel, y.channel), cmp.Compare(x.pair, y.pair), cmp.Compare(x.interval, y.interval),
		cmp.Compare(x.account, y.account))
}

// closeSlow closes the connection of a slow client with 1013 and removes its subscriptions.
func (h *Hub) closeSlow(c *conn) {
	c.hub.detached = true
	h.stats.slowCloses.Add(1)
	c.backlog.closeWith(closeFrame(closeTryLater, "SLOW_CONSUMER"), true)
	h.unsubscribeAll(c)
}

// awaitSnapshot makes a subscription pending: it receives no messages until its snapshot is queued.
func (h *Hub) awaitSnapshot(sub *subscription, reason string) {
	sub.live, sub.reason = false, reason
	h.faulty.forget(sub, 0, len(sub.delayed))
	if !sub.pending {
		sub.pending = true
		sub.conn.hub.pending = append(sub.conn.hub.pending, sub)
	}
}

// startPending makes pending subscriptions live while the backlog has room for their snapshots.
func (h *Hub) startPending(c *conn) {
	h.deliver() // other subscribers must get the updates that lead to the snapshot's state
	for len(c.hub.pending) > 0 {
		if !c.backlog.hasRoom() {
			return
		}
		sub := c.hub.pending[0]
		if c.hub.subs[sub.stream.key.subKey()] == sub {
			h.advanceToResume(sub)
			if c.hub.detached { // advanceToResume delivers messages, which may end a connection
				return
			}
			if !h.startLive(sub) {
				continue // a resuming subscriber must get further messages first
			}
		}
		sub.pending = false
		c.hub.pending = c.hub.pending[1:]
	}
	if len(c.hub.pending) == 0 {
		c.hub.pending, c.hub.resyncing = nil, false
	}
}
