package binance

import (
	"slices"
	"strconv"

	"github.com/fasthttp/websocket"

	"tickhive/server/encode"
)

// userStream returns the user data stream with the name of a listen key, or false when there is none.
func (s *socket) userStream(name string) (*stream, bool) {
	if len(name) != listenKeySize {
		return nil, false
	}
	key, ok := s.f.keys.find(name, s.f.opt.Clock.NowNs())
	if !ok {
		return nil, false
	}
	one := &stream{name: name, kind: userDataStream, user: &subscription{
		account: key.account, key: key.key, number: key.number, wake: s.wake,
	}}
	if !s.permitted(one) {
		return nil, false
	}
	s.f.feed.subscribe(one.user)
	return one, true
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

// drop removes the streams that match. The caller holds the lock, or is alone.
func (s *socket) drop(match func(*stream) bool) {
	s.streams = slices.DeleteFunc(s.streams, func(one *stream) bool {
		if !match(one) {
			return false
		}
		if one.user != nil {
			s.f.feed.unsubscribe(one.user)
		}
		s.f.stats.subscriptions.Add(-1)
		return true
	})
}

// dropFrom removes the streams from a place in the list on.
func (s *socket) dropFrom(place int) {
	rest := s.streams[place:]
	s.drop(func(one *stream) bool { return slices.Contains(rest, one) })
}

func (s *socket) dropAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropFrom(0)
}

// wrap adds the envelope of a message, if it has one.
func (s *socket) wrap(one *stream, b []byte) []byte {
	var head []byte
	switch {
	case s.api != nil:
		head = strconv.AppendInt([]byte(`{"subscriptionId":`), int64(one.id), 10)
		head = append(head, `,"event":`...)
	case s.combined:
		head = append(encode.AppendString([]byte(`{"stream":`), one.name), `,"data":`...)
	default:
		return b
	}
	return append(append(head, b...), '}')
}

// deliver sends what waits for the user data streams, and ends those whose key has ended. It returns false when the
// socket has to end: for a message that was dropped there is no other remedy.
func (s *socket) deliver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.streams, func(one *stream) bool { return one.user != nil }) {
		return true
	}
	s.f.feed.flush()
	for _, one := range slices.Clone(s.streams) {
		if one.user == nil {
			continue
		}
		list, lost := s.f.feed.take(one.user)
		if !s.permitted(one) { // asked behind take: nothing that happens after the end of a key reaches its sockets
			if s.send(s.wrap(one, s.f.appendEnd(nil, one))) != nil {
				return false
			}
			s.drop(func(other *stream) bool { return other == one })
			continue
		}
		for _, m := range list {
			if s.send(s.wrap(one, s.f.appendUserMessage(nil, m))) != nil {
				return false
			}
		}
		if lost {
			s.f.stats.slowCloses.Add(1)
			s.close(websocket.CloseTryAgainLater, "Too slow: messages of the user data stream were dropped.")
			return false
		}
	}
	return true
}

// appendEnd appends the last message of a user data stream.
func (f *Facade) appendEnd(b []byte, one *stream) []byte {
	if one.name == "" {
		b = append(b, `{"e":"eventStreamTerminated","E":`...)
		return append(encode.AppendMs(b, f.opt.Clock.NowNs()), '}')
	}
	b = encode.AppendMs(append(b, `{"e":"listenKeyExpired","E":`...), f.opt.Clock.NowNs())
	return append(encode.AppendString(append(b, `,"listenKey":`...), one.name), '}')
}
