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

// written writes a file.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// barsOf returns five minutes as a form writes them: of each the time, the prices and the volume are put into row. The
// bad one has the given values.
func barsOf(row string, bad int, values ...string) (lines []string) {
	for i := range 5 {
		v := []string{fmt.Sprint(1_700_000_040 + 60*i), "10", "12", "9", "11", "1.5"}
		if i == bad {
			copy(v[1:], values)
		}
		lines = append(lines, strings.NewReplacer("$t", v[0], "$o", v[1], "$h", v[2], "$l", v[3], "$c", v[4], "$v",
			v[5]).Replace(row))
	}
	return lines
}

// A bar that is wrong by itself hides neither the format nor the form of its file. It is named with the way to go on
// without it, and left out and counted in that way.
func TestABadBarHidesNoForm(t *testing.T) {
	t.Parallel()
	array := func(rows []string) string { return "[[" + strings.Join(rows, "],[") + "]]\n" }
	lines := func(rows []string) string { return strings.Join(rows, "\n") + "\n" }
	header := func(rows []string) string { return "time,open,high,low,close,volume\n" + lines(rows) }
	for _, form := range []struct {
		name, row string
		text      func([]string) string
	}{
		{"Kraken OHLCVT", "$t,$o,$h,$l,$c,$v,4", lines},
		{"KuCoin klines", "$t,$o,$c,$h,$l,$v,15", lines},
		{"bars without a header", "$t,$o,$h,$l,$c,$v", lines},
		{"Bitfinex candles", "$t,$o,$c,$h,$l,$v", array},
		{"Coinbase candles", "$t,$l,$h,$o,$c,$v", array},
		{"OKX candles", "$t000,$o,$h,$l,$c,$v,15,15,1", lines},
		{"Bybit answers, candles", "$t000,$o,$h,$l,$c,$v,15", array},
		{"Binance klines", "$t000,$o,$h,$l,$c,$v,1700000099999,15,4,1,10,0", lines},
		{"an unknown form", "$t,$o,$h,$l,$c,$v", header},
		{"an unknown form", `{"time":$t,"open":"$o","high":"$h","low":"$l","close":"$c","volume":"$v"}`, lines},
	} {
		for _, bad := range []struct {
			what   string
			values []string
		}{
			{`high "8" is below low "9"`, []string{"10", "8", "9", "11"}},
			{`high "10" is below open "10" or close "11"`, []string{"10", "10", "9", "11"}},
			{`low "11" is above open "10" or close "12"`, []string{"10", "12", "11", "12"}},
			{`volume "-3" is below zero`, []string{"10", "12", "9", "11", "-3"}},
			{`"x"`, []string{"10", "12", "9", "x"}},
			{`"0"`, []string{"10", "12", "0", "11"}},
		} {
			for _, at := range []int{0, 2, 4} {
				all := form.text(barsOf(form.row, at, bad.values...))
				path := written(t, "f", all)
				said := fmt.Sprintf("%s: %s in row %d\n%s", form.name, bad.what, at, all)
				d := Detect(path, "", Layout{})
				if d.Format != "trades" || d.Problem == nil || !strings.Contains(d.Problem.Error(), bad.what) ||
					!strings.HasSuffix(d.Problem.Error(), orSkip) {
					t.Errorf("%s%s: %v", said, d.Format, d.Problem)
				}
				if _, err := takenOf(path, Layout{}); err == nil || !strings.Contains(err.Error(), bad.what) {
					t.Errorf("%sread: %v", said, err)
				}
				taken, err := takenOf(path, Layout{SkipBad: "20"})
				if err != nil || taken.Rows != 4 || !strings.HasSuffix(taken.Form, form.name) ||
					!strings.Contains(taken.String(), "1 rows that are wrong by themselves: left out (--skip-bad)") {
					t.Errorf("%sleft out: %v, %s", said, err, taken.String())
				}
			}
		}
	}
}

// A row that is cut off hides no form, and the others count their columns.
func TestACutRowHidesNoForm(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 2, 4} {
		rows := barsOf("$t,$o,$h,$l,$c,$v,4", -1)
		rows[at] = rows[at][:18]
		path := written(t, "f.csv", strings.Join(rows, "\n"))
		want := fmt.Sprintf("f.csv:%d:18: 4 columns, the others have 7", at+1)
		if d := Detect(path, "", Layout{}); d.Problem == nil || !strings.HasPrefix(d.Problem.Error(), want) {
			t.Errorf("row %d: %v", at, d.Problem)
		}
		if taken, err := takenOf(path, Layout{SkipBad: "20"}); err != nil || taken.Rows != 4 {
			t.Errorf("row %d: %v, %s", at, err, taken.String())
		}
	}
	path := written(t, "f.json", `{"time":1700000040,"price":1,"amount":2}`+"\n"+`{"time":1700000041,"price":1}`+"\n")
	if taken, err := takenOf(path, Layout{SkipBad: "50"}); err != nil || taken.Rows != 1 {
		t.Errorf("a row without an amount: %v, %s", err, taken.String())
	}
}

