package nets

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// World is a state with something behind every route of the documents: enough rows that each list has more than
// its page, rows that any other order would show differently, and fields that only time reads (a window's edge, a
// switch, an expiry).
type World struct {
	// Alice has inviter, referrals, orders, keys, tokens and a vote; Bob and Carol are her counterparts; Nobody has
	// nothing but a key.
	Alice, Bob, Carol, Nobody *User
	// Running says that the clock runs: what is of the moment of an answer is not compared.
	Running bool
	values  map[string][]string // of required parameters, by name, or by path and name
	binance []string            // signed targets of the Binance interface that name orders
}

// Pairs of a World.
const (
	firstPair  = "BTC_USDT" // 2 and 4 digits
	secondPair = "ETH_BTC"
	thirdPair  = "AAVE_EUR" // before the others by code, added last
)

// rowsOfAPage is more than the default size of every list.
const rowsOfAPage = 104

// Build makes a World on a node that is empty. step lets time pass.
func Build(n *Node, step func(time.Duration)) *World {
	n.T.Helper()
	b := &builder{Node: n, w: &World{values: map[string][]string{}}, step: step}
	b.markets()
	b.people()
	b.lists()
	b.orders()
	b.openLists()
	b.money()
	b.keys()
	b.agents()
	b.after()
	return b.w
}

type builder struct {
	*Node
	w      *World
	step   func(time.Duration)
	makers []*User // of the launchpad's tokens
}

func (b *builder) value(name string, values ...string) {
	b.w.values[name] = append(b.w.values[name], values...)
}

func (b *builder) markets() {
	for _, pair := range []string{firstPair, secondPair, thirdPair} {
		b.Call(http.MethodPost, "/pairs", `{"code":"`+pair+`","digitsPrice":2,"digitsAmount":4,"makerFee":"0.001",`+
			`"takerFee":"0.002"}`)
	}
	b.Call(http.MethodPatch, "/pairs/"+secondPair, `{"minQuoteAmount":"0.5","maxQuoteAmount":"100000",`+
		`"priceBandUp":"10"}`)
	b.Call(http.MethodPatch, "/assets/BTC", `{"name":"Bitcoin","minWithdraw":"0.001","unifiedCryptoassetId":1}`)
	b.Call(http.MethodPatch, "/assets/EUR", `{"type":"fiat"}`)
	for _, name := range []string{"currencyPairCode", "ticker_id", "pair", "code"} {
		b.value(name, firstPair, secondPair, thirdPair)
	}
	b.value("symbol", "BTC", "EUR")
	b.value("interval", "minute", "minutes3", "minutes5", "minutes15", "minutes30", "hour", "hour4", "day", "month",
		"year")
}

// user makes a user with a key.
func (b *builder) user(body string) *User {
	return b.newKey(b.Call(http.MethodPost, "/users", body)["id"].(string))
}

func (b *builder) people() {
	w := b.w
	grandmother := b.user(`{"nickname":"zoe","stakingLevel":"R6"}`)
	w.Alice = b.user(`{"nickname":"alice","name":"Alice","secondName":"A","level":27,"stakingLevel":"R2",` +
		`"isAmbassador":true,"secondLevelPercent":7,"nativeBalance":1000}`)
	w.Bob = b.user(`{"nickname":"bob","level":21,"nativeBalance":500}`)
	w.Carol = b.user(`{"nickname":"carol"}`)
	w.Nobody = b.user(`{}`)
	code := func(u *User) string {
		return object(b.T, b.OK(u, http.MethodGet, "/api/affiliate/invite-code", "").Body)["inviteCode"].(string)
	}
	join := func(u *User, code string) {
		b.OK(u, http.MethodPost, "/api/affiliate/inviters/my", `{"inviteCode":"`+code+`"}`)
	}
	join(w.Alice, code(grandmother))
	const links = "/api/affiliate/ambassadors/links"
	link := object(b.T, b.OK(w.Alice, http.MethodPost, links, `{"discountPercent":12.5}`).Body)
	b.OK(w.Alice, http.MethodPost, links, `{"discountPercent":3}`)
	join(w.Bob, link["code"].(string))
	join(w.Carol, code(w.Bob))
	for _, nickname := range []string{"al-2", "Al-1", "al-10"} { // found by the search, in another order than made
		b.user(`{"nickname":"` + nickname + `"}`)
	}
	for _, u := range []*User{w.Alice, w.Bob, w.Carol} {
		for _, currency := range []string{"USDT", "BTC", "ETH", "EUR", "USBI", "AAVE"} {
			b.Call(http.MethodPost, "/users/"+u.ID+"/deposits", `{"currencyCode":"`+currency+`","amount":1000000}`)
		}
	}
	b.Call(http.MethodPatch, "/users/"+w.Alice.ID, `{"avatarId":"`+b.avatar(2)+`"}`)
	b.value("query", "al", "AL-1", "nobody")
	b.value("inviter", w.Alice.ID, code(w.Bob), link["code"].(string))
	b.value("avatarId", b.avatar(0), b.avatar(2), b.avatar(0)+".svg")
	b.value("/api/affiliate/{id}/user-info id", w.Alice.ID)
	b.value("/internal/v1/users/{id} id", w.Alice.ID, w.Bob.ID, w.Carol.ID)
	b.value("/internal/v1/users/{id}/apikeys id", w.Alice.ID, w.Bob.ID)
}

