package agents

import (
	"slices"

	"github.com/valyala/fasthttp"

	"tickhive/hive"
	"tickhive/launchpad"
	"tickhive/server/edge"
)

// Routes returns the public routes of launchpad and hive (docs/contract/api.md). It is an edge.Resource.
func (s *Service) Routes(*edge.Server) []*edge.Route {
	get := func(path string, h edge.Handler, params ...edge.Field) *edge.Route {
		return &edge.Route{Method: fasthttp.MethodGet, Path: path, Handle: h, Class: edge.ClassLimited, Params: params}
	}
	post := func(path string, h edge.Handler, schema string, members []edge.Field, params ...edge.Field) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodPost, Path: path, Handle: h, Class: edge.ClassLimited,
			Auth: edge.AuthRequired, Trade: true, Body: edge.BodyJSON,
			Schema: schema, Members: members, Params: params,
		}
	}
	page := func(defSize int) []edge.Field {
		return append(edge.ParamsPage("page", edge.KindInt64, edge.KindInt32, defSize), edge.ParamRow)
	}
	tokenID := edge.Field{Name: "tokenId", Kind: edge.KindInt64} // a parameter of a path or of a query
	asOf := edge.Field{Name: "asOf", Kind: edge.KindInt64, Range: []int64{0}}
	return []*edge.Route{
		post("/api/launchpad/spawn", s.spawn, "SpawnRequest", spawnForm.Members()),
		get("/api/launchpad/tokens", s.tokens, append(page(launchpad.DefaultPageSize),
			edge.Field{Name: "sort", Kind: edge.KindWord, Words: tokenSorts, Default: tokenSorts[launchpad.Recent]},
			edge.Field{Name: "boosted", Kind: edge.KindBoolean, Default: false},
			edge.Field{Name: "poolSide", Kind: edge.KindWord, Words: poolSides}, asOf)...),
		get("/api/launchpad/tokens/{id}", s.token),
		get("/api/launchpad/tokens/{id}/pool", s.pool),
		get("/api/launchpad/tokens/{id}/worker", s.tokenWorker),
		get("/api/agents/overview", s.overview),
		get("/api/agents/workers", s.workers, append(page(hive.DefaultPageSize),
			edge.Field{Name: "status", Kind: edge.KindWord, Words: workerStatuses},
			edge.Field{Name: "tokenAddress", Pattern: "^0[xX][0-9a-fA-F]{40}$"}, asOf)...),
		get("/api/agents/workers/{tokenId}", s.worker, tokenID),
		post("/api/agents/workers/{tokenId}/vote", s.vote, "VoteRequest", voteForm.Members(), tokenID),
		get("/api/agents/action-logs", s.actionLogs, slices.Concat([]edge.Field{
			tokenID,
			{Name: "actionType", Kind: edge.KindWord, Words: actionTypeNames},
			{Name: "sourceTier", Kind: edge.KindWord, Words: sourceTiers},
		}, edge.ParamsBetween(edge.KindInt64, "since", "until"), page(hive.DefaultLogPageSize))...),
		get("/api/agents/proposals", s.proposals, slices.Concat([]edge.Field{
			tokenID, {Name: "status", Kind: edge.KindWord, Words: proposalStatuses},
		}, page(hive.DefaultPageSize), []edge.Field{edge.ParamDecimals})...),
		get("/api/agents/proposals/{proposalId}", s.proposal, edge.ParamDecimals),
	}
}

// The words of enumerated parameters, each list in the order of the constants.
var (
	tokenSorts = []string{
		launchpad.Recent.String(), launchpad.Volume.String(), launchpad.TVL.String(), launchpad.Holders.String(),
	}
	poolSides        = []string{launchpad.USBI.String(), launchpad.WNative.String()}
	workerStatuses   = []string{hive.Active.String(), hive.Idle.String(), hive.Suspended.String()}
	sourceTiers      = []string{hive.Queen.String(), hive.Scout.String(), hive.WorkerTier.String()}
	proposalStatuses = []string{
		hive.ProposalActive.String(), hive.ProposalPassed.String(), hive.ProposalRejected.String(),
	}
)
