package accounts

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// history runs random trades, withdrawals and profits of users 1 to 12 in two trees over
// eight days, with level changes.
func history(t testing.TB, seed uint64, steps int) *rig {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(seed, 99))
	r.pair()
	r.asset("EUR", 18)
	r.chain(4)
	for n := uint32(5); n <= 12; n++ {
		r.user(ProfilePatch{})
		r.invite(n, uint32(rng.IntN(4))+1)
	}
	for n := uint32(1); n <= 12; n++ {
		r.deposit(n, "BTC", "1000000")
		r.deposit(n, "EUR", "1000000")
	}
	for range steps {
		r.now += rng.Int64N(2 * 8 * dayNs / int64(steps+1))
		u := uint32(rng.IntN(12)) + 1
		amount := fixed.FromI64(rng.Int64N(1_000_000_007) + 1)
		switch rng.IntN(8) {
		case 0, 1:
			r.fill(u, rng.Int64N(1_000_000_000)+1, r.now)
		case 2:
			r.do(Command{Kind: Withdraw, User: u, Currency: "EUR", Amount: dec("1").Add(amount)})
		case 3:
			r.do(Command{
				Kind: PatchUser, User: u,
				Profile: ProfilePatch{StakingLevel: ptr(accrual.StakingName(uint8(rng.IntN(9))))},
			})
		case 4:
			r.do(Command{Kind: AddProfit, User: u, Profit: accrual.CurrencyListing, Currency: "EUR", Amount: amount})
		default:
			r.do(Command{
				Kind: AddProfit, User: u, Profit: accrual.StakeAccrual,
				Currency: []string{"USDT", "EUR", "BTC"}[rng.IntN(3)], Amount: amount,
			})
		}
	}
	return r
}

func mapOf(list []accrual.CurrencyAmount) map[string]string {
	m := map[string]string{}
	for _, c := range list {
		if c.Amount.Sign() != 0 {
			m[c.CurrencyCode] = text(c.Amount)
		}
	}
	return m
}

func addTo[M amount](m map[string]fixed.I192, c string, v M) { m[c] = m[c].Add(v.Wide()) }

func texts(m map[string]fixed.I192) map[string]string {
	out := map[string]string{}
	for c, v := range m {
		if v.Sign() != 0 {
			out[c] = text(v)
		}
	}
	return out
}

// Every figure of the referral routes is a sum of the same accruals. The figures agree to the
// last digit, with all accruals retained and with most of the deals in the archive.
func TestFiguresAgreeWithEachOther(t *testing.T) {
	for seed := range uint64(30) {
		for _, keep := range []int{MaxDealAccruals, 5} {
			r := history(t, seed, 200)
			r.s.referral.maxDealAccruals = keep
			if r.fill(4, 1000, r.now); keep == 5 && r.s.dir.users[3].received.Archive.Len() == 0 {
				t.Fatal("nothing was archived")
			}
			for n := uint32(1); n <= 4; n++ {
				agree(t, fmt.Sprintf("seed %d keep %d user %d", seed, keep, n), r.s.View(), n)
			}
			before := r.s.View().Accruals(1).Totals()
			r.restart()
			if d := differ.Diff(before, r.s.View().Accruals(1).Totals()); d != "" {
				t.Fatalf("seed %d: other totals after a restart: %s", seed, d)
			}
		}
	}
}

