package binance

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"tickhive/internal/clock"
	"tickhive/internal/refuse"
	"tickhive/server/conn"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// Limits of a socket.
const (
	maxStreams       = 1024
	maxMessagesSec   = 5 // pings and requests of the client in a second
	maxMessageBytes  = 64 << 10
	pingEvery        = 20 * time.Second
	silentAfter      = 60 * time.Second // without a frame of the client the socket is closed
	socketWriteLimit = 10 * time.Second
)

// sockets holds what all sockets of a Facade share.
type sockets struct {
	stop chan struct{}
	once sync.Once
	open sync.WaitGroup
	mu   sync.Mutex // guards Add of open against Wait
}

// Shutdown closes every socket with 1001 and waits for their ends.
func (f *Facade) Shutdown() {
	if f == nil {
		return
	}
	s := &f.sockets
	s.mu.Lock()
	s.once.Do(func() { close(s.stop) })
	s.mu.Unlock()
	s.open.Wait()
}

// enter counts a socket, unless the facade shuts down.
func (s *sockets) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stop:
		return false
	default:
		s.open.Add(1)
		return true
	}
}

// socket is one connection, with streams or with the WebSocket API. Its reader and its writer share it under the
// lock.
type socket struct {
	f    *Facade
	ws   *websocket.Conn
	from peer
	wake chan struct{} // a user data stream has messages
	api  *apiSession   // the reader's; nil: streams only

	mu       sync.Mutex
	combined bool
	streams  []*stream

	second, received int64 // the client's messages in the current second; the reader's
}

// streamRoutes returns the routes of the sockets.
func (f *Facade) streamRoutes() []*edge.Route {
	up := &websocket.FastHTTPUpgrader{
		ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
		CheckOrigin: func(*fasthttp.RequestCtx) bool { return true }, // the streams are public
	}
	route := func(path string, combined bool) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: path, Class: edge.ClassExempt, Auth: edge.AuthNever,
			Handle: func(c *edge.Ctx) *refuse.Refusal { return f.upgrade(c, up, combined) },
		}
	}
	return []*edge.Route{
		route("/ws", false), route("/ws/{streams:*}", false), route("/stream", true),
		{
			Method: fasthttp.MethodGet, Path: "/ws-api/v3", Class: edge.ClassExempt, Auth: edge.AuthNever,
			Handle: func(c *edge.Ctx) *refuse.Refusal { return f.upgradeAPI(c, up) },
		},
	}
}

// milliseconds refuses an address that asks for another unit of times than the messages have.
func milliseconds(c *edge.Ctx) *refuse.Refusal {
	unit, err := c.Str("timeUnit")
	if err == nil && unit != "" && !strings.EqualFold(unit, "MILLISECOND") {
		err = refuse.Param("timeUnit", "The only timeUnit is MILLISECOND.")
	}
	return err
}

func (f *Facade) upgrade(c *edge.Ctx, up *websocket.FastHTTPUpgrader, combined bool) *refuse.Refusal {
	if err := milliseconds(c); err != nil {
		return err
	}
	names := c.PathParam("streams")
	if combined {
		var err *refuse.Refusal
		if names, err = c.Str("streams"); err != nil {
			return err
		}
	}
	s := f.newSocket(c, combined)
	for name := range strings.SplitSeq(names, "/") {
		if strings.Trim(name, "0123456789") == "" {
			continue // libraries number their sockets: /ws/0
		}
		if !s.add(name) {
			s.dropFrom(0)
			return refuse.Param("streams", "Invalid stream: %s.", name)
		}
	}
	return s.upgrade(c, up)
}

func (f *Facade) newSocket(c *edge.Ctx, combined bool) *socket {
	return &socket{
		f: f, combined: combined, wake: make(chan struct{}, 1), from: peer{c.ClientAddr(), c.Unlimited()},
	}
}

