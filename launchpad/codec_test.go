package launchpad

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/internal/differ"
)

func samples() []Command {
	return []Command{
		Begin{Seed: 1 << 60},
		Spawn{
			Owner: user(1), Name: "Né", Symbol: "ABC", TotalSupply: "7", PoolSide: WNative, Metadata: `{"a":1}`,
		},
		Deposit{To: user(1), Currency: USBICoin, Amount: units("1.5")},
		Withdraw{From: user(1), Currency: USBICoin, Amount: units("0.000000000000000001")},
		Transfer{Token: 1, From: user(1), To: user(2), Amount: units("1000000000000000000000000000000")},
		AddLiquidity{Token: 1, From: user(1), TokenAmount: One, QuoteAmount: AmountOf(2)},
		Swap{Token: 1, From: user(1), Sell: true, AmountIn: One, MinOut: AmountOf(2)},
		BuyBoost{Token: 1, Tier: Premium},
		InjectFault{Count: 3},
	}
}

// Every member of a sample is set, so a member that the codec leaves out is missed.
func TestEveryCommandComesBack(t *testing.T) {
	all := samples()
	if len(all) != len(kinds) {
		t.Errorf("%d samples of %d kinds", len(all), len(kinds))
	}
	for i, cmd := range all {
		raw := AppendCommand([]byte("x"), cmd)[1:]
		if back, err := DecodeCommand(raw); err != nil || int(raw[0]) != i || differ.Diff(cmd, back) != "" {
			t.Errorf("kind %d: %v, %s", raw[0], err, differ.Diff(cmd, back))
		}
		for v, m := reflect.ValueOf(cmd), 0; m < v.NumField(); m++ {
			if v.Field(m).IsZero() {
				t.Errorf("%T: member %d of the sample is not set", cmd, m)
			}
		}
	}
}

func TestBytesThatAreNoCommandAreRefused(t *testing.T) {
	amount := func(b ...byte) []byte { return append(append([]byte{2}, make([]byte, 21)...), b...) }
	bad := map[string][]byte{
		"nothing":         nil,
		"an unknown kind": {uint8(len(kinds))},
		"a currency":      append(append([]byte{2}, make([]byte, 20)...), currencies, 0),
		"a tier":          {7, 1, byte(tiers)},
		"a padded number": {8, 0x80, 0},
		"an empty word":   amount(2, 1, 0),
		"five words":      amount(5, 1, 1, 1, 1, 1),
		"beyond 2^208":    amount(4, 1, 1, 1, 0x80, 0x80, 4),
		"a long text":     AppendCommand(nil, Spawn{Metadata: strings.Repeat("x", maxText+1)}),
	}
	for _, cmd := range samples() {
		raw := AppendCommand(nil, cmd)
		bad[fmt.Sprintf("%T and a byte", cmd)] = append(slices.Clone(raw), 0)
		for n := range raw {
			bad[fmt.Sprintf("%d of %d bytes of %T", n, len(raw), cmd)] = raw[:n]
		}
	}
	for name, raw := range bad {
		if cmd, err := DecodeCommand(raw); err == nil || cmd != nil {
			t.Errorf("%s: %x decodes as %+v", name, raw, cmd)
		}
	}
}

// What decodes has one encoding, and the ledger carries it out or refuses it.
func FuzzDecodeCommand(f *testing.F) {
	for _, cmd := range samples() {
		f.Add(AppendCommand(nil, cmd))
	}
	r := newRig(f)
	market(r, rand.New(rand.NewPCG(3, 3)), 3, nil)
	snapshot := r.s.AppendSnapshot(nil)
	f.Fuzz(func(t *testing.T, b []byte) {
		cmd, err := DecodeCommand(b)
		if err != nil {
			return
		}
		if raw := AppendCommand(nil, cmd); !bytes.Equal(raw, b) {
			t.Fatalf("%x decodes, but it comes back as %x", b, raw)
		}
		s, err := DecodeSnapshot(snapshot, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err = s.Do(r.now+3600*secondNs, cmd)
		}
		if bad := s.Check(); bad != nil {
			t.Fatalf("%+v: %v, and then %v", cmd, err, bad)
		}
	})
}

