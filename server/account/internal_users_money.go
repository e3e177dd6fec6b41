package account

import (
	"strconv"

	"tickhive/accounts"
	"tickhive/accounts/accrual"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// moneyRequest is the body of deposits, withdrawals and profits; only profits have profit.
type moneyRequest struct {
	profit   accrual.Type
	currency string
	amount   Money
}

var (
	currencyMember = body.Value("currencyCode", edge.KindText, currencyCode,
		func(m *moneyRequest, v string) { m.currency = v }).Need()
	amountMember = body.Value("amount", edge.KindDecimal, amount,
		func(m *moneyRequest, v Money) { m.amount = v }).Need()

	moneyForm  = body.Of(currencyMember, amountMember)
	profitForm = body.Of(
		body.Value("profitType", edge.KindAny, profitType,
			func(m *moneyRequest, v accrual.Type) { m.profit = v }).Need(),
		currencyMember, amountMember,
	)
)

func currencyCode(r *body.Reader) (string, bool) {
	code := string(r.Text(maxAddressText))
	if code != "" && !engine.ValidCurrencyCode(code) {
		r.Bad("must be " + engine.CurrencyForm + ".")
	}
	return code, code != ""
}

func amount(r *body.Reader) (Money, bool) {
	v, given := money(r)
	if given && (v.Sign() <= 0 || v.Cmp(accounts.MaxMoney) > 0) {
		r.Bad("must be above 0 and at most 10^20.")
	}
	return v, given
}

// profitType reads a profit type by number, or by name as in queries.
func profitType(r *body.Reader) (t accrual.Type, given bool) {
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
	c *edge.Ctx, form *body.Form[moneyRequest], m *moneyRequest,
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
		c.Private(appendBalance(nil, &b))
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
			appendMoney(nil, a.MinWithdraw))
	case a.HasMaxWithdraw && m.amount.Cmp(a.MaxWithdraw) > 0:
		return refuse.Param("amount", "A withdrawal of %s must be at most %s.", m.currency,
			appendMoney(nil, a.MaxWithdraw))
	case !a.CanWithdraw:
		return refuse.New(refuse.Conflict, "", "Withdrawals of %s are closed.", m.currency)
	}
	return nil
}

// auditMoney logs that money entered or left the exchange.
func auditMoney(c *edge.Ctx, event string, m *moneyRequest) {
	c.Audit(event, "user", c.PathParam("id"), "currency", m.currency, "amount", string(appendMoney(nil, m.amount)))
}

func sendWithdrawal(c *edge.Ctx, b *accounts.BalanceView, commission Money) {
	body := appendBalanceMembers([]byte{'{'}, b)
	c.Private(append(appendMoney(append(body, `,"commission":`...), commission), '}'))
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
	b := appendList([]byte(`{"accruals":`), res.Accruals, func(b []byte, a *accounts.PaidAccrual) []byte {
		b = encode.AppendString(append(b, `{"userId":`...), a.UserID)
		b = strconv.AppendInt(append(b, `,"level":`...), int64(a.Level), 10)
		b = appendMoney(append(b, `,"amount":`...), a.Amount)
		return append(encode.AppendString(append(b, `,"currencyCode":`...), a.CurrencyCode), '}')
	})
	c.Private(append(b, '}'))
	return nil
}