func agree(t *testing.T, where string, v *Shown, n uint32) {
	t.Helper()
	listed := map[string]fixed.I192{}
	var truncated bool
	for page := int64(1); ; page++ {
		p, reject := v.Accruals(n).Page(accrual.Filter{}, accrual.Cursor{}, page, 7)
		if reject != nil {
			t.Fatal(reject)
		}
		for i, item := range p.Items {
			if i > 0 && p.Items[i-1].DateNs < item.DateNs {
				t.Fatalf("%s: not newest first", where)
			}
			addTo(listed, item.CurrencyCode, item.Amount)
		}
		truncated = p.Truncated
		if p.HasPreviousPage != (page > 1) || p.HasNextPage != (page < p.TotalPages) ||
			p.TotalPages != (p.TotalCount+6)/7 {
			t.Fatalf("%s: page %+v", where, p)
		}
		if !p.HasNextPage {
			break
		}
	}
	summary := mapOf(v.Accruals(n).Summary(accrual.Filter{}))
	if d := differ.Diff(texts(listed), summary); !truncated && d != "" {
		t.Fatalf("%s: the summary is not that of the list: %s", where, d)
	}
	byUser := map[string]fixed.I192{}
	for _, row := range v.Accruals(n).Totals() {
		for _, c := range row.TotalAmountsByCurrency {
			addTo(byUser, c.CurrencyCode, c.Amount)
		}
	}
	groups, cut, reject := v.Accruals(n).Groups(0, 1<<62, accrual.MaxLevels)
	byDay, byType := map[string]fixed.I192{}, map[string]fixed.I192{}
	for _, g := range groups {
		addTo(byDay, g.CurrencyCode, g.Amount)
	}
	for _, typ := range accrual.Types {
		for _, c := range v.Accruals(n).Summary(accrual.Filter{Profit: typ}) {
			addTo(byType, c.CurrencyCode, c.Amount)
		}
	}
	if reject != nil || cut {
		t.Fatalf("%s: %v, cut %t", where, reject, cut)
	}
	for by, sums := range map[string]map[string]fixed.I192{"user": byUser, "day": byDay, "type": byType} {
		if d := differ.Diff(summary, texts(sums)); d != "" {
			t.Fatalf("%s: the sums by %s are not the summary: %s", where, by, d)
		}
	}
	b, reject := v.Accruals(n).Breakdown(t0, t0+30*dayNs, "")
	parts := map[string]fixed.I192{}
	for _, item := range b.Items {
		addTo(parts, item.CurrencyCode, item.Amount)
	}
	stake := mapOf(v.Accruals(n).Summary(accrual.Filter{Profits: []accrual.Type{accrual.StakeAccrual}}))
	if d := differ.Diff(stake, texts(parts)); reject != nil || d != "" {
		t.Fatalf("%s: %v, the breakdown is not that of the accruals: %s", where, reject, d)
	}
	if d := differ.Diff(stake, mapOf(b.TotalsByCurrency)); d != "" {
		t.Fatalf("%s: the total is not that of the accruals: %s", where, d)
	}
}

func TestExplainSumsToTheDeltaOnRandomHistories(t *testing.T) {
	types := map[accrual.ReasonType]int{}
	for seed := range uint64(1000) {
		r := history(t, seed, 150)
		rng := rand.New(rand.NewPCG(seed, 3))
		v, n := r.s.View(), uint32(rng.IntN(4))+1
		from := t0 + dayNs + rng.Int64N(6*dayNs)
		to := from + dayNs + rng.Int64N(4*dayNs)
		currency := []string{"", "EUR"}[rng.IntN(2)]
		e, reject := v.Accruals(n).Explain(from, to, currency)
		if reject != nil || e.CurrentFromNs != from || e.PreviousToNs != from || e.PreviousFromNs != 2*from-to {
			t.Fatalf("seed %d: %+v %v", seed, e, reject)
		}
		deltas := map[string]fixed.I192{}
		for _, x := range e.Reasons {
			types[x.Type]++
			if x.Type == accrual.LevelChanged {
				if x.AmountDelta.Sign() != 0 || *x.DateNs < e.PreviousFromNs-msNs || *x.DateNs >= to ||
					*x.OldLevel == *x.NewLevel || x.FromUserID != nil {
					t.Fatalf("seed %d: %+v", seed, x)
				}
				continue
			}
			addTo(deltas, *x.CurrencyCode, x.AmountDelta)
		}
		if d := differ.Diff(mapOf(e.DeltaByCurrency), texts(deltas)); d != "" {
			t.Fatalf("seed %d: the reasons are not the delta: %s", seed, d)
		}
		current, _ := v.Accruals(n).Breakdown(from, to, currency)
		previous, _ := v.Accruals(n).Breakdown(e.PreviousFromNs, from, currency)
		diff := map[string]fixed.I192{}
		for _, c := range current.TotalsByCurrency {
			addTo(diff, c.CurrencyCode, c.Amount)
		}
		for _, c := range previous.TotalsByCurrency {
			addTo(diff, c.CurrencyCode, c.Amount.Neg())
		}
		if d := differ.Diff(texts(diff), mapOf(e.DeltaByCurrency)); d != "" {
			t.Fatalf("seed %d: explain has another delta than the breakdowns: %s", seed, d)
		}
		if d := differ.Diff(mapOf(current.TotalsByCurrency), mapOf(e.CurrentTotalsByCurrency)); d != "" {
			t.Fatalf("seed %d: explain has other totals than the breakdown: %s", seed, d)
		}
	}
	for _, typ := range []accrual.ReasonType{
		accrual.ReferralStopped, accrual.ReferralReduced, accrual.ReferralIncreased, accrual.ReferralAdded,
		accrual.LevelChanged,
	} {
		if types[typ] < 100 {
			t.Errorf("reason %d occurred %d times only", typ, types[typ])
		}
	}
	t.Logf("reasons %v", types)
}

