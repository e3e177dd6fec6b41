package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/fixed"
)

// bounded is a member of a record at its greatest value, and beyond it.
type bounded struct {
	name       string
	at, beyond Command
}

func placed(change func(c *Command)) Command {
	c := Command{Kind: Place, Pair: 1, Account: 1<<32 - 1, Price: 5, Amount: 7}
	change(&c)
	return c
}

func paired(change func(in *Instrument)) Command {
	in := Instrument{ID: 1, Code: "AA_BB", Base: "AA", Quote: "BB"}
	change(&in)
	return Command{Kind: AddPair, Pair: ControlPair, Instrument: &in}
}

func bounds() []bounded {
	place := func(name string, at, beyond func(c *Command)) bounded {
		return bounded{name, placed(at), placed(beyond)}
	}
	pair := func(name string, at, beyond func(in *Instrument)) bounded {
		return bounded{name, paired(at), paired(beyond)}
	}
	text := func(n int) *ClientID { return &ClientID{Text: strings.Repeat("x", n)} }
	return []bounded{
		place("side", func(c *Command) { c.Side = Sell }, func(c *Command) { c.Side = Sell + 1 }),
		place("type", func(c *Command) { c.Type = StopMarket }, func(c *Command) { c.Type = TakeMarket + 1 }),
		place("time in force", func(c *Command) { c.TIF = FOK }, func(c *Command) { c.TIF = FOK + 1 }),
		place("self-trade mode", func(c *Command) { c.STP = Decrement }, func(c *Command) { c.STP = Decrement + 1 }),
		place("reason", func(c *Command) { c.Refuse = lastReason }, func(c *Command) { c.Refuse = lastReason + 1 }),
		place("client id", func(c *Command) { c.Client = text(maxRecordText) },
			func(c *Command) { c.Client = text(maxRecordText + 1) }),
		{
			"reason of a replace",
			Command{Kind: Replace, Refuse: lastReason, Account: 1<<32 - 1},
			Command{Kind: Replace, Refuse: lastReason + 1},
		},
		pair("pair", func(in *Instrument) { in.ID = MaxPairs }, func(in *Instrument) { in.ID = MaxPairs + 1 }),
		pair("digits of the price", func(in *Instrument) { in.DigitsPrice = fixed.Scale },
			func(in *Instrument) { in.DigitsPrice = fixed.Scale + 1 }),
		pair("digits of the amount", func(in *Instrument) { in.DigitsAmount = fixed.Scale },
			func(in *Instrument) { in.DigitsAmount = fixed.Scale + 1 }),
		pair("largest price", func(in *Instrument) { in.MaxPrice = math.MaxInt64 },
			func(in *Instrument) { in.MaxPrice = -1 }),
		pair("largest amount", func(in *Instrument) { in.MaxAmount = math.MaxInt64 },
			func(in *Instrument) { in.MaxAmount = -1 }),
		{
			"digits of an asset",
			Command{Kind: SetAsset, Control: &ControlRecord{Asset: &Asset{Symbol: "A", Digits: fixed.Scale}}},
			Command{Kind: SetAsset, Control: &ControlRecord{Asset: &Asset{Symbol: "A", Digits: fixed.Scale + 1}}},
		},
		pair("state", func(in *Instrument) { in.State = lastState }, func(in *Instrument) { in.State = lastState + 1 }),
		pair("maker fee of a pair", func(in *Instrument) { in.MakerFee = RateOne },
			func(in *Instrument) { in.MakerFee = RateOne + 1 }),
		pair("taker fee of a pair", func(in *Instrument) { in.TakerFee = RateOne },
			func(in *Instrument) { in.TakerFee = RateOne + 1 }),
	}
}

// Every member of a record is read at its bound and refused beyond it, also into a command that was used before.
func TestCommandRecordsHaveBounds(t *testing.T) {
	for _, b := range bounds() {
		record := AppendCommand(nil, &b.at)
		back := Command{Client: &ClientID{}, Stop: 9, Display: 9, First: true}
		err := DecodeCommand(record, &back)
		if d := differ.Diff(b.at, back); err != nil || d != "" {
			t.Errorf("%s: %v, the record reads as another command: %s", b.name, err, d)
		}
		if err := DecodeCommand(append(record, 0), &back); !errors.Is(err, ErrRecord) {
			t.Errorf("%s, with a byte behind the record: %v", b.name, err)
		}
		err = DecodeCommand(AppendCommand(nil, &b.beyond), &back)
		if !errors.Is(err, ErrRecord) || strings.Contains(err.Error(), "rules version") {
			t.Errorf("%s beyond its bound: %v", b.name, err)
		}
	}
}

