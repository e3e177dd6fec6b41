package format

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// answers returns what a user answers to a form that asks.
func (f *form) answers() (given Layout) {
	all := answersOfForms
	if f.name == "Gate trades" {
		all.Side = "buy=1,sell=2"
	}
	from := all.options()
	for i, o := range given.options() {
		if strings.Contains(f.asks, o.name) {
			*o.value = *from[i].value
		}
	}
	if strings.HasPrefix(f.name, "HistData") {
		given.BarVolume = "1"
	}
	return given
}

// rewritten writes the text beside the sample of a form, under the same path in another directory with a prefix.
func rewritten(t *testing.T, f *form, prefix, text string) string {
	t.Helper()
	path := sampleOf(t, f)
	path = filepath.Join(filepath.Dir(path), prefix+filepath.Base(path))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// takenOf returns what the reader takes from where in a file.
func takenOf(path string, given Layout) (Taken, error) {
	r, err := New("trades", []string{path})
	if err != nil {
		return Taken{}, err
	}
	if err := Use(r, given); err != nil {
		return Taken{}, err
	}
	if _, err := Learn(r); err != nil {
		return Taken{}, err
	}
	return Takings(r)[0], nil
}

// TestNoMistakeIsSilent plants mistakes of unit, zone, side and scale in the sample of each form. Each is refused, or
// the paragraph of the run names what was taken.
func TestNoMistakeIsSilent(t *testing.T) {
	t.Parallel()
	for i := range forms {
		f := &forms[i]
		if f.refuse != "" {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			given := f.answers()
			path := sampleOf(t, f)
			taken, err := takenOf(path, given)
			if err != nil {
				t.Fatal(err)
			}
			said(t, f, &taken)
			s := takeSample(path)
			p, err := settle(path, given)
			if err != nil {
				t.Fatal(err)
			}
			when := s.find(&p.plan, colTime)
			if len(s.names) == 0 && when < 0 {
				when = 0
			}
			// Times in another unit than any that the program can tell.
			for _, wrong := range []string{"637134336000000000", "1.57075E+12", "7"} {
				if _, dated := dayOf(s.file); dated && wrong == "7" {
					continue // ms of that day; of several rows TestSuspiciousTablesAreRefused plants them
				}
				text := strings.Replace(f.sample, at(s.rows[len(s.rows)-1], when), wrong, 1)
				if _, err := takenOf(rewritten(t, f, "", text), given); err == nil {
					t.Errorf("the time %s is read\n%s", wrong, text)
				}
			}
			// A value of the side that does not say who bought.
			if side := s.find(&p.plan, colSide); side >= 0 && at(s.rows[0], side) != "" && p.plan.whose != "sign" {
				value := at(s.rows[0], side)
				last := strings.LastIndex(f.sample, value)
				if first := strings.Index(f.sample, `"`+value+`"`); first >= 0 {
					last = first + 1
				}
				text := f.sample[:last] + "both" + f.sample[last+len(value):]
				if _, err := takenOf(rewritten(t, f, "", text), given); err == nil {
					t.Errorf("the side both is read\n%s", text)
				}
			}
			// Contracts: the name says so, and the amounts of the file do not decide.
			if f.file == "" && !strings.Contains(f.sample, "BTC") && s.find(&p.plan, colSymbol) < 0 {
				taken, err := takenOf(rewritten(t, f, "BTCUSD_PERP-", f.sample), given)
				if err == nil && !strings.Contains(taken.Amount, "by the price") && given.Amount+f.Amount == "" {
					t.Errorf("a perpetual future: %s", taken.Amount)
				}
			}
		})
	}
}

// said checks that the paragraph names the unit and zone of times, what amounts count, whose side is named, and the
// scale of prices.
func said(t *testing.T, f *form, taken *Taken) {
	t.Helper()
	text := taken.String()
	if !strings.Contains(text, f.name) || taken.Rows == 0 {
		t.Errorf("no name of the form in %s", text)
	}
	if !strings.Contains(taken.Time, "Unix") && !strings.Contains(taken.Time, "zone") &&
		!strings.Contains(taken.Time, "UTC") {
		t.Errorf("no zone in %s", taken.Time)
	}
	if !containsOne(taken.Amount, "base", "quote", "contracts") || !containsOne(taken.Side, "taker", "maker", "none") {
		t.Errorf("amount %s, side %s", taken.Amount, taken.Side)
	}
	if scaled := strings.Contains(taken.Price, "divided by"); scaled != (f.PriceScale != "" || f.asks != "" &&
		strings.Contains(f.asks, "price-scale")) {
		t.Errorf("price %s", taken.Price)
	}
	if f.why != "" && !strings.Contains(text, f.why) {
		t.Errorf("%q is not said", f.why)
	}
}

