package engine

import (
	"math"
	"strings"
	"testing"

	"tickhive/internal/fixed"
)

// Every other test relies on Check, so Check must find each of these changes: each breaks one
// thing that holds.
func TestCheckNotices(t *testing.T) {
	head := func(b *book, s Side) *order { return b.orders.at(b.orders.levels.At(b.sides[s].best).head) }
	best := func(b *book, s Side) *level { return b.orders.levels.At(b.sides[s].best) }
	iceberg := func(b *book) *coldOrder { return b.orders.cold.At(best(b, Sell).head) }
	stopLevel := func(b *book, s Side) *level { _, ls := b.stops.sides[s].Max(); return b.orders.levels.At(ls) }
	for name, x := range map[string]struct {
		breaks func(b *book)
		says   string
	}{
		"shown sum":          {func(b *book) { best(b, Buy).shown++ }, "its orders"},
		"hidden sum":         {func(b *book) { best(b, Sell).hidden-- }, "its orders"},
		"level count":        {func(b *book) { best(b, Buy).count++ }, "counts"},
		"level tail":         {func(b *book) { best(b, Buy).tail = best(b, Buy).head }, "counts"},
		"level empty":        {func(b *book) { best(b, Buy).count = 0 }, "is empty"},
		"level price":        {func(b *book) { best(b, Buy).price++ }, "another key"},
		"level order":        {func(b *book) { b.sides[Buy].top[0].slot = b.sides[Buy].best }, "out of order"},
		"best":               {func(b *book) { b.sides[Buy].best = b.sides[Sell].best }, "not at hand"},
		"best of nothing":    {func(b *book) { b.sides[Buy].n = 0 }, "nothing is at hand"},
		"side sum":           {func(b *book) { b.sides[Sell].open++ }, "lots rest"},
		"waiting sum":        {func(b *book) { b.stops.lots[Sell]++ }, "lots wait"},
		"back link":          {func(b *book) { head(b, Buy).prev = 1 }, "linked wrongly"},
		"order side":         {func(b *book) { head(b, Buy).side = Sell }, "linked wrongly"},
		"order in the index": {func(b *book) { head(b, Buy).n = 99 }, "the index"},
		"order total":        {func(b *book) { head(b, Buy).total = 1 }, "shown"},
		"slice":              {func(b *book) { iceberg(b).display = 0 }, "iceberg"},
		"client id": {
			func(b *book) { b.orders.cold.At(best(b, Buy).head).client = b.clients.Find([2]uint64{30, 31}) },
			"belongs to",
		},
		"open orders": {func(b *book) { b.orders.count-- }, "counted"},
		"owner open":  {func(b *book) { b.orders.owners.At(head(b, Buy).owner).Open++ }, "open orders"},
		"owner id": {
			func(b *book) { b.orders.owners.At(head(b, Buy).owner).Account = 7 },
			"nothing is left",
		},
		"owner list":       {func(b *book) { b.orders.owners.At(head(b, Buy).owner).Head = 0 }, "lacks"},
		"owner list order": {func(b *book) { head(b, Buy).ownPrev = 3 }, "out of order"},
		"stop through":     {func(b *book) { b.last = 1 }, "waits"},
		"stop empty":       {func(b *book) { stopLevel(b, Sell).count = 0 }, "waits"},
		"crossed": {func(b *book) {
			// One ask moved below the bid, key, price and cache alike.
			l := &b.sides[Sell]
			l.top[l.n-1].key = l.key(50)
			best(b, Sell).price, l.touch = 50, 50
		}, "crossed"},
	} {
		c, b := fieldsCore(t)
		x.breaks(b)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
}

// Configurations that cannot be traded exactly are refused, each with its reason.
func TestInstrumentValidate(t *testing.T) {
	good := Instrument{Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 10, DigitsAmount: 8}
	if err := good.Validate(); err != nil || good.DigitsTotal() != 18 {
		t.Fatal(err)
	}
	for says, change := range map[string]func(i *Instrument){
		"not of the form":          func(i *Instrument) { i.Code = "btc_USDT" },
		"different":                func(i *Instrument) { i.Quote = "USD" },
		"overflow":                 func(i *Instrument) { i.DigitsAmount = 9 },
		"minQuoteAmount":           func(i *Instrument) { i.HasMinQuote = true; i.MinQuote.Hi = 1 << 40 },
		"maxQuoteAmount is beyond": func(i *Instrument) { i.MaxQuote.Hi = 1 << 40 },
		"maxQuoteAmount is below": func(i *Instrument) {
			i.HasMinQuote, i.MinQuote, i.MaxQuote = true, fixed.FromU64(6), fixed.FromU64(5)
		},
		"priceBandUp is":            func(i *Instrument) { i.BandUp = RateOne - 1 },
		"priceBandUp is not from 1": func(i *Instrument) { i.BandUp = MaxBandUp + 1 },
		"priceBandDown not":         func(i *Instrument) { i.BandDown = RateOne + 1 },
		"a fee rate is":             func(i *Instrument) { i.MakerFee = RateOne + 1 },
		"name two different":        func(i *Instrument) { i.Code, i.Base, i.Quote = "AA_AA", "AA", "AA" },
	} {
		i := good
		change(&i)
		if err := i.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", says, err)
		}
	}
}

// A price is within the band at its exact ends and without a last trade; products of the largest
// prices and factors are exact.
func TestOutOfBand(t *testing.T) {
	const most = math.MaxInt64
	up, down := Instrument{BandUp: 10 * RateOne}, Instrument{BandDown: RateOne / 10}
	for _, c := range []struct {
		in          Instrument
		price, last int64
		want        bool
	}{
		{up, 1000, 100, false},
		{up, 1001, 100, true},
		{up, 1, 100, false},
		{up, most, 0, false},
		{up, most, most, false},
		{up, most, most / 10, true},
		{down, 10, 100, false},
		{down, 9, 100, true},
		{down, most, 100, false},
		{down, most / 10, most, true},
		{down, most/10 + 1, most, false},
		{Instrument{}, most, 1, false},
		{Instrument{}, 1, most, false},
		{Instrument{BandUp: MaxBandUp}, most, most, false},
		{Instrument{BandUp: RateOne, BandDown: RateOne}, 100, 100, false},
		{Instrument{BandUp: RateOne, BandDown: RateOne}, 101, 100, true},
		{Instrument{BandUp: RateOne, BandDown: RateOne}, 99, 100, true},
	} {
		if got := c.in.OutOfBand(c.price, c.last); got != c.want {
			t.Errorf("up %d, down %d: price %d after %d: %t", c.in.BandUp, c.in.BandDown, c.price, c.last, got)
		}
	}
}

// The words of the contract, and what is no command at all.
func TestWords(t *testing.T) {
	if !Created.Open() || !PartiallyCompleted.Open() || Completed.Open() || Rejected.String() != "Rejected" ||
		Halted.String() != "halted" || StopMarket.String() != "stop_market" || FOK.String() != "fok" ||
		Decrement.String() != "decrement" || Sell.Opposite() != Buy || TooManyOrders.String() != "too_many_orders" {
		t.Error("a word of the contract is another")
	}
	defer func() {
		if recover() == nil {
			t.Error("a command of no kind was applied")
		}
	}()
	NewCore(Options{}).Apply(&Command{Kind: 99}, nil)
}
