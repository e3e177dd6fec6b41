package replay

import (
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tickhive/sim/replay/format/dbn/dbntest"
)

const mboHead = "ts_recv,ts_event,rtype,publisher_id,instrument_id,action,side,price,size,channel_id,order_id,flags," +
	"ts_in_delta,sequence,symbol\n"

// The commands, books, checks and notes of small files of Databento. Flags: 40 a complete book, 128 the last record of
// an event.
func TestGoldenDatabento(t *testing.T) {
	t.Parallel()
	checkGolden(t, []golden{
		{name: "a complete book, an order, fills of two orders", format: "databento", text: `
-- x.mbo.csv --
` + mboHead + `1723109400000000000,1723060000000000000,160,2,7,R,N,,0,0,0,40,0,0,AAPL
1723109400000000000,1723060000000000000,160,2,7,A,B,100.250000000,30,0,12,40,0,1,AAPL
1723109400000000000,1723070000000000000,160,2,7,A,B,100.250000000,20,0,11,40,0,2,AAPL
1723109400000000000,1723065000000000000,160,2,7,A,A,100.500000000,7,0,13,168,0,3,AAPL
1723109400100000000,1723109400100000000,160,2,7,A,B,100.000000000,5,0,14,128,0,4,AAPL
1723109400200000000,1723109400200000000,160,2,7,T,A,100.250000000,40,0,0,0,0,5,AAPL
1723109400200000000,1723109400200000000,160,2,7,F,B,100.250000000,30,0,12,0,0,5,AAPL
1723109400200000000,1723109400200000000,160,2,7,F,B,100.250000000,10,0,11,0,0,5,AAPL
1723109400200000000,1723109400200000000,160,2,7,C,B,100.250000000,30,0,12,0,0,5,AAPL
1723109400200000000,1723109400200000000,160,2,7,C,B,100.250000000,10,0,11,128,0,5,AAPL
1723109400300000000,1723109400300000000,160,2,7,M,A,100.450000000,7,0,13,128,0,6,AAPL
1723109400400000000,1723109400400000000,160,2,7,M,B,100.250000000,4,0,11,128,0,7,AAPL
1723109400500000000,1723109400500000000,160,2,7,N,N,,0,0,0,128,0,8,AAPL
1723109400600000000,1723109400600000000,160,2,7,C,B,100.250000000,4,0,11,128,0,9,AAPL
-- then --
pair AAPL_USD 2,0 from 2024-08-08T09:30:00.000Z
09:30:00.000 maker buy 30 @ 100.25 gtc post = #1
09:30:00.000 maker buy 20 @ 100.25 gtc post = #2
09:30:00.000 maker sell 7 @ 100.50 gtc post = #3
09:30:00.100 maker buy 5 @ 100.00 gtc post = #4
09:30:00.200 taker sell 30 @ 100.25 ioc = #5, trade 30 @ 100.25 with #1
09:30:00.200 taker sell 10 @ 100.25 ioc = #6, trade 10 @ 100.25 with #2
09:30:00.300 cancel #3
09:30:00.300 maker sell 7 @ 100.45 gtc post = #7
09:30:00.400 replace #2 with 14
09:30:00.600 cancel #2
book 5 @ 100.00 | 7 @ 100.45
check book rows 7 of 7
check trades 2 of 2
check executions 2 of 2
check named orders 2 of 2
1 messages without an order: not fed
`},
		{name: "a hidden trade, a fill out of turn, a clear, unknown orders", format: "databento", text: `
-- x.csv --
` + mboHead + `1723109400000000000,1723109400000000000,160,2,7,A,B,100.000000000,5,0,1,0,0,1,BTC-USD
1723109400000000000,1723109400000000000,160,2,7,A,B,100.000000000,6,0,2,0,0,1,BTC-USD
1723109400000000000,1723109400000000000,160,2,7,A,A,101.000000000,4,0,3,128,0,1,BTC-USD
1723109400100000000,1723109400100000000,160,2,7,T,N,101.500000000,2,0,0,128,0,2,BTC-USD
1723109400200000000,1723109400200000000,160,2,7,T,A,100.000000000,6,0,0,0,0,3,BTC-USD
1723109400200000000,1723109400200000000,160,2,7,F,B,100.000000000,6,0,2,0,0,3,BTC-USD
1723109400200000000,1723109400200000000,160,2,7,C,B,100.000000000,6,0,2,128,0,3,BTC-USD
1723109400300000000,1723109400300000000,160,2,7,C,A,102.000000000,6,0,99,128,0,4,BTC-USD
1723109400400000000,1723109400400000000,160,2,7,R,N,,0,0,0,0,0,5,BTC-USD
1723109400400000000,1723109400400000000,160,2,7,M,A,103.500000000,1,0,98,128,0,5,BTC-USD
-- then --
pair BTC_USD 1,0 from 2024-08-08T09:30:00.000Z
09:30:00.000 maker buy 5 @ 100.0 gtc post = #1
09:30:00.000 maker buy 6 @ 100.0 gtc post = #2
09:30:00.000 maker sell 4 @ 101.0 gtc post = #3
09:30:00.100 cancel #3
09:30:00.100 maker sell 2 @ 101.5 gtc = #4
09:30:00.100 taker buy 2 @ 101.5 ioc = #5, trade 2 @ 101.5 with #4
09:30:00.100 maker sell 4 @ 101.0 gtc post = #6
09:30:00.200 taker sell 6 @ 100.0 ioc = #7, trade 5 @ 100.0 with #1, trade 1 @ 100.0 with #2
09:30:00.200 cancel #2
09:30:00.200 maker buy 5 @ 100.0 gtc post = #8
09:30:00.400 cancel #8
09:30:00.400 cancel #6
09:30:00.400 maker sell 1 @ 103.5 gtc post = #9
book | 1 @ 103.5
check book rows 5 of 5
check trades 1 of 2
check executions 0 of 1
check named orders 0 of 1
miss trades x.csv:8: ours no such trade; theirs 2024-08-08T09:30:00.200Z sell of 6.0 at 100.0
1 trades without a fill of a displayed order: their makers are not in the book
1 messages name an order that is not open in the file: left out
`},
		{name: "two levels a side", format: "databento", text: `
-- x.csv --
ts_event,publisher_id,instrument_id,action,side,price,size,flags,` +
			`bid_px_00,ask_px_00,bid_sz_00,ask_sz_00,bid_px_01,ask_px_01,bid_sz_01,ask_sz_01,symbol
1723109400000000000,2,7,A,B,99.0,3,128,100.25,101.0,30,5,99.0,,3,0,BTC-USD
1723109400100000000,2,7,A,A,102.0,6,128,100.25,101.0,30,5,99.0,102.0,3,6,BTC-USD
1723109400200000000,2,7,T,A,100.25,30,0,100.25,101.0,30,5,99.0,102.0,3,6,BTC-USD
1723109400200000000,2,7,C,B,100.25,30,128,99.0,101.0,3,5,98.5,102.0,8,6,BTC-USD
-- then --
pair BTC_USD 2,0 from 2024-08-08T09:30:00.000Z
09:30:00.000 maker buy 3 @ 99.00 gtc = #1
09:30:00.000 maker buy 30 @ 100.25 gtc = #2
09:30:00.000 maker sell 5 @ 101.00 gtc = #3
09:30:00.100 maker sell 6 @ 102.00 gtc = #4
09:30:00.200 cancel #2
09:30:00.200 maker buy 30 @ 100.25 gtc = #5
09:30:00.200 taker sell 30 @ 100.25 ioc = #6, trade 30 @ 100.25 with #5
09:30:00.200 maker buy 30 @ 100.25 gtc = #7
09:30:00.200 cancel #7
09:30:00.200 maker buy 8 @ 98.50 gtc = #8
book 3 @ 99.00 8 @ 98.50 | 5 @ 101.00 6 @ 102.00
check book rows 2 of 2
check best bid and ask 0 of 0
check trades 1 of 1
`},
		{name: "best prices", format: "databento", text: `
-- x.csv --
ts_recv,ts_event,rtype,publisher_id,instrument_id,action,side,depth,price,size,flags,ts_in_delta,sequence,` +
			`bid_px_00,ask_px_00,bid_sz_00,ask_sz_00,bid_ct_00,ask_ct_00,symbol
1723109400000000001,1723109400000000000,1,2,7,A,B,0,100250000000,30,128,0,1,100250000000,,30,0,1,0,
1723109400100000001,1723109400100000000,1,2,7,A,A,0,100500000000,7,128,0,2,100250000000,100500000000,30,7,1,1,
1723109400200000001,1723109400200000000,1,2,7,T,B,0,100500000000,7,0,0,3,100250000000,100500000000,30,7,1,1,
1723109400200000001,1723109400200000000,1,2,7,C,A,0,100500000000,7,128,0,3,100250000000,,30,0,1,0,
-- then --
pair BASE_QUOTE 2,0 from 2024-08-08T09:30:00.000Z
09:30:00.000 maker buy 30 @ 100.25 gtc = #1
09:30:00.100 maker sell 7 @ 100.50 gtc = #2
09:30:00.200 cancel #2
09:30:00.200 maker sell 7 @ 100.50 gtc = #3
09:30:00.200 taker buy 7 @ 100.50 ioc = #4, trade 7 @ 100.50 with #3
09:30:00.200 maker sell 7 @ 100.50 gtc = #5
09:30:00.200 cancel #5
book 30 @ 100.25 |
check book rows 2 of 2
check best bid and ask 0 of 0
check trades 1 of 1
`},
	})
}

