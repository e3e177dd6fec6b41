package account_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/url"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/server/servertest"
)

func inviteCode(k *servertest.Keys) string {
	k.Exchange.T.Helper()
	return servertest.ParseObject(k.Exchange.T,
		k.OK("GET", "/api/affiliate/invite-code", "").Body)["inviteCode"].(string)
}

func join(k *servertest.Keys, code string) servertest.Answer {
	k.Exchange.T.Helper()
	return k.Call("POST", "/api/affiliate/inviters/my", fmt.Sprintf(`{"inviteCode":%q}`, code))
}

const inviterMembers = "avatarId inviteCode isAmbassador nickname publicId userId"

func TestInvitersAreSetOnceAndNeverInACircle(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	c := h.User(`"nickname":"carol"`)
	if got := a.OK("GET", "/api/affiliate/inviters/my", "").Body; got != "null" {
		t.Error(got)
	}
	code := inviteCode(a)
	if len(code) != 8 || strings.ContainsAny(code, "IO01") {
		t.Errorf("code %s", code)
	}
	for body, field := range map[string]string{
		`{}`: "inviteCode", `{"inviteCode":""}`: "inviteCode", `{"inviteCode":7}`: "inviteCode",
		`{"inviteCode":"x","y":1}`: "y",
	} {
		h.CheckRefusal(body, b.Call("POST", "/api/affiliate/inviters/my", body), 400, "INVALID_PARAM", field)
	}
	h.CheckRefusal("own code", join(a, code), 400, "INVALID_PARAM", "inviteCode")
	h.CheckRefusal("unknown code", join(b, "AAAAAAAA"), 404, "NOT_FOUND", "inviteCode")
	got := servertest.ParseObject(t, join(b, code).Body)
	if servertest.KeysOf(got) != inviterMembers || got["userId"] != a.ID || got["nickname"] != "alice" {
		t.Errorf("%v", got)
	}
	h.CheckRefusal("twice", join(b, code), 409, "CONFLICT", "")
	join(c, inviteCode(b))
	h.CheckRefusal("a circle", join(a, inviteCode(c)), 400, "INVALID_PARAM", "inviteCode")
	if mine := servertest.ParseObject(t, b.OK("GET", "/api/affiliate/inviters/my", "").Body); mine["userId"] != a.ID {
		t.Errorf("%v", mine)
	}
	for _, x := range []string{code, a.ID, strings.ToUpper(a.ID)} {
		if v := servertest.ParseObject(t, c.OK("GET", "/api/affiliate/inviters/"+x, "").Body); v["userId"] != a.ID ||
			servertest.KeysOf(v) != inviterMembers {
			t.Errorf("%s: %v", x, v)
		}
	}
	for x, field := range map[string]string{
		"nope": "inviteCode", "11111111-1111-1111-1111-11111111111": "inviteCode",
		"11111111-1111-1111-1111-11111111111x": "inviteCode",
		"11111111-1111-1111-1111-111111111111": "id", "00000000-0000-0000-0000-000000000000": "id",
	} {
		h.CheckRefusal(x, c.Call("GET", "/api/affiliate/inviters/"+x, ""), 404, "NOT_FOUND", field)
	}
	for query, want := range map[string]string{
		"al": "alice", "c": "carol", "zz": "",
		url.QueryEscape(code[:5]): "alice",
	} {
		var found []struct{ Nickname string }
		servertest.Parse(t, c.OK("GET", "/api/affiliate/inviters/search?query="+query, "").Body, &found)
		if want == "" && len(found) != 0 || want != "" && (len(found) != 1 || found[0].Nickname != want) {
			t.Errorf("search %s: %v", query, found)
		}
	}
	for _, query := range []string{"", "?query=", "?query=" + strings.Repeat("x", 65), "?query=a&query=b"} {
		h.CheckRefusal("search"+query, c.Call("GET", "/api/affiliate/inviters/search"+query, ""),
			400, "INVALID_PARAM", "query")
	}
}

