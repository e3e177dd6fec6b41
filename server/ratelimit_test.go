package server_test

import (
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/internal/setting"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"
)

const limited = "/api/agents/overview"

func newLimited(t *testing.T, change ...func(*servertest.Options)) *servertest.Market {
	return servertest.NewMarket(t, append(change, func(o *servertest.Options) {
		o.Resources = []edge.Resource{func(*edge.Server) []*edge.Route {
			ok := func(c *edge.Ctx) *refuse.Refusal {
				c.Private([]byte("{}"))
				return nil
			}
			return []*edge.Route{{Method: "GET", Path: limited, Class: edge.ClassLimited, Handle: ok}}
		}}
	})...)
}

// A configuration takes every limit for which a client's ring has room, and no larger one.
func TestTheRangesOfTheLimitsAreThoseOfTheRing(t *testing.T) {
	for _, k := range setting.Keys("rate.", reflect.ValueOf(edge.RateConfig{}))[:3] {
		if low, high, ok := k.Range(); !ok || low != 1 || high != edge.MaxPerMinute {
			t.Errorf("%s: from %d to %d, want 1 to %d", k.Name, low, high, edge.MaxPerMinute)
		}
	}
}

// The limiter accepts at most 60 requests in any 60 s and 10 in any 1 s, refused ones do not
// count, and the headers and Retry-After are exact: compared with a naive list of accepted times.
func TestSlidingLog(t *testing.T) {
	m := newLimited(t)
	var accepted []int64
	refusals := 0
	for i := range int64(400) {
		step := []int64{1, 90_000_000, 3_000_000, 1_400_000_000, 20}[i/37%5]
		m.Machine.Add(step * (1 + i%3))
		now := m.Machine.Load()
		count := func(window int64) (n int, oldest int64) {
			for _, at := range accepted {
				if at > now-window {
					if n++; n == 1 {
						oldest = at
					}
				}
			}
			return n, oldest
		}
		long, _ := count(60 * servertest.SecondNs)
		short, _ := count(servertest.SecondNs)
		a := m.From("192.0.2.1", limited)
		if long < 60 && short < 10 {
			accepted = append(accepted, now)
			if a.Status != 200 {
				t.Fatalf("request %d: %d after %d in 60 s and %d in 1 s", i, a.Status, long, short)
			}
		} else {
			refusals++
			m.CheckRefusal(a, 429, "RATE_LIMIT", "")
			wait, err := strconv.ParseInt(a.Header.Get("Retry-After"), 10, 64)
			if err != nil || wait < 1 {
				t.Fatalf("request %d: Retry-After %q", i, a.Header.Get("Retry-After"))
			}
			// The request would be accepted then, and not a second earlier.
			for _, probe := range []struct {
				at   int64
				pass bool
			}{{now + wait*servertest.SecondNs, true}, {now + (wait-1)*servertest.SecondNs, false}} {
				l, s := 0, 0
				for _, at := range accepted {
					if at > probe.at-60*servertest.SecondNs {
						l++
					}
					if at > probe.at-servertest.SecondNs {
						s++
					}
				}
				if (l < 60 && s < 10) != probe.pass {
					t.Fatalf("request %d: Retry-After %d is wrong", i, wait)
				}
			}
		}
		n, oldest := count(60 * servertest.SecondNs)
		want := fmt.Sprint("60 ", 60-n, " ", (oldest+60*servertest.SecondNs+999_999)/1_000_000)
		if got := a.Header.Get("X-Ratelimit-Limit") + " " + a.Header.Get("X-Ratelimit-Remaining") + " " +
			a.Header.Get("X-Ratelimit-Reset"); got != want {
			t.Fatalf("request %d: headers %s, want %s", i, got, want)
		}
	}
	if refusals < 50 || len(accepted) < 100 {
		t.Errorf("%d accepted, %d refused", len(accepted), refusals)
	}
}

