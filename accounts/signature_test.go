package accounts

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tickhive/internal/refuse"
)

// signer is a state with keys of known private keys.
type signer struct {
	*rig
	v *Verifier
}

func newSigner(t testing.TB, opts VerifierOptions) *signer {
	r := newRig(t)
	r.user(ProfilePatch{})
	s := &signer{rig: r, v: NewVerifier(r.s, opts)}
	s.key("pubKEY123", "privKEY456", func(*KeyRecord) {})
	return s
}

func (s *signer) key(public, private string, change func(*KeyRecord)) {
	rec := Record{Kind: CreateKey, TimeNs: t0, User: 1, Key: KeyRecord{PublicKey: public, Secret: NewSecret(private), Name: "k", CanTrade: true, CreatedNs: t0}}
	change(&rec.Key)
	s.s.Apply(&rec)
}

// sign implements the contract's signature with the standard library's HMAC.
func sign(private string, r *Request) {
	body := sha256.Sum256(r.Body)
	m := hmac.New(sha256.New, []byte(private))
	fmt.Fprintf(m, "%s\n%s\n%s\n%s\n%x", r.Timestamp, r.Nonce, r.Method, r.Target, body)
	r.Signature = []byte(hex.EncodeToString(m.Sum(nil)))
}

func request(method, target, body, nonce string) *Request {
	r := &Request{
		Method: method, Target: []byte(target), Body: []byte(body), PublicKey: []byte("pubKEY123"),
		Timestamp: strconv.AppendInt(nil, t0/msNs, 10), Nonce: []byte(nonce), Remote: netip.MustParseAddr("127.0.0.1"),
	}
	sign("privKEY456", r)
	return r
}

func wantReject(t testing.TB, got *refuse.Refusal, code refuse.Code, field string) {
	t.Helper()
	if got == nil || got.Code != code || got.Field != field {
		t.Fatalf("got %+v, want %s on %q", got, code, field)
	}
}

func rows(t *testing.T, file string, columns int) [][]string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for _, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		cells := strings.Split(line, "\t")
		if len(cells) != columns {
			t.Fatalf("%s: %d columns in %q", file, len(cells), line)
		}
		out = append(out, cells)
	}
	return out
}

func TestVectorsOfTheContractAndOfOpenssl(t *testing.T) {
	list := rows(t, "vectors.tsv", 7)
	if len(list) < 10 || list[0][6] != "7c72f27d874d374164db11a4998dd423cdae47c857517918e62f06eb69370f37" ||
		list[1][6] != "1063a1ede675edbe514081291c52fb5572d123ed807dcff377e4a224cc7ffb5e" {
		t.Fatal("the vectors of the contract are not the first two")
	}
	for i, row := range list {
		s := newSigner(t, VerifierOptions{})
		public := "key" + strconv.Itoa(i)
		s.key(public, row[0], func(*KeyRecord) {})
		ms, _ := strconv.ParseInt(row[1], 10, 64)
		r := &Request{
			Method: row[3], Target: []byte(row[4]), Body: []byte(row[5]), PublicKey: []byte(public),
			Timestamp: []byte(row[1]), Nonce: []byte(row[2]), Signature: []byte(row[6]),
		}
		caller, reject := s.v.Verify(ms*msNs, r)
		if reject != nil || caller.User != 1 || caller.PublicKey != public || caller.ID != UserID(1) {
			t.Fatalf("vector %d: %+v %v", i, caller, reject)
		}
	}
}

func TestEveryFlippedBitOfASignedPartIsRefused(t *testing.T) {
	parts := map[string]func(*Request) *[]byte{
		"timestamp": func(r *Request) *[]byte { return &r.Timestamp },
		"nonce":     func(r *Request) *[]byte { return &r.Nonce },
		"target":    func(r *Request) *[]byte { return &r.Target },
		"body":      func(r *Request) *[]byte { return &r.Body },
		"signature": func(r *Request) *[]byte { return &r.Signature },
		"publicKey": func(r *Request) *[]byte { return &r.PublicKey },
	}
	s := newSigner(t, VerifierOptions{})
	flips := 0
	for name, part := range parts {
		for bit := range 8 * len(*part(request("POST", "/api/orders?a=b", `{"x":1}`, "nonce-0"))) {
			r := request("POST", "/api/orders?a=b", `{"x":1}`, "nonce-0")
			p := part(r)
			*p = append([]byte{}, *p...)
			(*p)[bit/8] ^= 1 << (bit % 8)
			if _, reject := s.v.Verify(t0, r); reject == nil || reject.Code != refuse.Unauthorized {
				t.Fatalf("%s bit %d: %+v", name, bit, reject)
			}
			flips++
		}
	}
	if _, reject := s.v.Verify(t0, request("POST", "/api/orders?a=b", `{"x":1}`, "nonce-0")); reject != nil {
		t.Fatalf("after %d refusals the true request is refused: %v", flips, reject)
	}
}

func TestMethodIsSigned(t *testing.T) {
	s := newSigner(t, VerifierOptions{})
	r := request("GET", "/api/apikeys/abc", "", "n")
	r.Method = "DELETE"
	_, reject := s.v.Verify(t0, r)
	wantReject(t, reject, refuse.Unauthorized, "API-Signature")
}

