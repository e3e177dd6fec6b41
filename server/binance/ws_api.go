package binance

import (
	"bytes"
	"cmp"
	stdjson "encoding/json"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	sockets "github.com/tickhive/tickhive/server/stream"
)

// Limits of the WebSocket API.
const (
	maxSubscriptions = 100 // user data streams of a socket
	connectWeight    = 2   // of a new socket
)

// apiSession is the state of a socket of the WebSocket API.
//
// Owner: the socket's reader. It changes the state on the goroutine of the sockets, which may read it too, and waits.
type apiSession struct {
	key         string // the public key that has logged on; "": none
	number      uint64
	connectedNs int64
	logonNs     int64
	quiet       bool // the answers have no rateLimits
	next        int  // id of the next subscription
}

// apiParam is a member of params as it was sent.
type apiParam struct {
	name string
	raw  stdjson.RawMessage
}

// apiParams reads the members of params, repeated names included. It returns false for another value than an object.
func apiParams(text stdjson.RawMessage) (list []apiParam, ok bool) {
	d := stdjson.NewDecoder(bytes.NewReader(text))
	start, err := d.Token()
	if start != stdjson.Delim('{') {
		return nil, len(text) == 0 || err == nil && start == nil // missing, or null
	}
	for d.More() {
		name, _ := d.Token() // the text is valid JSON
		one := apiParam{}
		one.name, _ = name.(string)
		_ = d.Decode(&one.raw)
		list = append(list, one)
	}
	return list, true
}

// apiMethods holds the methods of the WebSocket API: of the routes, and of the connection itself, such as a log-on.
var apiMethods = func() map[string]*endpoint {
	m := map[string]*endpoint{}
	for _, e := range endpoints() {
		if e.api != "" {
			m[e.api] = &e
		}
	}
	return m
}()

// upgradeAPI begins a connection of the WebSocket API.
func (f *Facade) upgradeAPI(c *edge.Ctx, up *websocket.FastHTTPUpgrader) *refuse.Refusal {
	unit, failed := socketUnit(c)
	if failed != nil {
		failed.send(c.RequestCtx)
		return nil
	}
	show, err := showLimits.Of(c)
	if err != nil {
		return err
	}
	s := f.newSocket(c, unit, false)
	if err := (&call{f: f, from: s.from}).pay(connectWeight); err != nil {
		return refuse.New(refuse.RateLimit, "", "%s", err.msg).After(err.retryAfter)
	}
	s.api = &apiSession{quiet: !show, connectedNs: f.opt.Clock.NowNs()}
	return s.upgrade(c, up)
}

// answerAPI carries out a request and returns the answer.
func (s *socket) answerAPI(text []byte) []byte {
	q := &call{f: s.f, from: s.from, unit: s.unit, quiet: s.api.quiet}
	r, failed := readAPIRequest(text)
	var result []byte
	if failed == nil {
		result, failed = s.performAPI(q, &r)
	} else if over := q.pay(1); over != nil {
		failed = over
	}
	var w json.Writer
	w.Object()
	w.Name("id").Raw(r.id)
	if failed == nil {
		w.Name("status").Int(fasthttp.StatusOK)
		w.Name("result").Raw(result)
	} else {
		w.Name("status").Int(int64(cmp.Or(failed.status, fasthttp.StatusBadRequest)))
		w.Name("error").Raw(failed.inSocket())
	}
	if !q.quiet && (q.used > 0 || q.paid > 0) {
		q.writeLimits(&w)
	}
	w.EndObject()
	return w.Bytes()
}

// apiRequest is a request of the WebSocket API.
type apiRequest struct {
	id     stdjson.RawMessage // valid; null: none was sent
	method string             // without the prefix of the version
	params []apiParam
}

// readAPIRequest reads a request. What is wrong with a member names it; the id of the answer is then the request's.
func readAPIRequest(text []byte) (out apiRequest, bad *failure) {
	out.id = stdjson.RawMessage("null")
	if !stdjson.Valid(text) {
		return out, fail(codeInvalidJSON, "Invalid JSON Request")
	}
	r, wrong := readRequest(text)
	if len(r.id) > 0 && !validID(r.id) {
		return out, fail(codeInvalidJSON, "Invalid 'id' in JSON request; expected an integer, a string matching "+
			"'^[a-zA-Z0-9-_]{1,36}$', or null.")
	}
	if len(r.id) > 0 {
		out.id = r.id
	}
	if wrong != "" {
		return out, fail(codeInvalidJSON, "Invalid JSON Request: %s.", wrong)
	}
	if stdjson.Unmarshal(r.method, &out.method) != nil || out.method == "" {
		return out, fail(codeInvalidJSON, "Invalid 'method' in JSON request; expected a string.")
	}
	out.method = strings.TrimPrefix(out.method, "v3/")
	var ok bool
	if out.params, ok = apiParams(r.params); !ok {
		return out, fail(codeInvalidJSON, "Invalid 'params' in JSON request; expected an object.")
	}
	return out, nil
}

