package stats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/tickhive/tickhive/client"
)

// Options selects the exchange and the pairs to fetch.
type Options struct {
	BaseURL string        // for example http://127.0.0.1:8080
	Pairs   []string      // codes of the pairs; empty: all pairs
	Hours   int           // length of the period before now in hours, 1 to 168; 0: 24
	Samples int           // number of samples of the spread; 0: 20
	Every   time.Duration // time between two samples; 0: 250 ms
	Client  *http.Client  // nil: a client with a timeout of 30 s
}

const (
	defaultHours   = 24
	maxHours       = 168
	defaultSamples = 20
	maxSamples     = 10_000
	defaultEvery   = 250 * time.Millisecond
	dateSecond     = "2006-01-02T15:04:05"
)

// Validate reports the first invalid member.
func (o *Options) Validate() error {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("stats: --target: %q must have the form http://HOST:PORT", o.BaseURL)
	case o.Hours < 0 || o.Hours > maxHours:
		return fmt.Errorf("stats: --hours: %d must be from 1 to %d", o.Hours, maxHours)
	case o.Samples < 0 || o.Samples > maxSamples:
		return fmt.Errorf("stats: --samples: %d must be from 1 to %d", o.Samples, maxSamples)
	case o.Every < 0:
		return errors.New("stats: --every: the time between samples must not be negative")
	}
	return nil
}

// Fetch reads from a running exchange's public API the minute candles of the newest whole hours, samples the
// spread, and returns the figures of every pair. It takes Samples x Every.
func Fetch(ctx context.Context, o Options) ([]Figures, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Hours, o.Samples = cmp.Or(o.Hours, defaultHours), cmp.Or(o.Samples, defaultSamples)
	o.Every = cmp.Or(o.Every, defaultEvery)
	o.Client = cmp.Or(o.Client, &http.Client{Timeout: 30 * time.Second})
	f := fetcher{ctx: ctx, o: o, client: client.Client{Base: o.BaseURL, HTTP: o.Client}}
	series, err := f.series()
	if err != nil {
		return nil, err
	}
	if err := f.spreads(series); err != nil {
		return nil, err
	}
	var out []Figures
	for i := range series {
		out = append(out, Compute(&series[i]))
	}
	return out, nil
}

type fetcher struct {
	ctx    context.Context
	o      Options
	client client.Client
}

func (f *fetcher) get(path string, query url.Values, v any) (http.Header, error) {
	target := path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	header, err := f.client.Do(f.ctx, http.MethodGet, target, nil, v)
	if err != nil {
		return nil, fmt.Errorf("stats: GET %s: %w", path, err)
	}
	return header, nil
}

// series returns the candles of all pairs. It uses the time of the exchange's clock.
func (f *fetcher) series() ([]Series, error) {
	nowMs, err := f.client.Time(f.ctx)
	if err != nil {
		return nil, fmt.Errorf("stats: %w", err)
	}
	codes := f.o.Pairs
	if len(codes) == 0 {
		var pairs []struct{ Code string }
		if _, err := f.get("/api/currencies/pairs", nil, &pairs); err != nil {
			return nil, err
		}
		for _, p := range pairs {
			codes = append(codes, p.Code)
		}
	}
	end := time.UnixMilli(nowMs).UTC().Truncate(time.Minute).Add(-time.Minute)
	start := end.Add(-time.Duration(f.o.Hours)*time.Hour + time.Minute)
	var out []Series
	for _, code := range codes {
		s, err := f.candles(code, start, end)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// candles reads the minute candles from start to end. A minute without trades has a flat candle.
func (f *fetcher) candles(code string, start, end time.Time) (Series, error) {
	s := Series{Code: code}
	for from := start.Format(dateSecond); from != ""; {
		var rows []struct {
			Close, Volume client.Decimal
		}
		header, err := f.get("/api/ohlc", url.Values{
			"currencyPairCode": {code}, "interval": {"minute"}, "fill": {"previous"},
			"start": {from}, "end": {end.Format(dateSecond)},
		}, &rows)
		if err != nil {
			return s, err
		}
		for _, r := range rows {
			price, err1 := r.Close.Float64()
			volume, err2 := r.Volume.Float64()
			if err := errors.Join(err1, err2); err != nil {
				return s, fmt.Errorf("stats: candle of %s: %w", code, err)
			}
			s.Closes = append(s.Closes, price)
			s.Volume += volume
			s.Last = price
			if volume > 0 {
				s.Traded++
			}
		}
		from = header.Get("X-Next-Start")
	}
	return s, nil
}

// spreads samples the best bid and ask of all pairs.
func (f *fetcher) spreads(series []Series) error {
	at := map[string]int{}
	for i := range series {
		at[series[i].Code] = i
	}
	tick := time.NewTicker(f.o.Every)
	defer tick.Stop()
	for n := 0; ; {
		var rows []struct {
			ID       string `json:"ticker_id"`
			Bid, Ask *float64
		}
		if _, err := f.get("/api/marketdata/getaggregator/tickers", nil, &rows); err != nil {
			return err
		}
		for _, r := range rows {
			if i, ok := at[r.ID]; ok && r.Bid != nil && r.Ask != nil {
				mid := (*r.Bid + *r.Ask) / 2
				series[i].Spreads = append(series[i].Spreads, 1e4*(*r.Ask-*r.Bid)/mid)
			}
		}
		if n++; n == f.o.Samples {
			return nil
		}
		select {
		case <-f.ctx.Done():
			return fmt.Errorf("stats: %w", f.ctx.Err())
		case <-tick.C:
		}
	}
}
