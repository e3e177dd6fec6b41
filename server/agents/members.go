package agents

import (
	"slices"

	"tickhive/hive"
	"tickhive/launchpad"
	"tickhive/server/edge"
)

// Members of the bodies of the public routes.
var (
	spawnBody = []edge.Field{
		{Name: "name", Required: true, Range: []int64{1, 50}},
		{Name: "symbol", Required: true, Pattern: "^[A-Z]{3,5}$"},
		{Name: "totalSupply", Default: "1000000000"},
		{Name: "decimals", Kind: edge.KindInt64, Default: 18},
		{Name: "poolSide", Kind: edge.KindWord, Words: poolSides, Default: poolSides[0]},
		{Name: "metadata", Kind: edge.KindObject},
	}
	voteBody = []edge.Field{
		{Name: "proposalId", Required: true},
		{Name: "vote", Kind: edge.KindWord, Required: true, Words: []string{"yes", "no", "abstain"}},
		{Name: "comment", Range: []int64{0, hive.MaxComment}},
	}
)

// Members of the bodies of the internal routes.
var (
	userMember    = edge.Field{Name: "userId", Kind: edge.KindUUID, Required: true}
	userSpawnBody = slices.Concat([]edge.Field{userMember}, spawnBody)
	liquidityBody = []edge.Field{
		userMember,
		{Name: "tokenAmount", Kind: edge.KindDecimal, Required: true},
		{Name: "quoteAmount", Kind: edge.KindDecimal, Required: true},
	}
	swapBody = []edge.Field{
		userMember,
		{Name: "side", Kind: edge.KindWord, Required: true, Words: []string{"buy", "sell"}},
		{Name: "amountIn", Kind: edge.KindDecimal, Required: true},
		{Name: "minOut", Kind: edge.KindDecimal},
	}
	transferBody = []edge.Field{
		{Name: "fromUserId", Kind: edge.KindUUID, Required: true},
		{Name: "toUserId", Kind: edge.KindUUID, Required: true},
		{Name: "amount", Kind: edge.KindDecimal, Required: true},
	}
	boostBody = []edge.Field{{
		Name: "tier", Kind: edge.KindWord, Required: true, Words: []string{"short", "standard", "extended", "premium"},
	}}
	faultBody = []edge.Field{
		{Name: "kind", Kind: edge.KindWord, Required: true, Words: []string{"spawner"}},
		{Name: "count", Kind: edge.KindInteger, Required: true, Range: []int64{1, launchpad.MaxFaults}},
	}
	proposalBody = []edge.Field{
		{Name: "tokenId", Kind: edge.KindInt64, Required: true, Range: []int64{0}},
		{Name: "topic", Required: true},
		{Name: "payload", Kind: edge.KindObject, Required: true},
		{Name: "proposer", Required: true},
		{Name: "urgent", Kind: edge.KindBoolean, Default: false},
	}
	actionBody = []edge.Field{
		{Name: "sourceAgentId", Required: true},
		{Name: "targetTokenId", Kind: edge.KindInt64, Required: true, Range: []int64{0}},
		{Name: "actionType", Kind: edge.KindWord, Required: true, Words: actionTypeNames},
		{Name: "actionPayload", Kind: edge.KindObject},
		{Name: "reasonCode", Required: true},
	}
)
