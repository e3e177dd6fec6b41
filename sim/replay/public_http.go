package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/marketdata"
)

// dateSecond is the layout of dates in the answers of market data.
const dateSecond = "2006-01-02T15:04:05"

// HTTP implements Public with the public API, as any client can use it.
type HTTP struct {
	Context                   context.Context // ends the requests when it ends; nil: never
	BaseURL                   string          // for example http://127.0.0.1:8080
	Pair                      string
	DigitsPrice, DigitsAmount int
	Client                    *http.Client // nil: a client with a timeout
}

var defaultClient = &http.Client{Timeout: 30 * time.Second}

// get sends a GET request, decodes the answer into v and returns its headers.
func (h *HTTP) get(path string, query url.Values, v any) (http.Header, error) {
	c := client.Client{Base: h.BaseURL, HTTP: cmp.Or(h.Client, defaultClient)}
	header, err := c.Do(cmp.Or(h.Context, context.Background()), http.MethodGet, path+"?"+query.Encode(), nil, v)
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	return header, nil
}

// values parses decimals of an answer. It remembers the first error.
type values struct{ err error }

func (d *values) fail(text client.Decimal, err error) {
	if d.err == nil {
		d.err = fmt.Errorf("%q: %w", text, err)
	}
}

// units returns a decimal in ticks or lots.
func (d *values) units(text client.Decimal, digits int) int64 {
	v := d.sum(text, digits)
	if v.Hi != 0 || v.Lo > 1<<63-1 {
		d.fail(text, errors.New("too large"))
		return 0
	}
	return int64(v.Lo)
}

// sum returns a decimal as a sum of lots or of products.
func (d *values) sum(text client.Decimal, digits int) fixed.U128 {
	v, err := fixed.Parse(string(text))
	if err != nil {
		d.fail(text, err)
		return fixed.U128{}
	}
	q, rest := v.Abs().DivMod64(fixed.Pow10[fixed.Scale-digits])
	if rest != 0 || v.Sign() < 0 {
		d.fail(text, fmt.Errorf("more than %d digits", digits))
	}
	return q
}

// Book implements Public.Book with /api/marketdata/getaggregator/orderbook.
func (h *HTTP) Book(depth int, bids, asks []marketdata.Level) (outBids, outAsks []marketdata.Level, err error) {
	var doc client.OrderBook
	q := url.Values{"ticker_id": {h.Pair}, "depth": {strconv.Itoa(2 * depth)}}
	if _, err := h.get("/api/marketdata/getaggregator/orderbook", q, &doc); err != nil {
		return bids, asks, err
	}
	var d values
	for _, r := range doc.Bids {
		bids = append(bids,
			marketdata.Level{Price: d.units(r[0], h.DigitsPrice), Amount: d.units(r[1], h.DigitsAmount)})
	}
	for _, r := range doc.Asks {
		asks = append(asks,
			marketdata.Level{Price: d.units(r[0], h.DigitsPrice), Amount: d.units(r[1], h.DigitsAmount)})
	}
	return bids, asks, d.err
}

// Candles implements Public.Candles with /api/ohlc.
func (h *HTTP) Candles(interval marketdata.Interval, fromSec, toSec int64) ([]marketdata.Candle, error) {
	var out []marketdata.Candle
	start := time.Unix(fromSec, 0).UTC().Format(dateSecond)
	for start != "" {
		var rows []struct {
			Date                                      string
			Open, Max, Min, Close, Volume, VolumeBase client.Decimal
		}
		header, err := h.get("/api/ohlc", url.Values{
			"currencyPairCode": {h.Pair}, "interval": {interval.String()},
			"start": {start}, "end": {time.Unix(toSec, 0).UTC().Format(dateSecond)},
		}, &rows)
		if err != nil {
			return nil, err
		}
		var d values
		for _, r := range rows {
			at, err := time.Parse(dateSecond, r.Date)
			if err != nil {
				return nil, fmt.Errorf("candle: %w", err)
			}
			out = append(out, marketdata.Candle{
				Start: at.Unix(), Open: d.units(r.Open, h.DigitsPrice), High: d.units(r.Max, h.DigitsPrice),
				Low: d.units(r.Min, h.DigitsPrice), Close: d.units(r.Close, h.DigitsPrice),
				Volume: d.sum(r.VolumeBase, h.DigitsAmount), QuoteVolume: d.sum(r.Volume, h.DigitsPrice+h.DigitsAmount),
			})
		}
		if d.err != nil {
			return nil, d.err
		}
		start = header.Get("X-Next-Start")
	}
	return out, nil
}

// Trades implements Public.Trades with /api/marketdata/getaggregator/historical_trades.
func (h *HTTP) Trades(n int) ([]marketdata.Trade, error) {
	if n == 0 {
		return nil, nil // limit=0 would request all trades
	}
	type row struct {
		ID     uint64         `json:"trade_id"`
		Price  client.Decimal `json:"price"`
		Amount client.Decimal `json:"base_volume"`
		Ms     int64          `json:"trade_timestamp"`
		side   engine.Side
	}
	var doc struct{ Buy, Sell []row }
	q := url.Values{"ticker_id": {h.Pair}, "limit": {strconv.Itoa(n)}}
	if _, err := h.get("/api/marketdata/getaggregator/historical_trades", q, &doc); err != nil {
		return nil, err
	}
	for i := range doc.Sell {
		doc.Sell[i].side = engine.Sell
	}
	rows := append(doc.Buy, doc.Sell...)
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.ID, b.ID) })
	var out []marketdata.Trade
	var d values
	for _, r := range rows {
		out = append(out, marketdata.Trade{
			TimeNs: r.Ms * 1e6, TakerSide: r.side,
			Price: d.units(r.Price, h.DigitsPrice), Amount: d.units(r.Amount, h.DigitsAmount),
		})
	}
	return out, d.err
}

// Last implements Public.Last with /api/tickers.
func (h *HTTP) Last() (int64, error) {
	var doc client.Ticker
	if _, err := h.get("/api/tickers", url.Values{"currencyPairCode": {h.Pair}}, &doc); err != nil {
		return 0, err
	}
	if doc.Price == "" {
		return 0, errors.New("ticker: no price")
	}
	var d values
	return d.units(doc.Price, h.DigitsPrice), d.err
}
