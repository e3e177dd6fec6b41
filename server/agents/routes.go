package agents

import (
	"github.com/valyala/fasthttp"

	"tickhive/server/edge"
)

// Routes returns the public routes of launchpad and hive (docs/contract/api.md). It is a Resource.
func (d *Service) Routes(*edge.Server) []*edge.Route {
	get := func(path string, h edge.Handler, query ...string) *edge.Route {
		return &edge.Route{Method: fasthttp.MethodGet, Path: path, Handle: h, Class: edge.ClassLimited, Query: query}
	}
	post := func(path string, h edge.Handler) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodPost, Path: path, Handle: h, Class: edge.ClassLimited,
			Auth: edge.AuthRequired, Trade: true, Body: edge.BodyJSON,
		}
	}
	return []*edge.Route{
		post("/api/launchpad/spawn", d.spawn),
		get("/api/launchpad/tokens", d.tokens, "page", "pageSize", "sort", "boosted", "poolSide", "asOf"),
		get("/api/launchpad/tokens/{id}", d.token),
		get("/api/launchpad/tokens/{id}/pool", d.pool),
		get("/api/launchpad/tokens/{id}/worker", d.tokenWorker),
		get("/api/agents/overview", d.overview),
		get("/api/agents/workers", d.workers, "page", "pageSize", "status", "tokenAddress", "asOf"),
		get("/api/agents/workers/{tokenId}", d.worker),
		post("/api/agents/workers/{tokenId}/vote", d.vote),
		get("/api/agents/action-logs", d.actionLogs,
			"tokenId", "actionType", "sourceTier", "since", "until", "page", "pageSize"),
		get("/api/agents/proposals", d.proposals, "tokenId", "status", "page", "pageSize"),
		get("/api/agents/proposals/{proposalId}", d.proposal),
	}
}