// The 61st request within a minute is refused with the sentence of the contract.
func TestSixtyFirst(t *testing.T) {
	m := newLimited(t)
	for i := range 60 {
		if a := m.From("192.0.2.1", limited); a.Status != 200 {
			t.Fatalf("request %d: %d", i, a.Status)
		}
		m.Machine.Add(800_000_000)
	}
	a := m.From("192.0.2.1", limited)
	m.CheckRefusal(a, 429, "RATE_LIMIT", "")
	if a.Header.Get("Retry-After") != "12" ||
		!containsText(a.Body, `"message":"Rate limit exceeded. Retry after 12 seconds. The operator sets the limit of `+
			`an address with rate.per_minute and rate.per_second."`) {
		t.Errorf("%s %s", a.Header.Get("Retry-After"), a.Body)
	}
	if got := a.Header.Get("X-Ratelimit-Remaining"); got != "0" {
		t.Errorf("a refused request has X-RateLimit-Remaining %s, want 0", got)
	}
	m.Machine.Add(12*servertest.SecondNs - 1)
	m.CheckRefusal(m.From("192.0.2.1", limited), 429, "RATE_LIMIT", "")
	m.Machine.Add(1)
	if a := m.From("192.0.2.1", limited); a.Status != 200 {
		t.Errorf("after Retry-After: %d", a.Status)
	}
}

func containsText(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}

