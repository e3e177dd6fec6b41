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
func (d *decisions) grow() {
	if d.ledger.Len() > 0 {
		if newest, _ := d.ledger.ByNFT(uint64(launchpad.FirstAgentNFT + d.ledger.Len() - 1)); newest.Empty() {
			d.fill(newest)
		}
	}
	if n := d.ledger.Len(); n >= maxTokens || n >= firstTokens && !d.oneIn(spawnEvery/d.stride(d.nowNs)) {
		return
	}
	d.spawn()
}

// spawn spawns a token for a resident whose cooldown is over.
func (d *decisions) spawn() {
	owner := d.resident()
	for range 8 {
		if d.ledger.Owned(owner.Address) == 0 {
			break
		}
		owner = d.resident()
	}
	d.need(owner, launchpad.NATIVE, d.ledger.Options().Fee)
	cmd := launchpad.Spawn{Owner: owner.Address}
	if n := d.ledger.Len(); n < len(ideas) {
		cmd.Symbol, cmd.Name = ideas[n].symbol, ideas[n].name
		cmd.Metadata = fmt.Sprintf(`{"description":%q,"website":"https://example.org/%s"}`, ideas[n].about,
			ideas[n].symbol)
	} else {
		var letters [5]byte
		for i := range letters {
			letters[i] = byte('A' + d.below(26))
		}
		cmd.Symbol = string(letters[:])
		cmd.Name = "Agent " + cmd.Symbol
	}
	if d.oneIn(3) {
		cmd.PoolSide = launchpad.WNative
	}
	cmd.TotalSupply = pick(&d.rng, supplies)
	d.addLedger(cmd)
}

// fill adds the first liquidity of a token, paid by its owner.
func (d *decisions) fill(token *launchpad.Token) {
	owner := d.at(token.Owner)
	if owner == nil {
		return // the owner of the token is not a resident
	}
	quote := launchpad.AmountOf(uint64(d.heavy(20_000)))
	d.need(owner, token.Side.Currency(), quote)
	d.addLedger(launchpad.AddLiquidity{
		Token: token.No, From: owner.Address,
		TokenAmount: share(d.ledger.Holding(owner.Address, token), d.between(20, 60)), QuoteAmount: quote,
	})
}

// at returns the resident with this address, nil when there is none.
func (d *decisions) at(a launchpad.Address) *Resident {
	for i := range d.opt.Residents {
		if d.opt.Residents[i].Address == a {
			return &d.opt.Residents[i]
		}
	}
	return nil
}
