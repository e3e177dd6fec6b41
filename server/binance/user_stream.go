package binance

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/private"
	sockets "github.com/tickhive/tickhive/server/stream"
)

// Limits of listen keys.
const (
	listenKeyLife  = 60 * time.Minute // since the start or the last ping, on the process clock
	listenKeySize  = 64               // characters
	maxListenKeys  = 100_000          // of all API keys; each has one
	listenKeyBytes = listenKeySize / 2
)

// listenKeys are the names under which older libraries open a user data stream. Any goroutine may use them.
type listenKeys struct {
	mu     sync.Mutex
	byName map[string]*listenKey
	byKey  map[string]*listenKey // by API key
}

// listenKey is a name of the user data stream of an account. It belongs to one API key.
type listenKey struct {
	name    string
	account engine.AccountID
	key     string // public key
	number  uint64 // of the key
	untilNs int64
}

// start returns the API key's listen key, a new one unless it has one, and lets it live on.
func (k *listenKeys) start(of listenKey, nowNs int64) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.byKey[of.key]
	if one == nil || one.untilNs <= nowNs || one.number != of.number {
		if one != nil {
			k.remove(one)
		}
		if len(k.byName) >= maxListenKeys && !k.prune(nowNs) {
			return "", false
		}
		var random [listenKeyBytes]byte
		_, _ = rand.Read(random[:]) // never fails
		one = &of
		one.name = hex.EncodeToString(random[:])
		if k.byName == nil {
			k.byName, k.byKey = map[string]*listenKey{}, map[string]*listenKey{}
		}
		k.byName[one.name], k.byKey[one.key] = one, one
	}
	one.untilNs = nowNs + int64(listenKeyLife)
	return one.name, true
}

// prune removes the keys whose time is over, and reports whether there were any.
func (k *listenKeys) prune(nowNs int64) bool {
	before := len(k.byName)
	for _, one := range k.byName {
		if one.untilNs <= nowNs {
			k.remove(one)
		}
	}
	return len(k.byName) < before
}

func (k *listenKeys) remove(one *listenKey) {
	delete(k.byName, one.name)
	delete(k.byKey, one.key)
}

// keep lets a listen key of an API key live on, or ends it. It returns false for an unknown one.
func (k *listenKeys) keep(name, key string, nowNs int64, end bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.byName[name]
	switch {
	case one == nil || one.key != key || one.untilNs <= nowNs:
		return false
	case end:
		k.remove(one)
	default:
		one.untilNs = nowNs + int64(listenKeyLife)
	}
	return true
}

// find returns a copy of the listen key with a name, unless its time is over.
func (k *listenKeys) find(name string, nowNs int64) (listenKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one := k.byName[name]; one != nil && one.untilNs > nowNs {
		return *one, true
	}
	return listenKey{}, false
}

// startStream serves POST /api/v3/userDataStream.
func startStream(q *call) ([]byte, *failure) {
	who, refused := q.f.opt.Users.Identify(q.Principal.PublicKey, q.from.addr)
	if refused != nil {
		return nil, rejectedKey
	}
	if err := q.unread(); err != nil {
		return nil, err
	}
	name, ok := q.f.keys.start(listenKey{
		account: engine.AccountID(who.User), key: who.PublicKey, number: who.Key,
	}, q.f.opt.Clock.NowNs())
	if !ok {
		return nil, fail(codeTooManyWeight, "Too many listen keys.")
	}
	var w json.Writer
	w.Object()
	w.Name("listenKey").Word(name)
	w.EndObject()
	return w.Bytes(), nil
}

// keepStream serves PUT /api/v3/userDataStream.
func keepStream(q *call) ([]byte, *failure) { return keepOrEnd(q, false) }

// endStream serves DELETE /api/v3/userDataStream.
func endStream(q *call) ([]byte, *failure) { return keepOrEnd(q, true) }

func keepOrEnd(q *call, end bool) ([]byte, *failure) {
	name, err := q.required("listenKey")
	if err == nil {
		err = q.unread()
	}
	if err != nil {
		return nil, err
	}
	if !q.f.keys.keep(name, q.Principal.PublicKey, q.f.opt.Clock.NowNs(), end) {
		return nil, fail(codeNoListenKey, "This listenKey does not exist.")
	}
	return []byte("{}"), nil
}

// userStream returns the user data stream with a name of the form of a listen key, or false for another name. That of a
// key that is none, any more for example, has no events: the next tick ends it, and so its client asks for a key.
func (s *socket) userStream(name string) (*stream, bool) {
	if len(name) != listenKeySize || strings.Trim(name, "0123456789abcdef") != "" {
		return nil, false
	}
	key, _ := s.f.keys.find(name, s.f.opt.Clock.NowNs())
	one := &stream{name: name, kind: userDataStream, user: &userStream{key: key.key, number: key.number}}
	if s.permitted(one) {
		s.follow(one, key.account)
		return one, true
	}
	s.f.stats.unknownStreams.Add(1)
	one.user = &userStream{} // of no key, so nothing permits it any more
	s.users++
	return one, true
}

// userStream is the account of a user data stream.
type userStream struct {
	key    string                // public key
	number uint64                // of the key, which ends with the key
	events *private.Subscription // nil: of no key
	lists  []*private.Event      // events of lists, which go behind the reports of their command
}

