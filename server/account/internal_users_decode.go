package account

import (
	"tickhive/accounts"
	"tickhive/internal/fixed"
	"tickhive/server/body"
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

func decodeUser(r *body.Reader, u *userRequest) *body.Error {
	if r.Peek() == 0 && r.Err == nil && u.creates {
		return nil // every member has a default: a missing body is an empty one
	}
	if r.Object() {
		for key, ok := r.Member(); ok; key, ok = r.Member() {
			if !readProfileMember(r, u, string(key)) && !readTermsMember(r, u, string(key)) {
				r.Unknown()
			}
		}
	}
	return r.InOrder(userMembers...)
}

// readProfileMember reads the members that POST and PATCH have in common.
func readProfileMember(r *body.Reader, u *userRequest, key string) bool {
	p := &u.patch
	switch key {
	case "nickname":
		p.Nickname = textOf(r, accounts.MaxNickname)
	case "name":
		p.Name = accounts.OptionalName{Set: true, Value: textOf(r, accounts.MaxRealName)}
	case "secondName":
		p.SecondName = accounts.OptionalName{Set: true, Value: textOf(r, accounts.MaxRealName)}
	case "level":
		if v, given := r.Integer(0, accounts.MaxLevel); given {
			p.Level = &v
		}
	case "stakingLevel":
		p.StakingLevel = textOf(r, maxAddressText)
	case "isAmbassador":
		p.IsAmbassador = r.Flag()
	case "secondLevelPercent":
		p.SecondLevelPercent = money(r)
	default:
		return false
	}
	return true
}

// readTermsMember reads the members that only POST or only PATCH has.
func readTermsMember(r *body.Reader, u *userRequest, key string) bool {
	p := &u.patch
	switch {
	case key == "unlimited" && u.creates:
		p.Unlimited = r.Flag()
	case key == "nativeBalance" && u.creates:
		if v := money(r); v != nil {
			if u.native = *v; v.Sign() < 0 || v.Cmp(accounts.MaxMoney) > 0 {
				r.Bad("must be 0 to 10^20.")
			}
		}
	case key == "avatarId" && !u.creates:
		p.AvatarID = textOf(r, maxAddressText)
	case key == "noTradeCommissions" && !u.creates:
		p.NoTradeCommissions = r.Flag()
	case key == "dealBidDiscountFraction" && !u.creates:
		p.DealBidDiscount = money(r)
	case key == "dealAskDiscountFraction" && !u.creates:
		p.DealAskDiscount = money(r)
	default:
		return false
	}
	return true
}

// textOf reads a string; nil if it is missing, null or empty.
func textOf(r *body.Reader, most int) *string {
	if s := r.Text(most); s != nil {
		text := string(s)
		return &text
	}
	return nil
}

// money reads a decimal in 10^-18; nil if it is missing.
func money(r *body.Reader) *fixed.I128 {
	if text := r.Decimal(); text != nil {
		v := fixed.MustText(text)
		return &v
	}
	return nil
}
