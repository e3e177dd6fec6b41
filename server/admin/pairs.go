package admin

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/entry"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

// The parameters of the routes of books, pairs and assets.
var (
	bookPair    = pathPair("pair")
	codeOf      = pathPair("code")
	depth       = edge.Integer("depth", 0, math.MaxInt32).Default(0).Says("Levels of a side; 0 means all.")
	assetSymbol = edge.Text("symbol")
)

func pathPair(name string) *edge.Param[string] {
	return edge.Text(name).As(json.KindPairCode).Says("Pair code `{base}_{target}`.").Like("BTC_USDT")
}

// marketRoutes returns the routes of books, pairs and assets.
func marketRoutes(s *Server) []*edge.Route {
	code := edge.Params(codeOf)
	return edge.Tagged("Market", []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/book/{pair}", Handle: s.getBook,
			Params: edge.Params(bookPair, depth),
			Name:   "getBook", Summary: "Every order of a book, in queue order",
		},
		{
			Method: fasthttp.MethodPost, Path: edge.InternalPrefix + "/pairs", Handle: s.addPair, Schema: "AddPair",
			Members: newPairForm.Members(),
			Name:    "addPair", Summary: "Add a pair",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/pairs", Handle: s.listPairs,
			Name: "listPairs", Summary: "All pairs, delisted ones too",
		},
		{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/pairs/{code}", Handle: s.getPair, Params: code,
			Name: "getPair", Summary: "One pair",
		},
		{
			Method: fasthttp.MethodPatch, Path: edge.InternalPrefix + "/pairs/{code}", Handle: s.setPair, Params: code,
			Schema: "PatchPair", Members: pairForm.Members(),
			Name: "setPair", Summary: "Change a pair",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodDelete, Path: edge.InternalPrefix + "/pairs/{code}", Handle: s.delistPair,
			Params: code,
			Name:   "delistPair", Summary: "Delist a pair for good and cancel its orders",
		},
		{
			Method: fasthttp.MethodPost, Path: edge.InternalPrefix + "/assets", Handle: s.addAsset, Schema: "AddAsset",
			Members: newAssetForm.Members(),
			Name:    "addAsset", Summary: "Add an asset",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodGet, Path: edge.InternalPrefix + "/assets/{symbol}", Handle: s.getAsset,
			Params: edge.Params(assetSymbol),
			Name:   "getAsset", Summary: "One asset",
		},
		{
			Method: fasthttp.MethodPatch, Path: edge.InternalPrefix + "/assets/{symbol}", Handle: s.setAsset,
			Params: edge.Params(assetSymbol),
			Schema: "PatchAsset", Members: assetForm.Members(),
			Name: "setAsset", Summary: "Change an asset",
			Refuses: []int{409},
		},
	})
}

