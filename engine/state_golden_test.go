package engine_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/enginetest"
)

// The bytes of a state belong to StateFormat: snapshots hold them, and state hashes are made of
// them. Other bytes need another format.
func TestStateBytesAreGolden(t *testing.T) {
	rich := richCore(t)
	all := sha256.New()
	m := newMarket(t, enginetest.RandomOptions(), enginetest.Instrument())
	m.quick = true
	f := &enginetest.Flow{R: enginetest.NewRand(77), Reader: m.reader}
	f.Init()
	for i := range 6000 {
		m.do(f.Next())
		f.Last = m.core.LastOrderID(0)
		if i%200 == 0 {
			state := m.core.EncodePair(nil, 0)
			all.Write(state)
			if sum := m.core.HashPair(0, nil); sum != sha256.Sum256(state) {
				t.Fatalf("command %d: HashPair is not the hash of EncodePair", i)
			}
		}
	}
	for _, c := range []struct {
		name string
		sum  []byte
		want string
	}{
		{"rich pair", sum(rich.EncodePair(nil, 0)), "3b21c13367ac178558e777e5d23fab4b64d3db37c5842781b8cd23263d461415"},
		{"registers", sum(rich.EncodeControl(nil)), "b1a41efb93245dd397dc776bcf912ccc69faaab36d00ad21f7fefcd0da4f410a"},
		{"random pairs", all.Sum(nil), "2bf9507844d4ade4e87ea9f9b265ad8c22cfc48648111fac8cee97f1f648aa42"},
	} {
		if got := hex.EncodeToString(c.sum); got != c.want {
			t.Errorf("%s: the bytes have the hash %s, want %s", c.name, got, c.want)
		}
	}
	if !bytes.Equal(rich.EncodePair([]byte("x"), 0)[1:], rich.EncodePair(nil, 0)) {
		t.Error("EncodePair does not append")
	}
}

func sum(b []byte) []byte {
	h := sha256.Sum256(b)
	return h[:]
}

// BenchmarkState measures encoding, hashing and decoding a pair of 100,000 orders.
func BenchmarkState(b *testing.B) {
	c := engine.NewCore(engine.Options{})
	inst := enginetest.Instrument()
	events := c.Apply(&engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: &inst}, nil)
	for i := range int64(100_000) {
		side := engine.Side(i % 2)
		cmd := engine.Command{
			TimeNs: i, Side: side, Price: 1000 + 1000*int64(side) + i*7919%900, Amount: 1 + i%50,
			Account: engine.AccountID(i % 300),
		}
		if i%4 == 0 {
			cmd.Client = enginetest.ClientID(cmd.Account, string(rune(i)), "c")
		}
		cmd.First = true
		events = c.Apply(&cmd, events[:0])
	}
	state := c.EncodePair(nil, 0)
	for name, run := range map[string]func() error{
		"encode": func() error { state = c.EncodePair(state[:0], 0); return nil },
		"hash":   func() error { c.HashPair(0, nil); return nil },
		"decode": func() error { _, err := engine.NewCore(engine.Options{}).DecodePair(state); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpuNs()
			for range b.N {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(cpuNs()-before)/float64(b.N)/100_000, "cpu-ns/order")
		})
	}
}
