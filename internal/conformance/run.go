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
	"net"
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
	// Pairs limits the number of pairs whose books and trades are checked; pairs with the largest turnover come
	// first. 0: all.
	Pairs int
	// ExpectPairs is the number of pairs that must be listed at least.
	ExpectPairs int
	// MaxAge is the age above which a book is a warning. 0: 15 minutes.
	MaxAge time.Duration
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
		if host, port, err := net.SplitHostPort(o.Target); err == nil && host != "" {
			return nil, fmt.Errorf("%q is not a URL: write http://%s:%s, or https", o.Target, host, port)
		}
		return nil, fmt.Errorf("%q is not a URL such as https://api.example.com/listing", o.Target)
	}
	o.Target = strings.TrimRight(o.Target, "/")
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.MaxAge == 0 {
		o.MaxAge = stale
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
	var missing []error
	for _, s := range standards {
		prefix, err := o.find(ctx, s)
		at := o
		at.Target += prefix
		r := at.begin(ctx, s)
		switch {
		case err != nil && o.Standard == "":
			missing = append(missing, err)
			c := r.report.check(strings.TrimPrefix(firstRoute[s], "/")+": found", o.Target+firstRoute[s], Warning)
			c.fail("not checked: %v", err)
			c.done("")
		case s == CoinGecko:
			r.coinGecko()
		default:
			r.coinMarketCap()
		}
		if err := ctx.Err(); err != nil {
			return nil, errors.New("the check was stopped before its end")
		}
		reports = append(reports, r.report)
	}
	if len(missing) == len(standards) {
		return nil, fmt.Errorf("%w; %w: give the prefix of the routes, and --standard coingecko or coinmarketcap to "+
			"see what is wrong with them", missing[0], missing[1])
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

// firstRoute names the route by which a standard is found.
var firstRoute = map[string]string{CoinGecko: "/pairs", CoinMarketCap: "/summary"}

// find returns the first prefix below which the first route of a standard is, also when it answers an error of the
// server or no JSON there: that is a finding. What the target answers at its own path is no finding elsewhere: many
// exchanges answer every path with the same page.
func (o Options) find(ctx context.Context, standard string) (prefix string, err error) {
	own := 0 // the status at the target's own path
	for _, prefix := range prefixes(standard) {
		a, err := o.begin(ctx, standard).fetch(prefix + firstRoute[standard])
		if a.status == 0 { // each further prefix could cost a timeout
			return "", fmt.Errorf("%s does not answer: %w", a.url, err)
		}
		isJSON := false
		if err == nil {
			v, broken := decode(a.body)
			_, list := v.([]any)
			_, members := v.(object)
			isJSON = broken == nil && (list || members)
		}
		switch there := a.status == http.StatusOK || !absent(a.status); {
		case a.status == http.StatusOK && isJSON, there && prefix != "" && a.status != own:
			return prefix, nil
		case prefix == "" && there:
			own = a.status
		}
	}
	if own != 0 {
		return "", nil
	}
	return "", fmt.Errorf("%s%s is not there, nor below %s", o.Target, firstRoute[standard],
		strings.Join(prefixes(standard)[1:], ", "))
}

// absent reports whether a status says that there is no such route, or none for this client.
func absent(status int) bool { return status < 500 && status != http.StatusTooManyRequests }

// checkPairs checks that the first route lists enough pairs.
func (r *run) checkPairs(pairs int) {
	if r.ExpectPairs == 0 {
		return
	}
	route := firstRoute[r.report.Standard]
	c := r.report.check(strings.TrimPrefix(route, "/")+": expected pairs", r.Target+route, Error)
	if pairs < r.ExpectPairs {
		c.fail("%d pairs, want at least %d", pairs, r.ExpectPairs)
	}
	c.done("%d pairs", pairs)
}

// largest returns the pairs to check one by one, which have the largest turnover, at most Pairs of them.
func (r *run) largest(turnover map[string]*big.Rat) []string {
	pairs := slices.Collect(maps.Keys(turnover))
	slices.SortFunc(pairs, func(a, b string) int {
		return cmp.Or(turnover[b].Cmp(turnover[a]), cmp.Compare(a, b))
	})
	if r.Pairs > 0 && len(pairs) > r.Pairs {
		r.report.Of, r.report.Deep = len(pairs), r.Pairs
		return pairs[:r.Pairs]
	}
	return pairs
}

// turnoverOf returns the larger of a ticker's quote volume and its base volume at the last price: a ticker whose one
// volume is wrong is checked, too.
func turnoverOf(o object, quote string) *big.Rat {
	turnover := new(big.Rat).Mul(of(o, "last_price"), of(o, "base_volume"))
	if v := of(o, quote); v.Cmp(turnover) > 0 {
		return v
	}
	return turnover
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
