package accounts

import (
	"github.com/google/uuid"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// UserCount returns the number of users; their numbers are 1 to UserCount.
func (v *Shown) UserCount() int { return int(v.accounts.Load()) - 1 }

// User returns user number n; ok is false for 0 and unknown numbers.
func (v *Shown) User(n uint32) (UserView, bool) {
	u := v.account(n)
	if u == nil || n == 0 {
		return UserView{}, false
	}
	view := u.view()
	view.open(v.ring)
	return view, true
}

// NumberOf returns the number of the user with an id.
func (v *Shown) NumberOf(id uuid.UUID) (uint32, bool) {
	n := v.find(id)
	return n, n != 0
}

// Pos returns the position of the log up to which events are shown.
func (v *Shown) Pos() uint64 { return v.pos.Load() }

// InviteCode returns user n's invite code.
func InviteCode(n uint32) string { return codeOfNumber(uint64(n)) }

// Terms holds the trading terms of an account.
type Terms struct {
	BidDiscount, AskDiscount uint32 // 10^-8
	NoFees                   bool
	Unlimited                bool
}

// Discount returns the discount of the fees of an order of a side: the whole fee with noTradeCommissions.
func (t Terms) Discount(side engine.Side) uint32 {
	switch {
	case t.NoFees:
		return RateOne
	case side == engine.Buy:
		return t.BidDiscount
	}
	return t.AskDiscount
}

// Terms returns the current terms of account n; the built-in account pays no fee.
func (v *Shown) Terms(n uint32) Terms {
	u := v.account(n)
	if u == nil || n == 0 {
		return Terms{NoFees: n == 0, Unlimited: n == 0}
	}
	return u.profile.terms()
}

func (p *Profile) terms() Terms {
	return Terms{BidDiscount: p.BidDiscount, AskDiscount: p.AskDiscount, NoFees: p.NoFees, Unlimited: p.Unlimited}
}

// Level returns the level and the ledger address of user n, for spawn and vote.
func (v *Shown) Level(n uint32) (level int, address string) {
	if u := v.account(n); u != nil {
		return int(u.profile.Level), addressText(n)
	}
	return 0, ""
}

// ReferralLevelInfo holds the sums of one level of the users below a user.
type ReferralLevelInfo struct {
	Level               int
	ProfitAmount        fixed.I192 // sum over all currencies, as if they were worth the same
	ReferralsTotalCount int64
}

// UserInfo is the answer of {id}/user-info.
type UserInfo struct {
	InviteCode                   string
	ParentUserID                 *string
	ReferralsLevelInfos          []ReferralLevelInfo // one per configured level
	IsAmbassador                 bool
	AmbassadorSecondLevelPercent fixed.I128 // fraction
	CommissionDiscountPercent    fixed.I128 // fraction: the bid discount
	TotalProfitAmount            fixed.I192 // over all currencies, unit by unit
}

// UserInfo returns the referral figures of user n.
func (v *Shown) UserInfo(n uint32) UserInfo {
	u := v.account(n)
	if u == nil {
		return UserInfo{ReferralsLevelInfos: []ReferralLevelInfo{}}
	}
	byLevel, total := v.Accruals(n).ByLevel()
	out := UserInfo{
		InviteCode: InviteCode(n), ParentUserID: userIDOrNil(u.inviter), IsAmbassador: u.profile.IsAmbassador,
		AmbassadorSecondLevelPercent: decimalOf(u.profile.SecondLevel),
		CommissionDiscountPercent:    decimalOf(u.profile.BidDiscount),
		TotalProfitAmount:            total,
	}
	for i := range v.settings.Load().Referral.Levels {
		out.ReferralsLevelInfos = append(out.ReferralsLevelInfos, ReferralLevelInfo{
			Level: i + 1, ProfitAmount: byLevel[uint32(i)+1], ReferralsTotalCount: int64(u.descendants[i]),
		})
	}
	return out
}

// Settings returns the settings in force, which the caller must not change.
func (v *Shown) Settings() *Settings { return v.settings.Load() }

// SettingsVersion returns a number that rises after each change of the settings.
func (v *Shown) SettingsVersion() uint64 { return v.set.Load() }

// AvatarView is an avatar of the catalogue.
type AvatarView struct{ ID, URL string }

// Avatar returns the avatar of user n.
func (v *Shown) Avatar(n uint32) AvatarView {
	id := DefaultAvatar
	if u := v.account(n); u != nil {
		id = u.profile.AvatarID
	}
	return AvatarView{ID: id, URL: avatarURL(id)}
}

// Avatars returns the avatars of the catalogue, by id.
func (v *Shown) Avatars() []AvatarView {
	out := []AvatarView{}
	for _, id := range v.avatars.IDs() {
		out = append(out, AvatarView{ID: id, URL: avatarURL(id)})
	}
	return out
}

// Catalogue returns the pictures of Avatars.
func (v *Shown) Catalogue() *Catalogue { return v.avatars }
