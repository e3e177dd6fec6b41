package stream

// block handles a full queue: it drops the backlog, and each stream starts over with a snapshot
// once there is room. A second full queue within secondFullWithin closes the connection.
func (h *Hub) resyncSlow(c *conn) {
	if c.hub.gone {
		return
	}
	now := h.opts.MachineNs()
	if now-c.hub.fullNs < int64(secondFullWithin) {
		h.closeSlow(c)
		return
	}
	c.hub.fullNs, c.hub.behind = now, true
	c.backlog.drop()
	for _, sub := range c.hub.subs {
		if sub.tradesStarted { // parts of its resume may have been dropped with the backlog
			sub.nextTrade, sub.tradesStarted = 0, false
		}
		h.awaitSnapshot(sub, "slow")
	}
}

func (h *Hub) closeSlow(c *conn) {
	c.hub.gone = true
	c.backlog.closeWith(closeFrame(closeTryLater, "SLOW_CONSUMER"), true)
	h.unsubscribeAll(c)
}

// awaitSnapshot pauses a subscription: it receives no messages until its snapshot is queued.
func (h *Hub) awaitSnapshot(sub *subscription, reason string) {
	sub.live, sub.reason = false, reason
	if !sub.pending {
		sub.pending = true
		sub.conn.hub.pending = append(sub.conn.hub.pending, sub)
	}
}

// startPending queues waiting snapshots while there is room for them.
func (h *Hub) startPending(c *conn) {
	h.deliver() // other subscribers need the updates before the state of the snapshot
	for len(c.hub.pending) > 0 {
		if !c.backlog.hasRoom() {
			return
		}
		sub := c.hub.pending[0]
		if c.hub.subs[sub.stream.key.subKey()] == sub {
			h.advanceToResume(sub)
			if c.hub.gone { // begin delivers messages, which may end a connection
				return
			}
			if !h.startLive(sub) {
				continue // a resuming subscriber needs more messages
			}
		}
		sub.pending = false
		c.hub.pending = c.hub.pending[1:]
	}
	if len(c.hub.pending) == 0 {
		c.hub.pending, c.hub.behind = nil, false
	}
}
