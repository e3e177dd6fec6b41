package accounts

import (
	"math/rand/v2"
	"testing"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/fixed"
)

func TestSetInviterChecksInOrder(t *testing.T) {
	r := newRig(t)
	a, b, c := r.user(ProfilePatch{}), r.user(ProfilePatch{}), r.user(ProfilePatch{})
	set := func(user uint32, code string) Command { return Command{Kind: SetInviter, User: user, Code: code} }
	r.refused(set(a, ""), "INVALID_PARAM", "inviteCode")
	r.refused(set(a, "nobody"), "NOT_FOUND", "inviteCode")
	r.refused(set(a, InviteCode(99)), "NOT_FOUND", "inviteCode")
	r.refused(set(a, InviteCode(0)), "NOT_FOUND", "inviteCode")
	r.refused(set(a, linkCode(1)), "NOT_FOUND", "inviteCode")
	r.refused(set(a, InviteCode(a)), "INVALID_PARAM", "inviteCode")
	if v := r.s.View().Inviter(a); v != nil {
		t.Fatal("the user has an inviter that was never set")
	}
	res := r.do(set(b, InviteCode(a)))
	if res.Inviter.UserID != UserID(a).String() || res.Inviter.InviteCode != InviteCode(a) ||
		res.Inviter.Nickname != "user-1" || res.Inviter.AvatarID != "simple" {
		t.Fatalf("%+v", res.Inviter)
	}
	r.do(set(c, InviteCode(b)))
	r.refused(set(a, InviteCode(c)), "INVALID_PARAM", "inviteCode") // a cycle
	r.refused(set(b, InviteCode(c)), "CONFLICT", "")
	r.refused(set(b, "nobody"), "CONFLICT", "") // a second inviter is refused before an unknown code
	r.refused(set(b, ""), "INVALID_PARAM", "inviteCode")
	r.restart()
	if v := r.s.View().Inviter(c); v == nil || v.UserID != UserID(b).String() {
		t.Fatal("the relation is gone after a restart")
	}
	for _, x := range []string{UserID(b).String(), InviteCode(b)} {
		if v, ok := r.s.View().FindInviter(x); !ok || v.UserID != UserID(b).String() {
			t.Fatalf("%s: %+v", x, v)
		}
	}
	for _, x := range []string{UserID(99).String(), "00000000-0000-0000-0000-000000000000", "ABCDEFGH", "x"} {
		if v, ok := r.s.View().FindInviter(x); ok {
			t.Fatalf("%s: %+v", x, v)
		}
	}
}

func TestAmbassadorLinksGiveTheirDiscount(t *testing.T) {
	r := newRig(t)
	a, b := r.user(ProfilePatch{}), r.user(ProfilePatch{})
	link := func(percent string) Command {
		return Command{Kind: CreateLink, User: a, DiscountPercent: dec(percent)}
	}
	for _, p := range []string{"0", "0.999999", "50.000001", "1.0000001", "-1"} {
		r.refused(link(p), "INVALID_PARAM", "discountPercent")
	}
	r.refused(link("10"), "FORBIDDEN", "")
	r.do(Command{Kind: PatchUser, User: a, Profile: ProfilePatch{
		IsAmbassador:       ptr(true),
		SecondLevelPercent: decp("15"),
	}})
	l := r.do(link("12.5")).Link
	if l.OwnerUserID != UserID(a).String() || text(l.DiscountPercent) != "12.5" || !l.IsActive ||
		len(l.Code) != 8 || l.CreatedNs != t0 || l.ID == "" {
		t.Fatalf("%+v", l)
	}
	r.restart()
	r.do(Command{Kind: SetInviter, User: b, Code: l.Code})
	v, _ := r.s.View().User(b)
	if text(v.DealBidDiscount) != "0.125" || text(v.DealAskDiscount) != "0.125" || *v.InviterID != UserID(a).String() {
		t.Fatalf("%+v", v)
	}
	if terms := r.s.View().Terms(b); terms.Discount(engine.Buy) != 12_500_000 ||
		terms.Discount(engine.Sell) != 12_500_000 {
		t.Fatalf("%+v", terms)
	}
	for i := 1; i < MaxLinksPerUser; i++ {
		r.do(link("50"))
	}
	r.refused(link("1"), "CONFLICT", "")
	info := r.s.View().Ambassador(a)
	if !info.IsAmbassador || text(info.SecondLevelPercent) != "15.0" || len(info.Links) != MaxLinksPerUser ||
		info.Links[0].Code != l.Code {
		t.Fatalf("%+v", info)
	}
	if info := r.s.View().Ambassador(b); info.IsAmbassador || info.Links == nil || len(info.Links) != 0 {
		t.Fatalf("%+v", info)
	}
	if found, ok := r.s.View().FindInviter(l.Code); !ok || found.UserID != UserID(a).String() {
		t.Fatal("a link's code does not lead to its owner")
	}
}