func TestExplainNamesEachReason(t *testing.T) {
	r := newRig(t)
	r.user(ProfilePatch{StakingLevel: ptr("R8")})
	for range 5 {
		r.invite(r.user(ProfilePatch{}), 1)
	}
	stake := func(u uint32, amount string) {
		r.do(Command{Kind: AddProfit, User: u, Profit: accrual.StakeAccrual, Currency: "USDT", Amount: dec(amount)})
	}
	stake(2, "10") // stops
	stake(3, "10") // falls
	stake(4, "10") // rises
	stake(6, "10") // stays
	r.now = t0 + dayNs - 1
	r.do(Command{Kind: PatchUser, User: 1, Profile: ProfilePatch{StakingLevel: ptr("R7")}})
	r.do(Command{Kind: PatchUser, User: 1, Profile: ProfilePatch{StakingLevel: ptr("R8")}})
	r.now = t0 + dayNs
	stake(3, "5")
	stake(4, "20")
	stake(5, "1")
	stake(6, "10")
	r.now = t0 + 2*dayNs
	r.do(Command{Kind: PatchUser, User: 1, Profile: ProfilePatch{StakingLevel: ptr("R0")}})
	stake(3, "100") // both in the next period
	e, reject := r.s.View().Accruals(1).Explain(t0+dayNs, t0+2*dayNs, "USDT")
	if reject != nil {
		t.Fatal(reject)
	}
	want := map[string]accrual.ReasonType{
		UserID(2).String(): 10, UserID(3).String(): 20, UserID(4).String(): 30,
		UserID(5).String(): 40,
	}
	delta := map[string]string{
		UserID(2).String(): "-2.0", UserID(3).String(): "-1.0", UserID(4).String(): "2.0",
		UserID(5).String(): "0.2",
	}
	levels := 0
	for _, x := range e.Reasons {
		if x.Type == accrual.LevelChanged {
			levels++
			continue
		}
		if want[*x.FromUserID] != x.Type || delta[*x.FromUserID] != text(x.AmountDelta) || *x.CurrencyCode != "USDT" {
			t.Fatalf("%+v", x)
		}
		delete(want, *x.FromUserID)
	}
	if len(want) != 0 || levels != 2 || text(e.DeltaByCurrency[0].Amount) != "-0.8" {
		t.Fatalf("%d levels, missing %v, delta %+v", levels, want, e.DeltaByCurrency)
	}
}

