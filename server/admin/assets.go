package admin

import (
	"strconv"

	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// assetRequest is the body of PATCH /assets/{symbol}; a nil pointer means a missing member.
type assetRequest struct {
	name     []byte
	kind     assetKind
	hasKind  bool
	id       int64
	idGiven  bool // with hasID false: null
	hasID    bool
	withdraw *bool
	deposit  *bool
	minimum  optional
	maximum  optional
	maker    optional
	taker    optional
}

// optional is a decimal member that may be null.
type optional struct {
	given bool
	text  []byte // nil: null
}

// set stores the member's value, if it was given, in v and has.
func (o *optional) set(v *fixed.I128, has *bool) {
	if !o.given {
		return
	}
	*v, *has = fixed.I128{}, o.text != nil
	if *has {
		*v = fixed.MustText(o.text)
	}
}

// assetKind is the value of the member type.
type assetKind bool

func (k assetKind) String() string {
	if k {
		return "fiat"
	}
	return "cryptocurrency"
}

var assetKinds = body.WordsOf[assetKind](false, true)

var assetMembers = []string{
	"name", "type", "unifiedCryptoassetId", "canWithdraw", "canDeposit", "minWithdraw",
	"maxWithdraw", "makerFee", "takerFee",
}

// maxAssetName is the maximum length of a currency's display name.
const maxAssetName = 64

func decodeAsset(r *body.Reader, a *assetRequest) *body.Error {
	if r.Object() {
		for key, ok := r.Member(); ok; key, ok = r.Member() {
			readAssetMember(r, a, key)
		}
	}
	return r.InOrder(assetMembers...)
}

func readAssetMember(r *body.Reader, a *assetRequest, key []byte) {
	switch string(key) {
	case "name":
		a.name = r.Text(maxAssetName)
	case "type":
		a.kind, a.hasKind = body.ReadWord(r, assetKinds)
	case "unifiedCryptoassetId":
		a.idGiven = true
		a.id, a.hasID = r.Integer(1, body.MaxOrderID)
	case "canWithdraw":
		a.withdraw = r.Flag()
	case "canDeposit":
		a.deposit = r.Flag()
	case "minWithdraw":
		a.minimum = limit(r)
	case "maxWithdraw":
		a.maximum = limit(r)
	case "makerFee":
		a.maker = fee(r)
	case "takerFee":
		a.taker = fee(r)
	default:
		r.Unknown()
	}
}

func limit(r *body.Reader) optional {
	o := optional{true, r.Decimal()}
	if o.text != nil && body.DecimalSign(o.text) < 0 {
		r.Bad("must not be negative.")
	}
	return o
}

func fee(r *body.Reader) optional {
	o := optional{true, r.Decimal()}
	if o.text != nil {
		if v, negative, res := fixed.TextUnits(o.text, engine.RateScale); negative || res != fixed.UnitsExact || v > engine.RateOne {
			r.Bad("must be a rate from 0 to 1 with at most 8 fractional digits.")
		}
	}
	return o
}

// apply sets the given members in x.
func (a *assetRequest) apply(x *engine.Asset) *refuse.Refusal {
	if a.name != nil {
		x.Name = string(a.name)
	}
	if a.hasKind {
		x.Fiat = bool(a.kind)
	}
	if a.idGiven {
		x.UnifiedCryptoassetID, x.HasUnifiedID = a.id, a.hasID
	}
	if a.withdraw != nil {
		x.CanWithdraw = *a.withdraw
	}
	if a.deposit != nil {
		x.CanDeposit = *a.deposit
	}
	a.minimum.set(&x.MinWithdraw, &x.HasMinWithdraw)
	a.maximum.set(&x.MaxWithdraw, &x.HasMaxWithdraw)
	a.maker.set(&x.MakerFee, &x.HasMakerFee)
	a.taker.set(&x.TakerFee, &x.HasTakerFee)
	if x.HasMinWithdraw && x.HasMaxWithdraw && x.MinWithdraw.Cmp(x.MaxWithdraw) > 0 {
		return refuse.Param("minWithdraw", "The member minWithdraw must not be above maxWithdraw.")
	}
	return nil
}

// ensureAsset adds a currency with defaults when it is not configured.
func (s *Server) ensureAsset(symbol string) *refuse.Refusal {
	if s.opt.Board.Load().Asset(symbol) != nil {
		return nil
	}
	rate := fixed.I128{Lo: defaultRate * fixed.Pow10[fixed.Scale-engine.RateScale]}
	_, err := s.submitControl(&engine.Command{Kind: engine.SetAsset, Pair: engine.ControlPair, Asset: &engine.Asset{
		Symbol: symbol, Name: symbol, CanWithdraw: true, CanDeposit: true,
		MakerFee: rate, HasMakerFee: true, TakerFee: rate, HasTakerFee: true,
	}})
	return err
}

// pathAsset returns the currency that the path names.
func (s *Server) pathAsset(c *edge.Ctx) (*engine.Asset, *refuse.Refusal) {
	symbol := c.PathParam("symbol")
	if a := s.opt.Board.Load().Asset(symbol); a != nil {
		return a, nil
	}
	return nil, refuse.Missing("symbol", "There is no asset %.32q.", symbol)
}

// getAsset serves GET /assets/{symbol}.
func (s *Server) getAsset(c *edge.Ctx) *refuse.Refusal {
	a, err := s.pathAsset(c)
	if err != nil {
		return err
	}
	c.Private(appendAsset(nil, a))
	return nil
}

// setAsset serves PATCH /assets/{symbol}.
func (s *Server) setAsset(c *edge.Ctx) *refuse.Refusal {
	var r body.Reader
	var req assetRequest
	r.Reset(c.PostBody())
	if err := decodeAsset(&r, &req); err != nil {
		return body.Refusal(err)
	}
	s.configMu.Lock()
	defer s.configMu.Unlock()
	old, err := s.pathAsset(c)
	if err != nil {
		return err
	}
	a := *old
	if err := req.apply(&a); err != nil {
		return err
	}
	cmd := engine.Command{Kind: engine.SetAsset, Pair: engine.ControlPair, Asset: &a}
	if _, err := s.submitControl(&cmd); err != nil {
		return err
	}
	c.Private(appendAsset(nil, &a))
	return nil
}

func appendAsset(b []byte, a *engine.Asset) []byte {
	b = append(append(b, `{"symbol":"`...), a.Symbol...)
	b = encode.AppendString(append(b, `","name":`...), a.Name)
	b = append(append(append(b, `,"type":"`...), assetKind(a.Fiat).String()...), '"')
	b = append(b, `,"unifiedCryptoassetId":`...)
	if a.HasUnifiedID {
		b = strconv.AppendInt(b, a.UnifiedCryptoassetID, 10)
	} else {
		b = append(b, "null"...)
	}
	b = strconv.AppendBool(append(b, `,"canWithdraw":`...), a.CanWithdraw)
	b = strconv.AppendBool(append(b, `,"canDeposit":`...), a.CanDeposit)
	b = appendOptional(append(b, `,"minWithdraw":`...), a.MinWithdraw, a.HasMinWithdraw)
	b = appendOptional(append(b, `,"maxWithdraw":`...), a.MaxWithdraw, a.HasMaxWithdraw)
	b = appendOptional(append(b, `,"makerFee":`...), a.MakerFee, a.HasMakerFee)
	b = appendOptional(append(b, `,"takerFee":`...), a.TakerFee, a.HasTakerFee)
	return append(b, '}')
}

func appendOptional(b []byte, v fixed.I128, has bool) []byte {
	if !has {
		return append(b, "null"...)
	}
	return fixed.AppendShortest(b, v, fixed.Scale)
}
