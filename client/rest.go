package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

// Decimal is a number with the text that the server wrote. To calculate, new(big.Rat).SetString(d.String()) of math/big
// is exact, and FloatString makes the text of a result with as many digits as the pair has.
type Decimal = json.Number

// Ticker is the response of GET /api/tickers.
type Ticker struct {
	Timestamp  int64   `json:"timestamp"`
	Pair       string  `json:"currencyPairCode"`
	Price      Decimal `json:"price"`
	Price24Ago Decimal `json:"price24hAgo"`
	Change24h  Decimal `json:"priceChangePercentage24h"`
	Volume24h  Decimal `json:"volume24h"`
	Bid        Decimal `json:"bidPrice"`
	Ask        Decimal `json:"askPrice"`
}

// OrderBook is the response of the aggregator's order book. Each level is [price, quantity], best first.
type OrderBook struct {
	Pair      string       `json:"ticker_id"`
	Timestamp int64        `json:"timestamp"`
	Bids      [][2]Decimal `json:"bids"`
	Asks      [][2]Decimal `json:"asks"`
	Seq       uint64       `json:"-"` // value of the header X-Seq
}

// OrderRequest is the body of POST /api/orders. Empty members are not sent. A limit order has Amount and Price; an
// order at the market's price has IsMarket, and Amount or QuoteAmount.
type OrderRequest struct {
	Side          string  `json:"side"` // buy, sell
	IsMarket      bool    `json:"isMarket,omitempty"`
	Pair          string  `json:"currencyPairCode"`
	Amount        Decimal `json:"amount,omitempty"`
	Price         Decimal `json:"price,omitempty"`
	QuoteAmount   Decimal `json:"quoteAmount,omitempty"`
	StopPrice     Decimal `json:"stopPrice,omitempty"`
	DisplayAmount Decimal `json:"displayAmount,omitempty"` // iceberg: what the book shows at a time
	TimeInForce   string  `json:"timeInForce,omitempty"`   // gtc (default), ioc, fok
	PostOnly      bool    `json:"postOnly,omitempty"`
	ClientOrderID string  `json:"clientOrderId,omitempty"`
	// SelfTradePrevention is none, cancel_taker (default), cancel_maker, cancel_both or decrement.
	SelfTradePrevention string `json:"selfTradePrevention,omitempty"`

	// Type is limit, market, stop_limit, stop_market, take_profit_limit or take_profit_market; empty: IsMarket and
	// StopPrice say it.
	Type           string `json:"type,omitempty"`
	TrailingDelta  int    `json:"trailingDelta,omitempty"`  // basis points, 10 to 2,000; then StopPrice is optional
	StrictTrigger  bool   `json:"strictTrigger,omitempty"`  // refuse the order if it would trigger at once
	ExpireUnfilled bool   `json:"expireUnfilled,omitempty"` // accept and cancel what the book would refuse
	ClientIDScope  string `json:"clientIdScope,omitempty"`  // recent (default), open
	// StrategyID and StrategyType are labels that the order keeps; nil: none.
	StrategyID   *int64 `json:"strategyId,omitempty"`
	StrategyType *int64 `json:"strategyType,omitempty"`
}

// ListRequest is the body of POST /api/orders/lists. The pair of the orders is the list's; theirs is not sent.
type ListRequest struct {
	Kind          string         `json:"kind"` // oco, oto, otoco, opo, opoco
	Pair          string         `json:"currencyPairCode"`
	ClientOrderID string         `json:"clientOrderId,omitempty"`
	ClientIDScope string         `json:"clientIdScope,omitempty"` // recent (default), open
	Orders        []OrderRequest `json:"orders"`                  // 2, or 3; the working order first
}

// List is an order list as the signed routes and the channel orders show it to its owner.
type List struct {
	ID            string  `json:"id"` // the id of its first order
	Kind          string  `json:"kind"`
	ClientOrderID *string `json:"clientOrderId"`
	Pair          string  `json:"currencyPairCode"`
	Status        string  `json:"status"` // executing, done
	Date          string  `json:"date"`
	DateChanged   string  `json:"dateChanged"`
	// Orders is empty in messages of a stream, which have OrderIDs instead.
	Orders   []Order  `json:"orders"`
	OrderIDs []string `json:"orderIds"`
}

