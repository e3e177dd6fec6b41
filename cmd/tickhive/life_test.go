package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
)

func TestUntilReadyOnlyTheEarlyRoutesAnswer(t *testing.T) {
	t.Parallel()
	in := launch(t, nil, "serve", "--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0", "--backfill", "60d")
	in.takeAddresses(in.waitLine("listening "))
	for url, status := range map[string]int{
		in.public + "/api/healthcheck":                       200,
		in.public + "/api/status":                            200,
		in.root + "/metrics":                                 200,
		in.internal + "/ready":                               503,
		in.internal + "/clock":                               503,
		in.public + "/api/currencies":                        503,
		in.public + "/api/tickers?currencyPairCode=BTC_USDT": 503,
		in.public + "/no/such/path":                          404,
		in.public + "/":                                      200,
		in.public + "/status":                                200,
		in.public + "/docs":                                  200,
	} {
		a := in.do("GET", url, "")
		if a.status != status {
			t.Errorf("%s: %d, want %d: %.200s", url, a.status, status, a.body)
		}
		if status == 503 && (a.header.Get("Retry-After") == "" || !strings.Contains(a.body, `"code":"UNAVAILABLE"`)) {
			t.Errorf("%s: %v %.200s", url, a.header, a.body)
		}
	}
	if a := in.do("GET", in.public+"/api/status", ""); !strings.Contains(a.body, `"status":"recovering"`) {
		t.Errorf("%.200s", a.body)
	}
}

func TestAMassCancelLetsOthersInAndSparesWhatComesLater(t *testing.T) {
	t.Parallel()
	in := start(t, "--pairs", "none", "--sim", "off")
	in.pair("BTC_USDT")
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `,{"place":{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":%d,"amount":1}}`,
			100+i)
	}
	for range 5 {
		in.call(200, "POST", "/orders/batch", `{"commands":[`+b.String()[1:]+`]}`)
	}
	var others sync.WaitGroup
	stop, placed := make(chan struct{}), 0
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				in.limit("BTC_USDT", "buy", "99", "1")
				placed++
			}
		}
	})
	m := in.call(200, "DELETE", "/orders?currencyPairCode=BTC_USDT", "")
	close(stop)
	others.Wait()
	canceled := 0
	if _, err := fmt.Sscan(fmt.Sprint(m["canceled"]), &canceled); err != nil {
		t.Fatal(err)
	}
	book := in.do("GET", in.internal+"/book/BTC_USDT", "").body
	left := strings.Count(book, `"orderId"`)
	if canceled < 5000 || canceled+left != 5000+placed {
		t.Errorf("%d canceled, %d left, %d placed meanwhile", canceled, left, placed)
	}
	if strings.Contains(book, `"price":100.00`) {
		t.Error("an order that was open is left")
	}
}

var tourLine = regexp.MustCompile(`^curl -s (?:--retry 9 --retry-connrefused )?(?:-X ([A-Z]+) )?'?([^' ]+)'?(?: -d ` +
	`'([^']+)')?$`)

func TestTheTourOfTheReadmeWorks(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	in := start(t, "--backfill", "5m")
	virtual := start(t, "--clock", "virtual", "--clock-start", "2026-01-01T00:00:00Z")
	lines := 0
	for line := range strings.SplitSeq(string(raw), "\n") {
		line = strings.Trim(line, "* `")
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		lines++
		m := tourLine.FindStringSubmatch(strings.TrimSuffix(line, "`"))
		if m == nil {
			t.Errorf("not understood: %s", line)
			continue
		}
		to := in
		if strings.HasSuffix(m[2], "/clock") {
			to = virtual
		}
		method := m[1]
		if method == "" {
			method = "GET"
			if m[3] != "" {
				method = "POST"
			}
		}
		url := strings.NewReplacer("127.0.0.1:8080", to.public, "127.0.0.1:8081", to.root).Replace(m[2])
		if a := to.do(method, url, m[3]); a.status != 200 || len(a.body) < 3 {
			t.Errorf("%s: %d %.200s", line, a.status, a.body)
		}
	}
	if lines < 12 {
		t.Errorf("only %d lines", lines)
	}
}
