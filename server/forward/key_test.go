package forward

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

func key(t *testing.T, letter string) *Key {
	t.Helper()
	k, err := NewKey(strings.Repeat(letter, MinKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func request(method, target, publicKey, body string) *fasthttp.Request {
	r := &fasthttp.Request{}
	r.Header.SetMethod(method)
	r.SetRequestURI(target)
	r.Header.Set(publicKeyHeader, publicKey)
	r.SetBodyString(body)
	return r
}

// The header names the client of exactly the request for which a node with the key has set it, for half a minute.
func TestTheHeaderNamesTheClientOfOneRequest(t *testing.T) {
	const now = 1_700_000_000_000_000_000
	client := netip.MustParseAddr("2001:db8::7")
	set := func() *fasthttp.Request {
		r := request("POST", "/api/orders?a=b", "K", `{"a":1}`)
		key(t, "a").Name(r, client, now)
		return r
	}
	for _, ns := range []int64{now, now + int64(maxAge), now - int64(maxAge)} {
		if got, ok := key(t, "a").Client(set(), ns); !ok || got != client {
			t.Errorf("at %d: %s, %t", ns-now, got, ok)
		}
	}
	header := string(set().Header.Peek(ClientHeader))
	own, soon := key(t, "a"), int64(maxAge+time.Millisecond)
	changed := func(change func(r *fasthttp.Request)) func(r *fasthttp.Request) (*Key, int64) {
		return func(r *fasthttp.Request) (*Key, int64) { change(r); return own, now }
	}
	for name, change := range map[string]func(r *fasthttp.Request) (*Key, int64){
		"no key":        func(*fasthttp.Request) (*Key, int64) { return nil, now },
		"another key":   func(*fasthttp.Request) (*Key, int64) { return key(t, "b"), now },
		"late":          func(*fasthttp.Request) (*Key, int64) { return own, now + soon },
		"early":         func(*fasthttp.Request) (*Key, int64) { return own, now - soon },
		"no header":     changed(func(r *fasthttp.Request) { r.Header.Del(ClientHeader) }),
		"two headers":   changed(func(r *fasthttp.Request) { r.Header.Add(ClientHeader, header) }),
		"other method":  changed(func(r *fasthttp.Request) { r.Header.SetMethod("PUT") }),
		"other target":  changed(func(r *fasthttp.Request) { r.SetRequestURI("/api/orders?a=c") }),
		"other body":    changed(func(r *fasthttp.Request) { r.SetBodyString(`{"a":2}`) }),
		"other key id":  changed(func(r *fasthttp.Request) { r.Header.Set(publicKeyHeader, "L") }),
		"other address": replaced(t, header, "2001:db8::7", "2001:db8::8", now),
		"other time":    replaced(t, header, " 1700000000000 ", " 1700000000001 ", now),
		"first time":    replaced(t, header, " 1700000000000 ", " "+strconv.FormatInt(-1<<63, 10)+" ", now),
		"no time":       replaced(t, header, " 1700000000000 ", " ", now),
		"no proof":      replaced(t, header, header[strings.LastIndexByte(header, ' '):], "", now),
		"odd proof":     replaced(t, header, header[len(header)-1:], "", now),
	} {
		r := set()
		k, ns := change(r)
		if got, ok := k.Client(r, ns); ok {
			t.Errorf("%s: taken for %s", name, got)
		}
	}
}

func replaced(t *testing.T, header, from, to string, ns int64) func(r *fasthttp.Request) (*Key, int64) {
	t.Helper()
	i := strings.LastIndex(header, from)
	if i < 0 {
		t.Fatalf("%q has no %q", header, from)
	}
	return func(r *fasthttp.Request) (*Key, int64) {
		r.Header.Set(ClientHeader, header[:i]+to+header[i+len(from):])
		return key(t, "a"), ns
	}
}

// A key that could be guessed from its public ID is refused, and no text of a key shows it.
func TestKeys(t *testing.T) {
	if _, err := NewKey(strings.Repeat("a", MinKeyBytes-1)); err == nil {
		t.Error("a short key is accepted")
	}
	a := key(t, "a")
	if a.ID() == key(t, "b").ID() || a.ID() != key(t, "a").ID() || len(a.ID()) != 16 || (*Key)(nil).ID() != "" {
		t.Errorf("ids %s and %s", a.ID(), key(t, "b").ID())
	}
	if strings.Contains(a.String()+a.GoString(), "aaa") || !strings.Contains(a.String(), a.ID()) {
		t.Errorf("%s %#v", a, a)
	}
}

// A proof between nodes holds for its parts, each at its place, and for the key.
func TestAProofHoldsForItsParts(t *testing.T) {
	a, b := key(t, "a"), key(t, "b")
	proof := a.Prove("one", "two")
	if !a.Proves(proof, "one", "two") {
		t.Error("the key does not know its own proof")
	}
	for _, parts := range [][]string{{"one"}, {"two", "one"}, {"onetwo"}, {"one", "two", ""}, {"on", "etwo"}, {}} {
		if a.Proves(proof, parts...) {
			t.Errorf("it holds for %q", parts)
		}
	}
	if b.Proves(proof, "one", "two") || a.Proves("", "one", "two") || a.Proves(proof+"x", "one", "two") ||
		a.Proves(proof[2:], "one", "two") {
		t.Error("another proof holds")
	}
}
