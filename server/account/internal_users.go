package account

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/refuse"
	"github.com/tickhive/tickhive/server/edge"
	"github.com/tickhive/tickhive/server/json"
)

// userID is a text, because an id of another form is not found.
var userID = edge.Text("id").As(json.KindUUID)

// defaultUsers is the size of a page of users.
const defaultUsers = 20

// The parameters of the list of users. A cursor is the number of a user.
var (
	searchUsers = edge.Text("search").Sized(1, accounts.MaxSearchQuery).Like("al").
			Says("Prefix of the nickname, a name, the id, publicId, invite code or the public key of a key.")
	userPages = edge.PagesOf(edge.Integer("pageNumber", 1, math.MaxInt64).Default(1).Says("1-based."),
		edge.Integer("pageSize", 1, edge.MaxPageSize).Default(defaultUsers).Says("Rows per page."))
	userRows = edge.RowOf(userPages)
)

// InternalRoutes returns the account routes of the internal API
// (docs/contract/internal.md#users-and-money).
func (s *Service) InternalRoutes() []*edge.Route {
	const get, post = fasthttp.MethodGet, fasthttp.MethodPost
	const path = edge.InternalPrefix + "/users"
	u := users{s}
	id := edge.Params(userID)
	return edge.Tagged("Users", slices.Concat(u.demoRoutes(), u.keyRoutes(path+"/{id}/apikeys"), []*edge.Route{
		{
			Method: post, Path: path, Handle: u.createUser, Schema: "CreateUser", Members: newUserForm.Members(),
			Name: "createUser", Summary: "Create a user",
			Refuses: []int{409},
		},
		{
			Method: get, Path: path, Handle: u.listUsers,
			Params: edge.Params(searchUsers, userPages, userRows),
			Name:   "listUsers", Summary: "Users, the newest first",
		},
		{
			Method: get, Path: path + "/{id}", Handle: u.getUser, Params: id,
			Name: "getUser", Summary: "One user, with balances",
		},
		{
			Method: fasthttp.MethodPatch, Path: path + "/{id}", Handle: u.patchUser, Params: id, Schema: "PatchUser",
			Members: userForm.Members(),
			Name:    "patchUser", Summary: "Change a user",
			Refuses: []int{409},
		},
		{
			Method: post, Path: path + "/{id}/deposits", Handle: u.deposit, Params: id, Schema: "Money",
			Members: moneyForm.Members(),
			Name:    "deposit", Summary: "Deposit money",
			Refuses: []int{409},
		},
		{
			Method: post, Path: path + "/{id}/withdrawals", Handle: u.withdraw, Params: id, Schema: "Money",
			Members: moneyForm.Members(),
			Name:    "withdraw", Summary: "Withdraw money",
			Refuses: []int{409},
		},
		{
			Method: post, Path: path + "/{id}/profits", Handle: u.addProfit, Params: id, Schema: "AddProfit",
			Members: profitForm.Members(),
			Name:    "addProfit", Summary: "Pay a profit to the user's inviters",
			Refuses: []int{409},
		},
		{
			Method: post, Path: path + "/{id}/halt", Handle: u.halt, Params: id, Schema: "HaltUser",
			Members: haltForm.Members(),
			Name:    "haltUser", Summary: "Cancel every open order of a user and refuse new ones",
		},
		{
			Method: fasthttp.MethodDelete, Path: path + "/{id}/halt", Handle: u.resume, Params: id,
			Name: "resumeUser", Summary: "Lift the halt of a user",
		},
		{
			Method: get, Path: edge.InternalPrefix + "/totals", Handle: u.totals,
			Name: "getTotals", Summary: "Sums over all accounts",
		},
	}))
}

// keyRoutes returns the routes of a user's API keys, which are at path.
func (u users) keyRoutes(path string) []*edge.Route {
	return []*edge.Route{
		{
			Method: fasthttp.MethodGet, Path: path, Handle: u.listUserKeys, Params: edge.Params(userID),
			Name: "listUserKeys", Summary: "The API keys of a user",
		},
		{
			Method: fasthttp.MethodPost, Path: path, Handle: u.createUserKey, Params: edge.Params(userID),
			Schema: "CreateKey", Members: operatorKeyForm.Members(),
			Name: "createUserKey", Summary: "Create an API key",
			Refuses: []int{409},
		},
		{
			Method: fasthttp.MethodDelete, Path: path + "/{publicKey}", Handle: u.deleteUserKey,
			Params: edge.Params(userID, keyOf),
			Name:   "deleteUserKey", Summary: "Delete an API key of a user, and every key that it made, at once",
		},
	}
}

