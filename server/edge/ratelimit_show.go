package edge

// show sets the rate-limit headers of an answer that does not count as a request (OPTIONS, 405). They show the
// state before the client's next request.
func (l *limiter) show(c *Ctx, p *pathEntry) {
	if l == nil || !l.limits(p) {
		return
	}
	ip := c.ClientAddr()
	now := c.edge.MachineNs()
	left, resetNs := l.perMinute, now
	if !contains(l.nets, ip) {
		key := clientKey(ip)
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
