package engine_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/wire"
)

// damaged is a state with changed members, and what the refusal of it says; "" means that it is another valid state.
type damaged struct {
	name    string
	changed changes
	says    string
}

// checkDamage decodes each damaged state.
func checkDamage(t *testing.T, fields []stateField, table []damaged) {
	t.Helper()
	for _, d := range table {
		state := with(t, fields, d.changed)
		c, err := restorePair(state)
		switch {
		case d.says != "":
			if err == nil || !strings.Contains(err.Error(), d.says) {
				t.Errorf("%s: %v, want %q", d.name, err, d.says)
			}
		case err != nil:
			t.Errorf("%s: %v", d.name, err)
		default:
			if err := c.Check(); err != nil {
				t.Errorf("%s: %v", d.name, err)
			}
			if again := c.EncodePair(nil, c.PairsByCode()[0]); !bytes.Equal(again, state) {
				t.Errorf("%s: it is written as another state", d.name)
			}
		}
	}
}

const (
	most64 = 1<<63 - 1
	half64 = 1 << 62
)

// A pair is restored member for member, and refused with each member beyond its bound.
func TestPairStateHasBounds(t *testing.T) {
	checkDamage(t, readState(t, richCore(t).EncodePair(nil, 0)), []damaged{
		{"unchanged", nil, ""},
		{"format 4", changes{"format": 4}, "state format 4 cannot be read by this program, which has 5"},
		{"format 6", changes{"format": 6}, "state format 6 cannot be read by this program, which has 5"},
		{"number", changes{"id": engine.MaxPairs - 1}, ""},
		{"number beyond", changes{"id": engine.MaxPairs}, "is above"},
		{"digits", changes{
			"digits of the price": 17, "digits of the amount": 1, "digits of the base": 1, "digits of the quote": 18,
		}, ""},
		{"digits of the base", changes{"digits of the amount": 3, "digits of the base": 2}, "3 is more than the 2"},
		{"digits of the quote", changes{"digits of the quote": 1}, "is more than the 1 digits of USDT"},
		{"digits of the base beyond", changes{"digits of the base": 19}, "19 is above 18"},
		{"digits beyond", changes{"digits of the price": 19}, "19 is above 18"},
		{"digits together", changes{"digits of the price": 18, "digits of the amount": 1}, "would overflow"},
		{"unknown limits", changes{"limits": 64}, "64 is above 63"},
		{"most price", changes{"most price": 1}, ""},
		{"no most price", changes{"most price": 0}, "a limit of pair"},
		{"most amount beyond", changes{"most amount": most64 + 1}, "is above"},
		{"state of the pair", changes{"state": 3}, ""},
		{"state of the pair beyond", changes{"state": 5}, "5 is above 4"},
		{"fees", changes{"maker fee": engine.RateOne, "taker fee": engine.RateOne}, ""},
		{"fee beyond", changes{"maker fee": engine.RateOne + 1}, "a fee rate is above 1"},
		{"before 1970", changes{"created": 1<<64 - 5}, ""},
		{"seq", changes{"seq": most64, "trade": most64, "last": 9701}, ""},
		{"seq beyond", changes{"seq": most64 + 1}, "is above"},
		{"trade beyond", changes{"trade": most64 + 1}, "is above"},
		{"last price beyond", changes{"last": most64 + 1}, "is above"},
		{"oldest beyond", changes{"oldest": 13}, "13 is above 12"},
		{"oldest", changes{"oldest": 2}, "the oldest open order is 1, not 2"},

		{"price", changes{"bid 3 price": 1}, ""},
		{"no price", changes{"bid 3 price": 0}, "level 0 is out of order"},
		{"equal prices", changes{"bid 2 price": 10000}, "level 10000 is out of order"},
		{"worse price first", changes{"ask 2 price": 10001}, "level 10001 is out of order"},
		{"worst price", changes{"ask 2 price": most64}, ""},
		{"crossed", changes{"bid 1 price": 10101}, "the book is crossed"},
		{"touching", changes{"bid 1 price": 10100}, "the book is crossed"},
		{"touched", changes{"bid 1 price": 10099}, ""},
		{"order twice", changes{"bid 2 order 1 n": 1}, "order 1 is there twice"},
		{"order 0", changes{"bid 1 order 1 n": 0}, "order 0 is there twice, or out of range"},
		{"self-trade mode", changes{"bid 1 order 1 bits": 16 | 4}, ""},
		{"self-trade mode beyond", changes{"bid 1 order 1 bits": 16 | 5}, "order 1 does not add up"},
		{"waiting in the book", changes{"bid 1 order 1 bits": 16 | 32}, "order 1 does not add up"},
		{"bits beyond", changes{"bid 1 order 1 bits": 2816}, "2816 is above 2815"},
		{"nothing shown", changes{"bid 1 order 1 shown": 0}, "order 1 does not add up"},
		{"more than the total", changes{"bid 1 order 1 shown": 6}, "order 1 does not add up"},
		{"one slice", changes{"ask 1 order 2 display": 3}, ""},
		{"more than a slice", changes{"ask 1 order 2 display": 1}, "order 4 shows more than a slice"},
		{"all hidden lots", changes{"ask 1 order 2 hidden": 7}, ""},
		{"too many hidden lots", changes{"ask 1 order 2 hidden": 8}, "order 4 does not add up"},
		{
			"lots of a side",
			changes{"ask 2 order 1 total": most64 - 12, "ask 2 order 1 shown": most64 - 12}, // 10 ask before, 2 wait
			"",
		},
		{
			"lots beyond int64",
			changes{"ask 2 order 1 total": most64, "ask 2 order 1 shown": most64 - 9},
			"order 6 does not add up",
		},
		{
			"hidden lots beyond int64",
			changes{
				"ask 1 order 1 total": half64, "ask 1 order 1 shown": half64, "ask 1 order 2 total": half64 + 2,
				"ask 1 order 2 hidden": half64,
			},
			"order 4 does not add up",
		},
	})
}

