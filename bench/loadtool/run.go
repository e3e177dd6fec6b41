package loadtool

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/tickhive/tickhive/bench/load"
)

// Limits of a run. A connection needs 0.2 MB.
const (
	MaxRPS         = 1_000_000
	MaxFor         = time.Hour
	MaxConnections = 1000
	MaxPairs       = 1000
	MaxBody        = 1 << 20 // bytes
	MaxHeaders     = 50
	MaxStages      = 50
)

// Options of a run. Call Validate first.
type Options struct {
	// Target is the URL to request, or with a Mix the prefix of the routes.
	Target string
	Mix    string  // "", MixPolls, MixOrders or MixStreams
	RPS    float64 // requests a second; 0: as many as are answered; always 0 with MixStreams
	For    time.Duration
	// Warm is the length of a warm-up before For or Stages, which the report leaves out.
	Warm time.Duration
	// Stages are the rates of the run, in place of RPS and For; nil: none.
	Stages load.Stages
	// Method is the method of the request of a run without a Mix; empty: GET, or POST with a body.
	Method string
	Body   []byte // nil: none
	// Headers are whole lines such as "Accept: text/csv", which replace those of the tool.
	Headers []string
	// Connections each have one request under way.
	Connections int
	Pairs       int // pairs of the mix; 0 without one
	// Key signs the requests of MixOrders, or of a run without a Mix.
	Key Key
	// Roots are the certificates by which https targets are verified; nil: the machine's.
	Roots *x509.CertPool
	// Remote allows a target on another machine.
	Remote bool
	// Second receives the figures of each second; nil: nothing does.
	Second func(Second)
}

// Second holds the figures of one second of a run.
type Second struct {
	At           time.Duration // since the start
	WarmingUp    bool          // at least its greater part was warm-up
	Draining     bool          // everything was due before it
	Rate         float64       // answers a second
	Errors, Late int64         // of this second
	// Of the requests that ended in this second; 0 without any.
	P50, P99, Slowest time.Duration
}

// Validate checks the ranges.
func (o *Options) Validate() error {
	signed := o.Key != Key{}
	switch {
	case !slices.Contains([]string{"", MixPolls, MixOrders, MixStreams}, o.Mix):
		return fmt.Errorf("--mix must be %s, %s or %s: %q", MixPolls, MixOrders, MixStreams, o.Mix)
	case o.Mix == MixOrders && !signed:
		return errors.New("--mix orders needs --signed FILE, a key that tickhive demo-key FILE has written")
	case (o.Mix == MixPolls || o.Mix == MixStreams) && signed:
		return errors.New("--signed is for one URL and for --mix orders: the other mixes sign nothing")
	case o.Mix == MixStreams && (o.RPS != 0 || o.Stages != nil):
		return errors.New("--rps and --stages are for requests: --mix streams receives what the exchange sends")
	case o.Mix == MixStreams && o.Warm != 0:
		return errors.New("--warm-up is for requests: --mix streams has none")
	case o.Warm < 0 || o.Warm > MaxFor:
		return fmt.Errorf("--warm-up must be from 0s to %s: %s", MaxFor, o.Warm)
	case !(o.RPS >= 0 && o.RPS <= MaxRPS):
		return fmt.Errorf("--rps must be from 0 to %d: %g", MaxRPS, o.RPS)
	case o.For < time.Second || o.For > MaxFor:
		return fmt.Errorf("--duration must be from 1s to %s: %s", MaxFor, o.For)
	case o.Connections < 1 || o.Connections > MaxConnections:
		return fmt.Errorf("--connections must be from 1 to %d: %d", MaxConnections, o.Connections)
	case o.Mix == "" && o.Pairs != 0:
		return errors.New("--pairs is for --mix: without it one URL is requested")
	case o.Mix != "" && (o.Pairs < 1 || o.Pairs > MaxPairs):
		return fmt.Errorf("--pairs must be from 1 to %d: %d", MaxPairs, o.Pairs)
	}
	if err := errors.Join(o.validateStages(), o.validateRequest()); err != nil {
		return err
	}
	u, err := url.Parse(o.Target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--target must be a URL such as http://127.0.0.1:8080/api/time: %q", o.Target)
	}
	if (o.Mix == MixOrders || o.Mix == MixStreams) && (strings.Trim(u.Path, "/") != "" || u.RawQuery != "") {
		return fmt.Errorf("--target must be the exchange's address without a path for --mix %s: %q", o.Mix, o.Target)
	}
	if !o.Remote {
		if err := load.Local(address(u)); err != nil {
			return fmt.Errorf("%s is another machine: give --remote if you may load it", u.Host)
		}
	}
	return nil
}

