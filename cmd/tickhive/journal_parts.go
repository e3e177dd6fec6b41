package main

import (
	"math/big"
	"time"

	"github.com/google/uuid"

	"github.com/tickhive/tickhive/accounts"
	"github.com/tickhive/tickhive/engine"
	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/internal/fixed"
	"github.com/tickhive/tickhive/internal/machine"
	"github.com/tickhive/tickhive/internal/seal"
	"github.com/tickhive/tickhive/launchpad"
)

// dumpOther returns the command of another part: its kind, and the members that help a reader. Private keys, real names
// and white lists are left out, and nothing sealed is opened.
func dumpOther(o *engine.ControlRecord) map[string]any {
	part := machine.Part(o.Part)
	if len(o.Record) == 0 && part != machine.Accounts {
		return map[string]any{"kind": "due"}
	}
	var err error
	m := map[string]any{}
	switch part {
	case machine.Accounts:
		var cmd accounts.Command
		if cmd, err = accounts.DecodeCommand(o.Record); err == nil {
			dumpAccounts(m, &cmd)
		}
	case machine.Launchpad:
		var cmd launchpad.Command
		if cmd, err = launchpad.DecodeCommand(o.Record); err == nil {
			dumpLaunchpad(m, cmd)
		}
	case machine.Hive:
		var cmd hive.Command
		if cmd, err = hive.DecodeCommand(o.Record); err == nil {
			dumpHive(m, cmd)
		}
	case machine.Market, machine.Parts: // no program writes them
	}
	if err != nil {
		m["error"] = err.Error()
	}
	return m
}

var accountsNames = map[accounts.Kind]string{
	accounts.CreateUser: "create_user", accounts.PatchUser: "patch_user", accounts.CreateKey: "create_key",
	accounts.DeleteKey: "delete_key", accounts.Deposit: "deposit", accounts.Withdraw: "withdraw",
	accounts.AddProfit: "add_profit", accounts.SetInviter: "set_inviter", accounts.CreateLink: "create_link",
	accounts.SetHalt: "set_halt", accounts.SetSwitch: "set_switch",
	accounts.Reseal: "reseal",
}

func dumpAccounts(m map[string]any, c *accounts.Command) {
	if m["kind"] = accountsNames[c.Kind]; c.Kind != accounts.CreateUser && c.Kind != accounts.Reseal {
		m["user"] = c.User
	}
	switch c.Kind {
	case accounts.CreateUser, accounts.PatchUser:
		dumpProfile(m, &c.Profile)
	case accounts.CreateKey:
		k := &c.Key
		if id, sealed := seal.KeyOf([]byte(k.Name)); sealed {
			m["sealed"] = id
		}
		m["publicKey"], m["signedBy"], m["ed25519"] = k.PublicKey, c.SignedBy, k.Ed25519 != nil
		m["rsa"] = k.RSA != nil
		m["canTrade"], m["canWithdraw"], m["canManageKeys"] = k.CanTrade, k.CanWithdraw, k.CanManageKeys
		m["expiresNs"] = k.ExpiresNs
	case accounts.DeleteKey:
		m["publicKey"], m["signedBy"] = c.PublicKey, c.SignedBy
	case accounts.Deposit, accounts.Withdraw:
		m["currency"], m["amount"] = c.Currency, decimal(c.Amount)
	case accounts.AddProfit:
		m["profit"], m["currency"], m["amount"] = c.Profit.String(), c.Currency, decimal(c.Amount)
	case accounts.SetInviter:
		m["code"] = c.Code
	case accounts.CreateLink:
		m["discountPercent"] = decimal(c.DiscountPercent)
	case accounts.SetHalt:
		m["halted"] = c.Halted
	case accounts.SetSwitch:
		m["timeoutMs"], m["firedNs"] = c.Timeout.Milliseconds(), c.FiredNs
	case accounts.Reseal:
		m["fields"] = len(c.Reseal)
		m["sealed"], _ = seal.KeyOf([]byte(c.Reseal[0].Text))
	}
}

// dumpProfile adds the members of a profile that were sent, but real names.
func dumpProfile(m map[string]any, p *accounts.ProfilePatch) {
	for _, name := range []*string{p.Name.Value, p.SecondName.Value} {
		if name != nil {
			if id, sealed := seal.KeyOf([]byte(*name)); sealed {
				m["sealed"] = id
			}
		}
	}
	given(m, "nickname", p.Nickname)
	given(m, "level", p.Level)
	given(m, "stakingLevel", p.StakingLevel)
	given(m, "isAmbassador", p.IsAmbassador)
	given(m, "unlimited", p.Unlimited)
	given(m, "avatarId", p.AvatarID)
	given(m, "noTradeCommissions", p.NoTradeCommissions)
	for name, v := range map[string]*fixed.I128{
		"secondLevelPercent": p.SecondLevelPercent, "dealBidDiscount": p.DealBidDiscount,
		"dealAskDiscount": p.DealAskDiscount,
	} {
		if v != nil {
			m[name] = decimal(*v)
		}
	}
}

func given[T any](m map[string]any, name string, v *T) {
	if v != nil {
		m[name] = *v
	}
}