// performAPI carries out a request.
func (s *socket) performAPI(q *call, r *apiRequest) ([]byte, *failure) {
	e := apiMethods[r.method]
	if e == nil {
		e = s.sessionMethod(r.method)
	}
	if e == nil {
		return nil, cmp.Or(q.pay(1), unsupported)
	}
	if who, ok := s.session(); ok {
		q.Principal = principal(&who)
	}
	return q.run(e, func() *failure { return q.readMembers(r.params) }, func() auth.Payload {
		key, given := q.text("apiKey")
		if !given && q.Principal != nil {
			key = q.Principal.PublicKey
		}
		return auth.Payload{
			Text: sortedText(q.params), PublicKey: []byte(key), Remote: s.from.addr,
			Reads: e.method == fasthttp.MethodGet,
		}
	})
}

// session returns the principal of the key that has logged on, while the key may be used.
func (s *socket) session() (auth.Principal, bool) {
	if s.api.key == "" {
		return auth.Principal{}, false
	}
	who, refused := s.f.opt.Users.Identify(s.api.key, s.from.addr)
	if refused != nil || who.Key != s.api.number {
		s.owned(func() { s.api.key = "" })
		return auth.Principal{}, false
	}
	return who, true
}

// owned runs change on the goroutine of the sockets, unless they have ended: then no answer can arrive.
func (s *socket) owned(change func()) { s.f.sockets.Call(change) }

