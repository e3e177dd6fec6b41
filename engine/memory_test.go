package engine_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/tickhive/tickhive/engine"
)

// A quiet pair is cheap: a thousand of them with ten orders each stay below 80 KiB apiece.
func TestQuietPairsAreCheap(t *testing.T) {
	const pairs = 1000
	before := heapBytes()
	c := engine.NewCore(engine.Options{})
	for p := range engine.PairID(pairs) {
		code := fmt.Sprintf("P%03d_USD", p)
		c.Apply(&engine.Command{
			Kind: engine.AddPair, Pair: p,
			Instrument: &engine.Instrument{Code: code, Base: code[:4], Quote: "USD"},
		}, nil)
		for i := range int64(10) {
			cmd := place(engine.Side(i%2), 100+200*(i%2)+i, 5)
			cmd.Pair, cmd.Account = p, engine.AccountID(i%3)
			cmd.First = true
			c.Apply(&cmd, nil)
		}
	}
	each := (heapBytes() - before) / pairs
	t.Logf("%d bytes a pair", each)
	if each > 80<<10 {
		t.Errorf("a pair with ten orders takes %d bytes", each)
	}
	runtime.KeepAlive(c)
}