// chain adds users 1 to n, each invited by the previous one.
func (r *rig) chain(n int) {
	for i := range n {
		if r.user(ProfilePatch{}); i > 0 {
			r.invite(uint32(i)+1, uint32(i))
		}
	}
}

// fill folds a trade of worth quote units (8 digits) between the given taker and the built-in
// account, with a fee rate of 0.1.
func (r *rig) fill(taker uint32, worth int64, timeNs int64) {
	r.fold(traded(engine.Event{
		TimeNs: timeNs, Side: engine.Sell, Account: engine.AccountID(taker), Price: 1, Amount: worth,
		TakerFee: RateOne / 10, MakerFee: RateOne,
	})...)
}

// The test computes a tree of five levels by hand: seven users in a chain, 7 trades for 1000
// with a fee of 100, then 6 trades for 100 with a fee of 10.
func TestAccrualsOfFiveLevelsByHand(t *testing.T) {
	r := newRig(t)
	r.pair()
	r.chain(7)
	r.deposit(7, "BTC", "100000")
	r.deposit(6, "BTC", "100000")
	r.do(Command{Kind: PatchUser, User: 4, Profile: ProfilePatch{
		IsAmbassador:       ptr(true),
		SecondLevelPercent: decp("17.5"),
	}})
	r.fill(7, 1000_0000_0000, t0)
	r.fill(6, 100_0000_0000, t0+dayNs)
	// 7: 100 -> 6 20, 5 10, 4 5, 3 3, 2 2; 6: 10 -> 5 2, 4 1.75 (ambassador), 3 0.5, 2 0.3, 1 0.2
	want := map[uint32]string{
		7: "", 6: "20.0", 5: "12.0", 4: "6.75", 3: "3.5", 2: "2.3", 1: "0.2",
	}
	for u, amount := range want {
		got := r.s.View().Accruals(u).Summary(accrual.Filter{})
		if amount == "" {
			if len(got) != 0 {
				t.Fatalf("user %d: %+v", u, got)
			}
			continue
		}
		if len(got) != 1 || got[0].CurrencyCode != "USDT" || text(got[0].Amount) != amount {
			t.Fatalf("user %d: %+v, want %s", u, got, amount)
		}
		if u < 6 { // the balance has the accruals
			r.balance(u, "USDT", amount, "0.0")
		}
	}
	for _, v := range r.s.View().Totals() {
		if v.CurrencyCode == "USDT" && text(v.Fees) != "65.25" { // 110 - 44.75
			t.Fatalf("fees %s", text(v.Fees))
		}
	}
	info := r.s.View().UserInfo(2)
	if info.InviteCode != InviteCode(2) || *info.ParentUserID != UserID(1).String() ||
		text(info.TotalProfitAmount) != "2.3" || len(info.ReferralsLevelInfos) != 5 {
		t.Fatalf("%+v", info)
	}
	for i, l := range info.ReferralsLevelInfos {
		profit := map[int]string{4: "0.3", 5: "2.0"}[l.Level]
		if l.Level != i+1 || l.ReferralsTotalCount != 1 || (profit != "" && text(l.ProfitAmount) != profit) ||
			(profit == "" && l.ProfitAmount.Sign() != 0) {
			t.Fatalf("level %d: %+v", i+1, l)
		}
	}
	total := r.s.View().Accruals(5).Totals()
	if len(total) != 2 {
		t.Fatalf("%+v", total)
	}
	for _, row := range total {
		wantLevel, wantAmount := 1, "2.0"
		if row.FromUserID == UserID(7).String() {
			wantLevel, wantAmount = 2, "10.0"
		}
		if row.Level != wantLevel || text(row.TotalAmountsByCurrency[0].Amount) != wantAmount || row.Name != nil {
			t.Fatalf("%+v", row)
		}
	}
	r.restart()
	if d := differ.Diff(total, r.s.View().Accruals(5).Totals()); d != "" {
		t.Fatalf("other totals after a restart: %s", d)
	}
	if d := differ.Diff(info, r.s.View().UserInfo(2)); d != "" {
		t.Fatalf("another user-info after a restart: %s", d)
	}
}

