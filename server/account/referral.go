package account

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
	"github.com/tickhive/tickhive/server/objects"
)

const affiliatePath = "/api/affiliate"

// The parameters of the routes of inviters and ambassadors.
var (
	searchQuery = edge.Text("query").Need().Sized(1, accounts.MaxSearchQuery).Says("Prefix.").Like("al")
	inviterOf   = edge.Text("inviter").Says("User id or invite code.")
	callerID    = edge.Text("id").Says("The caller's user id.")
)

// referral serves the routes of inviters, ambassadors and links.
type referral struct{ *Service }

func (r referral) routes() []*edge.Route {
	const get, post = fasthttp.MethodGet, fasthttp.MethodPost
	return []*edge.Route{
		{
			Method: get, Path: affiliatePath + "/inviters/search", Handle: r.searchInviters,
			Params: edge.Params(searchQuery),
			Name:   "searchInviters", Summary: "Find an inviter by prefix of nickname, public id or invite code",
		},
		{
			Method: get, Path: affiliatePath + "/inviters/my", Handle: r.myInviter,
			Name: "getMyInviter", Summary: "The caller's inviter, or null",
		},
		{
			Method: post, Path: affiliatePath + "/inviters/my", Handle: r.setInviter, Schema: "SetInviterRequest",
			Members: inviterForm.Members(),
			Name:    "setMyInviter", Summary: "Set the caller's inviter, once",
			Refuses: []int{409},
		},
		// one parameter for {inviteCode} and {id} of docs/contract/api.md, because the router cannot distinguish
		// them
		{
			Method: get, Path: affiliatePath + "/inviters/{inviter}", Handle: r.findInviter,
			Params: edge.Params(inviterOf),
			Name:   "getInviter", Summary: "An inviter by user id (UUID) or invite code",
		},
		{
			Method: get, Path: affiliatePath + "/invite-code", Handle: r.inviteCode,
			Name: "getInviteCode", Summary: "The caller's invite code",
		},
		{
			Method: get, Path: affiliatePath + "/ambassadors/info", Handle: r.ambassador,
			Params: edge.Params(edge.Decimals),
			Name:   "getAmbassadorInfo", Summary: "Ambassador state and links",
		},
		{
			Method: post, Path: affiliatePath + "/ambassadors/links", Handle: r.createLink,
			Schema: "CreateAmbassadorReferralLinkRequest", Members: linkForm.Members(),
			Name: "createAmbassadorLink", Summary: "Create an ambassador link",
			Refuses: []int{409},
		},
		{
			Method: get, Path: affiliatePath + "/{id}/user-info", Handle: r.userInfo,
			Params: edge.Params(callerID, edge.Decimals),
			Name:   "getReferralUserInfo", Summary: "Referral figures of the caller",
		},
	}
}

// searchesPerMinute limits the searches of a user: each shows up to 20 other users.
const searchesPerMinute = 30

func (r referral) searchInviters(c *edge.Ctx) *refuse.Refusal {
	if err := r.search.Check(c); err != nil {
		return err
	}
	query, err := searchQuery.Of(c)
	if err != nil {
		return err
	}
	found, reject := r.shown.SearchInviters(query)
	if reject != nil {
		return reject
	}
	var w json.Writer
	w.List()
	for i := range found {
		writeInviter(&w, &found[i], found[i].UserID == c.Principal.UserID)
	}
	w.EndList()
	c.Private(w.Bytes())
	return nil
}

func (r referral) myInviter(c *edge.Ctx) *refuse.Refusal {
	v := r.shown.Inviter(c.Principal.Account)
	if v == nil {
		c.Private([]byte("null"))
		return nil
	}
	return sendInviter(c, v, true)
}

var (
	inviterForm = json.Of(
		json.Text("inviteCode", accounts.MaxSearchQuery, func(c *accounts.Command, v string) { c.Code = v }).Need(),
	)
	linkForm = json.Of(
		json.Value("discountPercent", json.KindDecimal, money,
			func(c *accounts.Command, v Money) { c.DiscountPercent = v }).Need().
			As(json.Field{Text: "Human percent, 1 to 50, at most 6 fractional digits."}),
	)
)

