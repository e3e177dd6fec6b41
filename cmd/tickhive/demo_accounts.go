package main

import (
	"fmt"
	"os"

	"golang.org/x/term"

	"tickhive/accounts"
	"tickhive/engine"
	"tickhive/internal/fixed"
	"tickhive/server"
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

// demo fills an empty demo market with users, funds, inviters and a first history, and prints
// a key pair on a terminal. It runs before the server is ready. The result depends on the
// configuration only.
func (a *accountSide) demo(x *exchange, desk *server.AccountDesk) error {
	if !x.cfg.Sim.Enabled || x.cfg.Market.Pairs == pairsNone {
		return nil
	}
	if a.state.View().Users() == 0 {
		if err := a.furnish(x, desk); err != nil {
			return fmt.Errorf("demo users: %w", err)
		}
	}
	return a.demoKey(x)
}

func (a *accountSide) furnish(x *exchange, desk *server.AccountDesk) error {
	view := a.state.View()
	for i := range demoUsers {
		name, level := fmt.Sprintf("demo-%d", i+1), int64(20+i)
		ambassador := i == 0
		err := a.all(accounts.Command{Kind: accounts.CreateUser, Profile: accounts.ProfilePatch{
			Nickname: &name, Level: &level, StakingLevel: &demoStaking[i], IsAmbassador: &ambassador,
		}})
		if err != nil {
			return err
		}
		n := uint32(i + 1)
		if up := demoInviter[i]; up != 0 {
			err = a.all(accounts.Command{Kind: accounts.SetInviter, User: n, Code: view.InviteCode(uint32(up))})
		}
		for j := range x.cfg.Assets {
			if err == nil {
				err = a.all(accounts.Command{
					Kind: accounts.Deposit, User: n, Currency: x.cfg.Assets[j].Symbol, Amount: fixed.Mul64(demoFunds, fixed.Pow10[18]).ToI128(),
				})
			}
		}
		if err != nil {
			return err
		}
	}
	if err := a.demoIncome(x); err != nil {
		return err
	}
	return x.demoTrades(desk)
}

// demoFunds is the balance of a demo user in each currency, in whole units.
const demoFunds = 10_000

// all applies commands one after the other.
func (a *accountSide) all(cmds ...accounts.Command) error {
	for _, cmd := range cmds {
		if _, err := a.store.Do(cmd); err != nil {
			return err
		}
	}
	return nil
}

// demoIncome books staking income, listings and withdrawals for every user but the first.
func (a *accountSide) demoIncome(x *exchange) error {
	currency := x.cfg.Assets[0].Symbol
	whole := func(n uint64) fixed.I128 { return fixed.Mul64(n, fixed.Pow10[18]).ToI128() }
	for n := uint32(2); n <= demoUsers; n++ {
		err := a.all(
			accounts.Command{Kind: accounts.AddProfit, User: n, Profit: accounts.StakeAccrual, Currency: currency, Amount: whole(uint64(n))},
			accounts.Command{Kind: accounts.AddProfit, User: n, Profit: accounts.CurrencyListing, Currency: currency, Amount: whole(1)},
			accounts.Command{Kind: accounts.Withdraw, User: n, Currency: currency, Amount: whole(2)},
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// demoTrades makes each user from the third on buy a little of each pair, from the user before
// or from a maker with a better price.
func (x *exchange) demoTrades(desk *server.AccountDesk) error {
	root := x.feed.Board().Load()
	for i := range x.cfg.Pairs {
		p := &x.cfg.Pairs[i]
		v := root.Lookup(p.Code)
		if v == nil || !p.Reference.given() {
			continue
		}
		ticks, exact, fits := fixed.Units(p.Reference.value(), p.DigitsPrice)
		if !exact || !fits || ticks < 1 {
			continue
		}
		lots := demoLots(v.Instrument, ticks)
		for n := engine.AccountID(2); n < demoUsers; n++ {
			sell := engine.Command{Kind: engine.Place, Pair: v.Instrument.ID, Account: n, Side: engine.Sell, Price: ticks, Amount: lots, STP: engine.CancelTaker}
			buy := engine.Command{
				Kind: engine.Place, Pair: v.Instrument.ID, Account: n + 1, Side: engine.Buy, Type: engine.Market, TIF: engine.IOC,
				Flags: engine.FlagQuote, Quote: fixed.Mul64(uint64(ticks), uint64(lots)), STP: engine.CancelTaker,
			}
			rest := engine.Command{Kind: engine.CancelAll, Pair: v.Instrument.ID, Account: n}
			for _, cmd := range []engine.Command{sell, buy, rest} {
				if err := desk.Entry().Do(cmd); err != nil { // the market may refuse it
					return err
				}
			}
		}
	}
	return nil
}

// demoLots returns an amount worth about ten smallest orders.
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

// demoKey prints a key pair once and on a terminal only: it is in no file and no log.
func (a *accountSide) demoKey(x *exchange) error {
	if !isTerminal(x.p.out) {
		return nil
	}
	for _, k := range a.state.View().Keys(1, 0) {
		if k.Name == demoKeyName {
			return nil
		}
	}
	res, err := a.store.Do(accounts.Command{
		Kind: accounts.CreateKey, User: 1, Key: accounts.KeyRequest{Name: demoKeyName, CanTrade: true},
	})
	if err != nil {
		return fmt.Errorf("demo key: %w", err)
	}
	_, err = fmt.Fprintf(x.p.out, "\ndemo key of user demo-1, shown once\n  public   %s\n  private  %s\n  page     http://%s/#key=%s:%s\n\n",
		res.Key.PublicKey, res.Secret.Reveal(), x.publicLn.Addr(), res.Key.PublicKey, res.Secret.Reveal())
	return err
}

// isTerminal reports whether w, a writer or a reader, is a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
