package accounts

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/accounts/auth"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// says requires that a command is refused with a code, a field and a message.
func (r *rig) says(cmd Command, code refuse.Code, field, message string) {
	r.t.Helper()
	_, reject := r.try(cmd)
	if reject == nil || reject.Code != code || reject.Field != field || !strings.Contains(reject.Message, message) {
		r.t.Errorf("kind %d: %+v, want %s %q %q", cmd.Kind, reject, code, field, message)
	}
}

// A key that signs the making or the end of a key must be of the same user, active, and may manage keys; it may only
// end what is below it, and itself.
func TestKeysThatManageKeys(t *testing.T) {
	r := newRig(t)
	one, two := r.user(ProfilePatch{}), r.user(ProfilePatch{})
	make := func(user uint32, by string, req auth.KeyRequest) string {
		t.Helper()
		return r.do(Command{Kind: CreateKey, User: user, SignedBy: by, Key: asked(req)}).Key.PublicKey
	}
	manages := auth.KeyRequest{Name: "m", CanTrade: true, CanManageKeys: true}
	reads := auth.KeyRequest{Name: "r"}
	root, other := make(one, "", manages), make(two, "", manages)
	read := make(one, "", reads)
	short := manages
	short.ExpiresNs = t0 + 1
	late := make(one, "", short)
	child := make(one, root, manages)
	below := make(one, child, reads)
	r.now++ // late has expired
	for _, x := range map[string]struct {
		by    string
		code  refuse.Code
		field string
	}{
		"unknown":      {"nothing", refuse.Unauthorized, "API-PublicKey"},
		"another user": {other, refuse.Unauthorized, "API-PublicKey"},
		"expired":      {late, refuse.Unauthorized, "API-PublicKey"},
		"reads":        {read, refuse.Forbidden, "canManageKeys"},
	} {
		r.says(Command{Kind: CreateKey, User: one, SignedBy: x.by, Key: asked(reads)}, x.code, x.field, "")
		r.says(Command{Kind: DeleteKey, User: one, SignedBy: x.by, PublicKey: root}, x.code, x.field, "")
	}
	// A key makes no key that may do more than itself.
	r.says(Command{Kind: CreateKey, User: one, SignedBy: child, Key: asked(auth.KeyRequest{
		Name: "w", CanTrade: true, CanWithdraw: true, IPWhitelist: []string{"10.0.0.1"},
	})}, refuse.Forbidden, "canWithdraw", "")
	r.says(Command{Kind: DeleteKey, User: one, SignedBy: child, PublicKey: root}, refuse.Forbidden, "publicKey",
		"only delete itself and the keys below it")
	l := &told{}
	r.s.View().Listen(l)
	r.do(Command{Kind: DeleteKey, User: one, SignedBy: read, PublicKey: read}) // itself, without any right
	r.do(Command{Kind: DeleteKey, User: one, SignedBy: child, PublicKey: below})
	make(one, child, reads)
	r.do(Command{Kind: DeleteKey, User: one, SignedBy: child, PublicKey: child})
	r.s.View()
	if len(l.deleted) != 4 || r.s.keys.Find(root) == nil || r.s.keys.Find(child) != nil {
		t.Errorf("%d keys were deleted", len(l.deleted))
	}
	r.do(Command{Kind: DeleteKey, User: one, SignedBy: root, PublicKey: late})
}

