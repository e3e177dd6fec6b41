package format

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var updateForms = flag.Bool("update", false, "write the table of forms into docs/contract/recordings.md")

// pathsOfForms maps forms that are known by a path to one.
var pathsOfForms = map[string]string{
	"Lean quotes": "20140504_xauusd_tick_quote.csv", "FI-2010": "Train_Dst_NoAuction_DecPre_CF_1.txt",
	"Lean shares, USA, ticks":    "equity/usa/tick/spy/20131007_spy_Trade_Tick.csv",
	"Lean shares, USA":           "equity/usa/minute/spy/20131004_spy_minute_trade.csv",
	"Lean shares, India":         "equity/india/minute/yesbank/20190709_yesbank_minute_trade.csv",
	"Lean shares":                "20131004_spy_minute_trade.csv",
	"Yahoo, currencies":          "BTC-USD.csv",
	"HistData, MetaTrader":       "DAT_MT_EURUSD_M1_201202.csv",
	"HistData":                   "DAT_ASCII_EURUSD_M1_201202.csv",
	"bars without a header":      "a.csv",
	"Investing.com":              "Bitcoin Historical Data.csv",
	"Databento, fixed-point CSV": "esh1.csv",
}

// answersOfForms maps the flags for which forms ask to an answer.
var answersOfForms = Layout{
	Amount: "base", Side: "buy=bid,sell=ask", PriceScale: "10000", Timezone: "America/New_York",
}

// sampleOf writes the sample of a form where the form is known by its path.
func sampleOf(t *testing.T, f *form) string {
	t.Helper()
	name := pathsOfForms[f.name]
	if name == "" {
		name = "sample"
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(f.sample), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEveryFormKnowsItsSample says of each form that its sample is known as this form, that it is refused with the
// flags that it asks for, and that it is read with them.
func TestEveryFormKnowsItsSample(t *testing.T) {
	t.Parallel()
	for i := range forms {
		f := &forms[i]
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			path := sampleOf(t, f)
			if got := formOf(takeSample(path)); got != f {
				t.Fatalf("known as %+v", got)
			}
			given := Layout{}
			for _, flag := range append(strings.Fields(f.asks), f.refuse)[:max(1, len(strings.Fields(f.asks)))] {
				if f.asks == "" && f.refuse == "" {
					break
				}
				_, err := learnFile(path, given)
				if err == nil || !strings.Contains(err.Error(), f.name) || !strings.Contains(err.Error(), flag) {
					t.Fatalf("got %v, want a refusal that names the form and %s", err, flag)
				}
			}
			for _, o := range given.options() {
				for _, answer := range answersOfForms.options() {
					if o.name == answer.name && strings.Contains(f.asks, o.name) {
						*o.value = *answer.value
					}
				}
			}
			if f.name == "Gate trades" {
				given.Side = "buy=1,sell=2"
			}
			if strings.HasPrefix(f.name, "HistData") {
				given.BarVolume = "1"
			}
			s, err := learnFile(path, given)
			if f.refuse == "" && (err != nil || s.Records == 0) {
				t.Fatalf("%v", err)
			}
		})
	}
}

// learnFile reads a table with a layout.
func learnFile(path string, given Layout) (*Survey, error) {
	r, err := New("trades", []string{path})
	if err != nil {
		return nil, err
	}
	if err := Use(r, given); err != nil {
		return nil, err
	}
	return Learn(r)
}

// tableOfForms returns the table of the documentation.
func tableOfForms() string {
	var b strings.Builder
	b.WriteString("| Form | Known by | Read with | Says, or asks for | Tried on a vendor's file |\n")
	b.WriteString("|---|---|---|---|---|\n")
	for i := range forms {
		f := &forms[i]
		tried := "not tried on a vendor's file"
		if f.tried {
			tried = "yes"
		}
		var known []string
		if f.header != "" {
			known = append(known, "columns `"+f.header+"`")
		}
		if f.cells != "" {
			known = append(known, fmt.Sprintf("%d columns without a header", len(f.cells)))
		}
		if f.file != "" {
			known = append(known, "the path")
		}
		if f.whole {
			known = append(known, "whole prices")
		}
		if f.fits {
			known = append(known, "prices in this order")
		}
		says := []string{}
		if f.why != "" {
			says = append(says, f.why)
		}
		if f.asks != "" {
			says = append(says, "asks for `--"+strings.ReplaceAll(f.asks, " ", "`, `--")+"`")
		}
		if f.refuse != "" {
			says = append(says, "refused: "+f.refuse)
		}
		flags := f.Flags()
		if flags != "" {
			flags = "`" + flags + "`"
		}
		source := f.name
		if strings.HasPrefix(f.source, "http") && !strings.Contains(f.source, " ") {
			source = "[" + f.name + "](" + f.source + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", source, strings.Join(known, "; "), flags,
			strings.Join(says, "; "), tried)
	}
	return b.String()
}

// TestTheTableOfFormsIsDocumented compares the forms with their table; -update writes it.
func TestTheTableOfFormsIsDocumented(t *testing.T) {
	t.Parallel()
	const path = "../../../docs/contract/recordings.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin = "<!-- forms: go test ./sim/replay/format -run TableOfForms -update -->\n"
	const end = "<!-- end of forms -->"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the marks of the table are missing")
	}
	want := before + begin + tableOfForms() + end + after
	if want == string(text) {
		return
	}
	if !*updateForms {
		t.Fatal("the table of forms is out of date; run with -update")
	}
	if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}