func (b *builder) avatar(i int) string {
	var all []struct{ ID string }
	Parse(b.T, b.OK(nil, http.MethodGet, "/api/users/avatars", "").Body, &all)
	return all[i].ID
}

// place places an order and returns its id.
func (b *builder) place(u *User, pair, side, price, amount, more string) (id string) {
	Parse(b.T, b.OK(u, http.MethodPost, "/api/orders", fmt.Sprintf(
		`{"currencyPairCode":%q,"side":%q,"amount":%q,"price":%q%s}`, pair, side, amount, price, more)).Body, &id)
	return id
}

// batch places equal orders of u, at prices that rise by a tick.
func (b *builder) batch(u *User, side string, price, count int, amount string) {
	for count > 0 {
		var commands []string
		for range min(count, 100) {
			commands = append(commands, fmt.Sprintf(
				`{"place":{"currencyPairCode":%q,"side":%q,"amount":%q,"price":"%d.%02d"}}`, firstPair, side, amount,
				price/100, price%100))
			price++
			count--
		}
		b.OK(u, http.MethodPost, "/api/orders/batch", `{"commands":[`+strings.Join(commands, ",")+`]}`)
	}
}

// lists makes order lists that are done and matches that are prevented, of each more than a page. It trades nothing and
// leaves no order open.
func (b *builder) lists() {
	w := b.w
	const oto = `{"placeList":{"kind":"oto","currencyPairCode":"` + secondPair + `","orders":[` +
		`{"side":"buy","price":"10","amount":"1"},{"side":"sell","price":"20","amount":"1"}]}}`
	for made := 0; made < rowsOfAPage; made += 13 {
		b.OK(w.Alice, http.MethodPost, "/api/orders/batch", `{"commands":[`+strings.Repeat(oto+",", 12)+oto+`]}`)
		b.OK(w.Alice, http.MethodDelete, "/api/orders?all=true", "")
		b.step(time.Second)
	}
	own := b.place(w.Alice, firstPair, "sell", "200", "1", "")
	b.batch(w.Alice, "buy", 200_00, rowsOfAPage, "0.5")
	b.OK(w.Alice, http.MethodDelete, "/api/orders/"+own, "")
	w.binance = append(w.binance, fmt.Sprint("myPreventedMatches?symbol=", symbolOf(firstPair), "&orderId=", own))
	b.value("/api/user/prevented-matches orderId", own)
	b.value("/api/user/prevented-matches from", "2", "50", "999")
}

