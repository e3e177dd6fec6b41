package reports

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/client"
	"github.com/tickhive/tickhive/test/nets"
	"github.com/tickhive/tickhive/tickhivetest"
)

// report is what one report of a bug in another program, or several that say the same, mean here.
type report struct {
	says    string // what is right, in the words of the contract
	sources string // owner/repository#number of each, with spaces between
	digits  [2]int // of prices and of amounts of the pair; none: 2 and 4
	try     func(m *market)
}

// files has the reports of each file.
var files = map[string][]report{
	"orders": orders, "prices": prices, "candles": candles, "books": books, "streams": streams, "http": answers,
	"binance": binance,
}

// Each report is tried on a pair of its own; those of a file have one exchange, one after the other.
func TestReports(t *testing.T) {
	t.Parallel()
	for name, list := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := tickhivetest.Start(t, tickhivetest.Set("rate.allow=127.0.0.1"))
			for i, r := range list {
				t.Run(r.says, func(t *testing.T) { r.try(newMarket(t, x, i, r.digits)) })
			}
		})
	}
}

// A report has one test, so that a test that fails names all that is known of it.
func TestEachReportIsHereOnce(t *testing.T) {
	t.Parallel()
	source := regexp.MustCompile(`^[\w.-]+/[\w.-]+#[0-9]+$`)
	seen := map[string]string{}
	look := func(says, sources string) {
		if sources == "" {
			t.Errorf("%q has no source", says)
		}
		for _, s := range strings.Fields(sources) {
			if !source.MatchString(s) {
				t.Errorf("%q: %s is not owner/repository#number", says, s)
			}
			if other, twice := seen[strings.ToLower(s)]; twice {
				t.Errorf("%s is in %q and in %q", s, other, says)
			}
			seen[strings.ToLower(s)] = says
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, r := range files[name] {
			look(r.says, r.sources)
		}
	}
	for _, e := range elsewhere {
		look(e.test, e.sources)
	}
	t.Logf("%d reports", len(seen))
}

// market is a pair for one report. Its node is the exchange.
type market struct {
	nets.Node
	x           *tickhivetest.Exchange
	base, quote string
	pair        string
	me, other   *trader // they have much of both currencies
}

// trader is a user of a market.
type trader struct {
	*client.Client
	nets.User
	m *market
}

const much = "1000000"

func newMarket(t *testing.T, x *tickhivetest.Exchange, number int, digits [2]int) *market {
	t.Helper()
	m := &market{
		Node: nets.Node{
			T: t, Public: x.URL, Internal: strings.TrimSuffix(x.Internal, "/internal/v1"), Binance: x.Binance,
		},
		x: x, base: fmt.Sprint("B", number), quote: fmt.Sprint("Q", number),
	}
	if digits == [2]int{} {
		digits = [2]int{2, 4}
	}
	m.pair = m.base + "_" + m.quote
	m.Call(http.MethodPost, "/pairs", fmt.Sprintf(`{"code":%q,"digitsPrice":%d,"digitsAmount":%d}`, m.pair,
		digits[0], digits[1]))
	m.me, m.other = m.user(much, much), m.user(much, much)
	return m
}

// user makes a user who has money of the two currencies.
func (m *market) user(base, quote string) *trader {
	m.T.Helper()
	u := m.x.NewUser(base+" "+m.base, quote+" "+m.quote)
	return &trader{u.Client(), nets.User{ID: u.ID, Public: u.PublicKey, Private: u.PrivateKey}, m}
}

// is checks a value by its text.
func (m *market) is(what string, got, want any) {
	m.T.Helper()
	if g, w := text(got), text(want); g != w {
		m.T.Errorf("%s: %s, want %s", what, g, w)
	}
}

// text returns a value as a person reads it; what is nil is "none".
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case *client.Decimal:
		if v != nil {
			return v.String()
		}
		return "none"
	case *string:
		if v != nil {
			return *v
		}
		return "none"
	}
	return fmt.Sprint(v)
}

// words returns values as their texts, with spaces between.
func words(values ...any) string {
	var all []string
	for _, v := range values {
		all = append(all, text(v))
	}
	return strings.Join(all, " ")
}

// must ends the test after an error.
func (m *market) must(err error) {
	m.T.Helper()
	if err != nil {
		m.T.Fatal(err)
	}
}

