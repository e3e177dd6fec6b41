package residents

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
