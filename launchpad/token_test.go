package launchpad

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/refuse"
)

func form(t *testing.T, body string) (Spawn, *refuse.Refusal) {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	return SpawnForm{
		Name: m["name"], Symbol: m["symbol"], TotalSupply: m["totalSupply"],
		Decimals: m["decimals"], PoolSide: m["poolSide"], Metadata: m["metadata"],
	}.Parse()
}

func TestSpawnBodyRulesInTheOrderOfTheTable(t *testing.T) {
	meta := func(s string) string { return `{"name":"N","symbol":"ABC","metadata":` + s + `}` }
	for _, tc := range []struct {
		body  string
		code  refuse.Code
		field string
	}{
		{`{}`, refuse.InvalidParam, "name"},
		{`{"name":""}`, refuse.InvalidParam, "name"},
		{`{"name":null,"symbol":5}`, refuse.InvalidParam, "name"},
		{`{"name":7,"symbol":"ABC"}`, refuse.InvalidParam, "name"},
		{`{"name":"` + strings.Repeat("é", 51) + `","symbol":"ABC"}`, refuse.InvalidParam, "name"},
		{`{"name":"a\u0007b","symbol":"ABC"}`, refuse.InvalidParam, "name"},
		{`{"name":"a\u0085b","symbol":"ABC"}`, refuse.InvalidParam, "name"},
		{`{"name":"","symbol":"abc"}`, refuse.InvalidParam, "name"},
		{`{"name":"N"}`, refuse.InvalidParam, "symbol"},
		{`{"name":"N","symbol":12}`, refuse.InvalidParam, "symbol"},
		{`{"name":"N","symbol":null}`, refuse.InvalidParam, "symbol"},
		{`{"name":"N","symbol":""}`, refuse.InvalidSymbol, "symbol"},
		{`{"name":"N","symbol":"AB"}`, refuse.InvalidSymbol, "symbol"},
		{`{"name":"N","symbol":"ABCDEF"}`, refuse.InvalidSymbol, "symbol"},
		{`{"name":"N","symbol":"abc"}`, refuse.InvalidSymbol, "symbol"},
		{`{"name":"N","symbol":"ABC\n"}`, refuse.InvalidSymbol, "symbol"},
		{`{"name":"N","symbol":"AB1","totalSupply":"x"}`, refuse.InvalidSymbol, "symbol"},
		{`{"name":"N","symbol":"ABC","totalSupply":1000}`, refuse.InvalidParam, "totalSupply"},
		{`{"name":"N","symbol":"ABC","totalSupply":""}`, refuse.InvalidParam, "totalSupply"},
		{`{"name":"N","symbol":"ABC","totalSupply":"0"}`, refuse.InvalidParam, "totalSupply"},
		{`{"name":"N","symbol":"ABC","totalSupply":"01"}`, refuse.InvalidParam, "totalSupply"},
		{`{"name":"N","symbol":"ABC","totalSupply":"1.5"}`, refuse.InvalidParam, "totalSupply"},
		{
			`{"name":"N","symbol":"ABC","totalSupply":"1000000000000000000000000000001"}`, refuse.InvalidParam,
			"totalSupply",
		},
		{`{"name":"N","symbol":"ABC","decimals":17,"poolSide":"x"}`, refuse.InvalidParam, "decimals"},
		{`{"name":"N","symbol":"ABC","decimals":"18"}`, refuse.InvalidParam, "decimals"},
		{`{"name":"N","symbol":"ABC","decimals":18.0}`, refuse.InvalidParam, "decimals"},
		{`{"name":"N","symbol":"ABC","poolSide":"usbi"}`, refuse.InvalidParam, "poolSide"},
		{`{"name":"N","symbol":"ABC","poolSide":1,"metadata":1}`, refuse.InvalidParam, "poolSide"},
		{meta(`[]`), refuse.InvalidParam, "metadata"},
		{meta(`"x"`), refuse.InvalidParam, "metadata"},
		{meta(`{"x":"` + strings.Repeat("a", 4090) + `"}`), refuse.InvalidParam, "metadata"},
		{meta(`{"description":1,"website":"x"}`), refuse.InvalidParam, "metadata.description"},
		{meta(`{"logoUri":"javascript:alert(1)"}`), refuse.InvalidParam, "metadata.logoUri"},
		{meta(`{"website":"ftp://x.org"}`), refuse.InvalidParam, "metadata.website"},
		{meta(`{"website":"https://"}`), refuse.InvalidParam, "metadata.website"},
		{meta(`{"website":"example.org"}`), refuse.InvalidParam, "metadata.website"},
		{meta(`{"website":7}`), refuse.InvalidParam, "metadata.website"},
	} {
		_, rej := form(t, tc.body)
		if rej == nil || rej.Code != tc.code || rej.Field != tc.field || rej.Message == "" {
			t.Errorf("%.80s: %+v, want %s %s", tc.body, rej, tc.code, tc.field)
		}
	}
	for _, body := range []string{
		`{"name":"N","symbol":"ABC"}`,
		`{"name":"` + strings.Repeat("é", 50) + `","symbol":"ABCDE",` +
			`"totalSupply":"1000000000000000000000000000000","decimals":18,"poolSide":"wNATIVE"}`,
		`{"name":"N","symbol":"ABC","totalSupply":null,"decimals":null,"poolSide":null,"metadata":null}`,
		meta(`{"x":"` + strings.Repeat("a", 4088) + `"}`),
		meta(`{"description":"d","logoUri":"ipfs://bafy","website":"HTTP://example.org/x?y#z","deep":{"a":[1]}}`),
	} {
		if _, rej := form(t, body); rej != nil {
			t.Errorf("%.80s: %v", body, rej)
		}
	}
}

