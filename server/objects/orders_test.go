package objects

import (
	stdjson "encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/json"
)

const goodOrder = `{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":65000.5,"amount":"0.125"}`

func decodeOrderText(body string) (entry.Place, *json.Error) {
	var r json.Reader
	var o entry.Place
	r.Reset([]byte(body))
	err := decodeOrder(&r, &o)
	return o, err
}

// change replaces a member of goodOrder or adds one.
func change(member, value string) string {
	var m map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal([]byte(goodOrder), &m); err != nil {
		panic(err)
	}
	if value == "" {
		delete(m, member)
	} else {
		m[member] = stdjson.RawMessage(value)
	}
	out, err := stdjson.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func TestAnOrderIsReadAsSent(t *testing.T) {
	o, err := decodeOrderText(` { "side" : "sell", "type":"stop_limit", "price": 1.5e0, "amount":"2"} `)
	if err == nil || err.Field != "currencyPairCode" && err.Field != "price" {
		t.Fatalf("an exponent was taken: %+v %v", o, err)
	}
	o, err = decodeOrderText(`{"accountId":"6BA7B810-9dad-11d1-80b4-00c04fd430c8","currencyPairCode":"BTC_USDT",
		"side":"sell","type":"stop_limit","timeInForce":"gtc","price":65000.50,"amount":"0002.50","stopPrice":1,
		"displayAmount":0.5,"postOnly":true,"selfTradePrevention":"decrement","clientOrderId":"a\u002db"}`)
	if err != nil {
		t.Fatal(err)
	}
	if string(o.Price) != "65000.50" || string(o.Amount) != "0002.50" || string(o.Client) != "a-b" ||
		o.Side != engine.Sell || o.Type != engine.StopLimit || !o.PostOnly || o.STP != engine.Decrement ||
		string(json.AppendUUID(nil, o.Account)) != "6ba7b810-9dad-11d1-80b4-00c04fd430c8" {
		t.Fatalf("%+v", o)
	}
}

func TestBrokenOrdersNameTheMember(t *testing.T) {
	long := strings.Repeat("9", 21)
	for _, c := range []struct{ name, body, field string }{
		{"nothing", ``, ""},
		{"array", `[]`, ""},
		{"cut", `{"side":"buy"`, ""},
		{"trailing", goodOrder + `{}`, ""},
		{"trailing comma", `{"side":"buy",}`, ""},
		{"unknown", change("colour", `"red"`), "colour"},
		{"case", change("Price", `1`), "Price"},
		{"twice", `{"side":"buy","side":"buy"}`, "side"},
		{"twice escaped", `{"side":"buy","s\u0069de":"buy"}`, "side"},
		{"no pair", change("currencyPairCode", ``), "currencyPairCode"},
		{"empty pair", change("currencyPairCode", `""`), "currencyPairCode"},
		{"null pair", change("currencyPairCode", `null`), "currencyPairCode"},
		{"bad pair", change("currencyPairCode", `"btc_usdt"`), "currencyPairCode"},
		{"pair number", change("currencyPairCode", `5`), "currencyPairCode"},
		{"no side", change("side", ``), "side"},
		{"bad side", change("side", `"BUY"`), "side"},
		{"no type", change("type", ``), "type"},
		{"bad type", change("type", `"stop"`), "type"},
		{"bad tif", change("timeInForce", `"day"`), "timeInForce"},
		{"no price", change("price", ``), "price"},
		{"price true", change("price", `true`), "price"},
		{"price exponent", change("price", `1e3`), "price"},
		{"price too long", change("price", long), "price"},
		{"price 19 digits", change("price", `0.1234567890123456789`), "price"},
		{"price text", change("price", `"1,5"`), "price"},
		{"price plus", change("price", `"+1"`), "price"},
		{"no amount", change("amount", ``), "amount"},
		{"quote of limit", change("quoteAmount", `5`), "quoteAmount"},
		{"stop of limit", change("stopPrice", `5`), "stopPrice"},
		{"display zero", change("displayAmount", `0`), "displayAmount"},
		{"display above amount", change("displayAmount", `0.1250000000000001`), "displayAmount"},
		{"post only ioc", strings.Replace(change("postOnly", `true`), `{`, `{"timeInForce":"ioc",`, 1), "postOnly"},
		{"post only text", change("postOnly", `"true"`), "postOnly"},
		{"self trade", change("selfTradePrevention", `"no"`), "selfTradePrevention"},
		{"client id", change("clientOrderId", `"a b"`), "clientOrderId"},
		{"client id long", change("clientOrderId", `"`+strings.Repeat("a", 65)+`"`), "clientOrderId"},
		{"account", change("accountId", `"x"`), "accountId"},
		{"market with price", change("type", `"market"`), "price"},
		{"several: the table's first", `{"clientOrderId":"?","amount":true,"side":1,"type":"limit"}`, "side"},
		{"bare nan", change("price", `1`)[:20] + `NaN`, ""},
		{"leading zero", strings.Replace(goodOrder, "65000.5", "065000.5", 1), ""},
		{"control character", `{"side":"b` + "\n" + `uy"}`, ""},
		{"half surrogate", `{"side":"\ud800"}`, ""},
		{"not utf8", "{\"side\":\"\xff\"}", ""},
		{"deep", `{"side":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, "side" +
			strings.Repeat("[0]", 31)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decodeOrderText(c.body)
			if err == nil {
				t.Fatalf("taken: %s", c.body)
			}
			if err.Field != c.field || !strings.HasSuffix(err.Message, ".") {
				t.Fatalf("field %q, want %q (%s)", err.Field, c.field, err.Message)
			}
		})
	}
}

func TestMarketOrdersGiveAmountOrQuote(t *testing.T) {
	market := func(side, rest string) string {
		return fmt.Sprintf(`{"currencyPairCode":"BTC_USDT","side":%q,"type":"market"%s}`, side, rest)
	}
	for body, field := range map[string]string{
		market("buy", `,"amount":1`):                                    "",
		market("buy", `,"quoteAmount":1`):                               "",
		market("sell", `,"amount":1`):                                   "",
		market("buy", ``):                                               "amount",
		market("buy", `,"amount":1,"quoteAmount":1`):                    "quoteAmount",
		market("sell", `,"quoteAmount":1`):                              "",
		market("sell", ``):                                              "amount",
		market("buy", `,"amount":1,"timeInForce":"gtc"`):                "timeInForce",
		market("buy", `,"amount":1,"timeInForce":"ioc"`):                "",
		market("buy", `,"amount":1,"postOnly":true`):                    "postOnly",
		market("buy", `,"amount":1,"displayAmount":1`):                  "displayAmount",
		strings.Replace(market("buy", `,"amount":1`), "m", "stop_m", 1): "currencyPairCode",
		`{"currencyPairCode":"A1_B1","side":"buy","type":"stop_market","stopPrice":2,"quoteAmount":1}`: "",
	} {
		_, err := decodeOrderText(body)
		switch {
		case strings.Contains(body, `stop_market"`) && field == "currencyPairCode":
		case err == nil && field != "":
			t.Errorf("taken: %s", body)
		case err != nil && err.Field != field:
			t.Errorf("%s: field %q, want %q", body, err.Field, field)
		}
	}
}

func decodeBatchText(body string) ([]entry.Command, *json.Error) {
	var r json.Reader
	r.Reset([]byte(body))
	return decodeBatch(&r, nil, internalBatch)
}

func TestABatchNamesTheNestedMember(t *testing.T) {
	ok := `{"cancel":{"orderId":1}}`
	for _, c := range []struct{ body, field string }{
		{
			`{"commands":[` + ok + `,` + ok + `,` + ok + `,{"place":` + change("price", `true`) + `}]}`,
			"commands[3].place.price",
		},
		{`{"commands":[{"place":` + change("x", `1`) + `}]}`, "commands[0].place.x"},
		{`{"commands":[{"place":` + change("price", ``) + `}]}`, "commands[0].place.price"},
		{`{"commands":[{"cancel":{}}]}`, "commands[0].cancel.orderId"},
		{`{"commands":[{"cancel":{"orderId":"1"}}]}`, "commands[0].cancel.orderId"},
		{`{"commands":[{"cancel":{"orderId":1.0}}]}`, "commands[0].cancel.orderId"},
		{`{"commands":[{"replace":{"orderId":1,"price":"x"}}]}`, "commands[0].replace.price"},
		{`{"commands":[{"cancel":{"orderId":1},"replace":{"orderId":1}}]}`, "commands[0].replace"},
		{`{"commands":[{}]}`, "commands[0]"},
		{`{"commands":[7]}`, "commands[0]"},
		{`{"commands":[{"cancel":{"orderId":1},"at":"5"}]}`, "commands[0].at"},
		{`{"commands":[]}`, "commands"},
		{`{"commands":null}`, "commands"},
		{`{}`, "commands"},
		{`{"commands":{}}`, "commands"},
		{`{"commands":[` + strings.Repeat(ok+",", 1000) + ok + `]}`, "commands"},
		{`{"commands":[` + ok + `,]}`, ""},
		{`{"commands":[,]}`, ""},
	} {
		_, err := decodeBatchText(c.body)
		if err == nil || err.Field != c.field {
			t.Errorf("%.120s: %v, want field %q", c.body, err, c.field)
		}
	}
	got, err := decodeBatchText(`{"commands":[{"place":` + goodOrder + `,"at":5},` + ok +
		`,{"replace":{"orderId":9,"amount":1},"at":7}]}`)
	if err != nil || len(got) != 3 || got[0].AtNs != 5 || got[1].HasAt || got[2].Order != 9 || got[2].AtNs != 7 {
		t.Fatalf("%+v %v", got, err)
	}
}

// FuzzDecodeBatch checks that every accepted input is valid JSON for the standard library too,
// and that no input panics.
func FuzzDecodeBatch(f *testing.F) {
	f.Add([]byte(`{"commands":[{"place":` + goodOrder + `,"at":5},{"cancel":{"orderId":1}},{"replace":{"orderId":9,` +
		`"amount":1}}]}`))
	f.Add([]byte(`{"commands":[{"place":{"currencyPairCode":"A1_B1","s\u0069de":"buy","type":"stop_market",` +
		`"stopPrice":2,"quoteAmount":1}}]}`))
	f.Add([]byte(`{"commands":[{"cancel":{"orderId":1e1}}]} x`))
	f.Add([]byte(`{"commands":[{"place":{"metadata":{"a":[[[[1]]]]}}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var r json.Reader
		r.Reset(body)
		cmds, err := decodeBatch(&r, nil, internalBatch)
		if err != nil {
			if err.Message == "" {
				t.Fatal("an error without a message")
			}
			return
		}
		var doc struct{ Commands []stdjson.RawMessage }
		if jerr := stdjson.Unmarshal(body, &doc); jerr != nil || len(doc.Commands) != len(cmds) {
			t.Fatalf("taken: %q (%v)", body, jerr)
		}
		for i := range cmds {
			o := &cmds[i].Place
			for _, d := range [][]byte{o.Price, o.Amount, o.Quote, o.Stop, o.Display} {
				if d != nil {
					fixed.TextUnits(d, 8)
				}
			}
		}
	})
}

func batchBody(n int) []byte {
	var b []byte
	b = append(b, `{"commands":[`...)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"place":{"currencyPairCode":"BTC_USDT","side":"buy","type":"limit","price":`...)
		b = strconv.AppendInt(b, 64000+int64(i), 10)
		b = append(b, `.50,"amount":0.12500000,"clientOrderId":"c-`...)
		b = strconv.AppendInt(b, int64(i), 10)
		b = append(b, `"}}`...)
	}
	return append(b, `]}`...)
}

// A pooled Reader carries nothing over: after refusals of every kind the next body is read as by a new one.
func TestARefusedBodyLeavesNothingToTheNext(t *testing.T) {
	var p entry.Place
	var kept []*refuse.Refusal
	for _, body := range []string{
		`{`, `{"side":1,"price":true}`, `{"x":1}`, `{"side":"buy","side":"buy"}`, strings.Repeat(`[`, 40), `{} {}`,
	} {
		err := DecodeTradingOrder([]byte(body), &p)
		if err == nil {
			t.Fatal(body)
		}
		kept = append(kept, err)
		if err := DecodeTradingOrder([]byte(signedOrder), &p); err != nil || string(p.Client) != "c-1" {
			t.Errorf("after %s: %v, %+v", body, err, p)
		}
	}
	if wrong := kept[1]; wrong.Field != "side" || !strings.HasPrefix(wrong.Message, "The member side ") {
		t.Errorf("a refusal has become %+v", wrong)
	}
}

const signedOrder = `{"side":"buy","currencyPairCode":"BTC_USDT","amount":"0.125","price":"64000.50",` +
	`"clientOrderId":"c-1"}`

// BenchmarkDecodeTradingOrder reads the body of a signed order.
func BenchmarkDecodeTradingOrder(b *testing.B) {
	text := []byte(signedOrder)
	var p entry.Place
	b.Run("pooled", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := DecodeTradingOrder(text, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new reader", func(b *testing.B) { // the cost that the pool saves
		b.ReportAllocs()
		for b.Loop() {
			var r json.Reader
			r.Reset(text)
			if err := decodeTradingOrder(&r, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecodeBatch1000(b *testing.B) {
	body := batchBody(MaxBatch)
	var r json.Reader
	var cmds []entry.Command
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r.Reset(body)
		cmds, _ = decodeBatch(&r, cmds, internalBatch)
		for i := range cmds {
			fixed.TextUnits(cmds[i].Place.Price, 2)
			fixed.TextUnits(cmds[i].Place.Amount, 8)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxBatch, "ns/order")
}