func TestHeadersMustBeThereAndWellFormed(t *testing.T) {
	for _, c := range []struct {
		field  string
		change func(*Request)
	}{
		{"API-PublicKey", func(r *Request) { r.PublicKey = nil }},
		{"API-PublicKey", func(r *Request) { r.PublicKey = []byte("a b") }},
		{"API-PublicKey", func(r *Request) { r.PublicKey = []byte(strings.Repeat("a", 65)) }},
		{"API-Timestamp", func(r *Request) { r.Timestamp = nil }},
		{"API-Timestamp", func(r *Request) { r.Timestamp = []byte("1767225600") }},
		{"API-Timestamp", func(r *Request) { r.Timestamp = []byte("+176722560000") }},
		{"API-Nonce", func(r *Request) { r.Nonce = nil }},
		{"API-Nonce", func(r *Request) { r.Nonce = []byte(strings.Repeat("a", 65)) }},
		{"API-Nonce", func(r *Request) { r.Nonce = []byte("a.b") }},
		{"API-Signature", func(r *Request) { r.Signature = nil }},
		{"API-Signature", func(r *Request) { r.Signature = []byte(strings.ToUpper(string(r.Signature))) }},
		{"API-RecvWindow", func(r *Request) { r.RecvWindow = []byte("0") }},
		{"API-RecvWindow", func(r *Request) { r.RecvWindow = []byte("60001") }},
		{"API-RecvWindow", func(r *Request) { r.RecvWindow = []byte("") }},
		{"API-RecvWindow", func(r *Request) { r.RecvWindow = []byte("5s") }},
	} {
		s := newSigner(t, VerifierOptions{})
		r := request("GET", "/", "", "n")
		c.change(r)
		_, reject := s.v.Verify(t0, r)
		wantReject(t, reject, refuse.Unauthorized, c.field)
	}
}

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
		s := newSigner(t, VerifierOptions{})
		r := request("GET", "/", "", "n")
		if c.window != "" {
			r.RecvWindow = []byte(c.window)
		}
		_, reject := s.v.Verify(t0+c.offsetMs*msNs+999_999, r) // the server's ms counts
		if (reject == nil) != c.ok {
			t.Errorf("window %q, %d ms: %v", c.window, c.offsetMs, reject)
		}
		if reject != nil {
			now := strconv.FormatInt(t0/msNs+c.offsetMs, 10)
			diff := strconv.FormatInt(-c.offsetMs, 10) + " ms"
			if reject.Field != "API-Timestamp" || !strings.Contains(reject.Message, now) || !strings.Contains(reject.Message, diff) {
				t.Errorf("a skewed clock is told %+v", reject)
			}
		}
	}
}

func TestOrderOfChecks(t *testing.T) {
	s := newSigner(t, VerifierOptions{})
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
	s := newSigner(t, VerifierOptions{})
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
	s := newSigner(t, VerifierOptions{NotBeforeMs: t0/msNs + 1})
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
	s := newSigner(t, VerifierOptions{NotBeforeMs: t0/msNs + 1000})
	_, reject := s.v.Verify(t0, request("GET", "/", "", "n"))
	wantReject(t, reject, refuse.Unauthorized, "API-Timestamp")
	if !strings.Contains(reject.Message, "before 1767225601000, which the server's clock had reached before it went back to 1767225600000") {
		t.Fatal(reject.Message)
	}
}

func TestDeletedKeyIsDeadAtOnce(t *testing.T) {
	s := newSigner(t, VerifierOptions{})
	if _, reject := s.v.Verify(t0, request("GET", "/", "", "a")); reject != nil {
		t.Fatal(reject)
	}
	if k := s.s.View().Keys(1, t0); k[0].LastUsedNs != t0 {
		t.Fatal("lastUsedAt is not told")
	}
	caller, reject := s.v.Verify(t0, request("GET", "/", "", "c"))
	if reject != nil {
		t.Fatal(reject)
	}
	var told []uint64
	s.s.OnKeyDeleted(func(key uint64) {
		told = append(told, key)
		if s.s.keys.findText("pubKEY123") != nil {
			t.Error("told of a key that still verifies")
		}
	})
	if _, reject = s.try(Command{Kind: DeleteKey, User: 1, PublicKey: "no such key"}); reject == nil || told != nil {
		t.Fatal(reject, told)
	}
	s.do(Command{Kind: DeleteKey, User: 1, PublicKey: "pubKEY123"})
	_, reject = s.v.Verify(t0, request("GET", "/", "", "b"))
	wantReject(t, reject, refuse.Unauthorized, "API-Signature")
	if len(told) != 1 || told[0] != caller.Key {
		t.Errorf("told of %d, want the key %d", told, caller.Key)
	}
}

