package agents

import (
	"bytes"
	"errors"

	json "github.com/goccy/go-json"

	"tickhive/hive"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/internal/wal"
	"tickhive/launchpad"
	"tickhive/server/edge"
)

// refusalOf returns the refusal for an error of the ledger or the hive, or for a store that accepts no changes.
// look names the route with which the client can check whether a change of unknown outcome was recorded.
func refusalOf(err error, look string) *refuse.Refusal {
	var refused *refuse.Refusal
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, wal.ErrBusy):
		return refuse.Later(1, "Too many changes wait; nothing was changed.")
	case errors.Is(err, wal.ErrOutcomeUnknown):
		return refuse.Unknown("The change", "look at "+look+" before you repeat the request.")
	case errors.Is(err, wal.ErrClosed):
		return refuse.Later(5, "The server is shutting down; nothing was changed.")
	}
	return refuse.Later(5, "The launchpad accepts no changes at the moment; nothing was changed.")
}

// sendDecimals sends v as JSON. The parameter decimals determines whether its decimals are numbers or strings.
func sendDecimals(c *edge.Ctx, v any) *refuse.Refusal {
	c.Private(encodeJSON(v))
	return nil
}

// sendFree sends v as JSON. Its only decimals are in free-form members (metadata, payloads), which stay as the
// client sent them; the parameter decimals has no effect.
func sendFree(c *edge.Ctx, v any) *refuse.Refusal {
	c.PlainDecimals()
	return sendDecimals(c, v)
}

