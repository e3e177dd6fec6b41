package launchpad

import "encoding/json"

// Decimal is a decimal text that is encoded as a JSON number; plain strings are encoded
// as JSON strings.
type Decimal string

// MarshalJSON writes the text as a number.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d), nil }

// The answers, in the shapes and member order of docs/contract/api.md, docs/contract/internal.md
// and docs/contract/launchpad.md. Times are Unix seconds.
type (
	// TokenItem is a row of the token list.
	TokenItem struct {
		Address      string `json:"address"`
		Symbol       string `json:"symbol"`
		Name         string `json:"name"`
		SpawnedAt    int64  `json:"spawnedAt"`
		TVL          string `json:"tvl"`
		Volume24h    string `json:"volume24h"`
		Holders      int64  `json:"holders"`
		WorkerStatus string `json:"workerStatus"`
		Boosted      bool   `json:"boosted"`
	}
	// TokenList is a page; AsOf is the X-As-Of header.
	TokenList struct {
		Items      []TokenItem `json:"items"`
		Page       int64       `json:"page"`
		PageSize   int64       `json:"pageSize"`
		TotalItems int64       `json:"totalItems"`
		AsOf       int64       `json:"-"`
	}
	// TokenInfo is the token object.
	TokenInfo struct {
		Address     string `json:"address"`
		Name        string `json:"name"`
		Symbol      string `json:"symbol"`
		Decimals    int    `json:"decimals"`
		TotalSupply string `json:"totalSupply"` // whole tokens, no fraction
		Owner       string `json:"owner"`
		SpawnedAt   int64  `json:"spawnedAt"`
	}
	// PoolInfo is the pool object.
	PoolInfo struct {
		Address     string `json:"address"`
		Side        string `json:"side"`
		FeeTier     int    `json:"feeTier"`
		TVL         string `json:"tvl"`
		Volume24h   string `json:"volume24h"`
		LastTradeAt int64  `json:"lastTradeAt"`
	}
	// WorkerInfo is the worker object of a token.
	WorkerInfo struct {
		ID           int64  `json:"id"`
		AgentNftID   uint64 `json:"agentNftId"`
		Status       string `json:"status"`
		LastActionAt int64  `json:"lastActionAt"`
		ActionCount  int64  `json:"actionCount"`
	}
	// BoostInfo is the boost object; tier and expiresAt are null when inactive.
	BoostInfo struct {
		Active    bool    `json:"active"`
		Tier      *string `json:"tier"`
		ExpiresAt *int64  `json:"expiresAt"`
	}
	// TokenDetail is GET /api/launchpad/tokens/:id.
	TokenDetail struct {
		Token    TokenInfo       `json:"token"`
		Pool     PoolInfo        `json:"pool"`
		Worker   WorkerInfo      `json:"worker"`
		Metadata json.RawMessage `json:"metadata"`
		Boost    BoostInfo       `json:"boost"`
	}
	// PoolDetail is GET .../pool; price is null when the pool is empty.
	PoolDetail struct {
		PoolInfo
		TokenAddress string  `json:"tokenAddress"`
		TokenSymbol  string  `json:"tokenSymbol"`
		ReserveToken string  `json:"reserveToken"`
		ReserveQuote string  `json:"reserveQuote"`
		Price        *string `json:"price"`
	}
	// WorkerDetail is GET .../worker.
	WorkerDetail struct {
		Worker        WorkerRecord `json:"worker"`
		RecentActions []Action     `json:"recentActions"`
		Stats         WorkerStats  `json:"stats"`
	}
	// WorkerRecord is the worker in its own view.
	WorkerRecord struct {
		ID         int64  `json:"id"`
		AgentNftID uint64 `json:"agentNftId"`
		Status     string `json:"status"`
		DeployedAt int64  `json:"deployedAt"`
	}
	// WorkerStats counts a worker's own actions.
	WorkerStats struct {
		TotalActions int64 `json:"totalActions"`
		LastActiveAt int64 `json:"lastActiveAt"`
	}
	// Action is an entry of the worker's action log.
	Action struct {
		TxHash         string          `json:"txHash"`
		ActionType     string          `json:"actionType"`
		Params         json.RawMessage `json:"params"`
		BlockNumber    int64           `json:"blockNumber"`
		BlockTimestamp int64           `json:"blockTimestamp"`
	}
	// SpawnAnswer is the answer to a spawn.
	SpawnAnswer struct {
		Token struct {
			Address     string `json:"address"`
			Name        string `json:"name"`
			Symbol      string `json:"symbol"`
			TotalSupply string `json:"totalSupply"`
			Owner       string `json:"owner"`
		} `json:"token"`
		Pool struct {
			Address string `json:"address"`
			Side    string `json:"side"`
			FeeTier int    `json:"feeTier"`
		} `json:"pool"`
		Worker struct {
			ID         int64  `json:"id"`
			AgentNftID uint64 `json:"agentNftId"`
		} `json:"worker"`
		TxHash string `json:"txHash"`
	}
	// SwapAnswer is the answer to a swap; price is quote per token of this swap.
	SwapAnswer struct {
		AmountIn    Decimal    `json:"amountIn"`
		AmountOut   Decimal    `json:"amountOut"`
		Price       Decimal    `json:"price"`
		TxHash      string     `json:"txHash"`
		BlockNumber int64      `json:"blockNumber"`
		Pool        PoolDetail `json:"pool"`
	}
	// BalanceInfo is a balance row; the ledger holds nothing back.
	BalanceInfo struct {
		CurrencyCode string  `json:"currencyCode"`
		Free         Decimal `json:"free"`
		Held         Decimal `json:"held"`
		Total        Decimal `json:"total"`
	}
)

