package clusterkey

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func line(letter string) string { return strings.Repeat(letter, MinKeyBytes) }

func ring(t *testing.T, letters ...string) *Ring {
	t.Helper()
	var text strings.Builder
	for _, l := range letters {
		text.WriteString(line(l) + "\n")
	}
	r, err := Parse(text.String())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A file has one key a line. A key that could be guessed from its public ID is refused, and no text of a ring shows
// one.
func TestKeysAreParsedAndNotShown(t *testing.T) {
	t.Parallel()
	r, err := Parse("\n  " + line("a") + "\r\n\n" + line("b"))
	if err != nil || r.ID() != ring(t, "a").ID() || len(r.ID()) != 16 || len(r.keys) != 2 {
		t.Fatalf("%v, %v", r, err)
	}
	if r.First(ring(t, "b").ID()).ID() != ring(t, "b").ID() || r.First(ring(t, "c").ID()) != nil || r.First("") != nil {
		t.Error("First finds another key")
	}
	if strings.Contains(r.String()+r.GoString(), "aaa") || !strings.Contains(r.String(), r.ID()) {
		t.Errorf("%s %#v", r, r)
	}
	if none := (*Ring)(nil); none.ID() != "" || none.First("") != nil || none.Proves("", "") ||
		none.String() != "no key" {
		t.Error("no ring is a ring")
	}
	for name, text := range map[string]string{
		"empty": " \n", "short": line("a")[1:], "a word too many": line("a") + " b", "not ASCII": line("ü"),
		"long": strings.Repeat("a", maxKeyBytes+1), "many": strings.Repeat(line("a")+"\n", maxKeys+1),
		"a short one behind": line("a") + "\nbbb",
	} {
		if r, err := Parse(text); err == nil || strings.Contains(err.Error(), "aaaa") ||
			strings.Contains(err.Error(), "bbb") {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
}

// A proof holds for its parts, each at its place, and for the rings that have its key.
func TestAProofHoldsForItsParts(t *testing.T) {
	t.Parallel()
	a := ring(t, "a")
	proof := a.Prove("one", "two")
	for _, r := range []*Ring{a, ring(t, "a", "b"), ring(t, "b", "a")} {
		if !r.Proves(proof, "one", "two") {
			t.Errorf("%v does not know the proof", r)
		}
	}
	for _, parts := range [][]string{{"one"}, {"two", "one"}, {"onetwo"}, {"one", "two", ""}, {"on", "etwo"}, {}} {
		if a.Proves(proof, parts...) {
			t.Errorf("it holds for %q", parts)
		}
	}
	for _, p := range []string{"", proof + "x", proof[2:], ring(t, "b", "a").Prove("one", "two")} {
		if a.Proves(p, "one", "two") {
			t.Errorf("%q holds", p)
		}
	}
}

// A derived secret is the same one at each node, and another one for each key and purpose.
func TestDerivedSecrets(t *testing.T) {
	t.Parallel()
	got := ring(t, "a", "b").Derive("stream")
	if len(got) != 2 || len(got[0]) != 32 || !bytes.Equal(got[0], ring(t, "a").Derive("stream")[0]) ||
		!bytes.Equal(got[1], ring(t, "b").Derive("stream")[0]) {
		t.Errorf("%x", got)
	}
	if bytes.Equal(got[0], got[1]) || bytes.Equal(got[0], ring(t, "a").Derive("tls")[0]) {
		t.Error("two secrets are equal")
	}
	if hex.EncodeToString(got[0]) != "180b177a80139d5891259a37d83686a2f1c1612a7fe3937ff72f448cf538d172" ||
		ring(t, "a").ID() != "209fc7c83cff2ad9" {
		t.Errorf("the forms of today: %x %s", got[0], ring(t, "a").ID())
	}
}

// node serves by the certificate of a ring and admits by its gate.
func node(t *testing.T, r *Ring, nowMs func() int64) *httptest.Server {
	t.Helper()
	gate := NewGate(r, nowMs()-1000)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if err := gate.Admits(q.Header.Get("Authorization"), q.Method, q.RequestURI, q.Host, nowMs()); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		if q.URL.Path == "/away" {
			http.Redirect(w, q, "/x", http.StatusFound)
		}
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(s.Close)
	return s
}

// says reports whether an error has a text.
func says(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

func wall() int64 { return time.Now().UnixMilli() }

// Nodes that have a key in common speak to each other by TLS, also during a change of the key; all others do not, and
// get no proof.
func TestNodesSpeakByTheirKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client, server []string
		ok             bool
	}{
		{[]string{"a"}, []string{"a"}, true},
		{[]string{"a", "b"}, []string{"a"}, true}, // the new key behind the old one, first here
		{[]string{"a", "b"}, []string{"b", "a"}, true},
		{[]string{"b", "a"}, []string{"a", "b"}, true},
		{[]string{"b"}, []string{"b", "a"}, true},
		{[]string{"a"}, []string{"b"}, false},
	} {
		s := node(t, ring(t, c.server...), wall)
		var err error
		if s.TLS, err = ring(t, c.server...).ServerTLS(); err != nil {
			t.Fatal(err)
		}
		s.StartTLS()
		client := ring(t, c.client...).Client()
		t.Cleanup(client.CloseIdleConnections)
		resp, err := client.Get(s.URL + "/a?b=%41")
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, ErrOtherKey) {
			t.Errorf("%v to %v: %v", c.client, c.server, err)
		}
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%v to %v: %s %s", c.client, c.server, resp.Status, text)
		}
		if resp, err = client.Get(s.URL + "/away"); err != nil || resp.StatusCode != http.StatusFound {
			t.Errorf("a redirect was followed: %v %v", resp, err)
		} else {
			_ = resp.Body.Close()
		}
	}
}