// openLists makes order lists of each state and an order with amendments.
func (b *builder) openLists() {
	w := b.w
	list := func(more string) string {
		id := object(b.T, b.OK(w.Alice, http.MethodPost, "/api/orders/lists", `{`+more+`}`).Body)["id"].(string)
		b.step(time.Second)
		return id
	}
	const oco = `"kind":"oco","currencyPairCode":"` + firstPair + `","orders":[` +
		`{"side":"sell","type":"limit","price":"400","amount":"2","postOnly":true},` +
		`{"side":"sell","type":"stop_limit","price":"19","stopPrice":"20","amount":"2"}]`
	pair := list(`"clientOrderId":"pair",` + oco)
	// The working order is filled at once, so the two others are open.
	ladder := list(`"kind":"otoco","currencyPairCode":"` + thirdPair + `","orders":[` +
		`{"side":"buy","price":"98","amount":"0.1"},{"side":"sell","price":"300","amount":"1","postOnly":true},` +
		`{"side":"sell","type":"stop_market","stopPrice":"10","amount":"1"}]`)
	brings := list(`"kind":"opo","currencyPairCode":"` + secondPair + `","clientOrderId":"brings","orders":[` +
		`{"side":"buy","price":"7","amount":"2"},{"side":"sell","price":"500","clientOrderId":"brought"}]`)
	done := list(`"clientOrderId":"done",` + oco)
	b.OK(w.Alice, http.MethodDelete, "/api/orders/lists/"+done, "")
	b.Call(http.MethodPost, "/orders/lists", `{"clientOrderId":"pair",`+oco+`}`) // the built-in account's

	amended := b.place(w.Alice, thirdPair, "buy", "50", "10", "")
	amend := func(more string) {
		b.OK(w.Alice, http.MethodPatch, "/api/orders/"+amended, `{"keepPriority":true,`+more+`}`)
		b.step(time.Second)
	}
	amend(`"amount":"9.5"`)
	amend(`"amount":"9","clientOrderId":"amended"`)

	b.value("listId", pair, ladder, brings, done)
	for _, path := range []string{
		"/api/orders/lists/by-client-id/{currencyPairCode}/{clientOrderId}",
		"/internal/v1/orders/lists/by-client-id/{currencyPairCode}/{clientOrderId}",
	} {
		b.value(path+" currencyPairCode", firstPair)
		b.value(path+" clientOrderId", "pair", "done")
	}
	b.value("accountId", w.Alice.ID)
	b.value("/api/orders/{orderId}/amendments orderId", amended, pair)
	b.value("/internal/v1/orders/{id}/amendments id", amended, pair)
	b.value("/internal/v1/orders/{id} id", amended, brings)
	b.value("orderId", amended)
	w.binance = append(w.binance, fmt.Sprint("order/amendments?symbol=", symbolOf(thirdPair), "&orderId=", amended),
		"orderList?orderListId="+pair)
}

func (b *builder) orders() {
	w := b.w
	// Trades of one day that will leave the window, and one at the edge of it.
	for _, pair := range []string{firstPair, secondPair, thirdPair} {
		b.place(w.Bob, pair, "sell", "100", "2", "")
		b.place(w.Alice, pair, "buy", "100", "1", "")
		b.step(61 * time.Second)
	}
	b.step(24*time.Hour - 3*61*time.Second)
	b.batch(w.Bob, "sell", 100_00, rowsOfAPage, "0.5")
	swept := b.place(w.Alice, firstPair, "buy", "101.03", "51", `,"clientOrderId":"swept"`) // meets about a hundred
	b.batch(w.Alice, "buy", 90_00, rowsOfAPage, "0.25")
	b.step(time.Second)
	rests := b.place(w.Alice, firstPair, "sell", "110", "5", `,"clientOrderId":"rests","displayAmount":"1"`)
	b.place(w.Bob, firstPair, "buy", "110", "1.5", `,"timeInForce":"ioc"`)
	b.place(w.Carol, firstPair, "buy", "88", "1", `,"postOnly":true`)
	b.place(w.Carol, firstPair, "buy", "88", "2", "") // behind it in the queue
	gone := b.place(w.Alice, secondPair, "buy", "40", "1", "")
	b.OK(w.Alice, http.MethodDelete, "/api/orders/"+gone, "")
	b.step(time.Minute)
	replaced := b.place(w.Alice, secondPair, "buy", "30", "1", "")
	b.OK(w.Alice, http.MethodPatch, "/api/orders/"+replaced, `{"price":"31","amount":"2"}`)
	own := b.place(w.Alice, secondPair, "sell", "60", "3", "")
	b.place(w.Alice, secondPair, "buy", "60", "1", `,"selfTradePrevention":"decrement"`)
	b.place(w.Alice, secondPair, "buy", "60", "1", `,"selfTradePrevention":"none"`) // a trade with itself
	waits := b.place(w.Alice, thirdPair, "sell", "80", "1", `,"stopPrice":"85"`)
	triggered := b.place(w.Alice, thirdPair, "sell", "130", "1", `,"stopPrice":"99"`)
	b.place(w.Bob, thirdPair, "sell", "98", "1", "")
	b.place(w.Carol, thirdPair, "buy", "98", "0.4", "")
	b.OK(w.Carol, http.MethodPost, "/api/orders",
		`{"currencyPairCode":"`+thirdPair+`","side":"buy","isMarket":true,"quoteAmount":"20"}`)
	b.step(90 * time.Second)
	b.value("/api/user/orders cursor", fmt.Sprint(b.now().UnixNano(), ".", swept))
	b.value("/api/user/deals cursor", fmt.Sprint(b.now().UnixNano(), ".", swept, ".50"))
	b.value("/api/affiliate/accruals cursor", fmt.Sprint(b.now().UnixNano(), ".4294967295.4294967295"))
	b.value("orderId", swept, rests, gone, replaced, own, waits, triggered)
	b.value("/internal/v1/orders/{id} id", swept, rests, gone, waits, triggered)
	b.value("clientOrderId", "swept", "rests")
	b.value("/api/orders/by-client-id/{currencyPairCode}/{clientOrderId} currencyPairCode", firstPair)
}

