package objects

import (
	"fmt"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/json"
)

// restrictions are the states to which a cancel can be restricted.
var restrictions = []json.Word[entry.Only]{
	{Text: "new", Value: entry.OnlyNew}, {Text: "partial", Value: entry.OnlyPartial},
}

// Restrictions are the words of a parameter that restricts a cancel; Restriction returns what its value means, which is
// -1 without the parameter.
var Restrictions = []string{restrictions[0].Text, restrictions[1].Text}

// Restriction is described at Restrictions.
func Restriction(word int) entry.Only {
	if word < 0 {
		return entry.AnyState
	}
	return restrictions[word].Value
}

// newList is an order list as its body gives it.
type newList struct {
	*entry.PlaceList
	kindGiven bool
}

// The forms of POST /orders/lists and POST /api/orders/lists (docs/contract/trading.md#order-lists).
var (
	listForm = json.Of(append([]json.Member[newList]{
		json.Value("accountId", json.KindUUID, (*json.Reader).UUID, func(l *newList, v [16]byte) { l.Account = v }),
	}, listMembers(json.Of(orderMembers...), checkOrder)...)...)
	tradingListForm = json.Of(listMembers(json.Of(tradingMembers...), checkTradingOrder)...)

	// ListMembers describes the body of POST /orders/lists.
	ListMembers = listForm.Members()
	// TradingListMembers describes the body of POST /api/orders/lists.
	TradingListMembers = tradingListForm.Members()
)

func listMembers(form *json.Form[order], check func(*json.Reader, *order)) []json.Member[newList] {
	return []json.Member[newList]{
		json.Choice("kind", listKinds, func(l *newList, v engine.ListKind) { l.Kind, l.kindGiven = v, true }).Need(),
		json.Read("currencyPairCode", json.KindPairCode, func(r *json.Reader, l *newList) bool {
			l.Pair = PairCode(r)
			return l.Pair != nil
		}).Need(),
		client(func(l *newList) *[]byte { return &l.Client }),
		scope(func(l *newList) *bool { return &l.ClientReusable }),
		json.Read("orders", json.KindArray, func(r *json.Reader, l *newList) bool {
			return readListOrders(r, l.PlaceList, form, check)
		}).As(json.Field{
			Range:   []int64{2, engine.MaxListOrders},
			Element: &json.Field{Kind: json.KindObject, Fields: form.Members()},
		}).Need(),
	}
}

// readListOrders reads the orders of a list. Its kind may follow them, so readList checks what depends on it.
func readListOrders(r *json.Reader, l *entry.PlaceList, form *json.Form[order],
	check func(*json.Reader, *order),
) bool {
	if r.Null() || !r.Array() {
		return false
	}
	l.Orders = l.Orders[:0]
	for r.Element() {
		if len(l.Orders) == engine.MaxListOrders {
			r.Fail(fmt.Sprintf("is one order too many: a list has at most %d.", engine.MaxListOrders))
			return false
		}
		l.Orders = append(l.Orders, entry.Place{})
		o := orders.Get().(*order)
		*o = order{Place: &l.Orders[len(l.Orders)-1], brings: true}
		fill(r, o, form, func(r *json.Reader, o *order) {
			o.Pair = inList
			check(r, o)
		})
	}
	return true
}

// inList is the pair of an order of a list until readList gives it the list's.
var inList = []byte{}

// readList reads an order list by a form, and checks it when each member is right on its own.
func readList(r *json.Reader, p *entry.PlaceList, form *json.Form[newList]) {
	*p = entry.PlaceList{Orders: p.Orders[:0]}
	wrong := len(r.Wrong)
	if form.Fill(r, &newList{PlaceList: p}); r.Err != nil || len(r.Wrong) != wrong {
		return
	}
	if want := p.Kind.Orders(); len(p.Orders) != want {
		r.Rule("orders", fmt.Sprintf("must have %d orders in an %s.", want, p.Kind))
		return
	}
	for i := range p.Orders {
		o := &p.Orders[i]
		o.Pair, o.Account = p.Pair, p.Account
		brought := p.Kind.Brings() && i > 0
		switch name := fmt.Sprintf("orders[%d].", i); {
		case o.Quote != nil:
			r.Rule(name+"quoteAmount", "does not apply to an order of a list.")
		case o.Amount == nil && !brought:
			r.Rule(name+"amount", "is required.")
		case o.Amount != nil && brought:
			r.Rule(name+"amount", "does not apply: the order sells what the first order of the list has bought.")
		}
	}
}

// DecodeList reads the body of POST /orders/lists.
func DecodeList(text []byte, p *entry.PlaceList) *refuse.Refusal {
	return decodeList(text, p, listForm)
}

// DecodeTradingList reads the body of POST /api/orders/lists.
func DecodeTradingList(text []byte, p *entry.PlaceList) *refuse.Refusal {
	return decodeList(text, p, tradingListForm)
}

func decodeList(text []byte, p *entry.PlaceList, form *json.Form[newList]) *refuse.Refusal {
	return json.Decode(text, func(r *json.Reader) *json.Error {
		readList(r, p, form)
		return r.InOrder(form.Members())
	})
}

// listMember returns the member of a command of a batch that places a list.
func listMember(schema string, form *json.Form[newList]) json.Member[entry.Command] {
	return commandMember("placeList", entry.PlaceOrderList, func(r *json.Reader, c *entry.Command) {
		readList(r, &c.List, form)
	}).As(json.Field{Schema: schema, Fields: form.Members()})
}
