package replay

import (
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tickhive/tickhive/sim/replay/format/dbn/dbntest"
)

// events are those of the first case of testdata/golden/databento.txt, without the snapshot.
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
