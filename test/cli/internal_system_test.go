package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

func TestABatchIsAppliedInOrder(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	in.Pair("ETH_USDT")
	m := in.Call(200, "POST", "/orders/batch", `{"commands":[
		{"place":{"currencyPairCode":"BTC_USDT","side":"sell","type":"limit","price":100,"amount":1}},
		{"place":{"currencyPairCode":"ETH_USDT","side":"sell","type":"limit","price":10,"amount":1,`+
		`"clientOrderId":"e"}},
		{"place":{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":0.25}},
		{"replace":{"orderId":1,"amount":0.5}},
		{"cancel":{"orderId":1}},
		{"cancel":{"orderId":1}},
		{"cancel":{"orderId":99}},
		{"replace":{"orderId":1,"price":0.001}},
		{"cancel":{"orderId":9007199254740991}},
		{"place":{"currencyPairCode":"XX_YY","side":"buy","type":"limit","price":1.5,"amount":2}},
		{"place":{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":1.001,"amount":2}}]}`)
	results := m["results"].([]any)
	if len(results) != 11 {
		t.Fatalf("%v", m)
	}
	for i, want := range []map[string]string{
		{"orderId": "1", "status": "Created"},
		{"orderId": "68719476737", "clientOrderId": "e"},
		{"orderId": "2", "status": "Completed"},
		{"orderId": "1", "status": "PartiallyCompleted", "remainingAmount": "0.25000000"},
		{"orderId": "1", "status": "PartiallyExecutedAndCanceled"},
		{"orderId": "1", "status": "Rejected", "rejectReason": "order_closed"},
		{"orderId": "99", "status": "Rejected", "rejectReason": "unknown_order"},
		{"orderId": "1", "status": "Rejected", "rejectReason": "price_off_tick"},
		{"orderId": "9007199254740991", "status": "Rejected", "rejectReason": "unknown_order"},
		{"orderId": "null", "status": "Rejected", "rejectReason": "unknown_pair", "price": "1.5"},
		{"orderId": "null", "status": "Rejected", "rejectReason": "price_off_tick", "price": "1.001"},
	} {
		r := results[i].(map[string]any)
		expect(t, r, want)
		if members := len(r); members != len(orderKeys) && !(members == 3 && i >= 5 && i <= 8) {
			t.Errorf("result %d has %d members", i, members)
		}
	}
}

func TestABrokenBatchChangesNothing(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	good := `{"place":{"currencyPairCode":"BTC_USDT","side":"sell","type":"limit","price":100,"amount":1}}`
	for _, c := range []struct{ body, field string }{
		{
			`{"commands":[` + good +
				`,{"place":{"currencyPairCode":"BTC_USDT","side":"sell","type":"limit","price":true,"amount":1}}]}`,
			"commands[1].place.price",
		},
		{`{"commands":[` + good + `,{"cancel":{"orderId":1},"at":1}]}`, "commands[1].at"},
		{`{"commands":[{"cancel":{"orderId":1},"at":1767225601000000000},{"cancel":{"orderId":1},` +
			`"at":1767225600999999999}]}`, "commands[1].at"},
		{`{"commands":[` + strings.Repeat(good+",", 1000) + good + `]}`, "commands"},
		{`{"commands":[]}`, "commands"},
	} {
		in.Refuse(400, "INVALID_PARAM", c.field, "POST", "/orders/batch", c.body)
	}
	m := in.Call(200, "GET", "/book/BTC_USDT", "")
	expect(t, m, map[string]string{"seq": "1", "asks": "[]"})
	expect(t, in.Call(200, "GET", "/clock", ""), map[string]string{"nowNs": "1767225600000000000"})
}

func TestABatchMovesTheVirtualClock(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	m := in.Call(200, "POST", "/orders/batch", `{"commands":[
		{"place":{"currencyPairCode":"BTC_USDT","side":"sell","type":"limit","price":100,"amount":1}},
		{"place":{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":1},`+
		`"at":1767225601000000007},
		{"place":{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":99,"amount":1}}]}`)
	for i, want := range []string{"1767225600000000000", "1767225601000000007", "1767225601000000007"} {
		expect(t, m["results"].([]any)[i].(map[string]any), map[string]string{"createdAtNs": want})
	}
	expect(t, in.Call(200, "GET", "/clock", ""),
		map[string]string{"nowNs": "1767225601000000007", "now": "1767225601000"})
	if a := in.Do("GET", in.Public+"/api/deals?currencyPairCode=BTC_USDT", ""); !strings.Contains(a.Body,
		`"dealDateUtc":"2026-01-01T00:00:01.0000000Z"`) {
		t.Errorf("%s", a.Body)
	}
}

