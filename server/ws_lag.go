package server

import "time"

// lag handles a full queue: the backlog goes and each stream starts over with a snapshot
// once there is room; a second time within wsFullAgain ends the connection.
func (h *Hub) lag(c *wsConn) {
	if c.hub.gone {
		return
	}
	now := time.Now()
	if now.Sub(c.hub.lastFull) < wsFullAgain {
		h.tooSlow(c)
		return
	}
	c.hub.lastFull, c.hub.behind = now, true
	c.out.drop()
	for _, sub := range c.hub.subs {
		if sub.started { // parts of its resume may have gone with the backlog
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

// wait takes a subscription out of its stream until its snapshot is queued.
func (h *Hub) wait(sub *wsSub, reason string) {
	sub.live, sub.reason = false, reason
	if !sub.queued {
		sub.queued = true
		sub.conn.hub.pending = append(sub.conn.hub.pending, sub)
	}
}

// feed queues waiting snapshots as long as there is room for them.
func (h *Hub) feed(c *wsConn) {
	h.deliver() // the others' updates lead to the state that a snapshot begins with
	for len(c.hub.pending) > 0 {
		if !c.out.room() {
			return
		}
		sub := c.hub.pending[0]
		if c.hub.subs[sub.stream.key.subKey()] == sub {
			h.reach(sub)
			if c.hub.gone { // it delivers, which may end a connection
				return
			}
			if !h.begin(sub) {
				continue // a resuming subscriber is owed more
			}
		}
		sub.queued = false
		c.hub.pending = c.hub.pending[1:]
	}
	if len(c.hub.pending) == 0 {
		c.hub.pending, c.hub.behind = nil, false
	}
}
