package replay

import (
	"errors"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/replay/format"
)

// Given digits that are fewer than the files' round half up, and the notes count what was rounded. Digits that are not
// given grow until each trade of a bar has one lot.
func TestDigitsRoundAndGrow(t *testing.T) {
	t.Parallel()
	path := file(t, "a.csv", "1700000000,1.25,1.5,buy\n1700000001,1.00000000000000000000001,1,buy\n"+
		"1700000002,1.1,1,buy\n")
	trades, report, _ := fed(t, Options{Format: "trades", Files: []string{path}, Digits: "1,0"})
	if len(trades) != 3 || trades[0].Price != 13 || trades[0].Amount != 2 || trades[1].Price != 10 {
		t.Errorf("trades %+v", trades)
	}
	notes := strings.Join(report.Left, "\n")
	if !strings.Contains(notes, "2 prices rounded to 1 digits") || !strings.Contains(notes, "1 amounts rounded to 0") {
		t.Errorf("notes %s", notes)
	}
	bars := file(t, "a.csv", "1700000000,2,3,1,2,2\n")
	r, err := New(Options{Format: "trades", Files: []string{bars}})
	if err != nil || r.PairSpec().DigitsAmount != 1 {
		t.Errorf("a volume of 2 for 4 trades: %v", err)
	}
	_, err = New(Options{Format: "trades", Files: []string{bars}, Digits: "0,0"})
	const want = "a.csv:1:20: a volume of 2 lots cannot be 4 trades; give --digits P,A"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("given digits: %v", err)
	}
}

// A unit of Unix times may change where the order of the rows holds.
func TestTheUnitOfTimesMayChange(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"1700000000,10,1,buy\n1700000001000,11,1,buy\n",
		`{"time":1700000000000,"price":10,"amount":1}` + "\n" + `{"time":1700000001,"price":11,"amount":1}` + "\n",
	} {
		trades, _, _ := fed(t, Options{Format: "trades", Files: []string{file(t, "a.csv", text)}})
		if len(trades) != 2 || trades[1].TimeNs != 1700000001_000000000 {
			t.Errorf("trades %+v", trades)
		}
	}
	_, err := New(Options{Format: "trades", Files: []string{file(t, "a.csv",
		"1700000000,10,1\n1700000002,10,1\n1700000001000,11,1\n")}})
	var bad *format.LineError
	if !errors.As(err, &bad) || bad.Line != 3 || !strings.Contains(err.Error(), "time goes back") {
		t.Errorf("a change that breaks the order: %v", err)
	}
}
