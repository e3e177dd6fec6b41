package binance

import (
	"fmt"
	"net/netip"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/valyala/fasthttp"

	"tickhive/internal/clock"
)

const (
	// WeightPerMinute is the weight that an address may use in a minute of the clock.
	WeightPerMinute = 6000
	// maxWeighed bounds the remembered addresses; beyond it the least recently seen one is dropped.
	maxWeighed = 100_000

	minuteNs = 60_000_000_000
)

// weights counts the weight of the requests of each address in the current minute. The count restarts with every
// minute of the machine's clock, as on the other exchange. Any goroutine may use it.
type weights struct {
	mu      sync.Mutex
	clients *simplelru.LRU[netip.Addr, *weighed]
}

type weighed struct{ minute, used int64 }

func newWeights() *weights {
	clients, err := simplelru.NewLRU[netip.Addr, *weighed](maxWeighed, nil)
	if err != nil {
		panic("BUG: binance: table of weights: " + err.Error())
	}
	return &weights{clients: clients}
}

// add counts a request and returns the weight that the address has used in this minute. A request above the limit
// is not counted; ok is false.
func (w *weights) add(addr netip.Addr, weight int, nowNs int64, limited bool) (used int64, ok bool) {
	if addr.Is6() {
		if p, err := addr.WithZone("").Prefix(64); err == nil {
			addr = p.Addr() // one client has the whole network
		}
	}
	minute := nowNs / minuteNs
	w.mu.Lock()
	defer w.mu.Unlock()
	c, known := w.clients.Get(addr)
	if !known {
		c = &weighed{}
		w.clients.Add(addr, c)
	}
	if c.minute != minute {
		c.minute, c.used = minute, 0
	}
	if limited && c.used+int64(weight) > WeightPerMinute {
		return c.used, false
	}
	c.used += int64(weight)
	return c.used, true
}

// pay counts the weight of the call, or refuses it.
func (q *call) pay(weight int) *failure {
	now, ok := clock.MachineNs(), false
	if q.used, ok = q.f.weights.add(q.from.addr, weight, now, !q.from.unlimited); ok {
		return nil
	}
	q.f.stats.overWeight.Add(1)
	return &failure{
		status: fasthttp.StatusTooManyRequests, code: codeTooManyWeight, retryAfter: (minuteNs-now%minuteNs)/1e9 + 1,
		msg: fmt.Sprintf("Too much request weight used; current limit is %d request weight per 1 MINUTE. "+
			"Please use WebSocket Streams for live updates to avoid polling the API.", WeightPerMinute),
	}
}

// tooMany counts a message of the client and reports whether there are too many in this second.
func (s *socket) tooMany() bool {
	now := machineTime().Unix()
	if now != s.second {
		s.second, s.received = now, 0
	}
	s.received++
	return s.received > maxMessagesSec
}