// readMembers reads the parameters of a request: text, numbers, booleans, and lists as their JSON.
func (q *call) readMembers(params []apiParam) *failure {
	if len(params) > maxParams {
		return fail(codeTooManyParams, "Too many parameters; expected '%d' and received '%d'.", maxParams, len(params))
	}
	for _, one := range params {
		name, raw := one.name, one.raw
		value := string(raw)
		if q.sent(name) {
			return twice(name)
		}
		switch raw[0] {
		case '"':
			if stdjson.Unmarshal(raw, &value) != nil {
				return illegal(name, "text")
			}
		case '{':
			return illegal(name, "text, number, boolean or list")
		case '[':
			var compact bytes.Buffer
			if stdjson.Compact(&compact, raw) != nil {
				return illegal(name, "list")
			}
			value = compact.String()
		case 'n':
			value = ""
		}
		if name == "returnRateLimits" {
			if value != "true" && value != "false" {
				return invalid(name)
			}
			q.quiet = value == "false"
		}
		q.params = append(q.params, param{name: name, value: value, read: name == "returnRateLimits"})
	}
	slices.SortFunc(q.params, func(a, b param) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return nil
}

// sortedText returns what a request signs: its parameters by name, without the signature.
func sortedText(params []param) []byte {
	var b []byte
	for i := range params {
		if p := &params[i]; p.name != "signature" {
			if len(b) > 0 {
				b = append(b, '&')
			}
			b = append(append(append(b, p.name...), '='), p.value...)
		}
	}
	return b
}

// sessionMethods are the methods of the connection itself.
var sessionMethods = map[string]struct {
	security security
	handle   func(s *socket, q *call) ([]byte, *failure)
}{
	"session.logon":                      {signed, (*socket).logon},
	"session.status":                     {open, (*socket).status},
	"session.logout":                     {open, (*socket).logout},
	"session.subscriptions":              {open, (*socket).subscriptions},
	"userDataStream.subscribe":           {open, (*socket).subscribeSession},
	"userDataStream.subscribe.signature": {signed, (*socket).subscribeSigned},
	"userDataStream.unsubscribe":         {open, (*socket).unsubscribe},
}

// sessionMethod returns the method of the connection with a name, nil for an unknown one. It is a GET: it changes
// nothing that a repeat could change again.
func (s *socket) sessionMethod(name string) *endpoint {
	m, known := sessionMethods[name]
	if !known {
		return nil
	}
	return &endpoint{
		method: fasthttp.MethodGet, api: name, weight: 2, security: m.security,
		handle: func(q *call) ([]byte, *failure) { return m.handle(s, q) },
	}
}

// The lengths of signatures.
const (
	hmacDigits    = 64
	ed25519Base64 = 88
)

func (s *socket) logon(q *call) ([]byte, *failure) {
	if signature, given := q.text("signature"); !given {
		return nil, missing("signature") // of a socket that has logged on
	} else if len(signature) == hmacDigits {
		return nil, fail(codeHMACLogon, "HMAC_SHA256 API key is not supported.")
	} else if len(signature) != ed25519Base64 {
		return nil, fail(codeHMACLogon, "RSA API key is not supported.")
	}
	who, refused := q.f.opt.Users.Identify(q.Principal.PublicKey, q.from.addr)
	if refused != nil {
		return nil, rejectedKey
	}
	if err := q.unread(); err != nil {
		return nil, err
	}
	s.owned(func() {
		s.api.key, s.api.number = who.PublicKey, who.Key
		s.api.logonNs = q.f.opt.Clock.NowNs()
	})
	return s.status(q)
}

func (s *socket) status(q *call) ([]byte, *failure) {
	_, signedIn := s.session()
	w := q.writer()
	w.Object()
	w.Name("apiKey")
	if signedIn {
		w.Text(s.api.key)
	} else {
		w.Null()
	}
	w.Name("authorizedSince")
	if signedIn {
		w.Time(s.api.logonNs)
	} else {
		w.Null()
	}
	w.Name("connectedSince").Time(s.api.connectedNs)
	w.Name("returnRateLimits").Bool(!s.api.quiet)
	w.Name("serverTime").Time(q.f.opt.Clock.NowNs())
	w.Name("userDataStream").Bool(s.subscribed())
	w.EndObject()
	return w.Bytes(), nil
}

func (s *socket) subscribed() (any bool) {
	s.owned(func() { any = len(s.streams) > 0 })
	return any
}

// logout ends the session and the streams that it has subscribed to.
func (s *socket) logout(q *call) ([]byte, *failure) {
	if err := q.unread(); err != nil {
		return nil, err
	}
	s.owned(func() {
		s.terminate(func(one *stream) bool { return one.session })
		s.api.key = ""
	})
	return s.status(q)
}

// subscriptions lists the user data streams of the socket.
func (s *socket) subscriptions(*call) ([]byte, *failure) {
	var w json.Writer
	w.List()
	s.owned(func() {
		for _, one := range s.streams {
			w.Object()
			w.Name("subscriptionId").Int(int64(one.id))
			w.EndObject()
		}
	})
	w.EndList()
	return w.Bytes(), nil
}

func (s *socket) subscribeSession(q *call) ([]byte, *failure) {
	if q.Principal == nil {
		return nil, rejectedKey
	}
	return s.subscribe(q, true)
}

func (s *socket) subscribeSigned(q *call) ([]byte, *failure) { return s.subscribe(q, false) }

// subscribe begins a user data stream.
func (s *socket) subscribe(q *call, session bool) ([]byte, *failure) {
	who, refused := q.f.opt.Users.Identify(q.Principal.PublicKey, q.from.addr)
	if refused != nil {
		return nil, rejectedKey
	}
	if err := q.unread(); err != nil {
		return nil, err
	}
	one := &stream{kind: userDataStream, session: session, user: &userStream{key: who.PublicKey, number: who.Key}}
	full := false
	s.owned(func() {
		if full = len(s.streams) >= maxSubscriptions; full {
			return
		}
		one.id = s.api.next
		s.api.next++
		s.follow(one, engine.AccountID(who.User))
		s.streams = append(s.streams, one)
		s.f.stats.subscriptions.Add(1)
	})
	if full {
		return nil, fail(codeTooManyWeight, "At most %d user data streams per connection.", maxSubscriptions)
	}
	var w json.Writer
	w.Object()
	w.Name("subscriptionId").Int(int64(one.id))
	w.EndObject()
	return w.Bytes(), nil
}

// unsubscribe ends one user data stream, or all without a number.
func (s *socket) unsubscribe(q *call) ([]byte, *failure) {
	id, err := q.number("subscriptionId", -1)
	if err == nil {
		err = q.unread()
	}
	if err != nil {
		return nil, err
	}
	found := false
	s.owned(func() {
		before := len(s.streams)
		s.terminate(func(one *stream) bool { return id < 0 || int64(one.id) == id })
		found = len(s.streams) < before
	})
	if id >= 0 && !found {
		return nil, invalid("subscriptionId")
	}
	return []byte("{}"), nil
}

// facadeStats counts for metrics. Any goroutine.
type facadeStats struct {
	subscriptions            atomic.Int64
	unknownStreams           atomic.Uint64
	overWeight               atomic.Uint64
	badKey, badTime, badSign atomic.Uint64
}

// Stats are the figures of a facade.
type Stats struct {
	sockets.Figures
	Subscriptions  int64
	UnknownStreams uint64 // names of subscriptions that no stream has
	OverWeight     uint64 // requests refused for the weight that their address had used
	// Refused credentials, by what is wrong: the key (or its permission), the timestamp, the signature.
	BadKey, BadTime, BadSignature uint64
}

// Stats returns the figures since the start, of a nil Facade too.
func (f *Facade) Stats() Stats {
	if f == nil {
		return Stats{}
	}
	s := &f.stats
	return Stats{
		Figures: f.sockets.Figures(), Subscriptions: s.subscriptions.Load(), OverWeight: s.overWeight.Load(),
		UnknownStreams: s.unknownStreams.Load(),
		BadKey:         s.badKey.Load(), BadTime: s.badTime.Load(), BadSignature: s.badSign.Load(),
	}
}

// countRefusal counts refused credentials.
func (s *facadeStats) countRefusal(err *failure) {
	switch err.code {
	case codeBadKeyFormat, codeRejectedKey:
		s.badKey.Add(1)
	case codeBadTime:
		s.badTime.Add(1)
	case codeBadSignature:
		s.badSign.Add(1)
	}
}
