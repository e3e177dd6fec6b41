package server_test

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
)

func (k *keys) inviteCode() string {
	k.h.t.Helper()
	return parseObject(k.h.t, k.ok("GET", "/api/affiliate/invite-code", "").body)["inviteCode"].(string)
}

func (k *keys) join(code string) answer {
	k.h.t.Helper()
	return k.call("POST", "/api/affiliate/inviters/my", fmt.Sprintf(`{"inviteCode":%q}`, code))
}

const inviterMembers = "avatarId inviteCode isAmbassador nickname publicId userId"

func TestInvitersAreSetOnceAndNeverInACircle(t *testing.T) {
	h, a, b := traded(t)
	c := h.user(`"nickname":"carol"`)
	if got := a.ok("GET", "/api/affiliate/inviters/my", "").body; got != "null" {
		t.Error(got)
	}
	code := a.inviteCode()
	if len(code) != 8 || strings.ContainsAny(code, "IO01") {
		t.Errorf("code %s", code)
	}
	for body, field := range map[string]string{
		`{}`: "inviteCode", `{"inviteCode":""}`: "inviteCode", `{"inviteCode":7}`: "inviteCode", `{"inviteCode":"x","y":1}`: "y",
	} {
		h.wants(body, b.call("POST", "/api/affiliate/inviters/my", body), 400, "INVALID_PARAM", field)
	}
	h.wants("own code", a.join(code), 400, "INVALID_PARAM", "inviteCode")
	h.wants("unknown code", b.join("AAAAAAAA"), 404, "NOT_FOUND", "inviteCode")
	got := parseObject(t, b.join(code).body)
	if keysOf(got) != inviterMembers || got["userId"] != a.id || got["nickname"] != "alice" {
		t.Errorf("%v", got)
	}
	h.wants("twice", b.join(code), 409, "CONFLICT", "")
	c.join(b.inviteCode())
	h.wants("a circle", a.join(c.inviteCode()), 400, "INVALID_PARAM", "inviteCode")
	if mine := parseObject(t, b.ok("GET", "/api/affiliate/inviters/my", "").body); mine["userId"] != a.id {
		t.Errorf("%v", mine)
	}
	for _, x := range []string{code, a.id, strings.ToUpper(a.id)} {
		if v := parseObject(t, c.ok("GET", "/api/affiliate/inviters/"+x, "").body); v["userId"] != a.id || keysOf(v) != inviterMembers {
			t.Errorf("%s: %v", x, v)
		}
	}
	for x, field := range map[string]string{
		"nope": "inviteCode", "11111111-1111-1111-1111-11111111111": "inviteCode", "11111111-1111-1111-1111-11111111111x": "inviteCode",
		"11111111-1111-1111-1111-111111111111": "id", "00000000-0000-0000-0000-000000000000": "id",
	} {
		h.wants(x, c.call("GET", "/api/affiliate/inviters/"+x, ""), 404, "NOT_FOUND", field)
	}
	for query, want := range map[string]string{"al": "alice", "c": "carol", "zz": "", url.QueryEscape(code[:5]): "alice"} {
		var found []struct{ Nickname string }
		parse(t, c.ok("GET", "/api/affiliate/inviters/search?query="+query, "").body, &found)
		if want == "" && len(found) != 0 || want != "" && (len(found) != 1 || found[0].Nickname != want) {
			t.Errorf("search %s: %v", query, found)
		}
	}
	for _, query := range []string{"", "?query=", "?query=" + strings.Repeat("x", 65), "?query=a&query=b"} {
		h.wants("search"+query, c.call("GET", "/api/affiliate/inviters/search"+query, ""), 400, "INVALID_PARAM", "query")
	}
}