// A record of other rules is refused with a sentence that names them, also one with a member that no record of
// RulesVersion has.
func TestRecordsOfOtherRulesAreRefused(t *testing.T) {
	order := placed(func(c *Command) { c.First = true })
	for rules := range byte(RulesVersion + 5) {
		for _, kind := range []CommandKind{Place, Other} {
			record := AppendCommand(nil, &order)
			record[0], record[1] = firstBit|byte(kind), rules
			var back Command
			err := DecodeCommand(record, &back)
			if rules == RulesVersion {
				if (err == nil) != (kind == Place) {
					t.Errorf("kind %d: %v", kind, err)
				}
				continue
			}
			says := fmt.Sprintf("rules version %d, and this program reads %d alone: use the program that wrote it",
				rules, RulesVersion)
			if !errors.Is(err, ErrRecord) || !strings.Contains(err.Error(), says) {
				t.Errorf("rules %d: %v", rules, err)
			}
		}
	}
}

// Bytes that no command has are refused: a number beyond the type of its member, a kind, a boolean, limits of a pair
// that its values do not have.
func TestBytesOfNoCommandAreRefused(t *testing.T) {
	order := placed(func(c *Command) { c.Account = 1 })
	named := placed(func(c *Command) { c.Account, c.Client = 1, &ClientID{Text: "x"} })
	asset := Command{Kind: SetAsset, Pair: 1, Control: &ControlRecord{Asset: &Asset{Symbol: "A", Name: "B"}}}
	pair := paired(func(*Instrument) {})
	pair.Pair = 1
	cancel := Command{Kind: Cancel, Pair: 1, Order: 3}
	replace := Command{Kind: Replace, Pair: 1, Order: 3, Price: 1, Amount: 1}
	const (
		head   = 2 + 8 + 1        // kind, rules, time and pair
		words  = head + 5         // of a Place: presence bits, account, price, amount, client id
		limits = head + 1 + 6 + 3 // of a pair: its number, its code, digits and state come before
		fiat   = head + 2 + 2 + 1 // of an asset: symbol, name and digits come before
	)
	wide := binary.AppendUvarint(nil, 1<<32)
	for _, c := range []struct {
		name string
		of   Command
		at   int    // first byte that is replaced
		was  byte   // its value
		by   []byte // instead of it
	}{
		{"kind", order, 0, 0, []byte{byte(Other)}},
		{"kind of another part", order, 0, 0, []byte{1<<partShift | byte(Cancel)}},
		{
			"kind without members",
			Command{Kind: Continue},
			0, byte(Continue),
			[]byte{byte(Other)},
		},
		{"pair", order, head - 1, 1, wide},
		{"presence bits", order, words, 0, binary.AppendUvarint(nil, allPresent+1)},
		{"account", order, words + 1, 1, wide},
		{"length of a text", named, words + 4, 1, []byte{34}}, // its hashes are the 32 bytes behind it
		{"empty client id", named, words + 4, 1, []byte{0}},
		{"account of a cancel", cancel, head + 1, 0, wide},
		{"account of a replace", replace, head + 2, 0, wide},
		{"boolean", asset, fiat, 0, []byte{2}},
		{"limits without values", pair, limits, 0, []byte{hasMaxQuote}},
		{"unknown limits", pair, limits, 0, []byte{allLimits + 1}},
	} {
		record := AppendCommand(nil, &c.of)
		var back Command
		if err := DecodeCommand(record, &back); err != nil || record[c.at] != c.was {
			t.Fatalf("%s: %v, %x", c.name, err, record)
		}
		bad := append(append(record[:c.at:c.at], c.by...), record[c.at+1:]...)
		if c.name == "limits without values" {
			bad = append(bad, 0, 0)
		}
		if err := DecodeCommand(bad, &back); !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v, %+v", c.name, err, back)
		}
	}
}

// The record of a plain order has no byte more than its members need: AppendCommand's comment draws it.
func TestRecordOfAPlainOrder(t *testing.T) {
	c := Command{
		First: true, TimeNs: 0x0102030405060708, Pair: 300, Account: 5, Side: Sell, TIF: IOC,
		STP: CancelMaker, Flags: FlagPostOnly, Price: 3, Amount: 100,
	}
	want := []byte{1 << 7, RulesVersion, 8, 7, 6, 5, 4, 3, 2, 1, 0xac, 2, 1, 0, 1, 2, 1, 0, 5, 6, 0xc8, 1}
	if record := AppendCommand(nil, &c); !bytes.Equal(record, want) {
		t.Errorf("%x, want %x", record, want)
	}
}

func otherOf(part uint8, record string) Command {
	return Command{
		Kind: Other, Pair: ControlPair, First: true,
		Control: &ControlRecord{Part: part, Record: []byte(record)},
	}
}