func TestAmbassadorsMakeLinksThatDiscount(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	h.CheckRefusal("no ambassador", a.Call("POST", "/api/affiliate/ambassadors/links", `{"discountPercent":10}`), 403,
		"FORBIDDEN", "")
	h.MustInternal("PATCH", "/users/"+a.ID, `{"isAmbassador":true,"secondLevelPercent":15}`)
	for body, field := range map[string]string{
		`{}`: "discountPercent", `{"discountPercent":0}`: "discountPercent",
		`{"discountPercent":0.99}`: "discountPercent",
		`{"discountPercent":51}`:   "discountPercent", `{"discountPercent":"x"}`: "discountPercent",
		`{"discountPercent":5,"x":1}`: "x",
	} {
		h.CheckRefusal(body, a.Call("POST", "/api/affiliate/ambassadors/links", body), 400, "INVALID_PARAM", field)
	}
	link := servertest.ParseObject(t, a.OK("POST", "/api/affiliate/ambassadors/links", `{"discountPercent":12.5}`).Body)
	if servertest.KeysOf(link) != "code dateCreated discountPercent id isActive ownerUserId" ||
		link["ownerUserId"] != a.ID ||
		fmt.Sprint(link["discountPercent"]) != "12.5" || link["isActive"] != true {
		t.Errorf("%v", link)
	}
	info := servertest.ParseObject(t, a.OK("GET", "/api/affiliate/ambassadors/info", "").Body)
	if servertest.KeysOf(info) != "isAmbassador links secondLevelPercent" ||
		fmt.Sprint(info["secondLevelPercent"]) != "15.0" || len(info["links"].([]any)) != 1 {
		t.Errorf("%v", info)
	}
	join(b, link["code"].(string))
	u := h.MustInternal("GET", "/users/"+b.ID, "")
	if u["inviterId"] != a.ID || fmt.Sprint(u["dealBidDiscountFraction"], " ",
		u["dealAskDiscountFraction"]) != "0.125 0.125" {
		t.Errorf("%v", u)
	}
	// The discount is in the fee: 1 x 0.002 x (1 - 0.125).
	a.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	b.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	if got := b.Balance("BTC"); got != "10.99825 0.0" {
		t.Error(got)
	}
	me := servertest.ParseObject(t, b.OK("GET", "/api/affiliate/"+b.ID+"/user-info", "").Body)
	if servertest.KeysOf(me) != "ambassadorSecondLevelPercent commissionDiscountPercent inviteCode isAmbassador "+
		"parentUserId referralsLevelInfos totalProfitAmount" ||
		me["parentUserId"] != a.ID || fmt.Sprint(me["commissionDiscountPercent"]) != "0.125" {
		t.Errorf("%v", me)
	}
}