// Amendment is a change of an order that lowered its amount and kept its place.
type Amendment struct {
	Seq              uint64  `json:"seq"`
	Date             string  `json:"date"`
	OldAmount        Decimal `json:"oldAmount"`
	NewAmount        Decimal `json:"newAmount"`
	OldClientOrderID *string `json:"oldClientOrderId"`
	NewClientOrderID *string `json:"newClientOrderId"`
	FilledAmount     Decimal `json:"filledAmount"`
}

// PreventedMatch is a trade of the account with itself that self-trade prevention has prevented.
type PreventedMatch struct {
	ID           uint64  `json:"id"` // counts them in the pair from 1
	Pair         string  `json:"currencyPairCode"`
	Date         string  `json:"date"`
	TakerOrderID string  `json:"takerOrderId"`
	MakerOrderID string  `json:"makerOrderId"`
	TakerSide    string  `json:"takerSide"`
	Price        Decimal `json:"price"`
	TakerAmount  Decimal `json:"takerAmount"` // taken from the taker's order
	MakerAmount  Decimal `json:"makerAmount"`
	Mode         string  `json:"selfTradePrevention"`
}

// Order is an order as the signed routes show it to its owner.
type Order struct {
	ID            string   `json:"id"`
	ClientOrderID *string  `json:"clientOrderId"`
	IsMarket      bool     `json:"isMarket"`
	Pair          string   `json:"currencyPairCode"`
	IsBid         bool     `json:"isBid"`
	Price         *Decimal `json:"price"` // nil: a market order
	// InitialAmount is the total amount and Amount the open one; nil with InitialQuoteAmount, and until an opo or
	// opoco list gives the order its amount.
	InitialAmount *Decimal `json:"initialAmount"`
	Amount        *Decimal `json:"amount"`
	// DecrementedAmount is the amount that self-trade prevention "decrement" removed; nil when InitialAmount is
	// nil.
	DecrementedAmount *Decimal `json:"decrementedAmount"`

	QuoteAmount *Decimal `json:"quoteAmount"` // Price x Amount; nil: a market order, or Amount is nil
	Date        string   `json:"date"`
	UserID      string   `json:"userId"`
	IsCanceled  bool     `json:"isCanceled"`
	Status      string   `json:"status"`

	Type                string `json:"type"` // as in OrderRequest
	TimeInForce         string `json:"timeInForce"`
	PostOnly            bool   `json:"postOnly"`
	SelfTradePrevention string `json:"selfTradePrevention"`

	StopPrice     *Decimal `json:"stopPrice"`
	IsTriggered   *bool    `json:"isTriggered"` // nil: no stop order
	DisplayAmount *Decimal `json:"displayAmount"`
	// InitialQuoteAmount is the QuoteAmount of an order that has no amount.
	InitialQuoteAmount *Decimal `json:"initialQuoteAmount"`
	FilledAmount       Decimal  `json:"filledAmount"`
	FilledQuoteAmount  Decimal  `json:"filledQuoteAmount"`
	AveragePrice       *Decimal `json:"averagePrice"` // nil: no fill
	Fee                *Decimal `json:"fee"`          // nil: the answer to a repeat, some of whose deals are gone
	FeeCurrency        string   `json:"feeCurrencyCode"`
	DateChanged        string   `json:"dateChanged"`

	TrailingDelta    *int    `json:"trailingDelta"` // nil: the order does not trail
	TrailingTime     *string `json:"trailingTime"`  // nil: it does not track the market yet
	StrictTrigger    bool    `json:"strictTrigger"`
	ExpireUnfilled   bool    `json:"expireUnfilled"`
	EndReason        *string `json:"endReason"`        // why it ended without being filled; nil: open, or filled
	PreventedMatchID *uint64 `json:"preventedMatchId"` // nil: none
	StrategyID       *int64  `json:"strategyId"`
	StrategyType     *int64  `json:"strategyType"`
	ListID           *string `json:"listId"` // nil: it is of no list
}

// Fill is a deal of the caller's order.
type Fill struct {
	Deal
	IsUserBuyer *bool   `json:"isUserBuyer"`
	OrderID     string  `json:"orderId"`
	Fee         Decimal `json:"fee"`
	FeeCurrency string  `json:"feeCurrencyCode"`
	IsMaker     bool    `json:"isMaker"`
}

// Balance is the caller's balance of one currency.
type Balance struct {
	Currency string  `json:"currencyCode"`
	Free     Decimal `json:"free"`
	Held     Decimal `json:"held"`
	Total    Decimal `json:"total"`
}

