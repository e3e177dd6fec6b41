package account

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/accounts/accrual"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/server/edge"
	"tickhive/server/encode"
	"tickhive/server/json"
)

const affiliatePath = "/api/affiliate"

// referral serves the routes of inviters, ambassadors and links.
type referral struct{ *Service }

func (r referral) routes() []*edge.Route {
	const get, post = fasthttp.MethodGet, fasthttp.MethodPost
	return []*edge.Route{
		{
			Method: get, Path: affiliatePath + "/inviters/search", Handle: r.searchInviters,
			Params: []json.Field{{Name: "query", Required: true, Range: []int64{1, accounts.MaxSearchQuery}}},
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
			Params: []json.Field{edge.ParamDecimals},
		},
		{
			Method: post, Path: affiliatePath + "/ambassadors/links", Handle: r.createLink,
			Schema: "CreateAmbassadorReferralLinkRequest", Members: linkForm.Members(),
		},
		{
			Method: get, Path: affiliatePath + "/{id}/user-info", Handle: r.userInfo,
			Params: []json.Field{edge.ParamDecimals},
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
	found, reject := r.shown.SearchInviters(query)
	if reject != nil {
		return reject
	}
	c.Private(appendList(nil, found, func(b []byte, v *accounts.InviterView) []byte {
		return appendInviter(b, v, v.UserID == c.Principal.UserID)
	}))
	return nil
}

func (r referral) myInviter(c *edge.Ctx) *refuse.Refusal {
	if v := r.shown.Inviter(uint32(c.Principal.Account)); v != nil {
		c.Private(appendInviter(nil, v, true))
	} else {
		c.Private([]byte("null"))
	}
	return nil
}

var (
	inviterForm = json.Of(
		json.Text("inviteCode", accounts.MaxSearchQuery, func(c *accounts.Command, v string) { c.Code = v }).Need(),
	)
	linkForm = json.Of(
		json.Value("discountPercent", json.KindDecimal, money,
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
	v, ok := r.shown.FindInviter(text)
	_, isID := json.ParseUUID(text)
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
	b := encode.AppendString([]byte(`{"inviteCode":`), accounts.InviteCode(uint32(c.Principal.Account)))
	c.Private(append(b, '}'))
	return nil
}

func (r referral) ambassador(c *edge.Ctx) *refuse.Refusal {
	v := r.shown.Ambassador(uint32(c.Principal.Account))
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
	id, ok := json.ParseUUID(c.PathParam("id"))
	if !ok || string(encode.AppendUUID(nil, id)) != c.Principal.UserID {
		return refuse.New(refuse.Forbidden, "", "The user info may be read only by the user that it describes.")
	}
	v := r.shown.UserInfo(uint32(c.Principal.Account))
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

// accruals serves the routes of the referral programme's payments.
type accruals struct{ *Service }

func (ac accruals) routes() []*edge.Route {
	const get = fasthttp.MethodGet
	currency := json.Field{Name: "currencyCode"}
	profit := json.Field{Name: "profitType", Kind: json.KindWord, Words: profitWords()}
	list := json.Field{
		Name: "profitTypes", Kind: json.KindArray, Element: &json.Field{Kind: profit.Kind, Words: profit.Words},
	}
	period := []json.Field{
		{Name: "from", Kind: json.KindDateTime, Required: true},
		{Name: "to", Kind: json.KindDateTime, Required: true},
		currency, edge.ParamDecimals,
	}
	return []*edge.Route{
		{
			Method: get, Path: affiliatePath + "/accruals", Handle: ac.list,
			Params: append(edge.ParamsPage("pageNumber", json.KindInt32, json.KindInt32, defaultAccruals), currency,
				profit,
				list, edge.ParamCursor(accrualCursorPattern), edge.ParamDecimals),
		},
		{
			Method: get, Path: affiliatePath + "/accruals/summary", Handle: ac.summary,
			Params: []json.Field{currency, profit, edge.ParamDecimals},
		},
		{Method: get, Path: affiliatePath + "/accruals/filters", Handle: ac.filters},
		{
			Method: get, Path: affiliatePath + "/accrual-groups", Handle: ac.groups,
			Params: append(edge.ParamsBetween(json.KindDateTime, "sinceDate", "endDate"), json.Field{
				Name: "maxLevel", Kind: json.KindInt32, Range: []int64{1, accrual.MaxLevels}, Default: 1,
			}, edge.ParamDecimals),
		},
		{Method: get, Path: affiliatePath + "/accruals/breakdown", Handle: ac.breakdown, Params: period},
		{Method: get, Path: affiliatePath + "/accruals/explain", Handle: ac.explain, Params: period},
		{
			Method: get, Path: affiliatePath + "/total-accruals", Handle: ac.total,
			Params: []json.Field{edge.ParamDecimals},
		},
	}
}

// defaultAccruals is the page size of accruals (docs/contract/api.md#limits).
const defaultAccruals = 20

// pageInt32 reads pageNumber of a route that declares it as int32.
func pageInt32(c *edge.Ctx, name string) (int64, *refuse.Refusal) {
	v, _, err := c.Int(name, 1, 1, math.MaxInt32)
	return v, err
}

// A cursor of accruals is written as its time and its counts with dots in between.
const accrualCursorPattern = `^-?[0-9]{1,19}\.[0-9]{1,10}\.[0-9]{1,10}$`

func appendAccrualCursor(b []byte, at accrual.Cursor) []byte {
	return fmt.Appendf(b, "%d.%d.%d", at.TimeNs, at.Deals, at.Others)
}

// accrualCursor reads what appendAccrualCursor writes, and nothing else.
func accrualCursor(c *edge.Ctx) (at accrual.Cursor, err *refuse.Refusal) {
	text, err := c.Cursor("pageNumber")
	if err != nil || text == "" {
		return at, err
	}
	parts := strings.Split(text, ".")
	if len(parts) == 3 {
		at.TimeNs, _ = strconv.ParseInt(parts[0], 10, 64)
		at.Deals, _ = strconv.Atoi(parts[1])
		at.Others, _ = strconv.Atoi(parts[2])
	}
	if at.Deals < 0 || at.Deals > math.MaxInt32 || at.Others < 0 || at.Others > math.MaxInt32 ||
		string(appendAccrualCursor(nil, at)) != text {
		return at, edge.BadCursor()
	}
	return at, nil
}

func (ac accruals) list(c *edge.Ctx) *refuse.Refusal {
	page, err := pageInt32(c, "pageNumber")
	if err != nil {
		return err
	}
	size, _, err := c.Int("pageSize", defaultAccruals, 1, edge.MaxPageSize)
	if err != nil {
		return err
	}
	at, err := accrualCursor(c)
	if err != nil {
		return err
	}
	f, err := accrualFilter(c, true)
	if err != nil {
		return err
	}
	v, reject := ac.shown.Accruals(uint32(c.Principal.Account)).Page(f, at, page, size)
	if reject != nil {
		return reject
	}
	markTruncated(c, v.Truncated)
	if v.HasNextPage {
		c.NextCursor(appendAccrualCursor(nil, v.Next))
	}
	b := appendList([]byte(`{"items":`), v.Items, func(b []byte, a *accrual.Item) []byte {
		b = appendAccrual(appendStamp(append(b, `{"date":`...), a.DateNs), a.ProfitType, a.Amount, a.CurrencyCode)
		return append(appendBool(b, `,"isToUserBonuses":`, a.IsToUserBonuses), '}')
	})
	b = strconv.AppendInt(append(b, `,"currentPage":`...), v.CurrentPage, 10)
	b = strconv.AppendInt(append(b, `,"pageSize":`...), v.PageSize, 10)
	b = strconv.AppendInt(append(b, `,"totalCount":`...), v.TotalCount, 10)
	b = strconv.AppendInt(append(b, `,"totalPages":`...), v.TotalPages, 10)
	b = appendBool(b, `,"hasPreviousPage":`, v.HasPreviousPage)
	c.Private(append(appendBool(b, `,"hasNextPage":`, v.HasNextPage), '}'))
	return nil
}

func markTruncated(c *edge.Ctx, yes bool) {
	if yes {
		c.Response.Header.SetCanonical(edge.HdrTruncated, edge.ValTrue)
	}
}

func appendAccrual[M anyMoney](b []byte, t accrual.Type, amount M, code string) []byte {
	b = strconv.AppendUint(append(b, `,"profitType":`...), uint64(t), 10)
	b = appendMoney(append(b, `,"amount":`...), amount)
	return encode.AppendString(append(b, `,"currencyCode":`...), code)
}

// currencyParam reads the optional parameter currencyCode.
func currencyParam(c *edge.Ctx) (string, *refuse.Refusal) {
	code, err := c.Str("currencyCode")
	if err == nil && code != "" && !engine.ValidCurrencyCode(code) {
		err = refuse.Param("currencyCode", "The parameter currencyCode must be "+engine.CurrencyForm+".")
	}
	return code, err
}

func accrualFilter(c *edge.Ctx, several bool) (f accrual.Filter, err *refuse.Refusal) {
	if f.CurrencyCode, err = currencyParam(c); err != nil {
		return f, err
	}
	one, err := c.Str("profitType")
	if err != nil {
		return f, err
	}
	if one != "" {
		if f.Profit, err = profitParam("profitType", one); err != nil {
			return f, err
		}
	}
	if several {
		for _, text := range c.All("profitTypes") {
			t, err := profitParam("profitTypes", text)
			if err != nil {
				return f, err
			}
			f.Profits = append(f.Profits, t)
		}
	}
	return f, nil
}

// profitWords returns what profitParam takes: the names of the types, then their numbers.
func profitWords() (words []string) {
	for _, t := range accrual.Types {
		words = append(words, t.String())
	}
	for _, t := range accrual.Types {
		words = append(words, strconv.Itoa(int(t)))
	}
	return words
}

func profitParam(name, text string) (accrual.Type, *refuse.Refusal) {
	if t, ok := accrual.ParseType(text); ok {
		return t, nil
	}
	return 0, refuse.Param(name, "The parameter %s must be one of DealCommission (1), WithdrawalCommission (2), "+
		"CurrencyListing (40), ApiTradeProfitPayment (50), StakeAccrual (100).", name)
}

func (ac accruals) summary(c *edge.Ctx) *refuse.Refusal {
	f, err := accrualFilter(c, false)
	if err != nil {
		return err
	}
	c.Private(appendSums(nil, ac.shown.Accruals(uint32(c.Principal.Account)).Summary(f)))
	return nil
}

func (ac accruals) filters(c *edge.Ctx) *refuse.Refusal {
	v := ac.shown.Accruals(uint32(c.Principal.Account)).Filters()
	b := appendList([]byte(`{"currencies":`), v.Currencies,
		func(b []byte, s *string) []byte { return encode.AppendString(b, *s) })
	b = appendList(append(b, `,"profitTypes":`...), v.ProfitTypes, func(b []byte, t *accrual.Type) []byte {
		return encode.AppendString(b, t.String())
	})
	c.Private(append(b, '}'))
	return nil
}

func (ac accruals) groups(c *edge.Ctx) *refuse.Refusal {
	since, hasSince, err := c.DateTime("sinceDate")
	if err != nil {
		return err
	}
	end, hasEnd, err := c.DateTime("endDate")
	if err != nil {
		return err
	}
	level, _, err := c.Int("maxLevel", 1, 1, accrual.MaxLevels)
	if err != nil {
		return err
	}
	if hasSince && hasEnd && since.After(end) {
		return refuse.Param("sinceDate", "The parameter sinceDate must not be after endDate.")
	}
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if hasSince {
		from = since.CeilNs(msNs)
	}
	if hasEnd {
		to = end.FloorNs(msNs)
	}
	if from > to { // both within one millisecond
		from = to
	}
	groups, truncated, reject := ac.shown.Accruals(uint32(c.Principal.Account)).Groups(from, to, level)
	if reject != nil {
		return reject
	}
	markTruncated(c, truncated)
	c.Private(appendList(nil, groups, func(b []byte, g *accrual.Group) []byte {
		return append(appendAccrual(appendStamp(append(b, `{"date":`...), g.DateNs), g.ProfitType,
			g.Amount, g.CurrencyCode), '}')
	}))
	return nil
}

// periodParams reads the required parameters from and to; to is exclusive.
func periodParams(c *edge.Ctx) (fromNs, toNs int64, currency string, err *refuse.Refusal) {
	var bounds [2]edge.Moment
	for i, name := range [...]string{"from", "to"} {
		given := false
		if bounds[i], given, err = c.DateTime(name); err != nil {
			return 0, 0, "", err
		}
		if !given {
			return 0, 0, "", edge.MissingParam(name)
		}
	}
	if currency, err = currencyParam(c); err != nil {
		return 0, 0, "", err
	}
	if !bounds[1].After(bounds[0]) {
		return 0, 0, "", refuse.Param("from", "The parameter from must be before to.")
	}
	if bounds[0].Sec < edge.MinSec/2 || bounds[1].Sec > edge.MaxSec/2 {
		return 0, 0, "", refuse.Param("from", "The parameters from and to must lie between the years 1824 and 2116.")
	}
	return bounds[0].FloorNs(1), bounds[1].FloorNs(1), currency, nil
}

func (ac accruals) breakdown(c *edge.Ctx) *refuse.Refusal {
	from, to, currency, err := periodParams(c)
	if err != nil {
		return err
	}
	v, reject := ac.shown.Accruals(uint32(c.Principal.Account)).Breakdown(from, to, currency)
	if reject != nil {
		return reject
	}
	b := appendStamp([]byte(`{"from":`), v.FromNs)
	b = appendStamp(append(b, `,"to":`...), v.ToNs)
	b = encode.AppendString(append(b, `,"currentLevel":`...), v.CurrentLevel)
	b = appendList(append(b, `,"items":`...), v.Items, func(b []byte, i *accrual.BreakdownItem) []byte {
		b = encode.AppendString(append(b, `{"fromUserId":`...), i.FromUserID)
		b = encode.AppendString(append(b, `,"fromUserNickname":`...), i.FromUserNickname)
		b = encode.AppendString(append(b, `,"currencyCode":`...), i.CurrencyCode)
		b = appendMoney(append(b, `,"amount":`...), i.Amount)
		b = appendMoney(append(b, `,"amountToMainAccount":`...), i.AmountToMainAccount)
		b = appendMoney(append(b, `,"sourceStakeProfitAmount":`...), i.SourceStakeProfitAmount)
		b = encode.AppendString(append(b, `,"receiverLevel":`...), i.ReceiverLevel)
		return append(appendMoney(append(b, `,"appliedPercentage":`...), i.AppliedPercentage), '}')
	})
	c.Private(append(appendSums(append(b, `,"totalsByCurrency":`...), v.TotalsByCurrency), '}'))
	return nil
}

func (ac accruals) explain(c *edge.Ctx) *refuse.Refusal {
	from, to, currency, err := periodParams(c)
	if err != nil {
		return err
	}
	v, reject := ac.shown.Accruals(uint32(c.Principal.Account)).Explain(from, to, currency)
	if reject != nil {
		return reject
	}
	b := appendStamp([]byte(`{"currentFrom":`), v.CurrentFromNs)
	b = appendStamp(append(b, `,"currentTo":`...), v.CurrentToNs)
	b = appendStamp(append(b, `,"previousFrom":`...), v.PreviousFromNs)
	b = appendStamp(append(b, `,"previousTo":`...), v.PreviousToNs)
	b = appendSums(append(b, `,"currentTotalsByCurrency":`...), v.CurrentTotalsByCurrency)
	b = appendSums(append(b, `,"previousTotalsByCurrency":`...), v.PreviousTotalsByCurrency)
	b = appendSums(append(b, `,"deltaByCurrency":`...), v.DeltaByCurrency)
	b = appendList(append(b, `,"reasons":`...), v.Reasons, appendReason)
	c.Private(append(b, '}'))
	return nil
}

func appendReason(b []byte, r *accrual.Reason) []byte {
	b = strconv.AppendUint(append(b, `{"type":`...), uint64(r.Type), 10)
	b = appendJSONPtr(append(b, `,"fromUserId":`...), r.FromUserID)
	b = appendJSONPtr(append(b, `,"fromUserNickname":`...), r.FromUserNickname)
	b = appendJSONPtr(append(b, `,"currencyCode":`...), r.CurrencyCode)
	b = appendMoney(append(b, `,"amountDelta":`...), r.AmountDelta)
	b = appendJSONPtr(append(b, `,"oldLevel":`...), r.OldLevel)
	b = appendJSONPtr(append(b, `,"newLevel":`...), r.NewLevel)
	b = appendJSONPtr(append(b, `,"triggeredByUserId":`...), r.TriggeredByUserID)
	b = append(b, `,"date":`...)
	if r.DateNs == nil {
		return append(b, "null}"...)
	}
	return append(appendStamp(b, *r.DateNs), '}')
}

func (ac accruals) total(c *edge.Ctx) *refuse.Refusal {
	c.Private(appendList(nil, ac.shown.Accruals(uint32(c.Principal.Account)).Totals(),
		func(b []byte, t *accrual.Total) []byte {
			b = encode.AppendString(append(b, `{"fromUserId":`...), t.FromUserID)
			b = encode.AppendString(append(b, `,"fromUsername":`...), t.FromUsername)
			b = appendJSONPtr(append(b, `,"name":`...), t.Name)
			b = appendJSONPtr(append(b, `,"secondName":`...), t.SecondName)
			b = strconv.AppendInt(append(b, `,"level":`...), int64(t.Level), 10)
			return append(appendSums(append(b, `,"totalAmountsByCurrency":`...), t.TotalAmountsByCurrency), '}')
		}))
	return nil
}

// accountOf returns the engine's number of the caller's account.
func accountOf(c *edge.Ctx) engine.AccountID { return c.Principal.Account }

func (s *Service) commissionRoutes() []*edge.Route {
	return []*edge.Route{{
		Method: fasthttp.MethodGet, Path: "/api/currencies/user/commissions",
		Handle: s.userCommissions, Params: []json.Field{edge.ParamDecimals},
	}}
}

// userCommissions sends the default records, with the caller's discounts applied to the trade
// rates (docs/contract/market-data.md#currencies-pairs-and-commissions).
func (s *Service) userCommissions(c *edge.Ctx) *refuse.Refusal {
	terms := s.shown.Terms(uint32(c.Principal.Account))
	b := append([]byte(nil), `{"commissions":[`...)
	for i, one := range s.opt.Commissions(s.opt.Board.Load()) {
		if i > 0 {
			b = append(b, ',')
		}
		discount := uint32(0)
		switch one.Type {
		case encode.CommissionBuy:
			discount = terms.Discount(engine.Buy)
		case encode.CommissionSell:
			discount = terms.Discount(engine.Sell)
		}
		b = encode.AppendCommission(b, &one, discount)
	}
	b = strconv.AppendBool(append(b, `],"userNoTradeCommissions":`...), terms.NoFees)
	b = encode.AppendRate(append(b, `,"dealBidDiscountFraction":`...), int64(terms.BidDiscount), engine.RateScale)
	b = encode.AppendRate(append(b, `,"dealAskDiscountFraction":`...), int64(terms.AskDiscount), engine.RateScale)
	c.Private(append(b, '}'))
	return nil
}

// appendStamp appends a time as an ISO 8601 date with milliseconds and Z.
func appendStamp(dst []byte, ns int64) []byte {
	return append(encode.AppendISO(append(dst, '"'), ns, 3), '"')
}

// appendStampOrNull appends a time like appendStamp, or null for 0.
func appendStampOrNull(dst []byte, ns int64) []byte {
	if ns == 0 {
		return append(dst, "null"...)
	}
	return appendStamp(dst, ns)
}

// dateTimeNs parses a date-time member of a body. ok is false for any other text.
func dateTimeNs(text []byte) (ns int64, ok bool) {
	m, ok := edge.ParseDateTime(text)
	if !ok {
		return 0, false
	}
	return m.FloorNs(1), true
}

const msNs = int64(time.Millisecond)