// Clients are addresses, IPv6 by /64; the allow-list lifts the limit; X-Forwarded-For counts
// only from trusted proxies; market data and healthcheck are not limited.
func TestWhoIsLimited(t *testing.T) {
	m := newLimited(t, func(o *servertest.Options) {
		o.Rate.PerSecond = 1
		o.Rate.Allow = []string{"198.51.100.7", "203.0.113.0/24", "2001:db8:5::/48", "goodkey"}
		o.TrustedProxies = []string{"10.0.0.0/8", "::1"}
		o.Authenticate = func(c *edge.Ctx) (*edge.Principal, *refuse.Refusal) {
			if c.QueryArgs().Has("valid") {
				return &edge.Principal{}, nil
			}
			return nil, refuse.New(refuse.Unauthorized, "", "The key is unknown or the signature is wrong.")
		}
	})
	twice := func(want int, ip1, ip2, path string, header ...string) {
		t.Helper()
		m.Machine.Add(60 * servertest.SecondNs)
		m.From(ip1, path, header...)
		if a := m.From(ip2, path, header...); a.Status != want {
			t.Errorf("%s then %s %s %v: %d, want %d", ip1, ip2, path, header, a.Status, want)
		}
	}
	twice(429, "192.0.2.1", "192.0.2.1", limited)
	twice(200, "192.0.2.1", "192.0.2.2", limited)
	twice(429, "2001:db8::1", "2001:db8::ffff:1", limited)
	twice(200, "2001:db8::1", "2001:db8:0:1::1", limited)
	twice(429, "::ffff:192.0.2.9", "192.0.2.9", limited)
	twice(200, "198.51.100.7", "198.51.100.7", limited)
	twice(200, "203.0.113.200", "203.0.113.200", limited)
	twice(200, "2001:db8:5::1", "2001:db8:5::1", limited)
	twice(200, "192.0.2.1", "192.0.2.1", "/api/currencies")
	twice(200, "192.0.2.1", "192.0.2.1", "/api/healthcheck")
	twice(429, "192.0.2.1", "192.0.2.1", limited, "X-Forwarded-For", "198.51.100.7")
	twice(429, "10.1.1.1", "10.2.2.2", limited, "X-Forwarded-For", "192.0.2.50")
	twice(200, "10.1.1.1", "10.1.1.1", limited, "X-Forwarded-For", "198.51.100.7, 10.9.9.9")
	twice(429, "10.1.1.1", "10.1.1.1", limited, "X-Forwarded-For", "198.51.100.7, 192.0.2.60")
	twice(429, "10.1.1.1", "192.0.2.50", limited, "X-Forwarded-For", "192.0.2.50")
	twice(429, "10.1.1.1", "10.1.1.1", limited, "X-Forwarded-For", "198.51.100.7", "X-Forwarded-For", "192.0.2.61")
	twice(200, "10.1.1.1", "10.1.1.1", limited, "X-Forwarded-For", "192.0.2.62", "X-Forwarded-For", "198.51.100.7")
	twice(200, "192.0.2.1", "192.0.2.1", limited+"?valid", "API-PublicKey", "goodkey")
	twice(429, "192.0.2.1", "192.0.2.1", limited, "API-PublicKey", "goodkey")
	twice(429, "192.0.2.1", "192.0.2.1", limited+"?valid", "API-PublicKey", "otherkey")
	// The order of checks: the path and the method come before the limit.
	m.Machine.Add(60 * servertest.SecondNs)
	m.From("192.0.2.1", limited)
	m.CheckRefusal(m.Raw("192.0.2.1", "POST "+limited+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
		405, "METHOD_NOT_ALLOWED", "")
	m.CheckRefusal(m.From("192.0.2.1", limited+"?decimals=x"), 429, "RATE_LIMIT", "")
}

// A request with X-Forwarded-For as a trailer is refused: a trailer follows every line of the
// head, so it would decide the client's address.
func TestTrailersDoNotForward(t *testing.T) {
	m := newLimited(t, func(o *servertest.Options) { o.TrustedProxies = []string{"10.0.0.0/8"} })
	chunked := func(trailer string) servertest.Answer {
		return m.Raw("10.1.1.1", "GET "+limited+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Forwarded-For: "+
			"192.0.2.1\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"+trailer+"\r\n")
	}
	if a := chunked("X-Other: 198.51.100.7\r\n"); a.Status != 200 {
		t.Errorf("another trailer: %d %s", a.Status, a.Body)
	}
	m.CheckRefusal(chunked("X-Forwarded-For: 198.51.100.7\r\n"), 400, "INVALID_PARAM", "")
}

// The configuration can put market data under the limit.
func TestLimitedMarketData(t *testing.T) {
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) { o.Rate.Market = true })
	for i := range 12 {
		a := m.From("192.0.2.1", "/api/currencies")
		if want := map[bool]int{true: 200, false: 429}[i < 10]; a.Status != want {
			t.Fatalf("request %d: %d", i, a.Status)
		}
	}
	for _, path := range []string{"/api/time", "/api/status", "/api/healthcheck", "/readyz"} {
		if a := m.From("192.0.2.1", path); a.Status != 200 {
			t.Errorf("%s: %d: it must not count", path, a.Status)
		}
	}
}

// The table of clients is bounded: a flood of addresses evicts only the oldest clients.
func TestLimiterIsBounded(t *testing.T) {
	m := newLimited(t, func(o *servertest.Options) { o.Rate.Clients = 64; o.Rate.PerSecond = 1 })
	m.From("192.0.2.1", limited)
	for i := range 400 {
		m.From(fmt.Sprintf("10.%d.%d.1", i/200, i%200), limited)
	}
	if a := m.From("10.1.199.1", limited); a.Status != 429 {
		t.Errorf("the newest client was forgotten: %d", a.Status)
	}
	if a := m.From("192.0.2.1", limited); a.Status != 200 {
		t.Errorf("the oldest client is still in the table: %d", a.Status)
	}
}

// A refused request is counted by the limit, an accepted one is not.
func TestRefusalsByTheLimitAreCounted(t *testing.T) {
	m := newLimited(t)
	for range 13 {
		m.From("192.0.2.1", limited)
	}
	if got := m.Server.Limited(); got["address"] != 3 || got["user"]+got["key"]+got["streamed"] != 0 {
		t.Errorf("refusals %v, want 3 of the 13 in a second, by the address", got)
	}
}
