package admin

import (
	"fmt"
	"strconv"
	"strings"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// defaultRate is the maker and taker fee rate of a new pair: 0.001, in 10^-8.
const defaultRate = 100_000

// pairRequest is the body of POST and PATCH /pairs, merged into the pair's current settings.
type pairRequest struct {
	engine.Instrument
	// minQuote and maxQuote are text until the digits of the pair are known.
	minQuote, maxQuote nullable
}

// nullable is a decimal of a request; its text is nil when it is set to null.
type nullable struct {
	text []byte
	set  bool
}

// pairChanges lists the members that PATCH /pairs/{code} and POST /pairs have in common.
var pairChanges = []body.Member[pairRequest]{
	body.Read("minQuoteAmount", edge.KindDecimal, func(r *body.Reader, p *pairRequest) bool {
		p.minQuote = nullable{r.Decimal(), true}
		if p.minQuote.text != nil && body.DecimalSign(p.minQuote.text) < 0 {
			r.Bad("must not be negative.")
		}
		return p.minQuote.text != nil
	}).As(edge.Field{Nullable: true}),
	body.Read("maxQuoteAmount", edge.KindDecimal, func(r *body.Reader, p *pairRequest) bool {
		p.maxQuote = nullable{r.Decimal(), true}
		if p.maxQuote.text != nil && body.DecimalSign(p.maxQuote.text) <= 0 {
			r.Bad("must be above zero.")
		}
		return p.maxQuote.text != nil
	}).As(edge.Field{Nullable: true}),
	body.Read("priceBandUp", edge.KindDecimal, func(r *body.Reader, p *pairRequest) (given bool) {
		p.BandUp, given = factor(r, engine.RateOne, engine.MaxBandUp, "must be a factor from 1 to 1,000,000")
		return given
	}).As(edge.Field{Nullable: true}),
	body.Read("priceBandDown", edge.KindDecimal, func(r *body.Reader, p *pairRequest) (given bool) {
		p.BandDown, given = factor(r, 1, engine.RateOne, "must be a factor above 0, at most 1,")
		return given
	}).As(edge.Field{Nullable: true}),
	body.Choice("state", body.PairStates, func(p *pairRequest, v engine.PairState) { p.State = v }),
	body.Value("makerFee", edge.KindDecimal, rate, func(p *pairRequest, v uint32) { p.MakerFee = v }),
	body.Value("takerFee", edge.KindDecimal, rate, func(p *pairRequest, v uint32) { p.TakerFee = v }),
}

var (
	pairForm    = body.Of(pairChanges...)
	newPairForm = body.Of(append([]body.Member[pairRequest]{
		body.Value("code", edge.KindPairCode, pairCode, func(p *pairRequest, v string) {
			p.Code = v
			p.Base, p.Quote, _ = strings.Cut(v, "_")
		}).Need(),
		body.Integer("digitsPrice", 0, fixed.Scale, func(p *pairRequest, v int64) { p.DigitsPrice = int(v) }).Need(),
		body.Integer("digitsAmount", 0, fixed.Scale, func(p *pairRequest, v int64) { p.DigitsAmount = int(v) }).Need(),
	}, pairChanges...)...)
)

func pairCode(r *body.Reader) (string, bool) {
	code := r.PairCode()
	return string(code), code != nil
}

// rate reads a member that must be a rate from 0 to 1 with at most 8 fractional digits.
func rate(r *body.Reader) (v uint32, given bool) {
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
func factor(r *body.Reader, low, high uint64, rule string) (v uint64, given bool) {
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

// finishLimits sets the limits of price x amount in the pair's digits and checks the pair.
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
			return refuse.Param(x.name, "The member %s must have at most %d fractional digits.",
				x.name, p.DigitsTotal())
		}
		*x.to = q
	}
	if p.minQuote.set {
		p.HasMinQuote = p.minQuote.text != nil
	}
	if err := p.Validate(); err != nil {
		return refuse.Param(field, "The pair cannot be traded: %v.", err)
	}
	return nil
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
	if err := p.Validate(); err != nil {
		return refuse.Param("digitsAmount", "The pair cannot be traded exactly: %v.", err)
	}
	if err := p.finishLimits(); err != nil {
		return err
	}
	s.configMu.Lock()
	defer s.configMu.Unlock()
	if s.opt.Entry.Instrument([]byte(p.Code)) != nil {
		return pairExists(p.Code)
	}
	for _, symbol := range []string{p.Base, p.Quote} {
		if err := s.ensureAsset(symbol); err != nil {
			return err
		}
	}
	refused, err := s.submitControl(&engine.Command{
		Kind: engine.AddPair, Pair: engine.ControlPair,
		Instrument: &p.Instrument,
	})
	switch {
	case err != nil:
		return err
	case refused == engine.PairExists:
		return pairExists(p.Code)
	case refused != engine.NotRejected:
		return refuse.New(refuse.Conflict, "",
			"The pair %s cannot be added: there are as many pairs as the engine takes.", p.Code)
	}
	auditPair(c, "pair added", &p.Instrument)
	return s.sendPair(c, &p.Instrument)
}