func (r referral) setInviter(c *edge.Ctx) *refuse.Refusal {
	cmd := accounts.Command{Kind: accounts.SetInviter, User: c.Principal.Account}
	if err := inviterForm.Decode(c.PostBody(), &cmd); err != nil {
		return err
	}
	res, err := r.do(cmd)
	if err != nil {
		return err
	}
	return sendInviter(c, &res.Inviter, true)
}

func (r referral) findInviter(c *edge.Ctx) *refuse.Refusal {
	text, err := inviterOf.Of(c)
	if err != nil {
		return err
	}
	v, ok := r.shown.FindInviter(text)
	_, isID := json.ParseUUID(text)
	if !ok {
		if isID {
			return refuse.Missing("id", "No user has this id.")
		}
		return refuse.Missing("inviteCode", "No user has this invite code.")
	}
	return sendInviter(c, &v, !isID || v.UserID == c.Principal.UserID)
}

func (r referral) inviteCode(c *edge.Ctx) *refuse.Refusal {
	var w json.Writer
	w.Object()
	w.Name("inviteCode").Text(accounts.InviteCode(c.Principal.Account))
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

func (r referral) ambassador(c *edge.Ctx) *refuse.Refusal {
	v := r.shown.Ambassador(c.Principal.Account)
	var w json.Writer
	w.Object()
	w.Name("isAmbassador").Bool(v.IsAmbassador)
	w.Name("secondLevelPercent").Money(v.SecondLevelPercent.Wide())
	w.Name("links").List()
	for i := range v.Links {
		writeLink(&w, &v.Links[i])
	}
	w.EndList()
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

func (r referral) createLink(c *edge.Ctx) *refuse.Refusal {
	cmd := accounts.Command{Kind: accounts.CreateLink, User: c.Principal.Account}
	if err := linkForm.Decode(c.PostBody(), &cmd); err != nil {
		return err
	}
	res, err := r.do(cmd)
	if err != nil {
		return err
	}
	var w json.Writer
	writeLink(&w, &res.Link)
	c.Private(w.Bytes())
	return nil
}

func (r referral) userInfo(c *edge.Ctx) *refuse.Refusal {
	text, err := callerID.Of(c)
	if err != nil {
		return err
	}
	id, ok := json.ParseUUID(text)
	if !ok || string(json.AppendUUID(nil, id)) != c.Principal.UserID {
		return refuse.New(refuse.Forbidden, "", "The user info may be read only by the user that it describes.")
	}
	v := r.shown.UserInfo(c.Principal.Account)
	var w json.Writer
	w.Object()
	w.Name("inviteCode").Text(v.InviteCode)
	w.Name("parentUserId").TextAt(v.ParentUserID)
	w.Name("referralsLevelInfos").List()
	for _, l := range v.ReferralsLevelInfos {
		w.Object()
		w.Name("level").Int(int64(l.Level))
		w.Name("profitAmount").Money(l.ProfitAmount.Wide())
		w.Name("referralsTotalCount").Int(l.ReferralsTotalCount)
		w.EndObject()
	}
	w.EndList()
	w.Name("isAmbassador").Bool(v.IsAmbassador)
	w.Name("ambassadorSecondLevelPercent").Money(v.AmbassadorSecondLevelPercent.Wide())
	w.Name("commissionDiscountPercent").Money(v.CommissionDiscountPercent.Wide())
	w.Name("totalProfitAmount").Money(v.TotalProfitAmount.Wide())
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

func sendInviter(c *edge.Ctx, v *accounts.InviterView, withCode bool) *refuse.Refusal {
	var w json.Writer
	writeInviter(&w, v, withCode)
	c.Private(w.Bytes())
	return nil
}

// writeInviter writes an inviter view. withCode: the caller knows the invite code already.
func writeInviter(w *json.Writer, v *accounts.InviterView, withCode bool) {
	w.Object()
	w.Name("userId").Text(v.UserID)
	w.Name("publicId").Text(v.PublicID)
	w.Name("nickname").Text(v.Nickname)
	w.Name("avatarId").Text(v.AvatarID)
	w.Name("inviteCode")
	if withCode {
		w.Text(v.InviteCode)
	} else {
		w.Null()
	}
	w.Name("isAmbassador").Bool(v.IsAmbassador)
	w.EndObject()
}

func writeLink(w *json.Writer, l *accounts.AmbassadorLink) {
	w.Object()
	w.Name("id").Text(l.ID)
	w.Name("ownerUserId").Text(l.OwnerUserID)
	w.Name("code").Text(l.Code)
	w.Name("discountPercent").Money(l.DiscountPercent.Wide())
	w.Name("dateCreated").ISO(l.CreatedNs, 3)
	w.Name("isActive").Bool(l.IsActive)
	w.EndObject()
}

// accruals serves the routes of the referral programme's payments.
type accruals struct{ *Service }

func (ac accruals) routes() []*edge.Route {
	const get = fasthttp.MethodGet
	period := edge.Params(periodFrom, periodTo, ofCurrency, edge.Decimals)
	return []*edge.Route{
		{
			Method: get, Path: affiliatePath + "/accruals", Handle: ac.list,
			Params: edge.Params(accrualPages, ofCurrency, ofProfit, ofProfits, accrualRows, edge.Decimals),
			Name:   "getAccruals", Summary: "Accruals, newest first",
		},
		{
			Method: get, Path: affiliatePath + "/accruals/summary", Handle: ac.summary,
			Params: edge.Params(ofCurrency, ofProfit, edge.Decimals),
			Name:   "getAccrualSummary", Summary: "Totals by currency",
		},
		{
			Method: get, Path: affiliatePath + "/accruals/filters", Handle: ac.filters,
			Name: "getAccrualFilters", Summary: "Currencies and profit types that occur",
		},
		{
			Method: get, Path: affiliatePath + "/accrual-groups", Handle: ac.groups,
			Params: edge.Params(groupsSince, groupsUntil, maxLevel, edge.Decimals),
			Name:   "getAccrualGroups", Summary: "Accruals per UTC day, type and currency",
		},
		{
			Method: get, Path: affiliatePath + "/accruals/breakdown", Handle: ac.breakdown, Params: period,
			Name: "getStakingBreakdown", Summary: "Staking referral bonus per referral in a period",
		},
		{
			Method: get, Path: affiliatePath + "/accruals/explain", Handle: ac.explain, Params: period,
			Name: "explainStaking", Summary: "Why the staking referral bonus changed against the preceding period",
		},
		{
			Method: get, Path: affiliatePath + "/total-accruals", Handle: ac.total,
			Params: edge.Params(edge.Decimals),
			Name:   "getTotalAccruals", Summary: "Totals per referred user",
		},
	}
}

// defaultAccruals is the page size of accruals (docs/contract/api.md#limits).
const defaultAccruals = 20

// A cursor of accruals is written as its time and its counts with dots in between.
const accrualCursorPattern = `^-?[0-9]{1,19}\.[0-9]{1,10}\.[0-9]{1,10}$`

func appendAccrualCursor(b []byte, at accrual.Cursor) []byte {
	return fmt.Appendf(b, "%d.%d.%d", at.TimeNs, at.Deals, at.Others)
}

// parseAccrualCursor reads what appendAccrualCursor writes, and nothing else.
func parseAccrualCursor(text string) (at accrual.Cursor, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) == 3 {
		at.TimeNs, _ = strconv.ParseInt(parts[0], 10, 64)
		at.Deals, _ = strconv.Atoi(parts[1])
		at.Others, _ = strconv.Atoi(parts[2])
	}
	return at, at.Deals >= 0 && at.Deals <= math.MaxInt32 && at.Others >= 0 && at.Others <= math.MaxInt32 &&
		string(appendAccrualCursor(nil, at)) == text
}

// The parameters of the routes of accruals.
var (
	accrualPages = edge.PagesOf(edge.Int32("pageNumber", 1, math.MaxInt32).Default(1).Says("1-based."),
		edge.Int32("pageSize", 1, edge.MaxPageSize).Default(defaultAccruals).Says("Rows per page."))
	accrualRows = edge.CursorOf(accrualPages, accrualCursorPattern, parseAccrualCursor)

	ofCurrency = edge.Declare(json.Field{Name: "currencyCode", Text: "One currency only."},
		func(raw []byte) (string, string) {
			if !engine.ValidCurrencyCode(string(raw)) {
				return "", "must be " + engine.CurrencyForm + "."
			}
			return string(raw), ""
		})
	ofProfit = edge.Declare(json.Field{
		Name: "profitType", Kind: json.KindWord, Words: profitWords(),
		Text: "The name of a profit type, or its number.",
	}, func(raw []byte) (accrual.Type, string) {
		t, ok := accrual.ParseType(string(raw))
		if !ok {
			return 0, "must be one of DealCommission (1), WithdrawalCommission (2), CurrencyListing (40), " +
				"ApiTradeProfitPayment (50), StakeAccrual (100)."
		}
		return t, ""
	})
	ofProfits = edge.Several("profitTypes", ofProfit).Says("Overrides profitType; repeat the parameter.")

	groupsSince = edge.DateTime("sinceDate").Like("2026-01-01T00:00:00Z").Says("Inclusive. " + dateTimes)
	groupsUntil = edge.DateTime("endDate").Like("2026-01-01T00:00:00Z").Says("Inclusive. " + dateTimes)
	maxLevel    = edge.Int32("maxLevel", 1, accrual.MaxLevels).Default(1).Says("Levels up to this one.")
	periodFrom  = edge.DateTime("from").Need().Like("2026-01-01").Says("Inclusive. " + dateTimes)
	periodTo    = edge.DateTime("to").Need().Like("2026-02-01").Says("Exclusive. " + dateTimes)
)

const dateTimes = "ISO 8601: a date, or a date and time with any offset; none means UTC."

func (ac accruals) list(c *edge.Ctx) *refuse.Refusal {
	page, size, err := accrualPages.Of(c)
	if err != nil {
		return err
	}
	at, err := accrualRows.Of(c)
	if err != nil {
		return err
	}
	f, err := accrualFilter(c, true)
	if err != nil {
		return err
	}
	v, reject := ac.shown.Accruals(c.Principal.Account).Page(f, at, page, size)
	if reject != nil {
		return reject
	}
	markTruncated(c, v.Truncated)
	if v.HasNextPage {
		c.NextCursor(appendAccrualCursor(nil, v.Next))
	}
	var w json.Writer
	w.Object()
	w.Name("items").List()
	for i := range v.Items {
		a := &v.Items[i]
		w.Object()
		w.Name("date").ISO(a.DateNs, 3)
		writeAccrual(&w, a.ProfitType, a.Amount.Wide(), a.CurrencyCode)
		w.Name("isToUserBonuses").Bool(a.IsToUserBonuses)
		w.EndObject()
	}
	w.EndList()
	w.Name("currentPage").Int(v.CurrentPage)
	w.Name("pageSize").Int(v.PageSize)
	w.Name("totalCount").Int(v.TotalCount)
	w.Name("totalPages").Int(v.TotalPages)
	w.Name("hasPreviousPage").Bool(v.HasPreviousPage)
	w.Name("hasNextPage").Bool(v.HasNextPage)
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

func markTruncated(c *edge.Ctx, yes bool) {
	if yes {
		c.Response.Header.SetCanonical(edge.HdrTruncated, edge.ValTrue)
	}
}

func writeAccrual(w *json.Writer, t accrual.Type, amount fixed.I192, code string) {
	w.Name("profitType").Uint(uint64(t))
	w.Name("amount").Money(amount)
	w.Name("currencyCode").Text(code)
}

func accrualFilter(c *edge.Ctx, several bool) (f accrual.Filter, err *refuse.Refusal) {
	if f.CurrencyCode, err = ofCurrency.Of(c); err != nil {
		return f, err
	}
	if f.Profit, err = ofProfit.Of(c); err != nil {
		return f, err
	}
	if several {
		f.Profits, err = ofProfits.Of(c)
	}
	return f, err
}

// profitWords returns what ofProfit takes: the names of the types, then their numbers.
func profitWords() (words []string) {
	for _, t := range accrual.Types {
		words = append(words, t.String())
	}
	for _, t := range accrual.Types {
		words = append(words, strconv.Itoa(int(t)))
	}
	return words
}

func (ac accruals) summary(c *edge.Ctx) *refuse.Refusal {
	f, err := accrualFilter(c, false)
	if err != nil {
		return err
	}
	var w json.Writer
	writeSums(&w, ac.shown.Accruals(c.Principal.Account).Summary(f))
	c.Private(w.Bytes())
	return nil
}

func (ac accruals) filters(c *edge.Ctx) *refuse.Refusal {
	v := ac.shown.Accruals(c.Principal.Account).Filters()
	var w json.Writer
	w.Object()
	w.Name("currencies").List()
	for _, code := range v.Currencies {
		w.Text(code)
	}
	w.EndList()
	w.Name("profitTypes").List()
	for _, t := range v.ProfitTypes {
		w.Word(t.String())
	}
	w.EndList()
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

func (ac accruals) groups(c *edge.Ctx) *refuse.Refusal {
	since, hasSince, err := groupsSince.Find(c)
	if err != nil {
		return err
	}
	end, hasEnd, err := groupsUntil.Find(c)
	if err != nil {
		return err
	}
	level, err := maxLevel.Of(c)
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
	groups, truncated, reject := ac.shown.Accruals(c.Principal.Account).Groups(from, to, level)
	if reject != nil {
		return reject
	}
	markTruncated(c, truncated)
	var w json.Writer
	w.List()
	for i := range groups {
		g := &groups[i]
		w.Object()
		w.Name("date").ISO(g.DateNs, 3)
		writeAccrual(&w, g.ProfitType, g.Amount.Wide(), g.CurrencyCode)
		w.EndObject()
	}
	w.EndList()
	c.Private(w.Bytes())
	return nil
}

// periodParams reads the required parameters from and to; to is exclusive.
func periodParams(c *edge.Ctx) (fromNs, toNs int64, currency string, err *refuse.Refusal) {
	from, err := periodFrom.Of(c)
	if err != nil {
		return 0, 0, "", err
	}
	to, err := periodTo.Of(c)
	if err != nil {
		return 0, 0, "", err
	}
	if currency, err = ofCurrency.Of(c); err != nil {
		return 0, 0, "", err
	}
	if !to.After(from) {
		return 0, 0, "", refuse.Param("from", "The parameter from must be before to.")
	}
	if from.Sec < edge.MinSec/2 || to.Sec > edge.MaxSec/2 {
		return 0, 0, "", refuse.Param("from", "The parameters from and to must lie between the years 1824 and 2116.")
	}
	return from.FloorNs(1), to.FloorNs(1), currency, nil
}

func (ac accruals) breakdown(c *edge.Ctx) *refuse.Refusal {
	from, to, currency, err := periodParams(c)
	if err != nil {
		return err
	}
	v, reject := ac.shown.Accruals(c.Principal.Account).Breakdown(from, to, currency)
	if reject != nil {
		return reject
	}
	var w json.Writer
	w.Object()
	w.Name("from").ISO(v.FromNs, 3)
	w.Name("to").ISO(v.ToNs, 3)
	w.Name("currentLevel").Text(v.CurrentLevel)
	w.Name("items").List()
	for i := range v.Items {
		item := &v.Items[i]
		w.Object()
		w.Name("fromUserId").Text(item.FromUserID)
		w.Name("fromUserNickname").Text(item.FromUserNickname)
		w.Name("currencyCode").Text(item.CurrencyCode)
		w.Name("amount").Money(item.Amount.Wide())
		w.Name("amountToMainAccount").Money(item.AmountToMainAccount.Wide())
		w.Name("sourceStakeProfitAmount").Money(item.SourceStakeProfitAmount.Wide())
		w.Name("receiverLevel").Text(item.ReceiverLevel)
		w.Name("appliedPercentage").Money(item.AppliedPercentage.Wide())
		w.EndObject()
	}
	w.EndList()
	writeSums(w.Name("totalsByCurrency"), v.TotalsByCurrency)
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

func (ac accruals) explain(c *edge.Ctx) *refuse.Refusal {
	from, to, currency, err := periodParams(c)
	if err != nil {
		return err
	}
	v, reject := ac.shown.Accruals(c.Principal.Account).Explain(from, to, currency)
	if reject != nil {
		return reject
	}
	var w json.Writer
	w.Object()
	w.Name("currentFrom").ISO(v.CurrentFromNs, 3)
	w.Name("currentTo").ISO(v.CurrentToNs, 3)
	w.Name("previousFrom").ISO(v.PreviousFromNs, 3)
	w.Name("previousTo").ISO(v.PreviousToNs, 3)
	writeSums(w.Name("currentTotalsByCurrency"), v.CurrentTotalsByCurrency)
	writeSums(w.Name("previousTotalsByCurrency"), v.PreviousTotalsByCurrency)
	writeSums(w.Name("deltaByCurrency"), v.DeltaByCurrency)
	w.Name("reasons").List()
	for i := range v.Reasons {
		writeReason(&w, &v.Reasons[i])
	}
	w.EndList()
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

func writeReason(w *json.Writer, r *accrual.Reason) {
	w.Object()
	w.Name("type").Uint(uint64(r.Type))
	w.Name("fromUserId").TextAt(r.FromUserID)
	w.Name("fromUserNickname").TextAt(r.FromUserNickname)
	w.Name("currencyCode").TextAt(r.CurrencyCode)
	w.Name("amountDelta").Money(r.AmountDelta.Wide())
	w.Name("oldLevel").TextAt(r.OldLevel)
	w.Name("newLevel").TextAt(r.NewLevel)
	w.Name("triggeredByUserId").TextAt(r.TriggeredByUserID)
	w.Name("date")
	if r.DateNs == nil {
		w.Null()
	} else {
		w.ISO(*r.DateNs, 3)
	}
	w.EndObject()
}

func (ac accruals) total(c *edge.Ctx) *refuse.Refusal {
	var w json.Writer
	w.List()
	for _, t := range ac.shown.Accruals(c.Principal.Account).Totals() {
		w.Object()
		w.Name("fromUserId").Text(t.FromUserID)
		w.Name("fromUsername").Text(t.FromUsername)
		w.Name("name").TextAt(t.Name)
		w.Name("secondName").TextAt(t.SecondName)
		w.Name("level").Int(int64(t.Level))
		writeSums(w.Name("totalAmountsByCurrency"), t.TotalAmountsByCurrency)
		w.EndObject()
	}
	w.EndList()
	c.Private(w.Bytes())
	return nil
}

// accountOf returns the engine's number of the caller's account.
func accountOf(c *edge.Ctx) engine.AccountID { return engine.AccountID(c.Principal.Account) }

func (s *Service) commissionRoutes() []*edge.Route {
	return []*edge.Route{{
		Method: fasthttp.MethodGet, Path: "/api/currencies/user/commissions",
		Handle: s.userCommissions, Params: edge.Params(edge.Decimals),
		Name: "getUserCommissions", Summary: "The caller's effective commissions",
	}}
}

// userCommissions sends the default records, with the caller's discounts applied to the trade
// rates (docs/contract/market-data.md#currencies-pairs-and-commissions).
func (s *Service) userCommissions(c *edge.Ctx) *refuse.Refusal {
	terms := s.shown.Terms(c.Principal.Account)
	var w json.Writer
	w.Object()
	w.Name("commissions").List()
	for _, one := range s.opt.Commissions(s.opt.Board.Load()) {
		discount := uint32(0)
		switch one.Type {
		case objects.CommissionBuy:
			discount = terms.Discount(engine.Buy)
		case objects.CommissionSell:
			discount = terms.Discount(engine.Sell)
		}
		objects.WriteCommission(&w, &one, discount)
	}
	w.EndList()
	w.Name("userNoTradeCommissions").Bool(terms.NoFees)
	w.Name("dealBidDiscountFraction").Rate(int64(terms.BidDiscount), engine.RateScale)
	w.Name("dealAskDiscountFraction").Rate(int64(terms.AskDiscount), engine.RateScale)
	w.EndObject()
	c.Private(w.Bytes())
	return nil
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
