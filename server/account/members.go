package account

import (
	"slices"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/server/edge"
)

// keyBody describes the body of a new key.
func keyBody(canTrade bool) []edge.Field {
	return []edge.Field{
		{Name: "name", Required: true, Range: []int64{1, accounts.MaxKeyName}},
		{Name: "canTrade", Kind: edge.KindBoolean, Default: canTrade},
		{Name: "canWithdraw", Kind: edge.KindBoolean, Default: false},
		{Name: "ipWhitelist", Kind: edge.KindArray, Range: []int64{0, accounts.MaxWhitelist}, Element: &edge.Field{}},
		{Name: "expiresAt", Nullable: true},
	}
}

// Members of the bodies of the public routes.
var (
	inviterBody = []edge.Field{{Name: "inviteCode", Required: true}}
	linkBody    = []edge.Field{{Name: "discountPercent", Kind: edge.KindDecimal, Required: true}}
	orderBody   = []edge.Field{
		{Name: "side", Kind: edge.KindWord, Required: true, Words: edge.WordsOf(engine.Buy, engine.Sell)},
		{Name: "isMarket", Kind: edge.KindBoolean, Default: false},
		{Name: "currencyPairCode", Kind: edge.KindPairCode, Required: true},
		{Name: "amount", Kind: edge.KindDecimal},
		{Name: "price", Kind: edge.KindDecimal, Nullable: true},
		{Name: "timeInForce", Kind: edge.KindWord, Nullable: true, Words: edge.WordsOf(engine.GTC, engine.IOC, engine.FOK)},
		{Name: "postOnly", Kind: edge.KindBoolean},
		{Name: "clientOrderId", Nullable: true, Pattern: "^[A-Za-z0-9_.:-]{1,64}$"},
		{Name: "stopPrice", Kind: edge.KindDecimal, Nullable: true},
		{Name: "displayAmount", Kind: edge.KindDecimal, Nullable: true},
		{Name: "selfTradePrevention", Kind: edge.KindWord, Nullable: true, Words: edge.WordsOf(engine.SelfTradeNone,
			engine.CancelTaker, engine.CancelMaker, engine.CancelBoth, engine.Decrement)},
		{Name: "quoteAmount", Kind: edge.KindDecimal, Nullable: true},
	}
)

// Members of the bodies of the internal routes.
var (
	moneyBody   = []edge.Field{{Name: "currencyCode", Required: true}, {Name: "amount", Kind: edge.KindDecimal, Required: true}}
	profitBody  = append([]edge.Field{{Name: "profitType", Kind: edge.KindAny, Required: true}}, moneyBody...)
	profileBody = []edge.Field{
		{Name: "nickname", Range: []int64{accounts.MinNickname, accounts.MaxNickname}},
		{Name: "name", Nullable: true, Range: []int64{0, accounts.MaxRealName}},
		{Name: "secondName", Nullable: true, Range: []int64{0, accounts.MaxRealName}},
		{Name: "level", Kind: edge.KindInteger, Range: []int64{0, accounts.MaxLevel}},
		{Name: "stakingLevel"},
		{Name: "isAmbassador", Kind: edge.KindBoolean},
		{Name: "secondLevelPercent", Kind: edge.KindDecimal},
	}
	userBody = slices.Concat(profileBody, []edge.Field{
		{Name: "unlimited", Kind: edge.KindBoolean, Default: false}, {Name: "nativeBalance", Kind: edge.KindDecimal},
	})
	patchBody = slices.Concat(profileBody, []edge.Field{
		{Name: "avatarId"},
		{Name: "noTradeCommissions", Kind: edge.KindBoolean},
		{Name: "dealBidDiscountFraction", Kind: edge.KindDecimal},
		{Name: "dealAskDiscountFraction", Kind: edge.KindDecimal},
	})
)
