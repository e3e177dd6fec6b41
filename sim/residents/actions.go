package residents

import (
	"fmt"
	"math/big"

	"github.com/tickhive/tickhive/hive"
	"github.com/tickhive/tickhive/launchpad"
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

// share returns perCent per cent of an amount, rounded down.
func share(a launchpad.Amount, perCent int64) launchpad.Amount {
	v := a.Big()
	v.Mul(v, big.NewInt(perCent)).Quo(v, big.NewInt(100))
	part, ok := launchpad.AmountFromBig(v)
	if !ok {
		panic("BUG: residents: a share above the whole")
	}
	return part
}

// trade makes one swap: a random resident buys, or a holder sells.
func (d *decisions) trade() {
	token := d.remembered()
	if token == nil || token.Empty() {
		return
	}
	who := d.resident()
	held := d.ledger.Holding(who.Address, token)
	if !held.IsZero() && d.below(100) < 42 {
		if amount := share(held, d.between(3, 40)); !amount.IsZero() {
			d.addLedger(launchpad.Swap{Token: token.No, From: who.Address, Sell: true, AmountIn: amount})
		}
		return
	}
	// A buy of this size moves the price by a few per cent at most.
	amount := share(token.ReserveQuote, 1)
	amount = share(amount, d.between(10, 300))
	if amount.IsZero() {
		return
	}
	d.need(who, token.Side.Currency(), amount)
	d.addLedger(launchpad.Swap{Token: token.No, From: who.Address, AmountIn: amount})
}

// boost buys a boost for a random token.
func (d *decisions) boost() {
	if token := d.remembered(); token != nil {
		tiers := []launchpad.Tier{
			launchpad.Short, launchpad.Short, launchpad.Standard, launchpad.Standard,
			launchpad.Extended,
		}
		d.addLedger(launchpad.BuyBoost{Token: token.No, Tier: pick(&d.rng, tiers)})
	}
}

// transfer transfers a part of a resident's tokens to another one, or adds liquidity to the pool.
func (d *decisions) transfer() {
	token := d.remembered()
	if token == nil {
		return
	}
	from := d.resident()
	held := d.ledger.Holding(from.Address, token)
	if part := share(held, d.between(1, 10)); !part.IsZero() {
		if token.Empty() || d.oneIn(2) {
			d.addLedger(launchpad.Transfer{Token: token.No, From: from.Address, To: d.resident().Address, Amount: part})
			return
		}
		quote := share(token.ReserveQuote, d.between(1, 8))
		if quote.IsZero() {
			return
		}
		d.need(from, token.Side.Currency(), quote)
		d.addLedger(launchpad.AddLiquidity{Token: token.No, From: from.Address, TokenAmount: part, QuoteAmount: quote})
	}
}

// act makes an agent act on a token: mostly workers, sometimes scouts, rarely queens.
func (d *decisions) act() {
	token := d.remembered()
	if token == nil {
		return
	}
	a := hive.Act{TokenID: token.AgentNFT()}
	switch n := d.below(100); {
	case n < 55:
		d.work(&a, token)
	case n < 85:
		d.scout(&a)
	default:
		d.rule(&a)
	}
	d.addHive(a)
}

func (d *decisions) work(a *hive.Act, token *launchpad.Token) {
	a.Source = hive.Agent{Tier: hive.WorkerTier, N: token.No}.String()
	switch n := d.below(10); {
	case n < 6:
		a.Type, a.Reason = hive.Observation, pick(&d.rng, seen)
		a.Payload = fmt.Sprintf(`{"holders":%d,"boosted":%t}`, token.Holders, token.Boosted)
	case n < 9:
		a.Type, a.Reason = hive.RiskScore, pick(&d.rng, risks)
		a.Payload = fmt.Sprintf(`{"score":%d}`, d.between(5, 95))
	default:
		a.Type, a.Reason = hive.ParamUpdate, "adaptive_slippage"
		a.Payload = d.slippage()
	}
}

func (d *decisions) scout(a *hive.Act) {
	a.Source = hive.Agent{Tier: hive.Scout, N: uint32(d.between(1, scouts))}.String()
	switch n := d.below(20); {
	case n < 10:
		a.Type, a.Reason = hive.Signal, pick(&d.rng, patterns)
		a.Payload = fmt.Sprintf(`{"strength":%d}`, d.between(1, 100))
	case n < 14:
		a.Type, a.Reason = hive.Flag, pick(&d.rng, alarms)
		a.Payload = fmt.Sprintf(`{"severity":%q}`, pick(&d.rng, severities))
	case n < 19:
		a.Type, a.Reason = hive.RiskScore, pick(&d.rng, risks)
		a.Payload = fmt.Sprintf(`{"score":%d}`, d.between(5, 95))
	default:
		a.Type, a.Reason, a.Payload = hive.Override, "scout_risk_override", d.slippage()
	}
}

func (d *decisions) rule(a *hive.Act) {
	a.Source = hive.Agent{Tier: hive.Queen, N: uint32(d.between(1, queens))}.String()
	if lifted := d.suspended(); lifted != 0 && d.oneIn(2) {
		a.TokenID, a.Type, a.Reason, a.Payload = lifted, hive.Suspension, "review_passed", `{"suspended":false}`
		return
	}
	switch n := d.below(20); {
	case n < 7:
		a.Type, a.Reason = hive.Directive, pick(&d.rng, goals)
	case n < 12:
		a.Type, a.Reason = hive.BudgetAllocation, "weekly_budget"
		a.Payload = fmt.Sprintf(`{"budget":%d,"currency":"USBI"}`, 100*d.between(1, 50))
	case n < 15:
		a.Type, a.Reason = hive.ConfigUpdate, "policy_update"
		a.Payload = fmt.Sprintf(`{"mevProtection":%q}`, pick(&d.rng, protections))
	case n < 19:
		a.Type, a.Reason, a.Payload = hive.Override, "queen_risk_override", d.slippage()
	default:
		a.Type, a.Reason, a.Payload = hive.Suspension, "anomalous_flow", `{"suspended":true}`
	}
}

// suspended returns the token of a suspended worker, 0 when there is none.
func (d *decisions) suspended() uint64 {
	status := hive.Suspended
	list := d.hive.Workers(d.nowNs, hive.WorkerQuery{Page: hive.Page{Page: 1, PageSize: 1}, Status: &status})
	if len(list.Items) == 0 {
		return 0
	}
	return list.Items[0].TokenID
}

func (d *decisions) slippage() string {
	return fmt.Sprintf(`{"slippageCapBps":%d}`, 5*d.between(hive.MinSlippageBps/5, hive.MaxSlippageBps/5))
}

// propose opens a proposal about a token's worker; some of the proposals are urgent.
func (d *decisions) propose() {
	token := d.remembered()
	if token == nil || token.Empty() {
		return
	}
	p := hive.Propose{TokenID: token.AgentNFT(), Urgent: d.oneIn(2), Proposer: "token-holders"}
	switch d.below(3) {
	case 0:
		p.Topic, p.Payload = hive.SlippageCap, d.slippage()
	case 1:
		p.Topic, p.Payload = hive.MEVProtection, fmt.Sprintf(`{"mevProtection":%q}`, pick(&d.rng, protections))
	default:
		p.Topic = hive.SignalSubscriptions
		p.Payload = fmt.Sprintf(`{"signalSubscriptions":["scout-token-quality",%q]}`, pick(&d.rng, feeds))
	}
	if d.oneIn(3) {
		p.Proposer = hive.Agent{Tier: hive.Scout, N: uint32(d.between(1, scouts))}.String()
	}
	d.addHive(p)
}

// votingPart is the part of a proposal's duration, in per cent, within which residents vote.
const votingPart = 85

// votes casts the votes of this step. A resident's time of voting on a proposal is a function of the two alone,
// so no resident votes twice.
func (d *decisions) votes(sinceNs int64) {
	active := hive.ProposalActive
	list := d.hive.Proposals(hive.ProposalQuery{Page: hive.Page{Page: 1, PageSize: 100}, Status: &active})
	for i := range list.Items {
		p := &list.Items[i]
		token, ok := d.ledger.ByNFT(p.TokenID())
		if !ok {
			continue
		}
		// Each proposal has its own popularity; most find support.
		mood := newRNG(d.opt.Seed, uint64(p.CreatedSec)<<24^p.TokenID())
		yes := pick(&mood, []int64{90, 80, 75, 40})
		for j := range d.opt.Residents {
			moment := p.CreatedSec*secondNs + 1 + mood.below((p.ClosesSec-p.CreatedSec)*secondNs*votingPart/100)
			if sinceNs < moment && moment <= d.nowNs {
				d.vote(&d.opt.Residents[j], p, token, yes)
			}
		}
	}
}

// vote casts the vote of one resident, if they may vote.
func (d *decisions) vote(who *Resident, p *hive.ProposalInfo, token *launchpad.Token, yes int64) {
	held := d.ledger.Holding(who.Address, token)
	if who.Level < hive.MinLevel || held.Less(launchpad.One) {
		return
	}
	v := hive.CastVote{
		TokenID: p.TokenID(), ProposalID: p.ID(), User: who.User, Level: who.Level, Vote: hive.No,
		Holdings: held.Big(), Owned: d.ledger.Owned(who.Address),
		Checkpoint: p.Checkpoint, Counted: d.ledger.HeldAt(who.Address, token, p.Checkpoint).Big(),
	}
	switch n := d.below(100); {
	case n < yes:
		v.Vote = hive.Yes
	case n > 94:
		v.Vote = hive.Abstain
	}
	if d.oneIn(3) {
		v.Comment = pick(&d.rng, comments[v.Vote])
	}
	d.addHive(v)
}

// The numbers of the hive's queens and scouts (docs/contract/hive.md#workers).
const (
	queens = 3
	scouts = 2
)

// idea holds the symbol, name and description of a token.
type idea struct{ symbol, name, about string }

// ideas holds the first tokens to spawn. Later tokens get random letters.
var ideas = []idea{
	{"HONEY", "Honeycomb Index", "Follows the busiest pools of the hive."},
	{"DRONE", "Drone Logistics", "Routes small swaps in swarms."},
	{"NECTR", "Nectar Yield", "Collects fees where they flow."},
	{"WAX", "Wax Storage", "Pays for storage by the cell."},
	{"POLLN", "Pollen Signals", "Spreads what scouts have found."},
	{"BUZZ", "Buzz Meter", "Counts what everyone talks about."},
	{"STING", "Sting Guard", "Keeps sandwich traders away."},
	{"CLOVR", "Clover Field", "A basket of small gardens."},
	{"QUEEN", "Queen Reserve", "Backed by budgets of the queens."},
	{"LARVA", "Larva Labs", "Agents that are still learning."},
	{"AMBER", "Amber Archive", "Keeps the action log for ever."},
	{"THYME", "Thyme Keeper", "Schedules what must not be late."},
	{"MEADE", "Mead Exchange", "Slow trades, well aged."},
	{"SWRM", "Swarm Compute", "Rents idle workers."},
	{"HEXA", "Hexagon Maps", "Maps liquidity cell by cell."},
	{"LINDN", "Linden Grove", "Long-term holders only."},
	{"ROYAL", "Royal Jelly", "Grows whoever is fed with it."},
	{"FORGE", "Forager", "Finds arbitrage in the open field."},
	{"SMOKE", "Smoker", "Calms a market down."},
	{"BRRR", "Winter Cluster", "Stays warm when volume is low."},
	{"VEIL", "Veil Privacy", "Orders that nobody sees coming."},
	{"PETAL", "Petal Pay", "Tiny payments for tiny work."},
	{"COMB", "Comb Oracle", "Prices from many small sources."},
	{"MITES", "Mite Watch", "Flags what eats at a pool."},
	{"DANCE", "Waggle Dance", "Tells the others the direction."},
	{"ORCHD", "Orchard", "Harvests once a week."},
	{"GLADE", "Glade Credit", "Lends against blossoms."},
	{"BRIAR", "Briar Hedge", "Keeps losses behind thorns."},
	{"SUNNY", "Sunny Side", "Buys in the morning."},
	{"DUSK", "Dusk Vault", "Sells in the evening."},
	{"TRAIL", "Trail Marker", "Remembers every path."},
	{"BLOOM", "Bloom Season", "Here for one spring."},
	{"KEEPR", "Keeper", "Watches over quiet pools."},
	{"SKEP", "Skep Classic", "The old way of keeping."},
	{"PROPO", "Propolis Seal", "Closes small gaps."},
	{"CELLS", "Cell by Cell", "Builds slowly, keeps everything."},
}

var supplies = []string{"", "", "", "1000000", "21000000", "100000000", "5000000000", "10000000000"}

// Texts of the agents' log entries, by kind of action. Reason codes have at most 32 characters.
var (
	seen = []string{
		"pool_depth_ok", "spread_widened", "volume_spike", "holder_growth", "price_stable",
		"inflow_rising",
	}
	risks       = []string{"concentration", "volatility_high", "depth_falling", "routine_review"}
	patterns    = []string{"momentum_up", "momentum_down", "accumulation", "breakout", "mean_reversion"}
	alarms      = []string{"thin_liquidity", "wash_pattern", "whale_exit", "price_gap"}
	severities  = []string{"low", "medium", "high"}
	goals       = []string{"widen_watch", "reduce_exposure", "raise_activity", "report_daily"}
	protections = []string{"off", "standard", "standard", "strict"}
	feeds       = []string{"scout-trading-pattern", "scout-liquidity-watch", "scout-sentiment"}
	comments    = [...][]string{
		{"Worth a try.", "The numbers speak for it.", "Long overdue.", "Agreed, with care."},
		{"Too early.", "This makes swaps worse for small holders.", "Not without a test.", "No."},
		{"No opinion on this one.", "Waiting for more data."},
	}
)
