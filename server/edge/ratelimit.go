package edge

import (
	"fmt"
	"net/netip"
	"strconv"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"tickhive/internal/refuse"
)

// The windows of the sliding log (docs/contract/limits.md#rate-limits).
const (
	longWindowNs  = 60_000_000_000
	shortWindowNs = 1_000_000_000
	// MaxPerMinute limits the size of one client's ring.
	MaxPerMinute = 10_000
	// limiterShards is the number of shards, each with its lock; a power of two.
	limiterShards = 16
)

// limiter refuses requests above the limits of a client. For each client it stores the times of the accepted
// requests in a ring with room for one minute. The table of clients is bounded; the client seen least recently
// is evicted first. Public market data has no limit unless configured.
//
// Owner: any goroutine; a lock guards each shard.
type limiter struct {
	perMinute, perSecond int
	market, account      bool
	nets                 []netip.Prefix
	keys                 map[string]bool
	clients              *clientIPs
	shards               [limiterShards]limiterShard
}

type limiterShard struct {
	mu  sync.Mutex
	lru *simplelru.LRU[netip.Addr, *slidingLog]
}

// slidingLog holds the times of one client's counted requests in a ring; the oldest is at head.
type slidingLog struct {
	times []int64 // machine ns
	head  int
	n     int
}

func newLimiter(o RateOptions, clients *clientIPs) (*limiter, error) {
	l := &limiter{
		perMinute: o.PerMinute, perSecond: o.PerSecond, market: o.Market, account: o.Account,
		keys: make(map[string]bool), clients: clients,
	}
	var keys []string
	l.nets, keys = prefixes(o.Allow)
	for _, k := range keys {
		l.keys[k] = true
	}
	for i := range l.shards {
		lru, err := simplelru.NewLRU[netip.Addr, *slidingLog](max(o.Clients/limiterShards, 1), nil)
		if err != nil {
			return nil, fmt.Errorf("edge: rate table: %w", err)
		}
		l.shards[i].lru = lru
	}
	return l, nil
}

// covers reports whether routes of the class are limited.
func (l *limiter) covers(class LimitClass) bool {
	switch class {
	case ClassLimited:
		return true
	case ClassMarket:
		return l.market
	case ClassAccount:
		return l.account
	case ClassExempt:
	}
	return false
}

// allowsKey reports whether the allow-list has this public key.
func (l *limiter) allowsKey(key []byte) bool { return len(key) > 0 && l.keys[string(key)] }

// check counts or refuses the request of c, and sets the rate-limit headers.
func (l *limiter) check(c *Ctx) *refuse.Refusal {
	ip := c.ClientAddr()
	now := c.edge.MachineNs()
	if contains(l.nets, ip) {
		l.unlimited(c)
		return nil
	}
	key := clientKey(ip)
	s := &l.shards[shardOf(key)]
	s.mu.Lock()
	log, ok := s.lru.Get(key)
	if !ok {
		log = &slidingLog{times: make([]int64, 0, l.perSecond)}
		s.lru.Add(key, log)
	}
	waitNs := log.Count(now, l.perMinute, l.perSecond)
	left, resetNs := l.perMinute-log.n, log.times[log.head]+longWindowNs
	s.mu.Unlock()

	l.headers(c, left, resetNs)
	if waitNs == 0 {
		return nil
	}
	c.edge.limited[limitAddress].Add(1)
	return tooMany(waitNs)
}

// tooMany returns the refusal of a request that would be accepted after waitNs. It rounds the
// wait up to whole seconds.
func tooMany(waitNs int64) *refuse.Refusal {
	seconds := (waitNs + 999_999_999) / 1_000_000_000
	unit := "seconds"
	if seconds == 1 {
		unit = "second"
	}
	return refuse.New(refuse.RateLimit, "", "Rate limit exceeded. Retry after %d %s.", seconds, unit).After(seconds)
}

func (l *limiter) unlimited(c *Ctx) { l.headers(c, l.perMinute, c.edge.MachineNs()) }

func (l *limiter) headers(c *Ctx, left int, resetNs int64) {
	h := &c.Response.Header
	h.SetCanonical(hdrRateLimit, strconv.AppendInt(c.number[:0], int64(l.perMinute), 10))
	h.SetCanonical(hdrRateRemaining, strconv.AppendInt(c.number[:0], int64(left), 10))
	h.SetCanonical(hdrRateReset, strconv.AppendInt(c.number[:0], (resetNs+999_999)/1_000_000, 10))
}

// Count counts a request at now and returns 0, or returns the wait until a request would be
// accepted. A request leaves a window exactly when the window's length has passed.
func (s *slidingLog) Count(now int64, perMinute, perSecond int) (waitNs int64) {
	for s.n > 0 && s.times[s.head] <= now-longWindowNs {
		s.head = (s.head + 1) % len(s.times)
		s.n--
	}
	if s.n >= perMinute {
		waitNs = s.times[s.head] + longWindowNs - now
	}
	if s.n >= perSecond {
		if t := s.at(s.n - perSecond); t > now-shortWindowNs {
			waitNs = max(waitNs, t+shortWindowNs-now)
		}
	}
	if waitNs == 0 {
		s.push(now, perMinute)
	}
	return waitNs
}

// at returns the i-th time, oldest first.
func (s *slidingLog) at(i int) int64 { return s.times[(s.head+i)%len(s.times)] }

// push appends a time. The ring grows on demand up to limit: a client seen once is cheap.
func (s *slidingLog) push(now int64, limit int) {
	if s.n == len(s.times) {
		grown := make([]int64, min(max(2*s.n, 8), limit))
		for i := range s.n {
			grown[i] = s.at(i)
		}
		s.times, s.head = grown, 0
	}
	s.times[(s.head+s.n)%len(s.times)] = now
	s.n++
}

// shardOf returns the shard of an address. It mixes the bytes that differ most: the last one,
// and the eighth, which is the last of an IPv6 /64.
func shardOf(a netip.Addr) int {
	b := a.As16()
	return int(b[15]^b[7]) & (limiterShards - 1)
}

// exempts reports whether the allow-list names the caller's address or verified key.
func (l *limiter) exempts(c *Ctx) bool {
	return l != nil && (contains(l.nets, c.ClientAddr()) ||
		c.Principal != nil && l.allowsKey([]byte(c.Principal.PublicKey)))
}
