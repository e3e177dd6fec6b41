package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/marketdata"
)

// maxAnswer bounds one answer of the API, in bytes.
const maxAnswer = 256 << 20

// dateSecond is the form of dates on market-data routes.
const dateSecond = "2006-01-02T15:04:05"

// HTTP answers the checks from the public API itself, as any client sees it.
type HTTP struct {
	Context                   context.Context // ends the requests; nil: never
	BaseURL                   string          // http://127.0.0.1:8080
	Pair                      string
	DigitsPrice, DigitsAmount int
	Client                    *http.Client // nil: one with a timeout
}

var defaultClient = &http.Client{Timeout: 30 * time.Second}

// get decodes the answer of a GET into v and returns its headers.
func (h *HTTP) get(path string, query url.Values, v any) (http.Header, error) {
	ctx := h.Context
	if ctx == nil {
		ctx = context.Background()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(h.BaseURL, "/")+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	client := h.Client
	if client == nil {
		client = defaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	defer func() { _ = res.Body.Close() }() // the answer was read: nothing can be lost
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: status %d: %s", path, res.StatusCode, clip(body))
	}
	if err := json.Unmarshal(body, v); err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	return res.Header, nil
}

// units reads a decimal of an answer as ticks, lots or product units.
func units(t text, digits int) (fixed.U128, error) {
	v, err := fixed.Parse(string(t))
	if err != nil {
		return fixed.U128{}, fmt.Errorf("%q: %w", clip(t), err)
	}
	q, rest := v.Abs().DivMod64(fixed.Pow10[fixed.Scale-digits])
	if rest != 0 || v.Sign() < 0 {
		return fixed.U128{}, fmt.Errorf("%q: more than %d digits", clip(t), digits)
	}
	return q, nil
}

func small(t text, digits int) (int64, error) {
	v, err := units(t, digits)
	if err != nil {
		return 0, err
	}
	if v.Hi != 0 || v.Lo > 1<<63-1 {
		return 0, fmt.Errorf("%q is too large", clip(t))
	}
	return int64(v.Lo), nil
}

// Book is Public.Book, from /api/marketdata/getaggregator/orderbook.
func (h *HTTP) Book(depth int, bids, asks []marketdata.Level) (outBids, outAsks []marketdata.Level, err error) {
	var doc struct {
		Bids [][2]text `json:"bids"`
		Asks [][2]text `json:"asks"`
	}
	q := url.Values{"ticker_id": {h.Pair}, "depth": {strconv.Itoa(2 * depth)}}
	if _, err := h.get("/api/marketdata/getaggregator/orderbook", q, &doc); err != nil {
		return bids, asks, err
	}
	if bids, err = h.levels(doc.Bids, bids); err != nil {
		return bids, asks, err
	}
	asks, err = h.levels(doc.Asks, asks)
	return bids, asks, err
}

func (h *HTTP) levels(rows [][2]text, dst []marketdata.Level) ([]marketdata.Level, error) {
	for _, r := range rows {
		price, err := small(r[0], h.DigitsPrice)
		if err != nil {
			return dst, err
		}
		amount, err := small(r[1], h.DigitsAmount)
		if err != nil {
			return dst, err
		}
		dst = append(dst, marketdata.Level{Price: price, Amount: amount})
	}
	return dst, nil
}

// Candles is Public.Candles, from /api/ohlc.
func (h *HTTP) Candles(interval marketdata.Interval, fromSec, toSec int64) ([]marketdata.Candle, error) {
	var out []marketdata.Candle
	start := time.Unix(fromSec, 0).UTC().Format(dateSecond)
	for start != "" {
		var rows []struct {
			Date       string
			Open       text
			Max        text
			Min        text
			Close      text
			Volume     text
			VolumeBase text
		}
		header, err := h.get("/api/ohlc", url.Values{
			"currencyPairCode": {h.Pair}, "interval": {interval.String()},
			"start": {start}, "end": {time.Unix(toSec, 0).UTC().Format(dateSecond)},
		}, &rows)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			at, err := time.Parse(dateSecond, r.Date)
			if err != nil {
				return nil, fmt.Errorf("candle: %w", err)
			}
			c := marketdata.Candle{Start: at.Unix()}
			for _, p := range []struct {
				t    text
				into *int64
			}{{r.Open, &c.Open}, {r.Max, &c.High}, {r.Min, &c.Low}, {r.Close, &c.Close}} {
				if *p.into, err = small(p.t, h.DigitsPrice); err != nil {
					return nil, err
				}
			}
			if c.Volume, err = units(r.VolumeBase, h.DigitsAmount); err != nil {
				return nil, err
			}
			if c.QuoteVolume, err = units(r.Volume, h.DigitsPrice+h.DigitsAmount); err != nil {
				return nil, err
			}
			out = append(out, c)
		}
		start = header.Get("X-Next-Start")
	}
	return out, nil
}

// Trades is Public.Trades, from /api/marketdata/getaggregator/historical_trades.
func (h *HTTP) Trades(n int) ([]marketdata.Trade, error) {
	type row struct {
		ID     uint64 `json:"trade_id"`
		Price  text   `json:"price"`
		Amount text   `json:"base_volume"`
		Ms     int64  `json:"trade_timestamp"`
	}
	var doc struct {
		Buy  []row `json:"buy"`
		Sell []row `json:"sell"`
	}
	if n == 0 {
		return nil, nil // a limit of 0 would mean all
	}
	q := url.Values{"ticker_id": {h.Pair}, "limit": {strconv.Itoa(n)}}
	if _, err := h.get("/api/marketdata/getaggregator/historical_trades", q, &doc); err != nil {
		return nil, err
	}
	// Both are newest first by id; the older of the two tails comes next.
	var out []marketdata.Trade
	buy, sell := doc.Buy, doc.Sell
	for len(buy)+len(sell) > 0 {
		side, rows := engine.Buy, &buy
		if len(buy) == 0 || len(sell) > 0 && sell[len(sell)-1].ID < buy[len(buy)-1].ID {
			side, rows = engine.Sell, &sell
		}
		r := (*rows)[len(*rows)-1]
		*rows = (*rows)[:len(*rows)-1]
		t := marketdata.Trade{TimeNs: r.Ms * 1e6, TakerSide: side}
		var err error
		if t.Price, err = small(r.Price, h.DigitsPrice); err != nil {
			return nil, err
		}
		if t.Amount, err = small(r.Amount, h.DigitsAmount); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// Last is Public.Last, from /api/tickers.
func (h *HTTP) Last() (int64, error) {
	var doc struct{ Price text }
	if _, err := h.get("/api/tickers", url.Values{"currencyPairCode": {h.Pair}}, &doc); err != nil {
		return 0, err
	}
	if len(doc.Price) == 0 {
		return 0, errors.New("ticker: no price")
	}
	return small(doc.Price, h.DigitsPrice)
}
