package loadtool

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

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

// lossy is an exchange with open orders that loses answers.
type lossy struct {
	open []string // ids
	lose int      // batches whose answers are lost, although they are carried out in part
	keep bool     // no order can be canceled
	sent int      // batches that it received
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"results":[]}`
	if r.Method == http.MethodGet {
		rows := []string{`{"id":"other","clientOrderId":"mine"}`}
		for _, id := range l.open[:min(len(l.open), 100)] {
			rows = append(rows, fmt.Sprintf(`{"id":%q,"clientOrderId":"load-1-%s"}`, id, id))
		}
		body = "[" + strings.Join(rows, ",") + "]"
	} else {
		var batch struct{ Commands []json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
			return nil, err
		}
		l.sent++
		n := len(batch.Commands)
		if l.keep {
			n = 0
		}
		if l.sent <= l.lose {
			l.open = l.open[n/2:]
			return nil, io.EOF
		}
		l.open = l.open[n:]
		body = `{"results":[` + strings.TrimSuffix(strings.Repeat(`{},`, n), ",") + `]}`
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// The orders of a run are canceled although answers are lost and a list has not all of them. When that fails, the error
// says what is left and how to cancel it.
func TestTheCleanUpTriesAgain(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		x     lossy
		sent  int
		clean bool
	}{
		"no answer is lost":   {lossy{}, 3, true},
		"four are lost":       {lossy{lose: cleanTries - 1}, cleanTries + 1, true},
		"every one is lost":   {lossy{lose: 100, keep: true}, cleanTries, false},
		"nothing is canceled": {lossy{keep: true}, cleanTries, false},
	} {
		x := &c.x
		for i := range 250 {
			x.open = append(x.open, fmt.Sprint(i))
		}
		m := &orderMix{signer: &signer{}, prefix: "load-1-", pairs: []orderPair{{code: "AA_BB"}, {code: "CC_DD"}}}
		m.client = client.Client{
			Base: "http://x", HTTP: &http.Client{Transport: x}, PublicKey: "p", PrivateKey: "s", Now: time.Now,
		}
		err := m.clean(t.Context())
		if (err == nil) != c.clean || (len(x.open) == 0) != c.clean || c.clean && x.sent > c.sent ||
			!c.clean && x.sent != c.sent {
			t.Errorf("%s: %v, %d batches, %d open", what, err, x.sent, len(x.open))
		}
		const want = "load-1- may still be open on AA_BB, CC_DD; a signed DELETE /api/orders?currencyPairCode=AA_BB"
		if !c.clean && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