// A row that is not the form's does not change the digits of the pair.
func TestABadRowHasNoDigits(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"1700000040,10,12,9,11,1.5\n1700000100,10,8.12345,9,11,1.5\n",
		"time,price,amount,side\n1700000040,10,1.5,buy\n1700000100,10.12345,1.5,both\n",
	} {
		r, err := New("trades", []string{written(t, "f", text)})
		if err != nil || Use(r, Layout{SkipBad: "50"}) != nil {
			t.Fatal(err)
		}
		s, err := Learn(r)
		if err != nil {
			t.Fatal(err)
		}
		if price, _, err := s.Choose(0, 0, false); err != nil || price != 0 {
			t.Errorf("%d digits, %v", price, err)
		}
	}
}

// Trades with the id of an earlier one are left out when they are that trade again, and wrong by themselves when not.
func TestARepeatedTradeID(t *testing.T) {
	t.Parallel()
	const row = "%d,100.5,0.25,25.125,%d,False,True\n"
	rows := func(ids ...int) (text string) {
		for _, id := range ids {
			text += fmt.Sprintf(row, id, 1_700_000_000_000+id)
		}
		return text
	}
	many := ""
	for id := range maxIDs + 10 {
		many += fmt.Sprintf(row, id, 1_700_000_000_000)
	}
	head := "time,trade_id,exchange,price,amount,side\n"
	const left = "rows repeat the trade id of an earlier row, with the same values: left out"
	for name, c := range map[string]struct {
		text, left, err string
		rows            int
	}{
		"none":             {text: rows(1, 2, 3), rows: 3},
		"the row before":   {text: rows(1, 2, 2, 3), rows: 3, left: "1 " + left},
		"a page again":     {text: rows(1, 2, 3, 4, 2, 3, 4, 5), rows: 5, left: "3 " + left},
		"the newest first": {text: rows(4, 3, 3, 2, 1), rows: 4, left: "1 " + left},
		"beyond the window": {
			text: many + fmt.Sprintf(row, 9, 1_700_000_000_000) + fmt.Sprintf(row, 11, 1_700_000_000_000),
			rows: maxIDs + 11, left: "1 " + left,
		},
		"another price": {
			text: rows(1, 2) + strings.Replace(rows(2), "100.5", "100.6", 1),
			err: `f:3:1: an earlier row has the trade id "2" with another time, price, amount or side; ` +
				remedyID + orSkip,
		},
		"letters": {
			text: head + "1700000000,a-b,x,1,2,buy\n1700000000,a-c,x,1,2,buy\n1700000000,a-b,x,1,2,buy\n",
			rows: 2, left: "1 " + left,
		},
		"exchanges":  {text: head + "1700000000,7,x,1,2,buy\n1700000000,7,y,1,2,buy\n", rows: 2},
		"without id": {text: head + "1700000000,,x,1,2,buy\n1700000000,,x,1,3,buy\n", rows: 2},
		"JSON": {
			text: strings.Repeat(`{"time":1700000000,"id":"7","price":1,"amount":2}`+"\n", 2),
			rows: 1, left: "1 " + left,
		},
		"a bar's id is no trade's": {
			text: "id,time,open,high,low,close,volume\n1,1700000040,1,1,1,1,1\n1,1700000100,1,1,1,1,1\n", rows: 2,
		},
	} {
		path := written(t, "f", c.text)
		taken, err := takenOf(path, Layout{})
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v", name, err)
			}
			if taken, err := takenOf(path, Layout{SkipBad: "50"}); err != nil || taken.Rows != 2 {
				t.Errorf("%s: %v, %s", name, err, taken.String())
			}
			if taken, err := takenOf(path, Layout{Columns: "time=5,price=2,amount=3"}); err != nil || taken.Rows != 3 {
				t.Errorf("%s: %v, %s", name, err, taken.String())
			}
			continue
		}
		if said := strings.Contains(taken.String(), left); err != nil || taken.Rows != c.rows ||
			!strings.Contains(taken.String(), c.left) || said != (c.left != "") {
			t.Errorf("%s: %v, %s", name, err, taken.String())
		}
	}
}

