package entry_test

import (
	"testing"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
)

// The engine's refusal of an order's size precedes the refusal for lack of money.
func TestTheSizeIsRefusedBeforeTheMoney(t *testing.T) {
	r := newRig(t)
	ins, _ := r.Core.Pair(0)
	next := *ins
	next.HasMinQuote, next.MinQuote.Lo = true, 5_000_000 // 5 USDT
	r.command(engine.Command{Kind: engine.SetPair, Pair: 0, Instrument: &next})
	u := r.user("", "")
	quote := entry.Place{Pair: []byte("BTC_USDT"), Type: engine.Market, TIF: engine.IOC, Quote: []byte("4.99")}
	amount := entry.Place{Pair: []byte("BTC_USDT"), Type: engine.Market, TIF: engine.IOC, Amount: []byte("0.01")}
	for _, c := range []struct {
		order entry.Place
		want  string
	}{
		{limit(engine.Buy, "4.99", "1"), "BELOW_MIN_QUOTE_AMOUNT amount"},
		{limit(engine.Buy, "5", "1"), "INSUFFICIENT_FUNDS "},
		{limit(engine.Buy, "9000000000", "9000000000"), "INSUFFICIENT_FUNDS "},
		{limit(engine.Buy, "9000000000.01", "1"), "PRICE_OUT_OF_RANGE price"},
		{limit(engine.Buy, "1", "9000000000.0001"), "AMOUNT_OUT_OF_RANGE amount"},
		{quote, "BELOW_MIN_QUOTE_AMOUNT quoteAmount"},
		{amount, "NO_LIQUIDITY "}, // what it costs is known where there is an offer
	} {
		if _, refusal := r.one(u, place(c.order)); refusal != c.want {
			t.Errorf("%s x %s: %s, want %s", c.order.Price, c.order.Amount, refusal, c.want)
		}
	}
	r.limits(func(in *engine.Instrument) { in.MaxPrice, in.MaxAmount = 1e15, 1e17 })
	for price, want := range map[string]string{ // 10^21 USDT are 10^29 units
		"100000000": "INSUFFICIENT_FUNDS ", "100000000.01": "TOTAL_OUT_OF_RANGE ",
		"10000000000000.01": "PRICE_OUT_OF_RANGE price",
	} {
		if _, refusal := r.one(u, place(limit(engine.Buy, price, "10000000000000"))); refusal != want {
			t.Errorf("at %s: %s, want %s", price, refusal, want)
		}
	}
}

// limits changes the limits of BTC_USDT.
func (r *rig) limits(change func(*engine.Instrument)) {
	r.t.Helper()
	ins, _ := r.Core.Pair(0)
	next := *ins
	change(&next)
	if reason := r.command(engine.Command{Kind: engine.SetPair, Pair: 0, Instrument: &next}); reason != 0 {
		r.t.Fatal(reason)
	}
}

// tenfold sets a band from a tenth of the last trade to ten times of it.
func tenfold(in *engine.Instrument) { in.BandUp, in.BandDown = 10*engine.RateOne, engine.RateOne/10 }