// A chain of six users: the fees of the last user's trades reach five levels. The expected
// values are computed by hand.
func TestAccrualsOfATreeAreTheHandComputedOnes(t *testing.T) {
	h, seller, _ := servertest.NewTradedExchange(t)
	chain := []*servertest.Keys{
		h.User(""), h.User(`"isAmbassador":true,"secondLevelPercent":15`), h.User(""),
		h.User(`"isAmbassador":true,"secondLevelPercent":15`), h.User(""), h.User(""),
	}
	for i := 1; i < len(chain); i++ {
		if got := join(chain[i], inviteCode(chain[i-1])); got.Status != 200 {
			t.Fatal(got.Body)
		}
	}
	last := chain[5]
	h.Deposit(last, "USDT", "1000")
	seller.Place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":3,"price":100}`)
	for i := range 3 { // three days, a fee of 0.002 each
		h.Clock.Set(servertest.StartNs + int64(i)*servertest.DayNs)
		last.Place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	}
	// Levels from the buyer up: 0.20, then an ambassador's 0.15, 0.05, 0.03, 0.02.
	for i, want := range []string{"0.00012", "0.00018", "0.0003", "0.0009", "0.0012"} {
		k := chain[i]
		if got := k.OK("GET", "/api/affiliate/accruals/summary", "").Body; got != `{"BTC":`+want+`}` {
			t.Errorf("summary of %d: %s, want %s", i, got, want)
		}
		page := servertest.ParseObject(t, k.OK("GET", "/api/affiliate/accruals?pageSize=2", "").Body)
		if servertest.KeysOf(page) != "currentPage hasNextPage hasPreviousPage items pageSize totalCount totalPages" ||
			page["totalCount"] != json.Number("3") || page["totalPages"] != json.Number("2") ||
			page["hasNextPage"] != true || len(page["items"].([]any)) != 2 {
			t.Errorf("%v", page)
		}
		half := k.OK("GET", "/api/affiliate/accruals?pageSize=2", "")
		rest := k.OK("GET", "/api/affiliate/accruals?pageSize=2&cursor="+half.Header.Get("X-Next-Cursor"), "")
		second := servertest.ParseObject(t, rest.Body)
		byNumber := servertest.ParseObject(t, k.OK("GET", "/api/affiliate/accruals?pageSize=2&pageNumber=2", "").Body)
		if fmt.Sprint(second) != fmt.Sprint(byNumber) || rest.Header.Get("X-Next-Cursor") != "" {
			t.Errorf("by cursor %q: %s", half.Header.Get("X-Next-Cursor"), differ.Diff(byNumber, second))
		}
		for _, bad := range []string{"x", "1.2", "1.-1.0", "1.01.0", "1.9999999999.0", "1.0.0&pageNumber=1"} {
			h.CheckRefusal("cursor "+bad, k.Call("GET", "/api/affiliate/accruals?cursor="+bad, ""), 400,
				"INVALID_PARAM", "cursor")
		}
		first := page["items"].([]any)[0].(map[string]any)
		if first["date"] != "2026-01-03T00:00:00.000Z" || fmt.Sprint(first["profitType"]) != "1" ||
			first["isToUserBonuses"] != false {
			t.Errorf("%v", first)
		}
		var total []map[string]any
		servertest.Parse(t, k.OK("GET", "/api/affiliate/total-accruals", "").Body, &total)
		if len(total) != 1 || total[0]["fromUserId"] != last.ID || total[0]["level"] != json.Number(fmt.Sprint(5-i)) ||
			total[0]["name"] != nil ||
			fmt.Sprint(total[0]["totalAmountsByCurrency"]) != "map[BTC:"+want+"]" {
			t.Errorf("%v", total)
		}
		info := servertest.ParseObject(t, k.OK("GET", "/api/affiliate/"+k.ID+"/user-info", "").Body)
		if fmt.Sprint(info["totalProfitAmount"]) != want {
			t.Errorf("%v", info)
		}
		if got := k.Balance("BTC"); got != want+" 0.0" {
			t.Errorf("balance of %d: %s", i, got)
		}
		level := servertest.ParseObject(t, k.OK("GET", "/api/affiliate/accruals/filters", "").Body)
		if fmt.Sprint(level) != "map[currencies:[BTC] profitTypes:[DealCommission]]" {
			t.Errorf("%v", level)
		}
	}
	var groups []map[string]any
	servertest.Parse(t, chain[0].OK("GET", "/api/affiliate/accrual-groups", "").Body, &groups)
	if len(groups) != 0 {
		t.Errorf("level 5 within level 1: %v", groups)
	}
	servertest.Parse(t, chain[0].OK("GET",
		"/api/affiliate/accrual-groups?maxLevel=10&sinceDate=2026-01-02T02:00:00%2B02:00"+
			"&endDate=2026-01-03", "").Body, &groups)
	if len(groups) != 2 || groups[0]["date"] != "2026-01-02T00:00:00.000Z" ||
		fmt.Sprint(groups[1]["amount"]) != "0.00004" ||
		servertest.KeysOf(groups[0]) != "amount currencyCode date profitType" {
		t.Errorf("%v", groups)
	}
	for query, field := range map[string]string{
		"accruals?pageNumber=0": "pageNumber", "accruals?pageSize=101": "pageSize",
		"accruals?currencyCode=x": "currencyCode", "accruals?profitType=9": "profitType",
		"accruals?profitTypes=1&profitTypes=x": "profitTypes", "accruals?profitType=1" +
			"&profitType=2": "profitType", "accruals/summary?profitType=No": "profitType",
		"accrual-groups?maxLevel=0": "maxLevel", "accrual-groups?maxLevel=11": "maxLevel",
		"accrual-groups?sinceDate=x": "sinceDate",
		"accrual-groups?sinceDate=2026-02-01" +
			"&endDate=2026-01-01": "sinceDate", "accruals/breakdown": "from",
		"accruals/breakdown?from=2026-01-01":             "to",
		"accruals/explain?from=2026-01-02&to=2026-01-02": "from", "accruals/explain?from=2026-01-01" +
			"&to=2027-01-03": "to",
		"accruals/breakdown?from=2026-01-01&to=x": "to", "accruals/breakdown?from=2026-01-01&to=2026-01-02" +
			"&currencyCode=_": "currencyCode",
	} {
		h.CheckRefusal(query, chain[0].Call("GET", "/api/affiliate/"+query, ""), 400, "INVALID_PARAM", field)
	}
	for query, want := range map[string]string{
		"profitType=DealCommission": "3", "profitType=1": "3", "profitType=StakeAccrual": "0", "profitTypes=1" +
			"&profitTypes=100&profitType=2": "3", "currencyCode=USDT": "0",
	} {
		if got := servertest.ParseObject(t, chain[4].OK("GET", "/api/affiliate/accruals?"+query,
			"").Body); fmt.Sprint(got["totalCount"]) != want {
			t.Errorf("%s: %v, want %s", query, got["totalCount"], want)
		}
	}
}

