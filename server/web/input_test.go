package web_test

import (
	"encoding/json"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
	"github.com/tickhive/tickhive/server/web"
)

// The description of a request takes each form of a decimal that the server takes, and refuses the others; the
// description of an answer that may be null takes null.
func TestDescribedInputsAreTheAcceptedOnes(t *testing.T) {
	c, err := servertest.LoadContract(web.PartMarket, web.PartAccounts)
	if err != nil {
		t.Fatal(err)
	}
	fits := func(schema, text string) bool {
		t.Helper()
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		s := c.Doc.Components.Schemas[schema]
		if s == nil {
			t.Fatalf("there is no schema %s", schema)
		}
		return s.Value.VisitJSON(v) == nil
	}
	const order = `{"currencyPairCode":"BTC_USDT","side":"buy","amount":`
	for amount, want := range map[string]bool{
		`1`: true, `0.01`: true, `"1000"`: true, `"0.01"`: true, `"-5"`: true,
		`"1."`: false, `"1e3"`: false, `".5"`: false, `true`: false, `"0.1234567890123456789"`: false,
	} {
		if got := fits("CreateOrderRequest", order+amount+`,"price":"1000"}`); got != want {
			t.Errorf("an order with the amount %s fits: %t, want %t", amount, got, want)
		}
	}
	if !fits("NullableInviter", "null") || fits("NullableInviter", "{}") || fits("Inviter", "null") {
		t.Error("NullableInviter is not an Inviter or null")
	}
}