func TestUnknownKeyAndBadSignatureAreTheSame(t *testing.T) {
	s := newSigner(t, VerifierOptions{})
	unknown := request("GET", "/", "", "n")
	unknown.PublicKey = []byte("pubKEY124")
	bad := request("GET", "/", "", "n")
	bad.Signature[0] ^= 1
	for bad.Signature[0] < '0' || bad.Signature[0] > '9' {
		bad.Signature[0] = '0'
	}
	_, a := s.v.Verify(t0, unknown)
	_, b := s.v.Verify(t0, bad)
	if a == nil || b == nil || *a != *b {
		t.Fatalf("%+v and %+v", a, b)
	}
	// Medians of many alternating calls, best of several rounds. The limit is the contract's
	// 5 % plus a margin for a noisy machine.
	best := time.Duration(1000)
	for range 8 {
		const n = 5001
		times := [2][]time.Duration{make([]time.Duration, n), make([]time.Duration, n)}
		for i := range n {
			for j, r := range []*Request{unknown, bad} {
				start := time.Now()
				s.v.Verify(t0, r)
				times[j][i] = time.Since(start)
			}
		}
		x, y := median(times[0]), median(times[1])
		best = min(best, 1000*max(x, y)/min(x, y)-1000)
	}
	t.Logf("unknown key against bad signature: medians differ by %d per mille", best)
	if best > 50 {
		t.Errorf("an unknown key can be told by its time: %d per mille", best)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return max(d[len(d)/2], 1)
}

func TestLegacyScheme(t *testing.T) {
	for i, row := range rows(t, "legacy.tsv", 5) {
		for _, on := range []bool{true, false} {
			s := newSigner(t, VerifierOptions{Legacy: on})
			r := &Request{Method: "POST", PublicKey: []byte(row[1]), FullURL: []byte(row[2]), Body: []byte(row[3]), Signature: []byte(row[4])}
			if _, reject := s.v.Verify(t0, r); (reject == nil) != on {
				t.Fatalf("row %d, legacy %v: %v", i, on, reject)
			}
			if !on {
				continue
			}
			r.Body = []byte(strings.ReplaceAll(strings.ReplaceAll(row[3], ",", " ,\n\t"), "{", "{ "))
			if _, reject := s.v.Verify(t0, r); reject != nil {
				t.Fatalf("row %d: white space outside strings counts: %v", i, reject)
			}
			if row[3] != "" {
				r.Body = []byte(strings.ReplaceAll(row[3], "a b", "a  b"))
				_, reject := s.v.Verify(t0, r)
				wantReject(t, reject, refuse.Unauthorized, "API-Signature")
			}
			r.Body, r.Method = []byte(row[3]), "DELETE"
			_, reject := s.v.Verify(t0, r)
			wantReject(t, reject, refuse.Unauthorized, "API-Timestamp")
		}
	}
	s := newSigner(t, VerifierOptions{Legacy: true})
	if _, reject := s.v.Verify(t0, request("DELETE", "/", "", "n")); reject != nil {
		t.Fatal("the default scheme beside the legacy one:", reject)
	}
}

func TestVerifyFromManyGoroutines(t *testing.T) {
	s := newSigner(t, VerifierOptions{})
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

func TestASignatureIsComputedWithoutAllocation(t *testing.T) {
	s := newSigner(t, VerifierOptions{})
	r := request("GET", "/api/user/orders", "", "n")
	m := &macScratch{digest: sha256.New()}
	key := s.s.keys.findText("pubKEY123")
	if n := testing.AllocsPerRun(1000, func() { m.mac(key.mac, m.canonical(r), nil, nil) }); n != 0 {
		t.Fatalf("%v allocations for a signature", n)
	}
}

func BenchmarkVerify(b *testing.B) {
	s := newSigner(b, VerifierOptions{})
	body := `{"side":"buy","currencyPairCode":"BTC_USDT","amount":"0.5","price":"65000.50"}`
	reqs := make([]*Request, 50_000)
	for i := range reqs {
		reqs[i] = request("POST", "/api/orders", body, "n"+strconv.Itoa(i))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%len(reqs) == 0 {
			s.v.nonces, *s.s.keys.findText("pubKEY123").nonces = newNonceTable(MaxNonces), nonceSet{}
		}
		if _, reject := s.v.Verify(t0, reqs[i%len(reqs)]); reject != nil {
			b.Fatal(reject)
		}
	}
}

func FuzzVerify(f *testing.F) {
	s := newSigner(f, VerifierOptions{Legacy: true})
	f.Add("GET", "/api?x=1", "body", "n", "1767225600000", "pubKEY123", strings.Repeat("0", 64), "5000")
	f.Fuzz(func(t *testing.T, method, target, body, nonce, ts, public, signature, window string) {
		r := &Request{
			Method: method, Target: []byte(target), Body: []byte(body), PublicKey: []byte(public), FullURL: []byte(target),
			Timestamp: []byte(ts), Nonce: []byte(nonce), Signature: []byte(signature), RecvWindow: []byte(window),
		}
		if _, reject := s.v.Verify(t0, r); reject == nil {
			t.Fatal("a made-up signature was accepted")
		}
		sign("privKEY456", r)
		if _, reject := s.v.Verify(t0, r); reject == nil && (ts == "" || public != "pubKEY123") {
			t.Fatal("accepted without timestamp or by another key")
		}
	})
}