// address returns the host and port of a URL.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// Run loads the target until the duration has passed or ctx is canceled, and returns what it measured.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	u, err := url.Parse(o.Target)
	if err != nil {
		return nil, err
	}
	var secure *tls.Config
	if u.Scheme == "https" {
		secure = &tls.Config{ServerName: u.Hostname(), RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	}
	live := &load.Live{}
	if o.Mix == "" && o.Key != (Key{}) {
		return o.runSigned(ctx, u, secure, live)
	}
	switch o.Mix {
	case MixOrders:
		return o.runOrders(ctx, u, secure, live)
	case MixStreams:
		return o.runStreams(ctx, u, secure, live)
	}
	list, err := o.requests(ctx, u, secure)
	if err != nil {
		return nil, err
	}
	run := o.loop(ctx, u, secure, live)
	run.Requests = list
	return o.measureLoop(ctx, run)
}

// loop returns the loop of a run without its requests: open at a rate, closed without one.
func (o *Options) loop(ctx context.Context, u *url.URL, secure *tls.Config, live *load.Live) load.Loop {
	run := load.Loop{
		Addr: address(u), For: o.For, Warm: o.Warm, Workers: o.Connections, Grace: time.Second, Live: live,
		Stop: ctx.Done(), ByRoute: true, Judge: judge,
		Dial: func(addr string) (*load.Conn, error) { return load.DialAny(addr, secure) },
	}
	switch {
	case o.Stages != nil:
		first := o.Stages[0].PerSecond
		run.Schedule = append(load.Stages{{PerSecond: first}, {For: o.Warm, PerSecond: first}, {}}, o.Stages...)
	case o.RPS > 0:
		run.Schedule = load.Even{PerSecond: o.RPS, For: o.Warm + o.For}
	}
	return run
}

// measureLoop measures a loop from the time on at which its connections are open.
func (o *Options) measureLoop(ctx context.Context, l load.Loop) (*Report, error) {
	return o.measure(ctx, l.Live, func(began func()) (*load.Result, error) {
		l.Began = began
		return l.Run()
	})
}

// measure runs run and reports its result, with a line each second from the time on at which run calls began.
func (o *Options) measure(
	ctx context.Context, live *load.Live, run func(began func()) (*load.Result, error),
) (*Report, error) {
	var started time.Time
	var seconds []Second
	var watching sync.WaitGroup
	stop := make(chan struct{})
	res, err := run(func() {
		started = time.Now()
		watching.Go(func() { seconds = o.watch(ctx, live, started, stop) })
	})
	close(stop)
	watching.Wait()
	if err != nil {
		return nil, err
	}
	r := newReport(o, started, res, ctx.Err() != nil)
	r.addTimeline(o, seconds, res.Unsent)
	return r, nil
}

// length returns the time in which requests are due, with the warm-up.
func (o *Options) length() time.Duration {
	if o.Stages != nil {
		return o.Warm + o.Stages.Length()
	}
	return o.Warm + o.For
}

// shortest is the shortest time whose rate says something.
const shortest = time.Second / 10

// mark holds a time of a run and the counts at it.
type mark struct {
	at                  time.Time
	answers, errs, late int64
}

func markOf(live *load.Live, at time.Time) mark {
	return mark{at, live.Answers.Load(), live.Errors.Load(), live.Late.Load()}
}

// watch returns the figures of each second, the last of which may be shorter or a little longer, and reports them as
// they come. Behind the end of ctx nothing is sent any more.
func (o *Options) watch(ctx context.Context, live *load.Live, started time.Time, stop <-chan struct{}) (all []Second) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var before, last mark
	var hist *hdrhistogram.Histogram // of the second between them
	ended := false                   // ctx, when that second began
	last.at = started
	take := func(now time.Time, h *hdrhistogram.Histogram) {
		before, last, hist = last, markOf(live, now), h
		s := o.second(started, before, last, h)
		s.Draining = s.Draining || ended
		all, ended = append(all, s), ctx.Err() != nil
	}
	for {
		select {
		case <-stop:
			now, rest := time.Now(), live.Take()
			if now.Sub(last.at) < shortest && len(all) > 0 { // what ended behind the last second belongs to it
				if rest != nil && hist != nil {
					rest.Merge(hist)
				}
				all, last, rest = all[:len(all)-1], before, cmp.Or(rest, hist)
			}
			take(now, rest)
			return all
		case now := <-tick.C:
			take(now, live.Take())
			if o.Second != nil {
				o.Second(all[len(all)-1])
			}
		}
	}
}

// second returns the figures of the time between two marks of a run, whose latencies h holds; nil: none.
func (o *Options) second(started time.Time, from, to mark, h *hdrhistogram.Histogram) Second {
	began, at := from.at.Sub(started), to.at.Sub(started)
	s := Second{
		At: at, WarmingUp: (began+at)/2 < o.Warm, Draining: began >= o.length(),
		Rate:   float64(to.answers-from.answers) / (at - began).Seconds(),
		Errors: to.errs - from.errs, Late: to.late - from.late,
	}
	if h != nil {
		s.P50, s.P99, s.Slowest = quantile(h, 50), quantile(h, 99), quantile(h, 100)
	}
	return s
}

func quantile(h *hdrhistogram.Histogram, percent float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(percent)) * time.Microsecond
}

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
		return []*load.Request{o.request(u, nil)}, nil
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
