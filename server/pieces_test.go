package server_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"
)

// An address reads two answers in pieces at a time. A third is refused until one ends, however it
// ends; other addresses and allow-listed ones are served.
func TestTwoStreamedAnswersPerAddress(t *testing.T) {
	const size = 1 << 20
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.Rate.Allow = []string{"192.0.2.77"}
		o.Resources = []edge.Resource{func(*edge.Server) []*edge.Route {
			return []*edge.Route{{
				Method: "GET", Path: "/api/large",
				Handle: func(c *edge.Ctx) *refuse.Refusal {
					c.SendHead(1, 7, true)
					return c.SendPieces(strings.NewReader(strings.Repeat("x", size)), size)
				},
			}}
		}}
	})
	type answer struct {
		res  *http.Response
		stop func() error
	}
	ask := func(ip string) answer {
		t.Helper()
		conn, err := m.Dial(ip)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn,
			"GET /api/large HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		return answer{res, conn.Close}
	}
	refused := func(ip string) bool {
		t.Helper()
		a := ask(ip)
		defer func() { _ = a.stop() }()
		if a.res.StatusCode == http.StatusOK {
			return false
		}
		m.CheckRefusal(m.Read(a.res, "streamed"), 429, "RATE_LIMIT", "")
		if a.res.Header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", a.res.Header.Get("Retry-After"))
		}
		for _, name := range []string{"Content-Encoding", "Etag", "X-Seq"} { // of the body that was not sent
			if v := a.res.Header.Get(name); v != "" {
				t.Errorf("the refusal has %s: %s", name, v)
			}
		}
		return true
	}
	first, second := ask("192.0.2.5"), ask("192.0.2.5")
	if !refused("192.0.2.5") {
		t.Error("a third answer of one address")
	}
	for range 4 {
		if a := ask("192.0.2.77"); a.res.StatusCode != 200 {
			t.Errorf("an allow-listed address: %d", a.res.StatusCode)
		}
	}
	if a := ask("192.0.2.6"); a.res.StatusCode != 200 {
		t.Errorf("another address: %d", a.res.StatusCode)
	}
	if body, err := io.ReadAll(first.res.Body); err != nil || len(body) != size {
		t.Fatalf("%d bytes, %v", len(body), err)
	}
	for refused("192.0.2.5") { // until the server has noticed that the answer is complete
		t.Log("not yet")
	}
	_ = second.stop()
	for refused("192.0.2.5") {
		t.Log("not yet")
	}
}
