package admin_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/vfs/vfstest"
	"github.com/tickhive/tickhive/internal/wal"
	"github.com/tickhive/tickhive/server/servertest"
	"github.com/tickhive/tickhive/server/web"
)

// unknown checks a 504: its message names the change that may be recorded and what to do then.
func unknown(h *servertest.Exchange, what string, a servertest.Answer, then string) {
	h.T.Helper()
	h.CheckRefusal(what, a, 504, "OUTCOME_UNKNOWN", "")
	if !strings.Contains(a.Body, "may have been recorded") || !strings.Contains(a.Body, then) ||
		strings.Contains(a.Body, "nothing was") {
		h.T.Errorf("%s: %s, want %q", what, a.Body, then)
	}
}

// unconfirmed lists the changes of orders, pairs and accounts, each with the advice of its
// answer when the outcome is unknown.
func unconfirmed(h *servertest.Exchange, a *servertest.Keys, resting string) []struct {
	what string
	send func() servertest.Answer
	then string
} {
	const same = "the same clientOrderId"
	order := func(more string) string {
		return `{"accountId":"` + a.ID + `","currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":10,` +
			`"amount":1` + more + `}`
	}
	own := func(more string) string {
		return `{"currencyPairCode":"BTC_USDT","side":"buy","price":10,"amount":1` + more + `}`
	}
	in := func(method, path, body string) func() servertest.Answer {
		return func() servertest.Answer { return h.CallInternal(method, path, body) }
	}
	signed := func(method, path, body string) func() servertest.Answer {
		return func() servertest.Answer { return a.Call(method, path, body) }
	}
	return []struct {
		what string
		send func() servertest.Answer
		then string
	}{
		{"order", in("POST", "/orders", order("")), "look for it"},
		{"order with an id", in("POST", "/orders", order(`,"clientOrderId":"x"`)), same},
		{"batch", in("POST", "/orders/batch",
			`{"commands":[{"place":`+order(`,"clientOrderId":"y"`)+`},{"cancel":{"orderId":`+resting+`}}]}`), same},
		{"replace", in("PATCH", "/orders/"+resting, `{"amount":2}`), "look at the order"},
		{"cancel", in("DELETE", "/orders/"+resting, ""), "look at the order"},
		{"mass cancel", in("DELETE", "/orders?currencyPairCode=BTC_USDT", ""), "open orders"},
		{"pair", in("POST", "/pairs", `{"code":"ETH_USDT","digitsPrice":2,"digitsAmount":4}`), "look at the pair"},
		{"change of a pair", in("PATCH", "/pairs/BTC_USDT", `{"makerFee":"0.003"}`), "look at the pair"},
		{"clock", in("POST", "/clock", `{"advance":"1s"}`), "look at the clock"},
		{"signed order", signed("POST", "/api/orders", own("")), "look for it"},
		{"signed order with an id", signed("POST", "/api/orders", own(`,"clientOrderId":"z"`)), same},
		{"signed cancel", signed("DELETE", "/api/orders/"+resting, ""), "look at the order"},
		{"signed mass cancel", signed("DELETE", "/api/orders?currencyPairCode=BTC_USDT", ""), "open orders"},
		{"deposit", in("POST", "/users/"+a.ID+"/deposits", `{"currencyCode":"USDT","amount":1}`), "look at the " +
			"balances"},
		{"withdrawal", in("POST", "/users/"+a.ID+"/withdrawals", `{"currencyCode":"USDT","amount":1}`), "look at the " +
			"balances"},
		{"user", in("POST", "/users", `{"nickname":"carol"}`), "look at the user"},
		{"key", signed("POST", "/api/apikeys", `{"name":"other"}`), "look at the API keys"},
	}
}

// Every route that changes state answers an unknown outcome with 504 and what to do next; a
// change that was not written is still 503, which says whether a repeat or a restart helps.
func TestAnUnknownOutcomeIsNoRefusal(t *testing.T) {
	h, a, _ := servertest.NewTradedExchange(t)
	resting := a.Place(`{"currencyPairCode":"BTC_USDT","side":"buy","price":5,"amount":1}`)
	for _, c := range unconfirmed(h, a, resting) {
		for _, why := range []struct {
			err        error
			after, say string
		}{
			{wal.ErrUnavailable, "5", "at the moment"},
			{wal.ErrStopped, "", "until the operator restarts"},
		} {
			h.Faults.Fail = fmt.Errorf("%w: %w", sequencer.ErrUnavailable, why.err)
			before := a.Balance("USDT")
			refused := c.send()
			h.CheckRefusal(c.what+", refused", refused, 503, "UNAVAILABLE", "")
			if refused.Header.Get("Retry-After") != why.after || !strings.Contains(refused.Body, "nothing was") ||
				!strings.Contains(refused.Body, why.say) {
				t.Errorf("%s, %v: %v %s", c.what, why.err, refused.Header, refused.Body)
			}
			if now := a.Balance("USDT"); now != before {
				t.Errorf("%s: refused, and the balance went from %s to %s", c.what, before, now)
			}
		}
		h.Faults.Fail = fmt.Errorf("%w: %w: %w", sequencer.ErrOutcomeUnknown, wal.ErrOutcomeUnknown, wal.ErrStopped)
		unknown(h, c.what, c.send(), c.then)
		h.Faults.Fail = nil
	}
	// An order of 5 rests. Nothing is kept beside the state for the orders that may be in the journal.
	if got := a.Balance("USDT"); got != "995.0 5.0" {
		t.Errorf("free and held are %s", got)
	}
	buy := func(price string) servertest.Answer {
		return a.Call("POST", "/api/orders",
			`{"currencyPairCode":"BTC_USDT","side":"buy","price":`+price+`,"amount":1}`)
	}
	h.CheckRefusal("more than is left", buy("995.01"), 400, "INSUFFICIENT_FUNDS", "")
	if got := buy("995.00"); got.Status != 200 {
		t.Errorf("what is left buys nothing: %d %s", got.Status, got.Body)
	}
}