// An order's price lies within the pair's factors of the last trade, for users and for the
// built-in account, and a refused order holds nothing. Orders without a price have no band.
func TestAPriceOutOfTheBandIsRefused(t *testing.T) {
	const band, money = "PRICE_OUT_OF_BAND price", "INSUFFICIENT_FUNDS "
	stop := limit(engine.Sell, "9.99", "1")
	stop.Type, stop.Stop = engine.StopLimit, []byte("50")
	far := stop // the stop price itself has no band
	far.Price, far.Stop = []byte("10"), []byte("1")
	market := entry.Place{Pair: []byte("BTC_USDT"), Type: engine.Market, TIF: engine.IOC, Quote: []byte("1")}
	tiny := limit(engine.Buy, "9.99", "1")
	tiny.Amount = []byte("0.00001")
	iceberg := limit(engine.Buy, "9.99", "1")
	iceberg.Display = []byte("2")
	r := newRig(t)
	u := r.user("2000", "10")
	r.limits(tenfold)
	r.placed(0, limit(engine.Sell, "5000", "1")) // no trade yet: no band
	r.placed(0, limit(engine.Sell, "100", "2"))
	r.placed(0, limit(engine.Buy, "100", "1"))
	for _, c := range []struct {
		name  string
		order entry.Place
		want  string
	}{
		{"the highest price", limit(engine.Sell, "1000", "1"), ""},
		{"above it", limit(engine.Sell, "1000.01", "1"), band},
		{"the lowest price", limit(engine.Buy, "10", "1"), ""},
		{"below it", limit(engine.Buy, "9.99", "1"), band},
		{"a buy that would trade at once", limit(engine.Buy, "1000.01", "0.1"), band},
		{"a stop's limit price", stop, band},
		{"a stop price", far, ""},
		{"a market order", market, ""},
		{"off lot comes first", tiny, "AMOUNT_OFF_LOT amount"},
		{"a shown amount above the whole comes first", iceberg, "AMOUNT_OUT_OF_RANGE displayAmount"},
		{"the money comes later", limit(engine.Buy, "1000.01", "100"), band},
		{"within the band the money counts", limit(engine.Buy, "1000", "100"), money},
	} {
		before := r.balance(u, "USDT")
		if _, refusal := r.one(u, place(c.order)); refusal != c.want {
			t.Errorf("%s: %q, want %q", c.name, refusal, c.want)
		}
		if after := r.balance(u, "USDT"); c.want != "" && after != before {
			t.Errorf("%s: balance %s, then %s", c.name, before, after)
		}
	}
	for price, want := range map[string]engine.Reason{"1000.01": engine.PriceOutOfBand, "9.99": engine.PriceOutOfBand} {
		if a, refusal := r.one(0, place(limit(engine.Sell, price, "1"))); refusal != "" || a.Reason != want {
			t.Errorf("built-in account at %s: %s %q", price, refusal, a.Reason)
		}
	}
	r.limits(func(in *engine.Instrument) { in.BandUp, in.BandDown = 0, 0 })
	r.placed(u, limit(engine.Buy, "0.01", "1"))
	r.placed(u, limit(engine.Sell, "100000", "1"))
}

// A replace is refused by its new price alone, and a batch judges each of its commands.
func TestTheBandCoversReplacesAndBatches(t *testing.T) {
	r := newRig(t)
	u := r.user("2000", "10")
	id := r.placed(u, limit(engine.Sell, "3000", "1"))
	own := r.placed(0, limit(engine.Sell, "3000", "1"))
	r.placed(0, limit(engine.Sell, "100", "1"))
	r.placed(0, limit(engine.Buy, "100", "1"))
	r.limits(tenfold)
	for _, c := range []struct{ price, amount, want string }{
		{"1000.01", "", "PRICE_OUT_OF_BAND price"},
		{"9.99", "2", "PRICE_OUT_OF_BAND price"},
		{"", "2", ""}, // the price stays, also out of the band
		{"1000", "", ""},
	} {
		for _, order := range []engine.OrderID{id, own} {
			if _, refusal := r.one(0, replace(order, c.price, c.amount)); refusal != c.want {
				t.Errorf("replace of %d to %s x %s: %q, want %q", order, c.price, c.amount, refusal, c.want)
			}
		}
	}
	req := r.e.Acquire(u)
	defer r.e.Release(req)
	req.Commands = append(req.Commands, place(limit(engine.Buy, "9.99", "1")), replace(id, "1001", ""),
		place(limit(engine.Buy, "10", "1")))
	if refusal := req.Submit(); refusal != nil {
		t.Fatal(refusal)
	}
	for i, want := range []engine.Reason{engine.PriceOutOfBand, engine.PriceOutOfBand, engine.NotRejected} {
		if got := req.Answers[i].Reason; got != want {
			t.Errorf("command %d: %q, want %q", i, got, want)
		}
	}
}

