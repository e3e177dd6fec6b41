package engine_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
	"github.com/tickhive/tickhive/internal/fixed"
)

// copyOf returns a core with the encoded state of another.
func copyOf(t testing.TB, c *engine.Core, o engine.Options) *engine.Core {
	t.Helper()
	d := engine.NewCore(o)
	if err := d.DecodeControl(c.EncodeControl(nil)); err != nil {
		t.Fatal(err)
	}
	for _, p := range c.PairsByCode() {
		if _, err := d.DecodePair(c.EncodePair(nil, p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	return d
}

// A core that was written out and read back in the middle goes on as one that was not:
// the same events, ids and state, refusals included.
func TestCase36SnapshotThenTail(t *testing.T) {
	seeds, n := []uint64{11, 12}, 20_000
	if soak() {
		seeds, n = []uint64{11, 12, 13, 14, 15, 16}, 400_000
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			opts := enginetest.RandomOptions()
			m := newMarket(t, opts, enginetest.Instrument())
			m.quick = true
			f := &enginetest.Flow{R: enginetest.NewRand(seed), Reader: m.reader}
			f.Init()
			other := copyOf(t, m.core, opts)
			snapshots := 0
			for i := range n {
				cmd := f.Next()
				got := m.do(cmd)
				f.Last = m.core.LastOrderID(0)
				cmd.TimeNs, cmd.First = m.now, true
				if again := other.Apply(&cmd, nil); !enginetest.EqualEvents(got, again) {
					t.Fatalf("seed %d, command %d %+v: the restored core differs\n%+v\n%+v", seed, i, cmd, got, again)
				}
				if f.R.IntN(300) == 0 {
					if m.core.HashPair(0, nil) != other.HashPair(0, nil) {
						t.Fatalf("seed %d, command %d: the hashes differ", seed, i)
					}
					state := other.EncodePair(nil, 0)
					other = copyOf(t, other, opts)
					if !bytes.Equal(state, other.EncodePair(nil, 0)) {
						t.Fatalf("seed %d, command %d: written again the state has other bytes", seed, i)
					}
					snapshots++
				}
			}
			if m.core.HashPair(0, nil) != other.HashPair(0, nil) {
				t.Fatal("the hashes differ at the end")
			}
			t.Logf("seed %d: %d commands, %d restores", seed, n, snapshots)
		})
	}
}

// The same commands give the same events and the same state, byte for byte.
func TestCase38SameStreamSameEvents(t *testing.T) {
	run := func() (text []string, hash [32]byte) {
		m := newMarket(t, enginetest.RandomOptions(), enginetest.Instrument())
		m.quick = true
		f := &enginetest.Flow{R: enginetest.NewRand(5), Reader: m.reader}
		f.Init()
		for range 20_000 {
			events := m.do(f.Next())
			f.Last = m.core.LastOrderID(0)
			for i := range events {
				text = append(text, fmt.Sprintf("%s %+v", describe(&events[i]), events[i].Quote))
			}
		}
		return text, m.core.HashPair(0, nil)
	}
	a, ha := run()
	b, hb := run()
	if ha != hb || len(a) != len(b) {
		t.Fatalf("%d events and hash %x, then %d and %x", len(a), ha, len(b), hb)
	}
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("event %d: %s, then %s", i, a[i], b[i])
		}
	}
}

// richCore returns a core with one of everything that a state can hold.
func richCore(t testing.TB) *engine.Core {
	m := newMarket(t, engine.Options{AccountClientIDs: 2}, enginetest.Instrument())
	fee := fixed.FromI64(5)
	m.control(engine.Command{Kind: engine.SetAsset, Control: &engine.ControlRecord{Asset: &engine.Asset{
		Symbol: "BTC", Name: "Bitcoin", Digits: 8,
		TakerFee: fee, HasTakerFee: true,
	}}})
	m.control(engine.Command{Kind: engine.SetAsset, Control: &engine.ControlRecord{Asset: &engine.Asset{
		Symbol: "USDT", Name: "Tether", Digits: 8,
		MinWithdraw: fee.Neg(),
	}}})
	for _, line := range []string{
		"min 1.00", "buy 5 @ 100.00 acct=1 client=a", "buy 6 @ 100.00 acct=2 client=b stp=decrement",
		"buy 7 @ 99.00 acct=1 post-only",
		"sell 9 @ 101.00 show=2 acct=2 client=c", "sell 3 @ 101.00 acct=1", "sell 8 @ 103.00",
		"buy 2 @ 101.00 acct=1 client=d ioc",
		"sell 2 @ 95.00 stop=97.00 acct=1 client=e", "buy quote=900.00 market stop=110.00",
		"buy 4 @ 120.00 stop=110.00 show=2",
		"buy 1 @ 80.00 acct=1 client=f", "buy 1 @ 79.00 acct=1 client=g", "cancel 11",
	} {
		m.line(new(strings.Builder), line)
	}
	return m.core
}

// A part of the state that is not the pair's, or cut short, is refused; so is a pair that
// is there already.
func TestStateRefused(t *testing.T) {
	c := richCore(t)
	state, control := c.EncodePair(nil, 0), c.EncodeControl(nil)
	if _, err := c.DecodePair(state); err == nil {
		t.Error("a pair was added twice")
	}
	for i := range state {
		if _, err := engine.NewCore(engine.Options{}).DecodePair(state[:i]); err == nil {
			t.Fatalf("a pair was made of %d of %d bytes", i, len(state))
		}
	}
	for i := range control {
		if engine.NewCore(engine.Options{}).DecodeControl(control[:i]) == nil {
			t.Fatalf("registers were made of %d of %d bytes", i, len(control))
		}
	}
	for _, data := range [][]byte{append(bytes.Clone(state), 0), append([]byte{2}, state[1:]...)} {
		if _, err := engine.NewCore(engine.Options{}).DecodePair(data); err == nil {
			t.Error("bytes that no core wrote were taken")
		}
	}
	for _, data := range [][]byte{append(bytes.Clone(control), 0), append([]byte{2}, control[1:]...)} {
		if engine.NewCore(engine.Options{}).DecodeControl(data) == nil {
			t.Error("bytes that no core wrote were taken")
		}
	}
}

// Whatever bytes come, reading them does not panic, and what is taken is a sound book
// that writes the same bytes again.
func FuzzDecodePair(f *testing.F) {
	c := richCore(f)
	f.Add(c.EncodePair(nil, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := engine.NewCore(engine.Options{})
		p, err := d.DecodePair(data)
		if err != nil {
			return
		}
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.NewCore(engine.Options{}).DecodePair(d.EncodePair(nil, p)); err != nil {
			t.Fatal(err)
		}
	})
}

// One bit of a written state changed is refused or is another state, never a broken one.
func TestStateEveryBitFlipped(t *testing.T) {
	state := richCore(t).EncodePair(nil, 0)
	refused, other := 0, 0
	for i := range len(state) * 8 {
		flipped := bytes.Clone(state)
		flipped[i/8] ^= 1 << (i % 8)
		c := engine.NewCore(engine.Options{})
		p, err := c.DecodePair(flipped)
		if err != nil {
			refused++
			continue
		}
		other++
		if err := c.Check(); err != nil {
			t.Fatalf("bit %d: %v", i, err)
		}
		if bytes.Equal(c.EncodePair(nil, p), state) {
			t.Fatalf("bit %d is not part of the state", i)
		}
	}
	t.Logf("%d bits: %d refused, %d another sound state", len(state)*8, refused, other)
}