// users serves the internal routes of users and their money.
type users struct{ *Service }

// nativeCurrency is the code of the launchpad's native currency.
const nativeCurrency = "NATIVE"

func (us users) createUser(c *edge.Ctx) *refuse.Refusal {
	var u userRequest
	if text := c.PostBody(); json.Sent(text) { // a user without a body is valid, because every member has a default
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
	us.send(c, &res.User)
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
	if id := u.AvatarID; id != nil {
		if err := us.shown.Catalogue().Check(*id); err != nil {
			return err
		}
	}
	res, err := us.do(accounts.Command{Kind: accounts.PatchUser, User: user.Number, Profile: u.ProfilePatch})
	if err == nil {
		us.send(c, &res.User)
	}
	return err
}

func (us users) getUser(c *edge.Ctx) *refuse.Refusal {
	user, err := us.userOf(c)
	if err != nil {
		return err
	}
	var w json.Writer
	w.Object()
	us.writeUser(&w, &user)
	writeBalances(&w, us.balancesOf(user.Number))
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}

// listUsers serves GET /users.
func (us users) listUsers(c *edge.Ctx) *refuse.Refusal {
	query, err := searchUsers.Of(c)
	if err != nil {
		return err
	}
	number, size, err := userPages.Of(c)
	if err != nil {
		return err
	}
	before, err := userRows.Of(c)
	if err != nil {
		return err
	}
	// A page and a row beyond every user are as good as the bound, which does not overflow.
	skip := min(number-1, accounts.MaxUsers) * size
	found, more, err := us.shown.Search(query, uint32(min(before, math.MaxUint32)), int(skip), int(size))
	if err != nil {
		return err
	}
	var w json.Writer
	w.List()
	for i := range found {
		w.Object()
		us.writeUser(&w, &found[i])
		w.EndObject()
	}
	w.EndList()
	if more {
		c.NextRow(uint64(found[len(found)-1].Number))
	}
	c.Private(w.Bytes())
	return nil
}

// listUserKeys serves GET /users/{id}/apikeys.
func (us users) listUserKeys(c *edge.Ctx) *refuse.Refusal {
	user, err := us.userOf(c)
	if err == nil {
		us.sendKeys(c, user.Number)
	}
	return err
}

// deleteUserKey serves DELETE /users/{id}/apikeys/{publicKey}.
func (us users) deleteUserKey(c *edge.Ctx) *refuse.Refusal {
	user, err := us.userOf(c)
	if err != nil {
		return err
	}
	return us.endKey(c, accounts.Command{Kind: accounts.DeleteKey, User: user.Number})
}

// createUserKey serves POST /users/{id}/apikeys. It differs from the public route in its defaults: the key has
// canTrade and canManageKeys.
func (us users) createUserKey(c *edge.Ctx) *refuse.Refusal {
	user, err := us.userOf(c)
	if err != nil {
		return err
	}
	return us.createKey(c, operatorKeyForm, operatorDefault,
		accounts.Command{Kind: accounts.CreateKey, User: user.Number})
}

// totals sends the sums over all accounts, including the ledger's currencies.
func (us users) totals(c *edge.Ctx) *refuse.Refusal {
	all := us.shown.Totals()
	if us.opt.Ledger != nil {
		all = append(all, us.opt.Ledger.Totals()...)
		slices.SortFunc(all, func(a, b accounts.TotalView) int {
			return strings.Compare(a.CurrencyCode, b.CurrencyCode)
		})
	}
	var w json.Writer
	w.List()
	for i := range all {
		t := &all[i]
		w.Object()
		w.Name("currencyCode").Text(t.CurrencyCode)
		w.Name("free").Money(t.Free.Wide())
		w.Name("held").Money(t.Held.Wide())
		w.Name("fees").Money(t.Fees.Wide())
		w.Name("deposited").Money(t.Deposited.Wide())
		w.Name("withdrawn").Money(t.Withdrawn.Wide())
		w.EndObject()
	}
	w.EndList()
	c.Private(w.Bytes())
	return nil
}

// send sends a User.
func (us users) send(c *edge.Ctx, u *accounts.UserView) {
	var w json.Writer
	w.Object()
	us.writeUser(&w, u)
	w.EndObject()
	c.Private(w.Bytes())
}

// writeUser writes the members of a User (docs/contract/internal.md#users-and-money).
func (us users) writeUser(w *json.Writer, u *accounts.UserView) {
	w.Name("id").Text(u.ID)
	w.Name("nickname").Text(u.Nickname)
	w.Name("name").TextAt(u.Name)
	w.Name("secondName").TextAt(u.SecondName)
	w.Name("level").Int(int64(u.Level))
	w.Name("stakingLevel").Text(u.StakingLevel)
	w.Name("isAmbassador").Bool(u.IsAmbassador)
	w.Name("secondLevelPercent").Money(u.SecondLevelPercent.Wide())
	w.Name("unlimited").Bool(u.Unlimited)
	w.Name("nativeBalance").Money(us.nativeBalance(u))
	w.Name("publicId").Text(u.PublicID)
	w.Name("address").Text(u.Address)
	w.Name("inviteCode").Text(u.InviteCode)
	w.Name("inviterId").TextAt(u.InviterID)
	w.Name("avatarId").Text(u.AvatarID)
	w.Name("noTradeCommissions").Bool(u.NoTradeCommissions)
	w.Name("dealBidDiscountFraction").Money(u.DealBidDiscount.Wide())
	w.Name("dealAskDiscountFraction").Money(u.DealAskDiscount.Wide())
	w.Name("dateCreated").ISO(u.CreatedNs, 3)
	w.Name("halted").Bool(u.Halted)
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
	return us.shown.Balance(u.Number, nativeCurrency).Total
}

// userRequest is the body of POST and PATCH /users; only POST has native.
type userRequest struct {
	accounts.ProfilePatch
	native fixed.I128
}

// profileMembers are the members that POST and PATCH /users have in common.
var profileMembers = []json.Member[userRequest]{
	json.Text("nickname", accounts.MaxNickname, func(u *userRequest, v string) { u.Nickname = &v }).
		As(json.Field{Range: []int64{accounts.MinNickname, accounts.MaxNickname}}),
	json.Value("name", json.KindText, realName, func(u *userRequest, v accounts.OptionalName) { u.Name = v }).
		As(json.Field{Nullable: true, Range: []int64{0, accounts.MaxRealName}}),
	json.Value("secondName", json.KindText, realName,
		func(u *userRequest, v accounts.OptionalName) { u.SecondName = v }).
		As(json.Field{Nullable: true, Range: []int64{0, accounts.MaxRealName}}),
	json.Integer("level", 0, accounts.MaxLevel, func(u *userRequest, v int64) { u.Level = &v }),
	json.Text("stakingLevel", maxAddressText, func(u *userRequest, v string) { u.StakingLevel = &v }),
	json.Flag("isAmbassador", func(u *userRequest, v bool) { u.IsAmbassador = &v }),
	json.Value("secondLevelPercent", json.KindDecimal, money,
		func(u *userRequest, v Money) { u.SecondLevelPercent = &v }),
}

var (
	newUserForm = json.Of(append(profileMembers[:len(profileMembers):len(profileMembers)],
		json.Flag("unlimited", func(u *userRequest, v bool) { u.Unlimited = &v }).As(json.Field{Default: false}),
		json.Value("nativeBalance", json.KindDecimal, balance, func(u *userRequest, v Money) { u.native = v }),
	)...)
	userForm = json.Of(append(profileMembers[:len(profileMembers):len(profileMembers)],
		json.Text("avatarId", maxAddressText, func(u *userRequest, v string) { u.AvatarID = &v }),
		json.Flag("noTradeCommissions", func(u *userRequest, v bool) { u.NoTradeCommissions = &v }),
		json.Value("dealBidDiscountFraction", json.KindDecimal, money,
			func(u *userRequest, v Money) { u.DealBidDiscount = &v }),
		json.Value("dealAskDiscountFraction", json.KindDecimal, money,
			func(u *userRequest, v Money) { u.DealAskDiscount = &v }),
	)...)
)

// realName reads a first or second name. null and "" remove the user's name.
func realName(r *json.Reader) (name accounts.OptionalName, given bool) {
	name.Set = true
	if s := r.Text(accounts.MaxRealName); s != nil {
		text := string(s)
		name.Value = &text
	}
	return name, true
}

// money reads a decimal in 10^-18.
func money(r *json.Reader) (v Money, given bool) {
	if text := r.Decimal(); text != nil {
		return fixed.MustText(text), true
	}
	return v, false
}

func balance(r *json.Reader) (Money, bool) {
	v, given := money(r)
	if v.Sign() < 0 || v.Cmp(accounts.MaxMoney) > 0 {
		r.Bad("must be 0 to 10^20.")
	}
	return v, given
}

// moneyRequest is the body of deposits, withdrawals and profits; only profits have profit.
type moneyRequest struct {
	profit   accrual.Type
	currency string
	amount   Money
}

var (
	currencyMember = json.Value("currencyCode", json.KindText, currencyCode,
		func(m *moneyRequest, v string) { m.currency = v }).Need()
	amountMember = json.Value("amount", json.KindDecimal, amount,
		func(m *moneyRequest, v Money) { m.amount = v }).Need()

	moneyForm  = json.Of(currencyMember, amountMember)
	profitForm = json.Of(
		json.Value("profitType", json.KindAny, profitType,
			func(m *moneyRequest, v accrual.Type) { m.profit = v }).Need(),
		currencyMember, amountMember,
	)
)

func currencyCode(r *json.Reader) (string, bool) {
	code := string(r.Text(maxAddressText))
	if code != "" && !engine.ValidCurrencyCode(code) {
		r.Bad("must be " + engine.CurrencyForm + ".")
	}
	return code, code != ""
}

func amount(r *json.Reader) (Money, bool) {
	v, given := money(r)
	if given && (v.Sign() <= 0 || v.Cmp(accounts.MaxMoney) > 0) {
		r.Bad("must be above 0 and at most 10^20.")
	}
	return v, given
}

// profitType reads a profit type by number, or by name as in queries.
func profitType(r *json.Reader) (t accrual.Type, given bool) {
	var text string
	if r.Peek() == '"' {
		text = string(r.Text(maxAddressText))
	} else if v, given := r.Integer(0, 1<<31-1); given {
		text = strconv.FormatInt(v, 10)
	}
	if text == "" {
		return 0, false
	}
	t, ok := accrual.ParseType(text)
	if !ok {
		r.Bad("must be one of 1, 2, 40, 50, 100.")
	}
	return t, ok
}

// moneyOf reads the body and finds the user and the currency. asset is nil for the ledger's
// currencies, which are no assets of the exchange.
func (us users) moneyOf(
	c *edge.Ctx, form *json.Form[moneyRequest], m *moneyRequest,
) (u accounts.UserView, asset *engine.Asset, err *refuse.Refusal) {
	if err := form.Decode(c.PostBody(), m); err != nil {
		return u, nil, err
	}
	if u, err = us.userOf(c); err != nil {
		return u, nil, err
	}
	if asset = us.opt.Board.Load().Asset(m.currency); asset == nil && !us.ledgerHas(m.currency) {
		return u, nil, refuse.Missing("currencyCode", "There is no currency %s.", m.currency)
	}
	return u, asset, nil
}

// ledgerHas reports whether the ledger holds the balances of a currency. Without a ledger,
// accounts hold its currencies like any other.
func (us users) ledgerHas(code string) bool {
	if us.opt.Ledger == nil {
		return code == nativeCurrency || code == "USBI"
	}
	return us.opt.Ledger.HasCurrency(code)
}

func (us users) deposit(c *edge.Ctx) *refuse.Refusal {
	var m moneyRequest
	u, asset, err := us.moneyOf(c, moneyForm, &m)
	if err != nil {
		return err
	}
	if asset != nil && !asset.CanDeposit {
		return refuse.New(refuse.Conflict, "", "Deposits of %s are closed.", m.currency)
	}
	b, err := us.credit(&u, m.currency, m.amount)
	if err == nil {
		auditMoney(c, "deposit", &m)
		var w json.Writer
		w.Object()
		writeBalance(&w, &b)
		w.EndObject()
		c.Private(w.Bytes())
	}
	return err
}

// credit deposits into the ledger or the account, depending on which holds the currency.
func (us users) credit(u *accounts.UserView, currency string, amount Money) (accounts.BalanceView, *refuse.Refusal) {
	if us.opt.Ledger != nil && us.opt.Ledger.HasCurrency(currency) {
		return us.opt.Ledger.Deposit(u.Address, currency, amount)
	}
	res, err := us.do(accounts.Command{Kind: accounts.Deposit, User: u.Number, Currency: currency, Amount: amount})
	return res.Balance, err
}

func (us users) withdraw(c *edge.Ctx) *refuse.Refusal {
	var m moneyRequest
	u, asset, err := us.moneyOf(c, moneyForm, &m)
	if err != nil {
		return err
	}
	if err := withdrawable(asset, &m); err != nil {
		return err
	}
	if us.opt.Ledger != nil && us.opt.Ledger.HasCurrency(m.currency) {
		b, err := us.opt.Ledger.Withdraw(u.Address, m.currency, m.amount)
		if err == nil {
			auditMoney(c, "withdrawal", &m)
			sendWithdrawal(c, &b, Money{})
		}
		return err
	}
	res, err := us.do(accounts.Command{Kind: accounts.Withdraw, User: u.Number, Currency: m.currency, Amount: m.amount})
	if err == nil {
		auditMoney(c, "withdrawal", &m)
		sendWithdrawal(c, &res.Balance, res.Commission)
	}
	return err
}

// withdrawable returns the refusal of a withdrawal by the asset's settings, if any.
func withdrawable(a *engine.Asset, m *moneyRequest) *refuse.Refusal {
	switch {
	case a == nil:
		return nil
	case a.HasMinWithdraw && m.amount.Cmp(a.MinWithdraw) < 0:
		return refuse.Param("amount", "A withdrawal of %s must be at least %s.", m.currency,
			moneyText(a.MinWithdraw))
	case a.HasMaxWithdraw && m.amount.Cmp(a.MaxWithdraw) > 0:
		return refuse.Param("amount", "A withdrawal of %s must be at most %s.", m.currency,
			moneyText(a.MaxWithdraw))
	case !a.CanWithdraw:
		return refuse.New(refuse.Conflict, "", "Withdrawals of %s are closed.", m.currency)
	}
	return nil
}

// auditMoney logs that money entered or left the exchange.
func auditMoney(c *edge.Ctx, event string, m *moneyRequest) {
	c.Audit(event, "user", c.PathParam(userID.Name()), "currency", m.currency, "amount", moneyText(m.amount))
}

// moneyText returns money as its shortest decimal text.
func moneyText(v Money) string { return string(fixed.AppendShortest(nil, v, fixed.Scale)) }

func sendWithdrawal(c *edge.Ctx, b *accounts.BalanceView, commission Money) {
	var w json.Writer
	w.Object()
	writeBalance(&w, b)
	w.Name("commission").Money(commission.Wide())
	w.EndObject()
	c.Private(w.Bytes())
}

func (us users) addProfit(c *edge.Ctx) *refuse.Refusal {
	var m moneyRequest
	u, asset, err := us.moneyOf(c, profitForm, &m)
	if err != nil {
		return err
	}
	if asset == nil && us.opt.Ledger != nil {
		return refuse.Missing("currencyCode", "Profits are paid in currencies of the exchange, not of the ledger.")
	}
	res, err := us.do(accounts.Command{
		Kind: accounts.AddProfit, User: u.Number, Profit: m.profit, Currency: m.currency, Amount: m.amount,
	})
	if err != nil {
		return err
	}
	auditMoney(c, "profit", &m)
	var w json.Writer
	w.Object()
	w.Name("accruals").List()
	for i := range res.Accruals {
		a := &res.Accruals[i]
		w.Object()
		w.Name("userId").Text(a.UserID)
		w.Name("level").Int(int64(a.Level))
		w.Name("amount").Money(a.Amount.Wide())
		w.Name("currencyCode").Text(a.CurrencyCode)
		w.EndObject()
	}
	w.EndList()
	w.EndObject()
	c.Private(w.Bytes())
	return nil
}
