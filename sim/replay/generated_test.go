package replay

import (
	"fmt"
	"slices"
	"strings"
)

const tardisHead = "exchange,symbol,timestamp,local_timestamp,"

// generated writes one market in several formats: orders that are added and canceled, and trades that fill them.
type generated struct {
	csv, ndjson, ccxt, minutes, l2, quotes, tardisTrades, mbo, mbp1, mbp10 strings.Builder

	rows []genTrade // of a Parquet file

	open    [2][]genOrder // of bids and asks, oldest first
	changed [][2]int      // side and price of the levels that the step changed
	bar     [5]int        // open, high, low, close, volume
	ms      int
}

// genOrder is an open order of the generated market.
type genOrder struct{ id, price, size int }

// genTrade is a trade as a row of a Parquet file.
type genTrade struct {
	Time   int64   `parquet:"timestamp"`
	Symbol string  `parquet:"symbol,dict"`
	Side   string  `parquet:"side"`
	Price  float64 `parquet:"price"`
	Amount float64 `parquet:"amount"`
}

// genLevels is the number of levels a side of mbp-10.
const genLevels = 10

// genSides holds the names of the sides in the formats.
var genSides = [2]struct{ level, letter, taker string }{{"bid", "B", "sell"}, {"ask", "A", "buy"}}

// newGenerated makes a market of n steps, 100 ms apart: an order to buy and one to sell are added, then by turns the
// oldest order at a best price is filled, or the oldest of more than 100 of a side is canceled.
func newGenerated(n int) *generated {
	g := &generated{ms: 1_700_000_040_000} // a whole minute
	g.csv.WriteString("time,price,amount,side\n")
	g.minutes.WriteString("time,open,high,low,close,volume\n")
	g.l2.WriteString(tardisHead + "is_snapshot,side,price,amount\n")
	g.quotes.WriteString(tardisHead + "ask_amount,ask_price,bid_price,bid_amount\n")
	g.tardisTrades.WriteString(tardisHead + "id,side,price,amount\n")
	g.mbo.WriteString("ts_event,publisher_id,instrument_id,action,side,price,size,order_id,flags,symbol\n")
	g.mbp1.WriteString("ts_event,publisher_id,instrument_id,action,side,price,size,flags,bid_px_00,ask_px_00," +
		"bid_sz_00,ask_sz_00,symbol\n")
	g.mbp10.WriteString("ts_event,publisher_id,instrument_id,action,side,price,size,flags,")
	for i := range genLevels {
		fmt.Fprintf(&g.mbp10, "bid_px_%02[1]d,ask_px_%02[1]d,bid_sz_%02[1]d,ask_sz_%02[1]d,", i)
	}
	g.mbp10.WriteString("symbol\n")
	g.ccxt.WriteString("[")
	for i := range n {
		g.add(i)
		switch side := i / 2 % 2; {
		case i == 0:
		case i%2 == 0:
			g.fill(side)
		case len(g.open[side]) > 100:
			g.cancel(side, 0)
		}
		g.levels(i == 0)
		if i%600 == 599 {
			b := g.bar
			fmt.Fprintf(&g.minutes, "%d,%d,%d,%d,%d,%d\n", g.ms-59_900, b[0], b[1], b[2], b[3], b[4])
			g.bar = [5]int{}
		}
		g.ms += 100
	}
	g.ccxt.WriteString("]\n")
	return g
}

// add adds an order to buy and one to sell.
func (g *generated) add(i int) {
	for side := range 2 {
		o := genOrder{2*i + side + 1, 999 - i%7 + side*(2+i%7+i%5), 1 + i%9}
		g.open[side] = append(g.open[side], o)
		g.order("A", side, o, 128*side)
	}
}

// order writes a message about an order.
func (g *generated) order(action string, side int, o genOrder, flags int) {
	fmt.Fprintf(&g.mbo, "%d000000,2,7,%s,%s,%d.00,%d,%d,%d,BTC-USDT\n", g.ms, action, genSides[side].letter, o.price,
		o.size, o.id, flags)
	g.changed = append(g.changed, [2]int{side, o.price})
}

// best returns the index of the oldest order at the best price of a side.
func (g *generated) best(side int) (at int) {
	for i, o := range g.open[side] {
		if b := g.open[side][at].price; side == 0 && o.price > b || side == 1 && o.price < b {
			at = i
		}
	}
	return at
}

