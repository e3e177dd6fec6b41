package account

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"tickhive/accounts"
	"tickhive/internal/fixed"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// InternalRoutes returns the account routes of the internal API
// (docs/contract/internal.md#users-and-money).
func (s *Service) InternalRoutes() []*edge.Route {
	const get, post = fasthttp.MethodGet, fasthttp.MethodPost
	const path = edge.InternalPrefix + "/users"
	u := users{s}
	id := []edge.Field{{Name: "id", Kind: edge.KindUUID}}
	return []*edge.Route{
		{Method: post, Path: path, Handle: u.createUser, Schema: "CreateUser", Members: newUserForm.Members()},
		{Method: get, Path: path + "/{id}", Handle: u.getUser, Params: id},
		{
			Method: fasthttp.MethodPatch, Path: path + "/{id}", Handle: u.patchUser, Params: id, Schema: "PatchUser",
			Members: userForm.Members(),
		},
		{
			Method: post, Path: path + "/{id}/deposits", Handle: u.deposit, Params: id, Schema: "Money",
			Members: moneyForm.Members(),
		},
		{
			Method: post, Path: path + "/{id}/withdrawals", Handle: u.withdraw, Params: id, Schema: "Money",
			Members: moneyForm.Members(),
		},
		{
			Method: post, Path: path + "/{id}/profits", Handle: u.addProfit, Params: id, Schema: "AddProfit",
			Members: profitForm.Members(),
		},
		{
			Method: post, Path: path + "/{id}/apikeys", Handle: u.createUserKey, Params: id, Schema: "CreateKey",
			Members: operatorKeyForm.Members(),
		},
		{
			Method: post, Path: path + "/{id}/halt", Handle: u.halt, Params: id, Schema: "HaltUser",
			Members: haltForm.Members(),
		},
		{Method: fasthttp.MethodDelete, Path: path + "/{id}/halt", Handle: u.resume, Params: id},
		{Method: get, Path: edge.InternalPrefix + "/totals", Handle: u.totals},
	}
}

// users serves the internal routes of users and their money.
type users struct{ *Service }

// nativeCurrency is the code of the launchpad's native currency.
const nativeCurrency = "NATIVE"

func (us users) createUser(c *edge.Ctx) *refuse.Refusal {
	var u userRequest
	if text := c.PostBody(); body.Sent(text) { // a user without a body is valid, because every member has a default
		if err := newUserForm.Decode(text, &u); err != nil {
			return err
		}
	}
	res, err := us.do(accounts.Command{Kind: accounts.CreateUser, Profile: u.ProfilePatch})
	if err != nil {
		return err
	}
	if u.native.Sign() > 0 {
		if _, err := us.credit(&res.User, nativeCurrency, u.native); err != nil {
			return unfunded(&res.User, err)
		}
	}
	c.Private(us.appendUser(nil, &res.User, false))
	return nil
}

// unfunded returns the error for a user that was created without the native balance: the two
// changes are in different logs. A repeat of the request would create another user, or find the
// nickname taken, so the error names the user and the remaining step.
func unfunded(u *accounts.UserView, cause *refuse.Refusal) *refuse.Refusal {
	e := *cause
	e.Field = "nativeBalance"
	if e.Code == refuse.OutcomeUnknown {
		e.Message = fmt.Sprintf("The user was created with the id %s; do not create it again. The "+
			"nativeBalance: %s", u.ID, cause.Message)
		return &e
	}
	e.Message = fmt.Sprintf("The user was created with the id %s; only the nativeBalance is missing: deposit it with "+
		"POST %s/users/%s/deposits, and do not create the user again. The deposit was refused: %s",
		u.ID, edge.InternalPrefix, u.ID, cause.Message)
	return &e
}

func (us users) patchUser(c *edge.Ctx) *refuse.Refusal {
	var u userRequest
	if err := userForm.Decode(c.PostBody(), &u); err != nil {
		return err
	}
	user, err := us.userOf(c)
	if err != nil {
		return err
	}
	res, err := us.do(accounts.Command{Kind: accounts.PatchUser, User: user.Number, Profile: u.ProfilePatch})
	if err == nil {
		c.Private(us.appendUser(nil, &res.User, false))
	}
	return err
}

