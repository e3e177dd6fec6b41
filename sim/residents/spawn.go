package residents

import (
	"fmt"

	"tickhive/launchpad"
)

// Growth of the launchpad: firstTokens at the start, then about one every spawnEvery steps (five hours), up to
// maxTokens.
const (
	firstTokens = 14
	spawnEvery  = 600
	maxTokens   = 240
)

// grow spawns a token, or adds the first liquidity to the newest one.
func (t *decisions) grow() {
	if t.ledger.Len() > 0 {
		if newest, _ := t.ledger.ByNFT(uint64(launchpad.FirstAgentNFT + t.ledger.Len() - 1)); newest.Empty() {
			t.fill(newest)
		}
	}
	if n := t.ledger.Len(); n >= maxTokens || n >= firstTokens && !t.oneIn(spawnEvery/t.stride(t.nowNs)) {
		return
	}
	t.spawn()
}

// spawn spawns a token for a resident whose cooldown is over.
func (t *decisions) spawn() {
	owner := t.resident()
	for range 8 {
		if t.ledger.Owned(owner.Address) == 0 {
			break
		}
		owner = t.resident()
	}
	t.need(owner, launchpad.NATIVE, t.ledger.Options().Fee)
	cmd := launchpad.Spawn{Owner: owner.Address}
	if n := t.ledger.Len(); n < len(ideas) {
		cmd.Symbol, cmd.Name = ideas[n].symbol, ideas[n].name
		cmd.Metadata = fmt.Sprintf(`{"description":%q,"website":"https://example.org/%s"}`, ideas[n].about,
			ideas[n].symbol)
	} else {
		var letters [5]byte
		for i := range letters {
			letters[i] = byte('A' + t.below(26))
		}
		cmd.Symbol = string(letters[:])
		cmd.Name = "Agent " + cmd.Symbol
	}
	if t.oneIn(3) {
		cmd.PoolSide = launchpad.WNative
	}
	cmd.TotalSupply = pick(&t.rng, supplies)
	t.addLedger(cmd)
}

// fill adds the first liquidity of a token, paid by its owner.
func (t *decisions) fill(token *launchpad.Token) {
	owner := t.at(token.Owner)
	if owner == nil {
		return // the owner of the token is not a resident
	}
	quote := launchpad.AmountOf(uint64(t.heavy(20_000)))
	t.need(owner, token.Side.Currency(), quote)
	t.addLedger(launchpad.AddLiquidity{
		Token: token.No, From: owner.Address,
		TokenAmount: share(t.ledger.Holding(owner.Address, token), t.between(20, 60)), QuoteAmount: quote,
	})
}

// at returns the resident with this address, nil when there is none.
func (t *decisions) at(a launchpad.Address) *Resident {
	for i := range t.opt.Residents {
		if t.opt.Residents[i].Address == a {
			return &t.opt.Residents[i]
		}
	}
	return nil
}