// WorkerState holds the hive's state of a worker at the time of the query.
type WorkerState struct {
	Status       string // active, idle, suspended
	LastActionAt int64  // last entry of its own, 0: none
	LastActiveAt int64
	TotalActions int64 // its own entries
}

// WorkerLookup asks the hive for a worker; nil, or ok false, means that the hive has not
// heard of it yet, and then it is as it was created.
type WorkerLookup func(workerID uint32) (WorkerState, bool)

func (w WorkerLookup) of(t *Token) WorkerState {
	if w != nil {
		if st, ok := w(t.No); ok {
			return st
		}
	}
	return WorkerState{Status: "active", LastActiveAt: t.SpawnedSec}
}

// Token is the detail of one token; ok is false for an unknown id.
func (v *View) Token(id string, w WorkerLookup) (d TokenDetail, ok bool) {
	t, ok := v.Find(id)
	if !ok {
		return d, false
	}
	st := w.of(t)
	metadata := t.Metadata
	if metadata == "" {
		metadata = "{}"
	}
	return TokenDetail{
		Token: TokenInfo{
			Address: t.Address.String(), Name: t.Name, Symbol: t.Symbol, Decimals: scale,
			TotalSupply: t.Supply.wholeText(), Owner: t.Owner.String(), SpawnedAt: t.SpawnedSec,
		},
		Pool: t.poolInfo(),
		Worker: WorkerInfo{
			ID: int64(t.No), AgentNftID: t.AgentNFT(), Status: st.Status,
			LastActionAt: st.LastActionAt, ActionCount: st.TotalActions,
		},
		Metadata: json.RawMessage(metadata),
		Boost:    *t.boostInfo(),
	}, true
}

// Pool is the pool of one token; ok is false for an unknown id.
func (v *View) Pool(id string) (d PoolDetail, ok bool) {
	t, ok := v.Find(id)
	if !ok {
		return d, false
	}
	return *t.poolDetail(), true
}

// Worker is the launchpad's view of one token's worker; recent are the newest entries
// aimed at the token, from the hive. ok is false for an unknown id.
func (v *View) Worker(id string, w WorkerLookup, recent func(workerID uint32) []Action) (d WorkerDetail, ok bool) {
	t, ok := v.Find(id)
	if !ok {
		return d, false
	}
	st := w.of(t)
	d.Worker = WorkerRecord{ID: int64(t.No), AgentNftID: t.AgentNFT(), Status: st.Status, DeployedAt: t.SpawnedSec}
	d.Stats = WorkerStats{TotalActions: st.TotalActions, LastActiveAt: st.LastActiveAt}
	d.RecentActions = []Action{}
	if recent != nil {
		d.RecentActions = append(d.RecentActions, recent(t.No)...)
	}
	return d, true
}

// BalanceInfo is the balance row of an account.
func (v *View) BalanceInfo(a Address, c Currency) BalanceInfo {
	return *balanceInfo(c, v.Balance(a, c))
}

func balanceInfo(c Currency, b Amount) *BalanceInfo {
	text := Decimal(b.String())
	return &BalanceInfo{CurrencyCode: c.String(), Free: text, Held: "0.0", Total: text}
}

func (t *Token) item(w WorkerLookup) TokenItem {
	return TokenItem{
		Address: t.Address.String(), Symbol: t.Symbol, Name: t.Name, SpawnedAt: t.SpawnedSec,
		TVL: usdText(t.TVL), Volume24h: usdText(t.Volume), Holders: t.Holders,
		WorkerStatus: w.of(t).Status, Boosted: t.Boosted,
	}
}

func (t *Token) poolInfo() PoolInfo {
	return PoolInfo{
		Address: t.Pool.String(), Side: t.Side.String(), FeeTier: FeeTier,
		TVL: usdText(t.TVL), Volume24h: usdText(t.Volume), LastTradeAt: t.LastTradeSec,
	}
}

func (t *Token) poolDetail() *PoolDetail {
	d := &PoolDetail{
		PoolInfo: t.poolInfo(), TokenAddress: t.Address.String(), TokenSymbol: t.Symbol,
		ReserveToken: t.ReserveToken.String(), ReserveQuote: t.ReserveQuote.String(),
	}
	if !t.Empty() {
		price := quotientText(t.ReserveQuote, t.ReserveToken)
		d.Price = &price
	}
	return d
}

func (t *Token) boostInfo() *BoostInfo {
	if !t.Boosted {
		return &BoostInfo{}
	}
	tier, until := t.BoostTier.String(), t.BoostUntilSec
	return &BoostInfo{Active: true, Tier: &tier, ExpiresAt: &until}
}

func (t *Token) spawnAnswer(tx string) *SpawnAnswer {
	a := &SpawnAnswer{TxHash: tx}
	a.Token.Address, a.Token.Name, a.Token.Symbol = t.Address.String(), t.Name, t.Symbol
	a.Token.TotalSupply, a.Token.Owner = t.Supply.wholeText(), t.Owner.String()
	a.Pool.Address, a.Pool.Side, a.Pool.FeeTier = t.Pool.String(), t.Side.String(), FeeTier
	a.Worker.ID, a.Worker.AgentNftID = int64(t.No), t.AgentNFT()
	return a
}

func (t *Token) swapAnswer(rec *Record, quote Amount, block int64, tx string) *SwapAnswer {
	tokens := rec.Out
	if rec.Sell {
		tokens = rec.In
	}
	return &SwapAnswer{
		AmountIn: Decimal(rec.In.String()), AmountOut: Decimal(rec.Out.String()),
		Price: Decimal(quotientText(quote, tokens)), TxHash: tx, BlockNumber: block, Pool: *t.poolDetail(),
	}
}