// encodeJSON encodes an answer. It does not escape HTML characters, so free-form members keep their characters.
func encodeJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: server: an answer that is no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// The answers of the launchpad, in the shapes and member order of docs/contract/api.md,
// docs/contract/internal.md and docs/contract/launchpad.md. Times are Unix seconds.
type (
	tokenRow struct {
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
	tokenAnswer struct {
		Token struct {
			Address     string `json:"address"`
			Name        string `json:"name"`
			Symbol      string `json:"symbol"`
			Decimals    int    `json:"decimals"`
			TotalSupply string `json:"totalSupply"` // whole tokens, no fraction
			Owner       string `json:"owner"`
			SpawnedAt   int64  `json:"spawnedAt"`
		} `json:"token"`
		Pool   poolRow `json:"pool"`
		Worker struct {
			ID           int64  `json:"id"`
			AgentNftID   uint64 `json:"agentNftId"`
			Status       string `json:"status"`
			LastActionAt int64  `json:"lastActionAt"`
			ActionCount  int64  `json:"actionCount"`
		} `json:"worker"`
		Metadata json.RawMessage `json:"metadata"`
		Boost    boostAnswer     `json:"boost"`
	}
	poolRow struct {
		Address     string `json:"address"`
		Side        string `json:"side"`
		FeeTier     int    `json:"feeTier"`
		TVL         string `json:"tvl"`
		Volume24h   string `json:"volume24h"`
		LastTradeAt int64  `json:"lastTradeAt"`
	}
	// poolAnswer is a pool on its own; price is null when the pool is empty.
	poolAnswer struct {
		poolRow
		TokenAddress string  `json:"tokenAddress"`
		TokenSymbol  string  `json:"tokenSymbol"`
		ReserveToken string  `json:"reserveToken"`
		ReserveQuote string  `json:"reserveQuote"`
		Price        *string `json:"price"`
	}
	// boostAnswer is a boost; tier and expiresAt are null when it is inactive.
	boostAnswer struct {
		Active    bool    `json:"active"`
		Tier      *string `json:"tier"`
		ExpiresAt *int64  `json:"expiresAt"`
	}
	tokenWorkerAnswer struct {
		Worker struct {
			ID         int64  `json:"id"`
			AgentNftID uint64 `json:"agentNftId"`
			Status     string `json:"status"`
			DeployedAt int64  `json:"deployedAt"`
		} `json:"worker"`
		RecentActions []tokenAction `json:"recentActions"`
		Stats         struct {
			TotalActions int64 `json:"totalActions"`
			LastActiveAt int64 `json:"lastActiveAt"`
		} `json:"stats"`
	}
	// tokenAction is a workerAction without its reason.
	tokenAction struct {
		TxHash         string          `json:"txHash"`
		ActionType     string          `json:"actionType"`
		Params         json.RawMessage `json:"params"`
		BlockNumber    int64           `json:"blockNumber"`
		BlockTimestamp int64           `json:"blockTimestamp"`
	}
	spawnAnswer struct {
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
	// swapAnswer is a swap and the pool after it. price is the swap's quote per token.
	swapAnswer struct {
		AmountIn    decimalText `json:"amountIn"`
		AmountOut   decimalText `json:"amountOut"`
		Price       decimalText `json:"price"`
		TxHash      string      `json:"txHash"`
		BlockNumber int64       `json:"blockNumber"`
		Pool        poolAnswer  `json:"pool"`
	}
)

// usdText returns hundredths of a USD as a decimal with two digits.
func usdText(cents fixed.U128) string { return string(fixed.AppendU128(nil, cents, 2)) }

func newTokenRow(t *launchpad.Token, w *hive.WorkerInfo) tokenRow {
	return tokenRow{
		Address: t.Address.String(), Symbol: t.Symbol, Name: t.Name, SpawnedAt: t.SpawnedSec,
		TVL: usdText(t.TVL), Volume24h: usdText(t.Volume), Holders: t.Holders,
		WorkerStatus: w.Status.String(), Boosted: t.Boosted,
	}
}

// newTokenAnswer returns a token without its metadata.
func newTokenAnswer(t *launchpad.Token, w *hive.WorkerInfo) *tokenAnswer {
	out := tokenAnswer{Pool: newPoolRow(t), Metadata: emptyObject, Boost: newBoostAnswer(t)}
	o := &out.Token
	o.Address, o.Name, o.Symbol, o.Decimals = t.Address.String(), t.Name, t.Symbol, launchpad.Decimals
	o.TotalSupply, o.Owner, o.SpawnedAt = t.Supply.Whole().String(), t.Owner.String(), t.SpawnedSec
	out.Worker.ID, out.Worker.AgentNftID, out.Worker.Status = int64(t.No), t.AgentNFT(), w.Status.String()
	out.Worker.LastActionAt, out.Worker.ActionCount = w.LastActionAt, w.TotalActions
	return &out
}

func newPoolRow(t *launchpad.Token) poolRow {
	return poolRow{
		Address: t.Pool.String(), Side: t.Side.String(), FeeTier: launchpad.FeeTier,
		TVL: usdText(t.TVL), Volume24h: usdText(t.Volume), LastTradeAt: t.LastTradeSec,
	}
}

func newPoolAnswer(t *launchpad.Token) *poolAnswer {
	out := &poolAnswer{
		poolRow: newPoolRow(t), TokenAddress: t.Address.String(), TokenSymbol: t.Symbol,
		ReserveToken: t.ReserveToken.String(), ReserveQuote: t.ReserveQuote.String(),
	}
	if price, ok := t.Price(); ok {
		text := price.String()
		out.Price = &text
	}
	return out
}

func newBoostAnswer(t *launchpad.Token) (out boostAnswer) {
	if t.Boosted {
		tier, until := t.BoostTier.String(), t.BoostUntilSec
		out = boostAnswer{Active: true, Tier: &tier, ExpiresAt: &until}
	}
	return out
}

// newTokenWorkerAnswer returns the worker of a token as the launchpad shows it, with the newest log entries
// whose target is the token.
func newTokenWorkerAnswer(t *launchpad.Token, w *hive.WorkerInfo, recent []hive.EntryInfo) *tokenWorkerAnswer {
	out := &tokenWorkerAnswer{RecentActions: make([]tokenAction, len(recent))}
	out.Worker.ID, out.Worker.AgentNftID = int64(t.No), t.AgentNFT()
	out.Worker.Status, out.Worker.DeployedAt = w.Status.String(), t.SpawnedSec
	for i := range recent {
		e := &recent[i]
		out.RecentActions[i] = tokenAction{
			TxHash: e.TxHash.String(), ActionType: e.Type.String(), Params: json.RawMessage(e.Payload),
			BlockNumber: e.BlockNumber, BlockTimestamp: e.Sec(),
		}
	}
	out.Stats.TotalActions, out.Stats.LastActiveAt = w.TotalActions, w.LastActiveAt
	return out
}

func newSpawnAnswer(res *launchpad.Result) *spawnAnswer {
	t, out := res.Token, &spawnAnswer{TxHash: res.TxHash.String()}
	out.Token.Address, out.Token.Name, out.Token.Symbol = t.Address.String(), t.Name, t.Symbol
	out.Token.TotalSupply, out.Token.Owner = t.Supply.Whole().String(), t.Owner.String()
	out.Pool.Address, out.Pool.Side, out.Pool.FeeTier = t.Pool.String(), t.Side.String(), launchpad.FeeTier
	out.Worker.ID, out.Worker.AgentNftID = int64(t.No), t.AgentNFT()
	return out
}

func newSwapAnswer(res *launchpad.Result) *swapAnswer {
	return &swapAnswer{
		AmountIn: decimalText(res.In.String()), AmountOut: decimalText(res.Out.String()),
		Price: decimalText(res.Price.String()), TxHash: res.TxHash.String(), BlockNumber: res.Block,
		Pool: *newPoolAnswer(res.Token),
	}
}