func TestAmbassadorsMakeLinksThatDiscount(t *testing.T) {
	h, a, b := traded(t)
	h.wants("no ambassador", a.call("POST", "/api/affiliate/ambassadors/links", `{"discountPercent":10}`), 403, "FORBIDDEN", "")
	h.in("PATCH", "/users/"+a.id, `{"isAmbassador":true,"secondLevelPercent":15}`)
	for body, field := range map[string]string{
		`{}`: "discountPercent", `{"discountPercent":0}`: "discountPercent", `{"discountPercent":0.99}`: "discountPercent",
		`{"discountPercent":51}`: "discountPercent", `{"discountPercent":"x"}`: "discountPercent", `{"discountPercent":5,"x":1}`: "x",
	} {
		h.wants(body, a.call("POST", "/api/affiliate/ambassadors/links", body), 400, "INVALID_PARAM", field)
	}
	link := parseObject(t, a.ok("POST", "/api/affiliate/ambassadors/links", `{"discountPercent":12.5}`).body)
	if keysOf(link) != "code dateCreated discountPercent id isActive ownerUserId" || link["ownerUserId"] != a.id ||
		fmt.Sprint(link["discountPercent"]) != "12.5" || link["isActive"] != true {
		t.Errorf("%v", link)
	}
	info := parseObject(t, a.ok("GET", "/api/affiliate/ambassadors/info", "").body)
	if keysOf(info) != "isAmbassador links secondLevelPercent" || fmt.Sprint(info["secondLevelPercent"]) != "15.0" || len(info["links"].([]any)) != 1 {
		t.Errorf("%v", info)
	}
	b.join(link["code"].(string))
	u := h.in("GET", "/users/"+b.id, "")
	if u["inviterId"] != a.id || fmt.Sprint(u["dealBidDiscountFraction"], " ", u["dealAskDiscountFraction"]) != "0.125 0.125" {
		t.Errorf("%v", u)
	}
	// The discount is in the fee: 100 x 0.002 x (1 - 0.125).
	a.place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	b.place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	if got := b.balance("USDT"); got != "899.825 0.0" {
		t.Error(got)
	}
	me := parseObject(t, b.ok("GET", "/api/affiliate/"+b.id+"/user-info", "").body)
	if keysOf(me) != "ambassadorSecondLevelPercent commissionDiscountPercent inviteCode isAmbassador parentUserId referralsLevelInfos totalProfitAmount" ||
		me["parentUserId"] != a.id || fmt.Sprint(me["commissionDiscountPercent"]) != "0.125" {
		t.Errorf("%v", me)
	}
}