// Waiting stops are restored member for member, and refused beyond their bounds.
func TestStopStateHasBounds(t *testing.T) {
	checkDamage(t, readState(t, richCore(t).EncodePair(nil, 0)), []damaged{
		{"later one first", changes{"buy stop 1 n": 10, "buy stop 2 n": 9}, ""},
		{"the other direction", changes{"buy stop 1 side": 1}, "stop 9 is out of order"},
		{"a take profit of the other side", changes{"buy stop 1 side": 1, "buy stop 1 type": 5}, ""},
		{"farther one first", changes{"buy stop 1 stop": 11001}, "stop 10 is out of order"},
		{"nearer one first", changes{"buy stop 1 stop": 10999}, ""},
		{"through", changes{"buy stop 1 stop": 10100}, "stop 9 is out of order or already through"},
		{"not through", changes{"buy stop 1 stop": 10101}, ""},
		{"never traded", changes{"last": 0, "buy stop 1 stop": 1}, ""},
		{"self-trade mode", changes{"sell stop 1 bits": 48 | 5}, "stop 8 does not add up"},
		{"resting", changes{"sell stop 1 bits": 16}, "stop 8 does not add up"},
		{"iceberg", changes{"sell stop 1 bits": 48 | 8}, "stop 8 does not add up"},
		{"limit", changes{"sell stop 1 type": 0}, "stop 8 does not add up"},
		{"type beyond", changes{"sell stop 1 type": 6}, "6 is above 5"},
		{"time in force", changes{"sell stop 1 tif": 2}, ""},
		{"time in force beyond", changes{"sell stop 1 tif": 3}, "3 is above 2"},
		{"flags", changes{"sell stop 1 flags": 255}, ""},
		{"flags beyond", changes{"sell stop 1 flags": 256}, "256 is above 255"},
		{"lowest stop", changes{"sell stop 1 stop": 1}, ""},
		{"no stop", changes{"sell stop 1 stop": 0}, "stop 8 is out of order"},
		{"lowest price", changes{"sell stop 1 price": 1}, ""},
		{"no price", changes{"sell stop 1 price": 0}, "stop 8 does not add up"},
		{"one lot", changes{"sell stop 1 amount": 1}, ""},
		{"no lot", changes{"sell stop 1 amount": 0}, "stop 8 does not add up"},
		{"one slice", changes{"sell stop 1 display": 2}, ""},
		{"more than a slice", changes{"sell stop 1 display": 3}, ""},
		{"lots of a side", changes{"sell stop 1 amount": most64 - 18}, ""}, // 3 + 7 + 8 lots are in the book
		{"lots beyond int64", changes{"sell stop 1 amount": most64 - 17}, "stop 8 does not add up"},
		{"market without price, lots and slices", changes{"buy stop 1 price": 0, "buy stop 1 display": 9}, ""},
	})
}

