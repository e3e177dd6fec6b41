package binance

import (
	"slices"
	"strings"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	sockets "github.com/tickhive/tickhive/server/stream"
)

// Limits of a socket.
const (
	maxStreams     = 1024
	maxMessagesSec = 5 // pings and requests of the client in a second

	connectionLife = 24 * time.Hour
	lifeNotice     = 10 * time.Minute // before its end
)

// renderer is the protocol of the interface's sockets: what it makes in a tick, every socket shares.
//
// Owner: the goroutine of the sockets.
type renderer struct {
	f *Facade
	look
	nowMs   int64 // 100 for each tick
	made    map[renderKey]*rendered
	sockets map[*socket]struct{}
}

// renderKey identifies the messages that a stream is due: streams of one name whose clients know the same and read the
// same unit get the same.
type renderKey struct {
	name string
	unit unit
	known
}

// rendered are the messages of a tick for all streams with one key.
type rendered struct {
	messages [][]byte
	texts    [2][]sockets.Text // alone, and in the envelope of a combined socket; made when a socket needs them
	after    known
	lost     bool // changes of the book are no longer kept
}

// Render implements stream.Protocol.
func (r *renderer) Render(o sockets.Occasion) {
	switch o {
	case sockets.Tick, sockets.Second:
		clear(r.made)
		r.nowMs += tickMs
		r.root = r.f.opt.Board.Load()
		r.nowNs, r.eventNs = r.f.marketNs(r.root), r.f.opt.Clock.NowNs()
		for s := range r.sockets {
			if s.Render(); s.broken {
				s.Leave()
			}
		}
	case sockets.Published:
		for s := range r.sockets {
			s.deliver()
		}
	case sockets.Operated: // the next tick looks at new streams
	}
}

// due returns the messages of a stream in this tick, with times in a unit; nil if its time has not come.
func (r *renderer) due(s *stream, u unit) *rendered {
	if s.user != nil || s.sentMs != 0 && r.nowMs-s.sentMs < s.everyMs && !r.delisted(s) {
		return nil
	}
	key := renderKey{s.name, u, s.known}
	m := r.made[key]
	if m == nil {
		m, r.unit = &rendered{}, u
		m.lost = r.f.messages(s, &r.look, func(b []byte) { m.messages = append(m.messages, b) })
		m.after, r.made[key] = s.known, m
	}
	if s.known = m.after; len(m.messages) > 0 {
		s.sentMs = r.nowMs
	}
	return m
}

// delisted reports whether a stream is of a pair that was delisted.
func (r *renderer) delisted(s *stream) bool {
	return s.paired() && r.root.View(s.pair).Instrument.State == engine.Delisted
}

// encoded returns the messages for sockets of a form.
func (m *rendered) encoded(s *socket, one *stream) []sockets.Text {
	form := 0
	if s.combined {
		form = 1
	}
	if m.texts[form] == nil {
		for _, b := range m.messages {
			m.texts[form] = append(m.texts[form], sockets.NewText(s.wrap(one, b)))
		}
	}
	return m.texts[form]
}

// Run serves the sockets on the caller's goroutine and returns after Shutdown.
func (f *Facade) Run() { f.sockets.Run() }

// Shutdown closes every socket with 1001.
func (f *Facade) Shutdown() {
	if f != nil {
		f.sockets.Shutdown()
	}
}

// socket is one connection, with streams or with the WebSocket API: a session of package stream.
//
// Owner: the goroutine of the sockets, from the handshake on.
type socket struct {
	*sockets.Conn
	f    *Facade
	from peer
	api  *apiSession // nil: streams only
	unit unit

	combined bool
	streams  []*stream
	pairs    uint64 // Root.PairsVersion up to which endDelisted has looked
	users    int    // number of user data streams among them
	first    int    // place in streams at which the next look begins: there was no room for its messages
	ended    bool   // the connection is being closed
	broken   bool   // a fault rule has ended it
}

// streamRoutes returns the routes of the sockets.
func (f *Facade) streamRoutes() []*edge.Route {
	up := &websocket.FastHTTPUpgrader{
		ReadBufferSize: 1, WriteBufferSize: 1, // unused: package stream reads and writes
		CheckOrigin: func(*fasthttp.RequestCtx) bool { return true }, // the streams are public
	}
	route := func(path string, combined bool) *edge.Route {
		return &edge.Route{
			Params: edge.Params(timeUnit, streamsOf),
			Method: fasthttp.MethodGet, Path: path, Class: edge.ClassExempt, Auth: edge.AuthNever,
			Handle: func(c *edge.Ctx) *refuse.Refusal { return f.upgrade(c, up, combined) },
		}
	}
	return []*edge.Route{
		route("/ws", false), route("/ws/{streams:*}", false), route("/stream", true),
		{
			Method: fasthttp.MethodGet, Path: "/ws-api/v3", Class: edge.ClassExempt, Auth: edge.AuthNever,
			Params: edge.Params(timeUnit, showLimits),
			Handle: func(c *edge.Ctx) *refuse.Refusal { return f.upgradeAPI(c, up) },
		},
	}
}

// The parameters of the addresses of sockets.
var (
	streamsOf  = edge.Text("streams")
	showLimits = edge.Flag("returnRateLimits").Default(true)
)