// The pages of a download may overlap. A file's own numbers of rows, which begin again in the next file, are no
// repeats.
func TestARepeatedTradeIDOfAnotherFile(t *testing.T) {
	t.Parallel()
	const row = "%d,%g,0.25,%g,%d,False,True\n"
	rows := func(price float64, ids ...int) (text string) {
		for _, id := range ids {
			text += fmt.Sprintf(row, id%100, price, price/4, 1_700_000_000_000+id)
		}
		return text
	}
	const left = "rows repeat the trade id of an earlier row, with the same values: left out"
	for name, c := range map[string]struct {
		texts []string
		ids   string // the ids of the trades that are read
		left  string // of the last file
		err   string
	}{
		"the same moment": {
			texts: []string{rows(100.5, 1, 2, 3), rows(100.5, 3, 4)}, ids: "1 2 3 4", left: "1 " + left,
		},
		"a page": {
			texts: []string{rows(100.5, 1, 2, 3), rows(100.5, 2, 3, 4, 5)}, ids: "1 2 3 4 5", left: "2 " + left,
		},
		"the newest first": {
			texts: []string{rows(100.5, 3, 2, 1), rows(100.5, 5, 4, 3, 2)}, ids: "1 2 3 4 5", left: "2 " + left,
		},
		"of the file before last": {
			texts: []string{rows(100.5, 1, 2, 3), rows(100.5, 4), rows(100.5, 3, 4, 5)},
			ids:   "1 2 3 4 5", left: "2 " + left,
		},
		"numbers that begin again": {
			texts: []string{rows(100.5, 1, 2, 3), rows(100.5, 101, 102, 103)}, ids: "1 2 3 101 102 103",
		},
		"the same id at another price": {
			texts: []string{rows(100.5, 1, 2, 3), rows(50.25, 3, 4)}, ids: "1 2 3 3 4",
		},
		"pages that disagree": {
			texts: []string{rows(100.5, 1, 2, 3, 4), rows(100.5, 2) + rows(50.25, 3) + rows(100.5, 4, 5)},
			err: `f1:2:1: a file before has the trade id "3" with another time, price, amount or side; correct or ` +
				`remove one of the two rows`,
		},
		"pages that disagree in their last row": {
			texts: []string{rows(100.5, 1, 2, 3), rows(100.5, 2) + rows(50.25, 3) + rows(100.5, 4)},
			err: `f1:2:1: a file before has the trade id "3" with another time, price, amount or side; correct or ` +
				`remove one of the two rows`,
		},
		"a repeated row, and numbers that begin again": {
			texts: []string{rows(100.5, 1, 2, 3), rows(100.5, 101, 101, 102)}, ids: "1 2 3 101 102", left: "1 " + left,
		},
		"nothing new": {
			texts: []string{rows(100.5, 1, 2, 3), rows(100.5, 2, 3)},
			err:   "f1:2:1: all 2 rows are trades of the files before; give each file once",
		},
		"earlier ones": {
			texts: []string{rows(100.5, 4, 5), rows(100.5, 1, 2, 4)},
			err: "f1:1:1: begins before the file given before it ends; give the files in order of time, " +
				"and none twice",
		},
	} {
		r, err := New("trades", filesOf(t, c.texts...))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Learn(r)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, _, err := s.Choose(2, 2, false); err != nil {
			t.Fatal(err)
		}
		var ids []string
		if err = r.Open(s); err != nil {
			t.Fatal(err)
		}
		for rec := (Record{}); ; {
			if err = r.Next(&rec); err != nil {
				break
			}
			ids = append(ids, fmt.Sprint((rec.NS-1_700_000_000_000_000_000)/1e6))
		}
		if got := strings.Join(ids, " "); !errors.Is(err, io.EOF) || got != c.ids {
			t.Errorf("%s: %v, trades %s, want %s", name, err, got, c.ids)
		}
		taken := Takings(r)
		last := taken[len(taken)-1].String()
		if said := strings.Contains(last, left); !strings.Contains(last, c.left) || said != (c.left != "") {
			t.Errorf("%s: %s", name, last)
		}
	}
}

// A quote amount that is not price x amount is counted, one that is rounded is not.
func TestQuoteAmountsAreWeighed(t *testing.T) {
	t.Parallel()
	text := ""
	for i := range 20 {
		text += fmt.Sprintf("%d,0.33333333,3,0.99999999,%d,False,True\n", i, 1_700_000_000_000+i)
	}
	text += "21,0.33333333,3,0.9999999900000001,1700000000021,False,True\n"
	const said = "trades whose quote amount is not price x amount: the quote amount is not used"
	for _, good := range []string{text, strings.ReplaceAll(text, "0.99999999,", "1.00,")} {
		if taken, err := takenOf(written(t, "f", good), Layout{}); err != nil ||
			strings.Contains(taken.String(), said) {
			t.Errorf("%v, %s", err, taken.String())
		}
	}
	text += "22,0.33333333,3,1.1,1700000000022,False,True\n23,1,3,3,1700000000023,False,True\n"
	for _, given := range []Layout{{}, {Amount: "base"}} {
		if taken, err := takenOf(written(t, "f", text), given); err != nil ||
			!strings.Contains(taken.String(), "1 "+said) {
			t.Errorf("%v, %s", err, taken.String())
		}
	}
}