// Time returns the time of the exchange's clock in Unix ms.
func (c *Client) Time(ctx context.Context) (int64, error) {
	var out struct {
		ServerTime int64 `json:"serverTime"`
	}
	_, err := c.Do(ctx, http.MethodGet, "/api/time", nil, &out)
	return out.ServerTime, err
}

// Ticker returns the ticker of one pair.
func (c *Client) Ticker(ctx context.Context, pair string) (Ticker, error) {
	var out Ticker
	_, err := c.Do(ctx, http.MethodGet, "/api/tickers?currencyPairCode="+url.QueryEscape(pair), nil, &out)
	return out, err
}

// OrderBook returns depth/2 levels a side; depth 0 means the whole book.
func (c *Client) OrderBook(ctx context.Context, pair string, depth int) (OrderBook, error) {
	var out OrderBook
	h, err := c.Do(ctx, http.MethodGet, "/api/marketdata/getaggregator/orderbook?ticker_id="+
		url.QueryEscape(pair)+"&depth="+strconv.Itoa(depth), nil, &out)
	if err == nil {
		out.Seq, err = strconv.ParseUint(h.Get("X-Seq"), 10, 64)
	}
	return out, err
}

// PlaceOrder places an order and returns its id.
func (c *Client) PlaceOrder(ctx context.Context, o OrderRequest) (string, error) {
	var id string
	_, err := c.Do(ctx, http.MethodPost, "/api/orders", o, &id)
	return id, err
}

// PlaceList places an order list, whole or not at all, and returns it.
func (c *Client) PlaceList(ctx context.Context, l ListRequest) (List, error) {
	var out List
	_, err := c.Do(ctx, http.MethodPost, "/api/orders/lists", l, &out)
	return out, err
}

// MarshalJSON leaves out the pairs of the orders.
func (l ListRequest) MarshalJSON() ([]byte, error) {
	type order struct {
		OrderRequest
		Pair string `json:"currencyPairCode,omitempty"`
	}
	type list ListRequest
	orders := make([]order, len(l.Orders))
	for i, o := range l.Orders {
		orders[i] = order{OrderRequest: o}
	}
	return json.Marshal(struct {
		list
		Orders []order `json:"orders"`
	}{list(l), orders})
}

// CancelList cancels all orders of a list and returns its last state.
func (c *Client) CancelList(ctx context.Context, id string) (List, error) {
	var out List
	_, err := c.Do(ctx, http.MethodDelete, "/api/orders/lists/"+url.PathEscape(id), nil, &out)
	return out, err
}

// CancelListByClientID cancels all orders of the newest list of the pair with a client order id.
func (c *Client) CancelListByClientID(ctx context.Context, pair, clientID string) (List, error) {
	var out List
	err := c.byClientID(ctx, http.MethodDelete, "/api/orders/lists", pair, clientID, &out)
	return out, err
}

// ListByClientID returns the newest list of the pair with a client order id.
func (c *Client) ListByClientID(ctx context.Context, pair, clientID string) (List, error) {
	var out List
	err := c.byClientID(ctx, http.MethodGet, "/api/orders/lists", pair, clientID, &out)
	return out, err
}

// List returns one order list with its orders.
func (c *Client) List(ctx context.Context, id string) (List, error) {
	var out List
	_, err := c.Do(ctx, http.MethodGet, "/api/orders/lists/"+url.PathEscape(id), nil, &out)
	return out, err
}

// Lists returns a page of the caller's order lists, newest first, and the cursor of the next page, empty after the
// last.
func (c *Client) Lists(ctx context.Context, q ListQuery) (rows []List, next string, err error) {
	h, err := c.Do(ctx, http.MethodGet, q.target("/api/user/lists"), nil, &rows)
	return rows, h.Get("X-Next-Cursor"), err
}

// Change is what ChangeOrder changes. Empty members stay.
type Change struct {
	Price         Decimal `json:"price,omitempty"`
	Amount        Decimal `json:"amount,omitempty"`        // the new total, what is filled included
	StopPrice     Decimal `json:"stopPrice,omitempty"`     // of an order that waits
	TrailingDelta int     `json:"trailingDelta,omitempty"` // basis points, of an order that waits
	// KeepPriority lowers the amount alone, and the order keeps its place in the queue.
	KeepPriority  bool   `json:"keepPriority,omitempty"`
	ClientOrderID string `json:"clientOrderId,omitempty"` // the order's new id, with KeepPriority
	ClientIDScope string `json:"clientIdScope,omitempty"` // recent (default), open
}

