package objects

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/server/json"
)

// field returns the member that a decoder names, "" for a body that it takes, and "?" for an error of the whole body.
func field(decode func(r *json.Reader) *json.Error, body string) string {
	var r json.Reader
	r.Reset([]byte(body))
	switch err := decode(&r); {
	case err == nil:
		return ""
	case err.Field == "" || !strings.HasSuffix(err.Message, "."):
		return "?" + err.Message
	default:
		return err.Field
	}
}

// Each member of a waiting order, and each label, is read on both listeners, and refused where it does not apply.
func TestWhatAnOrderMayHaveByItsType(t *testing.T) {
	const order = `{"currencyPairCode":"A1_B1","side":"buy",%s}`
	for body, want := range map[string]string{
		`"type":"take_profit_limit","price":1,"amount":1,"stopPrice":2`:                               "",
		`"type":"take_profit_market","amount":1,"stopPrice":2`:                                        "",
		`"type":"take_profit_market","quoteAmount":1,"stopPrice":2`:                                   "",
		`"type":"take_profit_market","amount":1`:                                                      "stopPrice",
		`"type":"take_profit_market","amount":1,"trailingDelta":100`:                                  "",
		`"type":"take_profit_limit","amount":1,"stopPrice":1`:                                         "price",
		`"type":"stop_market","amount":1,"stopPrice":2`:                                               "",
		`"type":"stop_market","amount":1,"trailingDelta":10,"stopPrice":2,"strictTrigger":true`:       "",
		`"type":"stop_market","amount":1,"trailingDelta":"10"`:                                        "trailingDelta",
		`"type":"stop_market","amount":1,"trailingDelta":1.5`:                                         "trailingDelta",
		`"type":"limit","price":1,"amount":1,"trailingDelta":10`:                                      "trailingDelta",
		`"type":"limit","price":1,"amount":1,"trailingDelta":0`:                                       "trailingDelta",
		`"type":"limit","price":1,"amount":1,"stopPrice":1`:                                           "stopPrice",
		`"type":"limit","price":1,"amount":1,"strictTrigger":true`:                                    "strictTrigger",
		`"type":"limit","price":1,"amount":1,"strictTrigger":false,"expireUnfilled":false`:            "",
		`"type":"limit","price":1,"amount":1,"expireUnfilled":true`:                                   "expireUnfilled",
		`"type":"limit","timeInForce":"fok","price":1,"amount":1,"expireUnfilled":true`:               "",
		`"type":"market","amount":1,"expireUnfilled":true`:                                            "",
		`"type":"market","quoteAmount":1,"expireUnfilled":true`:                                       "expireUnfilled",
		`"type":"limit","price":1,"amount":1,"clientIdScope":"open"`:                                  "",
		`"type":"limit","price":1,"amount":1,"clientIdScope":"closed"`:                                "clientIdScope",
		`"type":"limit","price":1,"amount":1,"strategyId":-5,"strategyType":9223372036854775807`:      "",
		`"type":"limit","price":1,"amount":1,"strategyId":9223372036854775808`:                        "strategyId",
		`"type":"limit","price":1,"amount":1,"strategyType":"x"`:                                      "strategyType",
		`"type":"limit","price":1,"quoteAmount":1`:                                                    "quoteAmount",
		`"type":"limit","price":1,"amount":1,"quoteAmount":1`:                                         "quoteAmount",
		`"type":"stop_limit","price":1,"amount":1,"stopPrice":1,"timeInForce":"ioc","postOnly":true`:  "postOnly",
		`"type":"stop_market","amount":1,"stopPrice":1,"displayAmount":1`:                             "displayAmount",
		`"type":"take_profit_limit","price":1,"amount":1,"stopPrice":1,"displayAmount":2`:             "displayAmount",
		`"type":"stop_market","amount":1,"quoteAmount":1,"stopPrice":1`:                               "quoteAmount",
		`"type":"stop_market","amount":1,"stopPrice":1,"price":1`:                                     "price",
		`"type":"take_profit","amount":1,"stopPrice":1`:                                               "type",
		`"type":"stop_limit","price":1,"amount":1,"stopPrice":1,"trailingDelta":99999999999999999999`: "trailingDelta",
	} {
		body = fmt.Sprintf(order, body)
		var p entry.Place
		for _, decode := range []func(*json.Reader) *json.Error{
			func(r *json.Reader) *json.Error { return decodeOrder(r, &p) },
			func(r *json.Reader) *json.Error { return decodeTradingOrder(r, &p) },
		} {
			if got := field(decode, body); got != want {
				t.Errorf("%s: %q, want %q", body, got, want)
			}
		}
	}
	var p entry.Place
	decode := func(r *json.Reader) *json.Error { return decodeTradingOrder(r, &p) }
	if got := field(decode, fmt.Sprintf(order, `"type":"stop_market","amount":1,"trailingDelta":0,"strategyId":7,`+
		`"strictTrigger":true,"clientIdScope":"open","strategyType":-8`)); got != "" ||
		p.Trail != -1 || *p.Strategy != 7 || *p.StrategyType != -8 || !p.Strict || p.Expire || !p.ClientReusable {
		t.Errorf("%q, %+v: the exchange must refuse a delta of 0", got, p)
	}
	if got := field(decode, fmt.Sprintf(order, `"price":1,"amount":1,"trailingDelta":70`)); got != "" ||
		p.Type != engine.StopLimit || p.Trail != 70 || p.Strategy != nil || p.StrategyType != nil || p.ClientReusable {
		t.Errorf("%q, %+v: a trailing order without a type is a stop", got, p)
	}
}

