package auth

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

// The window looks back, its bound included. Ahead of the clock a timestamp may be less than a second, whatever the
// window.
func TestTheWindowLooksBack(t *testing.T) {
	for _, c := range []struct {
		window   string
		offsetMs int64
		ok       bool
	}{
		{"", 5000, true},
		{"", 5001, false},
		{"", -999, true},
		{"", -1000, false},
		{"", -1001, false},
		{"1", 1, true},
		{"1", 2, false},
		{"1", -999, true}, // the window looks back only
		{"60000", 60000, true},
		{"60000", 60001, false},
		{"60000", -999, true},
		{"60000", -1001, false},
	} {
		s := newSigner(Options{})
		r := request("GET", "/", "", "n")
		if c.window != "" {
			r.RecvWindow = []byte(c.window)
		}
		_, reject := s.v.Verify(t0+c.offsetMs*msNs+999_999, r) // the server's ms counts
		if (reject == nil) != c.ok {
			t.Errorf("window %q, %d ms: %v", c.window, c.offsetMs, reject)
		}
		if reject != nil {
			now := strconv.FormatInt(t0Ms+c.offsetMs, 10)
			diff := strconv.FormatInt(-c.offsetMs, 10) + " ms"
			if m := reject.Message; reject.Field != "API-Timestamp" || !strings.Contains(m, now) ||
				!strings.Contains(m, diff) {
				t.Errorf("a skewed clock gets %+v", reject)
			}
		}
	}
}

func TestOrderOfChecks(t *testing.T) {
	s := newSigner(Options{})
	s.key("expired", "privKEY456", func(k *KeyRecord) {
		k.ExpiresNs, k.IPWhitelist, k.CanTrade = t0, []string{"10.0.0.1"}, false
	})
	s.key("elsewhere", "privKEY456", func(k *KeyRecord) { k.IPWhitelist, k.CanTrade = []string{"10.0.0.1"}, false })
	s.key("reader", "privKEY456", func(k *KeyRecord) { k.CanTrade = false })
	with := func(public, method, nonce string) *Request {
		r := request(method, "/", "", nonce)
		r.PublicKey = []byte(public)
		return r
	}
	skewed := with("expired", "POST", "n1")
	skewed.Timestamp = []byte("1767225500000")
	skewed.Signature = []byte(strings.Repeat("0", 64))
	_, reject := s.v.Verify(t0, skewed)
	wantReject(t, reject, refuse.Unauthorized, "API-Timestamp") // before the signature
	bad := with("expired", "POST", "n1")
	bad.Signature = []byte(strings.Repeat("0", 64))
	_, reject = s.v.Verify(t0, bad)
	wantReject(t, reject, refuse.Unauthorized, "API-Signature") // before nonce and expiry, and uses no nonce
	_, reject = s.v.Verify(t0, with("expired", "POST", "n1"))
	wantReject(t, reject, refuse.Unauthorized, "API-PublicKey") // expiry before address
	_, reject = s.v.Verify(t0, with("expired", "POST", "n1"))
	wantReject(t, reject, refuse.Unauthorized, "API-Nonce") // nonce before expiry
	_, reject = s.v.Verify(t0, with("elsewhere", "POST", "n1"))
	wantReject(t, reject, refuse.Forbidden, "") // another key's nonce is another nonce
	if !strings.Contains(reject.Message, "address") {
		t.Fatalf("address comes before permission: %v", reject)
	}
	for i, method := range []string{"POST", "DELETE", "PUT", "PATCH"} {
		_, reject = s.v.Verify(t0, with("reader", method, "n"+strconv.Itoa(i)))
		wantReject(t, reject, refuse.Forbidden, "")
	}
	for i, method := range []string{"GET", "HEAD"} {
		if _, reject = s.v.Verify(t0, with("reader", method, "g"+strconv.Itoa(i))); reject != nil {
			t.Fatal(reject)
		}
	}
}

func TestReplayIsRefusedFor61Seconds(t *testing.T) {
	s := newSigner(Options{})
	r := request("GET", "/", "", "n")
	r.RecvWindow = []byte("60000")
	if _, reject := s.v.Verify(t0-999*msNs, r); reject != nil {
		t.Fatal(reject)
	}
	for _, at := range []int64{-999, 0, 59_999, 60_000} {
		_, reject := s.v.Verify(t0+at*msNs, r)
		wantReject(t, reject, refuse.Unauthorized, "API-Nonce")
	}
	fresh := request("GET", "/", "", "n")
	fresh.Timestamp = []byte("1767225660002") // the nonce may be used again 61 s after its use
	sign("privKEY456", fresh)
	if _, reject := s.v.Verify(t0+60_002*msNs, fresh); reject != nil {
		t.Fatal(reject)
	}
}

func TestTimestampsBeforeTheStartAreRefusedAfterARestart(t *testing.T) {
	s := newSigner(Options{})
	s.v.RefuseBefore(t0Ms + 1)
	s.v.RefuseBefore(t0Ms) // does not lower it
	_, reject := s.v.Verify(t0+2*msNs, request("GET", "/", "", "n"))
	wantReject(t, reject, refuse.Unauthorized, "API-Timestamp")
	if !strings.Contains(reject.Message, "start") || !strings.Contains(reject.Message, "1767225600002") {
		t.Fatal(reject.Message)
	}
	r := request("GET", "/", "", "n")
	r.Timestamp = []byte("1767225600001")
	sign("privKEY456", r)
	if _, reject := s.v.Verify(t0+2*msNs, r); reject != nil {
		t.Fatal(reject)
	}
}

// A request before the first accepted timestamp learns when to repeat it, also as Retry-After.
func TestARefusedRequestLearnsWhenToRepeatIt(t *testing.T) {
	for aheadMs, seconds := range map[int64]int64{1: 1, 1000: 1, 1001: 2} {
		s := newSigner(Options{})
		s.v.RefuseBefore(t0Ms + aheadMs)
		_, reject := s.v.Verify(t0, request("GET", "/", "", "n"))
		wantReject(t, reject, refuse.Unauthorized, "API-Timestamp")
		want := fmt.Sprintf("A request with an API-Timestamp before %d may have been accepted earlier, so it is "+
			"refused; the server's time is 1767225600000. Repeat the request in %d ms.", t0Ms+aheadMs, aheadMs)
		if reject.Message != want || reject.RetryAfter != seconds {
			t.Errorf("%d: %+v", aheadMs, reject)
		}
		r := request("GET", "/", "", "n")
		r.Timestamp = strconv.AppendInt(nil, t0Ms+aheadMs, 10)
		sign("privKEY456", r)
		if _, reject := s.v.Verify(t0+aheadMs*msNs, r); reject != nil {
			t.Errorf("%d ms later: %v", aheadMs, reject)
		}
	}
}

func TestVerifyFromManyGoroutines(t *testing.T) {
	s := newSigner(Options{})
	requests := make([]*Request, 200)
	for i := range requests {
		requests[i] = request("GET", "/", "", "n"+strconv.Itoa(i))
	}
	var accepted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, r := range requests {
				own := *r
				if _, reject := s.v.Verify(t0, &own); reject == nil {
					accepted.Add(1)
				}
			}
		})
	}
	for i := range 50 {
		s.key("k"+strconv.Itoa(i), "x", func(*KeyRecord) {})
	}
	wg.Wait()
	if accepted.Load() != int64(len(requests)) {
		t.Fatalf("%d of %d nonces were good once", accepted.Load(), len(requests))
	}
}
