package accounts

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
)

// chain returns a rig with users 1 <- 2 <- 3: each is invited by the one before.
func chain(t *testing.T) *rig {
	r := newRig(t)
	r.pair()
	for range 3 {
		r.user(ProfilePatch{})
	}
	r.invite(2, 1)
	r.invite(3, 2)
	return r
}

// rows returns the number of balances of a user that have ever been used.
func (r *rig) rows(user uint32) int { return len(r.s.dir.mustFind(user).rows) }

// Without a fee, and without a higher staking level than below, an upline gets nothing, not even an empty balance.
func TestNothingToShare(t *testing.T) {
	r := chain(t)
	if r.s.referral.maxDealAccruals != MaxDealAccruals {
		t.Errorf("%d accruals are kept", r.s.referral.maxDealAccruals)
	}
	r.s.settings.Withdrawal.Percent = 0
	r.deposit(3, "AA", "100")
	r.do(Command{Kind: Withdraw, User: 3, Currency: "AA", Amount: dec("1")})
	if r.rows(1)+r.rows(2) != 0 {
		t.Errorf("%d balances without a commission", r.rows(1)+r.rows(2))
	}
	for _, n := range []uint32{1, 2} {
		r.do(Command{Kind: PatchUser, User: n, Profile: ProfilePatch{StakingLevel: ptr("R1")}})
	}
	res := r.do(Command{Kind: AddProfit, User: 3, Currency: "AA", Amount: dec("100"), Profit: accrual.StakeAccrual})
	if r.rows(1) != 0 || len(res.Accruals) != 1 || r.s.referral.commandAccruals != 1 {
		t.Errorf("%d balances, %+v, %d accruals", r.rows(1), res.Accruals, r.s.referral.commandAccruals)
	}
}

// The first accrual of a staking income records its source, also when all of it is a bonus.
func TestSourceOfABonus(t *testing.T) {
	r := chain(t)
	c := DefaultConfig()
	c.BonusShare = RateOne
	r.rates(c)
	r.do(Command{Kind: PatchUser, User: 2, Profile: ProfilePatch{StakingLevel: ptr("R1")}})
	r.do(Command{Kind: AddProfit, User: 3, Currency: "AA", Amount: dec("100"), Profit: accrual.StakeAccrual})
	others := &r.s.dir.mustFind(2).received.Others
	if a := others.At(0); others.Len() != 1 || !a.Bonus ||
		a.Source != fixed.FromI64(100e8) || a.Amount != fixed.FromI64(5e8) {
		t.Errorf("%+v", others)
	}
}

// An invite code has 1 to 64 characters; an ambassador makes a bounded number of links.
func TestCodesAndLinksHaveBounds(t *testing.T) {
	r := chain(t)
	user := r.user(ProfilePatch{IsAmbassador: ptr(true)})
	for n, message := range map[int]string{
		0: "inviteCode must be 1 to 64 characters.", 1: "There is no such invite code.",
		MaxSearchQuery:     "There is no such invite code.",
		MaxSearchQuery + 1: "inviteCode must be 1 to 64 characters.",
	} {
		_, reject := r.try(Command{Kind: SetInviter, User: user, Code: strings.Repeat("é", n)})
		if reject == nil || reject.Message != message {
			t.Errorf("a code of %d characters: %+v", n, reject)
		}
	}
	for range MaxLinksPerUser {
		r.do(Command{Kind: CreateLink, User: user, DiscountPercent: dec("1")})
	}
	r.says(Command{Kind: CreateLink, User: user, DiscountPercent: dec("1")}, refuse.Conflict, "", "at most 100 links")
}

// Inviters are found by id and by code; an id without its usual form, and an unknown one, finds none.
func TestInvitersAreFound(t *testing.T) {
	r := chain(t)
	v := r.s.View()
	id := UserID(2)
	for text, found := range map[string]bool{
		id.String(): true, InviteCode(2): true, "{" + id.String() + "}": false,
		strings.ReplaceAll(id.String(), "-", ""): false,
		"urn:uuid:" + id.String():                false,
		uuid.NameSpaceURL.String():               false,
		strings.Repeat("x",
			36): false,
		"": false,
	} {
		got, ok := v.FindInviter(text)
		if ok != found || ok && got.Nickname != r.s.dir.mustFind(2).profile.Nickname {
			t.Errorf("%q: %+v, %t", text, got, ok)
		}
	}
	for user, invited := range map[uint32]bool{1: false, 2: true, 3: true, 9: false} {
		if by := v.Inviter(user); (by != nil) != invited {
			t.Errorf("user %d is invited by %+v", user, by)
		}
	}
}
