package account

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

const affiliatePath = "/api/affiliate"

// referral serves the routes of inviters, ambassadors and links.
type referral struct{ *Service }

func (r referral) routes() []*edge.Route {
	const get, post = fasthttp.MethodGet, fasthttp.MethodPost
	return []*edge.Route{
		{
			Method: get, Path: affiliatePath + "/inviters/search", Handle: r.searchInviters,
			Params: []edge.Field{{Name: "query", Required: true, Range: []int64{1, accounts.MaxSearchQuery}}},
		},
		{Method: get, Path: affiliatePath + "/inviters/my", Handle: r.myInviter},
		{
			Method: post, Path: affiliatePath + "/inviters/my", Handle: r.setInviter, Schema: "SetInviterRequest",
			Members: inviterForm.Members(),
		},
		// one parameter for {inviteCode} and {id} of docs/contract/api.md, because the router cannot distinguish
		// them
		{Method: get, Path: affiliatePath + "/inviters/{inviter}", Handle: r.findInviter},
		{Method: get, Path: affiliatePath + "/invite-code", Handle: r.inviteCode},
		{
			Method: get, Path: affiliatePath + "/ambassadors/info", Handle: r.ambassador,
			Params: []edge.Field{edge.ParamDecimals},
		},
		{
			Method: post, Path: affiliatePath + "/ambassadors/links", Handle: r.createLink,
			Schema: "CreateAmbassadorReferralLinkRequest", Members: linkForm.Members(),
		},
		{
			Method: get, Path: affiliatePath + "/{id}/user-info", Handle: r.userInfo,
			Params: []edge.Field{edge.ParamDecimals},
		},
	}
}

// searchesPerMinute limits the searches of a user: each shows up to 20 other users.
const searchesPerMinute = 30

func (r referral) searchInviters(c *edge.Ctx) *refuse.Refusal {
	if err := r.search.Check(c); err != nil {
		return err
	}
	query, err := c.Required("query")
	if err != nil {
		return err
	}
	found, reject := r.view.SearchInviters(query)
	if reject != nil {
		return reject
	}
	c.Private(appendList(nil, found, func(b []byte, v *accounts.InviterView) []byte {
		return appendInviter(b, v, v.UserID == c.Principal.UserID)
	}))
	return nil
}

func (r referral) myInviter(c *edge.Ctx) *refuse.Refusal {
	if v := r.view.Inviter(uint32(c.Principal.Account)); v != nil {
		c.Private(appendInviter(nil, v, true))
	} else {
		c.Private([]byte("null"))
	}
	return nil
}

var (
	inviterForm = body.Of(
		body.Text("inviteCode", accounts.MaxSearchQuery, func(c *accounts.Command, v string) { c.Code = v }).Need(),
	)
	linkForm = body.Of(
		body.Value("discountPercent", edge.KindDecimal, money,
			func(c *accounts.Command, v Money) { c.DiscountPercent = v }).Need(),
	)
)

func (r referral) setInviter(c *edge.Ctx) *refuse.Refusal {
	cmd := accounts.Command{Kind: accounts.SetInviter, User: uint32(c.Principal.Account)}
	if err := inviterForm.Decode(c.PostBody(), &cmd); err != nil {
		return err
	}
	res, err := r.do(cmd)
	if err == nil {
		c.Private(appendInviter(nil, &res.Inviter, true))
	}
	return err
}

func (r referral) findInviter(c *edge.Ctx) *refuse.Refusal {
	text := c.PathParam("inviter")
	v, ok := r.view.FindInviter(text)
	_, isID := body.ParseUUID(text)
	if !ok {
		if isID {
			return refuse.Missing("id", "No user has this id.")
		}
		return refuse.Missing("inviteCode", "No user has this invite code.")
	}
	c.Private(appendInviter(nil, &v, !isID || v.UserID == c.Principal.UserID))
	return nil
}