// upgrade answers the handshake; the server calls serve after it.
func (s *socket) upgrade(c *edge.Ctx, up *websocket.FastHTTPUpgrader) *refuse.Refusal {
	if !websocket.FastHTTPIsWebSocketUpgrade(c.RequestCtx) {
		s.dropFrom(0)
		return refuse.Param("Upgrade", "This path serves WebSocket only.")
	}
	if failed := up.Upgrade(c.RequestCtx, s.serve); failed != nil {
		s.dropFrom(0)
		c.Response.Reset()
		return refuse.Param("Upgrade", "The WebSocket handshake failed.")
	}
	return nil
}

// add adds a stream unless the socket has it. It returns false for an unknown name or too many streams.
func (s *socket) add(name string) bool {
	if slices.ContainsFunc(s.streams, func(one *stream) bool { return one.name == name }) {
		return true
	}
	if len(s.streams) == maxStreams {
		return false
	}
	one, ok := s.userStream(name)
	if !ok {
		one, ok = s.f.parseStream(name)
	}
	if !ok {
		return false
	}
	s.streams = append(s.streams, one)
	s.f.stats.subscriptions.Add(1)
	return true
}

// errWriterEnded ends the reader after the writer.
var errWriterEnded = errors.New("the writer has ended")

// serve reads the client's messages until the socket ends. It is the reader; the writer has its own goroutine.
func (s *socket) serve(ws *websocket.Conn) {
	defer s.dropAll()
	if !s.f.sockets.enter() {
		_ = ws.Close()
		return
	}
	defer s.f.sockets.open.Done()
	s.f.stats.sockets.Add(1)
	defer s.f.stats.sockets.Add(-1)
	s.ws = ws
	s.setSpare()
	ws.SetReadLimit(maxMessageBytes)
	ended, written, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	alive := func(string) error {
		until := machineTime().Add(silentAfter)
		if err := ws.SetReadDeadline(until); err != nil {
			return err
		}
		select {
		case <-written: // in case the writer's deadline was set before this one
			return errWriterEnded
		default:
			return nil
		}
	}
	ws.SetPongHandler(alive)
	ws.SetPingHandler(func(data string) error {
		if s.tooMany() {
			return websocket.ErrCloseSent
		}
		if err := alive(""); err != nil {
			return err
		}
		return ws.WriteControl(websocket.PongMessage, []byte(data), machineTime().Add(socketWriteLimit))
	})
	go func() {
		defer close(done)
		s.write(ended)
		close(written)
		_ = ws.SetReadDeadline(time.Unix(1, 0)) // ends the reader; the server closes the connection behind it
	}()
	for alive("") == nil {
		kind, text, err := ws.ReadMessage()
		if err != nil || kind != websocket.TextMessage {
			break
		}
		if s.api != nil { // its requests pay by weight
			if !conn.Of(ws.NetConn()).SetSpare(false) {
				break // closed for another connection: no answer can arrive
			}
			err = s.answerAPI(text)
		} else if err = websocket.ErrCloseSent; !s.tooMany() {
			err = s.answer(text)
		}
		if err != nil {
			break
		}
		s.setSpare()
	}
	close(ended)
	<-done // the server reuses the connection once this function has returned
}

// setSpare tells the listener whether it may close the socket for another connection when it is full: one without
// streams and without a session. The reader calls it.
func (s *socket) setSpare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn.Of(s.ws.NetConn()).SetSpare(len(s.streams) == 0 && (s.api == nil || s.api.key == ""))
}

// write looks at the market and sends what has changed, until the socket ends.
func (s *socket) write(ended chan struct{}) {
	tick, ping := time.NewTicker(tickMs*time.Millisecond), time.NewTicker(pingEvery)
	defer tick.Stop()
	defer ping.Stop()
	for {
		select {
		case <-ended:
			return
		case <-s.f.sockets.stop:
			s.close(websocket.CloseGoingAway, "The server is shutting down.")
			return
		case <-ping.C:
			if s.ws.WriteControl(websocket.PingMessage, nil, machineTime().Add(socketWriteLimit)) != nil {
				return
			}
		case <-s.wake:
			if !s.deliver() {
				return
			}
		case now := <-tick.C:
			if !s.deliver() || !s.look(now.UnixMilli()) {
				return
			}
		}
	}
}

