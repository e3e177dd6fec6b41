package admin

import (
	"slices"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/server/body"
	"tickhive/server/edge"
)

// Members of the bodies of the internal routes.
var (
	placeMembers = []edge.Field{
		{Name: "accountId", Kind: edge.KindUUID},
		{Name: "currencyPairCode", Kind: edge.KindPairCode, Required: true},
		{Name: "side", Kind: edge.KindWord, Required: true, Words: edge.WordsOf(engine.Buy, engine.Sell)},
		{
			Name: "type", Kind: edge.KindWord, Required: true,
			Words: edge.WordsOf(engine.Limit, engine.Market, engine.StopLimit, engine.StopMarket),
		},
		{Name: "timeInForce", Kind: edge.KindWord, Words: edge.WordsOf(engine.GTC, engine.IOC, engine.FOK)},
		{Name: "price", Kind: edge.KindDecimal},
		{Name: "amount", Kind: edge.KindDecimal},
		{Name: "quoteAmount", Kind: edge.KindDecimal},
		{Name: "stopPrice", Kind: edge.KindDecimal},
		{Name: "displayAmount", Kind: edge.KindDecimal},
		{Name: "postOnly", Kind: edge.KindBoolean, Default: false},
		{
			Name: "selfTradePrevention", Kind: edge.KindWord,
			Words: edge.WordsOf(engine.SelfTradeNone, engine.CancelTaker, engine.CancelMaker, engine.CancelBoth, engine.Decrement),
		},
		{Name: "clientOrderId", Pattern: "^[A-Za-z0-9_.:-]{1,64}$"},
	}
	replaceMembers = []edge.Field{{Name: "price", Kind: edge.KindDecimal}, {Name: "amount", Kind: edge.KindDecimal}}
	orderMember    = edge.Field{Name: "orderId", Kind: edge.KindInt64, Required: true, Range: []int64{0, body.MaxOrderID}}
	batchMembers   = []edge.Field{{
		Name: "commands", Kind: edge.KindArray, Required: true, Range: []int64{1, body.MaxBatch},
		Element: &edge.Field{Kind: edge.KindObject, Fields: []edge.Field{
			{Name: "place", Kind: edge.KindObject, Schema: "PlaceOrder", Fields: placeMembers},
			{Name: "cancel", Kind: edge.KindObject, Fields: []edge.Field{orderMember}},
			{Name: "replace", Kind: edge.KindObject, Fields: slices.Concat([]edge.Field{orderMember}, replaceMembers)},
			{Name: "at", Kind: edge.KindInt64, Range: []int64{0}},
		}},
	}}
	patchPairMembers = []edge.Field{
		{Name: "minQuoteAmount", Kind: edge.KindDecimal, Nullable: true},
		{
			Name: "state", Kind: edge.KindWord,
			Words: edge.WordsOf(engine.Online, engine.PostOnlyState, engine.CancelOnly, engine.Halted),
		},
		{Name: "makerFee", Kind: edge.KindDecimal},
		{Name: "takerFee", Kind: edge.KindDecimal},
	}
	addPairMembers = slices.Concat([]edge.Field{
		{Name: "code", Kind: edge.KindPairCode, Required: true},
		{Name: "digitsPrice", Kind: edge.KindInteger, Required: true, Range: []int64{0, fixed.Scale}},
		{Name: "digitsAmount", Kind: edge.KindInteger, Required: true, Range: []int64{0, fixed.Scale}},
	}, patchPairMembers)
	patchAssetMembers = []edge.Field{
		{Name: "name", Range: []int64{0, maxAssetName}},
		{Name: "type", Kind: edge.KindWord, Words: edge.WordsOf(assetKind(false), assetKind(true))},
		{Name: "unifiedCryptoassetId", Kind: edge.KindInt64, Nullable: true, Range: []int64{1, body.MaxOrderID}},
		{Name: "canWithdraw", Kind: edge.KindBoolean},
		{Name: "canDeposit", Kind: edge.KindBoolean},
		{Name: "minWithdraw", Kind: edge.KindDecimal, Nullable: true},
		{Name: "maxWithdraw", Kind: edge.KindDecimal, Nullable: true},
		{Name: "makerFee", Kind: edge.KindDecimal, Nullable: true},
		{Name: "takerFee", Kind: edge.KindDecimal, Nullable: true},
	}
	clockMembers = []edge.Field{{Name: "advance"}, {Name: "to", Kind: edge.KindInt64, Range: []int64{0}}}
	logMembers   = []edge.Field{{
		Name: "level", Kind: edge.KindWord, Required: true, Words: []string{"debug", "info", "warn", "error"},
	}}
)