// The certificate of an authority, and one that has the name alone, are not the key's.
func TestNoOtherCertificateCounts(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		t.Errorf("it got %v", q.Header)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer s.Close()
	c := ring(t, "a").Client()
	if resp, err := c.Get(s.URL); !errors.Is(err, ErrOtherKey) {
		t.Errorf("%v %v", resp, err)
	}
}

// A program without the key verifies the certificate by its PEM form and the name.
func TestAScraperTrustsTheCertificate(t *testing.T) {
	t.Parallel()
	r := ring(t, "a", "b")
	pem, err := r.Certificates()
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []string{"a", "b"} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		if s.TLS, err = ring(t, first).ServerTLS(); err != nil {
			t.Fatal(err)
		}
		s.StartTLS()
		defer s.Close()
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: pool, ServerName: ServerName, MinVersion: tls.VersionTLS12,
		}}}
		resp, err := c.Get(s.URL)
		if err != nil {
			t.Errorf("key %s: %v", first, err)
			continue
		}
		_ = resp.Body.Close()
	}
}

// Plain http reaches this machine alone, at one address.
func TestPlainTextStaysOnThisMachine(t *testing.T) {
	t.Parallel()
	r := ring(t, "a")
	s := node(t, r, wall)
	s.Start()
	c := r.Client()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, at := range []string{s.URL, "http://localhost:" + port} {
		resp, err := c.Get(at)
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: %v %v", at, resp, err)
			continue
		}
		_ = resp.Body.Close()
	}
	for _, at := range []string{
		"http://192.0.2.1:8081/x", "http://[2001:db8::1]:8081/x", "http://0.0.0.0:" + port,
		"http://node.localhost:" + port, "http://127.0.0.1.example/",
	} {
		if resp, err := c.Get(at); !errors.Is(err, ErrPlain) {
			t.Errorf("%s: %v %v", at, resp, err)
		}
	}
}

