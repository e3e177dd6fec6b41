package agents

import (
	"tickhive/hive"
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
