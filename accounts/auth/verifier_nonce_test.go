package auth

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"tickhive/internal/refuse"
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
	if got := s.v.FloorMs([]byte("pubKEY123")); got != t0Ms+10 {
		t.Errorf("the floor is at %d", got-t0Ms)
	}
	if got := s.v.FloorMs([]byte("pubKEY124")); got != math.MaxInt64 {
		t.Errorf("the floor of no key is %d", got)
	}
}

// A later process takes over the used nonces and the floors, whatever its limits.
func TestRecalledNoncesAreRefused(t *testing.T) {
	used := func(yield func(UsedNonce) bool) {
		for i := range int64(MaxNoncesPerKey + 10) {
			if !yield(UsedNonce{"pubKEY123", strconv.FormatInt(i, 10), t0Ms + i/1000}) {
				return
			}
		}
		for range 2 { // the file may have a line twice
			for i := range int64(60_000) {
				if !yield(UsedNonce{"twice", strconv.FormatInt(i, 10), t0Ms}) {
					return
				}
			}
		}
		// A nonce may be used again after 121 s: the set may drop the first use before the second.
		for i := range int64(MaxNoncesPerKey) {
			if !yield(UsedNonce{"again", "0", t0Ms - 50_000 + i/2}) {
				return
			}
		}
		_ = yield(UsedNonce{PublicKey: "other", TimestampMs: t0Ms + 5}) && yield(UsedNonce{"deleted", "n", t0Ms})
	}
	s := newSigner(Options{})
	for _, public := range []string{"other", "twice", "again"} {
		s.key(public, "privKEY456", func(*KeyRecord) {})
	}
	s.v = NewVerifier(s.keys, Options{Used: used, UsedNs: t0})
	try := func(public string, i int, ms int64) *refuse.Refusal {
		r := request("GET", "/", "", strconv.Itoa(i))
		r.PublicKey, r.Timestamp = []byte(public), strconv.AppendInt(nil, ms, 10)
		sign("privKEY456", r)
		_, reject := s.v.Verify(t0, r)
		return reject
	}
	for i := range MaxNoncesPerKey + 10 {
		if reject := try("pubKEY123", i, t0Ms+int64(i)/1000); reject == nil || reject.Code != refuse.Unauthorized {
			t.Fatalf("nonce %d of the earlier process: %v", i, reject)
		}
	}
	if got := s.keys.Find("twice").nonces; got.count != 60_000 || got.floorMs != 0 {
		t.Errorf("lines that came twice: %d nonces, floor %d", got.count, got.floorMs)
	}
	wantReject(t, try("twice", 59_999, t0Ms), refuse.Unauthorized, "API-Nonce")
	if reject := try("twice", 60_000, t0Ms); reject != nil {
		t.Fatal(reject)
	}
	for ms := t0Ms - 5000; ms < t0Ms; ms += 100 {
		if reject := try("again", 0, ms); reject == nil || reject.Code != refuse.Unauthorized {
			t.Fatalf("a nonce that was used with many timestamps: %v", reject)
		}
	}
	wantReject(t, try("other", 1, t0Ms+4), refuse.Unauthorized, "API-Timestamp")
	if reject := try("other", 1, t0Ms+5); reject != nil {
		t.Fatal(reject)
	}
}