func (f *Facade) upgrade(c *edge.Ctx, up *websocket.FastHTTPUpgrader, combined bool) *refuse.Refusal {
	unit, failed := socketUnit(c)
	if failed != nil {
		failed.send(c.RequestCtx)
		return nil
	}
	names := c.PathParam("streams")
	if combined {
		var err *refuse.Refusal
		if names, err = streamsOf.Of(c); err != nil {
			return err
		}
	}
	s := f.newSocket(c, unit, combined)
	for name := range strings.SplitSeq(names, "/") {
		if strings.Trim(name, "0123456789") == "" {
			continue // libraries number their sockets: /ws/0
		}
		if !s.add(name) {
			s.dropFrom(0)
			return refuse.Param("streams", "A connection has at most %d streams.", maxStreams)
		}
	}
	return s.upgrade(c, up)
}

func (f *Facade) newSocket(c *edge.Ctx, u unit, combined bool) *socket {
	return &socket{f: f, unit: u, combined: combined, from: peer{c.ClientAddr(), c.Unlimited()}}
}

// upgrade answers the handshake; the server serves the socket after it.
func (s *socket) upgrade(c *edge.Ctx, up *websocket.FastHTTPUpgrader) *refuse.Refusal {
	if !websocket.FastHTTPIsWebSocketUpgrade(c.RequestCtx) {
		s.dropFrom(0)
		return refuse.Param("Upgrade", "This path serves WebSocket only.")
	}
	failed := up.Upgrade(c.RequestCtx, func(ws *websocket.Conn) {
		s.f.sockets.Serve(ws.NetConn(), s.from.addr, s.begin, s.joined)
	})
	if failed != nil {
		s.dropFrom(0)
		c.Response.Reset()
		return refuse.Param("Upgrade", "The WebSocket handshake failed.")
	}
	return nil
}

// begin makes s the session of a connection.
func (s *socket) begin(c *sockets.Conn) sockets.Session {
	s.Conn = c
	return s
}

// joined lets the ticks look at s.
func (s *socket) joined() {
	s.f.rendered.sockets[s] = struct{}{}
	s.SetSpare()
}

// add adds a stream unless the socket has it. It returns false when there are too many. A name that no stream has is
// counted and adds nothing, as on the other exchange, where one wrong name of a list ends neither the list nor the
// connection.
func (s *socket) add(name string) bool {
	if slices.ContainsFunc(s.streams, func(one *stream) bool { return one.name == name }) {
		return true
	}
	one, ok := s.userStream(name)
	if !ok {
		one, ok = s.f.parseStream(name)
	}
	if !ok {
		s.f.stats.unknownStreams.Add(1)
		return true
	}
	if len(s.streams) == maxStreams {
		return false
	}
	s.streams = append(s.streams, one)
	s.f.stats.subscriptions.Add(1)
	return true
}

// Message implements stream.Session.
func (s *socket) Message(message []byte, text bool) bool {
	if !text {
		s.Close(websocket.CloseUnsupportedData, "A message must be text.")
		return false
	}
	if s.api != nil { // its requests pay by weight
		if !s.Claim() {
			return false // closed for another connection: no answer can arrive
		}
		ok := s.Answer(s.answerAPI(message))
		s.f.sockets.Do(s.SetSpare)
		return ok
	}
	if s.Count() > maxMessagesSec {
		s.f.sockets.Do(func() { s.Close(websocket.ClosePolicyViolation, string(refuse.RateLimit)) })
		return false
	}
	message = slices.Clone(message) // the reader reuses its memory
	s.f.sockets.Do(func() {
		s.Answer(s.answer(message))
		s.SetSpare()
	})
	return true
}

// Spare implements stream.Session: a socket without streams and without a session.
func (s *socket) Spare() bool { return len(s.streams) == 0 && (s.api == nil || s.api.key == "") }

// Leave implements stream.Session.
func (s *socket) Leave() {
	delete(s.f.rendered.sockets, s)
	s.dropFrom(0)
}

// Farewell implements stream.Session.
func (s *socket) Farewell() []byte {
	event := s.unit.writer(nil)
	event.Object()
	event.Name("e").Word("serverShutdown")
	event.Name("E").Time(s.f.opt.Clock.NowNs())
	event.EndObject()
	var w json.Writer
	w.Object()
	switch {
	case s.api != nil:
		w.Name("event").Raw(event.Bytes())
	case s.combined:
		w.Name("stream").Word("!serverShutdown")
		w.Name("data").Raw(event.Bytes())
	default:
		return event.Bytes()
	}
	w.EndObject()
	return w.Bytes()
}

// Render implements stream.Session: it queues what the streams are due in this tick, as far as there is room. A client
// that reads slowly gets fewer and larger messages.
func (s *socket) Render() {
	s.releaseHeld()
	s.endKeys()
	s.deliver()
	for range s.streams {
		if s.ended || !s.HasRoom() {
			return
		}
		s.first %= len(s.streams)
		one := s.streams[s.first]
		s.first++
		s.sendDue(one)
	}
	s.endDelisted()
}

// sendDue queues what a stream is due in this tick.
func (s *socket) sendDue(one *stream) {
	m := s.f.rendered.due(one, s.unit)
	if m == nil {
		return
	}
	for _, t := range m.encoded(s, one) {
		s.send(one, t)
	}
	if m.lost {
		s.end("Too slow: changes of the book are no longer kept.")
	}
}

// endDelisted ends the streams of pairs that were delisted, each with an error behind its last message. The other
// exchange says nothing there.
func (s *socket) endDelisted() {
	version := s.f.rendered.root.PairsVersion
	if s.ended || s.pairs == version {
		return
	}
	s.pairs = version
	s.dropWith(s.f.rendered.delisted, func(one *stream) []byte {
		return answerOf(nil,
			&problem{wrongRequest, "The stream " + one.name + " has ended: its pair was delisted."}, null)
	})
	s.SetSpare()
}

// end closes the socket of a client that reads too slowly.
func (s *socket) end(reason string) {
	s.ended = true
	s.CloseSlow(reason)
}
