package stream

import (
	"cmp"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/step"
)

// Protocol is the language of all sockets of a Sockets, as far as it concerns more than one of them. The goroutine of
// the Sockets calls it.
type Protocol interface {
	// Render queues what an occasion brings for the sockets.
	Render(o Occasion)
}

// Occasion is the reason why a protocol renders.
type Occasion uint8

// The occasions.
const (
	Published Occasion = iota // Wake was called
	Tick                      // every 100 ms
	Second                    // every tenth Tick, in its place
	Operated                  // a function of Do has run
)

// Session is one socket in the language of its Protocol. The socket's reader calls Message, the goroutine of the
// Sockets the others.
type Session interface {
	// Message carries out a message of the client. It returns false when the reader must not go on: the connection is
	// being closed.
	Message(message []byte, text bool) bool
	// Render queues what has waited for room in the socket's backlog.
	Render()
	// Spare reports whether the connection may be closed for another one when its listener is full.
	Spare() bool
	// Leave ends the session's subscriptions, because the socket is gone.
	Leave()
	// Farewell returns the message that announces the end of the connection: by a shutdown, or by its age.
	Farewell() []byte
}

// SocketOptions configures a Sockets. Every member has a default.
type SocketOptions struct {
	// PingEvery is the interval between pings to a client (default 20 s). PongWithin is how
	// long a client may stay silent before its connection is closed (default 60 s). Both
	// are machine time, checked once a second.
	PingEvery, PongWithin time.Duration
	// Life is how long a connection lives, machine time; 0: it has no end. Notice is the time before its end at which
	// it is announced.
	Life, Notice time.Duration
	// AnyFrame says that every message and ping of a client shows that it lives, and not a pong alone.
	AnyFrame bool
	// MaxPings limits the pings of a client in a second (default: the limit of all control frames). The messages that
	// Conn.Count counts are in this number.
	MaxPings int
	// MachineNs returns the machine's time, Unix ns; nil: clock.MachineNs. Ticks, pings, heartbeats and
	// limits use it.
	MachineNs func() int64
	// QueueBytes limits the queued updates of a connection (default 1 MiB).
	QueueBytes int
	// Driver steps the Sockets while Shutdown waits; nil: the goroutine of Run does.
	Driver step.Driver
}

// complete sets the defaults.
func (o *SocketOptions) complete() {
	if o.MachineNs == nil {
		o.MachineNs = clock.MachineNs
	}
	o.PingEvery = cmp.Or(o.PingEvery, defaultPingEvery)
	o.PongWithin = cmp.Or(o.PongWithin, defaultPongWithin)
	o.MaxPings = cmp.Or(o.MaxPings, maxFramesPerSecond)
	o.QueueBytes = cmp.Or(o.QueueBytes, maxUpdateBytes)
}

// Intervals and limits of a Sockets.
const (
	tickEvery = 100 * time.Millisecond
	// ticks in a second, after which connections are pinged and silent ones closed
	ticksPerSecond = 10
	maxQueuedOps   = 4096 // queued operations of all connections
)

// Sockets serves the sockets of one protocol (doc.go draws their states). One goroutine calls Run, or Step, and owns
// every field below stopped; the protocol's state too. Any goroutine may call Wake, Do, Call and Shutdown.
type Sockets struct {
	opts     *SocketOptions
	protocol Protocol
	notify   chan struct{} // receives a value from Wake
	ops      chan func()
	stop     chan struct{}
	stopped  chan struct{}
	once     sync.Once
	open     atomic.Int64 // number of conns

	published bool   // Run has received from notify; the next Step renders
	op        func() // received from ops by Run; the next Step runs it
	tickNs    int64  // machine time of the next tick
	ticks     int
	ended     bool
	writers   *writers
	conns     map[*Conn]struct{}
}

// NewSockets returns a Sockets; Run starts it.
func NewSockets(p Protocol, o *SocketOptions) *Sockets {
	o.complete()
	return &Sockets{
		opts: o, protocol: p, notify: make(chan struct{}, 1), ops: make(chan func(), maxQueuedOps),
		stop: make(chan struct{}), stopped: make(chan struct{}), tickNs: o.MachineNs() + int64(tickEvery),
		writers: newWriters(), conns: make(map[*Conn]struct{}),
	}
}