func (b *builder) money() {
	w := b.w
	b.Call(http.MethodPost, "/users/"+w.Carol.ID+"/withdrawals", `{"currencyCode":"USDT","amount":"250.5"}`)
	b.step(25 * time.Hour)
	for i, kind := range []string{"StakeAccrual", "CurrencyListing", "ApiTradeProfitPayment"} {
		for _, u := range []*User{w.Carol, w.Bob} {
			for _, currency := range []string{"USDT", "ETH"} {
				b.Call(http.MethodPost, "/users/"+u.ID+"/profits", fmt.Sprintf(
					`{"profitType":%q,"currencyCode":%q,"amount":"%d.75"}`, kind, currency, 3+i))
			}
		}
		b.step(26 * time.Hour)
	}
	b.Call(http.MethodPatch, "/users/"+w.Alice.ID, `{"stakingLevel":"R4"}`)
	today := b.now().UTC()
	b.value("from", today.Add(-7*24*time.Hour).Format(time.RFC3339))
	b.value("to", today.Add(time.Hour).Format(time.RFC3339))
	b.value("start", today.Add(-9*24*time.Hour).Format("2006-01-02"))
	b.value("end", today.Add(24*time.Hour).Format("2006-01-02"))
}

func (b *builder) keys() {
	w := b.w
	raw := make([]byte, 32)
	raw[0] = 9
	b.Call(http.MethodPost, "/users/"+w.Alice.ID+"/apikeys", `{"name":"far",`+
		`"ipWhitelist":["192.0.2.1","198.51.100.0/24"],"canWithdraw":true,"expiresAt":"2090-01-01T00:00:00Z"}`)
	b.Call(http.MethodPost, "/users/"+w.Alice.ID+"/apikeys", `{"name":"ed","ed25519PublicKey":"`+
		base64.StdEncoding.EncodeToString(raw)+`"}`)
	b.OK(w.Alice, http.MethodPost, "/api/apikeys", `{"name":"child"}`)
	ends := b.now().Add(time.Minute).UTC().Format(time.RFC3339)
	b.OK(w.Alice, http.MethodPost, "/api/apikeys", `{"name":"expired","expiresAt":"`+ends+`"}`)
	b.step(2 * time.Minute)
}

func (b *builder) agents() {
	w := b.w
	var tokens, addresses []string
	for i := range 23 {
		maker := w.Alice
		if i > 0 {
			maker = b.user(`{"nativeBalance":300}`)
		}
		b.makers = append(b.makers, maker)
		side := []string{"USBI", "wNATIVE"}[i%2]
		t := b.Call(http.MethodPost, "/launchpad/tokens", fmt.Sprintf(
			`{"userId":%q,"name":"Token %d","symbol":"T%c%c","poolSide":%q,`+
				`"metadata":{"website":"https://example.com/%d"}}`,
			maker.ID, i, 'A'+rune(i), 'Z'-rune(i), side, i))
		tokens = append(tokens, fmt.Sprint(t["worker"].(map[string]any)["agentNftId"]))
		addresses = append(addresses, t["token"].(map[string]any)["address"].(string))
		b.step(3 * time.Second)
	}
	at := func(i int) string { return "/launchpad/tokens/" + tokens[i] }
	for i, quote := range []int{400, 50, 900} { // tokens of USBI pools, with different depth, volume and holders
		owner := b.makers[2*i]
		b.Call(http.MethodPost, "/users/"+owner.ID+"/deposits", `{"currencyCode":"USBI","amount":10000}`)
		b.Call(http.MethodPost, at(2*i)+"/liquidity", fmt.Sprintf(`{"userId":%q,"tokenAmount":1000,"quoteAmount":%d}`,
			owner.ID, quote))
		for range 3 - i {
			b.Call(http.MethodPost, at(2*i)+"/swaps", fmt.Sprintf(`{"userId":%q,"side":"buy","amountIn":%d}`, w.Bob.ID,
				1+i*i))
		}
	}
	for i := range 3 { // 1, 2 and 3 further holders of three tokens
		for j := range i + 1 {
			b.Call(http.MethodPost, at(6+i)+"/transfers", fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":5}`,
				b.makers[6+i].ID, b.makers[9+j].ID))
		}
	}
	b.Call(http.MethodPost, at(0)+"/transfers", fmt.Sprintf(`{"fromUserId":%q,"toUserId":%q,"amount":5000}`, w.Alice.ID,
		w.Bob.ID))
	b.Call(http.MethodPost, at(1)+"/boosts", `{"tier":"premium"}`)
	b.Call(http.MethodPost, at(4)+"/boosts", `{"tier":"short"}`) // over before the end of Build
	b.step(time.Hour)
	b.value("/api/launchpad/tokens/{id} id", tokens[0], addresses[1], tokens[4])
	b.value("/api/launchpad/tokens/{id}/pool id", tokens[0], addresses[1])
	b.value("/api/launchpad/tokens/{id}/ohlc id", tokens[0], addresses[2], tokens[1])
	b.value("/api/launchpad/tokens/{id}/worker id", tokens[0], tokens[2])
	b.value("tokenId", tokens[0], tokens[1], tokens[2])
	b.value("tokenAddress", addresses[0])
	b.hive(tokens)
}