// events are those of the first golden file, without the snapshot.
func events() []dbntest.Event {
	const start = 1723109400_000000000
	return []dbntest.Event{
		{NS: start, Action: 'A', Side: 'B', Price: 100_250_000_000, Size: 30, ID: 12},
		{NS: start, Action: 'A', Side: 'A', Price: 100_500_000_000, Size: 7, ID: 13, Flags: 128},
		{NS: start + 1e8, Action: 'T', Side: 'A', Price: 100_250_000_000, Size: 20},
		{NS: start + 1e8, Action: 'F', Side: 'B', Price: 100_250_000_000, Size: 20, ID: 12},
		{NS: start + 1e8, Action: 'C', Side: 'B', Price: 100_250_000_000, Size: 20, ID: 12, Flags: 128},
	}
}

// Two instruments in a file of DBN: the pair selects one. A packed file is as good as a plain one, in every version.
func TestGoldenDBN(t *testing.T) {
	t.Parallel()
	const want = `pair AAPL_USD 2,0 from 2024-08-08T09:30:00.000Z
09:30:00.000 maker buy 30 @ 100.25 gtc post = #1
09:30:00.000 maker sell 7 @ 100.50 gtc post = #2
09:30:00.100 taker sell 20 @ 100.25 ioc = #3, trade 20 @ 100.25 with #1
book 10 @ 100.25 | 7 @ 100.50
check book rows 2 of 2
check trades 1 of 1
check executions 1 of 1
check named orders 1 of 1
5 rows of other symbols: left out`
	for version := byte(1); version <= 3; version++ {
		var records [][]byte
		for _, e := range events() {
			for _, e.Instrument = range []uint32{7, 9} {
				records = append(records, e.Order())
			}
		}
		plain := dbntest.File(version, dbntest.MBO, map[uint32]string{7: "AAPL", 9: "MSFT"}, records...)
		z, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{plain, z.EncodeAll(plain, nil)} {
			o := Options{Format: "databento", Files: []string{file(t, "x.dbn", string(text))}, Pair: "AAPL_USD"}
			if got := squeeze(play(t, o)); got != want {
				t.Errorf("version %d: got\n%s\nwant\n%s", version, got, want)
			}
		}
	}
}

// Trades, and trades with the best prices, are files of trades; so are bars.
func TestDBNOfTradesAndBars(t *testing.T) {
	t.Parallel()
	e := events()[2]
	e.Instrument = 7
	names := map[uint32]string{7: "AAPL"}
	trades := dbntest.File(3, dbntest.Trades, names, e.Trade())
	tbbo := dbntest.File(2, dbntest.TBBO, names, e.Top())
	bars := dbntest.File(1, dbntest.Bars, names, dbntest.Bar(1723109400_000000000, 7, 1e9, 3e9, 5e8, 2e9, 8))
	const trade = "09:30:00.100 maker buy 20 @ 100.25 gtc = #1\n" +
		"09:30:00.100 taker sell 20 @ 100.25 ioc = #2, trade 20 @ 100.25 with #1\n"
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"trades": {trades, trade}, "tbbo": {tbbo, trade},
		"bars": {bars, "09:30:00.003 taker sell 2 @ 2.0 ioc = #8, trade 2 @ 2.0 with #7\n"},
	} {
		o := Options{Format: "trades", Files: []string{file(t, name, string(c.file))}, Pair: "AAPL_USD"}
		if got := play(t, o); !strings.Contains(got, c.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
