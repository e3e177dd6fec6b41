package account

import (
	"strings"

	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

const avatarPath = "/api/users/avatars"

// avatars serves the routes of the catalogue of avatars.
type avatars struct{ *Service }

func (av avatars) routes() []*edge.Route {
	return []*edge.Route{
		{Method: fasthttp.MethodGet, Path: avatarPath, Handle: av.list, Public: true},
		{Method: fasthttp.MethodGet, Path: avatarPath + "/my", Handle: av.myAvatar},
		{Method: fasthttp.MethodGet, Path: avatarPath + "/{avatarId}", Handle: av.avatar, Public: true},
	}
}

// list sends the catalogue of avatars.
func (av avatars) list(c *edge.Ctx) *refuse.Refusal {
	return c.SendBody(appendList(nil, av.view.Avatars(), appendAvatar), edge.NoSeq)
}

// avatar sends one avatar, or its picture if the path ends with .svg.
func (av avatars) avatar(c *edge.Ctx) *refuse.Refusal {
	id, picture := strings.CutSuffix(c.PathParam("avatarId"), ".svg")
	svg, ok := av.view.Catalogue().SVG(id)
	if !ok {
		return refuse.Missing("avatarId", "There is no avatar %s.", c.PathParam("avatarId"))
	}
	if picture {
		sendPicture(c, svg)
		return nil
	}
	for _, a := range av.view.Avatars() {
		if a.ID == id {
			return c.SendBody(appendAvatar(nil, &a), edge.NoSeq)
		}
	}
	panic("BUG: server: an avatar without a place in the catalogue")
}

// sendPicture sends an SVG with headers that keep browsers from treating it as anything else.
func sendPicture(c *edge.Ctx, svg []byte) {
	tag := string(edge.AppendTag(nil, edge.TagHash(svg)))
	c.PublicHeaders([]byte(tag), edge.NoSeq)
	h := &c.Response.Header
	h.SetCanonical(edge.HdrCSP, []byte("default-src 'none'; style-src 'unsafe-inline'"))
	if c.Principal != nil {
		h.SetCanonical(edge.HdrCacheControl, edge.ValNoStore)
		h.Del(fasthttp.HeaderETag)
	} else if edge.NotModified(c.RequestCtx, tag) {
		c.NotModified()
		return
	}
	h.SetContentType(accounts.AvatarMediaType)
	c.Response.SetBodyRaw(svg)
}

func (av avatars) myAvatar(c *edge.Ctx) *refuse.Refusal {
	a := av.view.Avatar(uint32(c.Principal.Account))
	b := encode.AppendString([]byte(`{"avatarId":`), a.ID)
	c.Private(append(encode.AppendString(append(b, `,"url":`...), a.URL), '}'))
	return nil
}

func appendAvatar(b []byte, a *accounts.AvatarView) []byte {
	b = encode.AppendString(append(b, `{"id":`...), a.ID)
	return append(encode.AppendString(append(b, `,"url":`...), a.URL), '}')
}
