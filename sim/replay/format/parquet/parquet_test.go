package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// row has the types of columns that recorded files have. Nested ones are left out.
type row struct {
	ID     int64     `parquet:"id,delta"`
	Time   time.Time `parquet:"timestamp,timestamp(microsecond)"`
	Price  float64   `parquet:"price"`
	Small  float32   `parquet:"small"`
	Amount int64     `parquet:"amount,decimal(4:18)"`
	Side   string    `parquet:"side,dict"`
	Maker  bool      `parquet:"is_buyer_maker"`
	Cost   *float64  `parquet:"cost,optional"`
	Symbol *string   `parquet:"symbol,optional,dict"`
	Count  uint64    `parquet:"count"`
	Day    int32     `parquet:"day,date"`
	Fee    struct {
		Cost float64 `parquet:"cost"`
	} `parquet:"fee"`
	Tags []string `parquet:"tags"`
	Last int32    `parquet:"last,dict"`
	Note *string  `parquet:"note,optional"`
}

const header = "id,timestamp,price,small,amount,side,is_buyer_maker,cost,symbol,count,day,last,note\n"

// recorded returns n rows and their text.
func recorded(n int) (rows []row, text string) {
	var b strings.Builder
	b.WriteString(header)
	for i := range n {
		r := row{
			ID: int64(i*i) - 5, Time: time.Unix(1_700_000_000, int64(i)*1000).UTC(), Price: 100 + float64(i)/100,
			Small: float32(i) / 10, Amount: int64(i) - 1, Side: []string{"buy", "sell"}[i%2], Maker: i%3 == 0,
			Count: math.MaxUint64 - uint64(i), Day: int32(i), Tags: make([]string, i%3), Last: int32(i % 7),
		}
		cost, symbol := "", ""
		if i%4 == 1 {
			v := float64(i) * 0.1
			r.Cost, cost = &v, fmt.Sprint(v)
		}
		if i%5 != 0 {
			v := []string{"BTC/USDT", "a,b\n\"c"}[i%2]
			r.Symbol, symbol = &v, []string{"BTC/USDT", "a_b__c"}[i%2]
		}
		note := strings.Repeat("n", i%90)
		if i%3 == 0 {
			note = ""
		} else {
			r.Note = &note
		}
		rows = append(rows, r)
		sign, amount := "", r.Amount
		if amount < 0 {
			sign, amount = "-", -amount
		}
		fmt.Fprintf(&b, "%d,%d,%v,%v,%s%d.%04d,%s,%t,%s,%s,%d,%s,%d,%s\n", r.ID, r.Time.UnixNano(), r.Price, r.Small,
			sign, amount/10000, amount%10000, r.Side, r.Maker, cost, symbol, r.Count,
			time.Unix(int64(r.Day)*86400, 0).UTC().Format(time.DateOnly), r.Last, note[:min(len(note), maxText)])
	}
	return rows, b.String()
}

