package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/client"

	"github.com/tickhive/tickhive/test/harness"
)

// people holds the users of a golden run.
type people struct {
	alice *harness.Voter // level 25, ambassador, trades
	bob   *harness.Voter // invited by alice's link, trades
	carol *harness.Voter // invited by bob, level 19
}

// One run through every route, every stream message, every record of the log and every
// snapshot produces the bytes in testdata/golden.
func TestGoldenRun(t *testing.T) {
	g := newGolden(t, serveFlags{Set: []string{
		"server.trusted_proxies=127.0.0.1", "hive.quorum=5", "auth.legacy=true", "auth.public_url=http://golden.test",
		"referral.bonus_share=0.1",
	}})
	g.early()
	g.ready()
	g.setUp()
	who := g.users()
	g.orders(who)
	g.market()
	g.aggregator()
	g.udf()
	g.trading(who)
	g.accounts(who)
	token := g.launchpad(who)
	g.hive(who, token)
	g.streams(who)
	g.guard(who)
	g.system()
	g.edge(who)
	g.pages()
	g.routesAnswered()
	g.routesDocumented()
	g.metricTexts()
	g.stop()
	g.logs()
	g.snapshots()
	g.commands()
	g.messageTexts()
	g.compare()
}

// early sends requests before the start has ended.
func (g *golden) early() {
	g.area = "system"
	g.note("before the program is ready")
	g.get("/api/healthcheck")
	g.get("/api/status")
	g.get("/api/time")
	g.get("/api/tickers?currencyPairCode=BTC_USDT")
	g.in("GET", "/ready", "")
	g.in("GET", "/clock", "")
	g.get("/healthz")
	g.get("/readyz")
}

