package reports

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/test/nets"
)

// answers are reports of headers, of test users and of faults on demand.
var answers = []report{
	{
		says: "a page of another origin reads the headers of paging and of sequence numbers, also of errors",
		sources: "kimai/kimai#6073 WP-API/WP-API#542 esi/esi-issues#656 " +
			"e2b-dev/infra#3388 BTCMarkets/API#204",
		try: func(m *market) {
			for target, status := range map[string]int{
				"/api/deals?currencyPairCode=" + m.pair: 200, "/api/deals?currencyPairCode=A": 400,
				"/api/tickers?currencyPairCode=A_B0": 404, "/udf/time": 200, "/api/status": 200,
			} {
				a := m.Send(nil, http.MethodGet, target, "")
				m.is(target, a.Status, status)
				m.is(target, a.Header.Get("Access-Control-Allow-Origin"), "*")
				exposed := strings.Split(a.Header.Get("Access-Control-Expose-Headers"), ", ")
				for _, name := range []string{
					"ETag", "Retry-After", "X-Next-Cursor", "X-Next-Start", "X-Truncated", "X-Seq", "X-Request-Id",
				} {
					m.is(target+" exposes "+name, slices.Contains(exposed, name), true)
				}
			}
		},
	},
	{
		says:    "a cached document says that it varies by its encoding, also as 304",
		sources: "sourcemeta/one#1018",
		try: func(m *market) {
			for _, encoding := range []string{"gzip", "identity"} {
				tag := ""
				for _, status := range []int{http.StatusOK, http.StatusNotModified} {
					target := m.x.URL + "/api/currencies"
					req, err := http.NewRequestWithContext(m.T.Context(), http.MethodGet, target, nil)
					m.must(err)
					req.Header = http.Header{"Accept-Encoding": {encoding}, "If-None-Match": {tag}}
					if tag == "" {
						delete(req.Header, "If-None-Match")
					}
					resp, err := http.DefaultClient.Do(req)
					m.must(err)
					m.must(resp.Body.Close())
					tag = resp.Header.Get("ETag")
					m.is(encoding, words(resp.StatusCode, resp.Header.Get("Vary")), words(status, "Accept-Encoding"))
				}
			}
		},
	},
	{
		says: "a body comes slowly, empty or broken where a rule says so, and right behind the rule",
		sources: "wiremock/wiremock#146 wiremock/wiremock#472 wiremock/wiremock#568 wiremock/WireMock.Net#103 " +
			"wiremock/WireMock.Net#343",
		try: func(m *market) {
			const target = "/api/currencies/pairs"
			right := m.OK(nil, http.MethodGet, target, "")
			for rule, want := range map[string]string{
				"slow chunk=1000 every=1ms":    "200 application/json; charset=utf-8 " + right.Body,
				"empty":                        "200 application/json; charset=utf-8 ",
				"html status=503":              "503 text/html; charset=utf-8 <!",
				"broken-json keep=20":          "200 application/json; charset=utf-8 " + right.Body[:20],
				"content-type type=text/plain": "200 text/plain " + right.Body,
			} {
				m.x.Fault(rule + " count=1 route=" + target)
				a := m.Send(nil, http.MethodGet, target, "")
				if strings.HasPrefix(rule, "html") {
					a.Body = a.Body[:2]
				}
				m.is(rule, words(a.Status, a.Header.Get("Content-Type"), a.Body), want)
				m.is("behind "+rule, m.OK(nil, http.MethodGet, target, "").Body, right.Body)
			}
		},
	},
	{
		says:    "a test account gets its money once more, and others as much as a deposit says",
		sources: "binance/binance-api-postman#244 binance/binance-public-data#407",
		try: func(m *market) {
			a := m.Call(http.MethodPost, "/demo-accounts", "")
			key := fmt.Sprint(a["publicKey"])
			m.Call(http.MethodPost, "/demo-accounts/funds", `{"publicKey":"`+key+`"}`)
			user := m.Call(http.MethodGet, "/users/"+fmt.Sprint(a["userId"]), "")
			balances := map[string]string{}
			for _, b := range user["balances"].([]any) {
				row := b.(map[string]any)
				balances[fmt.Sprint(row["currencyCode"])] = nets.Trim(client.Decimal(fmt.Sprint(row["free"])))
			}
			m.is("funds", len(a["funds"].([]any)) > 1, true)
			m.is("twice the money", balances["USDT"], "20000")
			m.Call(http.MethodPost, "/users/"+m.me.ID+"/deposits", `{"currencyCode":"`+m.base+`","amount":5}`)
			m.me.has(m.base, "1000005", "0")
		},
	},
	{
		says:    "a wrong key is refused at once, with what is wrong",
		sources: "chrisleekr/binance-trading-bot#636 chrisleekr/binance-trading-bot#640",
		try: func(m *market) {
			wrong := m.me.User
			wrong.Private = m.other.Private
			a := m.Send(&wrong, http.MethodGet, "/api/wallets/balances", "")
			m.is("a wrong signature", fmt.Sprint(a.Status, strings.Contains(a.Body, `"UNAUTHORIZED"`)), "401 true")
			m.is("a wrong signature", m.refusal(m.Binanced(&wrong, http.MethodGet, "/api/v3/account")), "400 -1022")
			wrong.Public = strings.Repeat("0", len(wrong.Public))
			m.is("an unknown key", m.refusal(m.Binanced(&wrong, http.MethodGet, "/api/v3/account")), "401 -2015")
			nobody := m.Binanced(nil, http.MethodGet, "/api/v3/account?timestamp=1&signature=2")
			m.is("no key", m.refusal(nobody), "401 -2014")
			m.is("the right key", m.Binanced(&m.me.User, http.MethodGet, "/api/v3/account").Status, http.StatusOK)
		},
	},
}
