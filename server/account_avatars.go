package server

import (
	"strings"

	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/internal/refuse"
)

const avatarPath = "/api/users/avatars"

// avatars are the routes of the catalogue of pictures.
type avatars struct{ *AccountDesk }

func (d avatars) routes() []*Route {
	return []*Route{
		{Method: fasthttp.MethodGet, Path: avatarPath, Handle: d.list, Public: true},
		{Method: fasthttp.MethodGet, Path: avatarPath + "/my", Handle: d.myAvatar},
		{Method: fasthttp.MethodGet, Path: avatarPath + "/{avatarId}", Handle: d.avatar, Public: true},
	}
}

// list sends the catalogue of avatars.
func (d avatars) list(c *Ctx) *refuse.Refusal {
	return c.SendBody(appendList(nil, d.view.Avatars(), appendAvatar), noSeq)
}

// avatar sends one avatar, or its picture if the path ends with .svg.
func (d avatars) avatar(c *Ctx) *refuse.Refusal {
	id, picture := strings.CutSuffix(c.PathParam("avatarId"), ".svg")
	svg, ok := d.view.Catalogue().SVG(id)
	if !ok {
		return refuse.Missing("avatarId", "There is no avatar %s.", c.PathParam("avatarId"))
	}
	if picture {
		c.sendPicture(svg)
		return nil
	}
	for _, a := range d.view.Avatars() {
		if a.ID == id {
			return c.SendBody(appendAvatar(nil, &a), noSeq)
		}
	}
	panic("BUG: server: an avatar without a place in the catalogue")
}

// sendPicture sends an SVG with headers that keep browsers from treating it as anything else.
func (c *Ctx) sendPicture(svg []byte) {
	tag := string(appendTag(nil, tagHash(svg)))
	c.publicHeaders([]byte(tag), noSeq)
	h := &c.Response.Header
	h.SetCanonical(hdrNoSniff, valNoSniff)
	h.SetCanonical(hdrCSP, []byte("default-src 'none'; style-src 'unsafe-inline'"))
	if c.Caller != nil {
		h.SetCanonical(hdrCacheControl, valNoStore)
		h.Del(fasthttp.HeaderETag)
	} else if notModified(c.RequestCtx, tag) {
		c.notModified()
		return
	}
	h.SetContentType(accounts.AvatarMediaType)
	c.Response.SetBodyRaw(svg)
}

func (d avatars) myAvatar(c *Ctx) *refuse.Refusal {
	a := d.view.Avatar(uint32(c.Caller.Account))
	b := appendJSONString([]byte(`{"avatarId":`), a.ID)
	c.Private(append(appendJSONString(append(b, `,"url":`...), a.URL), '}'))
	return nil
}

func appendAvatar(b []byte, a *accounts.AvatarView) []byte {
	b = appendJSONString(append(b, `{"id":`...), a.ID)
	return append(appendJSONString(append(b, `,"url":`...), a.URL), '}')
}
