package launchpad

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// kept returns the candles of a token as text.
func kept(t *Token) (all []string) {
	for k := range t.Candles {
		all = append(all,
			fmt.Sprint(k.StartSec-start/secondNs, k.Open, k.High, k.Low, k.Close, k.Volume, k.VolumeToken))
	}
	return all
}

func TestTheFirstLiquidityOpensTheFirstCandle(t *testing.T) {
	r := newRig(t)
	if token := r.spawn(user(1), "ABC"); kept(token) != nil {
		t.Fatalf("an empty pool has %s", kept(token))
	}
	r.advance(59)
	r.must(Deposit{To: user(1), Currency: USBICoin, Amount: AmountOf(1000)})
	pool := AddLiquidity{Token: 1, From: user(1), TokenAmount: AmountOf(400), QuoteAmount: AmountOf(100)}
	r.must(pool)
	r.advance(1)
	sold := r.must(Swap{Token: 1, From: user(1), Sell: true, AmountIn: AmountOf(100)}).Out
	low, _ := r.token("ABC").Price()
	r.advance(59)
	paid := AmountOf(30)
	bought := r.must(Swap{Token: 1, From: user(1), AmountIn: paid}).Out
	high, _ := r.token("ABC").Price()
	r.advance(61)
	r.must(pool)
	last, _ := r.token("ABC").Price()
	if !low.Less(units("0.25")) || !units("0.25").Less(high) {
		t.Fatalf("prices %s and %s", low, high)
	}
	want := []string{
		"0 0.25 0.25 0.25 0.25 0.0 0.0",
		fmt.Sprint(60, " ", units("0.25"), high, low, high, sold.Add(paid), bought.Add(AmountOf(100))),
		fmt.Sprint(180, " ", high, last, high, last, Amount{}, Amount{}),
	}
	if got := kept(r.token("ABC")); !slices.Equal(got, want) {
		t.Fatalf("the candles are\n%q, not\n%q", got, want)
	}
	r.check()
}

// change is a price of a pool, and what the swap moved that set it.
type change struct {
	sec                  int64
	price, quote, tokens Amount
}

// naiveCandles makes the candles of a list of changes.
func naiveCandles(all []change) (rows []Candle) {
	for i, c := range all {
		minute := c.sec / 60 * 60
		if n := len(rows); n == 0 || rows[n-1].StartSec != minute {
			before := all[max(0, i-1)].price
			rows = append(rows, Candle{StartSec: minute, Open: before, High: before, Low: before})
		}
		k := &rows[len(rows)-1]
		prices := []Amount{k.High, k.Low, c.price}
		k.High, k.Low = slices.MaxFunc(prices, Amount.Cmp), slices.MinFunc(prices, Amount.Cmp)
		k.Close, k.Volume, k.VolumeToken = c.price, k.Volume.Add(c.quote), k.VolumeToken.Add(c.tokens)
	}
	return rows[max(0, len(rows)-MaxTokenCandles):]
}

// A view keeps its candles, also while those of the state lose their front.
func TestCandlesAreThePricesOfAllSwaps(t *testing.T) {
	for seed := range uint64(3) {
		rng, r := rand.New(rand.NewPCG(seed, 9)), newRig(t)
		all, views := map[uint32][]change{}, map[*Token][]string{}
		for i := range 2 {
			token := r.pooled(user(i+1), symbolOf(i), "1000")
			price, _ := token.Price()
			all[token.No] = []change{{sec: r.now / secondNs, price: price}}
			r.must(Deposit{To: user(i + 1), Currency: USBICoin, Amount: AmountOf(1_000_000)})
		}
		for i := range 2500 {
			r.advance(rng.Int64N(80))
			cmd := Swap{Token: 1 + rng.Uint32N(8)/7, Sell: rng.IntN(2) == 0, AmountIn: AmountOf(1 + rng.Uint64N(20))}
			cmd.From = user(int(cmd.Token))
			res := r.must(cmd)
			c := change{sec: r.now / secondNs, quote: res.In, tokens: res.Out}
			if cmd.Sell {
				c.quote, c.tokens = c.tokens, c.quote
			}
			c.price, _ = res.Token.Price()
			if c.price != quotient(res.Token.ReserveQuote, res.Token.ReserveToken) {
				t.Fatalf("seed %d: the price is %s, not that of the pool", seed, c.price)
			}
			all[cmd.Token] = append(all[cmd.Token], c)
			if i%50 == 0 {
				token, _ := r.s.View().ByNFT(res.Token.AgentNFT())
				views[token] = kept(token)
			}
		}
		for no, changes := range all {
			token, _ := r.s.tokens.Get(no)
			i, want := 0, naiveCandles(changes)
			for k := range token.Candles {
				if i >= len(want) || *k != want[i] {
					t.Fatalf("seed %d, token %d: candle %d is %+v", seed, no, i, k)
				}
				i++
			}
			if i != len(want) || no == 1 && i != MaxTokenCandles {
				t.Fatalf("seed %d, token %d: %d candles, not %d", seed, no, i, len(want))
			}
		}
		for token, text := range views {
			if !slices.Equal(kept(token), text) {
				t.Fatalf("seed %d: the candles of a view have changed", seed)
			}
		}
		r.check()
	}
}

// Where the ledger keeps no more candles, a token that has some loses its oldest one, and another gets its first one.
func TestAFullLedgerKeepsTheNewestCandlesOfEachToken(t *testing.T) {
	r := newRig(t)
	r.s.maxCandles = 5
	trade := func(no uint32) {
		r.advance(60)
		r.must(Swap{Token: no, From: user(int(no)), Sell: true, AmountIn: One})
	}
	r.pooled(user(1), "ONE", "50")
	for range 6 {
		trade(1)
	}
	r.pooled(user(2), "TWO", "50")
	trade(2)
	trade(1)
	one, two := kept(r.token("ONE")), kept(r.token("TWO"))
	if len(one) != 5 || len(two) != 1 || one[0][:4] != "180 " || one[4][:4] != "480 " || two[0][:4] != "420 " {
		t.Fatalf("the candles are %q and %q", one, two)
	}
	if err := r.s.Check(); err != nil {
		t.Fatal(err)
	}
}