func TestTreeCountsFollowSubtreesThatJoin(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(11, 12))
	const n = 120
	for range n {
		r.user(ProfilePatch{})
	}
	for range 2000 {
		u, by := uint32(rng.IntN(n)+1), uint32(rng.IntN(n)+1)
		r.try(Command{Kind: SetInviter, User: u, Code: InviteCode(by)})
	}
	naive := map[uint32]map[int]int64{}
	for u := uint32(1); u <= n; u++ {
		up := r.s.dir.users[u].inviter
		for level := 1; up != 0 && level <= 5; level++ {
			if naive[up] == nil {
				naive[up] = map[int]int64{}
			}
			naive[up][level]++
			up = r.s.dir.users[up].inviter
		}
	}
	check := func() {
		for u := uint32(1); u <= n; u++ {
			for _, l := range r.s.View().UserInfo(u).ReferralsLevelInfos {
				if l.ReferralsTotalCount != naive[u][l.Level] {
					t.Fatalf("user %d level %d: %d, want %d", u, l.Level, l.ReferralsTotalCount, naive[u][l.Level])
				}
			}
		}
	}
	check()
	r.restart()
	check()
}

func TestAccrualsAreRoundedDownAndPaidByThePayersFee(t *testing.T) {
	r := newRig(t)
	r.asset("EUR", 18)
	r.chain(3)
	r.deposit(3, "EUR", "100")
	r.s.settings.Withdrawal = CommissionRule{Minimum: fixed.FromI64(9)}
	res := r.do(Command{Kind: Withdraw, User: 3, Currency: "EUR", Amount: dec("1")})
	if res.Commission != fixed.FromI64(9) {
		t.Fatal(text(res.Commission))
	}
	// 9 units: 20 % is 1.8 -> 1; 10 % is 0.9 -> 0, which is no record.
	page, _ := r.s.View().Accruals(2).Page(accrual.Filter{}, accrual.Cursor{}, 1, 20)
	if len(page.Items) != 1 || page.Items[0].Amount != fixed.FromI64(1).Wide() ||
		page.Items[0].ProfitType != accrual.WithdrawalCommission {
		t.Fatalf("%+v", page)
	}
	page, _ = r.s.View().Accruals(1).Page(accrual.Filter{}, accrual.Cursor{}, 1, 20)
	if page.TotalCount != 0 || page.Items == nil {
		t.Fatalf("%+v", page)
	}
	r.check()
}