// ChangeOrder changes an open order, which keeps its id, and returns its state.
func (c *Client) ChangeOrder(ctx context.Context, id string, change Change) (Order, error) {
	var out Order
	_, err := c.Do(ctx, http.MethodPatch, "/api/orders/"+url.PathEscape(id), change, &out)
	return out, err
}

// Amendments returns the amendments of an order, oldest first.
func (c *Client) Amendments(ctx context.Context, id string) ([]Amendment, error) {
	var out []Amendment
	_, err := c.Do(ctx, http.MethodGet, "/api/orders/"+url.PathEscape(id)+"/amendments", nil, &out)
	return out, err
}

// CancelOrder cancels an order and returns its last state.
func (c *Client) CancelOrder(ctx context.Context, id string) (Order, error) {
	var out Order
	_, err := c.Do(ctx, http.MethodDelete, "/api/orders/"+url.PathEscape(id), nil, &out)
	return out, err
}

// CancelOrderIf is CancelOrder of an order that has no deal yet (onlyIf "new") or has one ("partial"); in the other
// state the error has CodeCancelRestricted.
func (c *Client) CancelOrderIf(ctx context.Context, id, onlyIf string) (Order, error) {
	var out Order
	target := "/api/orders/" + url.PathEscape(id) + "?onlyIf=" + url.QueryEscape(onlyIf)
	_, err := c.Do(ctx, http.MethodDelete, target, nil, &out)
	return out, err
}

// Order returns one order.
func (c *Client) Order(ctx context.Context, id string) (Order, error) {
	var out Order
	_, err := c.Do(ctx, http.MethodGet, "/api/orders/"+url.PathEscape(id), nil, &out)
	return out, err
}

// OrderByClientID returns the order of the pair with a client order id.
func (c *Client) OrderByClientID(ctx context.Context, pair, clientID string) (Order, error) {
	var out Order
	err := c.byClientID(ctx, http.MethodGet, "/api/orders", pair, clientID, &out)
	return out, err
}

var clientIDForm = regexp.MustCompile("^[A-Za-z0-9_.:-]{1,64}$")

// byClientID sends a request for what has a client order id. A text that no client order id can be would be another
// path.
func (c *Client) byClientID(ctx context.Context, method, path, pair, clientID string, out any) error {
	if !clientIDForm.MatchString(clientID) {
		return fmt.Errorf("client: %q is no client order id, which has 1 to 64 of A-Z a-z 0-9 _ . : -", clientID)
	}
	_, err := c.Do(ctx, method, path+"/by-client-id/"+url.PathEscape(pair)+"/"+clientID, nil, out)
	return err
}

// ListQuery selects rows of the caller's orders, order lists or fills. Empty members do not restrict.
type ListQuery struct {
	Pair     string
	Status   string // orders: all, active, canceled; lists: all, executing, done
	OrderID  string // fills only
	PageSize int    // 1 to 100; 0: 100
	// Since and End bound the date of a fill, and the date at which an order or list was placed; zero: no bound.
	Since, End time.Time
	Cursor     string // of the page before; empty: the first page
}