// Client ids are restored member for member, and refused when they do not fit the orders.
func TestClientIDStateHasBounds(t *testing.T) {
	fields := readState(t, richCore(t).EncodePair(nil, 0))
	const unfit = " does not fit"
	checkDamage(t, fields, []damaged{
		{"order beyond", changes{"client 4 n": 13}, "13 is above 12"},
		{"order without mark", changes{"bid 3 order 1 bits": 0}, "client id of order 12" + unfit},
		{"mark without client id", changes{"bid 2 order 1 bits": 64 | 16}, "an order lacks its client id"},
		{"account", changes{"client 4 account": 2}, "client id of order 12" + unfit},
		{"open order", changes{"client 3 open": 1}, "client id of order 11" + unfit},
		{"closed order", changes{"client 4 open": 0, "bid 3 order 1 bits": 0}, "client id of order 12" + unfit},
		{
			"out of order",
			changes{"bid 1 order 2 bits": 4, "client 1 n": 11, "client 1 open": 0, "client 3 n": 7},
			"client id of order 4" + unfit,
		},
		{
			"order twice",
			changes{"ask 1 order 2 bits": 8, "client 2 n": 11, "client 2 open": 0},
			"client id of order 11" + unfit,
		},
		{
			"closed order outside",
			changes{"bid 1 order 1 bits": 0, "client 5 n": 7, "client 5 open": 0},
			"client id of order 7" + unfit,
		},
		{
			"all inside, closed ones too",
			changes{
				"bid 1 order 1 bits": 0, "ask 1 order 2 bits": 8, "bid 1 order 2 bits": 4,
				"sell stop 1 bits": 32, "client 1 n": 7, "client 1 open": 0, "client 2 n": 9, "client 2 open": 0,
				"clients inside": 6, "clients outside": 0, "client 5 n": 1, "client 5 open": 0,
			},
			"client id of order 9" + unfit, // that order is open
		},
	})
	at := func(name string) int {
		return slices.IndexFunc(fields, func(f stateField) bool { return f.name == name })
	}
	same := slices.Clone(fields)
	same[at("client 2 hash")] = same[at("client 1 hash")]
	if _, err := restorePair(writeState(same)); err == nil || !strings.Contains(err.Error(), "client id of order 4") {
		t.Errorf("a hash twice: %v", err)
	}
	// An open client id of a book without orders.
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	ioc := place(engine.Buy, 100, 1)
	ioc.TIF, ioc.Account, ioc.Client = engine.IOC, 1, enginetest.ClientID(1, "a", "")
	m.do(ioc)
	checkDamage(t, readState(t, m.core.EncodePair(nil, 0)), []damaged{
		{"unchanged", nil, ""},
		{"open", changes{"client 1 open": 1}, "client id of order 1" + unfit},
	})
}

