package format

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
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
			"30 problems", 2,
		},
		"several kinds": {
			"trades", "time,price,amount,side\n1700000000,1,1,buy\n1700000001,1,1\n1700000002,1,1,up\nnow,1,1,buy\n" +
				"1700000003,1,1,buy,5\n", "f:3:14: 3 columns", "4 problems", 5,
		},
		"all rows": {"trades", "time,price,amount\n" + rows("%d,0,1", 3), "f:2:12: price", "3 problems", 2},
		"back in time": {
			"trades", "1700000000,x,1\n1700000005,1,1\n1700000001,x,1\n1700000002,x,1\n", "f:1:12", "2 problems", 3,
		},
		"a second symbol": {
			"trades", "symbol,time,price,amount\nA,1700000000,1,1\nA,1700000001,0,1\nB,1700000002,1,1\n" +
				"A,1700000003,0,1\n", "f:3:14", "2 problems", 3,
		},
		"Databento": {"databento", mboHead + order, `f:2:31: size "0"`, "3 problems", 2},
		"Tardis trades": {
			"tardis", tardisHead + "id,side,price,amount\n" + rows("a,BTCUSDT,%[1]d000000,%[1]d000000,1,buy,0,1", 25) +
				rows("a,BTCUSDT,%[1]d000000,%[1]d,1,buy,1,1", 1) + "a,b\n", `f:2:51: price "0"`,
			"27 problems", 4,
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
			"25 problems", 2,
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

// Problems that differ in their values alone are one kind, listed with the first of them, their number and the last
// line. Kinds beyond the bound are counted.
func TestProblemsAreListedByTheirKind(t *testing.T) {
	t.Parallel()
	var p problems
	for i := range 5 {
		p.take(topOf("a").Refuse(remedyValue, "the file"))
		p.take(Position{"a", 7 + i, 3}.Refuse(remedyValue, "price %q: not a decimal number, %d digits",
			fmt.Sprint(`"`, i), i))
		p.take(Position{"a", 20 + i, 3}.Refuse(remedyValue, "amount %q: not a decimal number", "x"))
	}
	const want = "a:1:1: the file; correct the line or remove it (4 more of this kind, the last in line 1)\n" +
		`a:7:3: price "\"0": not a decimal number, 0 digits; correct the line or remove it ` +
		"(4 more of this kind, the last in line 11)\n" +
		`a:20:3: amount "x": not a decimal number; correct the line or remove it ` +
		"(4 more of this kind, the last in line 24)\n15 problems"
	if got := p.err().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for i := range maxProblems {
		p.take(topOf(fmt.Sprint("file", i)).Refuse(remedyValue, "the file"))
	}
	if got := p.err().Error(); !strings.HasSuffix(got, "\n35 problems, of which 32 are of the kinds listed") ||
		strings.Count(got, "\n") != maxProblems {
		t.Errorf("got\n%s", got)
	}
}

// A file of another format shows its first three kinds of problems, their number, and how to find out what it is. A
// file of this format, however wrong, is not called another one.
func TestAFileOfAnotherFormatIsNamed(t *testing.T) {
	t.Parallel()
	many := func(line string) string { return strings.Repeat(line+"\n", 30) }
	for name, c := range map[string]struct {
		format, text, hint string
		lines              int
	}{
		"trades":  {"binance", many("1700000000,1,1,buy"), "looks like trades, not binance", 3},
		"LOBSTER": {"trades", many("34200.1,1,7,10,1000000,1"), "looks like lobster, not trades", 3},
		"a header": {
			"databento", "time,price,amount\n" + many("1700000000,1,1"), "looks like trades, not databento", 2,
		},
		"unknown": {
			"bitstamp", "Dear reader: no market is here.\n",
			"is not bitstamp, and has none of the other formats that replay reads", 8,
		},
		"the right format": {"bitstamp", many(`1700000000000 trade {"price":"x"}`), "", 3},
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
		text := Problems(c.format, []string{file}, "", Layout{}, err).Error()
		got := strings.Split(text, "\n")
		last := "f " + c.hint + ": run tickhive replay --detect " + file + " to see what it is"
		switch {
		case c.hint == "":
			last = "31 problems"
		case strings.HasPrefix(c.hint, "is not"):
			if seen := Detect(file, "", Layout{}).String(); !strings.Contains(text+"\n", "f "+c.hint+"\n"+seen) {
				t.Errorf("%s: it does not say what Detect says\n%s", name, text)
			}
			continue
		}
		if len(got) != c.lines || got[len(got)-1] != last {
			t.Errorf("%s: %d lines, want %d\n%s", name, len(got), c.lines, text)
		}
	}
}

// A file that is recognized and not read says what it is and what to do, once and in the same words with each format
// and with Detect.
func TestAFileThatIsNotReadSaysWhatItIsAndWhatToDo(t *testing.T) {
	t.Parallel()
	const columns = "a:1:1: 5 columns of numbers: bars without a volume; " + remedyVolume
	for name, c := range map[string]struct{ text, want string }{
		"feather": {
			"ARROW1\x00\x00\xff\xff", "a:1:1: the first bytes are those of Arrow (feather); " +
				"convert the file: pandas.read_feather(a).to_parquet(b)",
		},
		"feather, version 1": {
			"FEA1\x00\x00", "a:1:1: the first bytes are those of feather; " +
				"convert the file: pandas.read_feather(a).to_parquet(b)",
		},
		"packed feather": {
			gzipped("ARROW1\x00\x00"), "a:1:1: the first bytes are those of Arrow (feather); " +
				"convert the file: pandas.read_feather(a).to_parquet(b)",
		},
		"bzip2": {"BZh91AY&SY\n", "a:1:1: the first bytes are those of bzip2; unpack the file"},
		"xz":    {"\xfd7zXZ\x00\x00", "a:1:1: the first bytes are those of xz; unpack the file"},
		"DBN of a later version": {
			"DBN\x04\x00\x00\x00\x00", "a:1:1: DBN: version 4, want 1 to 3; " +
				"convert the file to one of these, with Databento's tool dbn, or fetch the data as CSV",
		},
		"Parquet packed with Brotli": {
			parquetOf(t, &pq.Brotli), "a:1:1: parquet: row group 1: column time: the compression is BROTLI, " +
				"want none, SNAPPY, GZIP or ZSTD; write the file again with one of these: " +
				"pandas.read_parquet(a).to_parquet(b)",
		},
		"two files in a zip": {zipped(t, 2), "a:1:1: zip: it holds 2 files, not one; " +
			"unpack it and give one of its files"},
		"five columns of a bar": {"1700000000,1,2,1,2\n", columns},
	} {
		file := filepath.Join(t.TempDir(), "a")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if d := Detect(file, "", Layout{}); d.Format != "" || d.Problem == nil || d.Problem.Error() != c.want {
			t.Errorf("%s: detected %q, %v, want\n%s", name, d.Format, d.Problem, c.want)
		}
		for _, format := range []string{"trades", "binance", "databento"} {
			if c.want == columns && format != "trades" {
				continue
			}
			r, err := New(format, []string{file})
			if err == nil {
				_, err = Learn(r)
			}
			if err == nil {
				t.Errorf("%s as %s: no error", name, format)
			} else if got := Problems(format, []string{file}, "", Layout{}, err); got.Error() != c.want &&
				c.want != columns || !strings.HasPrefix(got.Error(), c.want) {
				t.Errorf("%s as %s:\n%v, want\n%s", name, format, got, c.want)
			}
		}
	}
}

// parquetOf returns a file with one trade.
func parquetOf(t *testing.T, codec compress.Codec) string {
	t.Helper()
	type row struct {
		Time   int64   `parquet:"time"`
		Price  float64 `parquet:"price"`
		Amount float64 `parquet:"amount"`
	}
	var b bytes.Buffer
	w := pq.NewGenericWriter[row](&b, pq.Compression(codec))
	if _, err := w.Write([]row{{1_700_000_000, 1.5, 2}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// zipped returns a zip of n files.
func zipped(t *testing.T, n int) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range n {
		if _, err := z.Create(string(rune('a' + i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
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