func TestAtNeedsAVirtualClock(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--pairs", "none", "--sim", "off")
	in.Pair("BTC_USDT")
	in.Refuse(400, "INVALID_PARAM", "commands[0].at", "POST", "/orders/batch",
		`{"commands":[{"cancel":{"orderId":1},"at":1}]}`)
	in.Refuse(409, "CONFLICT", "", "POST", "/clock", `{"advance":"1h"}`)
	in.Refuse(400, "INVALID_PARAM", "advance", "POST", "/clock", `{"advance":"soon"}`)
}

func TestTheVirtualClock(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	expect(t, in.Call(200, "GET", "/clock", ""),
		map[string]string{"now": "1767225600000", "nowNs": "1767225600000000000", "seq": "0"})
	in.Pair("BTC_USDT")
	expect(t, in.Call(200, "POST", "/clock", `{"advance":"1d2h"}`),
		map[string]string{"now": "1767319200000", "seq": "1"})
	expect(t, in.Call(200, "POST", "/clock", `{"to":1767319200500}`), map[string]string{"now": "1767319200500"})
	expect(t, in.Call(200, "POST", "/clock", `{"advance":"0s"}`), map[string]string{"now": "1767319200500"})
	for _, c := range []struct{ body, field string }{
		{`{}`, "advance"},
		{`{"advance":"1h","to":1}`, "to"},
		{`{"advance":"-1s"}`, "advance"},
		{`{"advance":"367d"}`, "advance"},
		{`{"advance":3600}`, "advance"},
		{`{"to":1767319200499}`, "to"},
		{`{"to":"1767319200501"}`, "to"},
		{`{"to":1767319200501.5}`, "to"},
		{`{"by":"1h"}`, "by"},
	} {
		in.Refuse(400, "INVALID_PARAM", c.field, "POST", "/clock", c.body)
	}
	if a := in.Do("GET", in.Public+"/api/time", ""); !strings.Contains(a.Body, `"serverTime":1767319200500`) {
		t.Errorf("%s", a.Body)
	}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	m := in.Call(200, "POST", "/pairs", `{"code":"AB_CD","digitsPrice":3,"digitsAmount":0}`)
	expect(t, m, map[string]string{
		"code": "AB_CD", "digitsPrice": "3", "digitsAmount": "0", "minQuoteAmount": "null", "state": "online",
		"makerFee": "0.001", "takerFee": "0.001", "maxQuoteAmount": "null", "priceBandUp": "null",
		"priceBandDown": "null", "maxPrice": "null", "maxAmount": "null",
	})
	if len(m) != 12 {
		t.Errorf("%v", m)
	}
	expect(t, in.Call(200, "PATCH", "/pairs/AB_CD",
		`{"minQuoteAmount":"10.50","state":"post_only","makerFee":0,"takerFee":0.00000001}`),
		map[string]string{"minQuoteAmount": "10.5", "state": "post_only", "makerFee": "0.0", "takerFee": "0.00000001"})
	expect(t, in.Call(200, "PATCH", "/pairs/AB_CD", `{"minQuoteAmount":null}`),
		map[string]string{"minQuoteAmount": "null", "state": "post_only"})
	limits := map[string]string{"maxQuoteAmount": "99.999", "priceBandUp": "1.5", "priceBandDown": "0.00000001"}
	expect(t, in.Call(200, "PATCH", "/pairs/AB_CD",
		`{"maxQuoteAmount":99.999,"priceBandUp":"1.50","priceBandDown":0.00000001}`), limits)
	expect(t, in.Call(200, "PATCH", "/pairs/AB_CD", `{}`), limits)
	expect(t, in.Call(200, "PATCH", "/pairs/AB_CD", `{"maxQuoteAmount":null,"priceBandUp":null,"priceBandDown":null}`),
		map[string]string{"maxQuoteAmount": "null", "priceBandUp": "null", "priceBandDown": "null"})
	expect(t, in.Call(200, "GET", "/pairs/AB_CD", ""),
		map[string]string{"takerFee": "0.00000001", "state": "post_only"})
	in.Refuse(409, "CONFLICT", "", "POST", "/pairs", `{"code":"AB_CD","digitsPrice":3,"digitsAmount":0}`)
	for _, c := range []struct{ method, path, body, field string }{
		{"POST", "/pairs", `{"digitsPrice":3,"digitsAmount":0}`, "code"},
		{"POST", "/pairs", `{"code":"ab_cd","digitsPrice":3,"digitsAmount":0}`, "code"},
		{"POST", "/pairs", `{"code":"AB_AB","digitsPrice":3,"digitsAmount":0}`, "code"},
		{"POST", "/pairs", `{"code":"AB_EF","digitsAmount":0}`, "digitsPrice"},
		{"POST", "/pairs", `{"code":"AB_EF","digitsPrice":19,"digitsAmount":0}`, "digitsPrice"},
		{"POST", "/pairs", `{"code":"AB_EF","digitsPrice":10,"digitsAmount":9}`, "digitsAmount"},
		{
			"POST", "/pairs", `{"code":"AB_EF","digitsPrice":1,"digitsAmount":1,"minQuoteAmount":0.001}`,
			"minQuoteAmount",
		},
		{"POST", "/pairs", `{"code":"AB_EF","digitsPrice":1,"digitsAmount":1,"minQuoteAmount":-1}`, "minQuoteAmount"},
		{"PATCH", "/pairs/AB_CD", `{"maxQuoteAmount":0}`, "maxQuoteAmount"},
		{"PATCH", "/pairs/AB_CD", `{"maxQuoteAmount":-1}`, "maxQuoteAmount"},
		{"PATCH", "/pairs/AB_CD", `{"maxQuoteAmount":0.0001}`, "maxQuoteAmount"},
		{"PATCH", "/pairs/AB_CD", `{"maxQuoteAmount":100000000000000000000000000000}`, "maxQuoteAmount"},
		{"PATCH", "/pairs/AB_CD", `{"minQuoteAmount":2,"maxQuoteAmount":1}`, "maxQuoteAmount"},
		{"PATCH", "/pairs/AB_CD", `{"priceBandUp":0.99}`, "priceBandUp"},
		{"PATCH", "/pairs/AB_CD", `{"priceBandUp":1000000.1}`, "priceBandUp"},
		{"PATCH", "/pairs/AB_CD", `{"priceBandUp":1.000000001}`, "priceBandUp"},
		{"PATCH", "/pairs/AB_CD", `{"priceBandDown":0}`, "priceBandDown"},
		{"PATCH", "/pairs/AB_CD", `{"priceBandDown":1.1}`, "priceBandDown"},
		{"PATCH", "/pairs/AB_CD", `{"priceBandDown":-0.5}`, "priceBandDown"},
		{"POST", "/pairs", `{"code":"AB_EF","digitsPrice":1,"digitsAmount":1,"state":"open"}`, "state"},
		{"POST", "/pairs", `{"code":"AB_EF","digitsPrice":1,"digitsAmount":1,"makerFee":1.1}`, "makerFee"},
		{"PATCH", "/pairs/AB_CD", `{"code":"AB_CD"}`, "code"},
		{"PATCH", "/pairs/AB_CD", `{"takerFee":0.123456789}`, "takerFee"},
	} {
		in.Refuse(400, "INVALID_PARAM", c.field, c.method, c.path, c.body)
	}
	in.Refuse(404, "NOT_FOUND", "code", "GET", "/pairs/XX_YY", "")
	in.Refuse(404, "NOT_FOUND", "code", "PATCH", "/pairs/XX_YY", `{}`)
	in.Refuse(400, "INVALID_PARAM", "code", "GET", "/pairs/xx", "")
	in.Refuse(404, "NOT_FOUND", "pair", "GET", "/book/XX_YY", "")
	in.Refuse(400, "INVALID_PARAM", "depth", "GET", "/book/AB_CD?depth=-1", "")
	if a := in.Do("GET", in.Public+"/api/currencies/pairs", ""); !strings.Contains(a.Body, `"code":"AB_CD"`) {
		t.Errorf("%s", a.Body)
	}
}