func dumpLaunchpad(m map[string]any, cmd launchpad.Command) {
	switch c := cmd.(type) {
	case launchpad.Begin:
		m["kind"], m["seed"] = "begin", c.Seed
	case launchpad.Spawn:
		m["kind"], m["owner"], m["name"], m["symbol"] = "spawn", c.Owner.String(), c.Name, c.Symbol
		m["totalSupply"], m["poolSide"] = c.TotalSupply, c.PoolSide.String()
	case launchpad.Deposit:
		m["kind"], m["to"] = "deposit", c.To.String()
		m["currency"], m["amount"] = c.Currency.String(), c.Amount.String()
	case launchpad.Withdraw:
		m["kind"], m["from"] = "withdraw", c.From.String()
		m["currency"], m["amount"] = c.Currency.String(), c.Amount.String()
	case launchpad.Transfer:
		m["kind"], m["token"], m["amount"] = "transfer", c.Token, c.Amount.String()
		m["from"], m["to"] = c.From.String(), c.To.String()
	case launchpad.AddLiquidity:
		m["kind"], m["token"], m["from"] = "add_liquidity", c.Token, c.From.String()
		m["tokenAmount"], m["quoteAmount"] = c.TokenAmount.String(), c.QuoteAmount.String()
	case launchpad.Swap:
		m["kind"], m["token"], m["from"], m["sell"] = "swap", c.Token, c.From.String(), c.Sell
		m["amountIn"], m["minOut"] = c.AmountIn.String(), c.MinOut.String()
	case launchpad.BuyBoost:
		m["kind"], m["token"], m["tier"] = "buy_boost", c.Token, c.Tier.String()
	case launchpad.InjectFault:
		m["kind"], m["count"] = "inject_fault", c.Count
	}
}

func dumpHive(m map[string]any, cmd hive.Command) {
	switch c := cmd.(type) {
	case hive.Begin:
		m["kind"], m["seed"], m["genesisNs"] = "begin", c.Seed, c.GenesisNs
	case hive.Act:
		m["kind"], m["source"], m["tokenId"], m["type"] = "act", c.Source, c.TokenID, c.Type.String()
		m["payload"], m["reason"] = c.Payload, c.Reason
	case hive.Propose:
		m["kind"], m["tokenId"], m["topic"] = "propose", c.TokenID, c.Topic.String()
		m["payload"], m["proposer"], m["urgent"] = c.Payload, c.Proposer, c.Urgent
	case hive.CastVote:
		m["kind"], m["tokenId"], m["proposalId"] = "cast_vote", c.TokenID, c.ProposalID
		m["vote"], m["user"], m["level"], m["owned"] = c.Vote.String(), uuid.UUID(c.User).String(), c.Level, c.Owned
		m["checkpoint"], m["holdings"], m["counted"] = c.Checkpoint, units(c.Holdings), units(c.Counted)
	}
}

// dumpSettings returns all settings of a record, by the keys of the configuration where they come from one.
func dumpSettings(encoded []byte) map[string]any {
	s, err := machine.DecodeSettings(encoded)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	e, k, a, l, h := &s.Engine, &s.Market, &s.Accounts, &s.Launchpad, &s.Hive
	m := map[string]any{
		"engine.open_orders": e.OpenOrders, "engine.account_orders": e.AccountOrders,
		"engine.account_stops": e.AccountStops,
		"engine.account_lists": e.AccountLists,
		"market.trades_min":    k.TradesMin, "market.trades_max": k.TradesMax, "market.candles_kept": k.Candles,
		"orders.closed_kept": k.ClosedOrders, "orders.fills_kept": k.Fills, "orders.client_ids_kept": k.ClientIDs,
		"orders.lists_kept": k.Lists,
		"withdrawals":       map[string]any{"rate": rate(a.Withdrawal.Percent), "min": decimal(a.Withdrawal.Minimum)},
		"referral.levels":   rates(a.Referral.Levels), "referral.staking": rates(a.Referral.Staking[:]),
		"referral.bonus_share": rate(a.Referral.BonusShare),
		"launchpad.fee":        l.Fee.String(), "launchpad.native_usd": l.NativeUSD.String(),
		"launchpad.cooldown": time.Duration(l.CooldownNs).String(),
		"hive.quorum":        shortest(fixed.FromI64(h.QuorumCents), 2),
		"hive.queens":        h.Queens, "hive.scouts": h.Scouts,
	}
	for i := range a.Commissions {
		c := &a.Commissions[i]
		name := "refills."
		if c.Withdrawal {
			name = "withdrawals."
		}
		m[name+c.Currency] = map[string]any{
			"adapter": c.Adapter, "rate": rate(c.Percent), "min": decimal(c.Minimum),
		}
	}
	return m
}

// decimal returns an amount in 10^-18.
func decimal(v fixed.I128) string { return shortest(v, fixed.Scale) }

// rate returns a rate in 10^-8.
func rate(v uint32) string { return shortest(fixed.FromI64(int64(v)), 8) }

func rates(all []uint32) (texts []string) {
	for _, v := range all {
		texts = append(texts, rate(v))
	}
	return texts
}

func shortest(v fixed.I128, digits int) string { return string(fixed.AppendShortest(nil, v, digits)) }

// units returns a holding in 10^-18 as it is; nothing is 0.
func units(v *big.Int) string {
	if v == nil {
		return "0"
	}
	return v.String()
}