// written returns rows as a file. Each part of them is a row group.
func written(t testing.TB, parts [][]row, options ...pq.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[row](&b, options...)
	for _, rows := range parts {
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(file []byte) (string, error) {
	r, err := NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

// Every compression, both versions of pages, several pages and row groups give the rows.
func TestRowsAreRead(t *testing.T) {
	t.Parallel()
	rows, want := recorded(1000)
	for name, codec := range map[string]compress.Codec{
		"none": &pq.Uncompressed, "snappy": &pq.Snappy, "gzip": &pq.Gzip, "zstd": &pq.Zstd,
	} {
		for version := 1; version <= 2; version++ {
			file := written(t, [][]row{rows[:300], rows[300:]}, pq.Compression(codec), pq.DataPageVersion(version),
				pq.PageBufferSize(512))
			got, err := read(file)
			if err != nil || got != want {
				t.Errorf("%s, version %d: %v\n%.600s\nwant\n%.600s", name, version, err, got, want)
			}
		}
	}
}

func TestOtherCompressionsAreRefusedByName(t *testing.T) {
	t.Parallel()
	rows, _ := recorded(10)
	_, err := read(written(t, [][]row{rows}, pq.Compression(&pq.Brotli)))
	const want = "parquet: row group 1: column id: the compression is BROTLI, want none, SNAPPY, GZIP or ZSTD"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// A file that is cut anywhere, or has one wrong byte anywhere, gives an error or rows, and never a panic.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	rows, want := recorded(6)
	for _, codec := range []compress.Codec{&pq.Uncompressed, &pq.Snappy} {
		file := written(t, [][]row{rows}, pq.Compression(codec), pq.DataPageVersion(1))
		for n := range file {
			if _, err := read(file[:n]); err == nil {
				t.Fatalf("%d of %d bytes: no error", n, len(file))
			}
			for _, with := range []byte{0xff, file[n] ^ 1} {
				b := bytes.Clone(file)
				b[n] = with
				if text, _ := read(b); len(text) > 10*len(want) {
					t.Fatalf("byte %d is %d: %d bytes of text, %d without it", n, with, len(text), len(want))
				}
			}
		}
	}
}

// A list that is longer than the metadata allocates nothing.
func TestALongListIsRefused(t *testing.T) {
	t.Parallel()
	meta := []byte{0x15, 2, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0}
	file := append([]byte("PAR1"), meta...)
	file = append(append(file, byte(len(meta)), 0, 0, 0), "PAR1"...)
	if _, err := read(file); err == nil || err.Error() != "parquet: damaged metadata" {
		t.Error(err)
	}
}

// A run of values that is much longer than its page allocates nothing: the number of values of the page counts.
func TestALongRunIsReadAsFarAsItsPage(t *testing.T) {
	type side struct {
		Side int32 `parquet:"side,dict"`
	}
	const values, runs, run = 4096, 40, 16 << 20
	var b bytes.Buffer
	w := pq.NewGenericWriter[side](&b, pq.DataPageVersion(1))
	rows := make([]side, values)
	for i := range rows {
		rows[i].Side = 7 + int32(i%256)
	}
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	meta, protocol := whole.meta, new(thrift.CompactProtocol)
	column := &meta.RowGroups[0].Columns[0].MetaData
	var page format.PageHeader
	if _, err := decode(b.Bytes()[column.DataPageOffset:], &page); err != nil {
		t.Fatal(err)
	}
	body := []byte{8} // bits of an index
	for range runs {
		body = append(binary.AppendUvarint(body, run<<1), 0)
	}
	page.CRC, page.CompressedPageSize, page.UncompressedPageSize = 0, int32(len(body)), int32(len(body))
	head, err := thrift.Marshal(protocol, &page)
	if err != nil {
		t.Fatal(err)
	}
	file := slices.Concat(b.Bytes()[:column.DataPageOffset], head, body)
	column.TotalCompressedSize = int64(len(file) - len(magic))
	end, err := thrift.Marshal(protocol, &meta)
	if err != nil {
		t.Fatal(err)
	}
	file = append(binary.LittleEndian.AppendUint32(append(file, end...), uint32(len(end))), magic...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text, err := read(file)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > run {
		t.Errorf("%d bytes are allocated for a file of %d", n, len(file))
	}
	if want := "side\n" + strings.Repeat("7\n", values); err != nil || text != want {
		t.Errorf("%v: %d bytes, want %d", err, len(text), len(want))
	}
}

func FuzzReader(f *testing.F) {
	rows, _ := recorded(8)
	for _, codec := range []compress.Codec{&pq.Uncompressed, &pq.Snappy, &pq.Gzip, &pq.Zstd} {
		for version := 1; version <= 2; version++ {
			f.Add(written(f, [][]row{rows[:4], rows[4:]}, pq.Compression(codec), pq.DataPageVersion(version)))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		text, _ := io.ReadAll(io.LimitReader(r, 1<<20))
		if lines := strings.Split(string(text), "\n"); len(text) < 1<<20 {
			for _, line := range lines[:len(lines)-1] {
				if strings.Count(line, ",") != strings.Count(lines[0], ",") {
					t.Fatalf("%q: not as many columns as %q", line, lines[0])
				}
			}
		}
	})
}
