package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tickhive/internal/clock"
)

// The standards.
const (
	CoinGecko     = "coingecko"
	CoinMarketCap = "coinmarketcap"
)

// Options configures a run. Target is required.
type Options struct {
	// Target is the prefix of the routes: Target + "/pairs" or Target + "/summary" must answer.
	Target string
	// Standard is CoinGecko or CoinMarketCap. Empty: every standard whose first route answers.
	Standard string
	// Pairs limits the number of pairs whose books and trades are checked; pairs with the largest base volume
	// come first. 0: all.
	Pairs int
	// Timeout bounds each request. 0: 10 s.
	Timeout time.Duration
	// Now returns the time with which answers are compared. Nil: the machine's clock.
	Now func() time.Time
}

// run holds the state of the check of one standard.
type run struct {
	Options
	ctx    context.Context
	client *http.Client
	report *Report
}

// Run checks the target and returns a report for each standard that was checked. It returns an
// error when the target cannot be checked at all.
func Run(ctx context.Context, o Options) ([]*Report, error) {
	target, err := url.Parse(o.Target)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" {
		return nil, fmt.Errorf("%q is not a URL such as https://api.example.com/listing", o.Target)
	}
	o.Target = strings.TrimRight(o.Target, "/")
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = func() time.Time { return time.Unix(0, clock.MachineNs()) }
	}
	standards := []string{o.Standard}
	switch o.Standard {
	case CoinGecko, CoinMarketCap:
	case "":
		if standards = o.detect(ctx); len(standards) == 0 {
			return nil, fmt.Errorf("neither %s/pairs nor %s/summary answers 200: give the prefix of the routes, and "+
				"--standard coingecko or coinmarketcap to see what is wrong with them", o.Target, o.Target)
		}
	default:
		return nil, fmt.Errorf("there is no standard %q: it must be coingecko or coinmarketcap", o.Standard)
	}
	reports := make([]*Report, 0, len(standards))
	for _, s := range standards {
		r := o.begin(ctx, s)
		if s == CoinGecko {
			r.coinGecko()
		} else {
			r.coinMarketCap()
		}
		if err := ctx.Err(); err != nil {
			return nil, errors.New("the check was stopped before its end")
		}
		reports = append(reports, r.report)
	}
	return reports, nil
}

func (o Options) begin(ctx context.Context, standard string) *run {
	return &run{
		Options: o, ctx: ctx, report: &Report{Standard: standard, Target: o.Target},
		client: &http.Client{Timeout: o.Timeout, Transport: &http.Transport{DisableCompression: true}},
	}
}

// detect returns the standards whose first route answers.
func (o Options) detect(ctx context.Context) (standards []string) {
	for standard, route := range map[string]string{CoinGecko: "/pairs", CoinMarketCap: "/summary"} {
		if a, err := o.begin(ctx, standard).fetch(route); err == nil && a.status == http.StatusOK {
			standards = append(standards, standard)
		}
	}
	if len(standards) == 2 {
		return []string{CoinGecko, CoinMarketCap}
	}
	return standards
}

// largest returns the pairs to check one by one: those with the largest volume, at most Pairs of them.
func (r *run) largest(volumes map[string]*big.Rat) []string {
	pairs := slices.Collect(maps.Keys(volumes))
	slices.SortFunc(pairs, func(a, b string) int {
		return cmp.Or(volumes[b].Cmp(volumes[a]), cmp.Compare(a, b))
	})
	if r.Pairs > 0 && len(pairs) > r.Pairs {
		return pairs[:r.Pairs]
	}
	return pairs
}

// objects returns the objects of a list and fails c for each element that is none.
func objects(c *check, list []any) []object {
	var out []object
	for _, e := range list {
		o, ok := e.(object)
		if !ok {
			c.fail("%s, want an object", shown(e))
			continue
		}
		out = append(out, o)
	}
	return out
}
