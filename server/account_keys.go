package server

import (
	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/internal/refuse"
)

// Resource returns every public route of accounts: keys, avatars, referral and trading.
func (d *AccountDesk) Resource(*Server) []*Route {
	var all []*Route
	for _, routes := range [][]*Route{d.keyRoutes(), avatars{d}.routes(), d.commissionRoutes(), referral{d}.routes(), accruals{d}.routes(),
		d.tradingRoutes()} {
		all = append(all, routes...)
	}
	for _, r := range all {
		r.Class = ClassAccount
		if !r.Public {
			r.Auth = AuthRequired
		}
		r.Trade = r.Method != fasthttp.MethodGet
		if r.Method == fasthttp.MethodPost {
			r.Body = BodyJSON
		}
	}
	return all
}

func (d *AccountDesk) keyRoutes() []*Route {
	return []*Route{
		{Method: fasthttp.MethodGet, Path: "/api/apikeys", Handle: d.listKeys},
		{Method: fasthttp.MethodPost, Path: "/api/apikeys", Handle: d.createOwnKey},
		{Method: fasthttp.MethodDelete, Path: "/api/apikeys/{publicKey}", Handle: d.deleteKey},
	}
}

// keyMembers is the order in which broken members are reported.
var keyMembers = []string{"name", "canTrade", "canWithdraw", "ipWhitelist", "expiresAt"}

// maxAddressText is the maximum length of an address, longer than any CIDR.
const maxAddressText = 64

// decodeKey reads an ApiKeyPairCreationRequestViewModel; canTrade is the member's default.
func (r *bodyReader) decodeKey(k *accounts.KeyRequest, canTrade bool) *bodyError {
	*k = accounts.KeyRequest{CanTrade: canTrade}
	if r.object() {
		for key, ok := r.member(); ok; key, ok = r.member() {
			r.readKeyMember(k, string(key))
		}
		if r.err == nil {
			r.require("name", k.Name != "")
		}
	}
	return r.inOrder(keyMembers...)
}

func (r *bodyReader) readKeyMember(k *accounts.KeyRequest, key string) {
	switch key {
	case "name":
		k.Name = string(r.string(accounts.MaxKeyName))
	case "canTrade":
		if v, given := r.boolean(); given {
			k.CanTrade = v
		}
	case "canWithdraw":
		k.CanWithdraw, _ = r.boolean()
	case "ipWhitelist":
		k.IPWhitelist = r.addresses()
	case "expiresAt":
		if s := r.string(maxAddressText); s != nil {
			ns, ok := dateTimeNs(s)
			if !ok || ns == 0 {
				r.bad("must be a date-time such as 2026-01-01T00:00:00Z.")
			}
			k.ExpiresNs = ns
		}
	default:
		r.unknown()
	}
}

func (r *bodyReader) addresses() (list []string) {
	if r.null() || !r.array() {
		return nil
	}
	for r.element() {
		if len(list) == accounts.MaxWhitelist {
			r.err = &bodyError{"ipWhitelist", "The member ipWhitelist may have at most 20 elements."}
			return nil
		}
		list = append(list, string(r.string(maxAddressText)))
	}
	return list
}

func (d *AccountDesk) listKeys(c *Ctx) *refuse.Refusal {
	keys := d.view.Keys(uint32(c.Caller.Account), d.opt.Clock.NowNs())
	c.Private(appendList(nil, keys, func(b []byte, k *accounts.APIKeyView) []byte {
		return append(appendKeyMembers(append(b, '{'), k), '}')
	}))
	return nil
}

func (d *AccountDesk) createOwnKey(c *Ctx) *refuse.Refusal {
	return d.createKey(c, uint32(c.Caller.Account), false)
}

// createKey creates a key and sends it with its private key, which no other answer shows.
func (d *AccountDesk) createKey(c *Ctx, user uint32, canTrade bool) *refuse.Refusal {
	var r bodyReader
	cmd := accounts.Command{Kind: accounts.CreateKey, User: user}
	r.reset(c.PostBody())
	if err := r.decodeKey(&cmd.Key, canTrade); err != nil {
		return badBody(err)
	}
	res, err := d.do(cmd)
	if err != nil {
		return err
	}
	b := appendKeyMembers([]byte{'{'}, &res.Key)
	b = appendJSONString(append(b, `,"privateKey":`...), res.Secret.Reveal())
	c.Private(append(b, '}'))
	return nil
}

func (d *AccountDesk) deleteKey(c *Ctx) *refuse.Refusal {
	_, err := d.do(accounts.Command{Kind: accounts.DeleteKey, User: uint32(c.Caller.Account), PublicKey: c.PathParam("publicKey")})
	if err == nil {
		c.Private([]byte("{}"))
	}
	return err
}

func appendKeyMembers(b []byte, k *accounts.APIKeyView) []byte {
	b = appendJSONString(append(b, `"publicKey":`...), k.PublicKey)
	b = appendJSONString(append(b, `,"name":`...), k.Name)
	b = appendBool(b, `,"canTrade":`, k.CanTrade)
	b = appendBool(b, `,"canWithdraw":`, k.CanWithdraw)
	b = appendList(append(b, `,"ipWhitelist":`...), k.IPWhitelist, func(b []byte, s *string) []byte { return appendJSONString(b, *s) })
	b = appendStamp(append(b, `,"dateCreated":`...), k.CreatedNs)
	b = appendStampOrNull(append(b, `,"expiresAt":`...), k.ExpiresNs)
	b = appendStampOrNull(append(b, `,"lastUsedAt":`...), k.LastUsedNs)
	return appendBool(b, `,"isActive":`, k.IsActive)
}