func FuzzDecodeSnapshot(f *testing.F) {
	r := newRig(f)
	market(r, rand.New(rand.NewPCG(3, 3)), 6, nil)
	f.Add(r.s.AppendSnapshot(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSnapshot(b, DefaultOptions())
		if err != nil {
			return
		}
		again, err := DecodeSnapshot(s.AppendSnapshot(nil), DefaultOptions())
		if err != nil || hashOf(again) != hashOf(s) {
			t.Fatalf("a state that decodes does not come back: %v", err)
		}
	})
}

func TestASnapshotThatDoesNotAddUpIsRefused(t *testing.T) {
	r := newRig(t)
	market(r, rand.New(rand.NewPCG(4, 4)), 5, nil)
	good := r.s.AppendSnapshot(nil)
	accepted := 0
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if s, err := DecodeSnapshot(bad, r.s.opt); err == nil {
			accepted++ // names, times and the like; never an amount
			if s.Check() != nil {
				t.Fatalf("byte %d: accepted, but does not add up", i)
			}
		}
	}
	t.Logf("%d of %d flipped bytes are plausible", accepted, len(good))
}

func TestEveryFieldOfStateChangesTheHash(t *testing.T) {
	base := func() *State {
		r := newRig(t)
		market(r, rand.New(rand.NewPCG(5, 5)), 8, nil)
		r.must(InjectFault{Count: 1})
		t := r.s.idents.at(2)
		r.checkpoint(t.No)
		r.must(Transfer{Token: t.No, From: t.Owner, To: user(77), Amount: One})
		return r.s
	}
	want := hashOf(base())
	if hashOf(base()) != want {
		t.Fatal("the same commands give two hashes")
	}
	for name, change := range map[string]func(s *State){
		"seed":       func(s *State) { s.seed++ },
		"genesis":    func(s *State) { s.genesisNs++ },
		"now":        func(s *State) { s.nowNs++ },
		"seq":        func(s *State) { s.seq++ },
		"position":   func(s *State) { s.position++ },
		"listBlock":  func(s *State) { s.lastListBlock++ },
		"faults":     func(s *State) { s.faults++ },
		"deposited":  func(s *State) { s.totals[0].Deposited = s.totals[0].Deposited.Add(One) },
		"fees":       func(s *State) { s.totals[0].Fees = s.totals[0].Fees.Add(One) },
		"balance":    func(s *State) { s.credit(user(3), usbiAsset, mustBig(1)) },
		"holding":    func(s *State) { s.credit(user(3), s.idents.at(2).asset(), mustBig(1)) },
		"cooldown":   func(s *State) { s.spawners.Set(key(user(1)), spawner{1, 1}) },
		"reserve":    func(s *State) { t := s.edit(1); t.ReserveToken = t.ReserveToken.Add(One); s.put(t) },
		"lastTrade":  func(s *State) { t := s.edit(1); t.LastTradeSec++; s.put(t) },
		"boost":      func(s *State) { t := s.edit(1); t.BoostUntilSec++; s.put(t) },
		"tier":       func(s *State) { t := s.edit(1); t.BoostTier ^= 1; s.put(t) },
		"window":     func(s *State) { s.window.At(0).sec++ },
		"window2":    func(s *State) { m := s.window.At(s.window.Len() - 1); m.quote = m.quote.Add(One) },
		"checkpoint": func(s *State) { (*s.checkpoints.At(0)).seq++ },
		"its token":  func(s *State) { (*s.checkpoints.At(0)).token++ },
		"its end":    func(s *State) { (*s.checkpoints.At(0)).endSec++ },
		"its holder": func(s *State) {
			c := *s.checkpoints.At(0)
			a := c.changed.At(0)
			held, _ := s.past.Delete(pastKey(tokenAsset(c.token), *a, c.seq))
			a[5]++
			s.past.Set(pastKey(tokenAsset(c.token), *a, c.seq), held)
		},
		"candle": func(s *State) {
			t := s.edit(s.window.At(0).token)
			k := *t.newest
			k.High = k.High.Add(One)
			t.newest = &k
			s.put(t)
		},
		"old candle": func(s *State) {
			t := s.edit(s.window.At(0).token)
			t.closed = append(t.closed, *t.newest)
			s.put(t)
		},
		"past": func(s *State) { k, held, _ := s.past.Min(); s.past.Set(k, held.Add(One)) },
	} {
		s := base()
		change(s)
		if hashOf(s) == want {
			t.Errorf("%s does not show in the hash", name)
		}
	}
}