// Each member that is seldom set comes back when it alone is set, and when it is as small as can be.
func TestSeldomMembersComeBackAlone(t *testing.T) {
	one := fixed.FromU64(1)
	for i, change := range []func(c *Command){
		func(c *Command) { c.Stop = 1 },
		func(c *Command) { c.Display = 1 },
		func(c *Command) { c.Quote = one },
		func(c *Command) { c.Client = &ClientID{Text: "x"} },
		func(c *Command) { c.Client = &ClientID{Text: "x", Reusable: true} },
		func(c *Command) { c.Client = &ClientID{Strategy: new(int64)} },
		func(c *Command) { c.Client = &ClientID{StrategyType: new(int64(-1 << 63))} },
		func(c *Command) {
			c.Client = &ClientID{Text: "x", Strategy: new(int64(1)), StrategyType: new(int64(2))}
		},
		func(c *Command) { c.Trail = 1 },
		func(c *Command) { c.Trail = 1<<16 - 1 },
		func(c *Command) { *c = Command{Kind: Replace, Order: 7, Flags: FlagHasTrail, Trail: 1<<16 - 1} },
		func(c *Command) { *c = Command{Kind: Replace, Order: 7, Flags: FlagHasStop, Stop: -1} },
		func(c *Command) { *c = Command{Kind: Replace, Order: 7, Client: &ClientID{Text: "x"}} },
		func(c *Command) { *c = Command{Kind: Replace, Order: 7, Client: &ClientID{Text: "x", Reusable: true}} },
		func(c *Command) { *c = Command{Kind: Cancel, Order: 7, Client: &ClientID{Text: "x"}} },
		func(c *Command) { *c = Command{Kind: Cancel, Order: 7} },
		func(c *Command) { c.Refuse = 1 },
		func(c *Command) { *c = Command{Kind: Skip, Order: 1<<64 - 1} },
		func(c *Command) { *c = otherOf(1, "x") },
		func(c *Command) { *c = otherOf(MaxPart, "a longer one") },
	} {
		c := placed(change)
		var back Command
		err := DecodeCommand(AppendCommand(nil, &c), &back)
		if d := differ.Diff(c, back); err != nil || d != "" {
			t.Errorf("%d: %v, the record reads as another command: %s", i, err, d)
		}
	}
	// A cancel without an id has no byte for one, and only a client id can be reusable.
	plain, own := AppendCommand(nil, &Command{Kind: Cancel, Order: 7}), &Command{Kind: CancelAll, Order: 7}
	own.Client = &ClientID{Text: "x"}
	if all := AppendCommand(nil, own); len(plain) != 14 || len(all) != len(plain) {
		t.Errorf("a cancel has %d bytes, a mass cancel %d", len(plain), len(all))
	}
	named := placed(func(c *Command) { c.Client = &ClientID{Text: "x", Reusable: true} })
	record := AppendCommand(nil, &named)
	at := bytes.Index(record, binary.AppendUvarint(nil, hasClient|hasReusable))
	copy(record[at:], binary.AppendUvarint(nil, hasRefuse|hasReusable))
	record = append(record[:len(record)-34], 1) // a refusal instead of the id
	if err := DecodeCommand(record, new(Command)); !errors.Is(err, ErrRecord) {
		t.Errorf("a reusable id without an id: %v", err)
	}
}

// Only a Skip is one; its rules version does not matter.
func TestIsSkip(t *testing.T) {
	for kind := range Continue + 1 {
		for _, rules := range []byte{0, RulesVersion} {
			if IsSkip([]byte{byte(kind), rules, 9}) != (kind == Skip) {
				t.Errorf("kind %d of rules %d", kind, rules)
			}
		}
	}
	if IsSkip(nil) {
		t.Error("an empty record is a Skip")
	}
}

// A command that its record cannot hold is not recordable.
func TestRecordable(t *testing.T) {
	long := strings.Repeat("x", maxRecordText+1)
	for _, c := range []struct {
		name string
		of   Command
		want bool
	}{
		{"pair", paired(func(*Instrument) {}), true},
		{"digits", paired(func(in *Instrument) { in.DigitsPrice = fixed.Scale + 1 }), false},
		{"asset", Command{Kind: SetAsset, Control: &ControlRecord{Asset: &Asset{Name: long[1:]}}}, true},
		{"long name", Command{Kind: SetAsset, Control: &ControlRecord{Asset: &Asset{Name: long}}}, false},
		{"order", placed(func(*Command) {}), true},
		{"list", Command{Kind: PlaceList, List: &List{Kind: OCO, Orders: make([]Command, 2)}}, true},
		{"list of one order", Command{Kind: PlaceList, List: &List{Kind: OCO, Orders: make([]Command, 1)}}, false},
	} {
		if err := c.of.Recordable(); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