func TestSpawnChecksInOrder(t *testing.T) {
	r := newRig(t)
	alice, bob := user(1), user(2)
	r.spawn(alice, "TAKEN")
	// Everything is wrong for alice: body, then symbol, cooldown, fee, fault, one by one.
	r.must(InjectFault{Count: 1})
	r.refused(Spawn{Owner: alice, Name: "", Symbol: "TAKEN"}, refuse.InvalidParam, "name")
	r.refused(Spawn{Owner: alice, Name: "N", Symbol: "TAKEN"}, refuse.SymbolTaken, "symbol")
	r.refused(Spawn{Owner: alice, Name: "N", Symbol: "USBI"}, refuse.SymbolTaken, "symbol")
	r.refused(Spawn{Owner: alice, Name: "N", Symbol: "FREE"}, refuse.CooldownActive, "")
	r.refused(Spawn{Owner: bob, Name: "N", Symbol: "FREE"}, refuse.InsufficientFee, "")
	r.must(Deposit{To: bob, Amount: units("99.999999999999999999")})
	r.refused(Spawn{Owner: bob, Name: "N", Symbol: "FREE"}, refuse.InsufficientFee, "")
	r.must(Deposit{To: bob, Amount: units("0.000000000000000001")})
	r.refused(Spawn{Owner: bob, Name: "N", Symbol: "FREE"}, refuse.SpawnerFailed, "")
	r.must(Spawn{Owner: bob, Name: "N", Symbol: "FREE"})
	r.check()
}

func TestAFailedSpawnLeavesNoTraceAndTakesNoFee(t *testing.T) {
	with, without := newRig(t), newRig(t)
	for _, r := range []*rig{with, without} {
		r.must(Deposit{To: user(1), Amount: AmountOf(100)})
	}
	with.must(InjectFault{Count: 2})
	for range 2 {
		with.refused(Spawn{Owner: user(1), Name: "N", Symbol: "ABC"}, refuse.SpawnerFailed, "")
	}
	if got := with.s.View().Balance(user(1), NATIVE); got != AmountOf(100) || with.s.View().Len() != 0 {
		t.Fatalf("balance %s, %d tokens", got, with.s.View().Len())
	}
	// No cooldown began, and the spawn that works is the one of a ledger without faults.
	a := with.must(Spawn{Owner: user(1), Name: "N", Symbol: "ABC"})
	b := without.must(Spawn{Owner: user(1), Name: "N", Symbol: "ABC"})
	if *a.Token.Ident != *b.Token.Ident || a.TxHash != b.TxHash {
		t.Fatalf("%+v, without faults %+v", a.Token.Ident, b.Token.Ident)
	}
}

