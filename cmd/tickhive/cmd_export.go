package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/marketdata"
	serverjson "github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// exportCmd writes what an exchange has recorded of its market, or of one user, as rows. The rows are those of the
// exchange's own answers, page by page, so a file has the same values as ?format=csv.
type exportCmd struct {
	What     string `arg:"" enum:"trades,candles,tickers,orders,fills,balances" help:"trades or candles of a pair, tickers of all pairs, or orders, fills or balances of the user of a key."`
	Target   string `default:"http://127.0.0.1:8080" placeholder:"URL" help:"URL of the public listener (${default})."`
	Pair     string `placeholder:"CODE" help:"Pair code; required for trades and candles."`
	Interval string `default:"minute" placeholder:"NAME" help:"Length of the candles (${default})."`
	Since    string `placeholder:"DATE" help:"Earliest time, YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS (all that is kept)."`
	Until    string `placeholder:"DATE" help:"Latest time, inclusive (now)."`
	Key      string `placeholder:"FILE" type:"existingfile" help:"Key that tickhive demo-key has written; required for orders, fills and balances."`
	Out      string `placeholder:"FILE" help:"File to write, which must not exist: Parquet when the name ends with .parquet, comma-separated values when it ends with .csv or has no ending (standard output)."`
	trustFlags
}

// exports says how the rows of each kind are read: from which route, by which parameters and which header of a page
// continues the list.
var exports = map[string]struct {
	path   string
	table  *serverjson.Table
	signed bool
	pages  string // the header that continues the list; its parameter is next
	next   string
}{
	"trades":   {"/api/deals", &objects.Deals, false, "X-Next-Cursor", "cursor"},
	"candles":  {"/api/ohlc", &objects.Candles, false, "X-Next-Start", "start"},
	"tickers":  {"/api/summary", &objects.Summary, false, "", ""},
	"orders":   {"/api/user/orders", &objects.Orders, true, "X-Next-Cursor", "cursor"},
	"fills":    {"/api/user/deals", &objects.Fills, true, "X-Next-Cursor", "cursor"},
	"balances": {"/api/wallets/balances", &objects.Balances, true, "", ""},
}

// rowFile takes the rows of a list.
type rowFile interface {
	row(cells []serverjson.Cell) error
	close() error
}

// Run reads all pages and writes their rows.
func (c *exportCmd) Run(p *program) (err error) {
	query, err := c.query()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	api, err := c.client(ctx)
	if err != nil {
		return err
	}
	out, done, err := c.create(p.out)
	if err != nil {
		return err
	}
	list, err := c.pages(ctx, api, query, out)
	if err = done(err); err != nil {
		return err
	}
	if c.Out != "" {
		fmt.Fprintf(p.out, "export: %d rows in %s\n", list.rows, c.Out)
	}
	note, err := c.dropped(ctx, api, list)
	if note != "" {
		fmt.Fprintln(p.err, note)
	}
	return err
}

// query returns the parameters of the first page.
func (c *exportCmd) query() (url.Values, error) {
	kind, q := exports[c.What], url.Values{}
	switch {
	case c.What == "tickers" && (c.Pair != "" || c.Since != "" || c.Until != ""):
		return nil, usage("export: tickers are those of all pairs at present, without --pair, --since and --until")
	case !kind.signed && c.Pair == "" && c.What != "tickers":
		return nil, usage("export: --pair is missing: %s are those of one pair", c.What)
	case !kind.signed && c.Key != "":
		return nil, usage("export: --key belongs to orders, fills and balances")
	case kind.signed && c.Key == "":
		return nil, usage("export: --key is missing: %s are those of a user; tickhive demo-key writes a key", c.What)
	case c.What == "balances" && (c.Pair != "" || c.Since != "" || c.Until != ""):
		return nil, usage("export: balances have neither --pair, --since nor --until")
	case c.What != "candles" && c.Interval != "minute":
		return nil, usage("export: --interval belongs to candles")
	case !slices.Contains([]string{"", ".csv", ".parquet"}, filepath.Ext(c.Out)):
		return nil, usage("export: --out %s: the name must end with .csv or .parquet, or have no ending", c.Out)
	}
	if c.Pair != "" {
		q.Set("currencyPairCode", c.Pair)
	}
	since, until := "sinceDate", "endDate"
	if c.What == "candles" {
		since, until = "start", "end"
		q.Set("interval", c.Interval)
		q.Set(since, "1970-01-01") // both are required
		q.Set(until, "2262-01-01")
	}
	if c.Since != "" {
		q.Set(since, c.Since)
	}
	if c.Until != "" {
		q.Set(until, c.Until)
	}
	return q, nil
}

// client returns a client of the exchange, whose clock may be a virtual one.
func (c *exportCmd) client(ctx context.Context) (*client.Client, error) {
	transport, err := c.transport(nil)
	if err != nil {
		return nil, err
	}
	api := &client.Client{Base: c.Target, HTTP: &http.Client{Timeout: statsTimeout, Transport: transport}}
	if c.Key == "" {
		return api, nil
	}
	key, err := readDemoKey(c.Key)
	if err != nil {
		return nil, err
	}
	ms, err := api.Time(ctx)
	if err != nil {
		return nil, fmt.Errorf("export: %w; --target names another address", remedied(err))
	}
	offset := time.Until(time.UnixMilli(ms))
	api.Now = func() time.Time { return time.Now().Add(offset) }
	api.PublicKey, api.PrivateKey = key.PublicKey, key.PrivateKey
	return api, nil
}

// exportList describes the rows that were written.
type exportList struct {
	rows   int
	oldest string // time of the oldest row
	first  bool   // it is the first trade of the pair
}