// Order lists are restored member for member, and refused when their orders do not fit together.
func TestListStateHasBounds(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	for _, line := range []string{
		"sell 1 @ 100.00", "buy 1 @ 100.00",
		"oco: sell 3 @ 103.00 post-only acct=1; sell 3 @ 97.00 stop=98.00 acct=1",
		"otoco client=x: buy 4 @ 99.00 acct=1; sell 4 market stop=90.00 acct=1; sell 4 @ 105.00 post-only acct=1",
		"opo: buy 3 @ 99.50 acct=2; sell @ 120.00 acct=2", "sell 1 @ 99.50",
		"oco: buy 2 @ 95.00 post-only acct=2; buy 2 market stop=108.00 acct=2",
	} {
		m.line(new(strings.Builder), line)
	}
	const unfit = " of a list does not fit"
	fields := readState(t, m.core.EncodePair(nil, 0))
	var short []stateField // without the second pending order of list 2
	for _, f := range fields {
		if !strings.HasPrefix(f.name, "list 2 order 3 ") || strings.HasSuffix(f.name, " where") {
			short = append(short, f)
		}
	}
	checkDamage(t, short, []damaged{{"one pends", changes{"list 2 order 3 where": 0}, "list 5 does not add up"}})
	checkDamage(t, fields, []damaged{
		{"unchanged", nil, ""},
		{"no kind", changes{"list 1 kind": 0}, "list 3 is out of order"},
		{"number 0", changes{"list 1 n": 0}, "list 0 is out of order"},
		{"number beyond", changes{"list 4 n": 13}, "list 13 is out of order"},
		{"number far beyond", changes{"list 4 n": 1<<64 - 1}, "is out of order"},
		{"second order beyond", changes{"list 4 n": 12}, "list 12 is out of order"},
		{"on another list", changes{"list 2 n": 4}, "list 4 is out of order"},
		{"the one of before", changes{"list 2 n": 3}, "list 3 is out of order"},
		{"cause", changes{"list 1 cause": uint64(engine.CauseOperator)}, ""},
		{"cause beyond", changes{"list 1 cause": uint64(engine.CauseOperator) + 1}, "list 3 has no cause 11"},
		{"where beyond", changes{"list 1 order 1 where": 3}, "3 is above 2"},
		{"brought by another kind", changes{"list 2 brought lo": 1}, "list 5 does not add up"},
		{"brought by no fill", changes{"list 3 brought lo": 100_000_001}, "list 8 does not add up"},
		{"brought far beyond", changes{"list 3 brought hi": 1<<64 - 1}, "list 8 does not add up"},
		{"all brought", changes{"list 3 brought lo": 100_000_000}, ""},

		{"an order that is not there", changes{"list 1 n": 1}, "order 1" + unfit},
		{"an order of no list", changes{"ask 1 order 1 bits": 16 | 1}, "order 3" + unfit},
		{"an order without list", changes{"list 1 order 1 where": 0}, "an order lacks its list"},
		{"another account", changes{"sell stop 1 account": 2}, "order 4" + unfit},
		{"another amount", changes{"sell stop 1 amount": 2}, "list 3 does not add up"},
		{"filled", changes{"ask 1 order 1 shown": 2}, "list 3 does not add up"},
		{"pending without working", changes{
			"list 2 order 1 where": 0, "bid 2 order 1 bits": 0,
		}, "list 5 does not add up"},

		{"pending: side", changes{"list 2 order 3 side": 0}, "list 5 does not add up"},
		{"pending: amount", changes{"list 2 order 3 amount": 5}, "list 5 does not add up"},
		{"pending: no amount", changes{
			"list 2 order 2 amount": 0, "list 2 order 3 amount": 0,
		}, "list 5 does not add up"},
		{"pending: too early an amount", changes{"list 3 order 2 amount": 1}, "list 8 does not add up"},
		{"pending: buys what the list brings", changes{"list 3 order 2 side": 0}, "list 8 does not add up"},
		{"pending: by quote amount", changes{"list 2 order 2 flags": 2}, "list 5 does not add up"},
		{"pending: state", changes{"list 2 order 2 state": 0}, "order 6 does not pend"},
		{"pending: due", changes{"list 2 order 2 state": 2}, "order 6 does not pend"},
		{"pending: account", changes{"list 2 order 2 account": 2}, "order 6" + unfit},
		{"pending: no price", changes{"list 2 order 3 price": 0}, "stop 7 does not add up"},
		{"pending: no stop", changes{"list 2 order 2 stop": 0}, "stop 6 does not add up"},
		{"pending: trail beyond", changes{"list 2 order 2 trail": 2001}, "2001 is above 2000"},
		{"pending: trail below", changes{"list 2 order 2 trail": 9}, "stop 6 does not add up"},
		{"pending: type beyond", changes{"list 2 order 2 type": 6}, "6 is above 5"},
		{"pending: not marked", changes{"list 2 order 2 bits": 32}, "stop 6 does not add up"},
		{"the working order sells", changes{"list 3 kind": 2, "list 3 brought lo": 0, "list 3 order 2 amount": 1}, ""},

		{"client id of another list", changes{"client 1 n": 3, "client 1 account": 1}, ""},
		{"client id of another account", changes{"client 1 account": 2}, "client id of order 5 does not fit"},
		{"client id of no list", changes{"client 1 n": 1}, "client id of order 1 does not fit"},
		{"closed client id", changes{"client 1 open": 0}, "client id of order 5 does not fit"},
	})
}

