package format

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const mboHead = "ts_event,publisher_id,instrument_id,action,side,price,size,order_id,flags,symbol\n"

// learnText surveys a file with this text.
func learnText(t *testing.T, name, pair, text string) (*Survey, Reader, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := New(name, []string{path})
	if err != nil {
		t.Fatal(err)
	}
	Select(r, pair)
	s, err := Learn(r)
	return s, r, err
}

func TestDatabentoRefusesWhatItWouldMisread(t *testing.T) {
	t.Parallel()
	row := func(old, changed string) string {
		return mboHead + strings.Replace("1723109400000000000,2,7,A,B,100.25,30,12,128,AAPL\n", old, changed, 1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "f:1:1: the file is empty"},
		"no rows":         {mboHead, "no records"},
		"another header":  {"time,price,amount\n", `f:1:1: the header is "time,price,amount"`},
		"too few columns": {row(",AAPL", ""), "f:2:1: 9 columns, the header has 10"},
		"an action":       {row(",A,", ",X,"), `f:2:25: action "X" is not A, C, M, R, T, F or N`},
		"a side":          {row(",B,", ",X,"), `f:2:27: side "X" is neither A, B nor N`},
		"no side":         {row(",B,", ",N,"), "f:2:27: action A needs a side, A or B"},
		"a price":         {row("100.25", "-1.0"), `f:2:29: price "-1.0" is not above zero; prices must be above zero`},
		"no price":        {row("100.25", ""), "f:2:29: price"},
		"a size":          {row(",30,", ",0,"), "f:2:36: size \"0\": must be above zero"},
		"an order":        {row(",12,", ",-1,"), `f:2:39: order id "-1" is not a number`},
		"flags":           {row("128", "256"), `f:2:42: flags "256" are not 0 to 255`},
		"a time":          {row("1723109400000000000", "x"), "f:2:1: \"x\" is not a time"},
		"two symbols":     {row("", "") + strings.TrimPrefix(row("AAPL", "MSFT"), mboHead), `f:3:46: symbol "MSFT"`},
		"two venues":      {row("", "") + strings.TrimPrefix(row(",2,", ",3,"), mboHead), `f:3:21: publisher "3"`},
		"time goes back":  {row("", "") + strings.TrimPrefix(row("9400", "9390"), mboHead), "f:3:1: time goes back"},
		"receipt goes back": {
			strings.Replace(mboHead, "ts_event", "ts_recv,ts_event", 1) +
				"1723109409000000000,1723109400000000000,2,7,A,B,100.25,30,12,128,AAPL\n" +
				"1723109400000000000,1723109400000000000,2,7,A,B,100.25,30,12,128,AAPL\n",
			"f:3:1: the time of receipt goes back by 9000 ms, at most 1000 may be; sort the lines by time",
		},
		"the exchange is ahead": {
			strings.Replace(mboHead, "ts_event", "ts_recv,ts_event", 1) +
				"1723109400000000000,1723109409000000000,2,7,A,B,100.25,30,12,128,AAPL\n",
			"f:2:1: the exchange's time is 9000 ms after the time of receipt, at most 1000 may be",
		},
	} {
		_, _, err := learnText(t, "databento", "", c.text)
		var bad *LineError
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Files of one schema are read one after the other, in order of their first times, whatever their order on the command
// line. The second may begin up to a second before the end of the first.
func TestDatabentoFilesFollowEachOther(t *testing.T) {
	t.Parallel()
	row := func(seconds string, id int) string {
		return fmt.Sprintf("%s,2,7,A,B,100.25,30,%d,128,AAPL\n", seconds, id)
	}
	const a, b = "1723109400.", "1723109401."
	best := strings.Replace(mboHead, "order_id", "bid_px_00,ask_px_00,bid_sz_00,ask_sz_00", 1)
	for name, c := range map[string]struct{ first, second, want string }{
		"in order":                 {row(a+"0", 1) + row(a+"5", 2), row(b+"0", 3) + row(b+"1", 4), "1 2 3 4 "},
		"the later one first":      {row(b+"0", 3) + row(b+"1", 4), row(a+"0", 1) + row(a+"5", 2), "1 2 3 4 "},
		"half a second of overlap": {row(a+"0", 1) + row(b+"0", 2), row(a+"5", 3) + row(b+"1", 4), "1 2 3 4 1 lines"},
		"seconds of overlap": {
			row(a+"0", 1) + row("1723109409.0", 2), row(a+"5", 3),
			"g:2:1: the file begins 8500 ms before the end of the one before it; give each time once",
		},
		"another symbol": {row(a+"0", 1), strings.Replace(row(b+"0", 3), "AAPL", "MSFT", 1), `g:2:38: symbol "MSFT"`},
		"another schema": {row(a+"0", 1), "", "g:1:1: another schema than the first file has"},
	} {
		dir, second := t.TempDir(), mboHead+c.second
		if c.second == "" {
			second = best
		}
		for file, text := range map[string]string{"f": mboHead + c.first, "g": second} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r, err := New("databento", []string{filepath.Join(dir, "f"), filepath.Join(dir, "g")})
		if err != nil {
			t.Fatal(err)
		}
		var rec Record
		got, last := "", int64(0)
		for err = r.Open(NewSurvey()); err == nil; {
			if err = r.Next(&rec); err == nil {
				if rec.NS < last {
					t.Errorf("%s: time goes back", name)
				}
				last = rec.NS
				got += fmt.Sprint(rec.ID, " ")
			}
		}
		if !errors.Is(err, io.EOF) {
			got += err.Error()
		}
		got += strings.Join(r.Notes(), "")
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		r.Close()
	}
}

// The pair selects the rows of a symbol; of a file with one symbol it is the name.
func TestDatabentoSelectsASymbol(t *testing.T) {
	t.Parallel()
	text := mboHead
	for _, symbol := range []string{"AAPL", "BRK.B", "AAPL"} {
		text += "1723109400000000000,2,7,A,B,100.25,30,12,128," + symbol + "\n"
	}
	for pair, want := range map[string]int{"AAPL_USD": 2, "BRKB_USD": 1, "AAPL": 2, "BRK.B": 1} {
		s, r, err := learnText(t, "databento", pair, text)
		if err != nil || s.Records != want || s.Pair != dollarPair(pair) || s.Shape != Orders || len(r.Notes()) != 1 {
			t.Errorf("%s: %+v %v %v", pair, s, r.Notes(), err)
		}
	}
	if _, _, err := learnText(t, "databento", "BTC_USD", text); err == nil ||
		!strings.Contains(err.Error(), "no rows of the pair, 3 of other symbols") {
		t.Error(err)
	}
	s, r, err := learnText(t, "databento", "BTC_USD", strings.ReplaceAll(text, "BRK.B", "AAPL"))
	if err != nil || s.Records != 3 || len(r.Notes()) != 0 {
		t.Errorf("%+v %v", s, err)
	}
}

// A price without a decimal point counts units of 10^-9, as Databento writes it without pretty_px.
func TestDatabentoPricesWithoutAPoint(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"100250000000": "100.250000000", "1": "0.000000001", "1234567890": "1.234567890", "1.5": "1.5", "": "",
		"-5": "-5",
	} {
		if got := string(pointed([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
