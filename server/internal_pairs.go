package server

import (
	"fmt"
	"strconv"
	"strings"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
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

func (r *bodyReader) decodePair(p *pairRequest) *bodyError {
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			r.readPairMember(p, key)
		}
		if p.adds && r.err == nil {
			r.require("code", p.code != nil)
			r.require("digitsPrice", p.hasPrice)
			r.require("digitsAmount", p.hasAmount)
		}
	}
	return r.inOrder(pairMembers...)
}

func (r *bodyReader) readPairMember(p *pairRequest, key []byte) {
	switch name := string(key); {
	case name == "code" && p.adds:
		p.code = r.pairCode()
	case name == "digitsPrice" && p.adds:
		p.digitsPrice, p.hasPrice = r.integer(0, fixed.Scale)
	case name == "digitsAmount" && p.adds:
		p.digitsAmount, p.hasAmount = r.integer(0, fixed.Scale)
	case name == "minQuoteAmount":
		p.minQuote, p.minGiven = r.decimal(), true
		if p.minQuote != nil && decimalSign(p.minQuote) < 0 {
			r.bad("must not be negative.")
		}
	case name == "state":
		p.state, p.hasState = readWord(r, pairStates)
	case name == "makerFee":
		p.maker, p.hasMaker = r.rate()
	case name == "takerFee":
		p.taker, p.hasTaker = r.rate()
	default:
		r.unknown()
	}
}

// rate reads a member that must be a rate from 0 to 1 with at most 8 fractional digits.
func (r *bodyReader) rate() (v uint32, given bool) {
	text := r.decimal()
	if text == nil {
		return 0, false
	}
	u, negative, res := fixed.TextUnits(text, engine.RateScale)
	if negative || res != fixed.UnitsExact || u > engine.RateOne {
		r.bad("must be a rate from 0 to 1 with at most 8 fractional digits.")
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
func (s *Internal) addPair(c *Ctx) *refuse.Refusal {
	var r bodyReader
	p := pairRequest{adds: true}
	r.reset(c.PostBody())
	if err := r.decodePair(&p); err != nil {
		return badBody(err)
	}
	code := string(p.code)
	base, quote, _ := strings.Cut(code, "_")
	ins := &engine.Instrument{
		Code: code, Base: base, Quote: quote,
		DigitsPrice: int(p.digitsPrice), DigitsAmount: int(p.digitsAmount), MakerFee: defaultRate, TakerFee: defaultRate,
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
	s.setting.Lock()
	defer s.setting.Unlock()
	if s.instrument(p.code) != nil {
		return pairExists(code)
	}
	for _, symbol := range []string{base, quote} {
		if err := s.ensureAsset(symbol); err != nil {
			return err
		}
	}
	refused, err := s.control(&engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: ins})
	switch {
	case err != nil:
		return err
	case refused == engine.PairExists:
		return pairExists(code)
	case refused != engine.NotRejected:
		return refuse.New(refuse.Conflict, "", "The pair %s cannot be added: there are as many pairs as the engine takes.", code)
	}
	return s.sendPair(c, ins)
}

func pairExists(code string) *refuse.Refusal {
	return refuse.New(refuse.Conflict, "", "The pair %s exists already.", code)
}

func (s *Internal) sendPair(c *Ctx, ins *engine.Instrument) *refuse.Refusal {
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
	b = appendRate(append(b, `","makerFee":`...), int64(ins.MakerFee), engine.RateScale)
	b = appendRate(append(b, `,"takerFee":`...), int64(ins.TakerFee), engine.RateScale)
	return append(b, '}')
}

// getPair serves GET /pairs/{code}.
func (s *Internal) getPair(c *Ctx) *refuse.Refusal {
	ins, err := s.pathPair(c, "code")
	if err != nil {
		return err
	}
	return s.sendPair(c, ins)
}

// setPair serves PATCH /pairs/{code}.
func (s *Internal) setPair(c *Ctx) *refuse.Refusal {
	var r bodyReader
	var p pairRequest
	r.reset(c.PostBody())
	if err := r.decodePair(&p); err != nil {
		return badBody(err)
	}
	s.setting.Lock()
	defer s.setting.Unlock()
	old, err := s.pathPair(c, "code")
	if err != nil {
		return err
	}
	ins := *old
	if err := p.apply(&ins); err != nil {
		return err
	}
	refused, err := s.control(&engine.Command{Kind: engine.SetPair, Pair: ins.ID, Instrument: &ins})
	if err != nil {
		return err
	}
	if refused != engine.NotRejected {
		panic(fmt.Sprintf("BUG: server: the engine refuses a checked pair: %s", refused))
	}
	return s.sendPair(c, &ins)
}
