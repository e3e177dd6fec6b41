package auth

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tickhive/internal/refuse"
)

func TestWindowBoundsAreInclusive(t *testing.T) {
	for _, c := range []struct {
		window   string
		offsetMs int64
		ok       bool
	}{
		{"", 5000, true},
		{"", -5000, true},
		{"", 5001, false},
		{"", -5001, false},
		{"1", 1, true},
		{"1", 2, false},
		{"60000", -60000, true},
		{"60000", 60001, false},
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

func TestReplayIsRefusedFor121Seconds(t *testing.T) {
	s := newSigner(Options{})
	r := request("GET", "/", "", "n")
	r.RecvWindow = []byte("60000")
	if _, reject := s.v.Verify(t0-60_000*msNs, r); reject != nil { // 60 s early
		t.Fatal(reject)
	}
	for _, at := range []int64{-60_000, 0, 59_999, 60_000} {
		_, reject := s.v.Verify(t0+at*msNs, r)
		wantReject(t, reject, refuse.Unauthorized, "API-Nonce")
	}
	fresh := request("GET", "/", "", "n")
	fresh.Timestamp = []byte("1767225661001") // the nonce may be used again 121 s after its use
	sign("privKEY456", fresh)
	if _, reject := s.v.Verify(t0+61_001*msNs, fresh); reject != nil {
		t.Fatal(reject)
	}
}

func TestTimestampsBeforeTheStartAreRefusedAfterARestart(t *testing.T) {
	s := newSigner(Options{NotBeforeMs: t0Ms + 1})
	_, reject := s.v.Verify(t0+2*msNs, request("GET", "/", "", "n"))
	wantReject(t, reject, refuse.Unauthorized, "API-Timestamp")
	if !strings.Contains(reject.Message, "start") {
		t.Fatal(reject.Message)
	}
	r := request("GET", "/", "", "n")
	r.Timestamp = []byte("1767225600001")
	sign("privKEY456", r)
	if _, reject := s.v.Verify(t0+2*msNs, r); reject != nil {
		t.Fatal(reject)
	}
}

func TestTimestampsBeforeTheClockWentBackAreRefused(t *testing.T) {
	s := newSigner(Options{NotBeforeMs: t0Ms + 1000})
	_, reject := s.v.Verify(t0, request("GET", "/", "", "n"))
	wantReject(t, reject, refuse.Unauthorized, "API-Timestamp")
	if reject.Message != "A request with an API-Timestamp before 1767225601000 may have been accepted earlier, so "+
		"it is refused; the server's time is 1767225600000. Repeat the request in 1000 ms." {
		t.Fatal(reject.Message)
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
