package binance

import (
	"errors"
	"os"
	"sync/atomic"
)

// facadeStats counts for metrics. Any goroutine.
type facadeStats struct {
	sockets, subscriptions      atomic.Int64
	messages, bytes, slowCloses atomic.Uint64
	overWeight                  atomic.Uint64
	badKey, badTime, badSign    atomic.Uint64
}

// Stats are the figures of a facade.
type Stats struct {
	Sockets, Subscriptions int64
	Messages, Bytes        uint64 // with the last ones of sockets that ended within them
	SlowCloses             uint64 // sockets that were closed because the client does not read
	OverWeight             uint64 // requests refused for the weight that their address had used
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
		Sockets: s.sockets.Load(), Subscriptions: s.subscriptions.Load(), Messages: s.messages.Load(),
		Bytes: s.bytes.Load(), SlowCloses: s.slowCloses.Load(), OverWeight: s.overWeight.Load(),
		BadKey: s.badKey.Load(), BadTime: s.badTime.Load(), BadSignature: s.badSign.Load(),
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

// noteUnread counts a client that has not read for socketWriteLimit, by the error of a write.
func (s *facadeStats) noteUnread(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.slowCloses.Add(1)
	}
}