func (b *builder) hive(tokens []string) {
	w := b.w
	propose := func(token string, urgent bool) string {
		p := b.Call(http.MethodPost, "/hive/proposals", fmt.Sprintf(`{"tokenId":%s,"topic":"slippage_cap",`+
			`"payload":{"slippageCapBps":150},"proposer":"somebody","urgent":%t}`, token, urgent))
		return p["proposalId"].(string)
	}
	vote := func(u *User, token, proposal, vote, comment string) {
		b.OK(u, http.MethodPost, "/api/agents/workers/"+token+"/vote",
			fmt.Sprintf(`{"proposalId":%q,"vote":%q,"comment":%q}`, proposal, vote, comment))
	}
	act := func(source, token, kind, payload string) {
		b.Call(http.MethodPost, "/hive/actions", fmt.Sprintf(`{"sourceAgentId":%q,"targetTokenId":%s,"actionType":%q,`+
			`"actionPayload":%s,"reasonCode":"test"}`, source, token, kind, payload))
	}
	urgent := propose(tokens[0], true)
	vote(w.Alice, tokens[0], urgent, "yes", "first")
	b.step(25 * time.Hour) // closes
	open := propose(tokens[0], false)
	vote(w.Alice, tokens[0], open, "no", "one")
	b.step(time.Second)
	vote(w.Bob, tokens[0], open, "abstain", "two")
	for i := range 22 {
		propose(tokens[i], i%2 == 0)
		b.step(time.Second)
	}
	act("queen-1", tokens[1], "override", `{"mevProtection":"strict"}`)
	act("queen-2", tokens[2], "suspension", `{"suspended":true}`)
	act("scout-1", tokens[3], "flag", `{"n":1.50}`)
	for i := range 55 {
		act("worker-1", tokens[0], "observation", fmt.Sprintf(`{"n":%d}`, i))
		if i%10 == 0 {
			b.step(time.Second)
		}
	}
	b.value("proposalId", urgent, open)
}

// after leaves the state as it is read: a window with trades at its edge, an order that a switch cancels later.
func (b *builder) after() {
	w := b.w
	b.place(w.Bob, secondPair, "sell", "61", "1", "")
	b.place(w.Carol, secondPair, "buy", "61", "0.5", "")
	for range 2 {
		b.place(w.Carol, firstPair, "sell", "90", "0.1", `,"timeInForce":"ioc"`)
		b.step(time.Second)
	}
	b.step(24*time.Hour - 3*time.Second) // the trade is in the window for one second more
	b.place(w.Bob, firstPair, "sell", "100.50", "2", "")
	b.place(w.Carol, firstPair, "buy", "100.50", "0.5", "")
	b.place(w.Bob, firstPair, "buy", "89.50", "0.5", "")
	b.place(w.Carol, firstPair, "sell", "89.50", "0.2", `,"timeInForce":"ioc"`)
	for i, token := range []string{"10001", "10003"} { // different volumes within the window
		b.Call(http.MethodPost, "/launchpad/tokens/"+token+"/swaps", fmt.Sprintf(
			`{"userId":%q,"side":"buy","amountIn":%d}`, w.Bob.ID, 2+i))
	}
	b.OK(w.Carol, http.MethodPost, "/api/orders/cancel-all-after", `{"timeoutMs":60000}`)
}