func (r referral) inviteCode(c *edge.Ctx) *refuse.Refusal {
	b := encode.AppendString([]byte(`{"inviteCode":`), r.view.InviteCode(uint32(c.Principal.Account)))
	c.Private(append(b, '}'))
	return nil
}

func (r referral) ambassador(c *edge.Ctx) *refuse.Refusal {
	v := r.view.Ambassador(uint32(c.Principal.Account))
	b := strconv.AppendBool([]byte(`{"isAmbassador":`), v.IsAmbassador)
	b = appendMoney(append(b, `,"secondLevelPercent":`...), v.SecondLevelPercent)
	b = appendList(append(b, `,"links":`...), v.Links, appendLink)
	c.Private(append(b, '}'))
	return nil
}

func (r referral) createLink(c *edge.Ctx) *refuse.Refusal {
	cmd := accounts.Command{Kind: accounts.CreateLink, User: uint32(c.Principal.Account)}
	if err := linkForm.Decode(c.PostBody(), &cmd); err != nil {
		return err
	}
	res, err := r.do(cmd)
	if err == nil {
		c.Private(appendLink(nil, &res.Link))
	}
	return err
}

func (r referral) userInfo(c *edge.Ctx) *refuse.Refusal {
	id, ok := body.ParseUUID(c.PathParam("id"))
	if !ok || string(encode.AppendUUID(nil, id)) != c.Principal.UserID {
		return refuse.New(refuse.Forbidden, "", "The user info may be read only by the user that it describes.")
	}
	v := r.view.UserInfo(uint32(c.Principal.Account))
	b := encode.AppendString([]byte(`{"inviteCode":`), v.InviteCode)
	b = appendJSONPtr(append(b, `,"parentUserId":`...), v.ParentUserID)
	b = appendList(append(b, `,"referralsLevelInfos":`...), v.ReferralsLevelInfos,
		func(b []byte, l *accounts.ReferralLevelInfo) []byte {
			b = strconv.AppendInt(append(b, `{"level":`...), int64(l.Level), 10)
			b = appendMoney(append(b, `,"profitAmount":`...), l.ProfitAmount)
			return append(strconv.AppendInt(append(b, `,"referralsTotalCount":`...), l.ReferralsTotalCount, 10), '}')
		})
	b = appendBool(b, `,"isAmbassador":`, v.IsAmbassador)
	b = appendMoney(append(b, `,"ambassadorSecondLevelPercent":`...), v.AmbassadorSecondLevelPercent)
	b = appendMoney(append(b, `,"commissionDiscountPercent":`...), v.CommissionDiscountPercent)
	b = appendMoney(append(b, `,"totalProfitAmount":`...), v.TotalProfitAmount)
	c.Private(append(b, '}'))
	return nil
}

// appendInviter appends an inviter view. withCode: the caller knows the invite code already.
func appendInviter(b []byte, v *accounts.InviterView, withCode bool) []byte {
	b = encode.AppendString(append(b, `{"userId":`...), v.UserID)
	b = encode.AppendString(append(b, `,"publicId":`...), v.PublicID)
	b = encode.AppendString(append(b, `,"nickname":`...), v.Nickname)
	b = encode.AppendString(append(b, `,"avatarId":`...), v.AvatarID)
	code := &v.InviteCode
	if !withCode {
		code = nil
	}
	b = appendJSONPtr(append(b, `,"inviteCode":`...), code)
	return append(appendBool(b, `,"isAmbassador":`, v.IsAmbassador), '}')
}

func appendLink(b []byte, l *accounts.AmbassadorLink) []byte {
	b = encode.AppendString(append(b, `{"id":`...), l.ID)
	b = encode.AppendString(append(b, `,"ownerUserId":`...), l.OwnerUserID)
	b = encode.AppendString(append(b, `,"code":`...), l.Code)
	b = appendMoney(append(b, `,"discountPercent":`...), l.DiscountPercent)
	b = appendStamp(append(b, `,"dateCreated":`...), l.CreatedNs)
	return append(appendBool(b, `,"isActive":`, l.IsActive), '}')
}
