package admin

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// The page check allocates nothing for a request that it accepts.
func TestThePageFilterAllocatesNothing(t *testing.T) {
	filter, err := newPageFilter([]string{"ops.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1:8081", "localhost:8081", "[::1]:8081", "OPS.example"} {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.SetRequestURI("/internal/v1/orders")
		ctx.Request.Header.SetHost(host)
		if err := filter.check(&ctx); err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		if n := testing.AllocsPerRun(1000, func() { filter.check(&ctx) }); n > 0 {
			t.Errorf("%s: %v allocations", host, n)
		}
	}
}

// The filter refuses malformed hosts itself, although the HTTP parser refuses them before it.
func TestThePageFilterRefusesMalformedHosts(t *testing.T) {
	filter, err := newPageFilter([]string{"ops.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{
		"", "evil.example/.localhost", "evil.example#.localhost", "x@localhost", "localhost@evil.example",
		"localhost:80a", "localhost:-1", "localhost:80:80",
		"localhost, evil.example", "localhost " +
			"evil.example", "[127.0.0.1]", "::1", "[::1", "[::1]8081", "[::1%lo]", "[localhost]",
		"[ops.example]", "[]", "]", "[",
	} {
		if filter.accepts([]byte(host)) {
			t.Errorf("%q is taken", host)
		}
	}
	if !filter.accepts([]byte("ops.example:1")) {
		t.Error("the configured host is not taken")
	}
}

// FuzzPageFilterHost compares the filter with the URL parser of the standard library: a browser
// also reads a host that the filter accepts as a loopback host.
func FuzzPageFilterHost(f *testing.F) {
	filter, err := newPageFilter(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, host := range []string{
		"localhost:8081", "a.LOCALHOST.", "127.0.0.1", "[::1]:1", "[::ffff:127.0.0.1]", "evil.example",
		"localhost.evil.example", "x@localhost",
		"evil.example/.localhost", "evil.example#.localhost", "127.0.0.1.evil.example",
		"localhost:80:80", "[::1%25lo]", "127.1",
	} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if !filter.accepts([]byte(host)) {
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

func BenchmarkPageFilter(b *testing.B) {
	filter, err := newPageFilter(nil)
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
		filter.check(&ctx)
	}
}
