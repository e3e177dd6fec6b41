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
			plain, format.Layout{Timezone: "America/New_York"}, "a written date, in the zone America/New_York;",
			"does not matter",
		},
		"its zone": {zoned, format.Layout{}, "a written date, each with its zone", "does not matter"},
		"its zone before a flag": {
			zoned, format.Layout{Timezone: "America/New_York"},
			"--timezone does not matter: each time names its zone", "in the zone America/New_York",
		},
		"both": {
			zoned + "2024-01-02 03:00:02,10,1\n", format.Layout{Timezone: "America/New_York"},
			"a written date, in the zone America/New_York where it names none", "does not matter",
		},
		"Unix times": {
			unix, format.Layout{Timezone: "America/New_York"}, "--timezone does not matter: the times are Unix s", "",
		},
		"no side to turn": {
			unix, format.Layout{Side: "maker"},
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
