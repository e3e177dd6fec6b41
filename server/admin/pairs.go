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

// pairRequest is the body of POST and PATCH /pairs.
type pairRequest struct {
	code         []byte
	digitsPrice  int64
	digitsAmount int64
	hasPrice     bool
	hasAmount    bool
	minQuote     []byte // nil with minGiven: null
	minGiven     bool
	state        engine.PairState
	hasState     bool
	maker, taker uint32
	hasMaker     bool
	hasTaker     bool
	adds         bool // true for POST: code and digits are members too
}

var pairMembers = []string{"code", "digitsPrice", "digitsAmount", "minQuoteAmount", "state", "makerFee", "takerFee"}

func decodePair(r *body.Reader, p *pairRequest) *body.Error {
	if r.Object() {
		for key, ok := r.Member(); ok; key, ok = r.Member() {
			readPairMember(r, p, key)
		}
		if p.adds && r.Err == nil {
			r.Require("code", p.code != nil)
			r.Require("digitsPrice", p.hasPrice)
			r.Require("digitsAmount", p.hasAmount)
		}
	}
	return r.InOrder(pairMembers...)
}

func readPairMember(r *body.Reader, p *pairRequest, key []byte) {
	switch name := string(key); {
	case name == "code" && p.adds:
		p.code = r.PairCode()
	case name == "digitsPrice" && p.adds:
		p.digitsPrice, p.hasPrice = r.Integer(0, fixed.Scale)
	case name == "digitsAmount" && p.adds:
		p.digitsAmount, p.hasAmount = r.Integer(0, fixed.Scale)
	case name == "minQuoteAmount":
		p.minQuote, p.minGiven = r.Decimal(), true
		if p.minQuote != nil && body.DecimalSign(p.minQuote) < 0 {
			r.Bad("must not be negative.")
		}
	case name == "state":
		p.state, p.hasState = body.ReadWord(r, body.PairStates)
	case name == "makerFee":
		p.maker, p.hasMaker = rate(r)
	case name == "takerFee":
		p.taker, p.hasTaker = rate(r)
	default:
		r.Unknown()
	}
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

// apply sets the given members in ins, whose digits must be set.
func (p *pairRequest) apply(ins *engine.Instrument) *refuse.Refusal {
	if p.hasState {
		ins.State = p.state
	}
	if p.hasMaker {
		ins.MakerFee = p.maker
	}
	if p.hasTaker {
		ins.TakerFee = p.taker
	}
	if p.minGiven {
		ins.MinQuote, ins.HasMinQuote = fixed.U128{}, p.minQuote != nil
		if ins.HasMinQuote {
			q, rest := fixed.MustText(p.minQuote).Abs().DivMod64(fixed.Pow10[fixed.Scale-ins.DigitsTotal()])
			if rest != 0 {
				return refuse.Param("minQuoteAmount", "The member minQuoteAmount must have at most %d fractional digits.", ins.DigitsTotal())
			}
			ins.MinQuote = q
		}
	}
	if err := ins.Validate(); err != nil {
		return refuse.Param("minQuoteAmount", "The pair cannot be traded: %v.", err)
	}
	return nil
}

// addPair serves POST /pairs.
func (s *Server) addPair(c *edge.Ctx) *refuse.Refusal {
	var r body.Reader
	p := pairRequest{adds: true}
	r.Reset(c.PostBody())
	if err := decodePair(&r, &p); err != nil {
		return body.Refusal(err)
	}
	code := string(p.code)
	base, quote, _ := strings.Cut(code, "_")
	ins := &engine.Instrument{
		Code: code, Base: base, Quote: quote,
		DigitsPrice: int(p.digitsPrice), DigitsAmount: int(p.digitsAmount),
		MakerFee: defaultRate, TakerFee: defaultRate,
	}
	if base == quote {
		return refuse.Param("code", "The member code must name two different currencies.")
	}
	if err := ins.Validate(); err != nil {
		return refuse.Param("digitsAmount", "The pair cannot be traded exactly: %v.", err)
	}
	if err := p.apply(ins); err != nil {
		return err
	}
	s.configMu.Lock()
	defer s.configMu.Unlock()
	if s.instrument(p.code) != nil {
		return pairExists(code)
	}
	for _, symbol := range []string{base, quote} {
		if err := s.ensureAsset(symbol); err != nil {
			return err
		}
	}
	refused, err := s.submitControl(&engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: ins})
	switch {
	case err != nil:
		return err
	case refused == engine.PairExists:
		return pairExists(code)
	case refused != engine.NotRejected:
		return refuse.New(refuse.Conflict, "",
			"The pair %s cannot be added: there are as many pairs as the engine takes.", code)
	}
	return s.sendPair(c, ins)
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
	b = append(append(b, `,"state":"`...), ins.State.String()...)
	b = encode.AppendRate(append(b, `","makerFee":`...), int64(ins.MakerFee), engine.RateScale)
	b = encode.AppendRate(append(b, `,"takerFee":`...), int64(ins.TakerFee), engine.RateScale)
	return append(b, '}')
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
	var r body.Reader
	var p pairRequest
	r.Reset(c.PostBody())
	if err := decodePair(&r, &p); err != nil {
		return body.Refusal(err)
	}
	s.configMu.Lock()
	defer s.configMu.Unlock()
	old, err := s.pathPair(c, "code")
	if err != nil {
		return err
	}
	ins := *old
	if err := p.apply(&ins); err != nil {
		return err
	}
	refused, err := s.submitControl(&engine.Command{Kind: engine.SetPair, Pair: ins.ID, Instrument: &ins})
	if err != nil {
		return err
	}
	if refused != engine.NotRejected {
		panic(fmt.Sprintf("BUG: server: the engine refuses a checked pair: %s", refused))
	}
	return s.sendPair(c, &ins)
}
