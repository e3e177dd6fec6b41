package agents

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/clock"
	"github.com/tickhive/tickhive/internal/rawjson"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/launchpad"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// Options configures a Service. Every member is required.
type Options struct {
	// Clock is the clock of the exchange. An answer shows the state at this clock's time.
	Clock clock.Clock
	// User returns the level and the ledger address (0x and 40 hex digits) of an account; ok
	// is false when the account does not exist.
	User func(account engine.AccountID) (level int64, address string, ok bool)
	// Find returns the account of a user id.
	Find func(id [16]byte) (engine.AccountID, bool)
	// VotesPerMinute limits the votes of one user in any 60 s (rate.votes_per_minute).
	VotesPerMinute int
}

// Exchange carries out commands of launchpad and hive. Any goroutine may call the methods.
type Exchange interface {
	// DoLaunchpad and DoHive return when the command is durable and shown. The error is a refusal, or one of the
	// sequencer's.
	DoLaunchpad(cmd launchpad.Command) (launchpad.Result, error)
	DoHive(cmd hive.Command) (hive.Result, error)
	// Views returns the state that readers see.
	Views() (*launchpad.View, *hive.View)
}

// Service serves the public and internal routes of launchpad and hive, and implements
// Ledger for the account routes. Any goroutine may use it.
type Service struct {
	opt      Options
	exchange atomic.Pointer[Exchange]
	votes    *edge.UserLimiter
}

// New returns a Service without an exchange, so that routes can be built before recovery.
func New(o Options) (*Service, error) {
	if o.Clock == nil || o.User == nil || o.Find == nil {
		return nil, errors.New("agents: Options need a clock, User and Find")
	}
	votes, err := edge.NewUserLimiter(o.VotesPerMinute)
	if err != nil {
		return nil, err
	}
	return &Service{opt: o, votes: votes}, nil
}

// Open sets the recovered exchange. The caller calls it before the server is ready.
func (s *Service) Open(x Exchange) { s.exchange.Store(&x) }

// DoLaunchpad carries out a command of the ledger.
func (s *Service) DoLaunchpad(cmd launchpad.Command) (launchpad.Result, error) {
	if x := s.exchange.Load(); x != nil {
		return (*x).DoLaunchpad(cmd)
	}
	return launchpad.Result{}, sequencer.ErrUnavailable
}

// DoHive carries out a command of the hive.
func (s *Service) DoHive(cmd hive.Command) (hive.Result, error) {
	if x := s.exchange.Load(); x != nil {
		return (*x).DoHive(cmd)
	}
	return hive.Result{}, sequencer.ErrUnavailable
}

// storeViews holds the views of launchpad and hive and the time at which a request reads them.
type storeViews struct {
	ledger *launchpad.View
	hive   *hive.View
	nowNs  int64
}

// views loads the current views.
func (s *Service) views() storeViews {
	ledger, h := s.Views()
	if ledger == nil {
		panic("BUG: server: a launchpad route before the exchange is open")
	}
	return storeViews{hive: h, ledger: ledger, nowNs: s.opt.Clock.NowNs()}
}

// Views returns the published views, nil before Open.
func (s *Service) Views() (*launchpad.View, *hive.View) {
	if x := s.exchange.Load(); x != nil {
		return (*x).Views()
	}
	return nil, nil
}

// worker returns the worker of a token, which the hive has since the token's record.
func (v *storeViews) worker(t *launchpad.Token) *hive.WorkerInfo {
	w, _ := v.hive.Worker(v.nowNs, t.AgentNFT())
	return &w
}

