package binance_test

import (
	"strings"
	"testing"
)

// What the wallet says of a key and of an account is that of the native API.
func TestTheWalletSaysWhatIsTrueHere(t *testing.T) {
	r, a, _ := funded(t)
	key := r.Call("POST", "/users/"+a.id+"/apikeys", `{"name":"reads","canTrade":false,"canWithdraw":true,`+
		`"ipWhitelist":["127.0.0.0/8"]}`)
	reads := r.withKey(a.id, key["publicKey"].(string), key["privateKey"].(string))
	says := func(u *user, method, path, params, want string, not ...string) {
		t.Helper()
		status, body := u.raw(method, path, params)
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s?%s: %d %s, want %s", path, params, status, body, want)
		}
		for _, not := range not {
			if strings.Contains(body, not) {
				t.Errorf("%s?%s: %s", path, params, body)
			}
		}
	}
	const restrictions = "/sapi/v1/account/apiRestrictions"
	says(a, "GET", restrictions, "", `{"ipRestrict":false,"createTime":1767225600000,"enableReading":true,`+
		`"enableWithdrawals":false,`)
	says(a, "GET", restrictions, "", `"enableSpotAndMarginTrading":true,`, `"enableMargin":true`)
	says(reads, "GET", restrictions, "", `{"ipRestrict":true,"createTime":1767225600000,"enableReading":true,`+
		`"enableWithdrawals":true,`)
	says(reads, "GET", restrictions, "", `"enableSpotAndMarginTrading":false,`)
	const assets = "/sapi/v3/asset/getUserAsset"
	says(a, "POST", assets, "", `[{"asset":"BTC","free":"100.00000000","locked":"0.00000000",`, `"ETH"`)
	says(a, "POST", assets, "asset=USDT&needBtcValuation=false", `[{"asset":"USDT",`, `"BTC"`)
	a.fails("POST", assets, "needBtcValuation=true", 400, `{"code":-1130,`)
	says(a, "GET", "/sapi/v1/asset/assetDetail", "", `"USDT":{"minWithdrawAmount":"0","depositStatus":false,`)
	a.fails("GET", "/sapi/v1/accountSnapshot", "type=MARGIN", 400, `{"code":-1130,`)
	a.fails("GET", "/sapi/v1/accountSnapshot", "", 400, `{"code":-1102,`)
	a.fails("GET", "/sapi/v1/capital/deposit/hisrec", "network=BTC", 400, `{"code":-1104,`)
	a.fails("GET", "/sapi/v1/capital/deposit/address", "coin=BTC", 404, `{"code":-1020,`)
	for _, earn := range []string{"flexible", "locked"} {
		path := "/sapi/v1/simple-earn/" + earn + "/position"
		says(a, "GET", path, "asset=USDT&current=1&size=100", `{"rows":[],"total":0}`)
	}
	says(a, "POST", "/sapi/v1/asset/get-funding-asset", "needBtcValuation=true", `[]`)
	const trading = "/sapi/v1/account/apiTradingStatus"
	says(a, "GET", trading, "", `{"data":{"isLocked":false,`)
	r.Call("POST", "/users/"+a.id+"/halt", `{}`)
	says(a, "GET", trading, "", `{"data":{"isLocked":true,`)
}
