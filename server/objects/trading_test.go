package objects

import (
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/server/json"
)

// A signed order gives its type by isMarket and stopPrice, or by type; the two must agree.
func TestASignedOrderHasOneType(t *testing.T) {
	const buy = `"side":"buy","currencyPairCode":"A1_B1","amount":1`
	for text, want := range map[string]string{
		`{` + buy + `,"price":1}`:                                                    "limit",
		`{` + buy + `,"price":1,"type":"limit"}`:                                     "limit",
		`{` + buy + `,"price":1,"type":null,"isMarket":false}`:                       "limit",
		`{` + buy + `,"isMarket":true,"price":0}`:                                    "market",
		`{` + buy + `,"type":"market","price":0}`:                                    "market",
		`{` + buy + `,"type":"market","isMarket":true}`:                              "market",
		`{` + buy + `,"price":1,"stopPrice":2}`:                                      "stop_limit",
		`{` + buy + `,"price":1,"type":"stop_limit","stopPrice":2}`:                  "stop_limit",
		`{` + buy + `,"isMarket":true,"stopPrice":2}`:                                "stop_market",
		`{` + buy + `,"type":"stop_market","stopPrice":2}`:                           "stop_market",
		`{` + buy + `,"type":"market","isMarket":false}`:                             "isMarket",
		`{` + buy + `,"price":1,"type":"limit","isMarket":true}`:                     "isMarket",
		`{` + buy + `,"price":1,"type":"limit","stopPrice":2}`:                       "stopPrice",
		`{` + buy + `,"price":1,"type":"stop_limit"}`:                                "stopPrice",
		`{` + buy + `,"price":1,"type":"LIMIT"}`:                                     "type",
		`{` + buy + `,"price":1,"accountId":"00000000-0000-0000-0000-000000000000"}`: "accountId",
	} {
		var r json.Reader
		var p entry.Place
		r.Reset([]byte(text))
		got := ""
		if err := decodeTradingOrder(&r, &p); err != nil {
			got = err.Field
		} else {
			got = p.Type.String()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestABatchOfASignedRequest(t *testing.T) {
	const place = `{"side":"buy","currencyPairCode":"A1_B1","amount":1,"price":1}`
	decode := func(text string) ([]entry.Command, string) {
		var r json.Reader
		r.Reset([]byte(text))
		commands, err := decodeBatch(&r, nil, tradingBatch)
		if err != nil {
			return nil, err.Field
		}
		return commands, ""
	}
	commands, field := decode(`{"commands":[{"place":` + place + `},{"cancel":{"orderId":"12"}},` +
		`{"cancel":{"orderId":13}},{"replace":{"orderId":"14","price":"2","amount":3}}]}`)
	if field != "" || len(commands) != 4 ||
		commands[0].Kind != entry.PlaceOrder || commands[0].Place.Type != engine.Limit ||
		commands[1].Kind != entry.CancelOrder || commands[1].Order != 12 || commands[2].Order != 13 ||
		commands[3].Kind != entry.ReplaceOrder || commands[3].Order != 14 || string(commands[3].Replace.Amount) != "3" {
		t.Errorf("%q %+v", field, commands)
	}
	many := func(n int) string {
		return `{"commands":[` + strings.Repeat(`{"place":`+place+`},`, n-1) + `{"place":` + place + `}]}`
	}
	if commands, field = decode(many(100)); len(commands) != 100 || field != "" {
		t.Errorf("100 commands: %d, %q", len(commands), field)
	}
	for text, want := range map[string]string{
		many(101): "commands", `{"commands":[]}`: "commands", `{}`: "commands",
		`{"commands":[{"place":` + place + `}],"x":1}`: "x",
	} {
		if _, field := decode(text); field != want {
			t.Errorf("%.80s: %q, want %q", text, field, want)
		}
	}
	for text, want := range map[string]string{
		`{"cancel":{"orderId":""}}`:                      "[0].cancel.orderId",
		`{"cancel":{"orderId":"x"}}`:                     "[0].cancel.orderId",
		`{"cancel":{"orderId":"-1"}}`:                    "[0].cancel.orderId",
		`{"cancel":{"orderId":"+1"}}`:                    "[0].cancel.orderId",
		`{"cancel":{"orderId":"9007199254740992"}}`:      "[0].cancel.orderId",
		`{"cancel":{"orderId":1.5}}`:                     "[0].cancel.orderId",
		`{"cancel":{"orderId":1},"at":5}`:                "[0].at",
		`{"place":{"accountId":"x"}}`:                    "[0].place.accountId",
		`{"place":` + place + `},{"place":{"amount":1}}`: "[1].place.side",
		`{"place":{"side":"buy","price":"x"}}`:           "[0].place.price",
		`{"place":` + place + `,"cancel":{"orderId":1}}`: "[0].cancel",
	} {
		if _, field := decode(`{"commands":[` + text + `]}`); field != "commands"+want {
			t.Errorf("%s: %q, want %q", text, field, want)
		}
	}
}

// Every accepted batch of a signed request has at most 100 whole commands, and none has an account or a time.
func FuzzDecodeTradingBatch(f *testing.F) {
	f.Add([]byte(`{"commands":[{"place":{"side":"buy","currencyPairCode":"A1_B1","amount":1,"isMarket":true}}]}`))
	f.Add([]byte(`{"commands":[{"cancel":{"orderId":"1"}},{"replace":{"orderId":2,"price":"1"}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r json.Reader
		r.Reset(data)
		commands, err := decodeBatch(&r, nil, tradingBatch)
		if err != nil {
			return
		}
		if len(commands) == 0 || len(commands) > MaxTradingBatch {
			t.Fatalf("%d commands", len(commands))
		}
		for i := range commands {
			c := &commands[i]
			if c.Kind == entry.None || c.HasAt || c.Place.Account != [16]byte{} || c.Order > MaxOrderID {
				t.Fatalf("%+v", c)
			}
		}
	})
}
