package exchange

import (
	"fmt"

	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/launchpad"
)

// Holdings of the first demo user: enough for spawns, and shares of tokens with an open vote,
// so that a person can try every route at once.
const (
	demoNative = 1_000
	demoUSBI   = 10_000
	demoTokens = 3
	demoBuy    = 50 // units of the pool's quote currency in each purchase
)

// fundDemoUser gives the first demo user its holdings in a new launchpad. It runs after the
// accounts have created the users and before clients are admitted.
func (x *Running) fundDemoUser() error {
	a := x.agents
	if a.residents == nil || !a.fresh {
		return nil
	}
	_, text := x.accounts.view.Level(1)
	user, ok := launchpad.ParseAddress(text)
	if !ok {
		return nil
	}
	for _, cmd := range []launchpad.Command{
		launchpad.Deposit{To: user, Currency: launchpad.NATIVE, Amount: launchpad.AmountOf(demoNative)},
		launchpad.Deposit{To: user, Currency: launchpad.USBICoin, Amount: launchpad.AmountOf(demoUSBI)},
	} {
		if _, err := a.DoLaunchpad(cmd); err != nil {
			return fmt.Errorf("demo user's funds: %w", err)
		}
	}
	active := hive.ProposalActive
	_, swarm := a.Views()
	open := swarm.Proposals(hive.ProposalQuery{
		Page: hive.Page{Page: 1, PageSize: demoTokens}, Status: &active,
	})
	for i := range open.Items {
		ledger, _ := a.Views()
		token, ok := ledger.ByNFT(open.Items[i].TokenID())
		if !ok || token.Empty() {
			continue
		}
		buy := launchpad.Swap{Token: token.No, From: user, AmountIn: launchpad.AmountOf(demoBuy)}
		if _, err := a.DoLaunchpad(buy); err != nil {
			return fmt.Errorf("demo user's tokens: %w", err)
		}
	}
	return nil
}
