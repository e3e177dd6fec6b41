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

// assetKind is the value of the member type.
type assetKind bool

func (k assetKind) String() string {
	if k {
		return "fiat"
	}
	return "cryptocurrency"
}

var assetKinds = body.WordsOf[assetKind](false, true)

// maxAssetName is the maximum length of a currency's display name.
const maxAssetName = 64

// assetForm is the body of PATCH /assets/{symbol}; null clears the members that may be null.
var assetForm = body.Of(
	body.Text("name", maxAssetName, func(a *engine.Asset, v string) { a.Name = v }).
		As(edge.Field{Range: []int64{0, maxAssetName}}),
	body.Choice("type", assetKinds, func(a *engine.Asset, v assetKind) { a.Fiat = bool(v) }),
	body.Read("unifiedCryptoassetId", edge.KindInt64, func(r *body.Reader, a *engine.Asset) bool {
		a.UnifiedCryptoassetID, a.HasUnifiedID = r.Integer(1, body.MaxOrderID)
		return a.HasUnifiedID
	}).As(edge.Field{Nullable: true, Range: []int64{1, body.MaxOrderID}}),
	body.Flag("canWithdraw", func(a *engine.Asset, v bool) { a.CanWithdraw = v }),
	body.Flag("canDeposit", func(a *engine.Asset, v bool) { a.CanDeposit = v }),
	body.Read("minWithdraw", edge.KindDecimal, func(r *body.Reader, a *engine.Asset) bool {
		return limit(r, &a.MinWithdraw, &a.HasMinWithdraw)
	}).As(edge.Field{Nullable: true}),
	body.Read("maxWithdraw", edge.KindDecimal, func(r *body.Reader, a *engine.Asset) bool {
		return limit(r, &a.MaxWithdraw, &a.HasMaxWithdraw)
	}).As(edge.Field{Nullable: true}),
	body.Read("makerFee", edge.KindDecimal, func(r *body.Reader, a *engine.Asset) bool {
		return fee(r, &a.MakerFee, &a.HasMakerFee)
	}).As(edge.Field{Nullable: true}),
	body.Read("takerFee", edge.KindDecimal, func(r *body.Reader, a *engine.Asset) bool {
		return fee(r, &a.TakerFee, &a.HasTakerFee)
	}).As(edge.Field{Nullable: true}),
)

// limit reads a decimal of at least 0 into v and sets has, which is false for null.
func limit(r *body.Reader, v *fixed.I128, has *bool) bool {
	text := r.Decimal()
	if *v, *has = (fixed.I128{}), text != nil; *has {
		if *v = fixed.MustText(text); v.Sign() < 0 {
			r.Bad("must not be negative.")
		}
	}
	return *has
}

// fee reads a rate into v and sets has, which is false for null.
func fee(r *body.Reader, v *fixed.I128, has *bool) bool {
	u, given := rate(r)
	*v, *has = fixed.I128{Lo: uint64(u) * fixed.Pow10[fixed.Scale-engine.RateScale]}, given
	return given
}

// ensureAsset adds a currency with default settings unless it is configured.
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

// pathAsset returns a copy of the currency that the path names.
func (s *Server) pathAsset(c *edge.Ctx) (engine.Asset, *refuse.Refusal) {
	symbol := c.PathParam("symbol")
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
	c.Private(appendAsset(nil, &a))
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
	if a.HasMinWithdraw && a.HasMaxWithdraw && a.MinWithdraw.Cmp(a.MaxWithdraw) > 0 {
		return refuse.Param("minWithdraw", "The member minWithdraw must not be above maxWithdraw.")
	}
	cmd := engine.Command{Kind: engine.SetAsset, Pair: engine.ControlPair, Asset: &a}
	if _, err := s.submitControl(&cmd); err != nil {
		return err
	}
	c.Audit("asset changed", "asset", a.Symbol)
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
