package forward

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/internal/refuse"
)

// machineNs is the clock of both nodes.
func machineNs() int64 { return 1_700_000_000_000_000_000 }

// serving answers at a free address and returns it.
func serving(t *testing.T, handle fasthttp.RequestHandler) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fasthttp.Server{Handler: handle, NoDefaultServerHeader: true, NoDefaultContentType: true}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = ln.Close() })
	return ln.Addr().String()
}

// ask sends a request through a forwarder that has this writer.
func ask(t *testing.T, to Writer, method, target string, header ...string) (*fasthttp.RequestCtx, *Forwarder,
	*refuse.Refusal,
) {
	t.Helper()
	return askWithin(t, time.Minute, to, method, target, header...)
}

func askWithin(t *testing.T, d time.Duration, to Writer, method, target string, header ...string) (
	*fasthttp.RequestCtx, *Forwarder, *refuse.Refusal,
) {
	t.Helper()
	f := New(Options{Key: key(t, "a"), NowNs: machineNs, Within: d})
	t.Cleanup(f.Close)
	f.Lead(to)
	ctx := &fasthttp.RequestCtx{}
	r := request(method, target, "K", `{"a":1}`)
	r.Header.SetHost("client.example")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	ctx.Init(r, nil, nil)
	return ctx, f, f.Do(ctx, netip.MustParseAddr("192.0.2.7"), []byte("id-1"))
}

// The writer gets the request as the client has sent it, with its address, and the client gets the writer's answer.
func TestARequestAndItsAnswerPassUnchanged(t *testing.T) {
	var got fasthttp.Request
	at := serving(t, func(ctx *fasthttp.RequestCtx) {
		ctx.Request.CopyTo(&got)
		ctx.SetStatusCode(409)
		ctx.Response.Header.SetCanonical([]byte("ETag"), []byte(`"x"`))
		ctx.SetConnectionClose()
		ctx.SetBodyString("answer")
	})
	const target = "/api/orders?b=%41&a=//x/../y"
	to := Writer{Term: 3, Address: at, KeyID: key(t, "a").ID()}
	ctx, f, err := ask(t, to, "POST", target, "X-Forwarded-For", "10.0.0.1", "Connection", "keep-alive",
		"Api-Nonce", "n")
	if err != nil || ctx.Response.StatusCode() != 409 || string(ctx.Response.Body()) != "answer" {
		t.Fatalf("%v %d %s", err, ctx.Response.StatusCode(), ctx.Response.Body())
	}
	if head := ctx.Response.Header.String(); !strings.Contains(head, "ETag: \"x\"") || ctx.Response.ConnectionClose() ||
		!strings.Contains(head, "X-Served-By: "+at) {
		t.Errorf("answer: %s", head)
	}
	h := &got.Header
	if string(h.RequestURI()) != target || string(h.Host()) != "client.example" || string(got.Body()) != `{"a":1}` ||
		string(h.Peek("Api-Nonce")) != "n" || string(h.Peek("X-Request-Id")) != "id-1" ||
		len(h.Peek("X-Forwarded-For")) != 0 || len(h.UserAgent()) != 0 || len(h.ContentType()) != 0 {
		t.Errorf("request: %s%s", h.String(), got.Body())
	}
	if addr, ok := Client(key(t, "a"), &got, machineNs()); !ok || addr.String() != "192.0.2.7" {
		t.Errorf("client %s, %t", addr, ok)
	}
	if answered, unreached, unknown := f.Counts(); answered != 1 || unreached != 0 || unknown != 0 {
		t.Errorf("counted %d, %d, %d", answered, unreached, unknown)
	}
	if w := f.Writer(); w != to {
		t.Errorf("writer %+v", w)
	}
}

