package stream

import "net/netip"

// MemoryConn is a connection without a socket, for a program that steps the hub: its owner sends the operations and
// takes the messages, so that no goroutine and no time of a network is involved. The hub must not be run by Run,
// whose writers need a socket.
//
// Owner: one goroutine, which may be the one that steps the hub.
type MemoryConn struct {
	hub  *Hub
	conn *conn
}

// Connect returns a new connection to a hub, which accepts it in one of its next steps.
func Connect(h *Hub) *MemoryConn {
	c := &conn{remote: netip.IPv6Loopback()}
	c.backlog = &backlog{
		done: make(chan struct{}), writer: &writer{wake: make(chan struct{}, 1)}, conn: c, updates: h.opts.QueueBytes,
	}
	c.pongNs.Store(h.opts.MachineNs())
	h.join(c, nil)
	return &MemoryConn{h, c}
}

// Send passes an operation to the hub, which carries it out in one of its next steps.
func (m *MemoryConn) Send(operation []byte) { m.conn.operate(m.hub, operation) }

// Take removes the queued messages and returns their texts, and the code of the close frame, 0: none. It also counts
// as the client's pong.
func (m *MemoryConn) Take() (texts [][]byte, closed int) {
	m.conn.pongNs.Store(m.hub.opts.MachineNs())
	w := m.conn.backlog.writer
	w.mu.Lock()
	w.due = w.due[:0] // the connection's entry: this call writes in its place
	w.mu.Unlock()
	for {
		var buf chunkBuffer // the texts stay in it
		t := m.conn.backlog.takeChunk(&buf, false)
		if t.drained {
			m.hub.drained(m.conn)
		}
		if len(t.bytes) == 0 {
			return texts, closed
		}
		var code int
		if texts, code = splitFrames(texts, t.bytes); code != 0 {
			closed = code
		}
	}
}

// Close ends the connection.
func (m *MemoryConn) Close() { m.hub.leave(m.conn) }

// splitFrames appends the payloads of the text frames in all, and returns the code of the close frame, 0: none.
func splitFrames(texts [][]byte, all []byte) (_ [][]byte, closed int) {
	for len(all) > 0 {
		head := len(all) - len(frame(all).payload())
		n := int(all[1])
		if n >= 126 {
			n = 0
			for _, b := range all[2:head] {
				n = n<<8 | int(b)
			}
		}
		payload := all[head : head+n]
		switch all[0] & 0xF {
		case opText:
			texts = append(texts, payload)
		case opClose:
			closed = int(payload[0])<<8 | int(payload[1])
		}
		all = all[head+n:]
	}
	return texts, closed
}
