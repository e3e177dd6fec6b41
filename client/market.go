package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// PairSettings are the digits and the smallest order of a pair.
type PairSettings struct {
	Code           string   `json:"code"`
	DigitsPrice    int      `json:"digitsPrice"`
	DigitsAmount   int      `json:"digitsAmount"`
	MinQuoteAmount *Decimal `json:"minQuoteAmount"` // nil: no smallest order
}

// Deal is a public trade.
type Deal struct {
	ID      string  `json:"id"`
	TradeID uint64  `json:"tradeId"` // rises by one per pair
	Date    string  `json:"dealDateUtc"`
	Pair    string  `json:"currencyPairCode"`
	Volume  Decimal `json:"volume"`
	Price   Decimal `json:"price"`
	IsBuy   bool    `json:"isBuy"` // the taker's side
}

// Candle is one interval of a pair; Date is its beginning in UTC.
type Candle struct {
	Date       string  `json:"date"`
	Open       Decimal `json:"open"`
	Max        Decimal `json:"max"`
	Min        Decimal `json:"min"`
	Close      Decimal `json:"close"`
	Volume     Decimal `json:"volume"` // in the quote currency
	VolumeBase Decimal `json:"volumeBase"`
}

// PairStatus is a pair's row of GET /api/status and of the status channel. A time is in Unix ms, nil before the
// first event.
type PairStatus struct {
	Pair         string `json:"currencyPairCode"`
	State        string `json:"state"`
	Seq          uint64 `json:"seq"`
	LastTradeID  uint64 `json:"lastTradeId"`
	LastTradeAt  *int64 `json:"lastTradeAt"`
	LastChangeAt *int64 `json:"lastChangeAt"`
	ViewAgeMs    int64  `json:"viewAgeMs"`
}

// Status is the response of GET /api/status and the snapshot of the status channel.
type Status struct {
	Status   string       `json:"status"` // recovering, seeking, ok, degraded, stale
	Version  string       `json:"version"`
	Epoch    string       `json:"epoch"`
	Time     int64        `json:"time"`
	Seq      uint64       `json:"seq"`
	Progress *float64     `json:"progress"` // nil: no recovery and no backfill
	Pairs    []PairStatus `json:"pairs"`
}

// Status returns the state of the exchange and its pairs.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var out Status
	_, err := c.Do(ctx, http.MethodGet, "/api/status", nil, &out)
	return out, err
}

// Pairs returns the settings of all pairs.
func (c *Client) Pairs(ctx context.Context) ([]PairSettings, error) {
	var out []PairSettings
	_, err := c.Do(ctx, http.MethodGet, "/api/currencies/pairs", nil, &out)
	return out, err
}

// wireTime is the form of times in queries.
const wireTime = "2006-01-02T15:04:05.999999999"

// Deals returns a page of trades within [since, end], newest first; page counts from 1. A zero time is no bound.
func (c *Client) Deals(ctx context.Context, pair string, since, end time.Time, page int) ([]Deal, error) {
	v := url.Values{"currencyPairCode": {pair}, "pageNumber": {strconv.Itoa(page)}}
	for name, at := range map[string]time.Time{"sinceDate": since, "endDate": end} {
		if !at.IsZero() {
			v.Set(name, at.UTC().Format(wireTime))
		}
	}
	var out []Deal
	_, err := c.Do(ctx, http.MethodGet, "/api/deals?"+v.Encode(), nil, &out)
	return out, err
}

// Candles yields the candles of an interval (minute, hour, ...) whose date is within [start, end], oldest first. It
// asks for further pages as the caller reads on. After an error it ends.
func (c *Client) Candles(ctx context.Context, pair, interval string, start, end time.Time) iter.Seq2[Candle, error] {
	return func(yield func(Candle, error) bool) {
		from := start.UTC().Format(wireTime)
		for from != "" {
			v := url.Values{
				"currencyPairCode": {pair}, "interval": {interval},
				"start": {from}, "end": {end.UTC().Format(wireTime)},
			}
			var rows []Candle
			h, err := c.Do(ctx, http.MethodGet, "/api/ohlc?"+v.Encode(), nil, &rows)
			if !yieldPage(rows, err, yield) {
				return
			}
			from = h.Get("X-Next-Start")
		}
	}
}

// AllOrders yields every order that q selects, newest first, from page to page. After an error it ends.
func (c *Client) AllOrders(ctx context.Context, q ListQuery) iter.Seq2[Order, error] {
	return allPages(q, func(q ListQuery) ([]Order, string, error) { return c.Orders(ctx, q) })
}

// AllLists yields every order list that q selects, newest first, from page to page. After an error it ends.
func (c *Client) AllLists(ctx context.Context, q ListQuery) iter.Seq2[List, error] {
	return allPages(q, func(q ListQuery) ([]List, string, error) { return c.Lists(ctx, q) })
}

// AllFills yields every fill that q selects, newest first, from page to page. After an error it ends.
func (c *Client) AllFills(ctx context.Context, q ListQuery) iter.Seq2[Fill, error] {
	return allPages(q, func(q ListQuery) ([]Fill, string, error) { return c.Fills(ctx, q) })
}

func allPages[T any](q ListQuery, page func(ListQuery) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			rows, next, err := page(q)
			if !yieldPage(rows, err, yield) || next == "" {
				return
			}
			q.Cursor = next
		}
	}
}

// yieldPage yields the rows of a page, or the error. It returns false at the end.
func yieldPage[T any](rows []T, err error, yield func(T, error) bool) bool {
	if err != nil {
		var none T
		yield(none, err)
		return false
	}
	for _, r := range rows {
		if !yield(r, nil) {
			return false
		}
	}
	return true
}
