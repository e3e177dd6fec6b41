package server

import (
	"tickhive/accounts"
	"tickhive/internal/fixed"
)

// userRequest is the body of POST and PATCH /users.
type userRequest struct {
	creates bool // POST: unlimited and nativeBalance are members, avatarId and the terms are not
	patch   accounts.ProfilePatch
	native  fixed.I128
}

// userMembers is the order in which broken members are reported.
var userMembers = []string{
	"nickname", "name", "secondName", "level", "stakingLevel", "isAmbassador", "secondLevelPercent", "unlimited",
	"nativeBalance", "avatarId", "noTradeCommissions", "dealBidDiscountFraction", "dealAskDiscountFraction",
}

func (r *bodyReader) decodeUser(u *userRequest) *bodyError {
	if r.peek() == 0 && r.err == nil && u.creates {
		return nil // every member has a default: a missing body is an empty one
	}
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			if !r.readProfileMember(u, string(key)) && !r.readTermsMember(u, string(key)) {
				r.unknown()
			}
		}
	}
	return r.inOrder(userMembers...)
}

// readProfileMember reads the members that POST and PATCH have in common.
func (r *bodyReader) readProfileMember(u *userRequest, key string) bool {
	p := &u.patch
	switch key {
	case "nickname":
		p.Nickname = r.textOf(accounts.MaxNickname)
	case "name":
		p.Name = accounts.OptionalName{Set: true, Value: r.textOf(accounts.MaxRealName)}
	case "secondName":
		p.SecondName = accounts.OptionalName{Set: true, Value: r.textOf(accounts.MaxRealName)}
	case "level":
		if v, given := r.integer(0, accounts.MaxLevel); given {
			p.Level = &v
		}
	case "stakingLevel":
		p.StakingLevel = r.textOf(maxAddressText)
	case "isAmbassador":
		p.IsAmbassador = r.flag()
	case "secondLevelPercent":
		p.SecondLevelPercent = r.money()
	default:
		return false
	}
	return true
}

// readTermsMember reads the members that only POST or only PATCH has.
func (r *bodyReader) readTermsMember(u *userRequest, key string) bool {
	p := &u.patch
	switch {
	case key == "unlimited" && u.creates:
		p.Unlimited = r.flag()
	case key == "nativeBalance" && u.creates:
		if v := r.money(); v != nil {
			if u.native = *v; v.Sign() < 0 || v.Cmp(accounts.MaxMoney) > 0 {
				r.bad("must be 0 to 10^20.")
			}
		}
	case key == "avatarId" && !u.creates:
		p.AvatarID = r.textOf(maxAddressText)
	case key == "noTradeCommissions" && !u.creates:
		p.NoTradeCommissions = r.flag()
	case key == "dealBidDiscountFraction" && !u.creates:
		p.DealBidDiscount = r.money()
	case key == "dealAskDiscountFraction" && !u.creates:
		p.DealAskDiscount = r.money()
	default:
		return false
	}
	return true
}

// textOf reads a string; nil if it is missing, null or empty.
func (r *bodyReader) textOf(most int) *string {
	if s := r.string(most); s != nil {
		text := string(s)
		return &text
	}
	return nil
}

// money reads a decimal in 10^-18; nil if it is missing.
func (r *bodyReader) money() *fixed.I128 {
	if text := r.decimal(); text != nil {
		v := fixed.MustText(text)
		return &v
	}
	return nil
}