func (q *ListQuery) target(path string) string {
	v := url.Values{}
	for name, value := range map[string]string{
		"currencyPairCode": q.Pair, "status": q.Status, "orderId": q.OrderID, "cursor": q.Cursor,
	} {
		if value != "" {
			v.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"sinceDate": q.Since, "endDate": q.End} {
		if !at.IsZero() {
			v.Set(name, at.UTC().Format(wireTime))
		}
	}
	if q.PageSize > 0 {
		v.Set("pageSize", strconv.Itoa(q.PageSize))
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// Orders returns a page of the caller's orders, newest first, and the cursor of the next page, empty after the last.
func (c *Client) Orders(ctx context.Context, q ListQuery) (rows []Order, next string, err error) {
	h, err := c.Do(ctx, http.MethodGet, q.target("/api/user/orders"), nil, &rows)
	return rows, h.Get("X-Next-Cursor"), err
}

// Fills returns a page of the caller's fills, newest first, and the cursor of the next page, empty after the last.
func (c *Client) Fills(ctx context.Context, q ListQuery) (rows []Fill, next string, err error) {
	h, err := c.Do(ctx, http.MethodGet, q.target("/api/user/deals"), nil, &rows)
	return rows, h.Get("X-Next-Cursor"), err
}

// CancelOrderByClientID cancels the order of the pair with a client order id and returns its last state.
func (c *Client) CancelOrderByClientID(ctx context.Context, pair, clientID string) (Order, error) {
	var out Order
	err := c.byClientID(ctx, http.MethodDelete, "/api/orders", pair, clientID, &out)
	return out, err
}

// Batch collects commands of one request; Client.SendBatch carries them out in order. A batch has 1 to 100 commands.
type Batch struct{ commands []any }

// Place adds a new order.
func (b *Batch) Place(o OrderRequest) { b.add("place", o) }

// PlaceList adds a new order list. Its result has the id of the list, which is that of its first order.
func (b *Batch) PlaceList(l ListRequest) { b.add("placeList", l) }

// Cancel adds the cancel of an order.
func (b *Batch) Cancel(id string) { b.add("cancel", map[string]string{"orderId": id}) }

// CancelIf adds the cancel of an order that has no deal yet (onlyIf "new") or has one ("partial").
func (b *Batch) CancelIf(id, onlyIf string) {
	b.add("cancel", map[string]string{"orderId": id, "onlyIf": onlyIf})
}

// Change adds the change of an order.
func (b *Batch) Change(id string, change Change) {
	b.add("replace", struct {
		OrderID string `json:"orderId"`
		Change
	}{id, change})
}

func (b *Batch) add(name string, command any) {
	b.commands = append(b.commands, map[string]any{name: command})
}

// BatchResult is the outcome of one command. Of a refused command it has only Status "Rejected", RejectReason, and
// the ids that are known.
type BatchResult struct {
	Order
	RejectReason *string `json:"rejectReason"` // nil: carried out
}

// SendBatch carries out the commands of b and returns a result for each.
func (c *Client) SendBatch(ctx context.Context, b *Batch) ([]BatchResult, error) {
	var out struct {
		Results []BatchResult `json:"results"`
	}
	_, err := c.Do(ctx, http.MethodPost, "/api/orders/batch", map[string]any{"commands": b.commands}, &out)
	return out.Results, err
}

// CancelAll cancels the caller's open orders on a pair and returns their number; an empty pair means all pairs that
// are not halted.
func (c *Client) CancelAll(ctx context.Context, pair string) (int, error) {
	var out struct {
		Canceled int `json:"canceled"`
	}
	target := "/api/orders?all=true"
	if pair != "" {
		target = "/api/orders?currencyPairCode=" + url.QueryEscape(pair)
	}
	_, err := c.Do(ctx, http.MethodDelete, target, nil, &out)
	return out.Canceled, err
}

// CancelAllAfter sets the dead man's switch of the account: unless it is set again within the timeout (1 s to 24 h),
// every open order of the account is canceled. 0 turns it off. firesAt is the time of the exchange's clock, zero when
// it is off.
func (c *Client) CancelAllAfter(ctx context.Context, timeout time.Duration) (firesAt time.Time, err error) {
	var out struct {
		FiresAt *time.Time `json:"firesAt"`
	}
	body := map[string]int64{"timeoutMs": timeout.Milliseconds()}
	_, err = c.Do(ctx, http.MethodPost, "/api/orders/cancel-all-after", body, &out)
	if out.FiresAt != nil {
		firesAt = *out.FiresAt
	}
	return firesAt, err
}

// PreventedMatches returns the matches on a pair that self-trade prevention has prevented, at most 100, by their ids;
// from is the first id.
func (c *Client) PreventedMatches(ctx context.Context, pair string, from uint64) ([]PreventedMatch, error) {
	var out []PreventedMatch
	target := "/api/user/prevented-matches?currencyPairCode=" + url.QueryEscape(pair)
	if from > 0 {
		target += "&from=" + strconv.FormatUint(from, 10)
	}
	_, err := c.Do(ctx, http.MethodGet, target, nil, &out)
	return out, err
}

// OpenOrders returns the caller's open orders on a pair, newest first, at most 100.
func (c *Client) OpenOrders(ctx context.Context, pair string) ([]Order, error) {
	var out []Order
	_, err := c.Do(ctx, http.MethodGet, "/api/user/orders?status=active&currencyPairCode="+url.QueryEscape(pair), nil,
		&out)
	return out, err
}

// Balances returns the caller's balances that are not zero.
func (c *Client) Balances(ctx context.Context) ([]Balance, error) {
	var out struct {
		Balances []Balance `json:"balances"`
	}
	_, err := c.Do(ctx, http.MethodGet, "/api/wallets/balances", nil, &out)
	return out.Balances, err
}
