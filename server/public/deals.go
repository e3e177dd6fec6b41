package public

import (
	"tickhive/aggregator"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/marketdata"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

const (
	dayNs = 86_400_000_000_000
)

func (m *Market) deals(c *edge.Ctx) *refuse.Refusal {
	code, err := c.PairParam(edge.PairName)
	if err != nil {
		return err
	}
	since, hasSince, err := c.Date("sinceDate")
	if err != nil {
		return err
	}
	end, hasEnd, err := c.Date("endDate")
	if err != nil {
		return err
	}
	page, size, err := c.Page("pageNumber", edge.MaxPageSize)
	if err != nil {
		return err
	}
	after, err := c.Row("pageNumber")
	if err != nil {
		return err
	}
	if hasSince && hasEnd && since.After(end) {
		return refuse.Param("sinceDate", "The parameter sinceDate must not be after endDate.")
	}
	v, err := m.lookup(edge.PairName, code)
	if err != nil {
		return err
	}
	if !hasSince && !hasEnd && after == 0 && page == 1 && size == edge.MaxPageSize && c.Principal == nil {
		m.flagTruncated(c, v, uint64(v.Trades.Len()) < edge.MaxPageSize, -1<<63)
		from, to, _ := pageRange(v.Trades.First(), v.Trades.Last(), page, size)
		continueDeals(c, v.Trades.First(), from, to)
		return m.firstDeals(c, v)
	}
	t := &v.Trades
	low, high, startNs := t.First(), t.Last(), int64(-1<<63)
	if hasSince {
		startNs = since.CeilNs(edge.DealUnitNs)
		low = max(low, t.Search(startNs))
	}
	if hasEnd {
		high = t.Search(end.FloorNs(edge.DealUnitNs)+edge.DealUnitNs) - 1
	}
	if after != 0 {
		high = min(high, engine.TradeID(after)-1)
	}
	from, to, oldest := pageRange(low, high, page, size)
	m.flagTruncated(c, v, oldest, startNs)
	continueDeals(c, low, from, to)
	return c.SendBody(appendDeals(nil, v, from, to, c.Viewer()), uint64(v.TradesSeq))
}

// continueDeals sets the cursor of the page with the deals from to to while the list has older ones, down to low.
func continueDeals(c *edge.Ctx, low, from, to engine.TradeID) {
	if from <= to && from > low {
		c.NextRow(uint64(from))
	}
}

// firstDeals answers with the newest page of deals. It caches the page with the view.
func (m *Market) firstDeals(c *edge.Ctx, v *marketdata.View) *refuse.Refusal {
	d := v.Doc(marketdata.DocDeals)
	if d == nil {
		d = firstDealsDoc(v, c.MachineNs())
	}
	return c.SendDoc(d, m.placeOf(v.Instrument.ID, marketdata.DocDeals))
}

func firstDealsDoc(v *marketdata.View, nowNs int64) *marketdata.Doc {
	low, high, _ := pageRange(v.Trades.First(), v.Trades.Last(), 1, edge.MaxPageSize)
	var body []byte
	if before := v.Previous(marketdata.DocDeals); before != nil && aggregator.Patchable(before, low, high) {
		body = patchDeals(v, low, high, before)
	} else {
		body = appendDeals(nil, v, low, high, nil)
	}
	d := edge.NewDoc(body, uint64(v.TradesSeq), nowNs)
	d.LowTrade, d.HighTrade = low, high
	return v.Cache(marketdata.DocDeals, d)
}

// patchDeals renders the deals with the ids low to high: it renders the trades newer than before and copies the
// other rows from before.
func patchDeals(v *marketdata.View, low, high engine.TradeID, before *marketdata.Doc) []byte {
	b := make([]byte, 0, len(before.Body)+int(high-before.HighTrade)*dealSize)
	b = append(b, '[')
	for id := high; id > before.HighTrade; id-- {
		t := v.Trades.At(id)
		b = encode.AppendDeal(append(b, '{'), v.Instrument, id, &t, nil)
		b = append(b, "},"...)
	}
	rows := before.Body[1 : len(before.Body)-1]
	b = append(b, aggregator.CutRows(rows, int(low-before.LowTrade))...)
	return closeRows(b)
}

// dealSize is the estimated size of a deal's text in bytes.
const dealSize = 240

// pageRange returns the ids of one page when the ids low to high are listed newest first. oldest reports that
// the page reaches beyond the oldest id.
func pageRange(low, high engine.TradeID, page, size int64) (from, to engine.TradeID, oldest bool) {
	if high < low || high == 0 {
		return 1, 0, true
	}
	n := uint64(high-low) + 1
	if uint64(page-1) > n/uint64(size) {
		return 1, 0, true
	}
	skip := uint64(page-1) * uint64(size)
	if skip >= n {
		return 1, 0, true
	}
	take := min(uint64(size), n-skip)
	to = high - engine.TradeID(skip)
	return to - engine.TradeID(take) + 1, to, take < uint64(size)
}

// flagTruncated sets X-Truncated when trades that retention has dropped belong in the answer
// (docs/contract/listing.md#historical-trades): the answer begins at the oldest retained trade, and the newest
// dropped trade is in its time range and less than 24 h old.
func (m *Market) flagTruncated(c *edge.Ctx, v *marketdata.View, oldest bool, startNs int64) {
	dropped := v.Trades.DroppedNs()
	if oldest && dropped != 0 && dropped >= startNs && dropped > m.opt.Clock.NowNs()-dayNs {
		c.Response.Header.SetCanonical(edge.HdrTruncated, edge.ValTrue)
	}
}

// appendDeals appends the deals with the ids from high down to low.
func appendDeals(b []byte, v *marketdata.View, low, high engine.TradeID, viewer *engine.AccountID) []byte {
	if high >= low && b == nil {
		b = make([]byte, 0, 16+int(high-low+1)*dealSize)
	}
	b = append(b, '[')
	for id := high; id >= low && id > 0; id-- {
		t := v.Trades.At(id)
		b = encode.AppendDeal(append(b, '{'), v.Instrument, id, &t, viewer)
		b = append(b, "},"...)
	}
	return closeRows(b)
}
