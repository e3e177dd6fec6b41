package cluster

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/test/harness"
)

// A replica has the client order ids by both rules: its state is the writer's after ids of Binance's interface were
// used again, repeated, canceled by ids of cancels, and repeated by the native API.
func TestReplicaHasTheClientOrderIDs(t *testing.T) {
	t.Parallel()
	at := harness.StreamAddress(t)
	writer := harness.Serve(t, nil, "--binance-listen", "127.0.0.1:0", "--pairs", "none", "--sim", "off", "--quiet",
		"--data-dir", t.TempDir(),
		"--journal", "embedded", "--set", "stream.listen="+at)
	line := writer.WaitLine("ready ")
	writer.TakeAddresses(line)
	_, facade, _ := strings.Cut(line, "binance=")
	facade, _, _ = strings.Cut(facade, " ")
	replica := harness.StartReplica(t, at)
	writer.Pair("BTC_USDT")
	u := writer.Trader()
	sent := 0
	send := func(method, params string, status int, want string) {
		t.Helper()
		sent++
		text := fmt.Sprintf("symbol=BTCUSDT&%s&recvWindow=%d&timestamp=%d", params, 5000+sent, time.Now().UnixMilli())
		mac := hmac.New(sha256.New, []byte(u.Private))
		mac.Write([]byte(text))
		a := writer.Do(method, fmt.Sprintf("http://%s/api/v3/order?%s&signature=%x", facade, text, mac.Sum(nil)), "",
			"X-MBX-APIKEY", u.Public)
		if a.Status != status || !strings.Contains(a.Body, want) {
			t.Fatalf("%s %s: %d %s", method, params, a.Status, a.Body)
		}
	}
	const bid = "side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=2"
	native := func(price int, id string) {
		t.Helper()
		a := writer.Call(200, "POST", "/orders",
			fmt.Sprintf(`{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit",`+
				`"price":%d,"amount":1,"selfTradePrevention":"cancel_maker","clientOrderId":"q","accountId":%q}`,
				price, u.ID))
		if fmt.Sprint(a["orderId"]) != id {
			t.Fatalf("%v", a)
		}
	}
	send("POST", bid+"&newClientOrderId=q", 200, `"orderId":1,`)
	send("POST", bid+"&newClientOrderId=q", 400, "Duplicate order sent.")
	send("DELETE", "origClientOrderId=q&newClientOrderId=x", 200, `"clientOrderId":"x"`)
	native(2, "1")
	send("POST", bid+"&newClientOrderId=q", 200, `"orderId":2,`)
	send("POST", bid, 200, `"orderId":3,`)
	send("DELETE", "origClientOrderId=q", 200, `"orderId":2,`)
	native(2, "2")
	send("POST", bid+"&newClientOrderId=q", 200, `"orderId":4,`)
	var w, r map[string]any
	harness.WaitFor(t, func() bool {
		w, r = writer.Call(200, "GET", "/state-hash", ""), replica.Call(200, "GET", "/state-hash", "")
		return fmt.Sprint(w["seq"]) == fmt.Sprint(r["seq"])
	})
	if w["hash"] == nil || fmt.Sprint(w) != fmt.Sprint(r) {
		t.Errorf("state hashes %v and %v", w, r)
	}
}
