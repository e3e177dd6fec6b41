package web_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// Each operation has an example of its body and of its JSON answer; LoadContract refuses one that
// its schema does not take.
func TestOperationsHaveValidExamples(t *testing.T) {
	for _, c := range servertest.Contracts(t) {
		bodies, answers := 0, 0
		for path, item := range c.Doc.Paths.Map() {
			for method, op := range item.Operations() {
				if op.RequestBody != nil {
					if bodies++; op.RequestBody.Value.Content.Get("application/json").Example == nil {
						t.Errorf("%s %s: the body has no example", method, path)
					}
				}
				ok := op.Responses.Value("200")
				if ok == nil {
					continue
				}
				media := ok.Value.Content["application/json"]
				if media == nil || media.Schema == nil {
					continue
				}
				if answers++; media.Example == nil {
					t.Errorf("%s %s: the answer has no example", method, path)
				}
			}
		}
		t.Logf("%d bodies and %d answers", bodies, answers)
		if bodies < 9 || answers < 44 {
			t.Errorf("%s: only %d bodies and %d answers", c.Doc.Info.Title, bodies, answers)
		}
	}
}

// The document keeps the digits of a decimal as an answer prints them.
func TestExamplesKeepTheirDigits(t *testing.T) {
	raw, err := servertest.PublicDocument()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Content map[string]struct{ Example json.RawMessage }
			}
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	balances := doc.Paths["/api/wallets/balances"]["get"].Responses["200"].Content["application/json"].Example
	if free := regexp.MustCompile(`"free":[0-9.]+`).Find(balances); !bytes.Contains(free, []byte(".")) {
		t.Errorf("a balance without a fraction: %s", balances)
	}
}