func TestPeriodsAreHalfOpenAndCompareAsPrinted(t *testing.T) {
	r := newRig(t)
	r.user(ProfilePatch{StakingLevel: ptr("R8")})
	r.invite(r.user(ProfilePatch{}), 1)
	r.now = t0 + 999_999 // printed as t0
	r.do(Command{Kind: AddProfit, User: 2, Profit: accrual.StakeAccrual, Currency: "USDT", Amount: dec("10")})
	for _, c := range []struct {
		from, to int64
		items    int
	}{{t0, t0 + 1, 1}, {t0 - 1, t0, 0}, {t0 + 1, t0 + msNs, 0}} {
		b, reject := r.s.View().Accruals(1).Breakdown(c.from, c.to, "")
		if reject != nil || len(b.Items) != c.items || b.Items == nil {
			t.Fatalf("%+v: %+v %v", c, b, reject)
		}
	}
	for _, c := range []struct {
		from, to int64
		field    string
	}{{t0, t0, "from"}, {t0 + 1, t0, "from"}, {t0, t0 + accrual.MaxPeriodNs + 1, "to"}} {
		if _, reject := r.s.View().Accruals(1).Breakdown(c.from, c.to, ""); reject == nil || reject.Field != c.field ||
			reject.Code != refuse.InvalidParam {
			t.Fatalf("%+v: %+v", c, reject)
		}
		if _, reject := r.s.View().Accruals(1).Explain(c.from, c.to, ""); reject == nil || reject.Field != c.field {
			t.Fatalf("%+v: %+v", c, reject)
		}
	}
	if _, reject := r.s.View().Accruals(1).Explain(t0, t0+accrual.MaxPeriodNs, ""); reject != nil {
		t.Fatal("366 days are allowed:", reject)
	}
	for since, groups := range map[int64]int{t0: 1, t0 + 1: 0} { // inclusive on both sides
		got, _, reject := r.s.View().Accruals(1).Groups(since, max(t0, since), 1)
		if reject != nil || len(got) != groups || (groups == 1 && got[0].DateNs != t0) {
			t.Fatalf("since %d: %+v %v", since-t0, got, reject)
		}
	}
}

func TestAccrualPagesAndFilters(t *testing.T) {
	r := history(t, 5, 300)
	v := r.s.View()
	for _, c := range []struct {
		page, size int64
		field      string
	}{{0, 20, "pageNumber"}, {-1, 20, "pageNumber"}, {1, 0, "pageSize"}, {1, 101, "pageSize"}} {
		_, reject := v.Accruals(1).Page(accrual.Filter{}, accrual.Cursor{}, c.page, c.size)
		if reject == nil || reject.Field != c.field {
			t.Fatalf("%+v: %+v", c, reject)
		}
	}
	far, reject := v.Accruals(1).Page(accrual.Filter{}, accrual.Cursor{}, 1<<31-1, 100)
	if reject != nil || len(far.Items) != 0 || far.TotalCount == 0 || far.HasNextPage || !far.HasPreviousPage {
		t.Fatalf("%+v", far)
	}
	stake, _ := v.Accruals(1).Page(accrual.Filter{
		Profit: accrual.DealCommission, Profits: []accrual.Type{accrual.StakeAccrual},
		CurrencyCode: "EUR",
	}, accrual.Cursor{}, 1, 100)
	for _, item := range stake.Items {
		if item.ProfitType != accrual.StakeAccrual || item.CurrencyCode != "EUR" {
			t.Fatalf("profitTypes overrides profitType: %+v", item)
		}
	}
	deals, _ := v.Accruals(1).Page(accrual.Filter{Profit: accrual.DealCommission}, accrual.Cursor{}, 1, 100)
	if deals.TotalCount == 0 ||
		deals.Items[0].ProfitType != accrual.DealCommission || stake.TotalCount == 0 {
		t.Fatal("nothing to filter")
	}
	for _, level := range []int64{0, 11} {
		if _, _, reject := v.Accruals(1).Groups(0, 1, level); reject == nil || reject.Field != "maxLevel" {
			t.Fatalf("%+v", reject)
		}
	}
	if _, _, reject := v.Accruals(1).Groups(2, 1, 1); reject == nil || reject.Field != "sinceDate" {
		t.Fatalf("%+v", reject)
	}
	for i, typ := range accrual.Types {
		for _, name := range []string{typ.String(), []string{"1", "2", "40", "50", "100"}[i]} {
			if got, ok := accrual.ParseType(name); !ok || got != typ {
				t.Fatal(name)
			}
		}
	}
	if _, ok := accrual.ParseType("3"); ok {
		t.Fatal("3 is a type")
	}
}