// maxQuoteAmount limits new and replaced orders and quote amounts, and not market orders by
// amount.
func TestAnOrderAboveTheLargestWorthIsRefused(t *testing.T) {
	const above = "ABOVE_MAX_QUOTE_AMOUNT amount"
	r := newRig(t)
	u := r.user("2000", "10")
	r.placed(0, limit(engine.Sell, "100", "7"))
	r.limits(func(in *engine.Instrument) { in.MaxQuote.Lo = 500_000_000 }) // 500 USDT
	byQuote := entry.Place{Pair: []byte("BTC_USDT"), Type: engine.Market, TIF: engine.IOC, Quote: []byte("500.000001")}
	byAmount := entry.Place{Pair: []byte("BTC_USDT"), Type: engine.Market, TIF: engine.IOC, Amount: []byte("6")}
	stop := limit(engine.Buy, "100", "5.0001")
	stop.Type, stop.Stop = engine.StopLimit, []byte("300")
	for _, c := range []struct {
		order entry.Place
		want  string
	}{
		{limit(engine.Buy, "99", "5.0506"), above},
		{limit(engine.Buy, "99", "100"), above}, // before the lack of money
		{byQuote, "ABOVE_MAX_QUOTE_AMOUNT quoteAmount"},
		{stop, above},
		{byAmount, ""},
	} {
		if _, refusal := r.one(u, place(c.order)); refusal != c.want {
			t.Errorf("%+v: %q, want %q", c.order, refusal, c.want)
		}
	}
	id := r.placed(u, limit(engine.Buy, "50", "10"))
	own := r.placed(0, limit(engine.Buy, "50", "10"))
	for _, order := range []engine.OrderID{id, own} {
		if _, refusal := r.one(0, replace(order, "50.01", "")); refusal != above {
			t.Errorf("replace of %d: %q, want %q", order, refusal, above)
		}
		if _, refusal := r.one(0, replace(order, "100", "5")); refusal != "" {
			t.Errorf("replace of %d: %q", order, refusal)
		}
	}
}

// A market buy by amount holds what it costs at the book's prices and is refused whole when the balance does not cover
// that.
func TestAMarketBuyByAmountIsCoveredOrRefused(t *testing.T) {
	r := newRig(t)
	u := r.user("300", "")
	r.placed(0, limit(engine.Sell, "100", "1"))
	r.placed(0, limit(engine.Sell, "200", "10"))
	order := entry.Place{Pair: []byte("BTC_USDT"), Type: engine.Market, TIF: engine.IOC, Amount: []byte("2.0001")}
	if _, refusal := r.one(u, place(order)); refusal != "INSUFFICIENT_FUNDS " || r.balance(u, "USDT") != "300.0 0.0" {
		t.Errorf("300.02: %q, balance %s", refusal, r.balance(u, "USDT"))
	}
	order.Amount = []byte("2")
	r.placed(u, order)
	if got := r.balance(u, "USDT") + "; " + r.balance(u, "BTC"); got != "0.0 0.0; 1.996 0.0" { // without 0.2 %
		t.Errorf("balances %s", got)
	}
}

// A stop that buys at market holds stop price x amount until it triggers, or its quote amount.
func TestAStopThatBuysHoldsItsStopPrice(t *testing.T) {
	r := newRig(t)
	u := r.user("100", "")
	order := entry.Place{
		Pair: []byte("BTC_USDT"), Type: engine.StopMarket, TIF: engine.IOC, Stop: []byte("300"),
		Amount: []byte("0.3334"),
	}
	if _, refusal := r.one(u, place(order)); refusal != "INSUFFICIENT_FUNDS " {
		t.Errorf("100.02: %q", refusal)
	}
	order.Amount = []byte("0.2")
	r.placed(u, order)
	order.Amount, order.Quote = nil, []byte("10")
	r.placed(u, order)
	if got := r.balance(u, "USDT"); got != "30.0 70.0" {
		t.Errorf("balance %s", got)
	}
	r.placed(0, limit(engine.Sell, "300", "1"))
	r.placed(0, limit(engine.Buy, "300", "0.1"))         // triggers both
	if got := r.balance(u, "USDT"); got != "30.01 0.0" { // 10 buy 0.0333 for 9.99
		t.Errorf("balance %s", got)
	}
}