// Routes returns the public routes of launchpad and hive (docs/contract/api.md). It is an edge.Resource.
func (s *Service) Routes(*edge.Server) []*edge.Route {
	get := func(path string, h edge.Handler, params ...edge.Declared) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: path, Handle: h, Class: edge.ClassLimited, Params: edge.Params(params...),
		}
	}
	signed := func(path string, h edge.Handler) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodGet, Path: path, Handle: h, Class: edge.ClassLimited, Auth: edge.AuthRequired,
		}
	}
	post := func(path string, h edge.Handler, schema string, members []json.Field,
		params ...edge.Declared,
	) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodPost, Path: path, Handle: h, Class: edge.ClassLimited,
			Auth: edge.AuthRequired, Trade: true, Body: edge.BodyJSON,
			Schema: schema, Members: members, Params: edge.Params(params...),
		}
	}
	return append(edge.Tagged("Launchpad", []*edge.Route{
		post("/api/launchpad/spawn", s.spawn, "SpawnRequest", spawnForm.Members()).
			Does("spawn", "Spawn an Agent Token", 402),
		get("/api/launchpad/tokens", s.tokens, tokenPages, tokenRows, tokenSort, boosted, poolSide, asOf).
			Does("getTokens", "Agent Tokens"),
		get("/api/launchpad/tokens/{id}", s.token, tokenOf).
			Does("getToken", "One Agent Token"),
		get("/api/launchpad/tokens/{id}/pool", s.pool, tokenOf).
			Does("getTokenPool", "Its pool"),
		get("/api/launchpad/tokens/{id}/ohlc", s.ohlc, tokenOf, interval, start, end).
			Does("getTokenCandles", "Candles of its pool's price, ascending"),
		get("/api/launchpad/tokens/{id}/worker", s.tokenWorker, tokenOf).
			Does("getTokenWorker", "Its worker"),
		post("/api/launchpad/tokens/{id}/swaps", s.swapOwn, "OwnSwap", ownSwapForm.Members(), tokenOf).
			Does("swapToken", "Buy or sell it in its pool", 409),
		signed("/api/launchpad/holdings", s.holdings).
			Does("getHoldings", "The caller's Agent Tokens"),
	}), edge.Tagged("Hive", []*edge.Route{
		get("/api/agents/overview", s.overview).
			Does("getOverview", "Counters of hive and swarm"),
		get("/api/agents/workers", s.workers, hivePages, hiveRows, workerStatus, tokenAddress, asOf).
			Does("getWorkers", "Workers"),
		get("/api/agents/workers/{tokenId}", s.worker, workerOf).
			Does("getWorker", "One worker"),
		post("/api/agents/workers/{tokenId}/vote", s.vote, "VoteRequest", voteForm.Members(), workerOf).
			Does("vote", "Vote on a proposal", 409),
		get("/api/agents/action-logs", s.actionLogs, ofToken, actionType, sourceTier, since, until, logPages, logRows).
			Does("getActionLogs", "Action log, newest first"),
		get("/api/agents/proposals", s.proposals, ofToken, proposalStatus, hivePages, hiveRows, edge.Decimals).
			Does("getProposals", "Proposals, newest first"),
		get("/api/agents/proposals/{proposalId}", s.proposal, proposalOf, edge.Decimals).
			Does("getProposal", "One proposal with its comments"),
	})...)
}

