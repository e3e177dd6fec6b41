package marketdata_test

import (
	"testing"

	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/markettest"
	"github.com/tickhive/tickhive/marketdata"
)

// A touch that changes and comes back between two publications leaves the figures of the ticker, and
// moves its seq: the document with the old X-Seq is not handed on.
func TestATickerDocumentHasTheSeqOfItsView(t *testing.T) {
	m := markettest.New(marketdata.Options{})
	m.AddPair(markettest.Instrument("AA_BB", 2, 4))
	m.Limit(0, engine.Buy, 100, 1)
	m.Publish()
	old := m.View(0)
	old.Keep(marketdata.OfTicker, old.TickerSeq)
	m.Limit(0, engine.Buy, 101, 1)
	m.Do(engine.Command{Kind: engine.Cancel, Order: m.Core.LastOrderID(0)})
	m.Publish()
	v := m.View(0)
	if v.TickerVersion != old.TickerVersion || v.TickerSeq <= old.TickerSeq {
		t.Fatalf("version %d to %d, seq %d to %d", old.TickerVersion, v.TickerVersion, old.TickerSeq, v.TickerSeq)
	}
	if seq := v.Kept(marketdata.OfTicker); seq != nil {
		t.Errorf("the document of seq %d is shown at seq %d", seq, v.TickerSeq)
	}
}