// total returns the amount at a price.
func (g *generated) total(side, price int) (sum int) {
	for _, o := range g.open[side] {
		if o.price == price {
			sum += o.size
		}
	}
	return sum
}

// fill fills the oldest order at the best price of a side.
func (g *generated) fill(side int) {
	at := g.best(side)
	o, s := g.open[side][at], genSides[side]
	g.order("F", side, o, 0)
	fmt.Fprintf(&g.csv, "%d,%d,%d,%s\n", g.ms, o.price, o.size, s.taker)
	fmt.Fprintf(&g.ndjson, `{"time":%d,"price":"%d","amount":"%d","side":"%s"}`+"\n", g.ms, o.price, o.size, s.taker)
	if g.ccxt.Len() > 1 {
		g.ccxt.WriteString(",")
	}
	fmt.Fprintf(&g.ccxt, `{"timestamp":%d,"symbol":"BTC/USDT","side":"%s","price":%d,"amount":%d}`, g.ms, s.taker,
		o.price, o.size)
	fmt.Fprintf(&g.tardisTrades, "x,BTCUSDT,%d000,%d000,%d,%s,%d,%d\n", g.ms, g.ms, o.id, s.taker, o.price, o.size)
	fmt.Fprintf(&g.mbp1, "%d000000,2,7,T,%s,%d.00,%d,0,,,,,BTC-USDT\n", g.ms, genSides[1-side].letter, o.price, o.size)
	fmt.Fprintf(&g.mbp10, "%d000000,2,7,T,%s,%d.00,%d,0,%sBTC-USDT\n", g.ms, genSides[1-side].letter, o.price, o.size,
		strings.Repeat(",,,,", genLevels))
	g.rows = append(g.rows, genTrade{int64(g.ms), "BTC/USDT", s.taker, float64(o.price), float64(o.size)})
	if g.bar[4] == 0 {
		g.bar = [5]int{o.price, o.price, o.price, 0, 0}
	}
	g.bar = [5]int{g.bar[0], max(g.bar[1], o.price), min(g.bar[2], o.price), o.price, g.bar[4] + o.size}
	g.cancel(side, at)
}

// cancel removes an order.
func (g *generated) cancel(side, at int) {
	g.order("C", side, g.open[side][at], 128)
	g.open[side] = append(g.open[side][:at], g.open[side][at+1:]...)
}

// levels writes the levels that the step changed, and the best prices.
func (g *generated) levels(whole bool) {
	written := map[[2]int]bool{}
	for _, k := range g.changed {
		if !written[k] {
			written[k] = true
			fmt.Fprintf(&g.l2, "x,BTCUSDT,%d000,%d000,%t,%s,%d,%d\n", g.ms, g.ms, whole, genSides[k[0]].level, k[1],
				g.total(k[0], k[1]))
		}
	}
	g.changed = g.changed[:0]
	bid, ask := g.open[0][g.best(0)].price, g.open[1][g.best(1)].price
	bids, asks := g.total(0, bid), g.total(1, ask)
	fmt.Fprintf(&g.quotes, "x,BTCUSDT,%d000,%d000,%d,%d,%d,%d\n", g.ms, g.ms, asks, ask, bid, bids)
	fmt.Fprintf(&g.mbp1, "%d000000,2,7,A,B,%d.00,1,128,%d.00,%d.00,%d,%d,BTC-USDT\n", g.ms, bid, bid, ask, bids, asks)
	fmt.Fprintf(&g.mbp10, "%d000000,2,7,A,B,%d.00,1,128,", g.ms, bid)
	best := [2][]int{g.prices(0), g.prices(1)}
	for i := range genLevels {
		cells := [4]string{}
		for side, prices := range best {
			if i < len(prices) {
				cells[side] = fmt.Sprintf("%d.00", prices[i])
				cells[2+side] = fmt.Sprint(g.total(side, prices[i]))
			}
		}
		g.mbp10.WriteString(strings.Join(cells[:], ",") + ",")
	}
	g.mbp10.WriteString("BTC-USDT\n")
}

// prices returns the prices of a side, best first.
func (g *generated) prices(side int) (all []int) {
	for _, o := range g.open[side] {
		all = append(all, o.price)
	}
	slices.Sort(all)
	if all = slices.Compact(all); side == 0 {
		slices.Reverse(all)
	}
	return all
}
