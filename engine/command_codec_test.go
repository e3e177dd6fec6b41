package engine_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/differ"
	"github.com/tickhive/tickhive/internal/fixed"
)

// Every kind of command comes back from its journal record member for member.
func TestCommandRecordRoundTrip(t *testing.T) {
	f := enginetest.NewFlow(7)
	buf := []byte(nil)
	for range 20_000 {
		c := f.Next()
		c.TimeNs = f.R.Int64()
		buf = checkRecord(t, &c, buf)
	}
	asset := &engine.Asset{
		Symbol: "BTC", Name: "Bitcoin", Digits: 8, CanDeposit: true, HasMinWithdraw: true,
		MinWithdraw: fixed.I128{Hi: -1, Lo: 5},
	}
	inst := enginetest.Instrument()
	inst.HasMinQuote, inst.MinQuote, inst.State = true, fixed.U128{Lo: 7}, engine.Halted
	limited := inst
	limited.MaxQuote, limited.BandUp, limited.BandDown = fixed.U128{Hi: 1, Lo: 9}, engine.MaxBandUp, 1
	onlyDown := enginetest.Instrument()
	onlyDown.BandDown, onlyDown.MaxPrice, onlyDown.MaxAmount = engine.RateOne, 0, 0
	for _, c := range []engine.Command{
		{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &limited},
		{Kind: engine.SetPair, Pair: 3, Instrument: &onlyDown},
		{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &inst, Control: &engine.ControlRecord{
			Past: enginetest.Past(),
		}},
		{Kind: engine.Place, Refuse: engine.AboveMaxQuoteAmount},
		{Kind: engine.Replace, Refuse: engine.AccountHalted},
		{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &inst},
		{Kind: engine.SetPair, Pair: 3, Instrument: &inst},
		{Kind: engine.SetAsset, Pair: engine.ControlPair, Control: &engine.ControlRecord{Asset: asset}},
		{Kind: engine.CancelAll, Pair: 9, Flags: engine.FlagAllAccount, Order: 1 << 40},
	} {
		checkRecord(t, &c, buf)
	}
}

func checkRecord(t *testing.T, c *engine.Command, buf []byte) []byte {
	t.Helper()
	buf = engine.AppendCommand(buf[:0], c)
	var back engine.Command
	if err := engine.DecodeCommand(buf, &back); err != nil {
		t.Fatal(err)
	}
	if d := differ.Diff(*c, back); d != "" {
		t.Fatalf("a record reads as another command: %s", d)
	}
	for n := range buf {
		if err := engine.DecodeCommand(buf[:n], &back); err == nil {
			t.Fatalf("%d of %d bytes of a record pass for a command", n, len(buf))
		}
	}
	return buf
}

// No record makes the decoder panic, and what it takes encodes to the same bytes.
func FuzzDecodeCommand(f *testing.F) {
	fl := enginetest.NewFlow(1)
	for range 50 {
		c := fl.Next()
		f.Add(engine.AppendCommand(nil, &c))
	}
	inst := enginetest.Instrument()
	f.Add(engine.AppendCommand(nil, &engine.Command{
		Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &inst,
		Control: &engine.ControlRecord{Past: enginetest.Past()},
	}))
	f.Fuzz(func(t *testing.T, record []byte) {
		var c engine.Command
		if engine.DecodeCommand(record, &c) != nil {
			return
		}
		var again engine.Command
		err := engine.DecodeCommand(engine.AppendCommand(nil, &c), &again)
		if d := differ.Diff(c, again); err != nil || d != "" {
			t.Fatalf("%x: %v, %s", record, err, d)
		}
	})
}
