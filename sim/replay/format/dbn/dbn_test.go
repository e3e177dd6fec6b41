package dbn

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/replay/format/dbn/dbntest"
)

// ns is 2024-08-08T09:30:00Z.
const ns = 1723109400_000000000

var symbols = map[uint32]string{7: "AAPL", 9: "BRK.B"}

func read(t *testing.T, file []byte) (string, error) {
	t.Helper()
	r, err := NewReader(bufio.NewReader(bytes.NewReader(file)))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

var order = dbntest.Event{
	NS: ns, Instrument: 7, Action: 'A', Side: 'B', Price: 100_250_000_000, Size: 30, Flags: 128, ID: 1<<64 - 1,
}

func TestRecordsBecomeRows(t *testing.T) {
	t.Parallel()
	unset := dbntest.Event{NS: 1<<64 - 1, Instrument: 8, Action: 'R', Side: 'N', Price: dbntest.NoPrice}
	trade := dbntest.Event{NS: ns, Instrument: 9, Action: 'T', Side: 'A', Price: -1, Size: 1<<32 - 1}
	top := trade
	top.Prices, top.Sizes = [2]int64{1_500_000_000, dbntest.NoPrice}, [2]uint32{4, 0}
	deep := dbntest.Event{
		NS: ns, Instrument: 9, Action: 'A', Side: 'B', Price: 15e8, Size: 4, Flags: 130,
		Prices: [2]int64{100e9, 101e9}, Sizes: [2]uint32{3, 5},
	}
	deepHead, deepRow := "", ""
	for i := range 10 {
		deepHead += fmt.Sprintf("bid_px_%02[1]d,ask_px_%02[1]d,bid_sz_%02[1]d,ask_sz_%02[1]d,", i)
		if i < 9 {
			deepRow += fmt.Sprintf("%d.000000000,%d.000000000,%d,%d,", 100-i, 101+i, 3+i, 5+i)
		}
	}
	deepRow += ",,12,14"
	const event = "ts_recv,ts_event,publisher_id,instrument_id,action,side,price,size,"
	const received = "1723109400000001000,1723109400000000000,2,"
	for version := byte(1); version <= 3; version++ {
		for _, c := range []struct {
			schema uint16
			record []byte
			want   string
		}{
			{
				dbntest.MBO, order.Order(), event + "order_id,flags,symbol\n" +
					received + "7,A,B,100.250000000,30,18446744073709551615,128,AAPL\n",
			},
			{dbntest.MBO, unset.Order(), event + "order_id,flags,symbol\n999,,2,8,R,N,,0,0,0,8\n"},
			{
				dbntest.Trades, trade.Trade(), event + "flags,symbol\n" +
					received + "9,T,A,-0.000000001,4294967295,0,BRK.B\n",
			},
			{
				dbntest.TBBO, top.Top(), event + "flags,bid_px_00,ask_px_00,bid_sz_00,ask_sz_00,symbol\n" +
					received + "9,T,A,-0.000000001,4294967295,0,1.500000000,,4,0,BRK.B\n",
			},
			{
				dbntest.Depth, deep.Deep(), event + "flags," + deepHead + "symbol\n" +
					received + "9,A,B,1.500000000,4,130," + deepRow + ",BRK.B\n",
			},
			{
				dbntest.Bars, dbntest.Bar(ns, 7, 1e9, 3e9, 5e8, 2e9, 1<<63),
				"ts_event,publisher_id,instrument_id,open,high,low,close,volume,symbol\n1723109400000000000,2,7," +
					"1.000000000,3.000000000,0.500000000,2.000000000,9223372036854775808,AAPL\n",
			},
		} {
			got, err := read(t, dbntest.File(version, c.schema, symbols, c.record))
			if err != nil || got != c.want {
				t.Errorf("version %d:\n%s%v\nwant\n%s", version, got, err, c.want)
			}
		}
	}
}

// An instrument id means another symbol on another date, and the id itself on a date without one.
func TestSymbolsHaveDates(t *testing.T) {
	t.Parallel()
	m := metadata{names: map[uint32][]span{7: {{20240101, 20240808, "OLD"}, {20240808, 20240809, "NEW"}}}}
	for at, want := range map[uint64]string{ns - 24*3600e9: "OLD", ns: "NEW", ns + 24*3600e9: "7"} {
		if got := m.symbol(7, at); got != want {
			t.Errorf("%d: %s, want %s", at, got, want)
		}
	}
}

func TestBadFilesAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	one := order.Order()
	good := dbntest.File(3, dbntest.MBO, symbols, one, one)
	changed := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	second := len(good) - len(one)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"version 4":         {changed(3, 4), "version 4, want 1 to 3"},
		"version 0":         {changed(3, 0), "version 0"},
		"empty":             {nil, "within its first 8 bytes"},
		"short metadata":    {good[:100], "within its metadata, 92 bytes of"},
		"long metadata":     {changed(7, 0xff), "want 100 to 67108864"},
		"tiny metadata":     {append([]byte("DBN\x03\x01\x00\x00\x00"), good[8:]...), "metadata of 1 bytes"},
		"a long list":       {changed(8+104+3, 0xff), "the metadata at byte 116: a list of 4278190082, and"},
		"a definition":      {changed(8+100, 1), "a definition of the schema of 1 bytes"},
		"definition":        {dbntest.File(2, dbntest.Definition, nil), "the schema is definition, want mbo"},
		"mixed":             {dbntest.File(2, dbntest.Mixed, nil), "the schema is mixed"},
		"unknown schema":    {dbntest.File(2, 200, nil), "the schema is number 200"},
		"another type":      {changed(second+1, 0x01), "record 2, byte 640: type 0x01 in a file of mbo"},
		"another length":    {changed(second, 12), "record 2, byte 640: 48 bytes, want 56"},
		"no length":         {changed(second, 0), "record 2, byte 640: 0 bytes, at least 16"},
		"cut in the fields": {good[:len(good)-1], "record 2, byte 640: the file ends within it"},
		"cut in the header": {good[:second+5], "record 2, byte 640: the file ends within it"},
		"times of sending":  {changed(8+44, 1), "record 1, byte 584: 56 bytes, want 64"},
	} {
		if _, err := read(t, c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A live recording says its symbols and states between the records.
func TestMessagesOfTheGatewayAreLeftOut(t *testing.T) {
	t.Parallel()
	state := append([]byte{6, 0x17}, make([]byte, 22)...)
	got, err := read(t, dbntest.File(2, dbntest.MBO, symbols, state, order.Order()))
	if err != nil || strings.Count(got, "\n") != 2 {
		t.Errorf("%s%v", got, err)
	}
}

func FuzzReader(f *testing.F) {
	one := order.Order()
	for version := byte(1); version <= 3; version++ {
		f.Add(dbntest.File(version, dbntest.MBO, symbols, one, one))
		f.Add(dbntest.File(version, dbntest.Top, symbols, order.Top()))
		f.Add(dbntest.File(version, dbntest.Bars, symbols, dbntest.Bar(ns, 7, 1, 2, 1, 2, 3)))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader(bufio.NewReader(bytes.NewReader(file)))
		if err != nil {
			return
		}
		columns := -1
		for lines := bufio.NewScanner(r); ; {
			if !lines.Scan() {
				if err := lines.Err(); err != nil && !strings.HasPrefix(err.Error(), "DBN record ") {
					t.Fatalf("%v", err)
				}
				return
			}
			n := strings.Count(lines.Text(), ",")
			if columns >= 0 && n != columns {
				t.Fatalf("%q: a row of %d columns, the header has %d", lines.Text(), n+1, columns+1)
			}
			columns = n
		}
	})
}
