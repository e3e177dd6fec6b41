package edge

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/conn"
)

// clientIPs determines the address of the client that sent a request. Immutable.
type clientIPs struct {
	proxies []netip.Prefix // their X-Forwarded-For is trusted
}

// maxForwarded is the number of X-Forwarded-For elements that are read, from the end. No site has as many
// proxies in a row, but a request head has room for thousands of elements.
const maxForwarded = 32

// of returns the client's address: the connection's address or, behind trusted proxies, the last address in
// X-Forwarded-For that is not a trusted proxy. Several header lines are one list in the order of their arrival
// (RFC 9110 section 5.3). A proxy appends the address that it saw, so a client can forge everything except the
// end of the list.
func (t *clientIPs) of(ctx *fasthttp.RequestCtx) netip.Addr {
	ip := conn.AddrOf(ctx.RemoteAddr())
	if len(t.proxies) == 0 || !conn.Contains(t.proxies, ip) {
		return ip
	}
	seen := 0
	for _, line := range slices.Backward(ctx.Request.Header.PeekAll(fasthttp.HeaderXForwardedFor)) {
		for more := true; more; seen++ {
			var last []byte
			if last, line, more = cutLast(line); seen == maxForwarded {
				return ip
			}
			if last = bytes.Trim(last, " \t"); len(last) == 0 {
				continue // an empty element names no address
			}
			a, err := netip.ParseAddr(string(last))
			if err != nil {
				return ip
			}
			if ip = a.Unmap(); !conn.Contains(t.proxies, ip) {
				return ip
			}
		}
	}
	return ip
}

// cutLast splits the last element off a list. more reports whether the list has further elements.
func cutLast(list []byte) (last, rest []byte, more bool) {
	i := bytes.LastIndexByte(list, ',')
	return list[i+1:], list[:max(i, 0)], i >= 0
}

// ClientAddr returns the client's address that the rate limits use.
func (c *Ctx) ClientAddr() netip.Addr {
	if c.client.IsValid() {
		return c.client
	}
	if c.edge.clients == nil {
		return conn.AddrOf(c.RemoteAddr())
	}
	return c.edge.clients.of(c.RequestCtx)
}

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

func newLimiter(o RateConfig, clients *clientIPs) (*limiter, error) {
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
	if conn.Contains(l.nets, ip) {
		l.unlimited(c)
		return nil
	}
	key := conn.KeyOf(ip)
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
	r := tooMany(waitNs)
	r.Message += " The operator sets the limit of an address with rate.per_minute and rate.per_second."
	return r
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
	return l != nil && (conn.Contains(l.nets, c.ClientAddr()) ||
		c.Principal != nil && l.allowsKey([]byte(c.Principal.PublicKey)))
}

// show sets the rate-limit headers of an answer that does not count as a request (OPTIONS, 405). They show the
// state before the client's next request.
func (l *limiter) show(c *Ctx, p *pathEntry) {
	if l == nil || !l.limits(p) {
		return
	}
	ip := c.ClientAddr()
	now := c.edge.MachineNs()
	left, resetNs := l.perMinute, now
	if !conn.Contains(l.nets, ip) {
		key := conn.KeyOf(ip)
		s := &l.shards[shardOf(key)]
		s.mu.Lock()
		if log, ok := s.lru.Peek(key); ok {
			if first, n := log.window(now); n > 0 {
				left, resetNs = l.perMinute-n, first+longWindowNs
			}
		}
		s.mu.Unlock()
	}
	l.headers(c, left, resetNs)
}

// limits reports whether one of the path's routes is limited.
func (l *limiter) limits(p *pathEntry) bool {
	for _, r := range []*Route{p.get, p.post, p.patch, p.delete, p.put} {
		if r != nil && l.covers(r.Class) {
			return true
		}
	}
	return false
}

// window returns the number of requests that count at now and the time of the oldest one.
func (s *slidingLog) window(now int64) (firstNs int64, n int) {
	for i := range s.n {
		if t := s.at(i); t > now-longWindowNs {
			return t, s.n - i
		}
	}
	return 0, 0
}

// maxLimitedUsers bounds the users whose recent requests are stored; beyond it the user whose last request is the
// oldest is dropped.
const maxLimitedUsers = 100_000

// UserLimiter limits the requests of each user to one route (docs/contract/limits.md#rate-limits) with the same
// sliding log that limits requests per address. Any goroutine may use it.
type UserLimiter struct {
	perMinute int
	mu        sync.Mutex
	users     *simplelru.LRU[uint32, *slidingLog]
}

// NewUserLimiter returns a limiter that accepts perMinute requests of a user in any 60 s.
func NewUserLimiter(perMinute int) (*UserLimiter, error) {
	if perMinute < 1 || perMinute > MaxPerMinute {
		return nil, fmt.Errorf("edge: %d requests of a user in 60 s: must be 1 to %d", perMinute, MaxPerMinute)
	}
	users, err := simplelru.NewLRU[uint32, *slidingLog](maxLimitedUsers, nil)
	if err != nil {
		return nil, fmt.Errorf("edge: table of limited users: %w", err)
	}
	return &UserLimiter{perMinute: perMinute, users: users}, nil
}

// Check counts a request of the caller, or refuses it. Callers of the allow-list have no limit.
func (l *UserLimiter) Check(c *Ctx) *refuse.Refusal {
	if c.Unlimited() {
		return nil
	}
	l.mu.Lock()
	log, ok := l.users.Get(c.Principal.Account)
	if !ok {
		log = &slidingLog{}
		l.users.Add(c.Principal.Account, log)
	}
	waitNs := log.Count(c.MachineNs(), l.perMinute, l.perMinute)
	l.mu.Unlock()
	if waitNs == 0 {
		return nil
	}
	c.edge.limited[limitUser].Add(1)
	return tooMany(waitNs)
}
