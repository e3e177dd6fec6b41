package account

import (
	"encoding/base64"

	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/accounts/auth"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// Routes returns every public route of accounts: keys, avatars, referral and trading.
func (s *Service) Routes(*edge.Server) []*edge.Route {
	var all []*edge.Route
	for _, routes := range [][]*edge.Route{
		s.keyRoutes(), avatars{s}.routes(), s.commissionRoutes(), referral{s}.routes(), accruals{s}.routes(),
		s.tradingRoutes(),
	} {
		all = append(all, routes...)
	}
	for _, r := range all {
		r.Class = edge.ClassAccount
		if !r.Public {
			r.Auth = edge.AuthRequired
		}
		r.Trade = r.Method != fasthttp.MethodGet
		if r.Method == fasthttp.MethodPost || r.Method == fasthttp.MethodPatch {
			r.Body = edge.BodyJSON
		}
	}
	return all
}

func (s *Service) keyRoutes() []*edge.Route {
	return []*edge.Route{
		{Method: fasthttp.MethodGet, Path: "/api/apikeys", Handle: s.listKeys},
		{
			Method: fasthttp.MethodPost, Path: "/api/apikeys", Handle: s.createOwnKey,
			Schema: "ApiKeyPairCreationRequestViewModel", Members: ownKeyForm.Members(),
		},
		{Method: fasthttp.MethodDelete, Path: "/api/apikeys/{publicKey}", Handle: s.deleteKey},
	}
}

// maxAddressText is the maximum length of an address, longer than any CIDR.
const maxAddressText = 64

// The bodies of the two routes that create keys (ApiKeyPairCreationRequestViewModel), which differ in their
// defaults.
var (
	ownKeyForm      = keyForm(auth.KeyRequest{})
	operatorDefault = auth.KeyRequest{CanTrade: true, CanManageKeys: true}
	operatorKeyForm = keyForm(operatorDefault)
)

func keyForm(byDefault auth.KeyRequest) *body.Form[auth.KeyRequest] {
	return body.Of(
		body.Text("name", accounts.MaxKeyName, func(k *auth.KeyRequest, v string) { k.Name = v }).Need().
			As(edge.Field{Range: []int64{1, accounts.MaxKeyName}}),
		body.Flag("canTrade", func(k *auth.KeyRequest,
			v bool,
		) {
			k.CanTrade = v
		}).As(edge.Field{Default: byDefault.CanTrade}),
		body.Flag("canWithdraw", func(k *auth.KeyRequest,
			v bool,
		) {
			k.CanWithdraw = v
		}).As(edge.Field{Default: false}),
		body.Flag("canManageKeys", func(k *auth.KeyRequest, v bool) { k.CanManageKeys = v }).
			As(edge.Field{Default: byDefault.CanManageKeys}),
		body.Value("ed25519PublicKey", edge.KindText, ed25519Key, func(k *auth.KeyRequest, v []byte) { k.Ed25519 = v }).
			As(edge.Field{Nullable: true}),
		body.Value("ipWhitelist", edge.KindArray, addresses,
			func(k *auth.KeyRequest, v []string) { k.IPWhitelist = v }).
			As(edge.Field{Range: []int64{0, auth.MaxWhitelist}, Element: &edge.Field{}}),
		body.Value("expiresAt", edge.KindText, dateTime, func(k *auth.KeyRequest, ns int64) { k.ExpiresNs = ns }).
			As(edge.Field{Nullable: true}),
	)
}

func dateTime(r *body.Reader) (ns int64, given bool) {
	s := r.Text(maxAddressText)
	if s == nil {
		return 0, false
	}
	ns, ok := dateTimeNs(s)
	if !ok || ns == 0 {
		r.Bad("must be a date-time such as 2026-01-01T00:00:00Z.")
	}
	return ns, true
}

func ed25519Key(r *body.Reader) (key []byte, given bool) {
	if r.Null() {
		return nil, false
	}
	// The empty text is not taken for a missing member: the client expects no private key.
	key, ok := auth.ParseEd25519(string(r.Text(maxAddressText)))
	if !ok {
		r.Bad("must be the base64 of the 32 bytes of an Ed25519 public key.")
	}
	return key, true
}

func addresses(r *body.Reader) (list []string, given bool) {
	if r.Null() || !r.Array() {
		return nil, false
	}
	for r.Element() {
		if len(list) == auth.MaxWhitelist {
			r.Err = &body.Error{Field: "ipWhitelist", Message: "The member ipWhitelist may have at most 20 elements."}
			return nil, false
		}
		list = append(list, string(r.Text(maxAddressText)))
	}
	return list, true
}

func (s *Service) listKeys(c *edge.Ctx) *refuse.Refusal {
	keys := s.view.Keys(uint32(c.Principal.Account), s.opt.Clock.NowNs())
	c.Private(appendList(nil, keys, func(b []byte, k *accounts.APIKeyView) []byte {
		return append(appendKeyMembers(append(b, '{'), k), '}')
	}))
	return nil
}

func (s *Service) createOwnKey(c *edge.Ctx) *refuse.Refusal {
	return s.createKey(c, ownKeyForm, accounts.Command{
		Kind: accounts.CreateKey, User: uint32(c.Principal.Account), SignedBy: c.Principal.PublicKey,
	})
}

// createKey creates a key and sends it. No other answer shows the private key. There is none when the
// client has the private key of an Ed25519 key.
func (s *Service) createKey(c *edge.Ctx, form *body.Form[auth.KeyRequest], cmd accounts.Command) *refuse.Refusal {
	if err := form.Decode(c.PostBody(), &cmd.Key); err != nil {
		return err
	}
	res, err := s.do(cmd)
	if err != nil {
		return err
	}
	c.Audit("key created", "key", res.Key.PublicKey, "user", accounts.UserID(cmd.User).String(), "canTrade",
		res.Key.CanTrade, "canWithdraw", res.Key.CanWithdraw, "canManageKeys", res.Key.CanManageKeys)
	b := appendKeyMembers([]byte{'{'}, &res.Key)
	if !res.Secret.Empty() {
		b = encode.AppendString(append(b, `,"privateKey":`...), res.Secret.Reveal())
	}
	c.Private(append(b, '}'))
	return nil
}

func (s *Service) deleteKey(c *edge.Ctx) *refuse.Refusal {
	_, err := s.do(accounts.Command{
		Kind: accounts.DeleteKey, User: uint32(c.Principal.Account), PublicKey: c.PathParam("publicKey"),
		SignedBy: c.Principal.PublicKey,
	})
	if err == nil {
		c.Audit("key deleted", "key", c.PathParam("publicKey"))
		c.Private([]byte("{}"))
	}
	return err
}

func appendKeyMembers(b []byte, k *accounts.APIKeyView) []byte {
	b = encode.AppendString(append(b, `"publicKey":`...), k.PublicKey)
	b = encode.AppendString(append(b, `,"name":`...), k.Name)
	b = appendBool(b, `,"canTrade":`, k.CanTrade)
	b = appendBool(b, `,"canWithdraw":`, k.CanWithdraw)
	b = appendBool(b, `,"canManageKeys":`, k.CanManageKeys)
	b = append(b, `,"createdBy":`...)
	if k.CreatedBy == "" {
		b = append(b, "null"...)
	} else {
		b = encode.AppendString(b, k.CreatedBy)
	}
	b = append(b, `,"ed25519PublicKey":`...)
	if k.Ed25519 == nil {
		b = append(b, "null"...)
	} else {
		b = encode.AppendString(b, base64.StdEncoding.EncodeToString(k.Ed25519))
	}
	b = appendList(append(b, `,"ipWhitelist":`...), k.IPWhitelist, func(b []byte, s *string) []byte {
		return encode.AppendString(b, *s)
	})
	b = appendStamp(append(b, `,"dateCreated":`...), k.CreatedNs)
	b = appendStampOrNull(append(b, `,"expiresAt":`...), k.ExpiresNs)
	b = appendStampOrNull(append(b, `,"lastUsedAt":`...), k.LastUsedNs)
	return appendBool(b, `,"isActive":`, k.IsActive)
}
