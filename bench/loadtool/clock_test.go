package loadtool

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"
)

// stillClock is an exchange whose clock stands still. It refuses timestamps that are a second ahead.
type stillClock struct {
	nowMs  int64
	field  string // of the refusals
	signed int    // requests that it received
}

func (s *stillClock) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := 200, "[]"
	if r.URL.Path == "/api/time" {
		body = fmt.Sprintf(`{"serverTime":%d}`, s.nowMs)
	} else {
		s.signed++
		header := map[string][]string(r.Header) // with the names that the client writes
		if ms, err := strconv.ParseInt(header["API-Timestamp"][0], 10, 64); err != nil || ms >= s.nowMs+1000 {
			status, body = 401, fmt.Sprintf(`{"code":"UNAUTHORIZED","field":%q}`, s.field)
		}
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// The requests after a run read the exchange's clock again when it refuses their timestamp, and only then.
func TestARefusedTimestampIsSignedAgain(t *testing.T) {
	for field, sent := range map[string]int{"API-Timestamp": 2, "API-PublicKey": 1} {
		x := &stillClock{nowMs: 1767225600000, field: field}
		m := &orderMix{signer: &signer{}, prefix: "load-", pairs: []orderPair{{code: "AA_BB"}}}
		m.public = client.Client{Base: "http://x", HTTP: &http.Client{Transport: x}}
		m.client = m.public
		m.client.PublicKey, m.client.PrivateKey = "p", "s"
		m.client.Now, m.clock.client = m.clock.now, &m.public
		m.clock.take(time.Now(), time.Now(), time.UnixMilli(x.nowMs+5000))
		if err := m.clean(t.Context()); (err == nil) != (sent == 2) || x.signed != sent {
			t.Errorf("%s: %v, sent %d times", field, err, x.signed)
		}
	}
}

// The bounds of the exchange's clock hold however slow some samples are, many samples bring them closer than the step
// in which the exchange tells its time, and a clock that was set is followed.
func TestTheClockOfTheExchangeIsKnownWithinItsBounds(t *testing.T) {
	const us = time.Microsecond
	random := rand.New(rand.NewPCG(1, 2))
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	for _, offset := range []time.Duration{-3 * time.Second, -400 * us, 0, 1_234_567 * us, 5 * time.Hour} {
		var x exchangeClock
		at := time.UnixMilli(1767225600000)
		for _, set := range []time.Duration{0, 70 * time.Millisecond} {
			offset += set
			for i := range clockSamples {
				there, back := 100*us+upTo(100*us), 100*us+upTo(100*us)
				switch i % 5 {
				case 0:
					there += 50 * time.Millisecond
				case 1:
					back += 50 * time.Millisecond
				}
				read := at.Add(there)
				x.take(at, read.Add(back), read.Add(offset).Truncate(clockStep))
				at = read.Add(back + upTo(time.Millisecond))
				if got, within := x.ahead(at); (got - offset).Abs() > within {
					t.Fatalf("sample %d: %s within %s, want %s", i, got, within, offset)
				}
			}
			if _, within := x.ahead(at); within > clockStep/4 {
				t.Errorf("%s is known within %s", offset, within)
			}
		}
		if _, within := x.ahead(at.Add(time.Minute)); within < 6*time.Millisecond {
			t.Errorf("after a minute without a sample within %s", within)
		}
	}
}