// body returns the body of an order in words: the side, the amount, "at" and the price if it has one, and the other
// members with their values. "buy 5 at 100 timeInForce=fok".
func (m *market) body(order string) map[string]any {
	o := map[string]any{"currencyPairCode": m.pair, "isMarket": true}
	words := strings.Fields(order)
	o["side"] = words[0]
	for i := 1; i < len(words); i++ {
		name, value, member := strings.Cut(words[i], "=")
		switch {
		case words[i] == "at":
			i++
			o["price"] = words[i]
			delete(o, "isMarket")
		case !member:
			o["amount"] = words[i]
		case value == "true":
			o[name] = true
		case name == "trailingDelta":
			o[name] = json.Number(value)
		default:
			o[name] = value
		}
	}
	if o["type"] != nil {
		delete(o, "isMarket")
	}
	return o
}

// send places an order in words (body) and returns its id.
func (u *trader) send(order string) (id string, err error) {
	_, err = u.Do(u.m.T.Context(), http.MethodPost, "/api/orders", u.m.body(order), &id)
	return id, err
}

// place places an order and returns what became of it at once.
func (u *trader) place(order string) client.Order {
	u.m.T.Helper()
	id, err := u.send(order)
	if err != nil {
		u.m.T.Fatalf("%s: %v", order, err)
	}
	return u.order(id)
}

// order returns an order as it is now.
func (u *trader) order(id string) client.Order {
	u.m.T.Helper()
	o, err := u.Order(u.m.T.Context(), id)
	u.m.must(err)
	return o
}

// refused checks that an order is refused, with a code.
func (u *trader) refused(order, code string) {
	u.m.T.Helper()
	if id, err := u.send(order); !client.IsCode(err, code) {
		u.m.T.Errorf("%s: %s %v, want %s", order, id, err, code)
	}
}

// has checks the free and the held amount of a currency.
func (u *trader) has(currency, free, held string) {
	u.m.T.Helper()
	rows, err := u.Balances(u.m.T.Context())
	u.m.must(err)
	got := "0 0"
	for _, b := range rows {
		if b.Currency == currency {
			got = nets.Trim(b.Free) + " " + nets.Trim(b.Held)
		}
	}
	u.m.is(currency+" free and held", got, free+" "+held)
}

// open checks how many orders are open.
func (u *trader) open(want int) {
	u.m.T.Helper()
	rows, err := u.OpenOrders(u.m.T.Context(), u.m.pair)
	u.m.must(err)
	u.m.is("open orders", len(rows), want)
}

// book checks the whole book: amounts and prices of the bids, a line, those of the asks, the best first.
// "1@99 5@98 | 2@101".
func (m *market) book(want string) {
	m.T.Helper()
	b, err := m.me.OrderBook(m.T.Context(), m.pair, 0)
	m.must(err)
	var words []string
	for i, side := range [][][2]client.Decimal{b.Bids, b.Asks} {
		if i == 1 {
			words = append(words, "|")
		}
		for _, l := range side {
			words = append(words, nets.Trim(l[1])+"@"+nets.Trim(l[0]))
		}
	}
	m.is("the book", strings.Join(words, " "), want)
}

// deals checks all trades of the pair, the oldest first: "2@100 1@101".
func (m *market) deals(want string) {
	m.T.Helper()
	var rows []client.Deal
	m.get("/api/deals?currencyPairCode="+m.pair, &rows)
	var words []string
	for _, d := range slices.Backward(rows) {
		words = append(words, nets.Trim(d.Volume)+"@"+nets.Trim(d.Price))
	}
	m.is("the trades", strings.Join(words, " "), want)
}

// get reads a public document.
func (m *market) get(target string, out any) http.Header {
	m.T.Helper()
	a := m.OK(nil, http.MethodGet, target, "")
	m.decode(a.Body, out)
	return a.Header
}

// decode decodes JSON (nets.Parse).
func (m *market) decode(body string, out any) {
	m.T.Helper()
	nets.Parse(m.T, body, out)
}

// trade makes a trade between other accounts.
func (m *market) trade(amount, price string) {
	m.T.Helper()
	m.x.Sell(m.pair, amount, price)
	m.x.Buy(m.pair, amount, price)
}
