package engine

import (
	"math"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine/slots"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Every other test relies on Check, so Check must find each of these changes: each breaks one
// thing that holds.
func TestCheckNotices(t *testing.T) {
	head := func(b *book, s Side) *order { return b.orders.at(b.orders.levels.At(b.sides[s].best).head) }
	best := func(b *book, s Side) *level { return b.orders.levels.At(b.sides[s].best) }
	iceberg := func(b *book) *coldOrder { return b.orders.cold.At(best(b, Sell).head) }
	stopLevel := func(b *book, s Side) *level { _, ls := b.stops.ways[s].Max(); return b.orders.levels.At(ls) }
	stop := func(b *book, s Side) *order { return b.orders.at(stopLevel(b, s).head) }
	trailing := func(b *book, s Side) *stopOrder { return b.stops.parked.At(b.stops.trails[s].groups[0].first) }
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
		"level order":        {func(b *book) { b.sides[Buy].Top[0].Slot = b.sides[Buy].best }, "out of order"},
		"best":               {func(b *book) { b.sides[Buy].best = b.sides[Sell].best }, "not at hand"},
		"best of nothing":    {func(b *book) { b.sides[Buy].N = 0 }, "nothing is at hand"},
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
		"owner stops":     {func(b *book) { b.orders.owners.At(head(b, Buy).owner).Stops++ }, "waiting stops"},
		"owner list":      {func(b *book) { b.orders.owners.At(head(b, Buy).owner).Head = 0 }, "lacks"},
		"owner list tail": {func(b *book) { b.orders.owners.At(head(b, Buy).owner).Tail = 0 }, "lacks"},
		"owner list end":  {func(b *book) { b.orders.unlink(stop(b, Sell)) }, "lacks"},
		"owner list of two": {func(b *book) {
			first := best(b, Buy).head
			b.orders.at(first).ownNext = b.orders.at(first).next
			b.orders.at(b.orders.at(first).next).ownPrev = first
		}, "out of order"},
		"owner list by id": {func(b *book) {
			o := head(b, Buy)
			s := best(b, Buy).head
			b.orders.unlink(o)
			b.orders.link(s, o) // the oldest order is the last now
		}, "out of order"},
		"owner list order": {func(b *book) { head(b, Buy).ownPrev = 3 }, "out of order"},
		"stop level":       {func(b *book) { stopLevel(b, Buy).price++ }, "waits"},
		"stop level before another": {func(b *book) {
			b.place(&Command{Side: Sell, Type: StopLimit, Stop: 80, Price: 80, Amount: 1})
			stopLevel(b, Sell).price--
		}, "level 89 waits"},
		"stops in a ring":   {func(b *book) { stop(b, Buy).next = stopLevel(b, Buy).head }, "linked wrongly"},
		"stop mark":         {func(b *book) { stop(b, Sell).marks &^= markStop }, "linked wrongly"},
		"no stop":           {func(b *book) { head(b, Buy).marks |= markStop }, "linked wrongly"},
		"order level":       {func(b *book) { head(b, Buy).level = b.sides[Sell].best }, "linked wrongly"},
		"nothing shown":     {func(b *book) { head(b, Buy).shown = 0 }, "0 shown, 0 hidden of 5"},
		"less than nothing": {func(b *book) { iceberg(b).hidden = -1 }, "-1 hidden"},
		"iceberg total":     {func(b *book) { head(b, Sell).total = 5 }, "1 shown, 5 hidden of 5"},
		"client id closed": {
			func(b *book) { b.clients.Close(b.orders.cold.At(best(b, Buy).head).client) },
			"belongs to order 1",
		},
		"order without its client id": {func(b *book) { head(b, Buy).marks &^= markClient }, "have client ids"},
		"slices":                      {func(b *book) { b.slices++ }, "slices in reserve"},
		"slot of an order":            {func(b *book) { b.orders.alloc() }, "held 11"},
		"slot of a level":             {func(b *book) { b.orders.levels.Alloc() }, "on 8, 6"},
		"slot of a stop":              {func(b *book) { b.stops.parked.Alloc() }, "on 7, 7"},
		"touch":                       {func(b *book) { b.sides[Buy].touch-- }, "not at hand"},
		"price cache": {func(b *book) {
			ls := b.orders.levels.Alloc()
			b.orders.levels.At(ls).price = 100
			b.sides[Buy].cache[100%cacheFirst] = ls
		}, "not found by its price"},
		"tree of nothing": {func(b *book) {
			l := &b.sides[Buy]
			l.Tree.Set(99, l.Top[0].Slot)
			l.N, l.best, l.touch = 0, 0, math.MinInt64
		}, "nothing is at hand"},
		"queue of nothing": {func(b *book) { reach(b, stop(b, Buy)) }, "but 1 stops are queued"},
		"wave of nothing":  {func(b *book) { b.stops.wave = 1 }, "no command is unfinished"},
		"check of nothing": {func(b *book) { b.scan.need = 1 }, "no command is unfinished"},
		"stop behind a reached one": {func(b *book) {
			b.unfinished = &continuation{}
			reach(b, stop(b, Buy))
			stop(b, Buy).prev = 1
		}, "linked wrongly"},
		"group of an order": {func(b *book) { trailing(b, Sell).joined = 0 }, "of another group"},
		"extreme":           {func(b *book) { b.stops.trails[Sell].groups[0].extreme = 1 }, "has the extreme 1"},
		"extreme of a buy":  {func(b *book) { b.stops.trails[Buy].groups[0].extreme++ }, "has the extreme 102"},
		"first of a group": {func(b *book) {
			b.stops.trails[Sell].groups[0].first = trailing(b, Sell).child
		}, "neighbors"},
		"group empty":   {func(b *book) { b.stops.trails[Sell].groups[0].first = 0 }, "the last group is empty"},
		"groups empty":  {func(b *book) { b.stops.trails[Sell].empty++ }, "counted 1"},
		"group numbers": {func(b *book) { b.stops.trails[Sell].groups[0].from = 99 }, "begins with order 99"},
		"trail":         {func(b *book) { trailing(b, Sell).trail += 200 }, "does not wait for"},
		"order of a heap": {func(b *book) {
			b.stops.parked.At(trailing(b, Sell).child).trail = 10
		}, "comes before it"},
		"heap link": {func(b *book) { b.stops.parked.At(trailing(b, Sell).child).prev = 0 }, "linked wrongly"},
		"state in a heap": {func(b *book) {
			b.stops.parked.At(trailing(b, Sell).child).state = waits
		}, "of another group"},
		"side in a heap": {func(b *book) { b.orders.at(trailing(b, Sell).slot).side = Buy }, "of another group"},
		"level of a group": {func(b *book) {
			b.orders.levels.At(b.orders.at(trailing(b, Sell).slot).level).price--
		}, "does not wait for"},
		"lost order of a heap": {func(b *book) { trailing(b, Sell).child = 0 }, "lots wait"},
		"state in a queue": {func(b *book) {
			b.stops.parked.At(b.orders.cold.At(stopLevel(b, Sell).head).stop).state = due
		}, "waits for"},
		"stop through": {func(b *book) { b.last = 1 }, "waits"},
		"stop empty":   {func(b *book) { stopLevel(b, Sell).count = 0 }, "waits"},
		"crossed": {func(b *book) {
			// One ask moved below the bid, key, price and cache alike.
			l := &b.sides[Sell]
			l.Top[l.N-1].Key = l.key(50)
			best(b, Sell).price, l.touch = 50, l.key(50)
		}, "crossed"},
	} {
		c, b := fieldsCore(t)
		x.breaks(b)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
}

// reach takes a stop off its level, as a trade does that reaches it.
func reach(b *book, o *order) {
	s := b.orders.ids.Get(o.n)
	b.orders.dequeue(o, b.orders.levels.At(o.level))
	b.stops.queue.Push(slots.Queued{N: o.n, Slot: s})
}

// Check finds a taker under way that is something else, too.
func TestCheckNoticesTheTaker(t *testing.T) {
	under := func() (*Core, *book, *taker) {
		c := NewCore(Options{PartEvents: MinPartEvents})
		c.Apply(&Command{Kind: AddPair, Pair: ControlPair, Instrument: &Instrument{
			Code: "BTC_USDT", Base: "BTC", Quote: "USDT",
		}}, nil)
		for range 20 {
			c.Apply(&Command{Side: Sell, Price: 100, Amount: 1, Account: 1, First: true}, nil)
		}
		c.Apply(&Command{Price: 100, Amount: 20, Account: 2, First: true}, nil)
		return c, c.books[0], c.books[0].unfinished.taker
	}
	c, _, _ := under()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	for name, breaks := range map[string]func(b *book, x *taker){
		"level":  func(b *book, x *taker) { b.orders.at(x.slot).level = b.sides[Sell].best },
		"number": func(_ *book, x *taker) { x.n++ },
		"left":   func(_ *book, x *taker) { x.left = 0 },
		"ended":  func(_ *book, x *taker) { x.ended = true },
	} {
		c, b, x := under()
		breaks(b, x)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), "order 21 is the taker under way") {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
}

// Configurations that cannot be traded exactly are refused, each with its reason.
func TestInstrumentValidate(t *testing.T) {
	good := Instrument{
		Code: "BTC_USDT", Base: "BTC", Quote: "USDT", DigitsPrice: 10, DigitsAmount: 8,
		BaseDigits: 8, QuoteDigits: 18,
	}
	if err := good.Validate(); err != nil || good.DigitsTotal() != 18 {
		t.Fatal(err)
	}
	for name, change := range map[string]func(i *Instrument){
		"fees":             func(i *Instrument) { i.MakerFee, i.TakerFee = RateOne, RateOne },
		"narrowest band":   func(i *Instrument) { i.BandUp, i.BandDown = RateOne, RateOne },
		"widest band":      func(i *Instrument) { i.BandUp, i.BandDown = MaxBandUp, 1 },
		"limits":           func(i *Instrument) { i.HasMinQuote, i.MinQuote, i.MaxQuote = true, MaxTotal, MaxTotal },
		"largest alone":    func(i *Instrument) { i.MinQuote, i.MaxQuote = fixed.FromU64(6), fixed.FromU64(5) },
		"digits":           func(i *Instrument) { i.BaseDigits = 18 },
		"prices":           func(i *Instrument) { i.MaxPrice = math.MaxInt64 },
		"amounts":          func(i *Instrument) { i.MaxAmount = math.MaxInt64 },
		"amounts in units": func(i *Instrument) { i.DigitsAmount, i.BaseDigits, i.MaxAmount = 0, 18, 1e11 }, // 10^29
		"smallest ignored": func(i *Instrument) { i.MinQuote.Hi = 1 << 40 },
	} {
		i := good
		if change(&i); i.Validate() != nil {
			t.Errorf("%s: %v", name, i.Validate())
		}
	}
	for says, change := range map[string]func(i *Instrument){
		"does not name two":               func(i *Instrument) { i.Base = "ETH" },
		"digitsPrice -1 + digitsAmount 8": func(i *Instrument) { i.DigitsPrice = -1 },
		"digitsAmount -1 is more than 18": func(i *Instrument) { i.DigitsAmount = -1 },
		"is not from 1 to 1000000, or":    func(i *Instrument) { i.BandUp = MaxBandUp + 1 },
		"fee rate is above":               func(i *Instrument) { i.TakerFee = RateOne + 1 },
		"not of the form":                 func(i *Instrument) { i.Code = "btc_USDT" },
		"different":                       func(i *Instrument) { i.Quote = "USD" },
		"overflow":                        func(i *Instrument) { i.DigitsAmount = 9 },
		"minQuoteAmount":                  func(i *Instrument) { i.HasMinQuote = true; i.MinQuote.Hi = 1 << 40 },
		"maxQuoteAmount is beyond":        func(i *Instrument) { i.MaxQuote.Hi = 1 << 40 },
		"maxQuoteAmount is below": func(i *Instrument) {
			i.HasMinQuote, i.MinQuote, i.MaxQuote = true, fixed.FromU64(6), fixed.FromU64(5)
		},
		"digitsAmount 8 is more than the 7 digits of BTC":   func(i *Instrument) { i.BaseDigits = 7 },
		"digitsAmount 8 is more than the 17 digits of USDT": func(i *Instrument) { i.QuoteDigits = 17 },
		"BTC has 19 digits":          func(i *Instrument) { i.BaseDigits = 19 },
		"USDT 19: the most is 18":    func(i *Instrument) { i.QuoteDigits = 19 },
		"maxPrice or":                func(i *Instrument) { i.MaxPrice = -1 },
		"or maxAmount is negative":   func(i *Instrument) { i.MaxAmount = -1 },
		"more than 10^29 units of B": func(i *Instrument) { i.DigitsAmount, i.BaseDigits, i.MaxAmount = 0, 18, 1e11+1 },
		"priceBandUp is":             func(i *Instrument) { i.BandUp = RateOne - 1 },
		"priceBandUp is not from 1":  func(i *Instrument) { i.BandUp = MaxBandUp + 1 },
		"priceBandDown not":          func(i *Instrument) { i.BandDown = RateOne + 1 },
		"a fee rate is":              func(i *Instrument) { i.MakerFee = RateOne + 1 },
		"name two different":         func(i *Instrument) { i.Code, i.Base, i.Quote = "AA_AA", "AA", "AA" },
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
