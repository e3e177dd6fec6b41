package forward

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/clusterkey"
)

func key(t *testing.T, letter string) *clusterkey.Ring {
	t.Helper()
	k, err := clusterkey.Parse(strings.Repeat(letter, clusterkey.MinKeyBytes))
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
		Name(key(t, "a"), r, client, now)
		return r
	}
	for _, ns := range []int64{now, now + int64(maxAge), now - int64(maxAge)} {
		if got, ok := Client(key(t, "a"), set(), ns); !ok || got != client {
			t.Errorf("at %d: %s, %t", ns-now, got, ok)
		}
	}
	header := string(set().Header.Peek(ClientHeader))
	own, soon := key(t, "a"), int64(maxAge+time.Millisecond)
	changed := func(change func(r *fasthttp.Request)) func(r *fasthttp.Request) (*clusterkey.Ring, int64) {
		return func(r *fasthttp.Request) (*clusterkey.Ring, int64) { change(r); return own, now }
	}
	for name, change := range map[string]func(r *fasthttp.Request) (*clusterkey.Ring, int64){
		"no key":        func(*fasthttp.Request) (*clusterkey.Ring, int64) { return nil, now },
		"another key":   func(*fasthttp.Request) (*clusterkey.Ring, int64) { return key(t, "b"), now },
		"late":          func(*fasthttp.Request) (*clusterkey.Ring, int64) { return own, now + soon },
		"early":         func(*fasthttp.Request) (*clusterkey.Ring, int64) { return own, now - soon },
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
		if got, ok := Client(k, r, ns); ok {
			t.Errorf("%s: taken for %s", name, got)
		}
	}
}

func replaced(t *testing.T, header, from, to string, ns int64) func(r *fasthttp.Request) (*clusterkey.Ring, int64) {
	t.Helper()
	i := strings.LastIndex(header, from)
	if i < 0 {
		t.Fatalf("%q has no %q", header, from)
	}
	return func(r *fasthttp.Request) (*clusterkey.Ring, int64) {
		r.Header.Set(ClientHeader, header[:i]+to+header[i+len(from):])
		return key(t, "a"), ns
	}
}
