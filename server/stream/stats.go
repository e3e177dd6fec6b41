package stream

import "sync/atomic"

// channelNames names the channels in Stats; all intervals of candles are one.
var channelNames = [...]string{
	chTicker: "ticker", chTrades: "trades", chBook: "book", chCandles: "candles", chStatus: "status",
	chOrders: "orders", chFills: "fills", chBalances: "balances",
}

// hubStats counts for metrics. The hub changes it, except where a member says otherwise; any goroutine reads it.
type hubStats struct {
	sockets       atomic.Int64
	subscriptions [len(channelNames)]atomic.Int64
	resyncs       atomic.Uint64
	slowCloses    atomic.Uint64
	limited       atomic.Uint64 // messages and subscriptions beyond a limit; counted by readers, too
}

// Stats are the figures of a hub. The numbers of sockets and subscriptions are at most a second old.
type Stats struct {
	Sockets       int64
	Subscriptions map[string]int64 // by channel
	Messages      uint64           // taken for sockets, with answers
	Bytes         uint64
	Dropped       uint64 // messages that clients did not read in time
	Resyncs       uint64 // connections whose messages were dropped and whose streams start over
	SlowCloses    uint64 // connections that were closed because the client does not read
	Limited       uint64 // messages and subscriptions beyond a limit
}

// StatsOf returns the figures of a hub since the start. Any goroutine.
func StatsOf(h *Hub) Stats {
	s := Stats{
		Sockets: h.stats.sockets.Load(), Subscriptions: make(map[string]int64, len(channelNames)),
		Resyncs: h.stats.resyncs.Load(), SlowCloses: h.stats.slowCloses.Load(), Limited: h.stats.limited.Load(),
	}
	for i, name := range channelNames {
		s.Subscriptions[name] = h.stats.subscriptions[i].Load()
	}
	for _, w := range h.writers.all {
		s.Messages += w.messages.Load()
		s.Bytes += w.bytes.Load()
		s.Dropped += w.dropped.Load()
		s.SlowCloses += w.slowCloses.Load()
	}
	return s
}

// update counts the sockets and subscriptions. Only the hub may call it.
func (s *hubStats) update(h *Hub) {
	var n [len(channelNames)]int64
	for key, one := range h.streams {
		n[key.channel] += int64(len(one.subs))
	}
	for i := range n {
		s.subscriptions[i].Store(n[i])
	}
	s.sockets.Store(int64(len(h.conns)))
}