// A list is read on both listeners, with its orders in their order. An error names the order and its member.
func TestAListNamesTheMemberOfTheOrder(t *testing.T) {
	const (
		aim     = `{"side":"sell","type":"limit","price":3,"amount":1,"postOnly":true}`
		stop    = `{"side":"sell","type":"stop_market","stopPrice":1,"amount":1,"clientOrderId":"s"}`
		working = `{"side":"buy","type":"limit","price":2,"amount":1}`
		sell    = `{"side":"sell","type":"take_profit_limit","price":3,"stopPrice":3,"displayAmount":1}`
		out     = `{"side":"sell","type":"stop_market","trailingDelta":100}`
	)
	list := func(kind, more string, orders ...string) string {
		return fmt.Sprintf(`{"orders":[%s],"kind":%q,"currencyPairCode":"A1_B1"%s}`,
			strings.Join(orders, ","), kind, more)
	}
	for body, want := range map[string]string{
		list("oco", ``, aim, stop): "",
		list("oto", `,"clientOrderId":"l","clientIdScope":"open"`, working, stop):         "",
		list("otoco", ``, working, aim, stop):                                             "",
		list("opo", ``, working, sell):                                                    "",
		list("opoco", ``, working, sell, out):                                             "",
		list("oco", ``, aim):                                                              "orders",
		list("oco", ``):                                                                   "orders",
		list("oco", ``, aim, stop, stop):                                                  "orders",
		list("otoco", ``, aim, stop):                                                      "orders",
		list("oco", ``, aim, stop, stop, stop):                                            "orders[3]",
		list("oco", ``, aim, sell):                                                        "orders[1].amount",
		list("opo", ``, sell, working):                                                    "orders[0].amount",
		list("opo", ``, working, stop):                                                    "orders[1].amount",
		list("oto", ``, working, `{"side":"sell","type":"market","quoteAmount":5}`):       "orders[1].quoteAmount",
		list("oto", ``, working, `{"side":"sell","type":"stop_market","amount":5}`):       "orders[1].stopPrice",
		list("oto", ``, working, `{"side":"sell","type":"stop","amount":5}`):              "orders[1].type",
		list("oto", ``, working, `{"type":"market","amount":5}`):                          "orders[1].side",
		list("oto", ``, working, `{"currencyPairCode":"A1_B1","side":"sell","amount":5}`): "orders[1].currencyPairCode",
		list("oto", ``, working, `5`):                                                     "orders[1]",
		list("one", ``, aim, stop):                                                        "kind",
		list("oco", `,"clientOrderId":"a b"`, aim, stop):                                  "clientOrderId",
		list("oco", `,"x":1`, aim, stop):                                                  "x",
		`{"kind":"oco","currencyPairCode":"A1_B1"}`:                                       "orders",
		`{"kind":"oco","currencyPairCode":"A1_B1","orders":null}`:                         "orders",
		`{"kind":"oco","currencyPairCode":"A1_B1","orders":{}}`:                           "orders",
		`{"kind":"oco","orders":[` + aim + `,` + stop + `]}`:                              "currencyPairCode",
		`{"currencyPairCode":"A1_B1","orders":[` + aim + `,` + stop + `]}`:                "kind",
	} {
		var p entry.PlaceList
		for name, form := range map[string]*json.Form[newList]{"internal": listForm, "signed": tradingListForm} {
			decode := func(r *json.Reader) *json.Error {
				readList(r, &p, form)
				return r.InOrder(form.Members())
			}
			got := field(decode, body)
			if got != want {
				t.Errorf("%s %s: %q, want %q", name, body, got, want)
			}
			for i := range p.Orders {
				if got == "" && (string(p.Orders[i].Pair) != "A1_B1" || string(p.Pair) != "A1_B1") {
					t.Errorf("%s %s: pair %q", name, body, p.Orders[i].Pair)
				}
			}
		}
	}
	commands, err := decodeBatchText(`{"commands":[{"placeList":` +
		list("otoco", `,"clientOrderId":"l"`, working, aim, stop) +
		`},{"cancel":{"orderId":5,"onlyIf":"partial"}},{"replace":{"orderId":6,"keepPriority":true,"amount":1,` +
		`"clientOrderId":"n","clientIdScope":"open"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	l := &commands[0].List
	if commands[0].Kind != entry.PlaceOrderList || l.Kind != engine.OTOCO || string(l.Client) != "l" ||
		len(l.Orders) != 3 || l.Orders[0].Side != engine.Buy || string(l.Orders[1].Price) != "3" ||
		string(l.Orders[2].Client) != "s" || l.Account != [16]byte{} {
		t.Errorf("%+v", l)
	}
	if commands[1].Only != entry.OnlyPartial || commands[2].Only != entry.AnyState ||
		!commands[2].Replace.SmallerOnly || string(commands[2].Replace.Client) != "n" ||
		!commands[2].Replace.ClientReusable {
		t.Errorf("%+v", commands[1:])
	}
	for body, want := range map[string]string{
		`{"placeList":` + list("oco", ``, aim) + `}`: "commands[0].placeList.orders",
		`{"placeList":` + list("oco", ``, aim, sell) + `}`: "commands[0].placeList." +
			"orders[1].amount",
		`{"placeList":` + list("oco", ``, aim, stop, aim, aim) + `}`:              "commands[0].placeList.orders[3]",
		`{"placeList":` + list("oco", ``, aim, stop) + `,"cancel":{"orderId":1}}`: "commands[0].cancel",
		`{"cancel":{"orderId":1,"onlyIf":"old"}}`:                                 "commands[0].cancel.onlyIf",
		`{"replace":{"orderId":1,"keepPriority":true}}`:                           "commands[0].replace.amount",
	} {
		if _, err := decodeBatchText(`{"commands":[` + body + `]}`); err == nil || err.Field != want {
			t.Errorf("%s: %+v, want %q", body, err, want)
		}
	}
	if _, err := decodeBatchText(`{"commands":[{"placeList":` + list("oco",
		`,"accountId":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`, aim, stop) + `}]}`); err != nil {
		t.Error(err)
	}
	var signed entry.PlaceList
	if err := DecodeTradingList([]byte(list("oco", `,"accountId":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`, aim, stop)),
		&signed); err == nil || err.Field != "accountId" {
		t.Errorf("%+v: the account of a signed list is the caller's", err)
	}
}

// An amendment changes the amount alone, and it alone gives an order another client id.
func TestAReplaceIsAnAmendmentOrNot(t *testing.T) {
	for body, want := range map[string]string{
		`{"price":1,"amount":2,"stopPrice":3,"trailingDelta":40}`: "",
		`{"keepPriority":true,"amount":2}`:                        "",
		`{"keepPriority":true,"amount":2,"clientOrderId":"b"}`:    "",
		`{"keepPriority":false,"price":2}`:                        "",
		`{"keepPriority":true}`:                                   "amount",
		`{"keepPriority":true,"amount":2,"price":1}`:              "price",
		`{"keepPriority":true,"amount":2,"stopPrice":1}`:          "stopPrice",
		`{"keepPriority":true,"amount":2,"trailingDelta":50}`:     "trailingDelta",
		`{"amount":2,"clientOrderId":"b"}`:                        "clientOrderId",
		`{"keepPriority":true,"amount":2,"clientOrderId":"b c"}`:  "clientOrderId",
		`{"keepPriority":"true","amount":2}`:                      "keepPriority",
		`{"stopPrice":"x"}`:                                       "stopPrice",
	} {
		var p entry.Replace
		if err := ReplaceForm.Decode([]byte(body), &p); (err == nil) != (want == "") ||
			err != nil && err.Field != want {
			t.Errorf("%s: %+v, want %q", body, err, want)
		}
	}
	for body, want := range map[string]bool{
		`{}`: false, `{"price":1}`: true, `{"amount":1}`: true, `{"stopPrice":1}`: true, `{"trailingDelta":0}`: true,
		`{"keepPriority":false}`: false,
	} {
		var p entry.Replace
		if err := ReplaceForm.Decode([]byte(body), &p); err != nil || Changes(&p) != want {
			t.Errorf("%s: %v, changes %v", body, err, !want)
		}
	}
}