// On random histories of staking income the breakdown sums to its period, and the
// reasons to the difference of the periods.
func TestBreakdownAndExplainSumUp(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	h, top, _ := servertest.NewTradedExchange(t)
	h.MustInternal("PATCH", "/users/"+top.ID, `{"stakingLevel":"R4"}`)
	var below []*servertest.Keys
	for i := range 6 {
		k := h.User(fmt.Sprintf(`"stakingLevel":"R%d"`, r.IntN(3)))
		up := top
		if i > 1 {
			up = below[r.IntN(i)]
		}
		join(k, inviteCode(up))
		below = append(below, k)
	}
	for i := range 60 {
		h.Clock.Set(servertest.StartNs + int64(i)*int64(time.Hour))
		h.MustInternal("POST", "/users/"+below[r.IntN(6)].ID+"/profits",
			fmt.Sprintf(`{"profitType":100,"currencyCode":%q,"amount":"%d.%08d"}`,
				[]string{"USDT", "BTC"}[r.IntN(2)], r.IntN(100), 1+r.IntN(99_999_999)))
		if i%20 == 19 {
			h.MustInternal("PATCH", "/users/"+top.ID, fmt.Sprintf(`{"stakingLevel":"R%d"}`, 5+i/20))
		}
	}
	sum := func(rows []any, amount string, into map[string]*big.Rat) {
		for _, row := range rows {
			m := row.(map[string]any)
			code, _ := m["currencyCode"].(string)
			if code == "" {
				continue
			}
			if into[code] == nil {
				into[code] = new(big.Rat)
			}
			v, _ := new(big.Rat).SetString(fmt.Sprint(m[amount]))
			into[code].Add(into[code], v)
		}
	}
	text := func(m map[string]*big.Rat) string {
		var out []string
		for k, v := range m {
			if v.Sign() != 0 {
				out = append(out, k+v.FloatString(18))
			}
		}
		sort.Strings(out)
		return strings.Join(out, " ")
	}
	totals := func(v any) map[string]*big.Rat {
		out := map[string]*big.Rat{}
		for k, n := range v.(map[string]any) {
			out[k], _ = new(big.Rat).SetString(fmt.Sprint(n))
		}
		return out
	}
	for range 40 {
		from, span := r.IntN(50), 1+r.IntN(30)
		at := func(hour int) string {
			return url.QueryEscape(time.Unix(0,
				servertest.StartNs).UTC().Add(time.Duration(hour) * time.Hour).Format(time.RFC3339))
		}
		query := "?from=" + at(from) + "&to=" + at(from+span)
		b := servertest.ParseObject(t, top.OK("GET", "/api/affiliate/accruals/breakdown"+query, "").Body)
		sums := map[string]*big.Rat{}
		sum(b["items"].([]any), "amount", sums)
		if got, want := text(sums), text(totals(b["totalsByCurrency"])); got != want {
			t.Fatalf("%s: breakdown %s, totals %s", query, got, want)
		}
		e := servertest.ParseObject(t, top.OK("GET", "/api/affiliate/accruals/explain"+query, "").Body)
		deltas := map[string]*big.Rat{}
		sum(e["reasons"].([]any), "amountDelta", deltas)
		if got, want := text(deltas), text(totals(e["deltaByCurrency"])); got != want {
			t.Fatalf("%s: reasons %s, delta %s", query, got, want)
		}
		if text(totals(e["currentTotalsByCurrency"])) != text(totals(b["totalsByCurrency"])) {
			t.Fatalf("%s: explain and breakdown disagree", query)
		}
	}
	all := servertest.ParseObject(t,
		top.OK("GET", "/api/affiliate/accruals/breakdown?from=2026-01-01&to=2026-02-01", "").Body)
	summary := servertest.ParseObject(t, top.OK("GET", "/api/affiliate/accruals/summary?profitType=100", "").Body)
	if text(totals(all["totalsByCurrency"])) != text(totals(summary)) {
		t.Errorf("breakdown %v, summary %v", all["totalsByCurrency"], summary)
	}
}

func TestASearchShowsNoInviteCodeOfAnotherAndIsLimited(t *testing.T) {
	h, a, b := servertest.NewTradedExchange(t)
	codes := func(target string) map[string]any {
		t.Helper()
		var list []map[string]any
		text := b.OK("GET", target, "").Body
		if text[0] != '[' {
			text = "[" + text + "]"
		}
		servertest.Parse(t, text, &list)
		out := map[string]any{}
		for _, v := range list {
			out[v["nickname"].(string)] = v["inviteCode"]
		}
		return out
	}
	const search = "/api/affiliate/inviters/search?query="
	code := inviteCode(a)
	for target, want := range map[string]any{
		search + "a": nil, search + code: nil, search + code[:3]: nil, "/api/affiliate/inviters/" + a.ID: nil,
		"/api/affiliate/inviters/" + code: code,
	} {
		if got := codes(target); len(got) != 1 || got["alice"] != want {
			t.Errorf("%s: %v", target, got)
		}
	}
	for _, target := range []string{search + "b", "/api/affiliate/inviters/" + b.ID} {
		if got := codes(target); got["bob"] != inviteCode(b) {
			t.Errorf("%s: %v", target, got)
		}
	}
	for range 26 {
		codes(search + "a")
	}
	h.CheckRefusal("the 31st search", b.Call("GET", search+"a", ""), 429, "RATE_LIMIT", "")
	a.OK("GET", search+"b", "")
	b.OK("GET", "/api/affiliate/inviters/"+code, "")
}