// A new key is refused when its public key is used already, when there are too many, or when it has a bad name; one
// with an Ed25519 or RSA key has no secret.
func TestNewKeys(t *testing.T) {
	r := newRig(t)
	one := r.user(ProfilePatch{})
	ed := auth.KeyRequest{Name: "e", Ed25519: bytes.Repeat([]byte{7}, 32)}
	res := r.do(Command{Kind: CreateKey, User: one, Key: asked(ed)})
	if !res.Secret.Empty() || !bytes.Equal(res.Key.Ed25519, ed.Ed25519) {
		t.Errorf("%+v", res.Key)
	}
	r.says(Command{Kind: CreateKey, User: one, Key: asked(ed)}, refuse.Conflict, "ed25519PublicKey",
		"make a new key pair")
	byRSA := auth.KeyRequest{Name: "r", RSA: rsaPublic()}
	res = r.do(Command{Kind: CreateKey, User: one, Key: asked(byRSA)})
	if !res.Secret.Empty() || !bytes.Equal(res.Key.RSA, byRSA.RSA) || res.Key.Ed25519 != nil {
		t.Errorf("%+v", res.Key)
	}
	r.says(Command{Kind: CreateKey, User: one, Key: asked(byRSA)}, refuse.Conflict, "rsaPublicKey",
		"make a new key pair")
	ed.Ed25519 = bytes.Repeat([]byte{8}, 32)
	r.do(Command{Kind: CreateKey, User: one, Key: asked(ed)})
	name := auth.KeyRequest{Name: strings.Repeat("é", MaxKeyName)}
	r.do(Command{Kind: CreateKey, User: one, Key: asked(name)})
	name.Name += "é"
	r.says(Command{Kind: CreateKey, User: one, Key: asked(name)}, refuse.InvalidParam, "name", "1 to 64 characters")
	plain := Command{Kind: CreateKey, User: one, Key: asked(auth.KeyRequest{Name: "k"})}
	again := plain
	again.Key.PublicKey = r.s.dir.users[one].keys[1].Record().PublicKey
	again.Key.Secret = auth.NewSecret(strings.Repeat("a", auth.PrivateKeyLength))
	r.says(again, refuse.Conflict, "", "exists already; try again")
	for len(r.s.dir.users[one].keys) < MaxKeysPerUser {
		r.do(plain)
	}
	r.says(plain, refuse.Conflict, "", "at most 30 API keys")
}

// The members of a profile have bounds; their messages name them.
func TestProfilesHaveBounds(t *testing.T) {
	r := newRig(t)
	id := r.user(ProfilePatch{Nickname: ptr("ab")})
	text := func(n int) *string { return ptr(strings.Repeat("é", n)) }
	name := func(s *string) OptionalName { return OptionalName{Set: true, Value: s} }
	for _, p := range []ProfilePatch{
		{Level: ptr(int64(0))},
		{Level: ptr(int64(MaxLevel))},
		{StakingLevel: ptr("R0")},
		{StakingLevel: ptr("R8")},
		{Nickname: text(MinNickname)},
		{Nickname: text(MaxNickname)},
		{Name: name(text(1))},
		{Name: name(text(MaxRealName))},
		{SecondLevelPercent: decp("0")},
		{SecondLevelPercent: decp("20")},
	} {
		r.do(Command{Kind: PatchUser, User: id, Profile: p})
	}
	for message, p := range map[string]ProfilePatch{
		"level must be 0 to 30.":                 {Level: ptr(int64(-1))},
		"level must be 0 to 30":                  {Level: ptr(int64(MaxLevel + 1))},
		"stakingLevel must be R0 to R8.":         {StakingLevel: ptr("R9")},
		"stakingLevel must be R0 to R8":          {StakingLevel: ptr("R/")},
		"stakingLevel must be R0 to ":            {StakingLevel: ptr("S1")},
		"stakingLevel must be R0 to":             {StakingLevel: ptr("R")},
		"stakingLevel must be R0":                {StakingLevel: ptr("R11")},
		"nickname must be 2 to 32 characters":    {Nickname: text(MinNickname - 1)},
		"nickname must be 2 to 32 ":              {Nickname: text(MaxNickname + 1)},
		"name must be 1 to 64 characters":        {Name: name(text(MaxRealName + 1))},
		"secondName must be 1 to 64 characters":  {SecondName: name(text(MaxRealName + 1))},
		"secondName must be 1 to 64 ":            {SecondName: name(text(0))},
		"secondLevelPercent must be 0 to 20 wit": {SecondLevelPercent: decp("20.000001")},
	} {
		field, _, _ := strings.Cut(message, " ")
		r.says(Command{Kind: PatchUser, User: id, Profile: p}, refuse.InvalidParam, field, message)
	}
	// The staking level changes a bounded number of times; a patch that leaves it is no change.
	u := r.s.dir.mustFind(id)
	r.do(Command{Kind: PatchUser, User: id, Profile: ProfilePatch{StakingLevel: ptr("R1")}})
	u.levelChanges = make([]accrual.LevelChange, MaxLevelChanges-1)
	r.do(Command{Kind: PatchUser, User: id, Profile: ProfilePatch{StakingLevel: ptr("R2")}})
	r.do(Command{Kind: PatchUser, User: id, Profile: ProfilePatch{StakingLevel: ptr("R2"), Level: ptr(int64(3))}})
	r.says(Command{Kind: PatchUser, User: id, Profile: ProfilePatch{StakingLevel: ptr("R3")}}, refuse.Conflict,
		"stakingLevel", "changed 10000 times, the most there can be")
	// What an operator sets later does not come from the creation of a user.
	res := r.do(Command{Kind: CreateUser, Profile: ProfilePatch{
		AvatarID: ptr("nothing"), NoTradeCommissions: ptr(true), DealBidDiscount: decp("9"), DealAskDiscount: decp("9"),
	}})
	if p := r.s.dir.mustFind(res.User.Number).profile; p.NoFees || p.AvatarID != DefaultAvatar || p.BidDiscount != 0 {
		t.Errorf("%+v", p)
	}
	// A user may keep the name.
	r.do(Command{Kind: PatchUser, User: id, Profile: ProfilePatch{Nickname: ptr(u.profile.Nickname)}})
	users := r.s.dir.users
	r.s.dir.users = append(users, make([]*user, MaxUsers+1-len(users))...)
	r.says(Command{Kind: CreateUser}, refuse.Conflict, "", "There are 1000000 users, the most there can be.")
	r.s.dir.users = r.s.dir.users[:MaxUsers]
	if _, reject := r.try(Command{Kind: CreateUser}); reject != nil {
		t.Errorf("the last user: %v", reject)
	}
}