// take counts a row of the kind.
func (l *exportList) take(columns []string, cells []serverjson.Cell) {
	cell := func(name string) string {
		if i := slices.Index(columns, name); i >= 0 {
			return string(cells[i].Text)
		}
		return ""
	}
	if l.rows++; l.rows == 1 {
		l.oldest = cell("date")
	}
	if at := cell("dealDateUtc"); at != "" { // newest first
		l.oldest, l.first = at, cell("tradeId") == "1"
	}
}

// pages reads the pages and describes the list.
func (c *exportCmd) pages(ctx context.Context, api *client.Client, q url.Values, out rowFile) (list exportList,
	err error,
) {
	kind := exports[c.What]
	for {
		document, head, err := c.page(ctx, api, kind.path, q)
		if err != nil {
			return list, err
		}
		isList := kind.table.Rows(document, func(cells []serverjson.Cell) {
			list.take(kind.table.Columns, cells)
			if err == nil {
				err = out.row(cells)
			}
		})
		switch {
		case !isList:
			return list, fmt.Errorf("export: %s: the answer of %s is no list of rows; --target must name a TickHive",
				c.What, kind.path)
		case err != nil:
			return list, err
		}
		next := head.Get(kind.pages)
		if kind.pages == "" || next == "" {
			return list, nil
		}
		q.Set(kind.next, next)
	}
}

// page reads one page.
func (c *exportCmd) page(ctx context.Context, api *client.Client, path string, q url.Values) (document json.RawMessage,
	head http.Header, err error,
) {
	head, err = api.Do(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &document)
	if err != nil {
		err = fmt.Errorf("export: %s: %w; --target names another address", c.What, remedied(err))
	}
	return document, head, err
}

// telling lists the intervals in the order in which they tell best since when a market has traded: days go back
// furthest and are exact enough.
var telling = []marketdata.Interval{
	marketdata.Day, marketdata.Month, marketdata.Year, marketdata.Hour4, marketdata.Hour, marketdata.Minutes30,
	marketdata.Minutes15, marketdata.Minutes5, marketdata.Minutes3, marketdata.Minute,
}

// longest returns the most that an interval lasts.
func longest(i marketdata.Interval) time.Duration {
	const day = 24 * time.Hour
	switch i {
	case marketdata.Month:
		return 31 * day
	case marketdata.Year:
		return 366 * day
	default:
		return time.Duration(i.Seconds()) * time.Second
	}
}

// dropped returns a note when the market has traded before the list of trades or candles begins, in the time that was
// asked for: the exchange has dropped that part of the list. Candles of longer intervals, which the exchange keeps
// longer, show it: one that ends before the list begins.
func (c *exportCmd) dropped(ctx context.Context, api *client.Client, list exportList) (note string, err error) {
	keys, ok := map[string]string{
		"trades": "market.trades_min", "candles": "market.candles_kept",
	}[c.What]
	begins, known := exportTime(cmp.Or(list.oldest, c.Until))
	if !ok || list.first || !known {
		return "", nil
	}
	since := ""
	own, _ := marketdata.ParseInterval(c.Interval)
	for _, longer := range telling {
		if c.What == "candles" && longer <= own {
			continue
		}
		end := begins.Add(-longest(longer))
		if from, given := exportTime(c.Since); given && end.Before(from) {
			continue
		}
		document, _, err := c.page(ctx, api, "/api/ohlc", url.Values{
			"currencyPairCode": {c.Pair}, "interval": {longer.String()}, "start": {cmp.Or(c.Since, "1970-01-01")},
			"end": {end.UTC().Format("2006-01-02T15:04:05")},
		})
		if err != nil {
			return "", err
		}
		objects.Candles.Rows(document, func(cells []serverjson.Cell) { since = cmp.Or(since, string(cells[0].Text)) })
		if since != "" {
			break
		}
	}
	begin := "begin at " + list.oldest
	switch {
	case since == "" && (c.What == "candles" || c.Since != "" || list.rows == 0):
		return "", nil
	case since == "":
		since = "an earlier time"
	case list.rows == 0:
		begin = "are all gone"
	}
	return fmt.Sprintf("export: the %s %s, and the market has traded since %s: the exchange has dropped what is "+
		"older; a larger %s keeps more", c.What, begin, since, keys), nil
}

// exportTime reads a time of a row, or of --since and --until.
func exportTime(text string) (at time.Time, ok bool) {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return at, false
}

// create opens the file to write. done closes it, and removes it when the export has failed.
func (c *exportCmd) create(std io.Writer) (f rowFile, done func(error) error, err error) {
	to, drop := std, func() error { return nil }
	if c.Out != "" {
		file, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			return nil, nil, usage("export: %s exists: name a new file", c.Out)
		} else if err != nil {
			return nil, nil, usageError{Err: err}
		}
		to, drop = file, file.Close
	}
	table := exports[c.What].table
	if strings.HasSuffix(c.Out, ".parquet") {
		f = newParquetFile(to, table)
	} else {
		f = newCSVFile(to, table)
	}
	return f, func(err error) error {
		if err == nil {
			err = f.close()
		}
		if err = errors.Join(err, drop()); err != nil && c.Out != "" {
			err = errors.Join(err, os.Remove(c.Out))
		}
		return err
	}, nil
}

// csvFile writes rows as comma-separated values.
type csvFile struct {
	to   *bufio.Writer
	line []byte
}

func newCSVFile(to io.Writer, t *serverjson.Table) *csvFile {
	f := &csvFile{to: bufio.NewWriter(to)}
	_, _ = f.to.Write(t.AppendNames(nil)) // the writer keeps an error until close
	return f
}

func (f *csvFile) row(cells []serverjson.Cell) error {
	f.line = serverjson.AppendRow(f.line[:0], cells)
	_, err := f.to.Write(f.line)
	return err
}

func (f *csvFile) close() error { return f.to.Flush() }
