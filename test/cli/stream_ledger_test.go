package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// NATIVE and USBI belong to the ledger. Their owner receives their changes like other
// balances.
func TestTheBalancesChannelTellsOfTheLedgersCurrencies(t *testing.T) {
	t.Parallel()
	p := harness.StartEmpty(t)
	u := p.Voter(0, "150", "1")
	s, err := client.Dial(t.Context(), client.StreamURL(p.Public))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Authenticate(u.Public, u.Private, time.UnixMilli(1767225600000)); err != nil {
		t.Fatal(err)
	}
	if err := s.Send(client.Request{Op: "subscribe", Channel: "balances"}); err != nil {
		t.Fatal(err)
	}
	balancesUntil(t, s, `{"currencyCode":"NATIVE","free":150.0,"held":0.0,"total":150.0}`)
	if a := p.As(u, "/api/launchpad/spawn", `{"name":"A","symbol":"ALPHA"}`); a.Status != 200 {
		t.Fatal(a.Status, a.Body)
	}
	balancesUntil(t, s, `"balances":[{"currencyCode":"NATIVE","free":50.0,"held":0.0,"total":50.0}]`)
	p.Call(200, "POST", "/users/"+u.ID+"/withdrawals", `{"currencyCode":"USBI","amount":"1"}`)
	balancesUntil(t, s, `"balances":[{"currencyCode":"USBI","free":0.0,"held":0.0,"total":0.0}]`)
}

// balancesUntil reads messages until one contains the text.
func balancesUntil(t *testing.T, s *client.Stream, text string) {
	t.Helper()
	if err := s.SetReadDeadline(time.Now().Add(harness.Patience)); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := s.Next()
		if err != nil {
			t.Fatalf("waiting for %s: %v", text, err)
		}
		if strings.Contains(string(m.Raw), text) {
			return
		}
	}
}
