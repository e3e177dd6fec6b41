package fault

import (
	"strings"
	"testing"
)

// The documents of the interfaces, shortened.
const (
	summary = `[{"trading_pairs":"AA_BB","last_price":5.0,"lowest_ask":5.1,"highest_bid":4.9,"base_volume":3},` +
		`{"trading_pairs":"CC_BB","last_price":7.0,"lowest_ask":7.1,"highest_bid":6.9,"base_volume":0}]`
	byPair   = `{"AA_BB":{"last_price":"5.0","isFrozen":0},"CC_BB":{"last_price":"7.0","isFrozen":0}}`
	pairs    = `{"data":{"market_pairs":[{"market_pair":"AA/BB","base":{"symbol":"AA"}},{"market_pair":"CC/BB"}]}}`
	tickers  = `[{"symbol":"AABB","bidPrice":"4.9","askPrice":"5.1"},{"symbol":"CCBB","bidPrice":"0","askPrice":"7"}]`
	book     = `{"ticker_id":"AA_BB","bids":[[4.9,1],[4.8,2]],"asks":[[5.1,3],[5.2,4]]}`
	baseBook = `[{"isBid":true,"price":4.9},{"isBid":true,"price":4.8},{"isBid":false,"price":5.1}]`
	trades   = `{"buy":[{"trade_id":2,"price":5},{"trade_id":1,"price":4}],"sell":[]}`
	assets   = `{"AA":{"name":"Aa \u003c","maker_fee":0.001}}`
	candles  = `[{"date":"a","open":1,"max":4,"min":1,"close":2,"volume":6,"volumeBase":3},` +
		`{"date":"b","open":2,"max":5,"min":2,"close":4,"volume":8,"volumeBase":2}]`
	klines = `[[10,"1","4","1","2","3",19,"6",1,"3","6","0"],[20,"2","5","2","4","2",29,"8",1,"2","8","0"]]`
	bars   = `{"s":"ok","t":[10,20],"o":[1,2],"h":[4,5],"l":[1,2],"c":[2,4],"v":[3,2]}`
	quotes = `{"s":"ok","d":[{"s":"ok","n":"AA_BB","v":{"short_name":"AA_BB","lp":5,"bid":4.9,"ask":5.1}}]}`
)

// A rule changes the entries of its pair and no other byte, in every form in which a document lists pairs.
func TestRulesEditDocuments(t *testing.T) {
	for _, c := range []struct{ rule, one, body, from, to string }{
		{"missing pair=AA_BB", "", summary, summary[1 : strings.Index(summary, "},")+2], ""},
		{"missing pair=CC_BB", "", byPair, `,"CC_BB":{"last_price":"7.0","isFrozen":0}`, ""},
		{"missing pair=AA_BB", "", pairs, `{"market_pair":"AA/BB","base":{"symbol":"AA"}},`, ""},
		{"missing pair=CC_BB", "", tickers, `,{"symbol":"CCBB","bidPrice":"0","askPrice":"7"}`, ""},
		{"missing pair=AA_BB", "", quotes, quotes[len(`{"s":"ok","d":[`) : len(quotes)-2], ""},
		{"null pair=AA_BB", "", summary, `"last_price":5.0`, `"last_price":null`},
		{"null pair=AA_BB member=amount", "", summary, `"base_volume":3`, `"base_volume":null`},
		{"null pair=AA_BB member=highest_bid", "", summary, `"highest_bid":4.9`, `"highest_bid":null`},
		{"zero pair=CC_BB", "", byPair, `"7.0"`, `"0"`},
		{"zero", "AA_BB", book, `[[4.9,1],[4.8,2]],"asks":[[5.1,`, `[[0,1],[4.8,2]],"asks":[[0,`},
		{
			"null member=amount", "AA_BB", book, `[[4.9,1],[4.8,2]],"asks":[[5.1,3]`,
			`[[4.9,null],[4.8,2]],"asks":[[5.1,null]`,
		},
		{"null", "AA_BB", baseBook, `"price":4.9`, `"price":null`},
		{"null", "AA_BB", trades, `"price":5`, `"price":null`},
		{"null", "AA_BB", candles, `"close":4`, `"close":null`},
		{"zero member=amount", "AA_BB", candles, `"volumeBase":2`, `"volumeBase":0`},
		{"null member=max", "AA_BB", candles, `"max":5`, `"max":null`},
		{"zero", "AA_BB", klines, `"2","4","2",29`, `"2","0","2",29`},
		{"null member=amount", "AA_BB", klines, `"4","2",29`, `"4",null,29`},
		{"null", "AA_BB", bars, `"c":[2,4]`, `"c":[2,null]`},
		{"zero member=amount", "AA_BB", bars, `"v":[3,2]`, `"v":[3,0]`},
		{"null member=h", "AA_BB", bars, `[4,5]`, `[4,null]`},
		{
			"null member=amount pair=AA_BB", "", strings.Replace(quotes, `"lp":5`, `"volume":5`, 1), `"volume":5`,
			`"volume":null`,
		},
		{"null", "AA_BB", `[{"a":1,"p":"5","q":"1"}]`, `"5"`, `null`},
		{
			"doubled", "AA_BB", candles, `[`,
			`[{"date":"a","open":1,"max":4,"min":1,"close":2,"volume":6,"volumeBase":3},`,
		},
		{"doubled", "AA_BB", klines, `[`, `[[10,"1","4","1","2","3",19,"6",1,"3","6","0"],`},
		{"crossed pair=CC_BB", "", summary, `"lowest_ask":7.1,"highest_bid":6.9`, `"lowest_ask":6.9,"highest_bid":7.1`},
		{"crossed pair=AA_BB", "", tickers, `"4.9","askPrice":"5.1"`, `"5.1","askPrice":"4.9"`},
		{"crossed", "AA_BB", book, `[[4.9,1],[4.8,2]],"asks":[[5.1,3]`, `[[5.1,3],[4.8,2]],"asks":[[4.9,1]`},
		{
			"crossed", "AA_BB", baseBook, baseBook,
			`[{"isBid":true,"price":5.1},{"isBid":true,"price":4.8},{"isBid":false,"price":4.9}]`,
		},
		{"crossed pair=AA_BB", "", quotes, `"bid":4.9,"ask":5.1`, `"bid":5.1,"ask":4.9`},
		{"doubled pair=CC_BB", "", byPair, `"CC_BB":`, `"CC_BB":{"last_price":"7.0","isFrozen":0},"CC_BB":`},
		{
			"doubled", "AA_BB", trades, `[{"trade_id":2,"price":5},`,
			`[{"trade_id":2,"price":5},{"trade_id":2,"price":5},`,
		},
		{
			"doubled", "AA_BB", bars, bars,
			`{"s":"ok","t":[10,10,20],"o":[1,1,2],"h":[4,4,5],"l":[1,1,2],"c":[2,2,4],"v":[3,3,2]}`,
		},
		{
			"doubled", "AA_BB", book, `[[4.9,1],[4.8,2]],"asks":[`,
			`[[4.9,1],[4.9,1],[4.8,2]],"asks":[[5.1,3],`,
		},
	} {
		got, happened := edited(t, c.rule, c.one, c.body)
		if want := strings.Replace(c.body, c.from, c.to, 1); !happened || got != want {
			t.Errorf("%s of %s: %v\n got %s\nwant %s", c.rule, c.body, happened, got, want)
		}
	}
}

