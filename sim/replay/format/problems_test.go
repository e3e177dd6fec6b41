package format

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A survey goes on behind a line that is wrong by itself, lists the first problems and counts all. It ends at a problem
// that makes the lines behind it unsure.
func TestASurveyListsTheProblemsOfAFile(t *testing.T) {
	t.Parallel()
	rows := func(format string, n int) (text string) {
		for i := range n {
			text += fmt.Sprintf(format, 1_700_000_000+i) + "\n"
		}
		return text
	}
	order := rows("%d000000000,2,7,A,B,1,0,12,128,A", 3)
	for name, c := range map[string]struct {
		format, text string
		first, last  string
		lines        int
	}{
		"one": {
			"trades", "1700000000,1,1\n1700000001,-1,1\n", `f:2:12: price "-1"`, `f:2:12: price "-1"`, 1,
		},
		"many": {
			"trades", "1700000000,1,1\n" + rows("%d,x,1", 30), `f:2:12: price "x"`,
			"30 problems, of which the first 20 are listed", 21,
		},
		"several kinds": {
			"trades", "time,price,amount,side\n1700000000,1,1,buy\n1700000001,1,1\n1700000002,1,1,up\nnow,1,1,buy\n" +
				"1700000003,1,1,buy,5\n", "f:3:14: 3 columns", "4 problems", 5,
		},
		"all rows": {"trades", "time,price,amount\n" + rows("%d,0,1", 3), "f:2:12: price", "3 problems", 4},
		"back in time": {
			"trades", "1700000000,x,1\n1700000005,1,1\n1700000001,x,1\n1700000002,x,1\n", "f:1:12", "2 problems", 3,
		},
		"a second symbol": {
			"trades", "symbol,time,price,amount\nA,1700000000,1,1\nA,1700000001,0,1\nB,1700000002,1,1\n" +
				"A,1700000003,0,1\n", "f:3:14", "2 problems", 3,
		},
		"Databento": {"databento", mboHead + order, `f:2:31: size "0"`, "3 problems", 4},
		"Tardis trades": {
			"tardis", tardisHead + "id,side,price,amount\n" + rows("a,BTCUSDT,%[1]d000000,%[1]d000000,1,buy,0,1", 25) +
				rows("a,BTCUSDT,%[1]d000000,%[1]d,1,buy,1,1", 1) + "a,b\n", `f:2:51: price "0"`,
			"27 problems, of which the first 20 are listed", 21,
		},
		"Tardis levels": {
			"tardis", tardisHead + "is_snapshot,side,price,amount\n" +
				"a,BTCUSDT,1700000000000000,1700000000000000,true,bid,1,1\n" +
				"a,BTCUSDT,1700000000000000,1700000000000000,true,bit,1,1\n" +
				"a,BTCUSDT,1700000000000000,1700000000000000,true,bid,2,1\n" +
				"a,BTCUSDT,1700000000000000,1700000001000000,false,bid,x,1\n" +
				"a,BTCUSDT,1700000000000000,1700000002000000,false,bid,1\n" +
				"a,BTCUSDT,1700000000000000,1700000003000000,false,bid,1,1\n", `f:3:50: side "bit"`, "3 problems", 4,
		},
		"Kraken": {
			"kraken", `{"error":[],"result":{"XXBTZUSD":[["1","1",1700000000.1,"b","l",""],
["0","1",1700000000.2,"b","l",""],["1","1",1700000000.3,"x","l",""],["1"]]}}` + "\n",
			`f:2:1: price "0"`, "3 problems", 4,
		},
		"Binance": {
			"binance", rows(`%d000000000 {"e":"trade","s":"A","p":"1","q":"0","m":true}`, 25), "f:1:",
			"25 problems, of which the first 20 are listed", 21,
		},
	} {
		_, _, err := learnText(t, c.format, "", c.text)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		got := strings.Split(err.Error(), "\n")
		if len(got) != c.lines || !strings.HasPrefix(got[0], c.first) || !strings.HasPrefix(got[len(got)-1], c.last) {
			t.Errorf("%s: %d lines\n%s", name, len(got), err)
		}
	}
}

// A file of another format shows its first three problems, their number, and how to find out what it is. A file of this
// format, however wrong, is not called another one.
func TestAFileOfAnotherFormatIsNamed(t *testing.T) {
	t.Parallel()
	many := func(line string) string { return strings.Repeat(line+"\n", 30) }
	for name, c := range map[string]struct {
		format, text, hint string
		lines              int
	}{
		"trades":  {"binance", many("1700000000,1,1,buy"), "looks like trades, not binance", 5},
		"LOBSTER": {"trades", many("34200.1,1,7,10,1000000,1"), "looks like lobster, not trades", 5},
		"a header": {
			"databento", "time,price,amount\n" + many("1700000000,1,1"), "looks like trades, not databento", 2,
		},
		"unknown":          {"bitstamp", "BZh91AY&SY\n", "has no known format, not bitstamp", 2},
		"the right format": {"bitstamp", many(`1700000000000 trade {"price":"x"}`), "", 21},
	} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := New(c.format, []string{file})
		if err == nil {
			_, err = Learn(r)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		text := Problems(c.format, []string{file}, "", err).Error()
		got := strings.Split(text, "\n")
		last := "f " + c.hint + ": run tickhive replay --detect " + file + " to see what it is"
		if c.hint == "" {
			last = "31 problems, of which the first 20 are listed"
		}
		if len(got) != c.lines || got[len(got)-1] != last {
			t.Errorf("%s: %d lines, want %d\n%s", name, len(got), c.lines, text)
		}
	}
}

// A wrong message of LOBSTER does not shift the books against the messages behind it.
func TestASurveyOfLOBSTERKeepsItsFilesSideBySide(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), []string(nil)
	for _, f := range [][2]string{
		{"a", "34200.1,1,1,10,1000000,1\n34200.2,9,1,10,1000000,1\n34200.3,1,2,x,1000000,1\n34200.4,7,0,0,-1,-1\n"},
		{"b", "1000500,7,1000000,10\n1000500,7,1000000,10\n1000500,7,1000000,10\n1000500,7,1000000\n"},
	} {
		files = append(files, filepath.Join(dir, f[0]))
		if err := os.WriteFile(files[len(files)-1], []byte(f[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := New("lobster", files)
	if err == nil {
		_, err = Learn(r)
	}
	got := strings.Split(err.Error(), "\n")
	if len(got) != 4 || !strings.HasPrefix(got[0], "a:2:9: type") || !strings.HasPrefix(got[1], "a:3:13: size") ||
		!strings.HasPrefix(got[2], "b:4:11: level 1") || got[3] != "3 problems" {
		t.Error(err)
	}
}
