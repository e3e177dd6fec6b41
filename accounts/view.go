package accounts

import (
	"github.com/google/uuid"

	"tickhive/engine"
	"tickhive/internal/fixed"
)

// View reads a State. It is a handle and no copy: each call reads the current state under a read lock. Any
// goroutine may call it.
type View struct{ s *State }

// View returns the handle for readers.
func (s *State) View() *View { return &View{s} }

// UserCount returns the number of users; their numbers are 1 to UserCount.
func (v *View) UserCount() int {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	return len(v.s.dir.users) - 1
}

// User returns user number n; ok is false for 0 and unknown numbers.
func (v *View) User(n uint32) (UserView, bool) {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	u := v.s.dir.user(n)
	if u == nil || n == 0 {
		return UserView{}, false
	}
	return v.s.userView(u), true
}

// NumberOf returns the number of the user with an id.
func (v *View) NumberOf(id uuid.UUID) (uint32, bool) {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	n, ok := v.s.dir.byID[id]
	return n, ok
}

// InviteCode returns user n's invite code.
func (v *View) InviteCode(n uint32) string { return inviteCode(n) }

// Terms holds the trading terms of an account, for the command of a new order.
type Terms struct {
	BidDiscount, AskDiscount uint32 // 10^-8
	NoFees                   bool
	Unlimited                bool
}

// Discount returns the discount to stamp into an order of a side: the whole fee with
// noTradeCommissions.
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
func (v *View) Terms(n uint32) Terms {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	u := v.s.dir.user(n)
	if u == nil || n == 0 {
		return Terms{NoFees: n == 0, Unlimited: n == 0}
	}
	p := &u.profile
	return Terms{BidDiscount: p.BidDiscount, AskDiscount: p.AskDiscount, NoFees: p.NoFees, Unlimited: p.Unlimited}
}

// Level returns the level and the ledger address of user n, for spawn and vote.
func (v *View) Level(n uint32) (level int, address string) {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	if u := v.s.dir.user(n); u != nil {
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
func (v *View) UserInfo(n uint32) UserInfo {
	byLevel, total := v.Accruals(n).ByLevel()
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	u := v.s.dir.user(n)
	if u == nil {
		return UserInfo{ReferralsLevelInfos: []ReferralLevelInfo{}}
	}
	out := UserInfo{
		InviteCode: inviteCode(n), ParentUserID: userIDOrNil(u.inviter), IsAmbassador: u.profile.IsAmbassador,
		AmbassadorSecondLevelPercent: decimalOf(u.profile.SecondLevel),
		CommissionDiscountPercent:    decimalOf(u.profile.BidDiscount),
		TotalProfitAmount:            total,
	}
	for i := range v.s.referral.config.Levels {
		out.ReferralsLevelInfos = append(out.ReferralsLevelInfos, ReferralLevelInfo{
			Level: i + 1, ProfitAmount: byLevel[uint32(i)+1], ReferralsTotalCount: int64(u.descendants[i]),
		})
	}
	return out
}

// Check walks the whole state and reports the first broken invariant: balances that do not add
// up to the totals, a funded account below zero, held money that no order holds.
func (v *View) Check() error {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	return v.s.check()
}

// AvatarView is an avatar of the catalogue.
type AvatarView struct{ ID, URL string }

// Avatar returns the avatar of user n.
func (v *View) Avatar(n uint32) AvatarView {
	v.s.mu.RLock()
	defer v.s.mu.RUnlock()
	id := DefaultAvatar
	if u := v.s.dir.user(n); u != nil {
		id = u.profile.AvatarID
	}
	return AvatarView{ID: id, URL: avatarURL(id)}
}

// Avatars returns the avatars of the catalogue, by id.
func (v *View) Avatars() []AvatarView {
	out := []AvatarView{}
	for _, id := range v.s.opts.Avatars.IDs() {
		out = append(out, AvatarView{ID: id, URL: avatarURL(id)})
	}
	return out
}

// Catalogue returns the pictures of Avatars.
func (v *View) Catalogue() *Catalogue { return v.s.opts.Avatars }
