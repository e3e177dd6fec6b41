package engine_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/differ"
)

// unfinished returns the state of a pair whose newest command is unfinished after its first part.
func unfinished(t *testing.T, prepare func(s *sliced), cmd engine.Command) []stateField {
	t.Helper()
	s := newSliced(t, engine.Options{}, engine.MinPartEvents)
	inst := enginetest.Instrument()
	inst.MakerFee, inst.TakerFee = 14, 15
	s.do(engine.Command{Kind: engine.SetPair, Instrument: &inst})
	prepare(s)
	cmd.First = true
	s.core.Apply(&cmd, nil)
	if !s.core.Unfinished(0) {
		t.Fatal("the command is done")
	}
	return readState(t, s.core.EncodePair(nil, 0))
}

// asks lets 40 asks of account 3 rest, and an iceberg before them.
func asks(s *sliced) {
	s.do(engine.Command{Side: engine.Sell, Account: 4, Price: 100, Amount: 9, Display: 2})
	s.rest(engine.Sell, 40, func(int64) int64 { return 100 })
}

// unfinishedTaker has taken from the asks and has a client id.
func unfinishedTaker(t *testing.T) []stateField {
	return unfinished(t, asks, engine.Command{
		Account: 5, Price: 100, Amount: 30, Display: 3, Client: enginetest.ClientID(5, "a", ""), STP: engine.Decrement,
	})
}

// unfinishedCheck is a fill-or-kill order of an account that has other orders.
func unfinishedCheck(t *testing.T) []stateField {
	return unfinished(t, func(s *sliced) {
		asks(s)
		s.do(engine.Command{Account: 5, Price: 1, Amount: 1})
	}, engine.Command{
		Account: 5, Price: 200, Amount: 1 << 40, TIF: engine.FOK, STP: engine.CancelBoth,
	})
}

// unfinishedCancel is a mass cancel of account 3.
func unfinishedCancel(t *testing.T) []stateField {
	return unfinished(t, asks, engine.Command{TimeNs: 1 << 40, Kind: engine.CancelAll, Account: 3})
}

// unfinishedStops has no taker: the stops that a trade has reached are being collected.
func unfinishedStops(t *testing.T) []stateField {
	return unfinished(t, func(s *sliced) { s.stops(30, engine.GTC) }, place(engine.Buy, 1000, 1))
}

// A state holds the members of an unfinished command where the drawing in state.go has them.
func TestUnfinishedCommandIsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		fields []stateField
		want   changes
	}{
		// The acceptance, a refill and two trades, which count for three events each, are a part of 16 less 8.
		"taker": {unfinishedTaker(t), changes{
			"has command": 0, "has taker": 1, "taker n": 42, "taker account": 5, "taker named": 1,
			"taker stp": 4, "taker limit": 100, "taker left": 27, "taker filled": 3, "taker display": 3,
			"taker found": 42, "taker maker fee": 14, "taker taker fee": 15, "taker discount": 500, "walk need": 0,
		}},
		// Order 1 is an iceberg of 2 of 9 lots; each order after it has one.
		"check": {unfinishedCheck(t), changes{
			"has command": 1, "from": 0, "has taker": 0, "walk need": 1<<40 - 2 - 30, "walk cost lo": 100 * (2 + 30),
			"walk price": 100, "walk n": 32, "walk hidden": 7,
		}},
		"cancel": {unfinishedCancel(t), changes{"has command": 1, "from": 5, "canceled": 1, "has taker": 0}},
		"stops":  {unfinishedStops(t), changes{"has command": 0, "has taker": 0, "reached 12 n": 12, "wave": 0}},
	} {
		got := changes{}
		for _, f := range c.fields {
			if _, ok := c.want[f.name]; ok {
				got[f.name] = f.value
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %s", name, differ.Diff(c.want, got))
		}
	}
}

// The record of an unfinished command has neither the time nor the First of the record in the journal.
func TestRecordInAState(t *testing.T) {
	fields := unfinishedCancel(t)
	i := slices.IndexFunc(fields, func(f stateField) bool { return f.name == "command" })
	cmd := engine.Command{Kind: engine.CancelAll, Account: 3}
	if want := engine.AppendCommand(nil, &cmd); !bytes.Equal(fields[i].bytes, want) {
		t.Errorf("%x, want %x", fields[i].bytes, want)
	}
}

