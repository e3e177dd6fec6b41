package launchpad

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func samples() []Record {
	return []Record{
		{Kind: RecBegin, TimeNs: start, Seed: 1 << 60},
		{Kind: RecSpawn, TimeNs: start, Fee: AmountOf(100), Spawn: &Spawn{
			Owner: user(1), Name: "Né", Symbol: "ABC", TotalSupply: "7", Decimals: 18, PoolSide: WNative,
			Metadata: `{"a":1}`,
		}},
		{Kind: RecFault, TimeNs: start},
		{Kind: RecDeposit, TimeNs: start, To: user(1), Currency: USBICoin, In: units("1.5")},
		{Kind: RecWithdraw, TimeNs: start, From: user(1), In: units("0.000000000000000001")},
		{
			Kind: RecTransfer, TimeNs: start, Token: 1, From: user(1), To: user(2),
			In: units("1000000000000000000000000000000"),
		},
		{Kind: RecLiquidity, TimeNs: start, Token: 1, From: user(1), In: One, Out: One},
		{Kind: RecSwap, TimeNs: start, Token: 1, From: user(1), Sell: true, In: One, Out: One},
		{Kind: RecBoost, TimeNs: start, Token: 1, Tier: Premium},
		{Kind: RecInject, TimeNs: start, Count: 3},
		{Kind: RecTick, TimeNs: start},
		{Kind: RecCheckpoint, TimeNs: start, Token: 1},
	}
}

func TestEveryCutOfARecordIsRefused(t *testing.T) {
	for _, rec := range samples() {
		raw := AppendRecord(nil, &rec)
		for n := range raw {
			if _, err := DecodeRecord(raw[:n]); err == nil {
				t.Errorf("kind %d: %d of %d bytes decode", rec.Kind, n, len(raw))
			}
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	for _, rec := range samples() {
		f.Add(AppendRecord(nil, &rec))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := DecodeRecord(b)
		if err != nil {
			return
		}
		raw := AppendRecord(nil, &rec)
		again, err := DecodeRecord(raw)
		if err != nil || !bytes.Equal(AppendRecord(nil, &again), raw) {
			t.Fatalf("%x decodes, but %x does not come back: %v", b, raw, err)
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
		r.must(Checkpoint{Token: t.No})
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
		"past": func(s *State) { k, held, _ := s.past.Min(); s.past.Set(k, held.Add(One)) },
	} {
		s := base()
		change(s)
		if hashOf(s) == want {
			t.Errorf("%s does not show in the hash", name)
		}
	}
}
