package stream

// lag handles a full queue: it drops the backlog, and each stream starts over with a snapshot
// once there is room. A second full queue within wsFullAgain closes the connection.
func (h *Hub) lag(c *wsConn) {
	if c.hub.gone {
		return
	}
	now := h.opts.MachineNs()
	if now-c.hub.fullNs < int64(wsFullAgain) {
		h.tooSlow(c)
		return
	}
	c.hub.fullNs, c.hub.behind = now, true
	c.out.drop()
	for _, sub := range c.hub.subs {
		if sub.started { // parts of its resume may have been dropped with the backlog
			sub.from, sub.started = 0, false
		}
		h.wait(sub, "slow")
	}
}

func (h *Hub) tooSlow(c *wsConn) {
	c.hub.gone = true
	c.out.close(closeFrame(wsCloseTryLater, "SLOW_CONSUMER"), true)
	h.part(c)
}

// wait pauses a subscription: it receives no messages until its snapshot is queued.
func (h *Hub) wait(sub *wsSub, reason string) {
	sub.live, sub.reason = false, reason
	if !sub.queued {
		sub.queued = true
		sub.conn.hub.pending = append(sub.conn.hub.pending, sub)
	}
}

// feed queues waiting snapshots while there is room for them.
func (h *Hub) feed(c *wsConn) {
	h.deliver() // other subscribers need the updates before the state of the snapshot
	for len(c.hub.pending) > 0 {
		if !c.out.room() {
			return
		}
		sub := c.hub.pending[0]
		if c.hub.subs[sub.stream.key.subKey()] == sub {
			h.reach(sub)
			if c.hub.gone { // begin delivers messages, which may end a connection
				return
			}
			if !h.begin(sub) {
				continue // a resuming subscriber needs more messages
			}
		}
		sub.queued = false
		c.hub.pending = c.hub.pending[1:]
	}
	if len(c.hub.pending) == 0 {
		c.hub.pending, c.hub.behind = nil, false
	}
}