func TestNewCurrenciesBecomeAssetsAndChange(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("AB_CD")
	m := in.Call(200, "GET", "/assets/AB", "")
	expect(t, m, map[string]string{
		"symbol": "AB", "name": "AB", "type": "cryptocurrency", "digits": "8", "unifiedCryptoassetId": "null",
		"canWithdraw": "true", "canDeposit": "true", "minWithdraw": "null", "maxWithdraw": "null", "makerFee": "0.001",
		"takerFee": "0.001",
	})
	if len(m) != 11 {
		t.Errorf("%v", m)
	}
	m = in.Call(200, "PATCH", "/assets/AB", `{"name":"Ab \"coin\"","type":"fiat","unifiedCryptoassetId":7,`+
		`"canWithdraw":false,
		"minWithdraw":"0.000000000000000001","maxWithdraw":99999999999999999999,"makerFee":null,"takerFee":0.5}`)
	expect(t, m, map[string]string{
		"name": `Ab "coin"`, "type": "fiat", "unifiedCryptoassetId": "7", "canWithdraw": "false", "canDeposit": "true",
		"minWithdraw": "0.000000000000000001", "maxWithdraw": "99999999999999999999.0", "makerFee": "null",
		"takerFee": "0.5",
	})
	expect(t, in.Call(200, "PATCH", "/assets/AB", `{"unifiedCryptoassetId":null}`),
		map[string]string{"unifiedCryptoassetId": "null", "type": "fiat"})
	for _, c := range []struct{ body, field string }{
		{`{"symbol":"AB"}`, "symbol"},
		{`{"type":"coin"}`, "type"},
		{`{"canDeposit":"yes"}`, "canDeposit"},
		{`{"minWithdraw":-1}`, "minWithdraw"},
		{`{"makerFee":2}`, "makerFee"},
		{`{"unifiedCryptoassetId":1.5}`, "unifiedCryptoassetId"},
		{`{"minWithdraw":5,"maxWithdraw":4}`, "minWithdraw"},
		{`{"name":"` + strings.Repeat("x", 65) + `"}`, "name"},
	} {
		in.Refuse(400, "INVALID_PARAM", c.field, "PATCH", "/assets/AB", c.body)
	}
	in.Refuse(404, "NOT_FOUND", "symbol", "GET", "/assets/ZZ", "")
	in.Refuse(404, "NOT_FOUND", "symbol", "PATCH", "/assets/ZZ", `{}`)
	a := in.Do("GET", in.Public+"/api/marketdata/getaggregator/asset", "")
	if !strings.Contains(a.Body, `"AB":{"name":"Ab \"coin\"","unified_cryptoasset_id":null,"can_withdraw":false`) {
		t.Errorf("the change is not on the public route: %s", a.Body)
	}
}

