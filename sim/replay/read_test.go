package replay

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/sim/replay/format"
)

// file writes a file of the test's own.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const goodMessage = "34200.1,1,1,10,1000000,1\n"

func TestABadLineNamesFileLineAndReason(t *testing.T) {
	row := "1000100,5,1000000,10\n"
	created := `1430438404000 order_created {"price":"2.00","amount":"1.0","id":1,"order_type":0}` + "\n"
	book := `1430438404001 order_book {"bids":[],"asks":[]}` + "\n"
	trade := `1723161254000000000 {"stream":"x@trade","data":{"s":"BTCUSDT","p":"1","q":"1","m":true}}` + "\n"
	for _, c := range []struct {
		format, text, second string
		line                 int
		reason               string
	}{
		{"lobster", goodMessage + "34200.2,1,1,10,1000000\n", row + row, 2, "5 columns"},
		{"lobster", goodMessage + "34200.2,9,1,10,1000000,1\n", row + row, 2, "type"},
		{"lobster", goodMessage + "34200.2,1,1,0,1000000,1\n", row + row, 2, "size"},
		{"lobster", goodMessage + "34200.2,1,1,10,-5,1\n", row + row, 2, "price"},
		{"lobster", goodMessage + "34200.2,1,1,10,1000000,0\n", row + row, 2, "direction"},
		{"lobster", goodMessage + "34200.0,1,1,10,1000000,1\n", row + row, 2, "time goes back"},
		{"lobster", goodMessage + "x,1,1,10,1000000,1\n", row + row, 2, "time"},
		{"lobster", goodMessage + goodMessage, row, 1, "ended before"},
		{"lobster", goodMessage, row + row, 2, "message file has ended"},
		{"lobster", goodMessage + goodMessage, row + "1000100,5,1000000\n", 2, "without a size"},
		{"lobster", goodMessage + goodMessage, row + "1000100,5,1000000,10,1000050,5,999900,1\n", 2, "not worse"},
		{"lobster", goodMessage + goodMessage, row + "1000100,5\n", 2, "half"},
		{"bitstamp", created + "1430438404001 order_moved {}\n" + book, "", 2, "kind"},
		{"bitstamp", created + "x order_book {}\n", "", 2, "time"},
		{"bitstamp", created + "1430438404001 order_book {\"bids\":[]}\n", "", 2, "bids and asks"},
		{
			"bitstamp", created + "1430438404001 order_created {\"price\":\"1\",\"amount\":\"1\",\"id\":1}\n", "", 2,
			"order_type",
		},
		{
			"bitstamp", created +
				"1430438404001 order_created {\"price\":\"-1\",\"amount\":\"1\",\"id\":1,\"order_type\":0}\n", "", 2,
			"above zero",
		},
		{"bitstamp", created + "1430438404001 order_created {", "", 2, "JSON"},
		{"bitstamp", created, "", 1, "no order_book"},
		{"binance", trade + "1723161254000000001 []\n", "", 2, "JSON"},
		{"binance", trade + "1723161254000000001 {}\n", "", 2, "neither"},
		{
			"binance", trade + `1723161254000000001 {"stream":"x@depth","data":{"b":[],"a":[]}}` + "\n", "", 2,
			"update ids",
		},
		{
			"binance", trade + `1723161254000000001 {"stream":"x@trade","data":{"p":"1","q":"1"}}` + "\n", "", 2,
			"m (buyer",
		},
		{"binance", trade + `1723161254000000001 {"stream":"x@depth@100ms","data":{"U":1,"u":2,"b":[["1"]],"a":[]}}` +
			"\n", "", 2, "level"},
		{"trades", "1700000000,10,1,buy\n1700000001,x,1,buy\n", "", 2, "price"},
		{"trades", "1700000000,10,1,buy\n1700000001,1,0,buy\n", "", 2, "amount"},
		{"trades", "1700000000,10,1,buy\n1700000001,1,1,up\n", "", 2, "side"},
		{"trades", "1700000000,10,1,buy\n1700000001,10,1,buy\n1600000001,1,1,buy\n", "", 3, "time goes back"},
		{"trades", "1700000000,10,1,buy\n1700000001,1\n", "", 2, "columns"},
		{"trades", "time,price\n1,2\n", "", 1, "header"},
		{
			"trades", "{\"time\":1700000000,\"price\":1,\"amount\":1}\n{\"time\":1700000001,\"price\":1}\n", "", 2,
			"amount",
		},
		{"trades", "{\"time\":1700000000,\"price\":1,\"amount\":1}\n{\"time\"\n", "", 2, "JSON"},
		{"trades", `{"time":1700000000,"price":1,"amount":1}` + "\n" +
			`{"time":1700000001,"price":1,"Price":2,"amount":1}` + "\n", "", 2, "second member \"Price\""},
		{"trades", `{"time":1700000000,"price":1,"amount":1,"price":1}` + "\n", "", 1, "second member \"price\""},
		{"trades", `{"p":2,"P":3,"time":1700000000,"price":1,"amount":1}` + "\n", "", 1, "second member \"P\""},
		{"trades", `{"time":1700000000,"price":1,"amount":1,"p":2,"P":3}` + "\n", "", 1, "second member \"P\""},
		{"trades", `{"time":1700000000,"price":1,"amount":1} {}` + "\n", "", 1, "JSON"},
		{"trades", `{"time":1700000000,"price":1,"amount":1]` + "\n", "", 1, "JSON"},
		{"trades", `{"time":1700000000,"price":1,,"amount":1}` + "\n", "", 1, "JSON"},
		{"trades", `{"time":1700000000,"price":1,"amount":1,}` + "\n", "", 1, "JSON"},
		{"trades", `{"time" 1700000000,"price":1,"amount":1}` + "\n", "", 1, "JSON"},
		{"trades", `{1:1700000000,"price":1,"amount":1}` + "\n", "", 1, "JSON"},
		{"trades", "", "", 0, "no rows"},
		{
			"kraken",
			"{\"error\":[],\n\"result\":{\"XBTUSDT\":[\n[\"1.0\",\"1.0\",1700000000.5,\"b\",\"l\",\"\",1],\n" +
				"[\"1.0\",\"1.0\",1700000000.5,\"x\",\"l\",\"\",2]]}}", "", 4, "side",
		},
		{
			"kraken",
			"{\"error\":[],\n\"result\":{\"XBTUSDT\":[\n[\"1.0\",\"1.0\",1700000000.5,\"b\"],\n\n" +
				"[\"1.0\",\"1.0\",1600000000.5,\"b\"]]}}", "", 5, "time goes back",
		},
		{"kraken", "{\"error\":[\"EGeneral:Too many requests\"]}", "", 1, "Too many"},
		{"kraken", "{\"error\":[],\n\"result\":}", "", 2, "JSON"},
		{"kraken", "{\"error\":[],\"result\":{}} x", "", 1, "follows"},
	} {
		files := []string{file(t, "first", c.text)}
		if c.format == "lobster" {
			files = append(files, file(t, "second", c.second))
		}
		_, err := New(Options{Format: c.format, Files: files})
		var bad *format.LineError
		switch {
		case !errors.As(err, &bad):
			t.Errorf("%s %q: %v, want a LineError", c.format, c.text, err)
		case bad.Line != c.line || !strings.Contains(bad.Reason, c.reason) || bad.File != "first" &&
			bad.File != "second":
			t.Errorf("%s %q: %v, want line %d and %q", c.format, c.text, err, c.line, c.reason)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{
		{},
		{Format: "x", Files: []string{"a"}},
		{Format: "trades"},
		{Format: "trades", Files: []string{"a"}, Pair: "btc"},
		{Format: "trades", Files: []string{"a"}, Digits: "2"},
		{Format: "trades", Files: []string{"a"}, Digits: "9,10"},
		{Format: "trades", Files: []string{"/does/not/exist"}},
		{Format: "lobster", Files: []string{"a"}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
