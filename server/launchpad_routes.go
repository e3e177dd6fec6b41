package server

import "github.com/valyala/fasthttp"

// Routes returns the public routes of launchpad and hive (docs/contract/api.md). It is a Resource.
func (d *LaunchpadDesk) Routes(*Server) []*Route {
	get := func(path string, h Handler, query ...string) *Route {
		return &Route{Method: fasthttp.MethodGet, Path: path, Handle: h, Class: ClassLimited, Query: query}
	}
	post := func(path string, h Handler) *Route {
		return &Route{
			Method: fasthttp.MethodPost, Path: path, Handle: h, Class: ClassLimited,
			Auth: AuthRequired, Trade: true, Body: BodyJSON,
		}
	}
	return []*Route{
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
