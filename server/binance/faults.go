package binance

import (
	"bytes"
	"strings"

	"github.com/tickhive/tickhive/internal/fault"
	sockets "github.com/tickhive/tickhive/server/stream"
)

// channels are the channels of fault rules to which the kinds of streams belong; candles add their interval.
var channels = map[streamKind]string{
	tradeStream: "trades", aggTradeStream: "trades", klineStream: "candles.", bookTickerStream: "book",
	depthStream: "book", partialDepthStream: "book", userDataStream: "user",
}

// channel returns the channel of a stream in fault rules.
func (s *stream) channel() string {
	name, ok := channels[s.kind]
	switch {
	case !ok:
		return "ticker"
	case s.kind == klineStream && s.interval.Name == "1M":
		return name + "1mo" // 1m is a minute
	case s.kind == klineStream:
		return name + s.interval.Name
	}
	return name
}

// firstID is the member of an update of a book that a rule of Gap falsifies.
var firstID = []byte(`"U":`)

// send queues a message of a stream and applies the fault rules to it.
func (s *socket) send(one *stream, t sockets.Text) {
	if !s.f.faults.Concern(&one.held) {
		s.Queue(t)
		return
	}
	m := fault.Match{
		Listener: "binance", Channel: one.channel(), NowNs: s.f.opt.Clock.NowNs(),
		Names: func(pair string) bool {
			symbol := fault.Joined(pair)
			return strings.HasPrefix(one.name, strings.ToLower(symbol)+"@") ||
				bytes.Contains(t.Payload(), []byte(`"s":"`+symbol+`"`))
		},
	}
	gap := firstID
	if one.kind != depthStream {
		gap = nil
	}
	if one.user != nil {
		m.Key = one.user.key
	}
	if s.f.faults.Queue(s.Conn, &one.held, t, &m, gap) {
		s.ended, s.broken = true, true
	}
}

// releaseHeld queues the messages that rules held back and that are due.
func (s *socket) releaseHeld() {
	for _, one := range s.streams {
		s.f.faults.Release(s.Conn, &one.held)
	}
}
