package replay

import (
	"math/big"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/replay/format"
	"github.com/tickhive/tickhive/test/harness"
)

const tardisTape = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n"

// The time of receipt orders trades, and the exchange's time is shown, never before the time of the trade before it.
func TestTheTimeOfReceiptOrdersTrades(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"the exchange's time goes back": {
			tardisTape + "x,BTCUSDT,1700000001500000,1700000001600000,1,buy,100,1\n" +
				"x,BTCUSDT,1700000001000000,1700000001700000,2,sell,101,2\n" +
				"x,BTCUSDT,1700000002000000,1700000002100000,3,buy,102,3\n",
			"1700000001.500 100 1 buy\n1700000001.500 101 2 sell\n1700000002 102 3 buy",
		},
		"by hours, as of an order's entry": {
			"ts_recv,ts_event,publisher_id,instrument_id,action,side,price,size,flags\n" +
				"1700000001500000000,1700000001400000000,57,9,T,B,100.0,1,0\n" +
				"1700000002500000000,1699990000000000000,57,9,T,A,101.0,2,0\n",
			"1700000001.400 100 1 buy\n1700000001.400 101 2 sell",
		},
		"the newest row is first": {
			tardisTape + "x,BTCUSDT,1700000002000000,1700000002100000,3,buy,102,3\n" +
				"x,BTCUSDT,1700000001000000,1700000001700000,2,sell,101,2\n" +
				"x,BTCUSDT,1700000001500000,1700000001600000,1,buy,100,1\n",
			"1700000001.500 100 1 buy\n1700000001.500 101 2 sell\n1700000002 102 3 buy",
		},
	} {
		_, got, err := readAs(t, "a.csv", c.text, format.Layout{})
		if err != nil || got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s\n%v", name, got, c.want, err)
		}
	}
	for text, want := range map[string]string{
		tardisTape + "x,BTCUSDT,1700000000000000,1700000001600000,1,buy,100,1\n" +
			"x,BTCUSDT,1700000000000000,1700000005600000,2,buy,100,1\n" +
			"x,BTCUSDT,1700000000000000,1700000003600000,3,buy,100,1\n": "time goes back",
		tardisTape + "x,BTCUSDT,1700000009000000,1700000001600000,1,buy,100,1\n": "after the time of receipt",
	} {
		if _, _, err := readAs(t, "a.csv", text, format.Layout{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Bars of several venues are asked for by the flag that chooses one, and so are order messages. Trades of several
// venues are one tape, of which the flag chooses a part.
func TestTheVenueIsChosen(t *testing.T) {
	t.Parallel()
	bars := "ts_event,publisher_id,instrument_id,open,high,low,close,volume,symbol\n" +
		"1700000040000000000,23,9,10.0,12.0,9.0,11.0,1.5,AAPL\n1700000040000000000,37,9,11,13,10,12,2,AAPL\n" +
		"1700000100000000000,23,9,11.0,13.0,10.0,12.0,2,AAPL\n"
	_, _, err := readAs(t, "a.csv", bars, format.Layout{})
	if err == nil || !strings.Contains(err.Error(), "a.csv:3:21:") ||
		!strings.Contains(err.Error(), "--venue 23, or --venue 37") {
		t.Errorf("bars of two venues: %v", err)
	}
	pair, got, err := readAs(t, "a.csv", bars, format.Layout{Venue: "23"})
	if err != nil || got != twoBars || pair != "AAPL_USD" {
		t.Errorf("%s\n%s\n%v", pair, got, err)
	}
	_, _, err = readAs(t, "a.csv", bars, format.Layout{Venue: "5"})
	if err == nil || !strings.Contains(err.Error(), "no rows of the venue 5, 3 of others") {
		t.Errorf("a venue that is not there: %v", err)
	}
	trades := "ts_recv,ts_event,publisher_id,instrument_id,action,side,price,size,flags\n" +
		"1700000000000000000,1700000000000000000,1,9,T,B,100.5,0.25,0\n" +
		"1700000001500000000,1700000001500000000,2,9,T,A,101.0,1,0\n"
	for venue, want := range map[string]string{"": twoTrades, "1": twoTrades[:strings.Index(twoTrades, "\n")]} {
		if _, got, err := readAs(t, "a.csv", trades, format.Layout{Venue: venue}); err != nil || got != want {
			t.Errorf("venue %q:\n%s\n%v", venue, got, err)
		}
	}
	messages := "ts_recv,ts_event,publisher_id,instrument_id,action,side,price,size,flags,order_id,symbol\n" +
		"1700000000000000000,1700000000000000000,1,9,A,B,100.5,2,128,7,ES\n" +
		"1700000001000000000,1700000001000000000,2,9,A,A,101.5,1,128,8,ES\n"
	o := Options{Format: "databento", Files: []string{file(t, "m.csv", messages)}}
	refusedWith(t, o, "--venue 1, or --venue 2")
	o.Layout.Venue = "5"
	refusedWith(t, o, "no rows of the venue 5, 2 of others")
	o.Layout.Venue = "2"
	r, err := New(o)
	if err != nil || r.survey.Records != 1 {
		t.Fatalf("one venue of order messages: %v", err)
	}
	if got := strings.Join(r.reader.Notes(), "\n"); got != "1 rows of other venues: left out" {
		t.Errorf("notes %q", got)
	}
	o.Layout.Side = "maker"
	refusedWith(t, o, "option of trades")
}

// The vendor's own files: the sums are those of EXPECTED.json, the order is that of receipt.
func TestDatabentoFilesOfSeveralVenues(t *testing.T) {
	t.Parallel()
	path := harness.Recorded(t, "forms/dbn/IFEU.IMPACT.trades.dbn.zst")
	rows, price, amount := readTable(t, Options{Format: "trades", Files: []string{path}})
	sum, notional := new(big.Rat), new(big.Rat)
	for i := range rows {
		a := rational(rows[i].Amount, amount)
		sum.Add(sum, a)
		notional.Add(notional, new(big.Rat).Mul(a, rational(rows[i].Price, price)))
		if i > 0 && rows[i].NS < rows[i-1].NS {
			t.Errorf("row %d goes back", i)
		}
	}
	if len(rows) != 4 || sum.FloatString(0) != "10" || notional.FloatString(1) != "776.1" {
		t.Errorf("%d rows, amount %s, price x amount %s", len(rows), sum, notional)
	}
	for _, name := range []string{"OPRA.PILLAR.ohlcv-1s.dbn.zst", "OPRA.PILLAR.ohlcv-1d.dbn.zst"} {
		o := Options{Format: "trades", Files: []string{harness.Recorded(t, "forms/dbn/"+name)}}
		refusedWith(t, o, "--venue")
	}
	o := Options{Format: "trades", Files: []string{harness.Recorded(t, "forms/dbn/OPRA.PILLAR.ohlcv-1d.dbn.zst")}}
	o.Layout.Venue = "20"
	rows, price, amount = readTable(t, o)
	if got := shown(rows, price, amount); got != "1740009600 0.33 0.49 0.1 0.11 3474" {
		t.Errorf("the bar of venue 20: %s", got)
	}
}