// pairOf returns the instrument of the pair that the path names, which may be delisted.
func (s *Server) pairOf(c *edge.Ctx, p *edge.Param[string]) (*engine.Instrument, *refuse.Refusal) {
	code, err := p.Of(c)
	if err != nil {
		return nil, err
	}
	name := p.Name()
	if !engine.ValidPairCode(code) {
		return nil, refuse.Param(name, "The pair code must be of the form BASE_QUOTE, "+engine.CurrencyForm+" each.")
	}
	if v := s.opt.Board.Load().LookupAll(code); v != nil {
		return v.Instrument, nil
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
	lists  map[engine.OrderID]engine.OrderID // the list of each order that has one
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
	levels, err := depth.Of(c)
	if err != nil {
		return err
	}
	ins, err := s.pairOf(c, bookPair)
	if err != nil {
		return err
	}
	book := fullBook{uuids: map[engine.AccountID][16]byte{}, lists: map[engine.OrderID]engine.OrderID{}}
	var sides [2]chunks[engine.BookOrder]
	var stops chunks[engine.StopState]
	err = s.queryParts(ins.ID, func(pause func()) {
		core := s.opt.Core
		book.ins, _ = core.Pair(ins.ID)
		book.seq = core.LastSeq(ins.ID)
		book.timeNs = s.opt.Board.Load().View(ins.ID).TimeNs
		for side := range sides {
			sides[side] = collect(core.Resting(ins.ID, engine.Side(side), int(levels)), pause)
		}
		stops = collect(core.Stops(ins.ID), pause)
		for l := range core.Lists(ins.ID) { // at most engine.PairLists
			for _, id := range l.Orders {
				book.lists[id] = l.ID
			}
		}
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
	var w json.Writer
	book.write(&w)
	c.Private(w.Bytes())
	return nil
}

func (k *fullBook) write(w *json.Writer) {
	w.Object()
	w.Name("currencyPairCode").Word(k.ins.Code)
	w.Name("state").Word(k.ins.State.String())
	w.Name("seq").Uint(uint64(k.seq))
	w.Name("timeNs").Int(k.timeNs)
	k.writeSide(w.Name("bids"), k.sides[engine.Buy])
	k.writeSide(w.Name("asks"), k.sides[engine.Sell])
	w.Name("stops").List()
	for i := range k.stops {
		st := &k.stops[i]
		w.Object()
		w.Name("orderId").Uint(uint64(st.ID))
		w.Name("side").Word(st.Side.String())
		w.Name("type").Word(st.Type.String())
		w.Name("stopPrice").UnitsOrNull(st.Price, k.ins.DigitsPrice, st.Price != 0)
		w.Name("trailingDelta").IntOrNull(int64(st.Trail), st.Trail != 0)
		w.Name("extreme").UnitsOrNull(st.Extreme, k.ins.DigitsPrice, st.Extreme != 0)
		list := k.lists[st.ID]
		w.Name("listId").IntOrNull(int64(list), list != 0)
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
}

// writeSide writes the levels of a side. orders must be grouped by price.
func (k *fullBook) writeSide(w *json.Writer, orders []engine.BookOrder) {
	w.List()
	for len(orders) > 0 {
		price, shown, n := orders[0].Price, int64(0), 0
		for ; n < len(orders) && orders[n].Price == price; n++ {
			shown += orders[n].Shown
		}
		w.Object()
		w.Name("price").Units(price, k.ins.DigitsPrice)
		w.Name("amount").Units(shown, k.ins.DigitsAmount)
		w.Name("orders").List()
		for i := range orders[:n] {
			o := &orders[i]
			w.Object()
			w.Name("orderId").Uint(uint64(o.ID))
			w.Name("accountId").UUID(k.uuids[o.Account])
			w.Name("amount").Units(o.Shown, k.ins.DigitsAmount)
			w.Name("hiddenAmount").Units(o.Hidden, k.ins.DigitsAmount)
			w.EndObject()
		}
		w.EndList()
		w.EndObject()
		orders = orders[n:]
	}
	w.EndList()
}

// defaultRate is the maker and taker fee rate of a new pair: 0.001, in 10^-8.
const defaultRate = 100_000

// pairRequest is the body of POST and PATCH /pairs, merged into the pair's current settings.
type pairRequest struct {
	engine.Instrument
	// The limits are text until the digits of the pair are known.
	minQuote, maxQuote, maxPrice, maxAmount nullable
}

// nullable is a decimal of a request; its text is nil when it is set to null.
type nullable struct {
	text []byte
	set  bool
}

// pairChanges lists the members that PATCH /pairs/{code} and POST /pairs have in common.
var pairChanges = []json.Member[pairRequest]{
	json.Read("minQuoteAmount", json.KindDecimal, func(r *json.Reader, p *pairRequest) bool {
		p.minQuote = nullable{r.Decimal(), true}
		if p.minQuote.text != nil && json.DecimalSign(p.minQuote.text) < 0 {
			r.Bad("must not be negative.")
		}
		return p.minQuote.text != nil
	}).As(json.Field{Nullable: true}),
	largest("maxQuoteAmount", func(p *pairRequest) *nullable { return &p.maxQuote }),
	largest("maxPrice", func(p *pairRequest) *nullable { return &p.maxPrice }),
	largest("maxAmount", func(p *pairRequest) *nullable { return &p.maxAmount }),
	json.Read("priceBandUp", json.KindDecimal, func(r *json.Reader, p *pairRequest) (given bool) {
		p.BandUp, given = factor(r, engine.RateOne, engine.MaxBandUp, "must be a factor from 1 to 1,000,000")
		return given
	}).As(json.Field{Nullable: true}),
	json.Read("priceBandDown", json.KindDecimal, func(r *json.Reader, p *pairRequest) (given bool) {
		p.BandDown, given = factor(r, 1, engine.RateOne, "must be a factor above 0, at most 1,")
		return given
	}).As(json.Field{Nullable: true}),
	json.Choice("state", objects.PairStates, func(p *pairRequest, v engine.PairState) { p.State = v }),
	json.Value("makerFee", json.KindDecimal, rate, func(p *pairRequest, v uint32) { p.MakerFee = v }),
	json.Value("takerFee", json.KindDecimal, rate, func(p *pairRequest, v uint32) { p.TakerFee = v }),
}

// largest returns a member that is a largest value of an order, or null: the default.
func largest(name string, of func(*pairRequest) *nullable) json.Member[pairRequest] {
	return json.Read(name, json.KindDecimal, func(r *json.Reader, p *pairRequest) bool {
		text := r.Decimal()
		if text != nil && json.DecimalSign(text) <= 0 {
			r.Bad("must be above zero.")
		}
		*of(p) = nullable{text, true}
		return text != nil
	}).As(json.Field{Nullable: true})
}

var (
	pairForm    = json.Of(pairChanges...)
	newPairForm = json.Of(append([]json.Member[pairRequest]{
		json.Value("code", json.KindPairCode, pairCode, func(p *pairRequest, v string) {
			p.Code = v
			p.Base, p.Quote, _ = strings.Cut(v, "_")
		}).Need(),
		json.Integer("digitsPrice", 0, fixed.Scale, func(p *pairRequest, v int64) { p.DigitsPrice = int(v) }).Need(),
		json.Integer("digitsAmount", 0, fixed.Scale, func(p *pairRequest, v int64) { p.DigitsAmount = int(v) }).Need(),
	}, pairChanges...)...)
)

func pairCode(r *json.Reader) (string, bool) {
	code := objects.PairCode(r)
	return string(code), code != nil
}

// rate reads a member that must be a rate from 0 to 1 with at most 8 fractional digits.
func rate(r *json.Reader) (v uint32, given bool) {
	text := r.Decimal()
	if text == nil {
		return 0, false
	}
	u, negative, res := fixed.TextUnits(text, engine.RateScale)
	if negative || res != fixed.UnitsExact || u > engine.RateOne {
		r.Bad("must be a rate from 0 to 1 with at most 8 fractional digits.")
		return 0, false
	}
	return uint32(u), true
}

// factor reads a member that must be a factor of the last trade, or null: 0.
func factor(r *json.Reader, low, high uint64, rule string) (v uint64, given bool) {
	text := r.Decimal()
	if text == nil {
		return 0, false
	}
	u, negative, res := fixed.TextUnits(text, engine.RateScale)
	if negative || res != fixed.UnitsExact || uint64(u) < low || uint64(u) > high {
		r.Bad(rule + " with at most 8 fractional digits.")
		return 0, false
	}
	return uint64(u), true
}

// finishLimits sets the limits of an order in the pair's digits and checks the pair.
func (p *pairRequest) finishLimits() *refuse.Refusal {
	field := "minQuoteAmount"
	for _, x := range [...]struct {
		name string
		from nullable
		to   *fixed.U128
	}{{"minQuoteAmount", p.minQuote, &p.MinQuote}, {"maxQuoteAmount", p.maxQuote, &p.MaxQuote}} {
		if x.from.set {
			*x.to, field = fixed.U128{}, x.name
		}
		if x.from.text == nil {
			continue
		}
		q, rest := fixed.MustText(x.from.text).Abs().DivMod64(fixed.Pow10[fixed.Scale-p.DigitsTotal()])
		if rest != 0 {
			return tooFine(x.name, p.DigitsTotal())
		}
		*x.to = q
	}
	for _, x := range [...]struct {
		name   string
		from   nullable
		to     *int64
		digits int
	}{{"maxPrice", p.maxPrice, &p.MaxPrice, p.DigitsPrice}, {"maxAmount", p.maxAmount, &p.MaxAmount, p.DigitsAmount}} {
		if x.from.set {
			*x.to, field = 0, x.name
		}
		if x.from.text == nil {
			continue
		}
		v, _, res := fixed.TextUnits(x.from.text, x.digits)
		switch res {
		case fixed.UnitsOff:
			return tooFine(x.name, x.digits)
		case fixed.UnitsTooMany:
			return refuse.Param(x.name, "The member %s must be at most %s.", x.name,
				fixed.AppendI64(nil, math.MaxInt64, x.digits))
		case fixed.UnitsExact:
			*x.to = v
		}
	}
	if p.minQuote.set {
		p.HasMinQuote = p.minQuote.text != nil
	}
	if err := p.Validate(); err != nil {
		return refuse.Param(field, "The pair cannot be traded: %v.", err)
	}
	return nil
}

func tooFine(name string, digits int) *refuse.Refusal {
	return refuse.Param(name, "The member %s must have at most %d fractional digits.", name, digits)
}

// addPair serves POST /pairs.
func (s *Server) addPair(c *edge.Ctx) *refuse.Refusal {
	p := pairRequest{Instrument: engine.Instrument{MakerFee: defaultRate, TakerFee: defaultRate}}
	if err := newPairForm.Decode(c.PostBody(), &p); err != nil {
		return err
	}
	if p.Base == p.Quote {
		return refuse.Param("code", "The member code must name two different currencies.")
	}
	s.configMu.Lock()
	defer s.configMu.Unlock()
	p.TakeDigits(s.opt.Board.Load().AssetDigits)
	if err := p.Validate(); err != nil {
		return refuse.Param("digitsAmount", "The pair cannot be traded exactly: %v.", err)
	}
	if err := p.finishLimits(); err != nil {
		return err
	}
	if s.opt.Board.Load().LookupAll(p.Code) != nil {
		return s.pairExists(p.Code)
	}
	if err := s.ensureAsset(p.Base, p.BaseDigits); err != nil {
		return err
	}
	if err := s.ensureAsset(p.Quote, p.QuoteDigits); err != nil {
		return err
	}
	refused, err := s.submitControl(&engine.Command{
		Kind: engine.AddPair, Pair: engine.ControlPair,
		Instrument: &p.Instrument,
	})
	switch {
	case err != nil:
		return err
	case refused == engine.PairExists:
		return s.pairExists(p.Code)
	case refused != engine.NotRejected:
		return refuse.New(refuse.Conflict, "",
			"The pair %s cannot be added: there are as many pairs as the engine takes.", p.Code)
	}
	auditPair(c, "pair added", &p.Instrument)
	return s.sendPair(c, &p.Instrument)
}

// pairExists refuses a pair whose code is taken. A delisted pair keeps its code: histories would mix two pairs.
func (s *Server) pairExists(code string) *refuse.Refusal {
	if s.opt.Entry.Instrument([]byte(code)) == nil {
		return refuse.New(refuse.Conflict, "", "The pair %s was delisted, and its code is never used again: "+
			"add the pair under another code.", code)
	}
	return refuse.New(refuse.Conflict, "", "The pair %s exists already.", code)
}

// sendPair sends a pair.
func (s *Server) sendPair(c *edge.Ctx, ins *engine.Instrument) *refuse.Refusal {
	var w json.Writer
	writePair(&w, ins)
	c.Private(w.Bytes())
	return nil
}

// writePair writes a pair. A largest price or amount that is the default, and no factor of the last trade, are null.
func writePair(w *json.Writer, ins *engine.Instrument) {
	w.Object()
	w.Name("code").Word(ins.Code)
	w.Name("digitsPrice").Int(int64(ins.DigitsPrice))
	w.Name("digitsAmount").Int(int64(ins.DigitsAmount))
	w.Name("minQuoteAmount").ShortestOrNull(ins.MinQuote.ToI128(), ins.DigitsTotal(), ins.HasMinQuote)
	w.Name("maxQuoteAmount").ShortestOrNull(ins.MaxQuote.ToI128(), ins.DigitsTotal(), !ins.MaxQuote.IsZero())
	w.Name("maxPrice").ShortestOrNull(fixed.FromI64(ins.MaxPrice), ins.DigitsPrice, ins.MaxPrice != 0)
	w.Name("maxAmount").ShortestOrNull(fixed.FromI64(ins.MaxAmount), ins.DigitsAmount, ins.MaxAmount != 0)
	w.Name("priceBandUp").ShortestOrNull(fixed.FromI64(int64(ins.BandUp)), engine.RateScale, ins.BandUp != 0)
	w.Name("priceBandDown").ShortestOrNull(fixed.FromI64(int64(ins.BandDown)), engine.RateScale, ins.BandDown != 0)
	w.Name("state").Word(ins.State.String())
	w.Name("makerFee").Rate(int64(ins.MakerFee), engine.RateScale)
	w.Name("takerFee").Rate(int64(ins.TakerFee), engine.RateScale)
	w.EndObject()
}

// listPairs serves GET /pairs.
func (s *Server) listPairs(c *edge.Ctx) *refuse.Refusal {
	root := s.opt.Board.Load()
	var w json.Writer
	w.List()
	for _, id := range root.SortedAll() {
		writePair(&w, root.View(id).Instrument)
	}
	w.EndList()
	c.Private(w.Bytes())
	return nil
}

// getPair serves GET /pairs/{code}.
func (s *Server) getPair(c *edge.Ctx) *refuse.Refusal {
	ins, err := s.pairOf(c, codeOf)
	if err != nil {
		return err
	}
	return s.sendPair(c, ins)
}

// setPair serves PATCH /pairs/{code}.
func (s *Server) setPair(c *edge.Ctx) *refuse.Refusal {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	var p pairRequest
	old, missing := s.pairOf(c, codeOf)
	if missing == nil {
		p.Instrument = *old
	}
	if err := pairForm.Decode(c.PostBody(), &p); err != nil {
		return err
	}
	if missing != nil {
		return missing
	}
	if err := p.finishLimits(); err != nil {
		return err
	}
	refused, err := s.submitControl(&engine.Command{Kind: engine.SetPair, Pair: p.ID, Instrument: &p.Instrument})
	switch {
	case err != nil:
		return err
	case refused == engine.UnknownPair:
		return refuse.New(refuse.Conflict, "", "The pair %s was delisted and does not change any more.", p.Code)
	case refused != engine.NotRejected:
		panic(fmt.Sprintf("BUG: server: the engine refuses a checked pair: %s", refused))
	}
	auditPair(c, "pair changed", &p.Instrument)
	return s.sendPair(c, &p.Instrument)
}

// delistPair serves DELETE /pairs/{code}. A repeat changes nothing.
func (s *Server) delistPair(c *edge.Ctx) *refuse.Refusal {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	ins, err := s.pairOf(c, codeOf)
	if err != nil {
		return err
	}
	closed, gone := *ins, *ins
	closed.State, gone.State = engine.CancelOnly, engine.Delisted
	if ins.State != engine.Delisted {
		canceled, err := s.delist(&closed, &gone)
		if err != nil {
			return err
		}
		c.Audit("pair delisted", "pair", ins.Code, "canceled", canceled)
	}
	return s.sendPair(c, &gone)
}

// delist closes a pair, cancels its orders, so that their owners see the cancels and have their money back, and takes
// it out of the lists. Between the three commands the pair takes nothing but cancels.
func (s *Server) delist(closed, gone *engine.Instrument) (canceled int, err *refuse.Refusal) {
	refused := engine.NotRejected
	b := sequencer.Batch{
		Commands: []engine.Command{
			{Kind: engine.SetPair, Pair: gone.ID, Instrument: closed},
			{Kind: engine.CancelAll, Pair: gone.ID, Flags: engine.FlagAllAccount | engine.FlagOperator},
			{Kind: engine.SetPair, Pair: gone.ID, Instrument: gone},
		},
		Collect: func(_ int, _ *engine.Command, events []engine.Event) {
			for i := range events {
				switch events[i].Kind {
				case engine.EventCanceled:
					canceled++
				case engine.EventRejected:
					refused = events[i].Reason
				default:
				}
			}
		},
	}
	if serr := s.opt.Exchange.Submit(&b); serr != nil {
		return 0, entry.Unconfirmed(serr, "The change", "repeat the request: a repeat changes nothing more.")
	}
	if refused == engine.PairInUse { // a change whose request was answered before has opened the pair again
		return canceled, refuse.New(refuse.Conflict, "", "The pair %s has new orders: repeat the request.", gone.Code)
	}
	return canceled, nil // a pair that was delisted meanwhile is unknown
}

// auditPair logs the fees of a pair that was added or changed, in 10^-8.
func auditPair(c *edge.Ctx, event string, in *engine.Instrument) {
	c.Audit(event, "pair", in.Code, "makerFee1e8", in.MakerFee, "takerFee1e8", in.TakerFee)
}

// assetKind is the value of the member type.
type assetKind bool

func (k assetKind) String() string {
	if k {
		return "fiat"
	}
	return "cryptocurrency"
}

var assetKinds = json.WordsOf[assetKind](false, true)

// maxAssetName is the maximum length of a currency's display name.
const maxAssetName = 64

// assetChanges lists the members that PATCH /assets/{symbol} and POST /assets have in common; null clears the ones that
// may be null.
var assetChanges = []json.Member[engine.Asset]{
	json.Integer("digits", 0, fixed.Scale, func(a *engine.Asset, v int64) { a.Digits = int(v) }),
	json.Text("name", maxAssetName, func(a *engine.Asset, v string) { a.Name = v }).
		As(json.Field{Range: []int64{0, maxAssetName}}),
	json.Choice("type", assetKinds, func(a *engine.Asset, v assetKind) { a.Fiat = bool(v) }),
	json.Read("unifiedCryptoassetId", json.KindInt64, func(r *json.Reader, a *engine.Asset) bool {
		a.UnifiedCryptoassetID, a.HasUnifiedID = r.Integer(1, objects.MaxOrderID)
		return a.HasUnifiedID
	}).As(json.Field{Nullable: true, Range: []int64{1, objects.MaxOrderID}}),
	json.Flag("canWithdraw", func(a *engine.Asset, v bool) { a.CanWithdraw = v }),
	json.Flag("canDeposit", func(a *engine.Asset, v bool) { a.CanDeposit = v }),
	json.Read("minWithdraw", json.KindDecimal, func(r *json.Reader, a *engine.Asset) bool {
		return limit(r, &a.MinWithdraw, &a.HasMinWithdraw)
	}).As(json.Field{Nullable: true}),
	json.Read("maxWithdraw", json.KindDecimal, func(r *json.Reader, a *engine.Asset) bool {
		return limit(r, &a.MaxWithdraw, &a.HasMaxWithdraw)
	}).As(json.Field{Nullable: true}),
	json.Read("makerFee", json.KindDecimal, func(r *json.Reader, a *engine.Asset) bool {
		return fee(r, &a.MakerFee, &a.HasMakerFee)
	}).As(json.Field{Nullable: true}),
	json.Read("takerFee", json.KindDecimal, func(r *json.Reader, a *engine.Asset) bool {
		return fee(r, &a.TakerFee, &a.HasTakerFee)
	}).As(json.Field{Nullable: true}),
}

var (
	assetForm    = json.Of(assetChanges...)
	newAssetForm = json.Of(append([]json.Member[engine.Asset]{
		json.Value("symbol", json.KindText, currencyCode, func(a *engine.Asset, v string) { a.Symbol = v }).
			As(json.Field{Range: []int64{1, engine.MaxCurrencyCode}}).Need(),
	}, assetChanges...)...)
)

// currencyCode reads a member that must be the code of a currency.
func currencyCode(r *json.Reader) (code string, given bool) {
	text := r.Text(engine.MaxCurrencyCode)
	if text != nil && !engine.ValidCurrencyCode(text) {
		r.Bad("must be " + engine.CurrencyForm + ".")
	}
	return string(text), text != nil
}

// limit reads a decimal of at least 0 into v and sets has, which is false for null.
func limit(r *json.Reader, v *fixed.I128, has *bool) bool {
	text := r.Decimal()
	if *v, *has = (fixed.I128{}), text != nil; *has {
		if *v = fixed.MustText(text); v.Sign() < 0 {
			r.Bad("must not be negative.")
		}
	}
	return *has
}

// fee reads a rate into v and sets has, which is false for null.
func fee(r *json.Reader, v *fixed.I128, has *bool) bool {
	u, given := rate(r)
	*v, *has = fixed.I128{Lo: uint64(u) * fixed.Pow10[fixed.Scale-engine.RateScale]}, given
	return given
}

// defaultAsset returns a currency with default settings.
func defaultAsset(symbol string, digits int) engine.Asset {
	rate := fixed.I128{Lo: defaultRate * fixed.Pow10[fixed.Scale-engine.RateScale]}
	return engine.Asset{
		Symbol: symbol, Name: symbol, Digits: digits, CanWithdraw: true, CanDeposit: true,
		MakerFee: rate, HasMakerFee: true, TakerFee: rate, HasTakerFee: true,
	}
}

// ensureAsset adds a currency with default settings unless it is configured.
func (s *Server) ensureAsset(symbol string, digits int) *refuse.Refusal {
	if s.opt.Board.Load().Asset(symbol) != nil {
		return nil
	}
	a := defaultAsset(symbol, digits)
	return s.submitAsset(&a)
}

// submitAsset makes the settings of a currency the ones in force.
func (s *Server) submitAsset(a *engine.Asset) *refuse.Refusal {
	refused, err := s.submitControl(&engine.Command{
		Kind: engine.SetAsset, Pair: engine.ControlPair, Control: &engine.ControlRecord{Asset: a},
	})
	switch {
	case err != nil:
		return err
	case refused == engine.AssetInUse:
		return refuse.New(refuse.Conflict, "digits",
			"The asset %s cannot have %d digits: it has a pair, or a balance, "+
				"in other units.", a.Symbol, a.Digits)
	case refused != engine.NotRejected:
		return refuse.New(refuse.Conflict, "",
			"The asset %s cannot be added: there are as many assets as the engine takes.", a.Symbol)
	}
	return nil
}

// addAsset serves POST /assets.
func (s *Server) addAsset(c *edge.Ctx) *refuse.Refusal {
	a := defaultAsset("", engine.DefaultDigits)
	if err := newAssetForm.Decode(c.PostBody(), &a); err != nil {
		return err
	}
	a.Name = cmp.Or(a.Name, a.Symbol)
	s.configMu.Lock()
	defer s.configMu.Unlock()
	if s.opt.Board.Load().Asset(a.Symbol) != nil {
		return refuse.New(refuse.Conflict, "", "The asset %s exists already.", a.Symbol)
	}
	return s.finishAsset(c, "asset added", &a)
}

// pathAsset returns a copy of the currency that the path names.
func (s *Server) pathAsset(c *edge.Ctx) (engine.Asset, *refuse.Refusal) {
	symbol, err := assetSymbol.Of(c)
	if err != nil {
		return engine.Asset{}, err
	}
	if a := s.opt.Board.Load().Asset(symbol); a != nil {
		return *a, nil
	}
	return engine.Asset{}, refuse.Missing("symbol", "There is no asset %.32q.", symbol)
}

// getAsset serves GET /assets/{symbol}.
func (s *Server) getAsset(c *edge.Ctx) *refuse.Refusal {
	a, err := s.pathAsset(c)
	if err != nil {
		return err
	}
	sendAsset(c, &a)
	return nil
}

// setAsset serves PATCH /assets/{symbol}.
func (s *Server) setAsset(c *edge.Ctx) *refuse.Refusal {
	s.configMu.Lock()
	defer s.configMu.Unlock()
	a, missing := s.pathAsset(c)
	if err := assetForm.Decode(c.PostBody(), &a); err != nil {
		return err
	}
	if missing != nil {
		return missing
	}
	return s.finishAsset(c, "asset changed", &a)
}

// finishAsset checks and stores the settings of a currency that a request has sent, and answers with them.
func (s *Server) finishAsset(c *edge.Ctx, event string, a *engine.Asset) *refuse.Refusal {
	if a.HasMinWithdraw && a.HasMaxWithdraw && a.MinWithdraw.Cmp(a.MaxWithdraw) > 0 {
		return refuse.Param("minWithdraw", "The member minWithdraw must not be above maxWithdraw.")
	}
	if err := s.submitAsset(a); err != nil {
		return err
	}
	c.Audit(event, "asset", a.Symbol)
	sendAsset(c, a)
	return nil
}

func sendAsset(c *edge.Ctx, a *engine.Asset) {
	var w json.Writer
	w.Object()
	w.Name("symbol").Word(a.Symbol)
	w.Name("name").Text(a.Name)
	w.Name("type").Word(assetKind(a.Fiat).String())
	w.Name("digits").Int(int64(a.Digits))
	w.Name("unifiedCryptoassetId").IntOrNull(a.UnifiedCryptoassetID, a.HasUnifiedID)
	w.Name("canWithdraw").Bool(a.CanWithdraw)
	w.Name("canDeposit").Bool(a.CanDeposit)
	w.Name("minWithdraw").ShortestOrNull(a.MinWithdraw, fixed.Scale, a.HasMinWithdraw)
	w.Name("maxWithdraw").ShortestOrNull(a.MaxWithdraw, fixed.Scale, a.HasMaxWithdraw)
	w.Name("makerFee").ShortestOrNull(a.MakerFee, fixed.Scale, a.HasMakerFee)
	w.Name("takerFee").ShortestOrNull(a.TakerFee, fixed.Scale, a.HasTakerFee)
	w.EndObject()
	c.Private(w.Bytes())
}