func TestTheStateHashSeesEveryChange(t *testing.T) {
	t.Parallel()
	in := harness.StartEmpty(t)
	in.Pair("BTC_USDT")
	seen := map[string]string{}
	look := func(after string) {
		m := in.Call(200, "GET", "/state-hash", "")
		hash, _ := m["hash"].(string)
		if len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
			t.Fatalf("%v", m)
		}
		if before, ok := seen[hash]; ok {
			t.Errorf("the same hash after %s and after %s", before, after)
		}
		seen[hash] = after
	}
	look("start")
	for i, step := range []string{
		`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":1}`,
		`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":100,"amount":1,"clientOrderId":"x"}`,
		`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":99,"amount":9,"displayAmount":1}`,
		`{"currencyPairCode":"BTC_USDT","side":"sell","type":"stop_market","stopPrice":50,"amount":1}`,
		`{"currencyPairCode":"BTC_USDT","side":"sell","type":"market","amount":0.5}`,
		`{"currencyPairCode":"BTC_USDT","side":"sell","type":"limit","price":0.001,"amount":0.5}`,
	} {
		in.Call(200, "POST", "/orders", step)
		look(fmt.Sprint("step ", i))
	}
	in.Call(200, "PATCH", "/pairs/BTC_USDT", `{"state":"halted"}`)
	look("state")
	in.Pair("ETH_USDT")
	look("pair")
	m := in.Call(200, "GET", "/state-hash", "")
	pairs := m["pairs"].([]any)
	if len(pairs) != 2 {
		t.Fatalf("%v", m)
	}
	expect(t, pairs[1].(map[string]any), map[string]string{"currencyPairCode": "ETH_USDT", "seq": "1"})
	in.Call(200, "POST", "/clock", `{"advance":"1h"}`)
	if again := in.Call(200, "GET", "/state-hash", ""); again["hash"] != m["hash"] {
		t.Error("the time of asking is in the hash")
	}
}