// The parameters of the routes.
var (
	tokenPages = pages(launchpad.DefaultPageSize)
	tokenRows  = edge.RowOf(tokenPages).Says("X-Next-Cursor of the page before, instead of page. For sort=recent " +
		"only, without asOf.")
	tokenSort = edge.Word("sort", tokenSorts...).Default(int(launchpad.Recent)).Says("Descending.")
	boosted   = edge.Flag("boosted").Default(false).Says("true: only boosted tokens; false filters nothing.")
	poolSide  = edge.Word("poolSide", poolSides...).Says("One side only.")
	tokenOf   = edge.Text("id").Says("Token address (any case) or NFT id.")
	asOf      = edge.Int64("asOf", 0, math.MaxInt64).
			Says("Only what was spawned at or before this block; X-As-Of of the first page.")

	interval = edge.WordFor("interval", marketdata.IntervalNames(), marketdata.ParseInterval).Need().
			Says("Length of a candle.").Like("hour")
	start = edge.Date("start").Says("Inclusive lower bound on a candle's date.").Like("2026-01-01")
	end   = edge.Date("end").Says("Inclusive upper bound on a candle's date.").Like("2030-01-01")

	hivePages      = pages(hive.DefaultPageSize)
	hiveRows       = edge.RowOf(hivePages)
	workerStatus   = edge.Word("status", workerStatuses...).Says("Filter.")
	proposalStatus = edge.Word("status", proposalStatuses...).Says("Filter.")
	proposalOf     = edge.Text("proposalId").Says("The proposal's id.").Like("prop-1")
	// tokenAddress has the value nil when it is missing.
	tokenAddress = edge.Declare(json.Field{
		Name: "tokenAddress", Pattern: "^0[xX][0-9a-fA-F]{40}$", Text: "Filter.",
	}, func(raw []byte) (*[20]byte, string) {
		a, ok := launchpad.ParseAddress(string(raw))
		if !ok {
			return nil, "must be 0x and 40 hexadecimal digits."
		}
		return (*[20]byte)(&a), ""
	})
	// workerOf is a text, because an id that no worker can have is not found.
	workerOf = edge.Text("tokenId").As(json.KindInt64).Says("Registry NFT id.")
	ofToken  = edge.Int64("tokenId", math.MinInt64, math.MaxInt64).Says("Filter.")

	actionType = edge.Word("actionType", actionTypeNames...).Says("Filter.")
	sourceTier = edge.Word("sourceTier", sourceTiers...).Says("Filter.")
	since      = edge.Int64("since", math.MinInt64, math.MaxInt64).Says("Unix seconds, inclusive.")
	until      = edge.Int64("until", math.MinInt64, math.MaxInt64).Says("Unix seconds, inclusive.")
	logPages   = pages(hive.DefaultLogPageSize)
	logRows    = edge.RowOf(logPages)
)

func pages(defSize int64) *edge.Pages {
	return edge.PagesOf(edge.Int64("page", 1, math.MaxInt64).Default(1).Says("1-based."),
		edge.Int32("pageSize", 1, edge.MaxPageSize).Default(defSize).Says("Rows per page."))
}

// filter returns the value of an optional parameter, nil when it is missing.
func filter[T any](c *edge.Ctx, p *edge.Param[T]) (*T, *refuse.Refusal) {
	v, given, err := p.Find(c)
	if err != nil || !given {
		return nil, err
	}
	return &v, nil
}

