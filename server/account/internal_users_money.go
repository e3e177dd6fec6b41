package account

import (
	"strconv"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/refuse"
	"tickhive/server/body"
	"tickhive/server/edge"
	"tickhive/server/encode"
)

// moneyRequest is the body of deposits, withdrawals and profits.
type moneyRequest struct {
	profits  bool
	profit   accounts.ProfitType
	currency string
	amount   Money
}

var moneyMembers = []string{"profitType", "currencyCode", "amount"}

func decodeMoney(r *body.Reader, m *moneyRequest) *body.Error {
	hasAmount := false
	if r.Object() {
		for key, ok := r.Member(); ok; key, ok = r.Member() {
			switch name := string(key); {
			case name == "profitType" && m.profits:
				m.profit = profitType(r)
			case name == "currencyCode":
				m.currency = string(r.Text(maxAddressText))
				if m.currency != "" && !isCurrencyCode(m.currency) {
					r.Bad("must be 2 to 12 of A-Z and 0-9.")
				}
			case name == "amount":
				if v := money(r); v != nil {
					m.amount, hasAmount = *v, true
					if v.Sign() <= 0 || v.Cmp(accounts.MaxMoney) > 0 {
						r.Bad("must be above 0 and at most 10^20.")
					}
				}
			default:
				r.Unknown()
			}
		}
		if r.Err == nil {
			if m.profits {
				r.Require("profitType", m.profit != 0)
			}
			r.Require("currencyCode", m.currency != "")
			r.Require("amount", hasAmount)
		}
	}
	return r.InOrder(moneyMembers...)
}

// profitType reads a profit type by number, or by name as in queries.
func profitType(r *body.Reader) accounts.ProfitType {
	var text string
	if r.Peek() == '"' {
		text = string(r.Text(maxAddressText))
	} else if v, given := r.Integer(0, 1<<31-1); given {
		text = strconv.FormatInt(v, 10)
	}
	if text == "" {
		return 0
	}
	t, ok := accounts.ParseProfitType(text)
	if !ok {
		r.Bad("must be one of 1, 2, 40, 50, 100.")
	}
	return t
}

// moneyOf reads the body and finds the user and the currency. asset is nil for the ledger's
// currencies, which are no assets of the exchange.
func (d users) moneyOf(c *edge.Ctx, m *moneyRequest) (u accounts.UserView, asset *engine.Asset, err *refuse.Refusal) {
	var r body.Reader
	r.Reset(c.PostBody())
	if err := decodeMoney(&r, m); err != nil {
		return u, nil, body.Refusal(err)
	}
	if u, err = d.userOf(c); err != nil {
		return u, nil, err
	}
	if asset = d.opt.Board.Load().Asset(m.currency); asset == nil && !d.ledgerHas(m.currency) {
		return u, nil, refuse.Missing("currencyCode", "There is no currency %s.", m.currency)
	}
	return u, asset, nil
}

// ledgerHas reports whether the ledger holds the balances of a currency. Without a ledger,
// accounts hold its currencies like any other.
func (d users) ledgerHas(code string) bool {
	if d.opt.Ledger == nil {
		return code == nativeCurrency || code == "USBI"
	}
	return d.opt.Ledger.HasCurrency(code)
}

func (d users) deposit(c *edge.Ctx) *refuse.Refusal {
	var m moneyRequest
	u, asset, err := d.moneyOf(c, &m)
	if err != nil {
		return err
	}
	if asset != nil && !asset.CanDeposit {
		return refuse.New(refuse.Conflict, "", "Deposits of %s are closed.", m.currency)
	}
	b, err := d.credit(&u, m.currency, m.amount)
	if err == nil {
		c.Private(appendBalance(nil, &b))
	}
	return err
}

// credit deposits into the ledger or the account, depending on which holds the currency.
func (d users) credit(u *accounts.UserView, currency string, amount Money) (accounts.BalanceView, *refuse.Refusal) {
	if d.opt.Ledger != nil && d.opt.Ledger.HasCurrency(currency) {
		return d.opt.Ledger.Deposit(u.Address, currency, amount)
	}
	res, err := d.do(accounts.Command{Kind: accounts.Deposit, User: u.Number, Currency: currency, Amount: amount})
	return res.Balance, err
}

func (d users) withdraw(c *edge.Ctx) *refuse.Refusal {
	var m moneyRequest
	u, asset, err := d.moneyOf(c, &m)
	if err != nil {
		return err
	}
	if err := withdrawable(asset, &m); err != nil {
		return err
	}
	if d.opt.Ledger != nil && d.opt.Ledger.HasCurrency(m.currency) {
		b, err := d.opt.Ledger.Withdraw(u.Address, m.currency, m.amount)
		if err == nil {
			sendWithdrawal(c, &b, Money{})
		}
		return err
	}
	res, err := d.do(accounts.Command{Kind: accounts.Withdraw, User: u.Number, Currency: m.currency, Amount: m.amount})
	if err == nil {
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

func sendWithdrawal(c *edge.Ctx, b *accounts.BalanceView, commission Money) {
	body := appendBalanceMembers([]byte{'{'}, b)
	c.Private(append(appendMoney(append(body, `,"commission":`...), commission), '}'))
}

func (d users) addProfit(c *edge.Ctx) *refuse.Refusal {
	m := moneyRequest{profits: true}
	u, asset, err := d.moneyOf(c, &m)
	if err != nil {
		return err
	}
	if asset == nil && d.opt.Ledger != nil {
		return refuse.Missing("currencyCode", "Profits are paid in currencies of the exchange, not of the ledger.")
	}
	res, err := d.do(accounts.Command{
		Kind: accounts.AddProfit, User: u.Number, Profit: m.profit, Currency: m.currency, Amount: m.amount,
	})
	if err != nil {
		return err
	}
	b := appendList([]byte(`{"accruals":`), res.Accruals, func(b []byte, a *accounts.PaidAccrual) []byte {
		b = encode.AppendString(append(b, `{"userId":`...), a.UserID)
		b = strconv.AppendInt(append(b, `,"level":`...), int64(a.Level), 10)
		b = appendMoney(append(b, `,"amount":`...), a.Amount)
		return append(encode.AppendString(append(b, `,"currencyCode":`...), a.CurrencyCode), '}')
	})
	c.Private(append(b, '}'))
	return nil
}