// A chain of six users: the fees of the last user's trades reach five levels. The expected
// values are computed by hand.
func TestAccrualsOfATreeAreTheHandComputedOnes(t *testing.T) {
	h, seller, _ := traded(t)
	chain := []*keys{h.user(""), h.user(`"isAmbassador":true,"secondLevelPercent":15`), h.user(""), h.user(`"isAmbassador":true,"secondLevelPercent":15`), h.user(""), h.user("")}
	for i := 1; i < len(chain); i++ {
		if got := chain[i].join(chain[i-1].inviteCode()); got.status != 200 {
			t.Fatal(got.body)
		}
	}
	last := chain[5]
	h.deposit(last, "USDT", "1000")
	seller.place(`{"side":"sell","currencyPairCode":"BTC_USDT","amount":3,"price":100}`)
	for i := range 3 { // three days, a fee of 0.2 each
		h.clk.Set(startNs + int64(i)*dayNs)
		last.place(`{"side":"buy","currencyPairCode":"BTC_USDT","amount":1,"price":100}`)
	}
	// Levels from the buyer up: 0.20, then an ambassador's 0.15, 0.05, 0.03, 0.02.
	for i, want := range []string{"0.012", "0.018", "0.03", "0.09", "0.12"} {
		k := chain[i]
		if got := k.ok("GET", "/api/affiliate/accruals/summary", "").body; got != `{"USDT":`+want+`}` {
			t.Errorf("summary of %d: %s, want %s", i, got, want)
		}
		page := parseObject(t, k.ok("GET", "/api/affiliate/accruals?pageSize=2", "").body)
		if keysOf(page) != "currentPage hasNextPage hasPreviousPage items pageSize totalCount totalPages" ||
			page["totalCount"] != json.Number("3") || page["totalPages"] != json.Number("2") || page["hasNextPage"] != true || len(page["items"].([]any)) != 2 {
			t.Errorf("%v", page)
		}
		first := page["items"].([]any)[0].(map[string]any)
		if first["date"] != "2026-01-03T00:00:00.000Z" || fmt.Sprint(first["profitType"]) != "1" || first["isToUserBonuses"] != false {
			t.Errorf("%v", first)
		}
		var total []map[string]any
		parse(t, k.ok("GET", "/api/affiliate/total-accruals", "").body, &total)
		if len(total) != 1 || total[0]["fromUserId"] != last.id || total[0]["level"] != json.Number(fmt.Sprint(5-i)) || total[0]["name"] != nil ||
			fmt.Sprint(total[0]["totalAmountsByCurrency"]) != "map[USDT:"+want+"]" {
			t.Errorf("%v", total)
		}
		info := parseObject(t, k.ok("GET", "/api/affiliate/"+k.id+"/user-info", "").body)
		if fmt.Sprint(info["totalProfitAmount"]) != want {
			t.Errorf("%v", info)
		}
		if got := k.balance("USDT"); got != want+" 0.0" {
			t.Errorf("balance of %d: %s", i, got)
		}
		level := parseObject(t, k.ok("GET", "/api/affiliate/accruals/filters", "").body)
		if fmt.Sprint(level) != "map[currencies:[USDT] profitTypes:[DealCommission]]" {
			t.Errorf("%v", level)
		}
	}
	var groups []map[string]any
	parse(t, chain[0].ok("GET", "/api/affiliate/accrual-groups", "").body, &groups)
	if len(groups) != 0 {
		t.Errorf("level 5 within level 1: %v", groups)
	}
	parse(t, chain[0].ok("GET", "/api/affiliate/accrual-groups?maxLevel=10&sinceDate=2026-01-02T02:00:00%2B02:00&endDate=2026-01-03", "").body, &groups)
	if len(groups) != 2 || groups[0]["date"] != "2026-01-02T00:00:00.000Z" || fmt.Sprint(groups[1]["amount"]) != "0.004" || keysOf(groups[0]) != "amount currencyCode date profitType" {
		t.Errorf("%v", groups)
	}
	for query, field := range map[string]string{
		"accruals?pageNumber=0": "pageNumber", "accruals?pageSize=101": "pageSize", "accruals?currencyCode=x": "currencyCode", "accruals?profitType=9": "profitType",
		"accruals?profitTypes=1&profitTypes=x": "profitTypes", "accruals?profitType=1&profitType=2": "profitType", "accruals/summary?profitType=No": "profitType",
		"accrual-groups?maxLevel=0": "maxLevel", "accrual-groups?maxLevel=11": "maxLevel", "accrual-groups?sinceDate=x": "sinceDate",
		"accrual-groups?sinceDate=2026-02-01&endDate=2026-01-01": "sinceDate", "accruals/breakdown": "from", "accruals/breakdown?from=2026-01-01": "to",
		"accruals/explain?from=2026-01-02&to=2026-01-02": "from", "accruals/explain?from=2026-01-01&to=2027-01-03": "to",
		"accruals/breakdown?from=2026-01-01&to=x": "to", "accruals/breakdown?from=2026-01-01&to=2026-01-02&currencyCode=_": "currencyCode",
	} {
		h.wants(query, chain[0].call("GET", "/api/affiliate/"+query, ""), 400, "INVALID_PARAM", field)
	}
	for query, want := range map[string]string{
		"profitType=DealCommission": "3", "profitType=1": "3", "profitType=StakeAccrual": "0", "profitTypes=1&profitTypes=100&profitType=2": "3", "currencyCode=BTC": "0",
	} {
		if got := parseObject(t, chain[4].ok("GET", "/api/affiliate/accruals?"+query, "").body); fmt.Sprint(got["totalCount"]) != want {
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
	h, top, _ := traded(t)
	h.in("PATCH", "/users/"+top.id, `{"stakingLevel":"R4"}`)
	var below []*keys
	for i := range 6 {
		k := h.user(fmt.Sprintf(`"stakingLevel":"R%d"`, r.IntN(3)))
		up := top
		if i > 1 {
			up = below[r.IntN(i)]
		}
		k.join(up.inviteCode())
		below = append(below, k)
	}
	for i := range 60 {
		h.clk.Set(startNs + int64(i)*int64(time.Hour))
		h.in("POST", "/users/"+below[r.IntN(6)].id+"/profits", fmt.Sprintf(`{"profitType":100,"currencyCode":%q,"amount":"%d.%09d"}`,
			[]string{"USDT", "BTC"}[r.IntN(2)], r.IntN(100), 1+r.IntN(999_999_999)))
		if i%20 == 19 {
			h.in("PATCH", "/users/"+top.id, fmt.Sprintf(`{"stakingLevel":"R%d"}`, 5+i/20))
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
			return url.QueryEscape(time.Unix(0, startNs).UTC().Add(time.Duration(hour) * time.Hour).Format(time.RFC3339))
		}
		query := "?from=" + at(from) + "&to=" + at(from+span)
		b := parseObject(t, top.ok("GET", "/api/affiliate/accruals/breakdown"+query, "").body)
		sums := map[string]*big.Rat{}
		sum(b["items"].([]any), "amount", sums)
		if got, want := text(sums), text(totals(b["totalsByCurrency"])); got != want {
			t.Fatalf("%s: breakdown %s, totals %s", query, got, want)
		}
		e := parseObject(t, top.ok("GET", "/api/affiliate/accruals/explain"+query, "").body)
		deltas := map[string]*big.Rat{}
		sum(e["reasons"].([]any), "amountDelta", deltas)
		if got, want := text(deltas), text(totals(e["deltaByCurrency"])); got != want {
			t.Fatalf("%s: reasons %s, delta %s", query, got, want)
		}
		if text(totals(e["currentTotalsByCurrency"])) != text(totals(b["totalsByCurrency"])) {
			t.Fatalf("%s: explain and breakdown disagree", query)
		}
	}
	all := parseObject(t, top.ok("GET", "/api/affiliate/accruals/breakdown?from=2026-01-01&to=2026-02-01", "").body)
	summary := parseObject(t, top.ok("GET", "/api/affiliate/accruals/summary?profitType=100", "").body)
	if text(totals(all["totalsByCurrency"])) != text(totals(summary)) {
		t.Errorf("breakdown %v, summary %v", all["totalsByCurrency"], summary)
	}
}