func TestProfitsByLevelAndByStakingLevel(t *testing.T) {
	r := newRig(t)
	r.chain(6) // 6 is below 5 ... below 1
	level := func(u uint32, l string) {
		r.do(Command{Kind: PatchUser, User: u, Profile: ProfilePatch{StakingLevel: &l}})
	}
	level(5, "R1")
	level(4, "R0")
	level(3, "R3")
	level(2, "R2")
	level(1, "R8")
	profit := func(typ accrual.Type, amount string) []PaidAccrual {
		return r.do(Command{Kind: AddProfit, User: 6, Profit: typ, Currency: "USDT", Amount: dec(amount)}).Accruals
	}
	got := profit(accrual.StakeAccrual, "100")
	want := []PaidAccrual{ // 5 %, then 10 - 5, then 20 - 10; R0 and R2 come after higher shares
		{UserID(5).String(), 1, sum("5"), "USDT"},
		{UserID(3).String(), 3, sum("5"), "USDT"},
		{UserID(1).String(), 5, sum("10"), "USDT"},
	}
	if d := differ.Diff(want, got); d != "" {
		t.Fatal(d)
	}
	r.balance(6, "USDT", "100.0", "0.0")
	r.balance(1, "USDT", "10.0", "0.0")
	for _, typ := range []accrual.Type{
		accrual.CurrencyListing, accrual.APITradeProfitPayment, accrual.WithdrawalCommission,
	} {
		if got := profit(typ, "10"); len(got) != 5 || text(got[0].Amount) != "2.0" || text(got[4].Amount) != "0.2" {
			t.Fatalf("%+v", got)
		}
	}
	v := r.s.View().Totals()[0]
	if text(v.Deposited) != "162.0" || v.Fees.Sign() != 0 || text(v.Free) != "162.0" { // 100 + 20 + 3 x (10 + 4)
		t.Fatalf("%+v", v)
	}
	for _, typ := range []accrual.Type{accrual.DealCommission, 0, 3} {
		r.refused(Command{Kind: AddProfit, User: 6, Profit: typ, Currency: "USDT", Amount: dec("1")},
			"INVALID_PARAM", "profitType")
	}
	r.refused(Command{Kind: AddProfit, User: 6, Profit: accrual.StakeAccrual, Currency: "USDT", Amount: dec("0")},
		"INVALID_PARAM", "amount")
	if d := differ.Diff(accrual.Filters{
		Currencies: []string{"USDT"},
		ProfitTypes: []accrual.Type{
			accrual.WithdrawalCommission, accrual.CurrencyListing, accrual.APITradeProfitPayment, accrual.StakeAccrual,
		},
	}, r.s.View().Accruals(5).Filters()); d != "" {
		t.Fatal(d)
	}
}

func TestBonusShareIsARecordOfItsOwn(t *testing.T) {
	r := newRig(t)
	c := DefaultConfig()
	c.BonusShare = RateOne / 4
	r.rates(c)
	r.chain(2)
	r.do(Command{Kind: PatchUser, User: 1, Profile: ProfilePatch{StakingLevel: ptr("R8")}})
	r.do(Command{Kind: AddProfit, User: 2, Profit: accrual.StakeAccrual, Currency: "USDT", Amount: dec("10")})
	page, _ := r.s.View().Accruals(1).Page(accrual.Filter{}, accrual.Cursor{}, 1, 20)
	if len(page.Items) != 2 || !page.Items[0].IsToUserBonuses || text(page.Items[0].Amount) != "0.5" ||
		text(page.Items[1].Amount) != "1.5" {
		t.Fatalf("%+v", page.Items)
	}
	b, reject := r.s.View().Accruals(1).Breakdown(t0, t0+1, "")
	if reject != nil || len(b.Items) != 1 || text(b.Items[0].Amount) != "2.0" ||
		text(b.Items[0].AmountToMainAccount) != "1.5" || text(b.Items[0].SourceStakeProfitAmount) != "10.0" ||
		text(b.Items[0].AppliedPercentage) != "0.2" || b.Items[0].ReceiverLevel != "R8" || b.CurrentLevel != "R8" {
		t.Fatalf("%+v", b)
	}
	r.restart()
	if r.s.referral.config.BonusShare != RateOne/4 {
		t.Fatal("the configuration is gone after a restart")
	}
	r.check()
}

func TestConfigThatPromisesMoreThanTheFeeIsRefused(t *testing.T) {
	for name, c := range map[string]Config{
		"no levels":     {},
		"eleven levels": {Levels: make([]uint32, 11)},
		"more than 1":   {Levels: []uint32{RateOne, 1}},
		"ambassador":    {Levels: []uint32{RateOne * 9 / 10, 0}},
		"falling":       {Levels: []uint32{1}, Staking: [9]uint32{0, 2, 1}},
		"bonus":         {Levels: []uint32{1}, BonusShare: RateOne + 1},
	} {
		if c.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := DefaultConfig().Validate(); err != nil {
		t.Fatal(err)
	}
}
