package public

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/aggregator"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
	"github.com/tickhive/tickhive/server/doc"
)

// tradeRow is a trade in the forms of the two first pages.
type tradeRow struct {
	side      engine.Side
	deal, agg string
}

// rowOf writes the trade of an event of the pair P0000_USDT by other means than the program. Its price is below 10.00,
// its amount below 1.
func rowOf(e *engine.Event) tradeRow {
	space := uuid.NewSHA1(uuid.NameSpaceURL, []byte("tickhive:deal"))
	at := time.Unix(0, e.TimeNs).UTC()
	price, amount := fmt.Sprintf("%d.%02d", e.Price/100, e.Price%100), fmt.Sprintf("0.%08d", e.Amount)
	return tradeRow{
		e.Side,
		fmt.Sprintf(`{"id":"%s","dealDateUtc":"%s","currencyPairCode":"P0000_USDT","volume":%s,"price":%s,"isBuy":%t,`+
			`"isUserBuyer":null,"tradeId":%d}`, uuid.NewSHA1(space, fmt.Appendf(nil, "P0000_USDT:%d", e.Trade)),
			at.Format("2006-01-02T15:04:05.0000000Z"), amount, price, e.Side == engine.Buy, e.Trade),
		fmt.Sprintf(`{"trade_id":%d,"price":%s,"base_volume":%s,"target_volume":0.%010d,"trade_timestamp":%d,`+
			`"type":"%s"}`, e.Trade, price, amount, e.Price*e.Amount, at.UnixMilli(), e.Side),
	}
}

// firstPages returns the texts of the two first pages for the newest trades, oldest first.
func firstPages(newest []tradeRow) (deals, agg string) {
	var all []string
	var sides [2][]string
	for _, r := range slices.Backward(newest) {
		all = append(all, r.deal)
		sides[r.side] = append(sides[r.side], r.agg)
	}
	return "[" + strings.Join(all, ",") + "]", `{"buy":[` + strings.Join(sides[engine.Buy], ",") +
		`],"sell":[` + strings.Join(sides[engine.Sell], ",") + "]}"
}

// The first pages of trades have the newest retained trades, however many views were read, and while retention drops
// trades too. A page stays until the next trade, with its seq and a tag for each text.
func TestFirstPagesHaveTheRowsOfTheTrades(t *testing.T) {
	t.Parallel()
	for _, least := range []int{1, 50, 100, 150, 10_000} {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 1))
		m := docMarket{markettest.New(marketdata.Options{
			Retention: marketdata.Retention{TradesMin: least, TradesMax: max(least, 1000)},
		})}
		m.pair(0)
		var rows []tradeRow
		var seq engine.Seq
		made, stayed, tags := 0, 0, map[string]string{}
		check := func(v *marketdata.View, slot marketdata.Slot, want string, render func() *doc.Doc) {
			t.Helper()
			d := kept(v, slot)
			if stayed++; d == nil {
				d = keep(v, slot, render())
				made, stayed = made+1, stayed-1
			}
			if string(d.Body) != want || d.Seq != uint64(seq) || d != kept(v, slot) {
				t.Fatalf("seed %d, keep %d: document %d, seq %d\n%s\nwant seq %d\n%s", seed, least, slot, d.Seq, d.Body,
					seq, want)
			}
			if text, known := tags[d.ETag]; known && text != want {
				t.Fatalf("seed %d, keep %d: one tag of two texts\n%s\n%s", seed, least, text, want)
			}
			tags[d.ETag] = want
		}
		for range 600 {
			for range 1 + rng.IntN(4)*rng.IntN(20) {
				side, price := engine.Side(rng.IntN(2)), 90+rng.Int64N(20)
				if rng.IntN(100) == 0 {
					m.Pass(3_600_000_000_000)
				}
				m.Pass(1_000_000)
				for _, e := range m.Do(engine.Command{
					Kind: engine.Place, Pair: 0, Side: side, Price: price, Amount: 1 + rng.Int64N(9),
				}) {
					if e.Kind == engine.EventTrade {
						rows, seq = append(rows, rowOf(&e)), e.Seq
					}
				}
			}
			m.Publish()
			if rng.IntN(3) == 0 {
				continue
			}
			v := m.View(0)
			if int(v.Trades.Last()) != len(rows) {
				t.Fatalf("seed %d, keep %d: the newest trade is %d, want %d", seed, least, v.Trades.Last(), len(rows))
			}
			deals, agg := firstPages(rows[len(rows)-min(v.Trades.Len(), 100):])
			check(v, slotDeals, deals, func() *doc.Doc { return firstDealsDoc(v, 0) })
			check(v, slotAggTrades100, agg, func() *doc.Doc {
				return aggTradesDoc(v, aggregator.Select(&v.Trades, aggregator.Filter{
					StartMs: -1 << 63, EndMs: 1<<63 - 1, Buy: true, Sell: true, Limit: cachedTrades,
				}), 0)
			})
		}
		if made < 200 || stayed < 20 {
			t.Fatalf("seed %d: %d pages were made, %d stayed", seed, made, stayed)
		}
	}
}

