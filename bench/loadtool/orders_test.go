package loadtool

import (
	"testing"

	"github.com/tickhive/tickhive/bench/load"
	"github.com/tickhive/tickhive/client"
)

// A request that was never made belongs to the row of the request that the connections would have made in turn.
func TestThePlanOfOrdersIsWhatIsSent(t *testing.T) {
	m := &orderMix{
		signer: &signer{client: client.Client{PublicKey: "p", PrivateKey: "s"}}, host: "a", lanes: make([]lane, 3),
		pairs: []orderPair{{code: "A_B", bid: "97", ask: "103", amount: "1"}},
	}
	for i := range 3 * 19 * 11 {
		worker := i % len(m.lanes)
		if _, err := m.next(worker, nil); err != nil {
			t.Fatal(err)
		}
		if sent := m.lanes[worker].kind; m.planned(i) != sent {
			t.Fatalf("request %d is %s, planned %s", i, sent, m.planned(i))
		}
		body := `"7"`
		if m.lanes[worker].placing == listRoute {
			body = `{"id":"7"}`
		}
		if reason, _ := m.answered(worker, &load.Answer{Status: 200, Body: []byte(body)}); reason != "" {
			t.Fatal(reason)
		}
	}
}
