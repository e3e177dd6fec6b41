package account

import (
	"tickhive/accounts"
	"tickhive/internal/fixed"
	"tickhive/server/body"
	"tickhive/server/edge"
)

// userRequest is the body of POST and PATCH /users; only POST has native.
type userRequest struct {
	accounts.ProfilePatch
	native fixed.I128
}

// profileMembers are the members that POST and PATCH /users have in common.
var profileMembers = []body.Member[userRequest]{
	body.Text("nickname", accounts.MaxNickname, func(u *userRequest, v string) { u.Nickname = &v }).
		As(edge.Field{Range: []int64{accounts.MinNickname, accounts.MaxNickname}}),
	body.Value("name", edge.KindText, realName, func(u *userRequest, v accounts.OptionalName) { u.Name = v }).
		As(edge.Field{Nullable: true, Range: []int64{0, accounts.MaxRealName}}),
	body.Value("secondName", edge.KindText, realName,
		func(u *userRequest, v accounts.OptionalName) { u.SecondName = v }).
		As(edge.Field{Nullable: true, Range: []int64{0, accounts.MaxRealName}}),
	body.Integer("level", 0, accounts.MaxLevel, func(u *userRequest, v int64) { u.Level = &v }),
	body.Text("stakingLevel", maxAddressText, func(u *userRequest, v string) { u.StakingLevel = &v }),
	body.Flag("isAmbassador", func(u *userRequest, v bool) { u.IsAmbassador = &v }),
	body.Value("secondLevelPercent", edge.KindDecimal, money,
		func(u *userRequest, v Money) { u.SecondLevelPercent = &v }),
}

var (
	newUserForm = body.Of(append(profileMembers[:len(profileMembers):len(profileMembers)],
		body.Flag("unlimited", func(u *userRequest, v bool) { u.Unlimited = &v }).As(edge.Field{Default: false}),
		body.Value("nativeBalance", edge.KindDecimal, balance, func(u *userRequest, v Money) { u.native = v }),
	)...)
	userForm = body.Of(append(profileMembers[:len(profileMembers):len(profileMembers)],
		body.Text("avatarId", maxAddressText, func(u *userRequest, v string) { u.AvatarID = &v }),
		body.Flag("noTradeCommissions", func(u *userRequest, v bool) { u.NoTradeCommissions = &v }),
		body.Value("dealBidDiscountFraction", edge.KindDecimal, money,
			func(u *userRequest, v Money) { u.DealBidDiscount = &v }),
		body.Value("dealAskDiscountFraction", edge.KindDecimal, money,
			func(u *userRequest, v Money) { u.DealAskDiscount = &v }),
	)...)
)

// realName reads a first or second name. null and "" remove the user's name.
func realName(r *body.Reader) (name accounts.OptionalName, given bool) {
	name.Set = true
	if s := r.Text(accounts.MaxRealName); s != nil {
		text := string(s)
		name.Value = &text
	}
	return name, true
}

// money reads a decimal in 10^-18.
func money(r *body.Reader) (v Money, given bool) {
	if text := r.Decimal(); text != nil {
		return fixed.MustText(text), true
	}
	return v, false
}

func balance(r *body.Reader) (Money, bool) {
	v, given := money(r)
	if v.Sign() < 0 || v.Cmp(accounts.MaxMoney) > 0 {
		r.Bad("must be 0 to 10^20.")
	}
	return v, given
}