func (us users) getUser(c *edge.Ctx) *refuse.Refusal {
	user, err := us.userOf(c)
	if err == nil {
		c.Private(us.appendUser(nil, &user, true))
	}
	return err
}

// createUserKey serves POST /users/{id}/apikeys. It differs from the public route in its defaults: the key has
// canTrade and canManageKeys.
func (us users) createUserKey(c *edge.Ctx) *refuse.Refusal {
	user, err := us.userOf(c)
	if err != nil {
		return err
	}
	return us.createKey(c, operatorKeyForm,
		accounts.Command{Kind: accounts.CreateKey, User: user.Number, Key: operatorDefault})
}

// totals sends the sums over all accounts, including the ledger's currencies.
func (us users) totals(c *edge.Ctx) *refuse.Refusal {
	all := us.view.Totals()
	if us.opt.Ledger != nil {
		all = append(all, us.opt.Ledger.Totals()...)
		slices.SortFunc(all, func(a,
			b accounts.TotalView,
		) int {
			return strings.Compare(a.CurrencyCode, b.CurrencyCode)
		})
	}
	c.Private(appendList(nil, all, func(b []byte, t *accounts.TotalView) []byte {
		b = encode.AppendString(append(b, `{"currencyCode":`...), t.CurrencyCode)
		b = appendMoney(append(b, `,"free":`...), t.Free)
		b = appendMoney(append(b, `,"held":`...), t.Held)
		b = appendMoney(append(b, `,"fees":`...), t.Fees)
		b = appendMoney(append(b, `,"deposited":`...), t.Deposited)
		return append(appendMoney(append(b, `,"withdrawn":`...), t.Withdrawn), '}')
	}))
	return nil
}

// appendUser appends a User (docs/contract/internal.md#users-and-money); full adds the balances.
func (us users) appendUser(b []byte, u *accounts.UserView, full bool) []byte {
	b = encode.AppendString(append(b, `{"id":`...), u.ID)
	b = encode.AppendString(append(b, `,"nickname":`...), u.Nickname)
	b = appendJSONPtr(append(b, `,"name":`...), u.Name)
	b = appendJSONPtr(append(b, `,"secondName":`...), u.SecondName)
	b = strconv.AppendInt(append(b, `,"level":`...), int64(u.Level), 10)
	b = encode.AppendString(append(b, `,"stakingLevel":`...), u.StakingLevel)
	b = appendBool(b, `,"isAmbassador":`, u.IsAmbassador)
	b = appendMoney(append(b, `,"secondLevelPercent":`...), u.SecondLevelPercent)
	b = appendBool(b, `,"unlimited":`, u.Unlimited)
	b = appendMoney(append(b, `,"nativeBalance":`...), us.nativeBalance(u))
	b = encode.AppendString(append(b, `,"publicId":`...), u.PublicID)
	b = encode.AppendString(append(b, `,"address":`...), u.Address)
	b = encode.AppendString(append(b, `,"inviteCode":`...), u.InviteCode)
	b = appendJSONPtr(append(b, `,"inviterId":`...), u.InviterID)
	b = encode.AppendString(append(b, `,"avatarId":`...), u.AvatarID)
	b = appendBool(b, `,"noTradeCommissions":`, u.NoTradeCommissions)
	b = appendMoney(append(b, `,"dealBidDiscountFraction":`...), u.DealBidDiscount)
	b = appendMoney(append(b, `,"dealAskDiscountFraction":`...), u.DealAskDiscount)
	b = appendStamp(append(b, `,"dateCreated":`...), u.CreatedNs)
	b = appendBool(b, `,"halted":`, u.Halted)
	if full {
		b = appendList(append(b, `,"balances":`...), us.balancesOf(u.Number), appendBalance)
	}
	return append(b, '}')
}

// nativeBalance returns the user's balance of the native currency, free and held.
func (us users) nativeBalance(u *accounts.UserView) fixed.I192 {
	if l := us.opt.Ledger; l != nil && l.HasCurrency(nativeCurrency) {
		for _, b := range l.Balances(u.Address) {
			if b.CurrencyCode == nativeCurrency {
				return b.Total
			}
		}
		return fixed.I192{}
	}
	return us.view.Balance(u.Number, nativeCurrency).Total
}
