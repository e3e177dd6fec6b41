package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/server/servertest"
)

// The digits of an asset may change until it has a pair or a balance. A pair fits its assets, and makes unknown ones
// that fit.
func TestPairsFitTheDigitsOfTheirAssets(t *testing.T) {
	h := servertest.NewExchange(t)
	digits := func(symbol string, want int) {
		t.Helper()
		if a := h.MustInternal("GET", "/assets/"+symbol, ""); fmt.Sprint(a["digits"]) != fmt.Sprint(want) {
			t.Errorf("%v, want %d digits", a, want)
		}
	}
	a := h.MustInternal("POST", "/assets", `{"name":"Dollar","symbol":"USDX","digits":2,"type":"fiat","makerFee":null}`)
	if got := fmt.Sprintf("%v %v %v %v %v %v %v", a["symbol"], a["name"], a["digits"], a["type"], a["canDeposit"],
		a["makerFee"], a["takerFee"]); got != "USDX Dollar 2 fiat true <nil> 0.001" {
		t.Errorf("%s of %v", got, a)
	}
	if a := h.MustInternal("POST", "/assets", `{"symbol":"AAA"}`); a["name"] != "AAA" {
		t.Errorf("%v", a)
	}
	digits("AAA", 8)
	h.CheckRefusal("a repeat", h.CallInternal("POST", "/assets", `{"symbol":"AAA"}`), 409, "CONFLICT", "")
	for body, field := range map[string]string{
		`{}`: "symbol", `{"symbol":"aaa"}`: "symbol", `{"symbol":"` + strings.Repeat("A", 21) + `"}`: "symbol",
		`{"symbol":"BBB","digits":19}`: "digits", `{"symbol":"BBB","digits":-1}`: "digits",
		`{"symbol":"BBB","minWithdraw":2,"maxWithdraw":1}`: "minWithdraw",
	} {
		h.CheckRefusal(body, h.CallInternal("POST", "/assets", body), 400, "INVALID_PARAM", field)
	}
	inUse := func(symbol string, have, other int) {
		t.Helper()
		answer := h.CallInternal("PATCH", "/assets/"+symbol, fmt.Sprintf(`{"digits":%d}`, other))
		h.CheckRefusal(symbol+" is in use", answer, 409, "CONFLICT", "digits")
		h.MustInternal("PATCH", "/assets/"+symbol, fmt.Sprintf(`{"digits":%d,"name":"B"}`, have))
		digits(symbol, have)
	}
	h.MustInternal("PATCH", "/assets/AAA", `{"digits":3}`)
	h.Deposit(h.User(""), "AAA", "1.125")
	inUse("AAA", 3, 4)

	h.MustInternal("POST", "/pairs", `{"code":"AAA_USDX","digitsPrice":1,"digitsAmount":1}`)
	inUse("USDX", 2, 3)
	for body, want := range map[string]string{
		`{"code":"BBB_USDX","digitsPrice":2,"digitsAmount":1}`: "digitsPrice 2 + digitsAmount 1 is more " +
			"than the 2 digits of USDX.",
		`{"code":"AAA_CCC","digitsPrice":0,"digitsAmount":4}`: "digitsAmount 4 is more than the 3 digits of AAA.",
	} {
		answer := h.CallInternal("POST", "/pairs", body)
		h.CheckRefusal(body, answer, 400, "INVALID_PARAM", "digitsAmount")
		if !strings.Contains(answer.Body, want) {
			t.Errorf("%s: %s, want %s", body, answer.Body, want)
		}
	}
	for _, symbol := range []string{"BBB", "CCC"} { // a refused pair leaves no asset
		h.CheckRefusal(symbol, h.CallInternal("GET", "/assets/"+symbol, ""), 404, "NOT_FOUND", "symbol")
	}
	h.MustInternal("POST", "/pairs", `{"code":"SHIB_BTC","digitsPrice":10,"digitsAmount":0}`)
	digits("SHIB", 8)
	digits("BTC", 10)
	h.MustInternal("POST", "/pairs", `{"code":"DDD_EEE","digitsPrice":0,"digitsAmount":12}`)
	digits("DDD", 12)
	digits("EEE", 12)
}

// maxPrice and maxAmount limit orders, are shown, and are the default when they are null.
func TestPairsHaveALargestPriceAndAmount(t *testing.T) {
	h := servertest.NewExchange(t)
	limits := func(m map[string]any, want string) {
		t.Helper()
		if got := fmt.Sprint(m["maxPrice"], " ", m["maxAmount"]); got != want {
			t.Errorf("limits %s, want %s", got, want)
		}
	}
	refused := func(price, amount string) string {
		t.Helper()
		return fmt.Sprint(h.MustInternal("POST", "/orders", fmt.Sprintf(
			`{"currencyPairCode":"AA_BB","side":"buy","type":"limit","price":%q,"amount":%q}`, price,
			amount))["rejectReason"])
	}
	limits(h.MustInternal("POST", "/pairs",
		`{"code":"AA_BB","digitsPrice":2,"digitsAmount":1,"maxPrice":"1000.5","maxAmount":20}`), "1000.5 20.0")
	for _, c := range []struct{ price, amount, want string }{
		{"1000.5", "20", "<nil>"}, {"1000.51", "20", "price_out_of_range"}, {"1000.5", "20.1", "amount_out_of_range"},
	} {
		if got := refused(c.price, c.amount); got != c.want {
			t.Errorf("%s x %s: %s, want %s", c.price, c.amount, got, c.want)
		}
	}
	for body, field := range map[string]string{
		`{"maxPrice":0}`: "maxPrice", `{"maxPrice":-1}`: "maxPrice", `{"maxPrice":"1.001"}`: "maxPrice",
		`{"maxPrice":"92233720368547758.08"}`: "maxPrice", `{"maxPrice":"x"}`: "maxPrice",
		`{"maxAmount":0}`: "maxAmount", `{"maxAmount":"0.01"}`: "maxAmount",
		`{"maxAmount":"922337203685477580.8"}`: "maxAmount",
	} {
		h.CheckRefusal(body, h.CallInternal("PATCH", "/pairs/AA_BB", body), 400, "INVALID_PARAM", field)
	}
	limits(h.MustInternal("PATCH", "/pairs/AA_BB", `{"maxAmount":"922337203685477580.7"}`),
		"1000.5 922337203685477580.7")
	limits(h.MustInternal("PATCH", "/pairs/AA_BB", `{"maxPrice":null,"maxAmount":null}`), "<nil> <nil>")
	limits(h.MustInternal("GET", "/pairs/AA_BB", ""), "<nil> <nil>")
	for _, c := range []struct{ price, amount, want string }{
		{"9000000000", "0.1", "<nil>"},
		{"9000000000.01", "0.1", "price_out_of_range"},
		{"0.01", "9000000000", "<nil>"},
		{"0.01", "9000000000.1", "amount_out_of_range"},
	} {
		if got := refused(c.price, c.amount); got != c.want {
			t.Errorf("%s x %s: %s, want %s", c.price, c.amount, got, c.want)
		}
	}
}
