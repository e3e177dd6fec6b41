package objects

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/server/doc"
	"github.com/tickhive/tickhive/server/json"
)

// The seqs of a batch are the last ones by pair, of what was carried out.
func TestSeqsOfABatch(t *testing.T) {
	of := func(code string) *engine.Instrument { return &engine.Instrument{Code: code} }
	a, again, b := of("A_USDT"), of("A_USDT"), of("B_USDT")
	done := func(in *engine.Instrument, seq engine.Seq) entry.Answer {
		return entry.Answer{Instrument: in, Seq: seq}
	}
	refused := done(b, 9)
	refused.Reason = engine.UnknownOrder
	for _, c := range []struct {
		answers []entry.Answer
		want    string
		only    uint64
	}{
		{nil, `"seqs":{}`, doc.NoSeq},
		{[]entry.Answer{refused, {}}, `"seqs":{}`, doc.NoSeq},
		{[]entry.Answer{done(a, 3), refused, done(again, 5)}, `"seqs":{"A_USDT":5}`, 5},
		{[]entry.Answer{done(a, 3), done(b, 1), done(a, 4), done(b, 2)}, `"seqs":{"A_USDT":4,"B_USDT":2}`, doc.NoSeq},
	} {
		var w json.Writer
		only := WriteSeqs(&w, c.answers)
		if got := w.Bytes(); string(got) != c.want || only != c.only {
			t.Errorf("%s, %d, want %s, %d", got, only, c.want, c.only)
		}
	}
}