// The pair that the user names comes before that of a file's name. Of files of several pairs it selects some.
func TestTheUsersPairComesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := func(name string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte("1700000000,1,2,buy\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	btc, eth, more := path("BTCUSDT.csv"), path("ETHUSDT.csv"), path("more.csv")
	for pair, want := range map[string]string{
		"":         "BTC_USDT: the file's name",
		"BTC_USDT": "BTC_USDT: the file's name",
		"BTCUSDT":  "BTC_USDT: the file's name",
		"BTC_USD":  "BTC_USD: --pair, which comes before the file's name (BTC_USDT)",
	} {
		if text := Detect(btc, pair, Layout{}).String(); !strings.Contains(text, "pair         "+want+"\n") {
			t.Errorf("--pair %s: %s", pair, text)
		}
	}
	for _, c := range []struct {
		pair, err string
		files     []string
		read      int
	}{
		{"ETH_USDT", "", []string{btc, eth, more}, 2},
		{"BTC_USD", "", []string{btc, more}, 2},
		{"BTC_USD", "ETHUSDT.csv:1:1: the file's name tells ETH_USDT", []string{btc, eth}, 0},
		{"", "ETHUSDT.csv:1:1: the file's name tells ETH_USDT", []string{btc, eth}, 0},
	} {
		r, err := New("trades", c.files)
		if err != nil {
			t.Fatal(err)
		}
		Select(r, c.pair)
		_, err = Learn(r)
		if c.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.err) {
				t.Errorf("--pair %s: %v", c.pair, err)
			}
			continue
		}
		notes := strings.Join(r.Notes(), "\n")
		left := len(c.files) - c.read
		if err != nil || len(Takings(r)) != c.read || left > 0 !=
			strings.Contains(notes, fmt.Sprintf("%d files whose names tell another pair than --pair: left out", left)) {
			t.Errorf("--pair %s: %v, %s", c.pair, err, notes)
		}
	}
}

// The refusal of a file that is unknown, or whose columns do not suffice, has what Detect prints.
func TestARefusalSaysWhatDetectSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a letter": {"Dear reader\n", "looked at"},
		"a near form": {
			"instrument_name,trade_id,side,price,created_time\n", "nearest form OKX, without the columns size",
		},
	} {
		path := written(t, "f", c.text)
		text := Detect(path, "", Layout{}).String()
		if !strings.Contains(text, c.want) {
			t.Errorf("%s:\n%s", name, text)
		}
		name, err := Sure([]string{path}, "", Layout{})
		if err == nil {
			var r Reader
			if r, err = New(name, []string{path}); err == nil {
				_, err = Learn(r)
			}
			err = Problems(name, []string{path}, "", Layout{}, err)
		}
		if err == nil || !strings.HasSuffix(err.Error()+"\n", "\n"+text) {
			t.Errorf("%s:\n%v\nwant\n%s", name, err, text)
		}
	}
}

// filesOf writes texts into files f0, f1 and so on, and returns their paths.
func filesOf(t *testing.T, texts ...string) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		paths = append(paths, filepath.Join(dir, fmt.Sprint("f", i)))
		if err := os.WriteFile(paths[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// Of files of bars, each is behind the one before: a bar in both would be fed twice.
func TestABarInTwoFilesIsRefused(t *testing.T) {
	t.Parallel()
	page := func(first, n int) (text string) {
		text = "time,open,high,low,close,volume\n"
		for i := range n {
			text += fmt.Sprintf("%d,10,12,9,11,5\n", 1_700_000_040+60*(first+i))
		}
		return text
	}
	for name, c := range map[string]struct {
		pages [2]string
		err   string
	}{
		"one bar in both": {
			[2]string{page(0, 2), page(1, 2)},
			"f1:1:1: begins with the bar of 2023-11-14T22:15:00.000Z, with which f0 ends; remove the bar from one " +
				"of the two files",
		},
		"one file twice": {
			[2]string{page(0, 1), page(0, 1)},
			"f1:1:1: begins with the bar of 2023-11-14T22:14:00.000Z, with which f0 ends; remove the bar from one " +
				"of the two files",
		},
		"two bars in both": {
			[2]string{page(0, 3), page(1, 3)},
			"f1:1:1: begins before the file given before it ends; give the files in order of time, and none twice",
		},
		"one behind the other": {[2]string{page(0, 2), page(2, 2)}, ""},
	} {
		r, err := New("trades", filesOf(t, c.pages[:]...))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Learn(r); c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}
