package exchange

import (
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/stream"
)

// streamStats returns the figures of the sockets by kind.
func (f *front) streamStats() map[string]admin.StreamStat {
	native := stream.StatsOf(f.hub)
	out := map[string]admin.StreamStat{"native": {
		Sockets: native.Sockets, Subscriptions: native.Subscriptions, Messages: native.Messages, Bytes: native.Bytes,
		Dropped: native.Dropped, Resyncs: native.Resyncs, SlowCloses: native.SlowCloses,
	}}
	if f.binance != nil {
		other := f.binance.Stats()
		out["binance"] = admin.StreamStat{
			Sockets: other.Sockets, Subscriptions: map[string]int64{"all": other.Subscriptions},
			Messages: other.Messages, Bytes: other.Bytes, SlowCloses: other.SlowCloses, Unknown: other.UnknownStreams,
		}
	}
	return out
}

// limited returns the refusals by limits that the public server does not count.
func (f *front) limited() map[string]uint64 {
	return map[string]uint64{"messages": stream.StatsOf(f.hub).Limited, "weight": f.binance.Stats().OverWeight}
}

// facadeAuth returns the numbers of refused credentials on the Binance listener, under the names of the headers that
// the public listener uses for the same credentials.
func (f *front) facadeAuth() map[string]uint64 {
	s := f.binance.Stats()
	return map[string]uint64{
		"API-PublicKey": s.BadKey, "API-Timestamp": s.BadTime, "API-Signature": s.BadSignature,
	}
}
