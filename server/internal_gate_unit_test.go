package server

import (
	"testing"

	"github.com/valyala/fasthttp"
)

// The gate allocates nothing for a request that it lets through.
func TestTheGateAllocatesNothing(t *testing.T) {
	gate, err := newPageGate([]string{"ops.example"})
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
	gate, err := newPageGate([]string{"ops.example"})
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{
		"", "evil.example/.localhost", "evil.example#.localhost", "x@localhost", "localhost@evil.example", "localhost:80a", "localhost:-1", "localhost:80:80",
		"localhost, evil.example", "localhost evil.example", "[127.0.0.1]", "::1", "[::1", "[::1]8081", "[::1%lo]", "[localhost]", "[ops.example]", "[]", "]", "[",
	} {
		if gate.takes([]byte(host)) {
			t.Errorf("%q is taken", host)
		}
	}
	if !gate.takes([]byte("ops.example:1")) {
		t.Error("the configured host is not taken")
	}
}

func BenchmarkGate(b *testing.B) {
	gate, err := newPageGate(nil)
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