func (s *socket) close(code int, text string) {
	_ = s.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text),
		machineTime().Add(time.Second))
}

// look sends the messages of all streams. It returns false when the socket has to end.
func (s *socket) look(nowMs int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	root := s.f.opt.Board.Load()
	for _, one := range s.streams {
		var err error
		lost := s.f.messages(one, root, nowMs, func(b []byte) {
			if err != nil {
				return
			}
			err = s.send(s.wrap(one, b))
		})
		if lost {
			s.f.stats.slowCloses.Add(1)
			s.close(websocket.CloseTryAgainLater, "Too slow: changes of the book are no longer kept.")
		}
		if lost || err != nil {
			return false
		}
	}
	return true
}

// send writes a message. The caller holds the lock.
func (s *socket) send(b []byte) error {
	if err := s.ws.SetWriteDeadline(machineTime().Add(socketWriteLimit)); err != nil {
		return err
	}
	s.f.stats.messages.Add(1)
	s.f.stats.bytes.Add(uint64(len(b)))
	err := s.ws.WriteMessage(websocket.TextMessage, b)
	s.f.stats.noteUnread(err)
	return err
}

// request is a message of the client.
type request struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	ID     json.RawMessage `json:"id"`
}

// answer carries out a request and sends the answer.
func (s *socket) answer(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var r request
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || len(r.ID) > 64 {
		return s.send([]byte(`{"error":{"code":2,"msg":"Invalid request: not a request object."},"id":null}`))
	}
	if len(r.ID) == 0 {
		r.ID = json.RawMessage("null")
	}
	result, problem := s.perform(&r)
	var b []byte
	if problem != "" {
		b = append(encode.AppendString([]byte(`{"error":{"code":2,"msg":`), "Invalid request: "+problem), '}')
	} else {
		b = append([]byte(`{"result":`), result...)
	}
	return s.send(append(append(append(b, `,"id":`...), r.ID...), '}'))
}

// perform carries out a request and returns the JSON text of its result. A request that it refuses changes nothing; the
// problem says why.
func (s *socket) perform(r *request) (result, problem string) {
	var names []string
	switch r.Method {
	case "SUBSCRIBE", "UNSUBSCRIBE":
		if json.Unmarshal(r.Params, &names) != nil || len(names) == 0 {
			return "", "params must be a list of streams."
		}
	case "LIST_SUBSCRIPTIONS":
		b := []byte{'['}
		for _, one := range s.streams {
			b = append(encode.AppendString(b, one.name), ',')
		}
		return string(append(trimComma(b), ']')), ""
	case "SET_PROPERTY":
		var pair []any
		if json.Unmarshal(r.Params, &pair) != nil || len(pair) != 2 || pair[0] != "combined" {
			return "", `params must be ["combined", true or false].`
		}
		on, ok := pair[1].(bool)
		if !ok {
			return "", `params must be ["combined", true or false].`
		}
		s.combined = on
		return "null", ""
	case "GET_PROPERTY":
		if s.combined {
			return "true", ""
		}
		return "false", ""
	default:
		return "", "unknown method."
	}
	if r.Method == "UNSUBSCRIBE" {
		s.drop(func(one *stream) bool { return slices.Contains(names, one.name) })
		return "null", ""
	}
	before := len(s.streams)
	for _, name := range names {
		if !s.add(name) {
			s.dropFrom(before)
			return "", "unknown stream " + name + ", or more than 1024 streams."
		}
	}
	return "null", ""
}

// machineTime returns the time of the machine's clock, which is right for deadlines also while the process clock is
// virtual.
func machineTime() time.Time { return time.Unix(0, clock.MachineNs()) }