func TestAReplaceHoldsTheDifference(t *testing.T) {
	stop := limit(engine.Buy, "10", "1")
	stop.Type, stop.Stop = engine.StopLimit, []byte("300")
	for _, c := range []struct {
		name          string
		order         entry.Place
		price, amount string
		want, balance string
	}{
		{"up", limit(engine.Buy, "10", "1"), "20", "", "", "80.0 20.0"},
		{"down", limit(engine.Buy, "10", "1"), "", "0.5", "", "95.0 5.0"},
		{"up in both", limit(engine.Buy, "10", "1"), "20", "4", "", "20.0 80.0"},
		{"to the whole balance", limit(engine.Buy, "10", "1"), "", "10", "", "0.0 100.0"},
		{"beyond the balance", limit(engine.Buy, "10", "1"), "", "10.0001", "INSUFFICIENT_FUNDS amount", "90.0 10.0"},
		{"off tick", limit(engine.Buy, "10", "1"), "10.001", "", "PRICE_OFF_TICK price", "90.0 10.0"},
		{"of a stop that waits", stop, "20", "", "", "80.0 20.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			u := r.user("100", "")
			id := r.placed(u, c.order)
			if _, refusal := r.one(0, replace(id, c.price, c.amount)); refusal != c.want {
				t.Errorf("refused as %q, want %q", refusal, c.want)
			}
			if got := r.balance(u, "USDT"); got != c.balance {
				t.Errorf("balance %s, want %s", got, c.balance)
			}
		})
	}
}

// A replace is judged where it is applied: it finds an order that was still on its way when the replace was sent.
func TestAReplaceFindsAnOrderThatIsPlacedBeforeIt(t *testing.T) {
	r := newRig(t)
	u := r.user("1000", "")
	var id engine.OrderID
	r.before = func() { id = r.placed(u, limit(engine.Buy, "1", "1")) }
	first := engine.MakeOrderID(0, 1)
	if _, refusal := r.one(0, replace(first, "100", "10")); refusal != "" || id != first {
		t.Errorf("the replace of order %d: %s", id, refusal)
	}
	if got := r.balance(u, "USDT"); got != "0.0 1000.0" {
		t.Errorf("balance %s", got)
	}
}

// A replace is judged by what its order has open where it is applied.
func TestAReplaceOfAnOrderThatTradedOnTheWayNeedsTheRest(t *testing.T) {
	r := newRig(t)
	a, b := r.user("1000", ""), r.user("", "10")
	id := r.placed(a, limit(engine.Buy, "100", "9"))
	r.before = func() { r.placed(b, limit(engine.Sell, "100", "8")) }
	if _, refusal := r.one(0, replace(id, "50", "18")); refusal != "INSUFFICIENT_FUNDS amount" { // 10 x 50 - 100
		t.Errorf("refused as %s", refusal)
	}
	if got := r.balance(a, "USDT") + "; " + r.balance(a, "BTC"); got != "100.0 100.0; 7.992 0.0" { // 8 without 0.1 %
		t.Errorf("balances %s", got)
	}
	if _, refusal := r.one(0, replace(id, "50", "12")); refusal != "" { // 4 x 50 - 100
		t.Errorf("refused as %s", refusal)
	}
	if got := r.balance(a, "USDT"); got != "0.0 200.0" {
		t.Errorf("balance %s", got)
	}
}

// A user is found by the id, the built-in account is none.
func TestAUserIsFoundByID(t *testing.T) {
	r := newRig(t)
	u := r.user("", "")
	n, ok := r.e.Find(accounts.UserID(uint32(u)))
	_, builtin := r.e.Find([16]byte{})
	if !ok || n != u || builtin {
		t.Errorf("account %d, %t; the built-in account is found: %t", n, ok, builtin)
	}
}