// A proof counts for one method, target and address, within 30 s, once, and not in a later process.
func TestAProofCountsOnce(t *testing.T) {
	t.Parallel()
	const now, host = 1_700_000_000_000, "127.0.0.1:8081"
	a := ring(t, "a")
	gate := NewGate(ring(t, "b", "a"), now-60_000)
	proof := a.Sign("GET", "/x?y", host, now)
	for name, c := range map[string]struct {
		proof, method, target, host string
		ms                          int64
		want                        string
	}{
		"other method":  {proof, "HEAD", "/x?y", host, now, "for this method"},
		"other target":  {proof, "GET", "/x?z", host, now, "for this method"},
		"other address": {proof, "GET", "/x?y", "127.0.0.1:8082", now, "for this method"},
		"other key":     {ring(t, "c").Sign("GET", "/x?y", host, now), "GET", "/x?y", host, now, "copy this file"},
		"forged key": {
			strings.Replace(ring(t, "c").Sign("GET", "/x?y", host, now), ring(t, "c").ID(), a.ID(), 1), "GET", "/x?y",
			host, now, "not one of the key",
		},
		"late":  {proof, "GET", "/x?y", host, now + 30_001, "set the clocks"},
		"early": {proof, "GET", "/x?y", host, now - 30_001, "set the clocks"},
		"other time": {
			strings.Replace(proof, " 1700000000000 ", " 1700000000001 ", 1), "GET", "/x?y", host, now,
			"for this",
		},
		"no time": {strings.Replace(proof, " 1700000000000 ", " now ", 1), "GET", "/x?y", host, now, "for this"},
		"a token": {"Bearer " + line("a"), "GET", "/x?y", host, now, "has the form"},
		"nothing": {"", "GET", "/x?y", host, now, "has the form"},
		"more":    {proof + " x", "GET", "/x?y", host, now, "has the form"},
		"less":    {proof[:len(proof)-2], "GET", "/x?y", host, now, "for this"},
	} {
		if err := gate.Admits(c.proof, c.method, c.target, c.host, c.ms); !says(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := gate.Admits(proof, "GET", "/x?y", host, now); err != nil {
		t.Fatal(err)
	}
	for _, ms := range []int64{now, now + 30_000, now - 30_000} {
		if err := gate.Admits(proof, "GET", "/x?y", host, ms); !says(err, "used before") {
			t.Errorf("at %d again: %v", ms-now, err)
		}
	}
	later := NewGate(a, now+1)
	if err := later.Admits(proof, "GET", "/x?y", host, now+1); !says(err, "before the start") {
		t.Errorf("in a later process: %v", err)
	}
	if err := NewGate(nil, now).Admits(proof, "GET", "/x?y", host, now); !says(err, "cluster.key_file") {
		t.Errorf("without a ring: %v", err)
	}
}

// A proof is remembered for as long as it counts, however many come, and what is remembered has a bound.
func TestUsedProofsAreRememberedWhileTheyCount(t *testing.T) {
	t.Parallel()
	const start = 1_700_000_000_000
	a := ring(t, "a")
	gate := NewGate(a, start-60_000)
	used := make(map[int64]string)
	for ms := int64(start); ms < start+300_000; ms += 1_000 {
		proof := a.Sign("GET", "/", "h", ms+30_000) // of the fastest clock that is allowed
		if err := gate.Admits(proof, "GET", "/", "h", ms); err != nil {
			t.Fatal(err)
		}
		used[ms] = proof
		for at, p := range used {
			if gate.Admits(p, "GET", "/", "h", ms) == nil {
				t.Fatalf("the proof of %d ms before counts again", ms-at)
			}
		}
		if n := len(gate.seen) + len(gate.before); n > 130 {
			t.Fatalf("%d proofs are remembered", n)
		}
	}
	for i := len(gate.seen); i < maxNonces; i++ {
		gate.seen[string([]byte{byte(i), byte(i >> 8), byte(i >> 16)})] = struct{}{}
	}
	proof := a.Sign("GET", "/", "h", start+300_000)
	if err := gate.Admits(proof, "GET", "/", "h", start+300_000); !says(err, "more than 65536") {
		t.Errorf("a full gate: %v", err)
	}
}

// IsProof knows a proof from a token.
func TestIsProof(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		ring(t, "a").Sign("GET", "/", "h", 1): true, "tickhive-node": true, "Bearer TickHive-Node": false, "": false,
	} {
		if IsProof(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
