package format

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// The readers must take or refuse any bytes: no panic, no endless loop, and every refusal
// a LineError.

func FuzzLobster(f *testing.F) {
	f.Add([]byte("34200.004241176,1,16113575,18,5853300,1"), []byte("5859100,18,5853300,18"))
	f.Add([]byte("34200.017459617,5,0,1,2238200,-1"), []byte("9999999999,0,-9999999999,0"))
	f.Fuzz(func(t *testing.T, message, row []byte) {
		var m Record
		err := parseLobsterMessage(message, &m)
		if err == nil && m.Kind != Other && (m.Amount <= 0 || m.Price <= 0 || m.NS < 0) {
			t.Fatalf("message %q gives %+v", message, m)
		}
		var r Record
		if err := parseLobsterRow(row, &r); err != nil {
			return
		}
		for _, levels := range r.Levels {
			if len(levels) > r.Depth {
				t.Fatalf("row %q: %d levels in a depth of %d", row, len(levels), r.Depth)
			}
		}
	})
}

func FuzzBitstamp(f *testing.F) {
	f.Add([]byte(`1430438404518 order_created {"price": "236.47", "amount": "2.00000000", "datetime": "1",` +
		` "id": 65595247, "order_type": 0}`))
	f.Add([]byte(`1430438404645 trade {"price": 236.47, "amount": 0.21144331, "id": 8111041}`))
	f.Add([]byte(`1430438405885 order_book {"bids": [["236.47", "1.78855669"]], "asks": []}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var r Record
		if err := (&bitstamp{stream{s: NewSurvey()}}).parse(line, &r); err == nil && r.NS < 0 {
			t.Fatalf("%q gives a time of %d", line, r.NS)
		}
	})
}

func FuzzBinance(f *testing.F) {
	f.Add([]byte(`1723161254087896568 {"stream":"btcusdt@trade","data":{"e":"trade","E":1,"s":"BTCUSDT","t":3,` +
		`"p":"61837.63","q":"0.02","T":2,"m":true,"M":true}}`))
	f.Add([]byte(`1723161254000000001 {"stream":"btcusdt@depth@100ms","data":{"e":"depthUpdate","E":1,` +
		`"s":"BTCUSDT","U":1,"u":2,"b":[["1","0"]],"a":[]}}`))
	f.Add([]byte(`1723161254000000001 {"stream":"btcusdt@bookTicker","data":{"u":5,"s":"BTCUSDT","b":"1","B":"2",` +
		`"a":"3","A":"4"}}`))
	f.Add([]byte(`{"e":"trade","E":1723161254000,"s":"BTCUSDT","p":"1","q":"2","m":false}`))
	f.Add([]byte(`{"u":5,"s":"BTCUSDT","b":"1","B":"2","a":"3","A":"4"}`))
	f.Add([]byte(`1723161254000000001 {"lastUpdateId":1,"bids":[["1","2"]],"asks":[]}`))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, line []byte) {
		var r Record
		err := (&binance{stream: stream{s: NewSurvey(), order: &lineOrder{}}}).parse(line, &r)
		if err == nil && r.Kind == Update && r.Last < r.First {
			t.Fatalf("%q: update ids turned round", line)
		}
	})
}

func FuzzKraken(f *testing.F) {
	f.Add([]byte(`{"error":[],"result":{"XBTUSDT":[["106","0.1",1762795433.97,"b","l","",1]],"last":"1"}}`))
	f.Add([]byte(`{"error":[],"result":{"XBTUSDT":[[1762777020,"1","1","1","1","0.0","0.0",0]]}}`))
	f.Add([]byte(`{"error":[],"result":{"X":{"a":["1"],"b":["1"],"c":["1","1"],"v":["1","1"],"p":["1","1"],"t":[35,` +
		`3276],"l":["1"],"h":["1"],"o":"1"}}}`))
	f.Add([]byte(`{"error":[],"result":{"X":{"pair_decimals":1,"lot_decimals":8}}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		if _, err := parseKraken("f", doc, &problems{}); err != nil {
			var bad *LineError
			if !errors.As(err, &bad) || bad.Line < 1 || bad.Column < 1 || bad.Remedy == "" {
				t.Fatalf("%q: %v", doc, err)
			}
		}
	})
}

func FuzzTrades(f *testing.F) {
	f.Add([]byte("time,price,amount,side\n1700000000,10.5,0.1,buy\n"))
	f.Add([]byte("date,time,price,amount,symbol,side\n2024-01-02,10:30:00,1,1,A,buy\n"))
	f.Add([]byte("4000,611.78,611.87,611.78,611.87,0.60046\n"))
	f.Add([]byte(`{"timestamp":1700000000000,"p":"1","q":"2","m":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := newLineReader("f", bytes.NewReader(text))
		if err != nil {
			return
		}
		r := newTable(in, NewSurvey(), unsettled())
		for {
			var row Record
			err := r.next(&row)
			if errors.Is(err, io.EOF) {
				return
			}
			var bad *LineError
			if err != nil && (!errors.As(err, &bad) || bad.Line < 1 || bad.Column < 1 || bad.Remedy == "") {
				t.Fatalf("%q: %v", text, err)
			}
			if err != nil {
				return
			}
			if row.NS < 0 || row.Kind == Trade && (row.Price == 0 || row.Amount == 0) {
				t.Fatalf("%q gives %+v", text, row)
			}
		}
	})
}

func FuzzTardis(f *testing.F) {
	for _, rows := range []string{
		"is_snapshot,side,price,amount\ne,BTCUSDT,1,1577836800100000,true,bid,99,1\n" +
			"e,BTCUSDT,1,1577836800200000,false,ask,100,0\n",
		"id,side,price,amount\ne,BTCUSDT,1,1577836800100000,7,unknown,99,1\n",
		"ask_amount,ask_price,bid_price,bid_amount\ne,BTCUSDT,1,1577836800100000,1,101,99,1\n",
		"asks[0].price,asks[0].amount,bids[0].price,bids[0].amount\ne,BTCUSDT,1,1577836800100000,101,1,,\n",
	} {
		f.Add([]byte(tardisHead + rows))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in, err := newLineReader("f", bytes.NewReader(text))
		if err != nil {
			return
		}
		file := &tardisFile{in: in, time: tardisTime}
		r := &tardis{files: []*tardisFile{file}, s: NewSurvey()}
		if err = file.begin(); err == nil {
			r.levels = file.kind == tardisLevels
			err = r.advance(file)
		}
		for last := int64(0); err == nil; {
			var row Record
			if err = r.Next(&row); err == nil && (row.NS < last || row.Kind == Trade && row.Amount == 0) {
				t.Fatalf("%q gives %+v", text, row)
			}
			last = row.NS
		}
		var bad *LineError
		if !errors.Is(err, io.EOF) && (!errors.As(err, &bad) || bad.Line < 1 || bad.Column < 1 || bad.Remedy == "") {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func FuzzDatabento(f *testing.F) {
	const head = "ts_recv,ts_event,publisher_id,instrument_id,action,side,price,size,"
	f.Add([]byte(head + "order_id,flags,symbol\n2,1723109400000000000,2,7,A,B,100.25,30,12,128,AAPL\n"))
	f.Add([]byte(head + "order_id,flags,symbol\n1723109400000000000,,2,7,R,N,,0,0,40,\n"))
	f.Add([]byte(head + "flags,bid_px_00,ask_px_00,bid_sz_00,ask_sz_00\n2,1723109400000000000,2,7,T,N,5,30,0,1,,3,0\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		r := &databento{stream: stream{paths: []string{path}}, pair: "AAPL_USD"}
		defer r.Close()
		s := NewSurvey()
		err := r.Open(s)
		for last := int64(0); err == nil; {
			var row Record
			sized := func() bool { return row.Price == 1 && row.Amount == 1 }
			if err = r.Next(&row); err == nil && (row.NS < last || row.Kind == Place && !sized()) {
				t.Fatalf("%q gives %+v", text, row)
			}
			last = row.NS
		}
		var bad *LineError
		if !errors.Is(err, io.EOF) && (!errors.As(err, &bad) || bad.Line < 1 || bad.Column < 1 || bad.Remedy == "") {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