// An unfinished command is restored member for member, and refused beyond its bounds.
func TestUnfinishedStateHasBounds(t *testing.T) {
	const unsound, taker = "the unfinished command does not add up", "the unfinished order 42 does not add up"
	checkDamage(t, unfinishedTaker(t), []damaged{
		{"unchanged", nil, ""},
		{"side beyond", changes{"taker side": 2}, "2 is above 1"},
		{"time in force", changes{"taker tif": 2}, ""},
		{"time in force beyond", changes{"taker tif": 3}, "3 is above 2"},
		{"self-trade mode beyond", changes{"taker stp": 5}, "5 is above 4"},
		{"flags", changes{"taker flags": 255}, ""},
		{"number beyond", changes{"taker n": 43}, "43 is above 42"},
		{"number 0", changes{"taker n": 0, "oldest": 0}, "the unfinished order 0 does not add up"},
		{"number twice", changes{"taker n": 41}, "the unfinished order 41 does not add up"},
		{"one lot", changes{"taker left": 1}, ""},
		{"no lot", changes{"taker left": 0}, taker},
		{"lowest limit", changes{"taker limit": 1}, ""},
		{"no limit", changes{"taker limit": 0}, taker},
		{"no client id", changes{"taker named": 0}, "client id of order 42 does not fit"},
		{"walk of no fill-or-kill order", changes{"walk need": 1}, unsound},
		{"fill-or-kill", changes{"walk need": 1, "taker tif": 2}, ""},
		{"fill-or-kill at market", changes{"walk need": 1, "taker tif": 2, "taker market": 1}, unsound},
		{"order of the walk beyond", changes{"walk n": 43}, "43 is above 42"},
		{"cost", changes{"walk cost hi": 1<<62 - 1}, ""},
		{"cost beyond", changes{"walk cost hi": 1 << 62}, unsound},
		{"stop of a limit order", changes{"walk need": 1, "taker stop": 5, "taker type": 3}, unsound},
		{"stop of a market buy", changes{"walk need": 1, "taker stop": 5, "taker type": 3, "taker market": 1}, ""},
		{"take profit of a market buy", changes{
			"walk need": 1, "taker stop": 5, "taker type": 5, "taker market": 1,
		}, ""},
		{"type with a limit", changes{"walk need": 1, "taker stop": 5, "taker type": 4, "taker market": 1}, unsound},
		{"type that does not wait", changes{
			"walk need": 1, "taker stop": 5, "taker type": 1, "taker market": 1,
		}, unsound},
		{"stop of a market sell", changes{
			"walk need": 1, "taker stop": 5, "taker type": 3, "taker market": 1, "taker side": 1,
		}, unsound},
		{"stop of a buy by quote", changes{
			"walk need": 1, "taker stop": 5, "taker type": 3, "taker market": 1, "taker flags": 2,
		}, unsound},
		{"stop of the built-in account", changes{
			"walk need": 1, "taker stop": 5, "taker type": 3, "taker market": 1, "taker account": 0, "taker named": 0,
		}, unsound},
		{"stop without a walk", changes{"taker stop": 5, "taker market": 1}, unsound},
	})
	checkDamage(t, unfinishedCheck(t), []damaged{
		{"unchanged", nil, ""},
		{"no walk", changes{"walk need": 0}, unsound},
		{"hidden lots beyond", changes{"walk hidden": 8}, "the walk has passed 8 hidden lots"},
	})
	checkDamage(t, unfinishedCancel(t), []damaged{
		{"unchanged", nil, ""},
		{"walk", changes{"walk need": 1}, unsound},
	})
	const order = "is out of order"
	checkDamage(t, unfinishedStops(t), []damaged{
		{"unchanged", nil, ""},
		{"walk", changes{"walk need": 1}, unsound},
		{"newest order", changes{"reached 12 n": 32}, ""},
		{"order beyond", changes{"reached 12 n": 33}, "the reached stop 33 " + order},
		{"order twice", changes{"reached 12 n": 13}, "the reached stop 13 " + order},
		{"order 0", changes{"wave": 1, "reached 12 wave": 1, "reached 12 n": 0}, "the reached stop 0 " + order},
		{"later one first", changes{"reached 1 n": 2, "reached 2 n": 1}, "the reached stop 1 " + order},
		{"later wave first", changes{"wave": 1, "reached 11 wave": 1}, "the reached stop 12 " + order},
		{"later wave", changes{"wave": 1, "reached 12 wave": 1}, ""},
		{"wave beyond", changes{"reached 12 wave": 1}, "the reached stop 12 " + order},
		{"side beyond", changes{"reached 12 side": 2}, "2 is above 1"},
		{"unsound stop", changes{"reached 12 price": 0}, "stop 12 does not add up"},
	})
}

// The record of an unfinished command must be a Place or a CancelAll of its pair, without a taker beside it.
func TestRecordOfAnUnfinishedCommand(t *testing.T) {
	cancel, taker := unfinishedCancel(t), unfinishedTaker(t)
	at := func(fields []stateField, name string) int {
		return slices.IndexFunc(fields, func(f stateField) bool { return f.name == name })
	}
	replaced := func(record []byte) []byte {
		fields := slices.Clone(cancel)
		fields[at(fields, "command")].bytes = record
		return with(t, fields, changes{"length of the command": uint64(len(record))})
	}
	record := func(c engine.Command) []byte { return replaced(engine.AppendCommand(nil, &c)) }
	from, end := at(taker, "taker n"), at(taker, "walk need")
	both := slices.Insert(slices.Clone(cancel), at(cancel, "walk need"), taker[from:end]...)
	for _, c := range []struct {
		name  string
		state []byte
		says  string
	}{
		{"mass cancel", record(engine.Command{Kind: engine.CancelAll, Flags: engine.FlagAllAccount}), ""},
		{"cancel", record(engine.Command{Kind: engine.Cancel}), "the unfinished command is none"},
		{"pair", record(engine.Command{Kind: engine.CancelAll, Pair: 1}), "the unfinished command is none"},
		{"no record", replaced([]byte{1, 2, 3}), "the record is not a command"},
		{"long", replaced(make([]byte, 1<<16)), "the record is not a command"},
		{"too long", replaced(make([]byte, 1<<16+1)), "at most 65536"},
		{
			"taker beside the command", with(t, both, changes{"has taker": 1, "newest": 42}),
			"the unfinished command does not add up",
		},
	} {
		_, err := restorePair(c.state)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