func pairExists(code string) *refuse.Refusal {
	return refuse.New(refuse.Conflict, "", "The pair %s exists already.", code)
}

func (s *Server) sendPair(c *edge.Ctx, ins *engine.Instrument) *refuse.Refusal {
	c.Private(appendPair(nil, ins))
	return nil
}

func appendPair(b []byte, ins *engine.Instrument) []byte {
	b = append(append(b, `{"code":"`...), ins.Code...)
	b = strconv.AppendInt(append(b, `","digitsPrice":`...), int64(ins.DigitsPrice), 10)
	b = strconv.AppendInt(append(b, `,"digitsAmount":`...), int64(ins.DigitsAmount), 10)
	b = append(b, `,"minQuoteAmount":`...)
	if ins.HasMinQuote {
		b = fixed.AppendShortest(b, ins.MinQuote.ToI128(), ins.DigitsTotal())
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"maxQuoteAmount":`...)
	if ins.MaxQuote.IsZero() {
		b = append(b, "null"...)
	} else {
		b = fixed.AppendShortest(b, ins.MaxQuote.ToI128(), ins.DigitsTotal())
	}
	b = appendFactor(append(b, `,"priceBandUp":`...), ins.BandUp)
	b = appendFactor(append(b, `,"priceBandDown":`...), ins.BandDown)
	b = append(append(b, `,"state":"`...), ins.State.String()...)
	b = encode.AppendRate(append(b, `","makerFee":`...), int64(ins.MakerFee), engine.RateScale)
	b = encode.AppendRate(append(b, `,"takerFee":`...), int64(ins.TakerFee), engine.RateScale)
	return append(b, '}')
}

// appendFactor appends a factor of the last trade; 0 is null.
func appendFactor(b []byte, v uint64) []byte {
	if v == 0 {
		return append(b, "null"...)
	}
	return encode.AppendRate(b, int64(v), engine.RateScale)
}

// getPair serves GET /pairs/{code}.
func (s *Server) getPair(c *edge.Ctx) *refuse.Refusal {
	ins, err := s.pathPair(c, "code")
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
	old, missing := s.pathPair(c, "code")
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
	if err != nil {
		return err
	}
	if refused != engine.NotRejected {
		panic(fmt.Sprintf("BUG: server: the engine refuses a checked pair: %s", refused))
	}
	auditPair(c, "pair changed", &p.Instrument)
	return s.sendPair(c, &p.Instrument)
}

// auditPair logs the fees of a pair that was added or changed, in 10^-8.
func auditPair(c *edge.Ctx, event string, in *engine.Instrument) {
	c.Audit(event, "pair", in.Code, "makerFee1e8", in.MakerFee, "takerFee1e8", in.TakerFee)
}
