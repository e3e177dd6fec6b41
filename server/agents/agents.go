package agents

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"tickhive/engine"
	"tickhive/engine/sequencer"
	"tickhive/hive"
	"tickhive/internal/clock"
	"tickhive/internal/rawjson"
	"tickhive/launchpad"
	"tickhive/server/edge"
	"tickhive/server/json"
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
	get := func(path string, h edge.Handler, params ...json.Field) *edge.Route {
		return &edge.Route{Method: fasthttp.MethodGet, Path: path, Handle: h, Class: edge.ClassLimited, Params: params}
	}
	post := func(path string, h edge.Handler, schema string, members []json.Field, params ...json.Field) *edge.Route {
		return &edge.Route{
			Method: fasthttp.MethodPost, Path: path, Handle: h, Class: edge.ClassLimited,
			Auth: edge.AuthRequired, Trade: true, Body: edge.BodyJSON,
			Schema: schema, Members: members, Params: params,
		}
	}
	page := func(defSize int) []json.Field {
		return append(edge.ParamsPage("page", json.KindInt64, json.KindInt32, defSize), edge.ParamRow)
	}
	tokenID := json.Field{Name: "tokenId", Kind: json.KindInt64} // a parameter of a path or of a query
	asOf := json.Field{Name: "asOf", Kind: json.KindInt64, Range: []int64{0}}
	return []*edge.Route{
		post("/api/launchpad/spawn", s.spawn, "SpawnRequest", spawnForm.Members()),
		get("/api/launchpad/tokens", s.tokens, append(page(launchpad.DefaultPageSize),
			json.Field{Name: "sort", Kind: json.KindWord, Words: tokenSorts, Default: tokenSorts[launchpad.Recent]},
			json.Field{Name: "boosted", Kind: json.KindBoolean, Default: false},
			json.Field{Name: "poolSide", Kind: json.KindWord, Words: poolSides}, asOf)...),
		get("/api/launchpad/tokens/{id}", s.token),
		get("/api/launchpad/tokens/{id}/pool", s.pool),
		get("/api/launchpad/tokens/{id}/worker", s.tokenWorker),
		get("/api/agents/overview", s.overview),
		get("/api/agents/workers", s.workers, append(page(hive.DefaultPageSize),
			json.Field{Name: "status", Kind: json.KindWord, Words: workerStatuses},
			json.Field{Name: "tokenAddress", Pattern: "^0[xX][0-9a-fA-F]{40}$"}, asOf)...),
		get("/api/agents/workers/{tokenId}", s.worker, tokenID),
		post("/api/agents/workers/{tokenId}/vote", s.vote, "VoteRequest", voteForm.Members(), tokenID),
		get("/api/agents/action-logs", s.actionLogs, slices.Concat([]json.Field{
			tokenID,
			{Name: "actionType", Kind: json.KindWord, Words: actionTypeNames},
			{Name: "sourceTier", Kind: json.KindWord, Words: sourceTiers},
		}, edge.ParamsBetween(json.KindInt64, "since", "until"), page(hive.DefaultLogPageSize))...),
		get("/api/agents/proposals", s.proposals, slices.Concat([]json.Field{
			tokenID, {Name: "status", Kind: json.KindWord, Words: proposalStatuses},
		}, page(hive.DefaultPageSize), []json.Field{edge.ParamDecimals})...),
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
	swapForm = json.Of(
		userID("userId", func(q *swapRequest) *[16]byte { return &q.user }),
		wordMember("side", "must be buy or sell.", func(q *swapRequest, s string) bool {
			q.Sell = s == "sell"
			return q.Sell || s == "buy"
		}).As(json.Field{Words: []string{"buy", "sell"}}),
		amountMember("amountIn", func(q *swapRequest) *launchpad.Amount { return &q.AmountIn }),
		json.Value("minOut", json.KindDecimal, readAmount, func(q *swapRequest, v launchpad.Amount) { q.MinOut = v }),
	)
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
