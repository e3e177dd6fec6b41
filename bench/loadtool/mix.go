package loadtool

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"tickhive/bench/load"
)

// The mixes of a run.
const (
	MixPolls   = "polls"   // the requests of a listing site
	MixOrders  = "orders"  // signed orders of one account
	MixStreams = "streams" // sockets that receive books, trades and tickers
)

const (
	discoverTimeout = 10 * time.Second
	maxDiscovered   = 32 << 20 // bytes of the list of pairs
)

// request returns a GET request of the target's host, as a polite poller sends it.
func request(u *url.URL, name, target string) *load.Request {
	q := load.GetOf(u.Host, name, target, "Accept-Encoding: gzip", "User-Agent: tickhive-load")
	q.Conditional = true
	return q
}

// requests returns the requests of a run: the URL alone, or what a listing site polls below it.
func (o *Options) requests(ctx context.Context, u *url.URL, secure *tls.Config) ([]*load.Request, error) {
	if o.Mix == "" {
		return []*load.Request{load.GetOf(u.Host, "target", u.RequestURI(), "User-Agent: tickhive-load")}, nil
	}
	prefix := strings.TrimSuffix(u.EscapedPath(), "/")
	var gecko []struct {
		TickerID string `json:"ticker_id"`
	}
	geckoErr := discover(ctx, u, secure, prefix+"/pairs", &gecko)
	if geckoErr == nil && len(gecko) > 0 {
		list := []*load.Request{request(u, "pairs", prefix+"/pairs"), request(u, "tickers", prefix+"/tickers")}
		for _, p := range gecko[:min(o.Pairs, len(gecko))] {
			id := url.QueryEscape(p.TickerID)
			list = append(list, request(u, "orderbook", prefix+"/orderbook?depth=100&ticker_id="+id),
				request(u, "historical_trades", prefix+"/historical_trades?limit=100&ticker_id="+id))
		}
		return list, nil
	}
	var summary []struct {
		TradingPairs string `json:"trading_pairs"`
	}
	err := discover(ctx, u, secure, prefix+"/summary", &summary)
	if err != nil || len(summary) == 0 {
		return nil, fmt.Errorf("neither %s/pairs (CoinGecko) nor %s/summary (CoinMarketCap) answers a list of pairs, "+
			"name the prefix of the listing routes: %w", prefix, prefix, errors.Join(geckoErr, err))
	}
	list := []*load.Request{request(u, "summary", prefix+"/summary"), request(u, "ticker", prefix+"/ticker")}
	for _, p := range summary[:min(o.Pairs, len(summary))] {
		id := url.PathEscape(p.TradingPairs)
		list = append(list, request(u, "orderbook", prefix+"/orderbook/"+id),
			request(u, "trades", prefix+"/trades/"+id))
	}
	return list, nil
}

// noRedirect keeps a client at its target.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// discover reads a list of pairs.
func discover(ctx context.Context, u *url.URL, secure *tls.Config, path string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Scheme+"://"+u.Host+path, nil)
	if err != nil {
		return err
	}
	// Neither a proxy nor a redirect may lead to another machine.
	direct := &http.Transport{TLSClientConfig: secure}
	defer direct.CloseIdleConnections()
	client := http.Client{
		Transport:     direct,
		CheckRedirect: noRedirect,
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDiscovered)).Decode(out); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
