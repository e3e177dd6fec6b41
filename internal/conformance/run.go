package conformance

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tickhive/tickhive/internal/clock"
)

// The standards.
const (
	CoinGecko     = "coingecko"
	CoinMarketCap = "coinmarketcap"
)

// Options configures a run. Target is required.
type Options struct {
	// Target is the prefix of the routes, or of one of the paths in prefixes.
	Target string
	// Standard is CoinGecko or CoinMarketCap. Empty: every standard whose first route answers.
	Standard string
	// Pairs limits the number of pairs whose books and trades are checked; pairs with the largest base volume
	// come first. 0: all.
	Pairs int
	// Timeout bounds each request. 0: 10 s.
	Timeout time.Duration
	// Roots are the certificates by which an https target is verified; nil: the machine's.
	Roots *x509.CertPool
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
		standards = []string{CoinGecko, CoinMarketCap}
	default:
		return nil, fmt.Errorf("there is no standard %q: it must be coingecko or coinmarketcap", o.Standard)
	}
	reports := make([]*Report, 0, len(standards))
	var missing error
	for _, s := range standards {
		prefix, err := o.find(ctx, s)
		if err != nil && o.Standard == "" {
			missing = errors.Join(missing, err)
			continue
		}
		at := o
		at.Target += prefix
		r := at.begin(ctx, s)
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
	if len(reports) == 0 {
		return nil, fmt.Errorf("%w: give the prefix of the routes, and --standard coingecko or coinmarketcap to see "+
			"what is wrong with them", missing)
	}
	return reports, nil
}

func (o Options) begin(ctx context.Context, standard string) *run {
	nowNs := clock.MachineNs()
	return &run{
		Options: o, ctx: ctx, report: &Report{Standard: standard, Target: o.Target, startNs: nowNs, lastNs: nowNs},
		client: &http.Client{Timeout: o.Timeout, Transport: &http.Transport{
			DisableCompression: true, TLSClientConfig: &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		}},
	}
}

// prefixes returns the paths below which the routes of a standard may be, the target's own first.
func prefixes(standard string) []string {
	all := []string{"", "/" + standard, "/listing/" + standard, "/api/" + standard}
	if standard == CoinGecko {
		all = append(all, "/api/marketdata/getaggregator")
	}
	return all
}

// find returns the first prefix below which the first route of a standard answers with a list or an object, else the
// empty one if the route answers 200 there.
func (o Options) find(ctx context.Context, standard string) (prefix string, err error) {
	route := map[string]string{CoinGecko: "/pairs", CoinMarketCap: "/summary"}[standard]
	own := false
	for _, prefix := range prefixes(standard) {
		a, err := o.begin(ctx, standard).fetch(prefix + route)
		if err != nil && a.status == 0 { // each further prefix could cost a timeout
			return "", fmt.Errorf("%s does not answer: %w", a.url, err)
		}
		if a.status != http.StatusOK {
			continue
		}
		own = own || prefix == ""
		v, err := decode(a.body)
		switch v.(type) {
		case []any, object:
			if err == nil {
				return prefix, nil
			}
		}
	}
	if own {
		return "", nil
	}
	return "", fmt.Errorf("%s%s does not answer 200, also not below %s", o.Target, route,
		strings.Join(prefixes(standard)[1:], ", "))
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