// A document over all pairs consists of the rows of the pairs and has one tag for one text, while rows appear,
// disappear and change their length.
func TestDocumentsOverAllPairsHaveTheRowsOfThePairs(t *testing.T) {
	t.Parallel()
	const pairs = 40
	for round := range 6 {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 2))
		m := docMarket{markettest.New(marketdata.Options{})}
		for p := range engine.PairID(pairs) {
			m.pair(p)
		}
		var s Market
		aggregatorRoutes(&s)
		marketRoutes(&s)
		now, tags := int64(0), map[string]string{}
		for range 600 {
			p := engine.PairID(rng.IntN(pairs))
			if round%2 == 0 { // the first and the last, and few of them: rows of every kind at the edges
				p = []engine.PairID{0, 1, pairs / 2, pairs - 2, pairs - 1}[rng.IntN(5)]
			}
			side, price := engine.Side(rng.IntN(2)), 90+rng.Int64N(20)
			switch {
			case rng.IntN(40) == 0:
				m.Pass(40_000_000_000_000)
			case rng.IntN(3) == 0: // empties a side, so that the row may disappear
				m.Do(engine.Command{Kind: engine.Place, Pair: p, Type: engine.Market, Side: side, Amount: 1 << 40})
			default:
				m.Limit(p, side, price, 1+rng.Int64N(1<<uint(rng.IntN(30))))
			}
			if rng.IntN(3) == 0 {
				continue
			}
			m.Publish()
			root := m.Feed.Board().Load()
			now += sharedFloorNs
			clock := func() int64 { return now }
			for d, row := range map[*sharedDoc]func([]byte, *marketdata.View) []byte{
				&s.docs.aggTickers: aggregator.AppendTicker, &s.docs.summary: aggregator.AppendSummary,
			} {
				var rows []string
				for _, id := range root.Sorted() {
					if one := row(nil, root.View(id)); len(one) > 0 {
						rows = append(rows, string(one))
					}
				}
				got, want := d.get(root, clock), "["+strings.Join(rows, ",")+"]"
				if string(got.Body) != want || got.Seq != root.TickersSeqSum || !json.Valid(got.Body) {
					t.Fatalf("seed %d:\n%s %d\nwant\n%s %d", seed, got.Body, got.Seq, want, root.TickersSeqSum)
				}
				if tag, known := tags[want]; known && tag != got.ETag {
					t.Fatalf("seed %d: two tags of one text, %s and %s", seed, tag, got.ETag)
				}
				tags[want] = got.ETag
			}
		}
		if len(tags) < 200 {
			t.Fatalf("seed %d: %d texts", seed, len(tags))
		}
	}
}