// Terms, levels and figures of the built-in account, of a user and of an unknown one.
func TestTermsOfAccounts(t *testing.T) {
	r := newRig(t)
	one := r.user(ProfilePatch{Level: ptr(int64(7))})
	r.do(Command{Kind: PatchUser, User: one, Profile: ProfilePatch{DealBidDiscount: decp("0.5")}})
	v := r.s.View()
	if got := v.Terms(0); got != (Terms{NoFees: true, Unlimited: true}) {
		t.Errorf("the built-in account: %+v", got)
	}
	if got := v.Terms(one); got != (Terms{BidDiscount: RateOne / 2}) {
		t.Errorf("%+v", got)
	}
	if v.Terms(9) != (Terms{}) || v.UserInfo(9).ReferralsLevelInfos == nil || v.UserInfo(9).InviteCode != "" {
		t.Error("an unknown user has terms or figures")
	}
	if level, address := v.Level(one); level != 7 || address != addressText(one) {
		t.Errorf("level %d, address %s", level, address)
	}
	if level, address := v.Level(9); level != 0 || address != "" {
		t.Errorf("an unknown user has level %d, address %s", level, address)
	}
	for n, known := range map[uint32]bool{0: false, one: true, one + 1: false} {
		if _, ok := v.User(n); ok != known {
			t.Errorf("user %d is known: %t", n, ok)
		}
	}
	if n, ok := v.NumberOf(UserID(one)); n != one || !ok {
		t.Errorf("user %d, %t", n, ok)
	}
	avatars := v.Avatars()
	for i := range avatars[1:] {
		if avatars[i].ID >= avatars[i+1].ID {
			t.Errorf("%s comes before %s", avatars[i].ID, avatars[i+1].ID)
		}
	}
}

