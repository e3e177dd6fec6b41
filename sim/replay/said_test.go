package replay

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/replay/format"
)

// What the paragraph of a file says, and what it does not.
func TestTheParagraphOfAFileSaysHowTheFileIsRead(t *testing.T) {
	t.Parallel()
	const sides = "time,price,amount,type\n1700000000,10,1,bid\n"
	const zoned = "time,price,amount\n2024-01-02 10:00:00+0200,10,1\n2024-01-02 10:00:01+0200,10,1\n"
	const plain = "time,price,amount\n2024-01-02 10:00:00,10,1\n"
	const unix = "time,price,amount,is_buyer_maker\n1700000000,10,1,true\n"
	for name, c := range map[string]struct {
		text      string
		layout    format.Layout
		want, not string
	}{
		"sides":   {sides, format.Layout{Side: "buy=bid,sell=ask"}, `the taker's: "bid" bought, "ask" sold`, ""},
		"turned":  {sides, format.Layout{Side: "buy=ask,sell=bid"}, `the taker's: "ask" bought, "bid" sold`, ""},
		"no zone": {plain, format.Layout{}, "a written date, UTC where it names no zone", "does not matter"},
		"a zone": {
			plain,
			format.Layout{Timezone: "America/New_York"},
			"a written date, in the zone America/New_York;",
			"does not matter",
		},
		"its zone": {zoned, format.Layout{}, "a written date, each with its zone", "does not matter"},
		"its zone before a flag": {
			zoned,
			format.Layout{Timezone: "America/New_York"},
			"--timezone does not matter: each time names its zone", "in the zone America/New_York",
		},
		"both": {
			zoned + "2024-01-02 03:00:02,10,1\n",
			format.Layout{Timezone: "America/New_York"},
			"a written date, in the zone America/New_York where it names none", "does not matter",
		},
		"Unix times": {
			unix, format.Layout{Timezone: "America/New_York"}, "--timezone does not matter: the times are Unix s", "",
		},
		"makers": {
			"time,price,amount,maker_side\n1700000000,10,1,sell\n",
			format.Layout{},
			`side: column "maker_side", the maker's, turned round`, "",
		},
		"minutes": {
			"1700000040,10,12,9,11,1\n1700000100,10,12,9,11,1\n1700000220,10,12,9,11,1\n",
			format.Layout{},
			"Unix s, the start of a bar of 1m;", "",
		},
		"hours": {
			"1700000400,10,12,9,11,1\n1700004000,10,12,9,11,1\n", format.Layout{}, "the start of a bar of 1h;", "",
		},
		"days": {
			"2024-01-01,10,12,9,11,1\n2024-01-02,10,12,9,11,1\n2024-01-05,10,12,9,11,1\n",
			format.Layout{},
			"the start of a bar of 1 d;", "",
		},
		"months": {
			"2024-01-01,10,12,9,11,1\n2024-02-01,10,12,9,11,1\n2024-03-01,10,12,9,11,1\n",
			format.Layout{},
			"the start of a bar of a month or more;", "",
		},
		"no side to turn": {
			unix,
			format.Layout{Side: "maker"},
			`--side does not matter: column "is_buyer_maker" says which side was the maker's`, "",
		},
	} {
		said := takenOf(t, "a.csv", c.text, c.layout)
		if !strings.Contains(said, c.want) || c.not != "" && strings.Contains(said, c.not) {
			t.Errorf("%s: said\n%s\nwant %q, not %q", name, said, c.want, c.not)
		}
	}
}

// The times of LOBSTER are those of the zone that --timezone names, with its offset of the day, and of UTC without one.
func TestTheTimesOfLobsterHaveAZone(t *testing.T) {
	t.Parallel()
	const message, row = "34200.5,1,1,10,1000000,1\n", "9999999999,0,1000000,10\n"
	for _, c := range []struct {
		day, zone, begins, says string
	}{
		{"2012-06-21", "America/New_York", "2012-06-21T13:30:00.000Z", "of 2012-06-21, in the zone America/New_York"},
		{"2012-01-20", "America/New_York", "2012-01-20T14:30:00.000Z", "in the zone America/New_York"},
		{"2012-06-21", "", "2012-06-21T09:30:00.000Z", "--timezone America/New_York takes 09:30 as NASDAQ's opening"},
		{"no-day", "+02:00", "2000-01-01T07:30:00.000Z", "because the name of the file has no day, in the zone +02:00"},
	} {
		r, err := New(Options{
			Format: "lobster", Layout: format.Layout{Timezone: c.zone},
			Files: []string{file(t, "AMZN_"+c.day+"_message_1.csv", message), file(t, "b.csv", row)},
		})
		if err != nil {
			t.Fatal(err)
		}
		taken := r.Takings()
		if got := format.NsText(r.StartNs()); got != c.begins || len(taken) != 1 ||
			!strings.Contains(taken[0].String(), c.says) {
			t.Errorf("%+v: begins at %s, says %v", c, got, taken)
		}
	}
	for want, layout := range map[string]format.Layout{
		"--side is an option of trades": {Side: "maker", Timezone: "UTC"}, `timezone "Mars"`: {Timezone: "Mars"},
	} {
		_, err := New(Options{
			Format: "lobster", Layout: layout, Files: []string{file(t, "m.csv", message), file(t, "b.csv", row)},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", layout, err)
		}
	}
}

// Bars of months are no candles of days.
func TestBarsOfMonthsAreComparedByTheirTrades(t *testing.T) {
	t.Parallel()
	path := file(t, "m.csv", "2024-01-01,10,12,9,11,1\n2024-02-01,10,12,9,11,1\n2024-03-01,10,12,9,11,1\n")
	for _, zone := range []string{"", "America/New_York"} {
		report, _ := run(t, Options{
			Format: "trades", Files: []string{path}, Check: true, Layout: format.Layout{Timezone: zone},
		})
		if said := strings.Join(report.Lines(), "\n"); said != "check trades 12 of 12" {
			t.Error(said)
		}
	}
}

// An archive, and answers without trades, are refused with what to do.
func TestRefusalsNameTheWayOn(t *testing.T) {
	t.Parallel()
	archive := make([]byte, 1024)
	copy(archive, "trades.csv")
	copy(archive[257:], "ustar")
	for want, o := range map[string]Options{
		"the first bytes are those of a tar archive; unpack the archive: tar xf FILE": {
			Format: "trades", Files: []string{file(t, "a.tar", string(archive))},
		},
		"is replayed with --format trades --columns time=1,open=2,high=3,low=4,close=5,amount=7": {
			Format: "kraken", Files: []string{file(t, "o.json",
				`{"error":[],"result":{"XBTUSDT":[[1762777020,"10","12","9","11","10","1.5",4]],"last":1762777020}}`)},
		},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