// waiting reports whether a stream is one of user data, with something to take.
func (u *userStream) waiting() bool { return u != nil && u.events != nil && u.events.Waiting() }

func (u *userStream) end() {
	if u.events != nil {
		u.events.End()
	}
}

// follow begins a user data stream: it gets everything that is published from now on.
func (s *socket) follow(one *stream, account engine.AccountID) {
	one.user.events = s.f.opt.Feed.Subscribe(account, s.f.sockets.Wake)
	s.users++
}

// permitted reports whether the key of a user data stream, and its listen key, may still be used.
func (s *socket) permitted(one *stream) bool {
	who, refused := s.f.opt.Users.Identify(one.user.key, s.from.addr)
	if refused != nil || who.Key != one.user.number {
		return false
	}
	if one.name == "" {
		return true
	}
	_, ok := s.f.keys.find(one.name, s.f.opt.Clock.NowNs())
	return ok
}

// drop removes the streams that match.
func (s *socket) drop(match func(*stream) bool) {
	s.streams = slices.DeleteFunc(s.streams, func(one *stream) bool {
		if !match(one) {
			return false
		}
		if one.user != nil {
			one.user.end()
			s.users--
		}
		s.f.faults.Forget(&one.held)
		s.f.stats.subscriptions.Add(-1)
		return true
	})
}

// dropWith removes the streams that match, each with its last message.
func (s *socket) dropWith(match func(*stream) bool, last func(*stream) []byte) {
	s.drop(func(one *stream) bool {
		ended := match(one)
		if ended {
			s.Queue(sockets.NewText(last(one)))
		}
		return ended
	})
}

// dropFrom removes the streams from a place in the list on.
func (s *socket) dropFrom(place int) {
	rest := s.streams[place:]
	s.drop(func(one *stream) bool { return slices.Contains(rest, one) })
}

// wrap adds the envelope of a message, if it has one.
func (s *socket) wrap(one *stream, b []byte) []byte {
	var w json.Writer
	w.Object()
	switch {
	case s.api != nil:
		w.Name("subscriptionId").Int(int64(one.id))
		w.Name("event").Raw(b)
	case s.combined:
		w.Name("stream").Text(one.name)
		w.Name("data").Raw(b)
	default:
		return b
	}
	w.EndObject()
	return w.Bytes()
}

// maxTaken bounds the messages of a user data stream that are queued without asking for room.
const maxTaken = 64

// deliver queues what waits for the user data streams, as far as there is room. It ends a socket of which a message was
// dropped: there is no other remedy.
func (s *socket) deliver() {
	if s.users == 0 {
		return
	}
	for _, one := range s.streams {
		for one.user.waiting() && !s.ended && s.HasRoom() {
			list, lost := one.user.events.Take(maxTaken)
			if !s.permitted(one) { // asked behind Take: nothing that happens after the end of a key reaches its sockets
				break // the next tick says so
			}
			for _, m := range list {
				s.pass(one, m)
			}
			if !one.user.waiting() { // a publication is taken whole, so the last command is complete
				s.passLists(one)
			}
			if lost {
				s.end("Too slow: messages of the user data stream were dropped.")
			}
		}
	}
}

// pass queues an event, or keeps that of a list until the reports of its command are queued.
func (s *socket) pass(one *stream, m *private.Event) {
	if lists := one.user.lists; len(lists) > 0 && m.Command != lists[0].Command {
		s.passLists(one)
	}
	switch {
	case m.List != nil:
		one.user.lists = append(one.user.lists, m)
	case m.Order == nil || reported(m.Order):
		s.queueEvent(one, m)
	}
}

func (s *socket) passLists(one *stream) {
	for _, m := range one.user.lists {
		s.queueEvent(one, m)
	}
	clear(one.user.lists)
	one.user.lists = one.user.lists[:0]
}

func (s *socket) queueEvent(one *stream, m *private.Event) {
	s.send(one, sockets.NewText(s.wrap(one, s.f.appendUserMessage(nil, s.unit, m))))
}

// reported reports whether an event of an order has a report there: neither the end of a purchase that was filled has
// one, nor the moment at which a trailing order begins to track the market.
func reported(o *private.Order) bool { return !o.Ends && o.Event.Kind != engine.EventActivated }

// endKeys ends the user data streams whose key has ended.
func (s *socket) endKeys() {
	if s.users == 0 {
		return
	}
	s.terminate(func(one *stream) bool { return one.user != nil && s.HasRoom() && !s.permitted(one) })
}

// terminate ends user data streams, each with its last message.
func (s *socket) terminate(match func(*stream) bool) {
	s.dropWith(match, func(one *stream) []byte { return s.wrap(one, s.f.endMessage(one, s.unit)) })
}

// endMessage returns the last message of a user data stream.
func (f *Facade) endMessage(one *stream, u unit) []byte {
	w := u.writer(nil)
	w.Object()
	if one.name == "" {
		w.Name("e").Word("eventStreamTerminated")
		w.Name("E").Time(f.opt.Clock.NowNs())
	} else {
		w.Name("e").Word("listenKeyExpired")
		w.Name("E").Time(f.opt.Clock.NowNs())
		w.Name("listenKey").Text(one.name)
	}
	w.EndObject()
	return w.Bytes()
}
