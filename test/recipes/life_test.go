package recipes

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tickhive/tickhive/test/harness"
)

func TestUntilReadyOnlyTheEarlyRoutesAnswer(t *testing.T) {
	t.Parallel()
	in := harness.Serve(t, nil, "--backfill", "60d")
	in.TakeAddresses(in.WaitLine("listening "))
	for url, status := range map[string]int{
		in.Public + "/api/healthcheck":                       200,
		in.Public + "/api/status":                            200,
		in.Root + "/metrics":                                 200,
		in.Internal + "/ready":                               503,
		in.Internal + "/clock":                               503,
		in.Public + "/api/currencies":                        503,
		in.Public + "/api/tickers?currencyPairCode=BTC_USDT": 503,
		in.Public + "/no/such/path":                          404,
		in.Public + "/":                                      200,
		in.Public + "/status":                                200,
		in.Public + "/docs":                                  200,
	} {
		a := in.Do("GET", url, "")
		if a.Status != status {
			t.Errorf("%s: %d, want %d: %.200s", url, a.Status, status, a.Body)
		}
		if status == 503 && (a.Header.Get("Retry-After") == "" || !strings.Contains(a.Body, `"code":"UNAVAILABLE"`)) {
			t.Errorf("%s: %v %.200s", url, a.Header, a.Body)
		}
	}
	if a := in.Do("GET", in.Public+"/api/status", ""); !strings.Contains(a.Body, `"status":"recovering"`) {
		t.Errorf("%.200s", a.Body)
	}
}

func TestAMassCancelLetsOthersInAndSparesWhatComesLater(t *testing.T) {
	t.Parallel()
	in := harness.Start(t, "--pairs", "none", "--sim", "off")
	in.Pair("BTC_USDT")
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `,{"place":{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":%d,"amount":1}}`,
			100+i)
	}
	for range 5 {
		in.Call(200, "POST", "/orders/batch", `{"commands":[`+b.String()[1:]+`]}`)
	}
	var others sync.WaitGroup
	stop, placed := make(chan struct{}), 0
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				in.Limit("BTC_USDT", "buy", "99", "1")
				placed++
			}
		}
	})
	m := in.Call(200, "DELETE", "/orders?currencyPairCode=BTC_USDT", "")
	close(stop)
	others.Wait()
	canceled := 0
	if _, err := fmt.Sscan(fmt.Sprint(m["canceled"]), &canceled); err != nil {
		t.Fatal(err)
	}
	book := in.Do("GET", in.Internal+"/book/BTC_USDT", "").Body
	left := strings.Count(book, `"orderId"`)
	if canceled < 5000 || canceled+left != 5000+placed {
		t.Errorf("%d canceled, %d left, %d placed meanwhile", canceled, left, placed)
	}
	if strings.Contains(book, `"price":100.00`) {
		t.Error("an order that was open is left")
	}
}