// A request that was not sent is 503, a change without an answer 504, and nothing is sent twice.
func TestAWriterThatDoesNotAnswer(t *testing.T) {
	const nobody = "127.0.0.1:1"
	requests := make(chan string, 16)
	done := make(chan struct{})
	hangs := serving(t, func(ctx *fasthttp.RequestCtx) {
		requests <- string(ctx.Method()) + " " + string(ctx.RequestURI())
		<-done
	})
	defer close(done)
	closes := serving(t, func(ctx *fasthttp.RequestCtx) {
		requests <- string(ctx.Method()) + " " + string(ctx.RequestURI())
		_ = ctx.Conn().Close()
	})
	large := serving(t, func(ctx *fasthttp.RequestCtx) {
		requests <- string(ctx.Method()) + " " + string(ctx.RequestURI())
		ctx.SetBody(make([]byte, maxAnswer+1))
	})
	for _, c := range []struct {
		at, method string
		want       refuse.Code
		text       string
		sent       int
	}{
		{nobody, "POST", refuse.Unavailable, "nothing was sent", 0},
		{nobody, "GET", refuse.Unavailable, "nothing was sent", 0},
		{hangs, "POST", refuse.OutcomeUnknown, "clientOrderId", 1},
		{hangs, "GET", refuse.Unavailable, "Nothing was changed", 1},
		{closes, "DELETE", refuse.OutcomeUnknown, "clientOrderId", 1},
		{closes, "HEAD", refuse.Unavailable, "Nothing was changed", 1},
		{large, "GET", refuse.NotWriter, "Ask the writer at http://" + large, 1},
		{large, "POST", refuse.OutcomeUnknown, "clientOrderId", 1},
	} {
		to, target, within := Writer{Address: c.at, KeyID: key(t, "a").ID()}, "/api/x", time.Minute
		if c.at == hangs {
			within = 300 * time.Millisecond
		}
		ctx, _, err := askWithin(t, within, to, c.method, target)
		for c.at == hangs && len(requests) == 0 { // a busy machine has not sent it, or not received it, in that time
			within *= 2
			target = "/api/" + within.String()
			ctx, _, err = askWithin(t, within, to, c.method, target)
		}
		if err == nil || err.Code != c.want || !strings.Contains(err.Message, c.text) ||
			!strings.Contains(err.Message, c.at) || len(ctx.Response.Body()) != 0 ||
			(err.Code == refuse.Unavailable) != (err.RetryAfter == 1) {
			t.Errorf("%s at %s: %v", c.method, c.at, err)
		}
		seen := map[string]int{}
		for len(requests) > 0 {
			seen[<-requests]++
		}
		if seen[c.method+" "+target] != c.sent {
			t.Errorf("%s at %s: requests %v, want %d", c.method, c.at, seen, c.sent)
		}
	}
}

// Nothing is forwarded without a key that both nodes have, without an address, and of a request that was forwarded
// already or that would not arrive as it was signed.
func TestWhatIsNotForwarded(t *testing.T) {
	at := serving(t, func(ctx *fasthttp.RequestCtx) { t.Errorf("forwarded: %s", ctx.RequestURI()) })
	with := Writer{Address: at, KeyID: key(t, "a").ID()}
	for name, c := range map[string]struct {
		to     Writer
		target string
		header []string
		text   string
	}{
		"no address":   {Writer{KeyID: with.KeyID}, "/x", nil, "told no address"},
		"no key":       {Writer{Address: at}, "/x", nil, "at http://" + at + "."},
		"another key":  {Writer{Address: at, KeyID: key(t, "b").ID()}, "/x", nil, "at http://" + at + "."},
		"of a replica": {with, "/x", []string{ClientHeader, "1"}, "at http://" + at + "."},
		"with a host":  {with, "http://client.example/x", nil, "at http://" + at + "."},
		"with TLS":     {Writer{Address: at, TLS: true}, "/x", nil, "at https://" + at + "."},
	} {
		_, _, err := ask(t, c.to, "POST", c.target, c.header...)
		if err == nil || err.Code != refuse.NotWriter || !strings.Contains(err.Message, c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := New(Options{NowNs: machineNs})
	f.Lead(Writer{Address: at})
	if err := f.NotWriter(); err.Code != refuse.NotWriter || !strings.Contains(err.Message, at) {
		t.Errorf("a forwarder without a key: %v", err)
	}
}

// Files without a certificate are refused.
func TestRoots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + ".missing"} {
		if _, err := Roots(p); err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// A replica serves up to the lag that it may have, and refuses beyond it, in its reads as in its probes. A writer is
// never behind.
func TestAReplicaThatIsTooFarBehind(t *testing.T) {
	lag := int64(0)
	r := &Replica{LagNs: func() int64 { return lag }, MaxLagNs: int64(5 * time.Second)}
	for _, c := range []struct {
		lag    time.Duration
		shown  int64
		served bool
	}{
		{-time.Second, 0, true},
		{0, 0, true},
		{5 * time.Second, 5000, true},
		{5*time.Second + 1, 5000, false},
		{9 * time.Second, 9000, false},
	} {
		lag = int64(c.lag)
		ms, refused := r.Read()
		stale := r.Stale()
		if ms != c.shown || (refused == nil) != c.served || (stale == nil) != c.served ||
			refused != nil && refused.Code != refuse.Stale {
			t.Errorf("%s behind: %d ms, read %v, probe %v", c.lag, ms, refused, stale)
		}
	}
	if (*Replica)(nil).Stale() != nil {
		t.Error("a writer is behind")
	}
}