func TestSpawnIsOneCommandForFeeTokenPoolWorkerAndSupply(t *testing.T) {
	r := newRig(t)
	r.must(Deposit{To: user(1), Amount: AmountOf(150)})
	before := r.s.seq
	res := r.must(Spawn{
		Owner: user(1), Name: "Big", Symbol: "BIG", TotalSupply: "1000000000000000000000000000000",
		PoolSide: WNative,
	})
	if r.s.seq != before+1 {
		t.Fatalf("%d commands", r.s.seq-before)
	}
	a, v := res.Token, r.s.View()
	tok, ok := v.Find("10001")
	if !ok || v.Balance(user(1), NATIVE) != AmountOf(50) ||
		v.Holding(user(1), tok).String() != "1000000000000000000000000000000.0" || v.Owned(user(1)) != 1 {
		t.Fatalf("token %v, balance %s", ok, v.Balance(user(1), NATIVE))
	}
	if a.No != 1 || a.AgentNFT() != 10001 || a.Side != WNative ||
		a.Supply.Whole().String() != "1000000000000000000000000000000" || a.Owner != user(1) || res.TxHash == (Hash{}) {
		t.Fatalf("%+v", a)
	}
	if f := res.Fact; f == nil || f.WorkerID != 1 || f.Symbol != "BIG" || f.DeployedSec != start/secondNs ||
		Address(f.Token) != tok.Address {
		t.Fatalf("fact %+v", f)
	}
	totals := v.Totals()
	if totals[NATIVE].Fees != AmountOf(100) || totals[NATIVE].Held != AmountOf(50) {
		t.Fatalf("%+v", totals)
	}
	d, _ := v.Find(strings.ToUpper(a.Address.String()))
	if usdText(d.TVL) != "0.00" || d.LastTradeSec != 0 || d.Metadata != "" || d.Boosted ||
		!d.ReserveToken.IsZero() || d.Symbol != "BIG" || d.Address != a.Address {
		t.Fatalf("%+v", d)
	}
	if price, ok := d.Price(); ok {
		t.Fatalf("an empty pool has the price %s", price)
	}
	r.check()
}

func TestCooldownEndsExactly24HoursAfterSpawnedAt(t *testing.T) {
	r := newRig(t)
	r.now += 700_000_000 // spawnedAt is printed in whole seconds
	r.spawn(user(1), "ONE")
	r.must(Deposit{To: user(1), Amount: AmountOf(500)})
	r.now = start + 86400*secondNs - 1
	r.refused(Spawn{Owner: user(1), Name: "N", Symbol: "TWO"}, refuse.CooldownActive, "")
	// The cooldown survives a restart.
	again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
	if err != nil {
		t.Fatal(err)
	}
	r.s = again
	r.refused(Spawn{Owner: user(1), Name: "N", Symbol: "TWO"}, refuse.CooldownActive, "")
	r.now++
	r.must(Spawn{Owner: user(1), Name: "N", Symbol: "TWO"})
	r.refused(Spawn{Owner: user(1), Name: "N", Symbol: "THREE"}, refuse.CooldownActive, "")
}

func TestMetadataIsKeptAsSent(t *testing.T) {
	r := newRig(t)
	r.must(Deposit{To: user(1), Amount: AmountOf(100)})
	raw := `{"z": 1,  "description":"d","nested":{"b":[1, 2]}}`
	r.must(Spawn{Owner: user(1), Name: "N", Symbol: "ABC", Metadata: raw})
	if d, _ := r.s.View().Find("10001"); d.Metadata != raw {
		t.Fatalf("%s", d.Metadata)
	}
}

func (r *rig) boosted() bool {
	r.t.Helper()
	r.due()
	t, _ := r.s.View().Find("10001")
	items := r.s.View().Tokens(r.now, ListQuery{Page: 1, PageSize: 10, Boosted: true})
	if t.Boosted != (items.TotalItems == 1) || t.Boosted && items.Items[0] != t {
		r.t.Fatalf("boosted %v, boosted list %+v", t.Boosted, items)
	}
	return t.Boosted
}

func TestBoostsStackAndExpireAtTheExactSecond(t *testing.T) {
	r := newRig(t)
	tok := r.spawn(user(1), "ABC")
	r.refused(BuyBoost{Token: 9, Tier: Short}, refuse.NotFound, "id")
	r.refused(BuyBoost{Token: tok.No}, refuse.InvalidParam, "tier")
	r.now += 300_000_000
	if b := r.must(BuyBoost{Token: tok.No, Tier: Standard}).Token; !b.Boosted || b.BoostTier != Standard ||
		b.BoostUntilSec != start/secondNs+86400 {
		t.Fatalf("%+v", b)
	}
	r.advance(100)
	b := r.must(BuyBoost{Token: tok.No, Tier: Short}).Token
	end := int64(start/secondNs + 86400 + 3600)
	if b.BoostTier != Short || b.BoostUntilSec != end {
		t.Fatalf("stacked: %s until %d, want %d", b.BoostTier, b.BoostUntilSec, end)
	}
	r.now = end*secondNs - 1
	if !r.boosted() {
		t.Fatal("expired early")
	}
	// A restart that sleeps through the end.
	again, err := DecodeSnapshot(r.s.AppendSnapshot(nil), r.s.opt)
	if err != nil {
		t.Fatal(err)
	}
	r.s = again
	if !r.boosted() {
		t.Fatal("the restart ended the boost")
	}
	// A view of before is not asked about a time it cannot know.
	old := r.s.View()
	r.now++
	if r.boosted() {
		t.Fatal("boosted at its end")
	}
	if l := old.Tokens(r.now, ListQuery{Page: 1, PageSize: 1, Boosted: true}); l.TotalItems != 1 ||
		!l.Items[0].Boosted {
		t.Fatalf("the old view changed: %+v", l)
	}
	// A purchase after the end starts a new boost.
	r.advance(50)
	if b := r.must(BuyBoost{Token: tok.No, Tier: Extended}).Token; b.BoostUntilSec != end+50+7*86400 {
		t.Fatalf("%d", b.BoostUntilSec)
	}
	r.check()
}

