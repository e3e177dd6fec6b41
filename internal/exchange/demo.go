package exchange

import (
	"fmt"
	"math/big"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/accounts/accrual"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/engine/sequencer"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/server/account"
)

// demoUsers is the number of users of the demo market. The key of the first user is printed.
// All others are invited below the first, so that its referral statistics are not empty.
const demoUsers = 10

// demoInviter[i] is the inviter of demo user i+1; 0 means none. The tree has five levels.
var demoInviter = [demoUsers]int{0, 1, 1, 2, 2, 4, 6, 7, 3, 3}

// demoStaking holds the staking level of each demo user.
var demoStaking = [demoUsers]string{"R5", "R3", "R2", "R1", "R1", "R1", "R0", "R0", "R0", "R0"}

// demoKeyName is the name of the printed key.
const demoKeyName = "demo"

// demo fills an empty demo market with users, funds, inviters and some history, and creates the API key for the
// person who tries the demo. It runs before clients are admitted. The result depends only on the options.
func (x *Running) demo() error {
	if x.sim == nil {
		return nil
	}
	if x.accounts.view.UserCount() == 0 {
		if err := x.addDemoUsers(); err != nil {
			return fmt.Errorf("demo users: %w", err)
		}
	}
	return x.demoKey()
}

func (x *Running) addDemoUsers() error {
	a, amounts := x.accounts, x.demoAmounts()
	for i := range demoUsers {
		name, level := fmt.Sprintf("demo-%d", i+1), int64(20+i)
		ambassador := i == 0
		err := a.doAll(accounts.Command{Kind: accounts.CreateUser, Profile: accounts.ProfilePatch{
			Nickname: &name, Level: &level, StakingLevel: &demoStaking[i], IsAmbassador: &ambassador,
		}})
		if err != nil {
			return err
		}
		n := uint32(i + 1)
		if up := demoInviter[i]; up != 0 {
			err = a.doAll(accounts.Command{Kind: accounts.SetInviter, User: n, Code: accounts.InviteCode(uint32(up))})
		}
		for _, asset := range x.o.Assets {
			if err == nil {
				err = a.doAll(accounts.Command{
					Kind: accounts.Deposit, User: n, Currency: asset.Symbol,
					Amount: fixed.MustText([]byte(amounts[asset.Symbol])),
				})
			}
		}
		if err != nil {
			return err
		}
	}
	if err := a.demoIncome(x.demoCurrency()); err != nil {
		return err
	}
	return x.demoTrades()
}

// units returns n whole units of a currency, in 10^-18.
func units(n uint64) fixed.I128 { return fixed.Mul64(n, fixed.Pow10[18]).ToI128() }

// demoCurrency returns the currency of the income: the quote of the first pair, of which a unit is worth little.
func (x *Running) demoCurrency() string {
	if len(x.o.Pairs) > 0 {
		return x.o.Pairs[0].Quote
	}
	return x.o.Assets[0].Symbol
}

// doAll applies commands one after the other.
func (a *accountSide) doAll(cmds ...accounts.Command) error {
	for _, cmd := range cmds {
		if _, err := a.do(cmd); err != nil {
			return err
		}
	}
	return nil
}

// demoIncome adds staking income, listings and withdrawals of every user but the first.
func (a *accountSide) demoIncome(currency string) error {
	for n := uint32(2); n <= demoUsers; n++ {
		staked := accounts.Command{
			Kind: accounts.AddProfit, User: n, Profit: accrual.StakeAccrual, Currency: currency,
			Amount: units(uint64(n)),
		}
		listed := accounts.Command{
			Kind: accounts.AddProfit, User: n, Profit: accrual.CurrencyListing, Currency: currency, Amount: units(1),
		}
		drawn := accounts.Command{Kind: accounts.Withdraw, User: n, Currency: currency, Amount: units(2)}
		err := a.doAll(staked, listed, drawn)
		if err != nil {
			return err
		}
	}
	return nil
}

// demoTrades lets one user from the third on buy a little of each simulated pair, the users in turn. The purchases
// come at one time, so a second one would show in the tape of its pair as a row of equal trades. Where the simulated
// market has no offer yet, the user before the buyer makes one.
func (x *Running) demoTrades() error {
	buyer := engine.AccountID(3)
	for _, p := range x.o.Sim.Pairs {
		v := x.feed.Board().Load().Lookup(p.Code)
		if v == nil || p.Reference < 1 {
			continue
		}
		pair, ticks := v.Instrument.ID, p.Reference
		best, offered := v.Asks.Best()
		if offered {
			ticks = best.Price
		}
		lots := demoLots(v.Instrument, ticks)
		cmds := []engine.Command{{
			Kind: engine.Place, Pair: pair, Account: buyer, Side: engine.Buy, Type: engine.Market, TIF: engine.IOC,
			Flags: engine.FlagQuote, Quote: fixed.Mul64(uint64(ticks), uint64(lots)), STP: engine.CancelTaker,
		}}
		if !offered {
			offer := engine.Command{
				Kind: engine.Place, Pair: pair, Account: buyer - 1, Side: engine.Sell, Price: ticks, Amount: lots,
				STP: engine.CancelTaker,
			}
			cmds = []engine.Command{offer, cmds[0], {Kind: engine.CancelAll, Pair: pair, Account: buyer - 1}}
		}
		if err := x.Submit(&sequencer.Batch{Commands: cmds}); err != nil { // the market may refuse an order
			return err
		}
		if buyer++; buyer > demoUsers {
			buyer = 3
		}
	}
	return nil
}

// demoLots returns the lots of about ten smallest orders.
func demoLots(in *engine.Instrument, ticks int64) int64 {
	if !in.HasMinQuote {
		return 1
	}
	lots, _ := in.MinQuote.DivMod64(uint64(ticks))
	if lots.Hi != 0 || lots.Lo > 1<<40 {
		return 1
	}
	return int64(lots.Lo)*10 + 1
}

// demoKey creates a key of the first user and passes it on once. The private key is in no file and no log.
func (x *Running) demoKey() error {
	if x.o.DemoKey == nil {
		return nil
	}
	for _, k := range x.accounts.view.Keys(1, 0) {
		if k.Name == demoKeyName {
			return nil
		}
	}
	res, err := x.newKey(1, demoKeyName)
	if err != nil {
		return fmt.Errorf("demo key: %w", err)
	}
	return x.o.DemoKey(res.Key.PublicKey, res.Secret, "http://"+x.PublicAddr()+"/")
}

// demoAmounts returns the amount of each configured asset by the prices at which the simulated market begins.
func (x *Running) demoAmounts() map[string]string {
	prices, digits := map[string]*big.Rat{}, map[string]int{}
	for _, a := range x.o.Assets {
		digits[a.Symbol] = a.Digits
	}
	for _, p := range x.o.Sim.Pairs {
		for _, in := range x.o.Pairs {
			if in.Code == p.Code && p.Reference > 0 {
				tenth := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(in.DigitsPrice)), nil)
				prices[p.Code] = new(big.Rat).SetFrac(big.NewInt(p.Reference), tenth)
			}
		}
	}
	return account.DemoAmounts(prices, digits)
}