// The ledger and the hive answer the same; they refuse requests after their log has stopped.
func TestAnUnknownOutcomeOfLedgerAndHive(t *testing.T) {
	vote := func(c *servertest.Agents, id, proposal string) servertest.Answer {
		return c.PostAs(5, "/api/agents/workers/"+id+"/vote", fmt.Sprintf(`{"proposalId":%q,"vote":"yes"}`, proposal))
	}
	for _, row := range []struct {
		what string
		send func(c *servertest.Agents, id, proposal string) servertest.Answer
		then string
	}{
		{"spawn", func(c *servertest.Agents, _, _ string) servertest.Answer {
			return c.Spawn(2, `{"name":"New","symbol":"NEW"}`)
		}, "look at the tokens"},
		{"swap", func(c *servertest.Agents, id, _ string) servertest.Answer {
			return c.CallInternal("POST", "/launchpad/tokens/"+id+"/transfers",
				fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":1}`,
					servertest.UserUUID(1), servertest.UserUUID(7)))
		}, "look at the token's holders"},
		{"vote", vote, "look at the votes"},
		{"action", func(c *servertest.Agents, id, _ string) servertest.Answer {
			return c.AddAction("queen-1", id, "flag", `{}`)
		}, "look at the action log"},
	} {
		c := servertest.NewUnlimitedAgents(t)
		id := c.Token(1, "AAA")
		proposal := c.Propose(id, true)
		c.Transfer(id, 1, 5, "10")
		c.Fund(2, 1000, 0)
		c.FS.Before(func(op vfstest.Op) vfstest.Fault {
			if op.Kind == vfstest.OpSync && strings.HasPrefix(op.Path, "d/engine/") {
				return vfstest.Fault{Err: vfstest.ErrInjected}
			}
			return vfstest.Fault{}
		})
		a := row.send(c, id, proposal)
		c.CheckRefusal(a, 504, "OUTCOME_UNKNOWN", "")
		if !strings.Contains(a.Body, "may have been recorded") || !strings.Contains(a.Body, row.then) {
			t.Errorf("%s: %s", row.what, a.Body)
		}
		c.CheckRefusal(row.send(c, id, proposal), 503, "UNAVAILABLE", "")
		c.FS.Before(nil)
	}
}

// Every route that changes something describes the 504, and the page of the documentation
// lists each status that the description has.
func TestUnknownOutcomesAreDescribed(t *testing.T) {
	c, err := servertest.LoadContract(web.PartMarket, web.PartAccounts, web.PartLaunchpad)
	if err != nil {
		t.Fatal(err)
	}
	var statuses []string
	changes := 0
	for path, item := range c.Doc.Paths.Map() {
		for method, op := range item.Operations() {
			for status := range op.Responses.Map() {
				statuses = append(statuses, status)
			}
			has, changing := op.Responses.Status(504) != nil, method != http.MethodGet && method != http.MethodHead
			if has != changing {
				t.Errorf("%s %s: 504 described: %t", method, path, has)
			}
			if changing {
				changes++
				if !strings.Contains(describes(op.Responses.Status(504)), "OUTCOME_UNKNOWN") {
					t.Errorf("%s %s: 504 does not name its code", method, path)
				}
			}
		}
	}
	if changes < 9 {
		t.Errorf("%d routes that change something", changes)
	}
	page, err := os.ReadFile("../../docs/guide/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Errors\n")
	table, _, _ = strings.Cut(table, "\n## ")
	slices.Sort(statuses)
	for _, status := range slices.Compact(statuses) {
		if status >= "400" && !strings.Contains(table, status) {
			t.Errorf("the documentation does not list %s", status)
		}
	}
	if !strings.Contains(table, "OUTCOME_UNKNOWN") {
		t.Error("the documentation does not list OUTCOME_UNKNOWN")
	}
}

func describes(r *openapi3.ResponseRef) string {
	if r == nil || r.Value == nil || r.Value.Description == nil {
		return ""
	}
	return *r.Value.Description
}