// The numbers of orders end at 36 bits.
func TestLastOrderNumberOfAState(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	m.do(place(engine.Buy, 100, 1))
	const last = 1<<36 - 1
	checkDamage(t, readState(t, m.core.EncodePair(nil, 0)), []damaged{
		{"last", changes{"newest": last, "oldest": last, "bid 1 order 1 n": last}, ""},
		{"beyond", changes{"newest": last + 1, "oldest": last + 1, "bid 1 order 1 n": last + 1}, "is above"},
		{"none", changes{"oldest": 0, "bid 1 order 1 n": 0}, "order 0 is there twice, or out of range"},
	})
}

// A level without orders is refused.
func TestEmptyLevelIsRefused(t *testing.T) {
	var fields []stateField
	for _, f := range readState(t, richCore(t).EncodePair(nil, 0)) {
		if !strings.HasPrefix(f.name, "bid 2 order 1 ") {
			fields = append(fields, f)
		}
	}
	checkDamage(t, fields, []damaged{{"empty", changes{"bid 2 orders": 0}, "level 9900 is empty"}})
}

// A pair is refused when its number or its code is taken, and added under its number otherwise. The limits of its
// orders come back with it.
func TestStateOfASecondPair(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	inst := enginetest.Instrument()
	inst.MaxQuote.Hi, inst.MaxQuote.Lo, inst.BandUp, inst.BandDown = 1, 2, 3*engine.RateOne, 4
	limited := m.inst
	limited.MaxQuote, limited.BandUp, limited.BandDown = inst.MaxQuote, inst.BandUp, inst.BandDown
	m.do(engine.Command{Kind: engine.SetPair, Instrument: &limited})
	fields := readState(t, m.core.EncodePair(nil, 0))
	code := slices.IndexFunc(fields, func(f stateField) bool { return f.name == "code" })
	other := slices.Clone(fields)
	other[code].bytes = []byte("ETH_USDT")
	for _, c := range []struct {
		name  string
		state []byte
		ok    bool
	}{
		{"equal", writeState(fields), false},
		{"other number", with(t, fields, changes{"id": 5}), false},
		{"other code", writeState(other), false},
		{"other number and code", with(t, other, changes{"id": 5}), true},
	} {
		id, err := m.core.DecodePair(c.state)
		if ok := err == nil && id == 5; ok != c.ok {
			t.Errorf("%s: pair %d, %v", c.name, id, err)
		}
		if !c.ok && !strings.Contains(err.Error(), "already") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	third := slices.Clone(fields)
	third[code].bytes = []byte("LTC_USDT")
	if _, err := m.core.DecodePair(with(t, third, changes{"id": 6, "digits of the quote": 9})); err == nil ||
		!strings.Contains(err.Error(), "LTC or USDT has other digits in another pair") {
		t.Errorf("a pair whose USDT has other digits: %v", err)
	}
	back, _ := m.core.Pair(5)
	limited.ID, limited.Code, limited.Base = 5, "ETH_USDT", "ETH"
	limited.BaseDigits, limited.QuoteDigits = 8, 8
	if limited.CreatedNs = back.CreatedNs; *back != limited {
		t.Errorf("%+v, want %+v", *back, limited)
	}
	checkDamage(t, fields, []damaged{
		{"unchanged", nil, ""},
		{"absent limit", changes{"band down": 0}, "a limit of pair"},
	})
	long := slices.Clone(other)
	long[code].bytes = bytes.Repeat([]byte{'A'}, 1<<16+1)
	for n, says := range map[uint64]string{1 << 16: "is not of the form", 1<<16 + 1: "at most 65536"} {
		long[code].bytes = long[code].bytes[:n]
		if _, err := restorePair(with(t, long, changes{"length of the code": n})); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("a code of %d bytes is not refused because it %s", n, says)
		}
		long[code].bytes = long[code].bytes[:1<<16+1]
	}
	if _, err := restorePair(nil); !errors.Is(err, wire.ErrShort) {
		t.Errorf("no state: %v", err)
	}
	if m.core.EncodePair([]byte("x"), 9) == nil || m.core.HashPair(9, nil) != [32]byte{} {
		t.Error("an unknown pair has a state")
	}
}