func (g *golden) setUp() {
	g.area = "internal"
	g.in("GET", "/ready", "")
	g.in("GET", "/clock", "")
	g.in("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":8}`)
	g.in("POST", "/pairs",
		`{"code":"ETH_USDT","digitsPrice":2,"digitsAmount":4,"minQuoteAmount":"10","makerFee":"0.0005",`+
			`"takerFee":0.002}`)
	g.in("POST", "/pairs", `{"code":"DOGE_BTC","digitsPrice":8,"digitsAmount":0,"state":"post_only"}`)
	g.in("POST", "/pairs", `{"code":"BTC_USDT","digitsPrice":2,"digitsAmount":8}`)
	g.in("POST", "/pairs", `{"code":"btc","digitsPrice":19,"digitsAmount":"x","nope":1}`)
	g.in("GET", "/pairs/ETH_USDT", "")
	g.in("GET", "/pairs/NO_PAIR", "")
	g.in("PATCH", "/pairs/DOGE_BTC", `{"state":"online","minQuoteAmount":null}`)
	g.in("PATCH", "/pairs/DOGE_BTC", `{"state":"open"}`)
	g.in("PATCH", "/assets/BTC",
		`{"name":"Bitcoin","unifiedCryptoassetId":1,"minWithdraw":"0.001","maxWithdraw":100,"makerFee":"0.001",`+
			`"takerFee":null}`)
	g.in("PATCH", "/assets/USDT", `{"name":"Tether","type":"cryptocurrency","canWithdraw":true}`)
	g.in("GET", "/assets/USDT", "")
	g.in("GET", "/assets/XYZ", "")
	g.in("POST", "/assets", `{"symbol":"POINT","name":"Point","digits":2}`)
	g.in("POST", "/assets", `{"symbol":"POINT"}`)
	g.in("PATCH", "/assets/POINT", `{"digits":0}`)
	g.in("PATCH", "/assets/USDT", `{"digits":2}`)
	g.in("POST", "/pairs", `{"code":"POINT_USDT","digitsPrice":2,"digitsAmount":1}`)
	g.in("PATCH", "/log", `{"level":"error"}`)
	g.in("GET", "/log", "")
	g.in("POST", "/clock", `{"advance":"-1s"}`)
	g.in("POST", "/clock", `{"advance":"1s","to":1}`)
	g.in("POST", "/clock", `{"speed":0,"to":1}`)
	g.in("POST", "/clock", `{"speed":0}`)
	g.in("GET", "/sim", "")
	g.in("PATCH", "/sim", `{"paused":true}`)
	g.in("PATCH", "/sim", `{"scenario":"storm"}`)
	g.in("POST", "/clock/accept", "")
}

func (g *golden) users() people {
	g.area = "internal"
	w := people{
		alice: g.member(`{"nickname":"alice","level":25,"isAmbassador":true,"secondLevelPercent":12.5,` +
			`"stakingLevel":"R3"}`),
		bob:   g.member(`{"name":"Bob","secondName":null,"stakingLevel":"R1"}`),
		carol: g.member(`{"nickname":"carol","level":19}`),
	}
	g.in("POST", "/users", `{"nickname":"alice"}`)
	g.in("POST", "/users", `{"level":31}`)
	g.in("PATCH", "/users/"+w.carol.ID, `{"dealBidDiscountFraction":"0.25","avatarId":"simple"}`)
	for _, u := range []*harness.Voter{w.alice, w.bob, w.carol} {
		g.in("POST", "/users/"+u.ID+"/deposits", `{"currencyCode":"USDT","amount":"100000"}`)
		g.in("POST", "/users/"+u.ID+"/deposits", `{"currencyCode":"BTC","amount":2.5}`)
		g.in("POST", "/users/"+u.ID+"/deposits", `{"currencyCode":"NATIVE","amount":250}`)
		g.in("POST", "/users/"+u.ID+"/deposits", `{"currencyCode":"USBI","amount":5000}`)
	}
	link := harness.Object(g.t, g.as(w.alice, "POST", "/api/affiliate/ambassadors/links", `{"discountPercent":20}`))
	g.as(w.bob, "POST", "/api/affiliate/inviters/my", fmt.Sprintf(`{"inviteCode":%q}`, link["code"]))
	code := harness.Object(g.t, g.as(w.bob, "GET", "/api/affiliate/invite-code", ""))
	g.as(w.carol, "POST", "/api/affiliate/inviters/my", fmt.Sprintf(`{"inviteCode":%q}`, code["inviteCode"]))
	g.in("POST", "/users/"+w.carol.ID+"/withdrawals", `{"currencyCode":"BTC","amount":"0.5"}`)
	g.in("POST", "/users/"+w.carol.ID+"/withdrawals", `{"currencyCode":"BTC","amount":"50"}`)
	g.in("POST", "/users/"+w.carol.ID+"/withdrawals", `{"currencyCode":"BTC","amount":"0.0001"}`)
	g.in("POST", "/users/"+w.carol.ID+"/withdrawals", `{"currencyCode":"USBI","amount":"1"}`)
	g.in("POST", "/users/"+w.carol.ID+"/profits", `{"profitType":"StakeAccrual","currencyCode":"USDT","amount":10}`)
	g.in("POST", "/users/"+w.carol.ID+"/profits", `{"profitType":40,"currencyCode":"USDT","amount":"3"}`)
	g.in("POST", "/users/"+w.carol.ID+"/profits", `{"profitType":1,"currencyCode":"USDT","amount":"3"}`)
	g.in("GET", "/users/"+w.carol.ID, "")
	g.in("GET", "/users/"+harness.BuiltinUUID, "")
	g.in("GET", "/users?pageSize=2", "")
	g.in("GET", "/users?pageSize=2&cursor=2", "")
	g.in("GET", "/users?pageNumber=2&cursor=2", "")
	g.in("GET", "/users?search=AL", "")
	g.in("GET", "/users?search="+strings.Repeat("x", 65), "")
	g.in("GET", "/totals", "")
	return w
}

// place places orders of the built-in account, or of the user with the given id.
func (g *golden) place(user string, orders ...string) {
	for _, o := range orders {
		if user != "" {
			o = fmt.Sprintf(`"accountId":%q,%s`, user, o)
		}
		g.in("POST", "/orders", "{"+o+"}")
	}
}

func (g *golden) orders(w people) {
	g.area = "internal"
	const btc = `"currencyPairCode":"BTC_USDT",`
	g.place("",
		btc+`"side":"sell","type":"limit","price":"65010.00","amount":"0.5","clientOrderId":"ask-1"`,
		btc+`"side":"sell","type":"limit","price":65000.5,"amount":1`,
		btc+`"side":"sell","type":"limit","price":65020,"amount":3,"displayAmount":0.25`,
		btc+`"side":"buy","type":"limit","price":64990,"amount":2,"timeInForce":"gtc","postOnly":true`,
		btc+`"side":"buy","type":"limit","price":64980.01,"amount":0.125`)
	g.place(w.bob.ID,
		btc+`"side":"buy","type":"limit","price":65000.5,"amount":0.25,"clientOrderId":"b-1"`,
		btc+`"side":"buy","type":"limit","price":65000.5,"amount":0.25,"clientOrderId":"b-1"`,
		btc+`"side":"buy","type":"limit","price":65000.5,"amount":0.3,"clientOrderId":"b-1"`,
		btc+`"side":"buy","type":"market","quoteAmount":"1000"`,
		btc+`"side":"sell","type":"stop_limit","price":64000,"stopPrice":64500,"amount":0.1`,
		btc+`"side":"buy","type":"limit","price":64970,"amount":0.2,"selfTradePrevention":"decrement"`)
	g.place(w.carol.ID,
		btc+`"side":"sell","type":"market","amount":"0.4"`,
		btc+`"side":"buy","type":"limit","price":65000.5,"amount":99`,
		btc+`"side":"buy","type":"limit","price":65020,"amount":20,"timeInForce":"fok"`,
		btc+`"side":"sell","type":"limit","price":64990,"amount":0.1,"timeInForce":"ioc"`)
	g.note("refusals")
	g.place("",
		btc+`"side":"buy","type":"limit","price":65000.505,"amount":1`,
		btc+`"side":"buy","type":"limit","price":65000,"amount":0.000000001`,
		btc+`"side":"buy","type":"limit","price":70000,"amount":1,"postOnly":true`,
		btc+`"side":"buy","type":"limit","amount":1`,
		btc+`"side":"up","type":"limit","price":1,"amount":1`,
		`"currencyPairCode":"NO_PAIR","side":"buy","type":"limit","price":1,"amount":1`,
		`"currencyPairCode":"ETH_USDT","side":"buy","type":"limit","price":1,"amount":1`,
		`"currencyPairCode":"ETH_USDT","side":"buy","type":"market","amount":1`)
	g.note("a batch: places, a replace, cancels and refusals, at times of their own")
	at := (g.nowMs + 1500) * 1_000_000
	g.in("POST", "/orders/batch", fmt.Sprintf(`{"commands":[
{"place":{"currencyPairCode":"ETH_USDT","side":"sell","type":"limit","price":3000,"amount":5},"at":%d},
{"place":{"currencyPairCode":"ETH_USDT","side":"buy","type":"limit","price":3000,"amount":1.5},"at":%d},
{"replace":{"orderId":2,"price":65005,"amount":"0.9"},"at":%d},{"cancel":{"orderId":77},"at":%d},`+
		`{"cancel":{"orderId":5},"at":%d}]}`,
		at, at, at+1, at+2, at+3))
	g.in("POST", "/orders/batch", `{"commands":[{"cancel":{"orderId":1}},{"cancel":{}}]}`)
	g.nowMs += 1500
	g.advance(500)
	g.internalLists()
	g.in("PATCH", "/orders/3", `{"amount":2}`)
	g.in("PATCH", "/orders/4", `{"price":64990.001}`)
	g.in("PATCH", "/orders/5", `{"amount":1}`)
	g.in("GET", "/orders/1", "")
	g.in("GET", "/orders/6", "")
	g.in("GET", "/orders/999", "")
	g.in("DELETE", "/orders/4", "")
	g.in("DELETE", "/orders/4", "")
	g.in("DELETE", "/orders?accountId="+w.carol.ID, "")
	g.in("GET", "/book/BTC_USDT?depth=5", "")
	g.in("GET", "/book/BTC_USDT?depth=x", "")
	g.in("PATCH", "/pairs/DOGE_BTC", `{"state":"halted"}`)
	g.place("", `"currencyPairCode":"DOGE_BTC","side":"buy","type":"limit","price":"0.0000012000","amount":100`)
	g.in("PATCH", "/pairs/DOGE_BTC", `{"state":"online"}`)
	g.place("", btc+`"side":"buy","type":"limit","price":64990,"amount":1.5`)
	g.note("self-trade prevention takes a part off an order that then fills")
	dora := g.id(g.in("POST", "/users", `{"nickname":"dora","unlimited":true}`), "id")
	const eth = `"currencyPairCode":"ETH_USDT","selfTradePrevention":"decrement","type":"limit","price":2900,`
	g.place(dora, eth+`"side":"buy","amount":1`, eth+`"side":"sell","amount":3,"clientOrderId":"d-1"`)
	g.place("", eth+`"side":"buy","amount":2`)
	g.in("GET", "/orders/68719476740", "")
	g.in("GET", "/state-hash", "")
	g.in("HEAD", "/snapshot?fresh=true", "")
	g.in("GET", "/totals", "")
}

func (g *golden) market() {
	g.area = "market"
	const btc = "currencyPairCode=BTC_USDT"
	for _, target := range []string{
		"/api/tickers?" + btc, "/api/tickers?currencyPairCode=DOGE_BTC", "/api/tickers?" + btc + "&decimals=string",
		"/api/tickers", "/api/tickers?currencyPairCode=btc", "/api/tickers?currencyPairCode=NO_PAIR", "/api/tickers?" +
			btc + "&decimals=x",
		"/api/orderbook?" + btc, "/api/orderbook?" + btc + "&aliases=false", "/api/orderbook?currencyPairCode=DOGE_BTC",
		"/api/deals?" + btc, "/api/deals?" + btc + "&pageNumber=2&pageSize=2",
		"/api/deals?" + btc + "&sinceDate=2026-01-01T00:00:00&endDate=2026-01-01T00:00:00.0000000Z",
		"/api/deals?" + btc + "&sinceDate=2026-01-02&endDate=2026-01-01", "/api/deals?" + btc +
			"&pageSize=101", "/api/deals?" + btc + "&sinceDate=yesterday",
		"/api/ohlc?" + btc + "&interval=minute&start=2026-01-01&end=2026-01-02",
		"/api/ohlc?currencyPairCode=ETH_USDT&interval=year&start=2026-01-01&end=2026-01-02&fill=previous",
		"/api/ohlc?" + btc + "&interval=week&start=2026-01-01&end=2026-01-02", "/api/ohlc?" + btc +
			"&interval=day&start=2026-01-02&end=2026-01-01",
		"/api/ohlc?" + btc + "&interval=day&start=2026-01-02",
		"/api/currencies", "/api/currencies/pairs", "/api/currencies/commissions", "/api/summary",
	} {
		g.get(target)
	}
	g.note("HEAD, If-None-Match, gzip")
	g.request(g.public, "HEAD", "/api/tickers?"+btc, "")
	g.get("/api/tickers?"+btc, "If-None-Match", "*")
	g.compressed("/api/currencies/commissions")
	g.note("a day later the window is empty")
	g.area = "internal"
	g.advance(86_400_000)
	g.area = "market"
	g.get("/api/tickers?" + btc)
	g.get("/api/ohlc?" + btc + "&interval=day&start=2026-01-01&end=2026-01-03&fill=previous")
	g.get("/api/ohlc?" + btc + "&interval=minute&start=2026-01-01&end=2026-01-03&fill=previous")
	g.area = "internal"
	g.place("", `"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":65005,"amount":0.01`)
	g.area = "market"
	g.get("/api/tickers?" + btc)
}

// compressed requests a document until it is served as gzip, which takes 0.1 s.
func (g *golden) compressed(target string) {
	g.t.Helper()
	for deadline := time.Now().Add(harness.Patience); ; {
		status, h, _ := g.send(g.public, "GET", target, "", "Accept-Encoding", "gzip")
		if h.Get("Content-Encoding") == "gzip" {
			g.write("GET", target, "", status, h, "")
			return
		}
		if time.Now().After(deadline) {
			g.t.Fatalf("%s is never sent as gzip", target)
		}
	}
}

func (g *golden) aggregator() {
	g.area = "aggregator"
	const btc = "?ticker_id=BTC_USDT"
	for _, path := range []string{
		"/pairs", "/tickers", "/asset", "/tickers?decimals=string",
		"/orderbook" + btc, "/orderbook" + btc + "&depth=3", "/orderbook" + btc +
			"&depth=1", "/orderbook", "/orderbook?ticker_id=btc",
		"/orderbook?ticker_id=NO_PAIR", "/orderbook" + btc + "&depth=-1",
		"/historical_trades" + btc, "/historical_trades" + btc + "&type=sell&limit=1",
		"/historical_trades" + btc + "&start_time=1767225600000&end_time=1767225600000", "/historical_trades",
		"/historical_trades" + btc + "&type=both", "/historical_trades" + btc +
			"&start_time=2&end_time=1", "/historical_trades?ticker_id=NO_PAIR",
		"/historical_trades" + btc + "&type=",
	} {
		text := g.get("/api/marketdata/getaggregator" + path)
		if _, _, alias := g.send(g.public, "GET", "/v1/spot/market"+path, ""); normalise(alias) != normalise(text) {
			g.t.Errorf("/v1/spot/market%s answers other bytes:\n%.300s\n%.300s", path, alias, text)
		}
	}
	g.listing(btc)
}

func (g *golden) udf() {
	g.area = "udf"
	for _, target := range []string{
		"config", "time", "symbols?symbol=BTC_USDT", "symbols?symbol=TickHive:BTC/USDT", "symbols?symbol=NO_PAIR",
		"search?query=usdt&type=&exchange=&limit=1", "search?query=x&limit=0",
		"history?symbol=BTC_USDT&resolution=1&from=1767225600&to=1767312100",
		"history?symbol=BTC_USDT&resolution=1W&from=1767225600.5&to=1767312100.25", "quotes?symbols=BTC_USDT,NO_PAIR",
		"history?symbol=BTC_USDT&resolution=D&to=1767312100&countback=1",
		"history?symbol=BTC_USDT&resolution=1D&from=1&to=2", "history?symbol=BTC_USDT&resolution=7&from=1&to=2",
		"history?symbol=BTC_USDT&resolution=1D&from=3&to=2",
		"history?symbol=BTC_USDT&resolution=1&from=1767399999&to=1767400000",
	} {
		g.get("/udf/" + target)
	}
}

func (g *golden) accounts(w people) {
	g.area = "accounts"
	key := harness.Object(g.t, g.as(w.alice, "POST", "/api/apikeys",
		`{"name":"read","ipWhitelist":["10.0.0.0/8"],"expiresAt":"2026-02-01T00:00:00Z"}`))
	reader := &harness.Voter{Public: g.id(key, "publicKey"), Private: g.id(key, "privateKey")}
	g.as(w.alice, "POST", "/api/apikeys", `{"name":"a","ipWhitelist":["foo"]}`)
	g.as(w.alice, "POST", "/api/apikeys", `{"name":"","canTrade":"yes"}`)
	g.as(w.alice, "POST", "/api/apikeys", `{"name":"a","canWithdraw":true,"ipWhitelist":["10.0.0.1"]}`)
	g.as(w.alice, "POST", "/api/apikeys", `{"name":"a","canWithdraw":true,"ipWhitelist":["0.0.0.0/0"]}`)
	g.as(w.alice, "GET", "/api/apikeys", "")
	g.note("a key that may not trade; then it is deleted")
	g.as(reader, "GET", "/api/affiliate/invite-code", "")
	g.as(reader, "POST", "/api/orders", `{}`)
	g.as(reader, "DELETE", "/api/apikeys/"+w.alice.Public, "")
	g.as(w.alice, "DELETE", "/api/apikeys/"+reader.Public, "")
	g.as(w.alice, "DELETE", "/api/apikeys/"+reader.Public, "")
	g.as(reader, "GET", "/api/affiliate/invite-code", "")
	const whole = "from=2026-01-01&to=2026-02-01"
	for _, target := range []string{
		"/api/currencies/user/commissions", "/api/affiliate/inviters/search?query=a", "/api/affiliate/inviters/search",
		"/api/affiliate/inviters/my", "/api/affiliate/inviters/" +
			w.bob.ID, "/api/affiliate/inviters/NOPE", "/api/affiliate/invite-code",
		"/api/affiliate/ambassadors/info", "/api/affiliate/" + w.alice.ID + "/user-info", "/api/affiliate/" + w.bob.ID +
			"/user-info",
		"/api/affiliate/accruals",
		"/api/affiliate/accruals?pageSize=1&pageNumber=2&profitTypes=1&profitTypes=StakeAccrual&currencyCode=USDT",
		"/api/affiliate/accruals?profitType=7", "/api/affiliate/accruals/summary", "/api/affiliate/accruals/filters",
		"/api/affiliate/accrual-groups?maxLevel=3", "/api/affiliate/accrual-groups?maxLevel=11",
		"/api/affiliate/accruals/breakdown?" + whole,
		"/api/affiliate/accruals/explain?" +
			whole, "/api/affiliate/accruals/explain?from=2026-01-02&to=2026-01-01", "/api/affiliate/total-accruals",
		"/api/users/avatars/my",
	} {
		g.as(w.alice, "GET", target, "")
	}
	g.as(w.bob, "GET", "/api/affiliate/inviters/my", "")
	g.as(w.bob, "POST", "/api/affiliate/inviters/my", `{"inviteCode":"XXXXXXXX"}`)
	g.as(w.bob, "POST", "/api/affiliate/ambassadors/links", `{"discountPercent":10}`)
	g.as(w.alice, "POST", "/api/affiliate/ambassadors/links", `{"discountPercent":51}`)
	g.note("public avatars")
	for _, target := range []string{
		"/api/users/avatars", "/api/users/avatars/simple", "/api/users/avatars/simple.svg",
		"/api/users/avatars/none",
	} {
		g.get(target)
	}
	g.note("credentials that are refused")
	g.get("/api/apikeys")
	g.get("/api/apikeys", "API-PublicKey", w.alice.Public)
	bad := func(public, timestamp, nonce, signature string) {
		g.get("/api/apikeys", "API-PublicKey", public, "API-Timestamp", timestamp, "API-Nonce", nonce, "API-Signature",
			signature)
	}
	now := fmt.Sprint(g.nowMs)
	bad(w.alice.Public, "1", "x", strings.Repeat("0", 64))
	bad(w.alice.Public, now, "not a nonce", strings.Repeat("0", 64))
	bad(w.alice.Public, now, "x", strings.Repeat("0", 64))
	bad(strings.Repeat("a", 38), now, "x", strings.Repeat("0", 64))
	bad(w.alice.Public, now, "n-1", client.Sign(w.alice.Private, now, "n-1", "GET", "/api/apikeys", nil))
	bad(w.alice.Public, now, "n-1", client.Sign(w.alice.Private, now, "n-1", "GET", "/api/apikeys", nil))
	g.as(w.alice, "GET", "/api/tickers?currencyPairCode=BTC_USDT", "")
}

// internalLists places, reads and cancels order lists by the internal API.
func (g *golden) internalLists() {
	const list = `{"currencyPairCode":"ETH_USDT","kind":"oco","clientOrderId":"%s","orders":[` +
		`{"side":"sell","type":"limit","price":3500,"amount":1,"postOnly":true},` +
		`{"side":"sell","type":"stop_limit","stopPrice":2500,"price":2400,"amount":1}]}`
	g.note("order lists, and amendments")
	g.in("GET", "/orders/3/amendments", "")
	for _, name := range []string{"in-1", "in-2"} {
		byID := fmt.Sprint("/orders/lists/", g.in("POST", "/orders/lists", fmt.Sprintf(list, name))["listId"])
		byName := "/orders/lists/by-client-id/ETH_USDT/" + name
		g.in("GET", byID, "")
		g.in("GET", byName, "")
		if name == "in-1" {
			g.in("DELETE", byID, "")
		} else {
			g.in("DELETE", byName, "")
		}
	}
}
