package account

import (
	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// Resource returns every public route of accounts: keys, avatars, referral and trading.
func (d *Service) Resource(*edge.Server) []*edge.Route {
	var all []*edge.Route
	for _, routes := range [][]*edge.Route{
		d.keyRoutes(), avatars{d}.routes(), d.commissionRoutes(), referral{d}.routes(), accruals{d}.routes(),
		d.tradingRoutes(),
	} {
		all = append(all, routes...)
	}
	for _, r := range all {
		r.Class = edge.ClassAccount
		if !r.Public {
			r.Auth = edge.AuthRequired
		}
		r.Trade = r.Method != fasthttp.MethodGet
		if r.Method == fasthttp.MethodPost {
			r.Body = edge.BodyJSON
		}
	}
	return all
}

func (d *Service) keyRoutes() []*edge.Route {
	return []*edge.Route{
		{Method: fasthttp.MethodGet, Path: "/api/apikeys", Handle: d.listKeys},
		{Method: fasthttp.MethodPost, Path: "/api/apikeys", Handle: d.createOwnKey, Schema: "ApiKeyPairCreationRequestViewModel", Members: keyBody(false)},
		{Method: fasthttp.MethodDelete, Path: "/api/apikeys/{publicKey}", Handle: d.deleteKey},
	}
}

// keyMembers is the order in which broken members are reported.
var keyMembers = []string{"name", "canTrade", "canWithdraw", "ipWhitelist", "expiresAt"}

// maxAddressText is the maximum length of an address, longer than any CIDR.
const maxAddressText = 64

// decodeKey reads an ApiKeyPairCreationRequestViewModel; canTrade is the member's default.
func decodeKey(r *body.Reader, k *accounts.KeyRequest, canTrade bool) *body.Error {
	*k = accounts.KeyRequest{CanTrade: canTrade}
	if r.Object() {
		for key, ok := r.Member(); ok; key, ok = r.Member() {
			readKeyMember(r, k, string(key))
		}
		if r.Err == nil {
			r.Require("name", k.Name != "")
		}
	}
	return r.InOrder(keyMembers...)
}

func readKeyMember(r *body.Reader, k *accounts.KeyRequest, key string) {
	switch key {
	case "name":
		k.Name = string(r.Text(accounts.MaxKeyName))
	case "canTrade":
		if v, given := r.Boolean(); given {
			k.CanTrade = v
		}
	case "canWithdraw":
		k.CanWithdraw, _ = r.Boolean()
	case "ipWhitelist":
		k.IPWhitelist = addresses(r)
	case "expiresAt":
		if s := r.Text(maxAddressText); s != nil {
			ns, ok := dateTimeNs(s)
			if !ok || ns == 0 {
				r.Bad("must be a date-time such as 2026-01-01T00:00:00Z.")
			}
			k.ExpiresNs = ns
		}
	default:
		r.Unknown()
	}
}

func addresses(r *body.Reader) (list []string) {
	if r.Null() || !r.Array() {
		return nil
	}
	for r.Element() {
		if len(list) == accounts.MaxWhitelist {
			r.Err = &body.Error{Field: "ipWhitelist", Message: "The member ipWhitelist may have at most 20 elements."}
			return nil
		}
		list = append(list, string(r.Text(maxAddressText)))
	}
	return list
}

func (d *Service) listKeys(c *edge.Ctx) *refuse.Refusal {
	keys := d.view.Keys(uint32(c.Caller.Account), d.opt.Clock.NowNs())
	c.Private(appendList(nil, keys, func(b []byte, k *accounts.APIKeyView) []byte {
		return append(appendKeyMembers(append(b, '{'), k), '}')
	}))
	return nil
}

func (d *Service) createOwnKey(c *edge.Ctx) *refuse.Refusal {
	return d.createKey(c, uint32(c.Caller.Account), false)
}

// createKey creates a key and sends it with its private key, which no other answer shows.
func (d *Service) createKey(c *edge.Ctx, user uint32, canTrade bool) *refuse.Refusal {
	var r body.Reader
	cmd := accounts.Command{Kind: accounts.CreateKey, User: user}
	r.Reset(c.PostBody())
	if err := decodeKey(&r, &cmd.Key, canTrade); err != nil {
		return body.Refusal(err)
	}
	res, err := d.do(cmd)
	if err != nil {
		return err
	}
	b := appendKeyMembers([]byte{'{'}, &res.Key)
	b = encode.AppendString(append(b, `,"privateKey":`...), res.Secret.Reveal())
	c.Private(append(b, '}'))
	return nil
}

func (d *Service) deleteKey(c *edge.Ctx) *refuse.Refusal {
	_, err := d.do(accounts.Command{Kind: accounts.DeleteKey, User: uint32(c.Caller.Account), PublicKey: c.PathParam("publicKey")})
	if err == nil {
		c.Private([]byte("{}"))
	}
	return err
}

func appendKeyMembers(b []byte, k *accounts.APIKeyView) []byte {
	b = encode.AppendString(append(b, `"publicKey":`...), k.PublicKey)
	b = encode.AppendString(append(b, `,"name":`...), k.Name)
	b = appendBool(b, `,"canTrade":`, k.CanTrade)
	b = appendBool(b, `,"canWithdraw":`, k.CanWithdraw)
	b = appendList(append(b, `,"ipWhitelist":`...), k.IPWhitelist, func(b []byte, s *string) []byte { return encode.AppendString(b, *s) })
	b = appendStamp(append(b, `,"dateCreated":`...), k.CreatedNs)
	b = appendStampOrNull(append(b, `,"expiresAt":`...), k.ExpiresNs)
	b = appendStampOrNull(append(b, `,"lastUsedAt":`...), k.LastUsedNs)
	return appendBool(b, `,"isActive":`, k.IsActive)
}