// A listener is notified of money that has entered or left at the publication, once each, in the order of the log.
func TestTransfersArePublishedOnce(t *testing.T) {
	r := newRig(t)
	one := r.user(ProfilePatch{})
	r.deposit(one, "AA", "1") // before the listener
	r.s.View()
	l := &told{}
	r.s.View().Listen(l)
	r.deposit(one, "AA", "100")
	r.do(Command{Kind: Withdraw, User: one, Currency: "AA", Amount: dec("10")})
	r.do(Command{Kind: AddProfit, User: one, Currency: "BB", Amount: dec("3"), Profit: accrual.StakeAccrual})
	r.s.Shown().Publish() // before the report is folded
	if l.transfers != nil {
		t.Errorf("%v were published before their time", l.transfers)
	}
	r.s.View()
	r.s.View()
	var notified []string
	for _, one := range l.transfers {
		notified = append(notified, one.currency+" "+text(one.amount))
	}
	if got, want := strings.Join(notified, ", "), "AA 100.0, AA -10.01, BB 3.0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Money enters up to 10^37 units of a currency, and a profit only while the share of its receiver's uplines fits, too.
func TestMoneyFromOutsideIsBounded(t *testing.T) {
	r := newRig(t)
	one := r.user(ProfilePatch{})
	for _, code := range []string{"AA", "BB", "CC"} {
		r.asset(code, 18)
	}
	const tooMuch = " may be at most 10^19 together."
	most := MaxUnits.Sub(fixed.FromI64(1)) // 10^19 of 10^-18
	r.do(Command{Kind: Deposit, User: one, Currency: "AA", Amount: most})
	r.says(Command{Kind: Deposit, User: one, Currency: "AA", Amount: fixed.FromI64(2)}, refuse.InvalidParam, "amount",
		"All deposits of AA"+tooMuch)
	r.do(Command{Kind: Deposit, User: one, Currency: "AA", Amount: fixed.FromI64(1)})
	r.says(Command{Kind: Deposit, User: one, Currency: "AB", Amount: dec("0.000000001")}, refuse.InvalidParam, "amount",
		"AB has 8 digits; amount has more.")
	half := dec("5000000000000000000")
	profit := Command{Kind: AddProfit, User: one, Currency: "BB", Amount: half, Profit: accrual.StakeAccrual}
	more := profit
	more.Amount = half.Add(fixed.FromI64(1))
	r.says(more, refuse.InvalidParam, "amount", tooMuch)
	r.do(profit)
	r.do(Command{Kind: Deposit, User: one, Currency: "BB", Amount: fixed.FromI64(1)})
	r.says(profit, refuse.InvalidParam, "amount", tooMuch)
	r.s.referral.commandAccruals = MaxCommandAccruals - 1
	profit.Currency, profit.Amount = "CC", dec("1")
	if _, reject := r.try(profit); reject != nil {
		t.Errorf("the last accrual: %v", reject)
	}
	r.s.referral.commandAccruals = MaxCommandAccruals
	r.says(profit, refuse.Conflict, "", "There are 4000000 accruals of this kind, the most there can be.")
	// A commission beside the largest amount of money, of an asset with so few digits that the balance has both.
	r.s.settings.Withdrawal = CommissionRule{Minimum: fixed.FromI64(1)}
	r.says(Command{Kind: Withdraw, User: one, Currency: "AA", Amount: MaxMoney}, refuse.InsufficientFunds, "", "AA")
	r.says(Command{Kind: Withdraw, User: one, Currency: "AA", Amount: MaxUnits}, refuse.InsufficientFunds, "", "AA")
	r.do(Command{Kind: Withdraw, User: one, Currency: "AA", Amount: most})
	r.balance(one, "AA", "0.0", "0.0")
	r.asset("DD", 0)
	for range 2 {
		r.do(Command{Kind: Deposit, User: one, Currency: "DD", Amount: MaxMoney})
	}
	r.says(Command{Kind: Withdraw, User: one, Currency: "DD", Amount: MaxMoney}, refuse.InsufficientFunds, "", "DD")
	res := r.do(Command{Kind: Withdraw, User: one, Currency: "DD", Amount: MaxMoney.Sub(dec("1"))})
	if res.Commission != dec("1") || text(res.Balance.Free) != "100000000000000000000.0" || res.Balance.Digits != 0 {
		t.Errorf("%+v", res)
	}
	r.check()
}

// The state keeps a copy of the settings that it is given, and readers see its levels with the next publication.
func TestStateKeepsCopies(t *testing.T) {
	r := newRig(t)
	user := r.user(ProfilePatch{})
	c := testSettings()
	c.Commissions = []Commission{{Withdrawal: true, Currency: "AA", CommissionRule: CommissionRule{Percent: 7}}}
	c.Referral.Levels = []uint32{5, 4}
	v := r.s.View()
	r.s.SetSettings(c)
	if got := len(v.UserInfo(user).ReferralsLevelInfos); got != len(DefaultConfig().Levels) {
		t.Errorf("%d levels are shown before the publication", got)
	}
	r.s.View()
	c.Commissions[0], c.Referral.Levels[0] = Commission{}, 0
	if got := len(v.UserInfo(user).ReferralsLevelInfos); got != 2 || v.Settings().Referral.Levels[0] != 5 ||
		r.s.referral.config.Levels[0] != 5 || r.s.settings.withdrawal("AA").Percent != 7 {
		t.Errorf("%d levels; the settings changed with the caller's: %+v", got, r.s.settings)
	}
	if !slices.IsSorted(r.s.View().Catalogue().IDs()) {
		t.Error("the avatars of the catalogue are not sorted")
	}
	for k, known := range map[Kind]bool{0: false, CreateUser: true, Reseal: true, Reseal + 1: false, 99: false} {
		if k.known() != known {
			t.Errorf("kind %d is known: %t", k, k.known())
		}
	}
}
