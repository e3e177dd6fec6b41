package auth

import (
	"crypto/sha256"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/refuse"
)

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
		s := newSigner(Options{})
		public := "key" + strconv.Itoa(i)
		s.key(public, row[0], func(*KeyRecord) {})
		ms, _ := strconv.ParseInt(row[1], 10, 64)
		r := &Request{
			Method: row[3], Target: []byte(row[4]), Body: []byte(row[5]), PublicKey: []byte(public),
			Timestamp: []byte(row[1]), Nonce: []byte(row[2]), Signature: []byte(row[6]),
		}
		caller, reject := s.v.Verify(ms*msNs, r)
		if reject != nil || caller.User != 1 || caller.PublicKey != public || caller.ID != userID {
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
	s := newSigner(Options{})
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
	s := newSigner(Options{})
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
		s := newSigner(Options{})
		r := request("GET", "/", "", "n")
		c.change(r)
		_, reject := s.v.Verify(t0, r)
		wantReject(t, reject, refuse.Unauthorized, c.field)
	}
}

func TestUnknownKeyAndBadSignatureAreTheSame(t *testing.T) {
	s := newSigner(Options{})
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
		t.Errorf("the time of the answer reveals an unknown key: %d per mille", best)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return max(d[len(d)/2], 1)
}

func TestLegacyScheme(t *testing.T) {
	for i, row := range rows(t, "legacy.tsv", 5) {
		for _, on := range []bool{true, false} {
			s := newSigner(Options{Legacy: on})
			r := &Request{
				Method: "GET", PublicKey: []byte(row[1]), FullURL: []byte(row[2]), Body: []byte(row[3]),
				Signature: []byte(row[4]),
			}
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
			for _, r.Method = range []string{"DELETE", "POST", "PATCH", "PUT"} {
				r.Body = []byte(row[3])
				_, reject := s.v.Verify(t0, r)
				wantReject(t, reject, refuse.Unauthorized, "API-Timestamp")
			}
		}
	}
	s := newSigner(Options{Legacy: true})
	if _, reject := s.v.Verify(t0, request("DELETE", "/", "", "n")); reject != nil {
		t.Fatal("the default scheme beside the legacy one:", reject)
	}
}

func TestASignatureIsComputedWithoutAllocation(t *testing.T) {
	s := newSigner(Options{})
	r := request("GET", "/api/user/orders", "", "n")
	m := &macScratch{digest: sha256.New()}
	key := s.keys.find([]byte("pubKEY123"))
	if n := testing.AllocsPerRun(1000, func() { m.mac(key.mac, m.canonical(r), nil, nil) }); n != 0 {
		t.Fatalf("%v allocations for a signature", n)
	}
}

func BenchmarkVerify(b *testing.B) {
	s := newSigner(Options{})
	body := `{"side":"buy","currencyPairCode":"BTC_USDT","amount":"0.5","price":"65000.50"}`
	reqs := make([]*Request, 50_000)
	for i := range reqs {
		reqs[i] = request("POST", "/api/orders", body, "n"+strconv.Itoa(i))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%len(reqs) == 0 {
			s.v.nonces, *s.keys.find([]byte("pubKEY123")).nonces = newNonceTable(MaxNonces), nonceSet{}
		}
		if _, reject := s.v.Verify(t0, reqs[i%len(reqs)]); reject != nil {
			b.Fatal(reject)
		}
	}
}

func FuzzVerify(f *testing.F) {
	s := newSigner(Options{Legacy: true})
	f.Add("GET", "/api?x=1", "body", "n", "1767225600000", "pubKEY123", strings.Repeat("0", 64), "5000")
	f.Fuzz(func(t *testing.T, method, target, body, nonce, ts, public, signature, window string) {
		r := &Request{
			Method: method, Target: []byte(target), Body: []byte(body), PublicKey: []byte(public),
			FullURL: []byte(target), Timestamp: []byte(ts), Nonce: []byte(nonce),
			Signature: []byte(signature), RecvWindow: []byte(window),
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
