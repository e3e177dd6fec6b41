package accounts_test

import (
	"errors"
	"strings"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/internal/fixed"
)

// account carries out a command of the accounts or of the exchange's settings; false: none of them.
func (x *exchange) account(f []string) bool {
	x.t.Helper()
	switch f[0] {
	case "commission":
		rule := accounts.CommissionRule{Percent: x.rate(f[2])}
		if least, ok := options(f[3:])["min"]; ok {
			rule.Minimum = x.dec(least)
		}
		x.opts.Commissions = append(x.opts.Commissions, accounts.Commission{
			Withdrawal: true, Currency: f[1], CommissionRule: rule,
		})
		x.s.SetSettings(x.opts)
	case "levels", "staking", "bonus":
		x.setRates(f)
	case "asset":
		asset := &engine.Asset{Symbol: f[1], Digits: int(x.id(f[2]))}
		x.apply(&engine.Command{
			Kind: engine.SetAsset, Pair: engine.ControlPair, Control: &engine.ControlRecord{Asset: asset},
		})
	case "pair":
		x.pair(f)
	case "halt", "lift":
		x.do(accounts.Command{Kind: accounts.SetHalt, User: x.number(f[1]), Halted: f[0] == "halt"})
	case "user":
		x.names = append(x.names, f[1])
		p := accounts.ProfilePatch{Nickname: &f[1]}
		if _, ok := options(f[2:])["unlimited"]; ok {
			p.Unlimited = new(bool)
			*p.Unlimited = true
		}
		x.do(accounts.Command{Kind: accounts.CreateUser, Profile: p})
	case "set":
		x.do(accounts.Command{Kind: accounts.PatchUser, User: x.number(f[1]), Profile: x.patch(f[2:])})
	case "link":
		x.do(accounts.Command{Kind: accounts.CreateLink, User: x.number(f[1]), DiscountPercent: x.dec(f[2])})
	case "invite":
		code := accounts.InviteCode(x.number(f[3]))
		if n, ok := options(f[4:])["link"]; ok {
			code = x.s.View().Ambassador(x.number(f[3])).Links[x.id(n)-1].Code
		}
		x.do(accounts.Command{Kind: accounts.SetInviter, User: x.number(f[1]), Code: code})
	case "deposit", "withdraw", "profit":
		x.money(f)
	default:
		return false
	}
	return true
}

func (x *exchange) setRates(f []string) {
	var rates []uint32
	for _, text := range f[1:] {
		rates = append(rates, x.rate(text))
	}
	switch f[0] {
	case "levels":
		x.opts.Referral.Levels = rates
	case "staking":
		copy(x.opts.Referral.Staking[:], rates)
	case "bonus":
		x.opts.Referral.BonusShare = rates[0]
	}
	if err := x.opts.Validate(); err != nil {
		x.printf("refused: %s", err)
		return
	}
	x.s.SetSettings(x.opts)
}

func (x *exchange) pair(f []string) {
	in := &engine.Instrument{Code: f[1]}
	in.Base, in.Quote, _ = strings.Cut(f[1], "_")
	for key, value := range options(f[2:]) {
		switch key {
		case "price":
			in.DigitsPrice = int(x.id(value))
		case "amount":
			in.DigitsAmount = int(x.id(value))
		case "maker":
			in.MakerFee = x.rate(value)
		case "taker":
			in.TakerFee = x.rate(value)
		}
	}
	x.apply(&engine.Command{Kind: engine.AddPair, Pair: engine.ControlPair, Instrument: in})
}

func (x *exchange) patch(words []string) (p accounts.ProfilePatch) {
	x.t.Helper()
	yes := true
	for key, value := range options(words) {
		amount := fixed.I128{}
		if key != "staking" && value != "" {
			amount = x.dec(value)
		}
		switch key {
		case "staking":
			p.StakingLevel = &value
		case "ambassador":
			p.IsAmbassador = &yes
		case "second-level":
			p.SecondLevelPercent = &amount
		case "no-fees":
			p.NoTradeCommissions = &yes
		case "bid-discount":
			p.DealBidDiscount = &amount
		case "ask-discount":
			p.DealAskDiscount = &amount
		default:
			x.t.Fatalf("no such property: %q", key)
		}
	}
	return p
}

func (x *exchange) money(f []string) {
	cmd := accounts.Command{User: x.number(f[1]), Amount: x.dec(f[2]), Currency: f[3]}
	switch f[0] {
	case "deposit":
		cmd.Kind = accounts.Deposit
	case "withdraw":
		cmd.Kind = accounts.Withdraw
	case "profit":
		cmd.Kind, cmd.Profit = accounts.AddProfit, accrual.CurrencyListing
		if len(f) > 4 && f[4] == "stake" {
			cmd.Profit = accrual.StakeAccrual
		}
	}
	x.do(cmd)
}

// do encodes, decodes and carries out a command, and prints its refusal or its accruals.
func (x *exchange) do(cmd accounts.Command) {
	x.t.Helper()
	var res accounts.Result
	reject := cmd.Check()
	if reject == nil {
		back, err := accounts.DecodeCommand(accounts.AppendCommand(nil, &cmd))
		if err != nil {
			x.t.Fatal(err)
		}
		if res, err = x.s.Do(x.now, &back); err != nil && !errors.As(err, &reject) {
			x.t.Fatal(err)
		}
	}
	if reject != nil {
		x.printf("refused: %s", strings.TrimSpace(reject.Field+" "+reject.Error()))
		return
	}
	if res.Commission.Sign() != 0 {
		x.printf("commission %s", sum(res.Commission.Wide()))
	}
	for _, a := range res.Accruals {
		x.printf("level %d gets %s %s", a.Level, sum(a.Amount), a.CurrencyCode)
	}
}

// look prints a part of the state.
func (x *exchange) look(f []string) {
	x.t.Helper()
	v := x.s.View()
	switch f[0] {
	case "balance":
		x.printf("%s", show(v.Balance(x.number(f[1]), f[2])))
	case "total":
		for _, t := range v.Totals() {
			if t.CurrencyCode == f[1] {
				x.printf("free %s held %s fees %s of %s deposited, %s withdrawn",
					sum(t.Free), sum(t.Held), sum(t.Fees), sum(t.Deposited), sum(t.Withdrawn))
			}
		}
	case "accruals":
		page, reject := v.Accruals(x.number(f[1])).Page(accrual.Filter{}, accrual.Cursor{}, 1, accrual.MaxPageSize)
		if reject != nil {
			x.t.Fatal(reject)
		}
		for _, a := range page.Items {
			x.printf("%s %s %s", a.ProfitType, sum(a.Amount), a.CurrencyCode)
		}
	case "restart":
		x.restart()
	default:
		x.t.Fatalf("no such command: %q", f)
	}
}