// filterWord returns the constant that a word names, nil when the parameter is missing. first has the first word.
func filterWord[T ~uint8](c *edge.Ctx, p *edge.Param[int], first T) (*T, *refuse.Refusal) {
	i, given, err := p.Find(c)
	if err != nil || !given {
		return nil, err
	}
	v := first + T(i)
	return &v, nil
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

// The bodies of the launchpad's internal routes (docs/contract/internal.md).
type (
	liquidityRequest struct {
		launchpad.AddLiquidity
		user [16]byte
	}
	swapRequest struct {
		launchpad.Swap
		user [16]byte
	}
	transferRequest struct {
		launchpad.Transfer
		from, to [16]byte
	}
)

var (
	liquidityForm = json.Of(
		userID("userId", func(q *liquidityRequest) *[16]byte { return &q.user }),
		amountMember("tokenAmount", func(q *liquidityRequest) *launchpad.Amount { return &q.TokenAmount }),
		amountMember("quoteAmount", func(q *liquidityRequest) *launchpad.Amount { return &q.QuoteAmount }),
	)
	swapMembers = []json.Member[swapRequest]{
		wordMember("side", "must be buy or sell.", func(q *swapRequest, s string) bool {
			q.Sell = s == "sell"
			return q.Sell || s == "buy"
		}).As(json.Field{Words: []string{"buy", "sell"}}),
		amountMember("amountIn", func(q *swapRequest) *launchpad.Amount { return &q.AmountIn }),
		json.Value("minOut", json.KindDecimal, readAmount, func(q *swapRequest, v launchpad.Amount) { q.MinOut = v }),
	}
	ownSwapForm = json.Of(swapMembers...)
	swapForm    = json.Of(append([]json.Member[swapRequest]{
		userID("userId", func(q *swapRequest) *[16]byte { return &q.user }),
	}, swapMembers...)...)
	transferForm = json.Of(
		userID("fromUserId", func(q *transferRequest) *[16]byte { return &q.from }),
		userID("toUserId", func(q *transferRequest) *[16]byte { return &q.to }),
		amountMember("amount", func(q *transferRequest) *launchpad.Amount { return &q.Amount }),
	)
	boostForm = json.Of(
		wordMember("tier", "must be short, standard, extended or premium.",
			func(b *launchpad.BuyBoost, s string) (ok bool) {
				b.Tier, ok = launchpad.ParseTier(s)
				return ok
			}).As(json.Field{Words: []string{"short", "standard", "extended", "premium"}}),
	)
	countRule = fmt.Sprintf("must be an integer from 1 to %d.", launchpad.MaxFaults)
	faultForm = json.Of(
		wordMember("kind", "must be spawner.", func(_ *launchpad.InjectFault, s string) bool { return s == "spawner" }).
			As(json.Field{Words: []string{"spawner"}}),
		json.Read("count", json.KindInteger, func(r *json.Reader, f *launchpad.InjectFault) bool {
			n, err := strconv.ParseUint(string(r.Anything()), 10, 64)
			f.Count = n
			return err == nil && n > 0 && n <= launchpad.MaxFaults
		}).Else(countRule).As(json.Field{Range: []int64{1, launchpad.MaxFaults}}),
	)
)

// raw returns a member whose JSON text the domain parses.
func raw[T any](name string, kind json.Kind, of func(*T) *json.RawMessage) json.Member[T] {
	return json.Read(name, kind, func(r *json.Reader, v *T) bool {
		*of(v) = r.Anything()
		return true
	})
}

// userID returns a required member that is a user's id.
func userID[T any](name string, of func(*T) *[16]byte) json.Member[T] {
	return json.Read(name, json.KindUUID, func(r *json.Reader, v *T) (ok bool) {
		value := r.Anything()
		if rawjson.Absent(value) {
			return false
		}
		text, _ := rawjson.Text(value)
		if *of(v), ok = json.ParseUUID(text); !ok {
			r.Bad("must be a user's id, a UUID.")
		}
		return true
	}).Need()
}

// wordMember returns a required member that is a word; set stores it and returns false for an unknown word.
func wordMember[T any](name, rule string, set func(*T, string) bool) json.Member[T] {
	return json.Read(name, json.KindWord, func(r *json.Reader, v *T) bool {
		text, _ := rawjson.Text(r.Anything())
		return set(v, text)
	}).Else(rule)
}

// amountMember returns a required member that is an amount above 0.
func amountMember[T any](name string, of func(*T) *launchpad.Amount) json.Member[T] {
	return json.Read(name, json.KindDecimal, func(r *json.Reader, v *T) bool {
		a, given := readAmount(r)
		if *of(v) = a; given && a.IsZero() {
			r.Bad("must be above 0.")
		}
		return given
	}).Need()
}

// readAmount reads an amount of at least 0, a number or a string.
func readAmount(r *json.Reader) (a launchpad.Amount, given bool) {
	value := r.Anything()
	if rawjson.Absent(value) {
		return a, false
	}
	text := string(value)
	if value[0] == '"' {
		text, _ = rawjson.Text(value)
	}
	a, err := launchpad.ParseAmount(text)
	if err != nil {
		r.Bad("must be a decimal, at least 0, of at most 31 digits before and 18 after the point.")
	}
	return a, true
}
