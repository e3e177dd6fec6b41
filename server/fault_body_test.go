package server_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/fault"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"
)

// A body that is too long for a fault is answered as without the rule, which counts it as skipped. A fault that has
// nothing to happen to, because the answer is an error or only kept for later, is not counted as applied.
func TestFaultsOfBodiesCountWhatHappens(t *testing.T) {
	long := `["` + strings.Repeat("x", 9<<20) + `"]`
	faults := &fault.Switch{}
	m := servertest.NewTradedMarket(t, func(o *servertest.Options) {
		o.Faults = faults
		o.Resources = []edge.Resource{func(*edge.Server) []*edge.Route {
			return []*edge.Route{
				{Method: "GET", Path: "/api/long", Handle: func(c *edge.Ctx) *refuse.Refusal {
					return c.SendPieces(strings.NewReader(long), len(long))
				}},
				{Method: "GET", Path: "/api/pieces", Handle: func(c *edge.Ctx) *refuse.Refusal {
					return c.SendPieces(strings.NewReader(long), -1)
				}},
				{Method: "GET", Path: "/api/short", Handle: func(c *edge.Ctx) *refuse.Refusal {
					c.Response.SetBodyString(`{"price":1}`)
					return nil
				}},
				{Method: "GET", Path: "/api/refused", Handle: func(*edge.Ctx) *refuse.Refusal {
					return refuse.New(refuse.NotFound, "", "There is none.")
				}},
			}
		}}
	})
	get := func(path string) (body, named string) {
		t.Helper()
		conn, err := m.Dial("192.0.2.5")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(res.Body) // an error is a body that a fault cut
		return string(raw), res.Header.Get("X-Fault")
	}
	for _, text := range []string{"broken-json", "truncate keep=3", "slow rate=10485760", "stale age=1m"} {
		rule, err := fault.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		active, err := faults.Add([]fault.Rule{rule}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if body, named := get("/api/long"); body != long || named != "" {
			t.Errorf("%s: %d of %d bytes, X-Fault %q", text, len(body), len(long), named)
		}
		if body, named := get("/api/pieces"); body != long || named != "" {
			t.Errorf("%s: %d of %d bytes in pieces, X-Fault %q", text, len(body), len(long), named)
		}
		get("/api/refused")
		if got, want := active[0].Counts(), (fault.Counts{Matched: 3, Skipped: 2}); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
		_, first := get("/api/short")
		_, second := get("/api/short")
		applied := uint64(2)
		if strings.HasPrefix(text, "stale") {
			applied = 1
		}
		if got := active[0].Counts().Applied; got != applied || second == "" || (first == "") != (applied == 1) {
			t.Errorf("%s: applied %d, want %d; X-Fault %q, then %q", text, got, applied, first, second)
		}
		faults.Remove(active[0].ID)
	}
}
