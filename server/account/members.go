package account

import (
	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/server/edge"
)

// Members of the bodies of the public routes.
var (
	keyBody = []edge.Field{
		{Name: "name", Required: true, Range: []int64{1, accounts.MaxKeyName}},
		{Name: "canTrade", Kind: edge.KindBoolean, Default: false},
		{Name: "canWithdraw", Kind: edge.KindBoolean, Default: false},
		{Name: "ipWhitelist", Kind: edge.KindArray, Range: []int64{0, accounts.MaxWhitelist}, Element: &edge.Field{}},
		{Name: "expiresAt", Nullable: true},
	}
	inviterBody = []edge.Field{{Name: "inviteCode", Required: true}}
	linkBody    = []edge.Field{{Name: "discountPercent", Kind: edge.KindDecimal, Required: true}}
	orderBody   = []edge.Field{
		{Name: "side", Kind: edge.KindWord, Required: true, Words: words(engine.Buy, engine.Sell)},
		{Name: "isMarket", Kind: edge.KindBoolean, Default: false},
		{Name: "currencyPairCode", Kind: edge.KindPairCode, Required: true},
		{Name: "amount", Kind: edge.KindDecimal},
		{Name: "price", Kind: edge.KindDecimal, Nullable: true},
		{Name: "timeInForce", Kind: edge.KindWord, Nullable: true, Words: words(engine.GTC, engine.IOC, engine.FOK)},
		{Name: "postOnly", Kind: edge.KindBoolean},
		{Name: "clientOrderId", Nullable: true, Pattern: "^[A-Za-z0-9_.:-]{1,64}$"},
		{Name: "stopPrice", Kind: edge.KindDecimal, Nullable: true},
		{Name: "displayAmount", Kind: edge.KindDecimal, Nullable: true},
		{Name: "selfTradePrevention", Kind: edge.KindWord, Nullable: true, Words: words(engine.SelfTradeNone,
			engine.CancelTaker, engine.CancelMaker, engine.CancelBoth, engine.Decrement)},
		{Name: "quoteAmount", Kind: edge.KindDecimal, Nullable: true},
	}
)

func words[T interface{ String() string }](values ...T) (texts []string) {
	for _, v := range values {
		texts = append(texts, v.String())
	}
	return texts
}
