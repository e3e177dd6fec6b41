package admin

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// The page check allocates nothing for a request that it accepts.
func TestTheGateAllocatesNothing(t *testing.T) {
	gate, err := newPageFilter([]string{"ops.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1:8081", "localhost:8081", "[::1]:8081", "OPS.example"} {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.SetRequestURI("/internal/v1/orders")
		ctx.Request.Header.SetHost(host)
		if err := gate.check(&ctx); err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		if n := testing.AllocsPerRun(1000, func() { gate.check(&ctx) }); n > 0 {
			t.Errorf("%s: %v allocations", host, n)
		}
	}
}

// The gate itself refuses what the HTTP parser in front of it refuses today.
func TestTheGateTakesNoBrokenHost(t *testing.T) {
	gate, err := newPageFilter([]string{"ops.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{
		"", "evil.example/.localhost", "evil.example#.localhost", "x@localhost", "localhost@evil.example", "localhost:80a", "localhost:-1", "localhost:80:80",
		"localhost, evil.example", "localhost evil.example", "[127.0.0.1]", "::1", "[::1", "[::1]8081", "[::1%lo]", "[localhost]", "[ops.example]", "[]", "]", "[",
	} {
		if gate.accepts([]byte(host)) {
			t.Errorf("%q is taken", host)
		}
	}
	if !gate.accepts([]byte("ops.example:1")) {
		t.Error("the configured host is not taken")
	}
}

// FuzzGateHost compares the gate with the URL parser of the standard library: what the
// gate takes is a loopback host to a browser's reading of the same text, too.
func FuzzGateHost(f *testing.F) {
	gate, err := newPageFilter(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, host := range []string{
		"localhost:8081", "a.LOCALHOST.", "127.0.0.1", "[::1]:1", "[::ffff:127.0.0.1]", "evil.example", "localhost.evil.example", "x@localhost",
		"evil.example/.localhost", "evil.example#.localhost", "127.0.0.1.evil.example", "localhost:80:80", "[::1%25lo]", "127.1",
	} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !gate.accepts([]byte(host)) {
			return
		}
		u, err := url.Parse("http://" + host + "/internal/v1/users")
		if err != nil || u.User != nil || u.Path != "/internal/v1/users" || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q is taken and no host: %v %v", host, u, err)
		}
		name := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
		ip, err := netip.ParseAddr(name)
		if name != "localhost" && !strings.HasSuffix(name, ".localhost") && (err != nil || !ip.IsLoopback()) {
			t.Fatalf("%q is taken and names %s", host, name)
		}
	})
}

func BenchmarkGate(b *testing.B) {
	gate, err := newPageFilter(nil)
	if err != nil {
		b.Fatal(err)
	}
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.SetRequestURI("/internal/v1/orders")
	ctx.Request.Header.SetHost("127.0.0.1:8081")
	ctx.Request.Header.Set("Content-Type", "application/json")
	ctx.Request.Header.Set("User-Agent", "curl")
	for b.Loop() {
		gate.check(&ctx)
	}
}