func containsOne(text string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// TestSuspiciousTablesAreRefused plants the mistakes that no form has: each is refused with the flag that answers it.
func TestSuspiciousTablesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text, want string
		answer           Layout
	}{
		"row numbers": {
			"AAPL_20200102.csv", "1,100.1,5\n2,100.2,5\n", "--time-format", Layout{TimeFormat: "day-ms"},
		},
		"seconds of the day": {
			"AAPL_20200102.csv", "34200,100.1,5\n34201,100.2,5\n", "day-s", Layout{TimeFormat: "day-s"},
		},
		"a clock without colons": {
			"AAPL_20200102.csv", "93000,100.1,5\n93001,100.2,5\n", "150405", Layout{TimeFormat: "150405"},
		},
		"day and month": {
			"a.csv", "time,price,amount\n02/03/2010 16:53:50,1,5\n", "month", Layout{TimeFormat: "01/02/2006 15:04:05"},
		},
		"one comma": {
			"a.csv", "time;price;amount\n1700000000;1,234;5\n", "--decimal", Layout{Decimal: "comma"},
		},
		"Lean without its path": {
			"20131004_spy_minute_trade.csv", "34200000,1676500,1676500,1676500,1676500,20000\n", "--price-scale",
			Layout{PriceScale: "10000", Timezone: "America/New_York"},
		},
		"a swap": {
			"a.csv", "time,symbol,price,amount\n1700000000,BTC-USDT-SWAP,35000,5\n", "contracts",
			Layout{Amount: "contracts", ContractValue: "0.01base"},
		},
		"Tardis trades of BitMEX": {
			"a.csv", tardisHead + "id,side,price,amount\nbitmex,XBTUSD,1700000000000000,1700000000000000,1,buy,1,1\n",
			"contracts",
			Layout{Amount: "quote"},
		},
		"amounts that do not fit": {
			"a.csv", "time,price,qty,quote_qty\n1700000000,100,5,7\n", "--amount", Layout{Amount: "base"},
		},
		"the volume in dollars": {
			"a.csv", "date,symbol,open,high,low,close,Volume USD\n2020-01-01,BTC/USD,1,1,1,1,5\n", "--amount quote",
			Layout{Amount: "quote"},
		},
		"bad rows": {
			"a.csv", "1700000000,1,5\n1700000001,1,0\n1700000002,1,5\n", "amount", Layout{SkipBad: "40"},
		},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := takenOf(path, Layout{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a refusal with %s", name, err, c.want)
		}
		if _, err := takenOf(path, c.answer); err != nil {
			t.Errorf("%s with %s: %v", name, c.answer.Flags(), err)
		}
	}
}

// TestUnitsOfAmounts compares base amounts with what contracts, quote amounts and signs make of them.
func TestUnitsOfAmounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, want string
		given      Layout
	}{
		"quote":     {"1700000000,2000,500,buy\n", "0.25", Layout{Amount: "quote"}},
		"contracts": {"1700000000,2000,5,buy\n", "0.25", Layout{Amount: "contracts", ContractValue: "100"}},
		"contracts of base": {
			"1700000000,2000,25,buy\n", "0.25", Layout{Amount: "contracts", ContractValue: "0.01base"},
		},
		"a sign": {"1700000000,2000,-0.25\n", "0.25", Layout{Side: "sign"}},
		"weighed": {
			"time,price,qty,base_qty,side\n1700000000,2000,5,0.25,buy\n", "0.25", Layout{},
		},
		"swapped": {
			"time,price,volume,quoteVolume,side\n1700000000,2000,500,0.25,buy\n", "0.25", Layout{},
		},
		"rounded": {"1700000000,3,1,buy\n", "0.33333333", Layout{Amount: "quote"}},
	} {
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := New("trades", []string{path})
		if err != nil || Use(r, c.given) != nil {
			t.Fatal(err)
		}
		s, err := Learn(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, _, err := s.Choose(0, 0, false); err != nil {
			t.Fatal(err)
		}
		var rec Record
		if err := r.Open(s); err != nil {
			t.Fatal(err)
		}
		err = r.Next(&rec)
		want, _ := ParseDecimal([]byte(c.want))
		if lots, _ := want.Units(s.Amount.Chosen()); err != nil || rec.Amount != lots {
			t.Errorf("%s: %d lots, %v, want %s", name, rec.Amount, err, c.want)
		}
		r.Close()
	}
}

// TestALayoutKeepsItsFlags says that the flags of a detected file give the same rows, and that a layout file has them.
func TestALayoutKeepsItsFlags(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my.toml")
	const text = "columns = \"time=3,price=1\"\ntimezone = \"+02:00\"\nskip-bad = \"2\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := ReadLayout(path)
	if err != nil || l.Check() != nil || l.Flags() != "--columns time=3,price=1 --timezone +02:00 --skip-bad 2" {
		t.Errorf("%s, %v", l.Flags(), err)
	}
	if got := (Layout{Timezone: "UTC"}).Over(l); got.Timezone != "UTC" || got.Columns != l.Columns {
		t.Errorf("%+v", got)
	}
	if err := os.WriteFile(path, []byte("colums = \"time=3\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLayout(path); err == nil || !strings.Contains(err.Error(), "colums") {
		t.Errorf("an unknown key: %v", err)
	}
	for _, bad := range []Layout{
		{Columns: "time"},
		{Columns: "when=3"},
		{Columns: "time=1,time=2"},
		{TimeFormat: "hours"},
		{Timezone: "Moon"},
		{Decimal: ";"},
		{PriceScale: "300"},
		{Amount: "lots"},
		{Amount: "contracts"},
		{ContractValue: "5"},
		{Side: "both"},
		{Side: "buy=1"},
		{BarVolume: "0"},
		{SkipBad: "101"},
	} {
		if bad.Check() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
