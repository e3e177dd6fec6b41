package stream

import "net/netip"

// MemoryConn is a connection without a socket, for a program that steps a Sockets: its owner sends the messages of the
// client and takes those of the server, so that no goroutine and no time of a network is involved. The Sockets must
// not be run by Run, whose writers need a socket.
//
// Owner: one goroutine, which may be the one that steps the Sockets.
type MemoryConn struct {
	Silent bool // Take does not count as the client's pong
	Pings  int  // pings among the taken frames

	conn *Conn
	send func(message []byte)
}

// Connect returns a new connection with a session, which begins like one of Serve in one of the next steps.
func (s *Sockets) Connect(begin func(*Conn) Session, joined func()) *MemoryConn {
	c := &Conn{sockets: s, remote: netip.IPv6Loopback()}
	c.backlog = &backlog{
		done: make(chan struct{}), writer: &writer{wake: make(chan struct{}, 1)}, conn: c, updates: s.opts.QueueBytes,
	}
	c.session = begin(c)
	c.heard()
	s.join(c, joined)
	return &MemoryConn{conn: c, send: func(message []byte) {
		if s.opts.AnyFrame {
			c.heard()
		}
		c.session.Message(message, true)
	}}
}

// Connect returns a new connection to a hub, which accepts it in one of its next steps. Its operations have no limit.
func Connect(h *Hub) *MemoryConn {
	var s *session
	m := h.Connect(func(c *Conn) Session {
		s = newSession(h, c)
		return s
	}, nil)
	m.send = func(operation []byte) { s.operate(operation) }
	return m
}

// Send passes a message of the client on; it is carried out in one of the next steps.
func (m *MemoryConn) Send(message []byte) { m.send(message) }

// Waiting returns the number of queued bytes.
func (m *MemoryConn) Waiting() int {
	m.conn.backlog.mu.Lock()
	defer m.conn.backlog.mu.Unlock()
	return m.conn.backlog.queued.total()
}

// Take removes the queued messages and returns their texts, and the code of the close frame, 0: none.
func (m *MemoryConn) Take() (texts [][]byte, closed int) {
	if !m.Silent {
		m.conn.heard()
	}
	w := m.conn.backlog.writer
	w.mu.Lock()
	w.due = w.due[:0] // the connection's entry: this call writes in its place
	w.mu.Unlock()
	for {
		var buf chunkBuffer // the texts stay in it
		t := m.conn.backlog.takeChunk(&buf, false)
		if t.drained {
			m.conn.sockets.drained(m.conn)
		}
		if len(t.bytes) == 0 {
			return texts, closed
		}
		var code, pings int
		if texts, code, pings = splitFrames(texts, t.bytes); code != 0 {
			closed = code
		}
		m.Pings += pings
	}
}

// Close ends the connection.
func (m *MemoryConn) Close() { m.conn.sockets.leave(m.conn) }

// splitFrames appends the payloads of the text frames in all, and returns the code of the close frame, 0: none, and the
// number of pings.
func splitFrames(texts [][]byte, all []byte) (_ [][]byte, closed, pings int) {
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
		case opPing:
			pings++
		}
		all = all[head+n:]
	}
	return texts, closed, pings
}
