package loadtool

import (
	"fmt"
	"io"
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
		m.client.Now = func() time.Time { return time.Now().Add(time.Duration(m.behind.Load())) }
		m.behind.Store(int64(time.Until(time.UnixMilli(x.nowMs + 5000))))
		if err := m.clean(t.Context()); (err == nil) != (sent == 2) || x.signed != sent {
			t.Errorf("%s: %v, sent %d times", field, err, x.signed)
		}
	}
}
