package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/clusterkey"
	"github.com/tickhive/tickhive/internal/exchange"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/admin"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/servertest"
)

// A proof of a node opens the snapshot, once, for one method and target, and no other route. The token opens all.
func TestAProofOpensTheSnapshotAlone(t *testing.T) {
	const path = "/internal/v1/snapshot"
	r, err := clusterkey.Parse(strings.Repeat("a", clusterkey.MinKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	other, err := clusterkey.Parse(strings.Repeat("b", clusterkey.MinKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	nowMs, given := int64(1_700_000_000_000), 0
	for _, token := range []string{"open sesame", ""} {
		h := servertest.NewExchange(t, func(o *exchange.Options) {
			o.Internal.Token = token
			o.Hooks.Admin = func(o *admin.Options) {
				o.Nodes, o.Snapshot, o.MachineNs = r, nil, func() int64 { return nowMs * 1e6 }
				o.Resources = append(o.Resources, func() []*edge.Route {
					var all []*edge.Route
					for _, at := range []string{path, path + "s"} {
						all = append(all, &edge.Route{Method: "GET", Path: at, Handle: func(*edge.Ctx) *refuse.Refusal {
							given++
							return nil
						}})
					}
					return all
				})
			}
		})
		ask := func(method, target, authorization string) (admitted bool) {
			t.Helper()
			before := given
			a := innerRaw(h,
				fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: %s\r\n\r\n",
					method, target, authorization))
			if a.Status != 200 {
				if a.Status != 401 || method == "GET" && !strings.Contains(a.Body, `"field":"Authorization"`) {
					t.Errorf("%s %s: %d %s", method, target, a.Status, a.Body)
				}
			}
			if (a.Status == 200) != (given > before) {
				t.Errorf("%s %s: %d, and the handler ran %d times", method, target, a.Status, given-before)
			}
			return a.Status == 200
		}
		now := nowMs
		proof, second := r.Sign("GET", path, "localhost", now), r.Sign("GET", path+"?x", "localhost", now)
		for _, c := range []struct {
			name, method, target, authorization string
			want                                bool
		}{
			{"other target", "GET", path + "?y", second, false},
			{"other method", "HEAD", path + "?x", second, false},
			{"its own", "GET", path + "?x", second, true},
			{"again", "GET", path + "?x", second, false},
			{"of HEAD", "HEAD", path, r.Sign("HEAD", path, "localhost", now), true},
			{"other key", "GET", path, other.Sign("GET", path, "localhost", now), false},
			{"other host", "GET", path, r.Sign("GET", path, "127.0.0.1", now), false},
			{"late", "GET", path, r.Sign("GET", path, "localhost", now-30_001), false},
			{"early", "GET", path, r.Sign("GET", path, "localhost", now+30_001), false},
			{"of before the start", "GET", path, r.Sign("GET", path, "localhost", now-1), false},
			{"no proof", "GET", path, "TickHive-Node", false},
			{"no scheme", "GET", path, strings.TrimPrefix(proof, "TickHive-Node "), token == ""},
			{"other route", "GET", path + "s", r.Sign("GET", path+"s", "localhost", now), token == ""},
			{
				"totals", "GET", "/internal/v1/totals", r.Sign("GET", "/internal/v1/totals", "localhost", now),
				token == "",
			},
			{"the token", "GET", path, "Bearer open sesame", true},
			{"another token", "GET", path, "Bearer open", token == ""},
		} {
			if c.name == "totals" && token == "" {
				continue // served by a handler of its own
			}
			if got := ask(c.method, c.target, c.authorization); got != c.want {
				t.Errorf("token %q, %s: admitted %t", token, c.name, got)
			}
		}
		nowMs += 30_000
		if !ask("GET", path, proof) {
			t.Errorf("token %q: a proof of 30 s ago is refused", token)
		}
	}
}