// Serve runs the session of a socket until it ends, and owns the socket. joined runs before the session's first
// message; nil: there is nothing to do then.
func (s *Sockets) Serve(socket net.Conn, remote netip.Addr, begin func(*Conn) Session, joined func()) {
	c := newConn(s, socket, remote)
	c.session = begin(c)
	c.serve(joined)
}

// Wake makes the protocol render what was published. It never waits.
func (s *Sockets) Wake() {
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

// Do runs op on the goroutine of the Sockets, behind earlier operations. After Shutdown it does nothing.
func (s *Sockets) Do(op func()) {
	select {
	case s.ops <- op:
	case <-s.stopped:
	}
}

// Call runs op like Do and returns when it has run, or false after Shutdown. A reader calls it, never the goroutine
// of the Sockets.
func (s *Sockets) Call(op func()) bool {
	done := make(chan struct{})
	s.Do(func() { op(); close(done) })
	select {
	case <-done:
		return true
	case <-s.stopped:
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

func (s *Sockets) join(c *Conn, joined func()) {
	s.Do(func() {
		s.admit(c)
		if joined != nil {
			joined()
		}
	})
}

// admit adds a connection to those that are pinged and closed.
func (s *Sockets) admit(c *Conn) {
	now := s.opts.MachineNs()
	c.pingNs, c.endNs = now+int64(s.opts.PingEvery), now+int64(s.opts.Life)
	s.conns[c] = struct{}{}
	s.open.Store(int64(len(s.conns)))
}

func (s *Sockets) leave(c *Conn) {
	s.Do(func() {
		s.forget(c)
		c.session.Leave()
	})
}

// forget undoes admit.
func (s *Sockets) forget(c *Conn) {
	delete(s.conns, c)
	s.open.Store(int64(len(s.conns)))
}

// drained makes the session of c render, because the backlog fell below lowMarkBytes.
func (s *Sockets) drained(c *Conn) { s.Do(c.session.Render) }

// keepAlive pings clients and closes silent and old connections.
func (s *Sockets) keepAlive() {
	now := s.opts.MachineNs()
	for c := range s.conns {
		c.SetSpare()
		if s.opts.Life > 0 && now >= c.endNs-int64(s.opts.Notice) {
			s.endOld(c, now)
		}
		switch {
		case now-c.pongNs.Load() > int64(s.opts.PongWithin):
			c.backlog.closeWith(closeFrame(closePolicy, "no pong in time"), true)
		case now > c.pingNs:
			c.pingNs = now + int64(s.opts.PingEvery)
			c.backlog.push(newFrame(opPing, nil), kindAnswer)
		}
	}
}

// endOld announces the end of a connection once, and ends it when its time is over.
func (s *Sockets) endOld(c *Conn, now int64) {
	if !c.announced {
		c.announced = true
		c.backlog.push(newFrame(opText, c.session.Farewell()), kindAnswer)
	}
	if now >= c.endNs {
		c.backlog.closeWith(closeFrame(closeGoingAway, "a connection lives for "+s.opts.Life.String()), false)
	}
}

// shutdownReason is the reason in the close frames of a shutdown.
const shutdownReason = "shutting down"

// announceShutdown queues every client's last message and the close frame. Operations that were queued before are
// carried out first: a socket that has just joined must learn of the end too.
func (s *Sockets) announceShutdown() {
	for range len(s.ops) {
		(<-s.ops)()
	}
	for c := range s.conns {
		c.backlog.push(newFrame(opText, c.session.Farewell()), kindAnswer)
		c.backlog.closeWith(closeFrame(closeGoingAway, shutdownReason), false)
	}
}

// Run serves on the caller's goroutine and returns after Shutdown.
func (s *Sockets) Run() {
	s.writers.start(s)
	defer s.writers.stop()
	timer := time.NewTimer(tickEvery)
	defer timer.Stop()
	timerNs := int64(0) // the time for which the timer is set
	for p := s.Step(); !p.Stopped; p = s.Step() {
		if p.Worked {
			continue
		}
		if timerNs != p.NextNs { // usually once a tick
			timerNs = p.NextNs
			timer.Reset(p.Wait(s.opts.MachineNs()))
		}
		select {
		case <-s.notify:
			s.published = true
		case s.op = <-s.ops:
		case <-timer.C:
			timerNs = 0
		case <-s.stop:
		}
	}
}

// Step does one piece of work: the due tick, the changes of a publication, or one queued
// operation. Then it wakes the writers and waits for none.
// Without work, NextNs is the machine time of the next tick. The first step after Shutdown was called
// queues every client's last message and close frame; its result is Stopped.
func (s *Sockets) Step() step.Progress {
	if s.ended {
		return step.Progress{Stopped: true}
	}
	select {
	case <-s.stop:
		s.announceShutdown()
		s.writers.flush()
		s.ended = true
		close(s.stopped)
		return step.Progress{Stopped: true}
	default:
	}
	if !s.tickDue() && !s.arrived() {
		return step.Progress{NextNs: s.tickNs}
	}
	s.writers.flush() // after all messages are queued, so that one write can join them
	return step.Worked()
}

// tickDue runs a tick that is due and reports whether there was one. After a delay it does not make up for the
// missed ticks.
func (s *Sockets) tickDue() bool {
	now := s.opts.MachineNs()
	late := now - s.tickNs
	if late < 0 {
		return false
	}
	s.tickNs = now + int64(tickEvery) - late%int64(tickEvery)
	s.tick()
	return true
}

func (s *Sockets) tick() {
	if s.ticks++; s.ticks%ticksPerSecond != 0 {
		s.protocol.Render(Tick)
		return
	}
	s.protocol.Render(Second)
	s.keepAlive()
}

// arrived renders the changes of a publication or carries out one queued operation, and reports
// whether there was one.
func (s *Sockets) arrived() bool {
	if !s.published && s.op == nil {
		select {
		case <-s.notify:
			s.published = true
		default: // a fixed order of checks, so that a driver can repeat a run
			select {
			case s.op = <-s.ops:
			default:
				return false
			}
		}
	}
	if s.published {
		s.published = false
		s.protocol.Render(Published)
		return true
	}
	op := s.op
	s.op = nil
	op()
	s.protocol.Render(Operated)
	return true
}

// Stopping reports whether Shutdown was called.
func (s *Sockets) Stopping() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// Shutdown closes the sockets with 1001 and ends Run.
func (s *Sockets) Shutdown() {
	s.once.Do(func() { close(s.stop) })
	step.Wait(s.opts.Driver, s.stopped)
}

// Figures are the figures of a Sockets.
type Figures struct {
	Sockets    int64
	Messages   uint64 // taken for sockets, with answers
	Bytes      uint64
	Dropped    uint64 // messages that clients did not read in time
	SlowCloses uint64 // connections that were closed because the client does not read
}

// Figures returns the figures since the start. Any goroutine.
func (s *Sockets) Figures() (f Figures) {
	f.Sockets = s.open.Load()
	for _, w := range s.writers.all {
		f.Messages += w.messages.Load()
		f.Bytes += w.bytes.Load()
		f.Dropped += w.dropped.Load()
		f.SlowCloses += w.slowCloses.Load()
	}
	return f
}

// Text is an encoded text message, which any number of sockets may share.
type Text struct{ frame frame }

// NewText encodes a text message.
func NewText(payload []byte) Text { return Text{newFrame(opText, payload)} }

// Payload returns the text of the message. The caller must not change it.
func (t Text) Payload() []byte { return t.frame.payload() }

// Answer queues the answer to a message of the client. It returns false when the connection is being closed, because
// the client does not read its answers. Any goroutine.
func (c *Conn) Answer(payload []byte) bool { return c.answer(newFrame(opText, payload)) }

// Queue queues a message, which is never dropped. The session first asks HasRoom.
func (c *Conn) Queue(t Text) { c.backlog.push(t.frame, kindSnapshot) }

// HasRoom reports whether less than 256 KiB wait. If not, Session.Render is called when they do.
func (c *Conn) HasRoom() bool { return c.backlog.hasRoom() }

// CloseSlow closes the connection of a client that reads too slowly.
func (c *Conn) CloseSlow(reason string) {
	c.backlog.writer.slowCloses.Add(1)
	c.Close(closeTryLater, reason)
}

// Claim keeps the listener from closing the connection for another one until SetSpare permits it again. It returns
// false when the connection was closed for another. Any goroutine.
func (c *Conn) Claim() bool { return c.counted.SetSpare(false) }