// edited returns a document after one rule.
func edited(t *testing.T, rule, one, body string) (after string, happened bool) {
	t.Helper()
	d, ok := ReadDocument([]byte(body), one, strings.Contains(body, `"symbol":"AABB"`))
	if !ok {
		t.Fatalf("%s is no document", body)
	}
	rules, err := ParseAll([]string{rule})
	if err != nil {
		t.Fatal(err)
	}
	added, err := new(Switch).Add(rules, 0)
	if err != nil {
		t.Fatal(err)
	}
	happened = added[0].Edit(d, &Match{Names: func(string) bool { return true }})
	if n := added[0].Counts(); (n.Applied == 1) != happened || n.Matched != n.Applied {
		t.Errorf("%s: counters %+v, happened %v", rule, n, happened)
	}
	return string(d.Bytes()), happened
}

// A document in which there is nothing to change keeps its bytes and is no match, and neither is what is no document.
func TestOtherDocumentsStay(t *testing.T) {
	for _, c := range []struct{ rule, one, body string }{
		{"missing pair=DD_BB", "", summary},
		{"missing", "", assets},
		{"missing", "AA_BB", book}, // the listener refuses the request
		{"null pair=CC_BB", "AA_BB", book},
		{"zero pair=CC_BB member=base_volume", "", summary}, // is 0
		{"zero member=isBid", "AA_BB", baseBook},
		{"null member=nope", "", summary},
		{"null member=close", "AA_BB", klines}, // its candles have no names
		{"null", "AA_BB", `{"s":"no_data"}`},
		{"null", "AA_BB", `[]`},
		{"crossed", "", byPair},
		{"crossed", "AA_BB", `{"bids":[[1,1]],"asks":[]}`},
		{"doubled", "AA_BB", `{"bids":[],"asks":[]}`},
		{"doubled", "AA_BB", `{"price":1}`},
	} {
		if got, happened := edited(t, c.rule, c.one, c.body); happened || got != c.body {
			t.Errorf("%s: %v, %s", c.rule, happened, got)
		}
	}
	for _, body := range []string{"", "7", `"x"`, "<html>", `{"a":`, `[1] 2`} {
		if _, ok := ReadDocument([]byte(body), "", false); ok {
			t.Errorf("%q is a document", body)
		}
	}
}

// A rule without a pair changes one pair, which the seed chooses, and the same in every document.
func TestSeedChoosesThePair(t *testing.T) {
	gone := func(rule, body string) string {
		after, happened := edited(t, rule, "", body)
		a, c := strings.Contains(after, "AA"), strings.Contains(after, "CC")
		if !happened || a == c {
			t.Fatalf("%s leaves %s", rule, after)
		}
		if a {
			return "CC"
		}
		return "AA"
	}
	seen := map[string]int{}
	for _, seed := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		rule := "missing seed=" + seed
		first := gone(rule, summary)
		for _, body := range []string{byPair, pairs, tickers} {
			if got := gone(rule, body); got != first {
				t.Errorf("%s: %s in one document, %s in %s", rule, first, got, body)
			}
		}
		seen[first]++
	}
	if len(seen) != 2 {
		t.Errorf("eight seeds choose %v", seen)
	}
}
