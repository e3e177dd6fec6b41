package admin

import (
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/entry"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// marketRoutes returns the routes of books, pairs and assets.
func marketRoutes(s *Server) []*edge.Route {
	code := []edge.Field{edge.ParamPair("code", true)}
	return []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/book/{pair}", Handle: s.getBook,
			Params: []edge.Field{
				edge.ParamPair("pair", true),
				{Name: "depth", Kind: edge.KindInteger, Range: []int64{0, math.MaxInt32}, Default: 0},
			},
		},
		{
			Method: fasthttp.MethodPost, Path: edge.InternalPrefix + "/pairs", Handle: s.addPair, Schema: "AddPair",
			Members: newPairForm.Members(),
		},
		{Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/pairs/{code}", Handle: s.getPair, Params: code},
		{
			Method: fasthttp.MethodPatch, Path: edge.InternalPrefix + "/pairs/{code}", Handle: s.setPair, Params: code,
			Schema: "PatchPair", Members: pairForm.Members(),
		},
		{Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/assets/{symbol}", Handle: s.getAsset},
		{
			Method: fasthttp.MethodPatch, Path: edge.InternalPrefix + "/assets/{symbol}", Handle: s.setAsset,
			Schema: "PatchAsset", Members: assetForm.Members(),
		},
	}
}

// pathPair returns the instrument of the pair that the path names.
func (s *Server) pathPair(c *edge.Ctx, name string) (*engine.Instrument, *refuse.Refusal) {
	code := c.PathParam(name)
	if !engine.ValidPairCode(code) {
		return nil, refuse.Param(name, "The pair code must be of the form BASE_QUOTE, "+engine.CurrencyForm+" each.")
	}
	if ins := s.opt.Entry.Instrument([]byte(code)); ins != nil {
		return ins, nil
	}
	return nil, refuse.Missing(name, "There is no pair %s.", code)
}

// fullBook holds a copy of every order in one pair's book.
type fullBook struct {
	ins    *engine.Instrument
	seq    engine.Seq
	timeNs int64
	sides  [2][]engine.BookOrder
	uuids  map[engine.AccountID][16]byte
	stops  []engine.StopState
}

// chunks holds a list in pieces of queryChunk: a slice that grows would copy all of it at once.
type chunks[T any] [][]T

// queryChunk is the number of orders that a query of the book reads between two pauses, 50 to 200 us.
const queryChunk = 1000

// collect returns the values of seq. It calls pause after each chunk.
func collect[T any](seq iter.Seq[T], pause func()) (all chunks[T]) {
	var last []T
	for v := range seq {
		if len(last) == queryChunk {
			all, last = append(all, last), make([]T, 0, queryChunk)
			pause()
		}
		last = append(last, v)
	}
	return append(all, last)
}

// getBook serves GET /book/{pair}. depth limits the levels of each side; 0 means all levels.
func (s *Server) getBook(c *edge.Ctx) *refuse.Refusal {
	depth, _, err := c.Int("depth", 0, 0, math.MaxInt32)
	if err != nil {
		return err
	}
	ins, err := s.pathPair(c, "pair")
	if err != nil {
		return err
	}
	book := fullBook{uuids: map[engine.AccountID][16]byte{}}
	var sides [2]chunks[engine.BookOrder]
	var stops chunks[engine.StopState]
	err = s.queryParts(ins.ID, func(pause func()) {
		core := s.opt.Core
		book.ins, _ = core.Pair(ins.ID)
		book.seq = core.LastSeq(ins.ID)
		book.timeNs = s.opt.Board.Load().View(ins.ID).TimeNs
		for side := range sides {
			sides[side] = collect(core.Resting(ins.ID, engine.Side(side), int(depth)), pause)
		}
		stops = collect(core.Stops(ins.ID), pause)
	})
	if err != nil {
		return err
	}
	book.stops = slices.Concat(stops...)
	for side := range sides {
		book.sides[side] = slices.Concat(sides[side]...)
		for i := range book.sides[side] {
			account := book.sides[side][i].Account
			if _, ok := book.uuids[account]; !ok {
				book.uuids[account] = accounts.UserID(uint32(account))
			}
		}
	}
	if s.opt.MakeDurable != nil {
		if err := s.opt.MakeDurable(); err != nil {
			return entry.NotApplied(err)
		}
	}
	c.Private(book.append(nil))
	return nil
}

func (k *fullBook) append(b []byte) []byte {
	b = append(append(append(b, `{"currencyPairCode":"`...), k.ins.Code...), '"')
	b = append(append(append(b, `,"state":"`...), k.ins.State.String()...), '"')
	b = strconv.AppendUint(append(b, `,"seq":`...), uint64(k.seq), 10)
	b = strconv.AppendInt(append(b, `,"timeNs":`...), k.timeNs, 10)
	b = k.appendSide(append(b, `,"bids":[`...), k.sides[engine.Buy])
	b = k.appendSide(append(b, `],"asks":[`...), k.sides[engine.Sell])
	b = append(b, `],"stops":[`...)
	for i := range k.stops {
		st := &k.stops[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(append(b, `{"orderId":`...), uint64(st.ID), 10)
		b = append(append(append(b, `,"side":"`...), st.Side.String()...), '"')
		b = append(fixed.AppendI64(append(b, `,"stopPrice":`...), st.Price, k.ins.DigitsPrice), '}')
	}
	return append(b, "]}"...)
}

// appendSide appends the levels of a side. orders must be grouped by price.
func (k *fullBook) appendSide(b []byte, orders []engine.BookOrder) []byte {
	for i := 0; i < len(orders); {
		price, shown, end := orders[i].Price, int64(0), i
		for ; end < len(orders) && orders[end].Price == price; end++ {
			shown += orders[end].Shown
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fixed.AppendI64(append(b, `{"price":`...), price, k.ins.DigitsPrice)
		b = fixed.AppendI64(append(b, `,"amount":`...), shown, k.ins.DigitsAmount)
		b = append(b, `,"orders":[`...)
		for j := i; j < end; j++ {
			if j > i {
				b = append(b, ',')
			}
			o := &orders[j]
			b = strconv.AppendUint(append(b, `{"orderId":`...), uint64(o.ID), 10)
			b = encode.AppendUUID(append(b, `,"accountId":"`...), k.uuids[o.Account])
			b = fixed.AppendI64(append(b, `","amount":`...), o.Shown, k.ins.DigitsAmount)
			b = fixed.AppendI64(append(b, `,"hiddenAmount":`...), o.Hidden, k.ins.DigitsAmount)
			b = append(b, '}')
		}
		b = append(b, "]}"...)
		i = end
	}
	return b
}
