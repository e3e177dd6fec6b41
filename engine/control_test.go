package engine_test

import (
	"slices"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

func pairSpec(code string) *engine.Instrument {
	return &engine.Instrument{Code: code, Base: code[:3], Quote: code[4:], DigitsPrice: 2, DigitsAmount: 2}
}

func addPair(p engine.PairID, code string) engine.Command {
	return engine.Command{Kind: engine.AddPair, Pair: p, Instrument: pairSpec(code), TimeNs: 77}
}

// A pair's stream begins with its EventPair. The pair gets the requested number when it is free.
func TestAddPair(t *testing.T) {
	c := engine.NewCore(engine.Options{Pairs: 4})
	for _, x := range []struct {
		wish engine.PairID
		code string
		want engine.PairID
	}{{engine.ControlPair, "CCC_USD", 0}, {0, "BBB_USD", 1}, {3, "AAA_USD", 3}, {2, "DDD_USD", 2}} {
		cmd := addPair(x.wish, x.code)
		e := c.Apply(&cmd, nil)
		if len(e) != 1 || e[0].Kind != engine.EventPair || e[0].Seq != 1 || e[0].Pair != x.want ||
			e[0].Instrument.ID != x.want || e[0].Instrument.CreatedNs != 77 || e[0].Instrument.Code != x.code {
			t.Fatalf("%s: %+v", x.code, e)
		}
	}
	for code, want := range map[string]engine.Reason{"AAA_USD": engine.PairExists, "EEE_USD": engine.InvalidPair} {
		cmd := addPair(engine.ControlPair, code)
		if e := c.Apply(&cmd, nil); e[0].Pair != engine.ControlPair || e[0].Reason != want {
			t.Errorf("%s: %+v", code, e)
		}
	}
	if ids := c.PairsByCode(); len(ids) != 4 || ids[0] != 3 || ids[1] != 1 || ids[2] != 0 || ids[3] != 2 ||
		c.EndPair() != 4 {
		t.Errorf("pairs by code: %v", ids)
	}
	if id, ok := c.PairByCode("BBB_USD"); !ok || id != 1 {
		t.Errorf("BBB_USD is pair %d, %v", id, ok)
	}
	place := engine.Command{Pair: 2, Price: 5, Amount: 5}
	if e := c.Apply(&place, nil); e[0].Order != engine.MakeOrderID(2, 1) || e[0].Seq != 2 {
		t.Errorf("the first order of pair 2: %+v", e)
	}
}

// A command for an unknown pair is refused on the control stream.
func TestUnknownPair(t *testing.T) {
	c := engine.NewCore(engine.Options{})
	add := addPair(1, "AAA_USD")
	c.Apply(&add, nil)
	for _, cmd := range []engine.Command{
		{Kind: engine.Place, Pair: 0},
		{Kind: engine.Cancel, Pair: 2, Order: 9},
		{Kind: engine.SetPair, Pair: 0, Instrument: pairSpec("AAA_USD")},
		{Kind: engine.CancelAll, Pair: engine.ControlPair},
	} {
		seq := c.LastSeq(engine.ControlPair)
		e := c.Apply(&cmd, nil)
		if len(e) != 1 || e[0].Pair != engine.ControlPair || e[0].Seq != seq+1 ||
			e[0].Reason != engine.UnknownPair || e[0].Order != cmd.Order {
			t.Errorf("%+v: %+v", cmd, e)
		}
	}
	if _, ok := c.Pair(0); ok || c.LastSeq(0) != 0 || c.LastOrderID(1) != 0 || c.OpenOrders(7) != 0 {
		t.Error("a pair that is not there answers")
	}
	if id, price := c.LastTrade(0); id != 0 || price != 0 {
		t.Error("a pair that is not there traded")
	}
	if len(slices.Collect(c.Resting(0, engine.Buy, 0)))+len(c.AppendDepth(nil, 9, engine.Buy, 0))+
		len(slices.Collect(c.Stops(0)))+len(c.EncodePair(nil, 0)) != 0 {
		t.Error("a pair that is not there has a book")
	}
	if _, ok := c.Order(engine.MakeOrderID(5, 1)); ok || c.HashPair(0, nil) != [32]byte{} {
		t.Error("a pair that is not there has orders")
	}
}

// A pair's state, smallest order and fees change; its code and digits never do.
func TestSetPair(t *testing.T) {
	c := engine.NewCore(engine.Options{})
	add := addPair(0, "AAA_USD")
	c.Apply(&add, nil)
	change := pairSpec("BBB_EUR")
	change.DigitsPrice, change.State, change.TakerFee = 9, engine.Halted, 5
	e := c.Apply(&engine.Command{Kind: engine.SetPair, Instrument: change}, nil)
	got, _ := c.Pair(0)
	if e[0].Kind != engine.EventPair || e[0].Instrument != got || got.Code != "AAA_USD" || got.DigitsPrice != 2 ||
		got.State != engine.Halted || got.TakerFee != 5 || got.CreatedNs != 77 {
		t.Fatalf("%+v", got)
	}
	change.TakerFee = engine.RateOne + 1
	if e := c.Apply(&engine.Command{Kind: engine.SetPair, Instrument: change}, nil); e[0].Reason != engine.InvalidPair {
		t.Errorf("%+v", e)
	}
	if now, _ := c.Pair(0); now != got {
		t.Error("a refused change left something")
	}
}

// A delisted pair keeps its number, its code and its state for good, in a restored core too.
func TestDelistedPairKeepsItsCode(t *testing.T) {
	c := engine.NewCore(engine.Options{})
	add, gone := addPair(0, "AAA_USD"), pairSpec("AAA_USD")
	c.Apply(&add, nil)
	gone.State = engine.Delisted
	record := engine.Command{Kind: engine.SetPair, Instrument: gone}
	var read engine.Command
	if err := engine.DecodeCommand(engine.AppendCommand(nil, &record), &read); err != nil || *read.Instrument != *gone {
		t.Fatalf("%v: %+v", err, read.Instrument)
	}
	if e := c.Apply(&read, nil); e[0].Kind != engine.EventPair || e[0].Instrument.State != engine.Delisted {
		t.Fatalf("%+v", e)
	}
	back := engine.NewCore(engine.Options{})
	if _, err := back.DecodePair(c.EncodePair(nil, 0)); err != nil {
		t.Fatal(err)
	}
	for _, core := range []*engine.Core{c, back} {
		again, born := addPair(1, "AAA_USD"), addPair(1, "BBB_USD")
		born.Instrument.State = engine.Delisted
		online := engine.Command{Kind: engine.SetPair, Instrument: pairSpec("AAA_USD")}
		for _, x := range []struct {
			cmd  engine.Command
			want engine.Reason
		}{{again, engine.PairExists}, {born, engine.InvalidPair}, {online, engine.UnknownPair}} {
			if e := core.Apply(&x.cmd, nil); len(e) != 1 || e[0].Pair != engine.ControlPair || e[0].Reason != x.want {
				t.Errorf("want %s: %+v", x.want, e)
			}
		}
		if ins, ok := core.Pair(0); !ok || ins.State != engine.Delisted || core.EndPair() != 1 {
			t.Errorf("%+v", ins)
		}
	}
}

func TestSetAsset(t *testing.T) {
	c := engine.NewCore(engine.Options{Assets: 2})
	for _, a := range []engine.Asset{{Symbol: "USDT"}, {Symbol: "BTC"}, {Symbol: "BTC", Name: "Bitcoin"}} {
		e := c.Apply(&engine.Command{Kind: engine.SetAsset, Control: &engine.ControlRecord{Asset: &a}}, nil)
		if e[0].Kind != engine.EventAsset || *e[0].Control.Asset != a {
			t.Fatalf("%+v", e)
		}
	}
	if e := c.Apply(&engine.Command{
		Kind: engine.SetAsset, Control: &engine.ControlRecord{Asset: &engine.Asset{Symbol: "ETH"}},
	}, nil); e[0].Kind != engine.EventRejected {
		t.Errorf("a third asset: %+v", e)
	}
	all := c.Assets()
	if a, ok := c.Asset("BTC"); !ok || a.Name != "Bitcoin" || len(all) != 2 || all[0] != a || all[1].Symbol != "USDT" {
		t.Errorf("%+v", all)
	}
}

// Order reports the current state of an open order, also of a waiting stop.
func TestOrderState(t *testing.T) {
	c := richCore(t)
	for id, want := range map[engine.OrderID]engine.OrderState{
		1: {ID: 1, Account: 1, Price: 10000, Total: 5, Open: 5, Client: true},
		4: {ID: 4, Account: 2, Side: engine.Sell, Price: 10100, Total: 9, Open: 7, Hidden: 5, Display: 2, Client: true},
		8: {
			ID: 8, Account: 1, Side: engine.Sell, Type: engine.StopLimit, Waiting: true, Price: 9500, Stop: 9700,
			Total: 2, Open: 2, Client: true,
		},
	} {
		if got, ok := c.Order(id); !ok || got != want {
			t.Errorf("order %d: %+v, %v", id, got, ok)
		}
	}
	if got, ok := c.Order(9); !ok || got.Type != engine.StopMarket || got.Quote.Lo != 90000 || got.Price != 0 {
		t.Errorf("order 9: %+v", got)
	}
	if _, ok := c.Order(7); ok {
		t.Error("an order that was filled is open")
	}
}
