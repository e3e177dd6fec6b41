package auth

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

// signedBy returns a GET that a key of newSigner's private key signed.
func signedBy(public, nonce string) *Request {
	r := request("GET", "/", "", nonce)
	r.PublicKey = []byte(public)
	return r
}

// Keys that use up their limits do not affect another key, whatever its number.
func TestHeavyKeysTakeNothingFromOthers(t *testing.T) {
	s := newSigner(Options{})
	const heavy, shards = 4, 64
	for n := 1; n <= heavy*shards+1; n++ {
		s.key("key"+strconv.Itoa(n), "privKEY456", func(*KeyRecord) {})
	}
	for i := range heavy {
		public := "key" + strconv.Itoa(1+shards*i)
		for j := range 80_000 {
			if _, reject := s.v.Verify(t0, signedBy(public, strconv.Itoa(j))); reject != nil {
				t.Fatalf("%s, request %d: %v", public, j, reject)
			}
		}
	}
	for n := 1; n <= heavy*shards+1; n++ {
		if n%shards == 1 && n < heavy*shards {
			continue // a heavy key; the last key shares the heavy keys' shard
		}
		if _, reject := s.v.Verify(t0, signedBy("key"+strconv.Itoa(n), "first")); reject != nil {
			t.Fatalf("the first request of key %d: %v", n, reject)
		}
	}
}

// A client without the private key cannot learn that a key is heavy, or that it exists.
func TestAFloorIsToldToTheHolderOfTheKeyAlone(t *testing.T) {
	s := newSigner(Options{MaxNonces: 10})
	for i := range 20 {
		r := request("GET", "/", "", strconv.Itoa(i))
		r.Timestamp = strconv.AppendInt(nil, t0Ms+int64(i), 10)
		sign("privKEY456", r)
		if _, reject := s.v.Verify(t0, r); reject != nil {
			t.Fatal(reject)
		}
	}
	old := request("GET", "/", "", "new")
	_, reject := s.v.Verify(t0, old)
	wantReject(t, reject, refuse.Unauthorized, "API-Timestamp")
	bad, unknown := request("GET", "/", "", "new"), request("GET", "/", "", "new")
	bad.Signature = []byte(strings.Repeat("0", 64))
	unknown.PublicKey = []byte("pubKEY124")
	_, a := s.v.Verify(t0, bad)
	_, b := s.v.Verify(t0, unknown)
	if a == nil || b == nil || *a != *b {
		t.Fatalf("%+v and %+v", a, b)
	}
}