// Orders that trail are restored member for member, and refused beyond their bounds.
func TestTrailingStateHasBounds(t *testing.T) {
	m := newMarket(t, engine.Options{}, enginetest.Instrument())
	for _, line := range []string{
		"buy 1 market stop=200.00 trail=100 acct=1", "sell 1 @ 50.00 stop=90.00 trail=2000", // 1, 2
		"trade 100.00",
		"sell 2 @ 50.00 stop=0 trail=1500", "buy 3 market take=0 trail=1000 acct=1", // 5, 6
		"trade 98.00",
		"sell 4 market take=0 trail=1000", "sell 4 @ 50.00 stop=0 trail=1000", // 9, 10
	} {
		m.line(new(strings.Builder), line)
	}
	const order, sum, extreme = "is out of order", "does not add up", "the extreme"
	checkDamage(t, readState(t, m.core.EncodePair(nil, 0)), []damaged{
		{"unchanged", nil, ""},
		{"trail beyond", changes{"sell stop 1 trail": 2001}, "2001 is above 2000"},
		{"trail below", changes{"sell stop 1 trail": 9}, "stop 2 " + sum},
		{"least trail", changes{"sell stop 1 trail": 10}, ""},
		{"a stop that does not trail", changes{"sell stop 1 trail": 0}, ""},
		{"no stop price", changes{"sell stop 1 stop": 0}, "stop 2 " + order},
		{"hold", changes{"buy stop 1 hold": 1}, ""},
		{"no hold", changes{"buy stop 1 hold": 0}, "stop 1 " + sum},
		{"hold of another order", changes{"sell stop 1 hold": 1}, "stop 2 " + sum},
		{"hold of the built-in account", changes{"buy stop 1 account": 0}, "stop 1 " + sum},
		{"it waits and is said to track", changes{"sell stop 1 state": 3}, "stop 2 " + order},
		{"state beyond", changes{"sell stop 1 state": 4}, "4 is above 3"},

		{"lowest extreme", changes{"trailing buy group 1 extreme": 9000}, ""},
		{"extreme that is reached", changes{
			"trailing buy group 1 extreme": 8900,
		}, "order 6 does not trail, or is already"},
		{"extreme behind the market", changes{"trailing buy group 1 extreme": 9801}, extreme + " 9801 " + order},
		{"equal extremes", changes{"trailing sell group 1 extreme": 9800}, extreme + " 9800 " + order},
		{"nearer one first", changes{"trailing sell group 2 extreme": 10_001}, extreme + " 10001 " + order},
		{"other extremes", changes{"trailing sell group 1 extreme": 10_500, "trailing sell group 2 extreme": 9900}, ""},
		{"no extreme", changes{"last": 0, "trailing buy group 1 extreme": 0}, extreme + " 0 " + order},
		{"no trail", changes{"trailing sell group 1 order 1 trail": 0}, "order 5 does not trail"},
		{"smallest trail", changes{"trailing sell group 2 order 2 trail": 10}, ""},
		{"trail that is reached", changes{"trailing sell group 1 order 1 trail": 200}, "order 5 does not trail, or is"},
		{"trail that is not", changes{"trailing sell group 1 order 1 trail": 201}, ""},
		{"side", changes{"trailing sell group 1 order 1 side": 0}, "order 5 does not trail"},
		{"it tracks and is said to wait", changes{"trailing sell group 1 order 1 state": 0}, "order 5 does not trail"},
		{"order twice", changes{"trailing sell group 2 order 2 n": 5}, "order 5 is there twice"},
		{"another order first", changes{
			"trailing sell group 2 order 1 n": 10, "trailing sell group 2 order 2 n": 9,
		}, ""},
		{"no lot", changes{"trailing sell group 1 order 1 amount": 0}, "stop 5 " + sum},
		{"limit", changes{"trailing sell group 1 order 1 type": 0}, "stop 5 " + sum},
	})
	fields := readState(t, m.core.EncodePair(nil, 0))
	at := slices.IndexFunc(fields, func(f stateField) bool { return f.name == "trailing buy group 1 orders" })
	end := slices.IndexFunc(fields, func(f stateField) bool { return f.name == "trailing sell groups" })
	empty := slices.Delete(slices.Clone(fields), at+1, end)
	if _, err := restorePair(with(t, empty, changes{"trailing buy group 1 orders": 0})); err == nil ||
		!strings.Contains(err.Error(), "no order has the extreme 9800") {
		t.Errorf("a group without orders: %v", err)
	}
}