func TestBoostsEndAtTheMomentOfAnyCommandToo(t *testing.T) {
	r := newRig(t)
	tok := r.spawn(user(1), "ABC")
	r.must(BuyBoost{Token: tok.No, Tier: Short})
	r.lazy = true // without a tick before it
	r.now += 3600 * secondNs
	res, _ := r.do(Deposit{To: user(1), Amount: One})
	if r.token("ABC").Boosted || res.Due != 1 {
		t.Fatalf("still boosted, %d changes", res.Due)
	}
	r.check()
}

// A refusal changes nothing but what was due.
func TestARefusedCommandCarriesOutWhatIsDue(t *testing.T) {
	ticking, lazy := newRig(t), newRig(t)
	lazy.lazy = true
	for _, r := range []*rig{ticking, lazy} {
		tok := r.spawn(user(1), "ABC")
		r.must(BuyBoost{Token: tok.No, Tier: Short})
		r.now += 4000 * secondNs
		due := 0
		if r.lazy {
			due = 1
		}
		res, rej := r.do(Withdraw{From: user(9), Amount: One})
		if rej == nil || r.token("ABC").Boosted || res.Due != due {
			t.Fatalf("%v, boosted %v, %+v", rej, r.token("ABC").Boosted, res)
		}
		if r.s.LastNs() != start+3600*secondNs {
			t.Errorf("the last change was at +%d ns", r.s.LastNs()-start)
		}
		r.check()
	}
	if hashOf(ticking.s) != hashOf(lazy.s) {
		t.Error("the refused command changed something")
	}
}

func TestTheLedgerBeginsOnce(t *testing.T) {
	r := &rig{t: t, s: New(DefaultOptions()), first: DefaultOptions(), now: start}
	r.refused(Deposit{To: user(1), Amount: One}, refuse.Conflict, "")
	r.must(Begin{Seed: 1})
	r.refused(Begin{Seed: 2}, refuse.Conflict, "")
	r.check()
}

func TestSettingsHoldFromTheNextCommandOn(t *testing.T) {
	r := newRig(t)
	r.must(Deposit{To: user(1), Amount: AmountOf(1000)})
	r.must(Spawn{Owner: user(1), Name: "N", Symbol: "ONE", PoolSide: WNative})
	r.must(AddLiquidity{Token: 1, From: user(1), TokenAmount: One, QuoteAmount: AmountOf(10)})
	r.must(BuyBoost{Token: 1, Tier: Short})
	old, boostEnd := r.s.View(), r.s.NextNs()
	r.set(Options{Fee: AmountOf(7), CooldownNs: 60 * secondNs, NativeUSD: AmountOf(3)})
	r.check() // the figures and the lists are those of a ledger that never had another rate
	if was, is := old.Tokens(r.now, ListQuery{Page: 1, PageSize: 1, Sort: TVL}).Items[0], r.token("ONE"); usdText(
		was.TVL) != "20.00" || usdText(is.TVL) != "60.00" || r.s.NextNs() != boostEnd {
		t.Errorf("%+v, before %+v", is, was)
	}
	r.advance(59)
	r.refused(Spawn{Owner: user(1), Name: "N", Symbol: "TWO"}, refuse.CooldownActive, "")
	r.advance(1)
	before := r.s.View().Balance(user(1), NATIVE)
	r.must(Spawn{Owner: user(1), Name: "N", Symbol: "TWO"})
	if fee := before.Sub(r.s.View().Balance(user(1), NATIVE)); fee != AmountOf(7) {
		t.Errorf("a fee of %s", fee)
	}
	r.check()
}

func TestBoostsReachOnlySoFarAhead(t *testing.T) {
	r := newRig(t)
	tok := r.spawn(user(1), "ABC")
	for range MaxBoostAheadSec / (30 * 86400) {
		r.must(BuyBoost{Token: tok.No, Tier: Premium})
	}
	r.refused(BuyBoost{Token: tok.No, Tier: Premium}, refuse.Conflict, "tier")
}
