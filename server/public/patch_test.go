package public

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"tickhive/aggregator"
	"tickhive/engine"
	"tickhive/internal/markettest"
	"tickhive/marketdata"
	"tickhive/server/edge"
)

// A page of trades that is patched from an earlier view's page has the same bytes as a freshly
// rendered page, however many views were read, and while retention drops trades too.
func TestPatchedPagesOfTradesAreThoseMadeAnew(t *testing.T) {
	t.Parallel()
	for _, keep := range []int{1, 50, 100, 150, 10_000} {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 1))
		m := docMarket{markettest.New(marketdata.Options{TradesMin: keep, TradesMax: max(keep, 1000)})}
		m.pair(0)
		patched := 0
		for range 600 {
			for range 1 + rng.IntN(4)*rng.IntN(20) {
				side, price := engine.Side(rng.IntN(2)), 90+rng.Int64N(20)
				if rng.IntN(100) == 0 {
					m.Pass(3_600_000_000_000)
				}
				m.Limit(0, side, price, 1+rng.Int64N(9))
			}
			m.Publish()
			if rng.IntN(3) == 0 {
				continue
			}
			v := m.Feed.Board().Load().View(0)
			if v.Previous(marketdata.DocDeals) != nil {
				patched++
			}
			low, high, _ := pageRange(v.Trades.First(), v.Trades.Last(), 1, edge.MaxPageSize)
			if got, want := string(firstDealsDoc(v, 0).Body), string(appendDeals(nil, v, low, high, nil)); got != want {
				t.Fatalf("seed %d, keep %d: deals\n%s\nwant\n%s", seed, keep, got, want)
			}
			sel := aggregator.Select(&v.Trades, aggregator.Filter{
				StartMs: -1 << 63, EndMs: 1<<63 - 1, Buy: true,
				Sell: true, Limit: cachedTrades,
			})
			if got, want := string(aggTradesDoc(v, sel,
				0).Body), string(aggregator.AppendTrades(nil, v, sel)); got != want {
				t.Fatalf("seed %d, keep %d: trades\n%s\nwant\n%s", seed, keep, got, want)
			}
			if firstDealsDoc(v, 0) != v.Doc(marketdata.DocDeals) || v.Previous(marketdata.DocDeals) != nil {
				t.Fatalf("seed %d: the page is not kept", seed)
			}
		}
		if patched < 100 {
			t.Fatalf("seed %d: %d pages had one before them", seed, patched)
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
