package config

import (
	"strings"

	"github.com/tickhive/tickhive/internal/setting"
)

// The values of market.pairs beside none, each with the pairs of the one before it.
const (
	PairsBuiltin = "builtin"
	pairsCommon  = "common"
	pairsHundred = "hundred"
)

// addPairs adds the pairs of market.pairs, and their currencies, that the configuration does not have. The digits
// are those of Binance of October 2025 (of INJ_USDT and VET_USDT of March 2026); where price x amount does not fit the
// digits of the quote currency then, the amount has a digit less. The prices of all pairs agree: BTC_USDT x LTC_BTC is
// LTC_USDT.
func (c *Config) addPairs() {
	var assets []AssetConfig
	var pairs []PairConfig
	switch c.Market.Pairs {
	case pairsHundred:
		assets, pairs = append(commonAssets(), hundredAssets()...), append(commonPairs(), hundredPairs()...)
	case pairsCommon:
		assets, pairs = commonAssets(), commonPairs()
	default:
		return
	}
	have := map[string]bool{}
	for i := range c.Assets {
		have[c.Assets[i].Symbol] = true
	}
	for _, a := range append(builtinAssets(), assets...) {
		if !have[a.Symbol] {
			c.Assets = append(c.Assets, a)
		}
	}
	for i := range c.Pairs {
		have[c.Pairs[i].Code] = true
	}
	for _, p := range append(builtinPairs(), pairs...) {
		if !have[p.Code] {
			c.Pairs = append(c.Pairs, p)
		}
	}
}

// plainAsset returns a currency whose limits of withdrawals are not configured.
func plainAsset(symbol, name string) AssetConfig {
	return AssetConfig{
		Symbol: symbol, Name: name, Adapter: strings.ToLower(symbol), MakerFee: defaultFee, TakerFee: defaultFee,
		RefillRate: "0", RefillMin: "0", WithdrawRate: "0", WithdrawMin: "0",
	}
}

// The largest prices and amounts of plain pairs, by their digits.
var (
	maxPrices  = [...]setting.Decimal{"", "1000000", "1000000", "10000", "10000", "1000", "1000", "1000", "1000"}
	maxAmounts = [...]setting.Decimal{"9000000000", "9000000", "900000", "90000", "9000", "9000"}
)

// plainPair returns a pair whose limits follow from its digits.
func plainPair(code string, digitsPrice, digitsAmount int, reference setting.Decimal, weight int) PairConfig {
	_, quote, _ := strings.Cut(code, "_")
	minQuote := setting.Decimal("5")
	switch quote {
	case "BTC":
		minQuote = "0.0001"
	case "ETH":
		minQuote = "0.001"
	case "BNB":
		minQuote = "0.01"
	}
	return PairConfig{
		Code: code, DigitsPrice: digitsPrice, DigitsAmount: digitsAmount, MinQuote: minQuote, MaxQuote: "1000000000",
		MaxPrice: maxPrices[digitsPrice], MaxAmount: maxAmounts[digitsAmount],
		BandUp: "10", BandDown: "0.1", MakerFee: defaultFee, TakerFee: defaultFee, Reference: reference, Weight: weight,
	}
}

// commonAssets returns the currencies of commonPairs that are not built in.
func commonAssets() []AssetConfig {
	a := plainAsset
	return []AssetConfig{
		a("LINK", "Chainlink"),
		a("BCH", "Bitcoin Cash"),
		a("AVAX", "Avalanche"),
		a("USDC", "USD Coin"),
		a("DOT", "Polkadot"),
		a("TRX", "TRON"),
		a("ATOM", "Cosmos"),
		a("UNI", "Uniswap"),
		a("XLM", "Stellar"),
		a("ETC", "Ethereum Classic"),
		a("NEAR", "NEAR Protocol"),
		a("SHIB", "Shiba Inu"),
	}
}

// commonPairs returns other pairs that programs for Binance name often.
func commonPairs() []PairConfig {
	p := plainPair
	return []PairConfig{
		p("LTC_BTC", 6, 2, "0.001262", 5),
		p("BNB_BTC", 6, 2, "0.008923", 6),
		p("XRP_BTC", 8, 0, "0.000008", 4),
		p("ADA_BTC", 8, 0, "0.00000692", 3),
		p("LINK_BTC", 7, 1, "0.0002154", 2),
		p("BCH_BTC", 6, 2, "0.005846", 2),
		p("AVAX_BTC", 7, 1, "0.0004308", 2),
		p("BNB_ETH", 4, 3, "0.1706", 2),
		p("LTC_ETH", 5, 3, "0.02412", 1),
		p("XRP_ETH", 7, 1, "0.0001529", 2),
		p("BTC_USDC", 2, 5, "65000", 12),
		p("ETH_USDC", 2, 4, "3400", 8),
		p("SOL_USDC", 2, 3, "150", 6),
		p("XRP_USDC", 4, 1, "0.52", 4),
		p("BNB_USDC", 2, 3, "580", 3),
		p("USDC_USDT", 4, 0, "1", 6),
		p("EUR_USDT", 4, 1, "1.0833", 4),
		p("XRP_EUR", 4, 1, "0.48", 3),
		p("SOL_EUR", 2, 3, "138.46", 2),
		p("ADA_EUR", 4, 1, "0.4154", 2),
		p("BNB_EUR", 2, 3, "535.38", 2),
		p("LINK_USDT", 2, 2, "14", 6),
		p("AVAX_USDT", 2, 2, "28", 6),
		p("DOT_USDT", 3, 2, "6.2", 5),
		p("TRX_USDT", 4, 1, "0.13", 6),
		p("BCH_USDT", 1, 3, "380", 5),
		p("ATOM_USDT", 3, 2, "6.5", 3),
		p("UNI_USDT", 3, 2, "7.5", 3),
		p("XLM_USDT", 4, 0, "0.11", 3),
		p("ETC_USDT", 2, 2, "20", 3),
		p("NEAR_USDT", 3, 1, "4.8", 4),
		p("SHIB_USDT", 8, 0, "0.000018", 6),
	}
}

// hundredAssets returns the further currencies of hundredPairs.
func hundredAssets() []AssetConfig {
	a := plainAsset
	return []AssetConfig{
		a("POL", "Polygon"),
		a("FIL", "Filecoin"),
		a("AAVE", "Aave"),
		a("PEPE", "Pepe"),
		a("ICP", "Internet Computer"),
		a("APT", "Aptos"),
		a("ARB", "Arbitrum"),
		a("OP", "Optimism"),
		a("INJ", "Injective"),
		a("SUI", "Sui"),
		a("TON", "Toncoin"),
		a("ALGO", "Algorand"),
		a("VET", "VeChain"),
		a("GRT", "The Graph"),
		a("SAND", "The Sandbox"),
		a("MANA", "Decentraland"),
		a("THETA", "Theta Network"),
		a("XTZ", "Tezos"),
		a("HBAR", "Hedera"),
		a("RUNE", "THORChain"),
		a("STX", "Stacks"),
		a("LDO", "Lido DAO"),
		a("CRV", "Curve DAO"),
		a("MKR", "Maker"),
		a("COMP", "Compound"),
		a("SNX", "Synthetix"),
		a("DYDX", "dYdX"),
		a("JUP", "Jupiter"),
		a("WIF", "dogwifhat"),
		a("BONK", "Bonk"),
		a("FLOKI", "Floki"),
		a("FET", "Fetch.ai"),
		a("RENDER", "Render"),
		a("GALA", "Gala"),
		a("ENS", "Ethereum Name Service"),
		a("EGLD", "MultiversX"),
		a("ZEC", "Zcash"),
		a("DASH", "Dash"),
		a("NEO", "Neo"),
		a("IOTA", "IOTA"),
		a("CHZ", "Chiliz"),
		a("BAT", "Basic Attention Token"),
		a("CAKE", "PancakeSwap"),
		a("KSM", "Kusama"),
		a("QTUM", "Qtum"),
		a("FDUSD", "First Digital USD"),
		a("TUSD", "TrueUSD"),
	}
}

// hundredPairs returns the pairs that make a hundred.
func hundredPairs() []PairConfig {
	p := plainPair
	return []PairConfig{
		p("POL_USDT", 4, 1, "0.45", 1),
		p("FIL_USDT", 3, 2, "4.2", 1),
		p("AAVE_USDT", 2, 3, "100", 1),
		p("PEPE_USDT", 8, 0, "0.0000105", 1),
		p("ICP_USDT", 3, 2, "9", 1),
		p("APT_USDT", 3, 2, "7.2", 1),
		p("ARB_USDT", 4, 1, "0.75", 1),
		p("OP_USDT", 4, 2, "1.7", 1),
		p("INJ_USDT", 3, 2, "22", 1),
		p("SUI_USDT", 4, 1, "1.3", 1),
		p("TON_USDT", 3, 2, "6.8", 1),
		p("ALGO_USDT", 4, 0, "0.15", 1),
		p("VET_USDT", 6, 1, "0.025", 1),
		p("GRT_USDT", 5, 0, "0.19", 1),
		p("SAND_USDT", 4, 0, "0.3", 1),
		p("MANA_USDT", 4, 0, "0.32", 1),
		p("THETA_USDT", 3, 1, "1.4", 1),
		p("XTZ_USDT", 4, 1, "0.75", 1),
		p("HBAR_USDT", 5, 0, "0.07", 1),
		p("RUNE_USDT", 3, 1, "4.1", 1),
		p("STX_USDT", 4, 1, "1.6", 1),
		p("LDO_USDT", 4, 2, "1.3", 1),
		p("CRV_USDT", 4, 1, "0.31", 1),
		p("MKR_USDT", 1, 4, "2500", 1),
		p("COMP_USDT", 2, 3, "50", 1),
		p("SNX_USDT", 3, 1, "1.9", 1),
		p("DYDX_USDT", 4, 2, "1.3", 1),
		p("JUP_USDT", 4, 1, "0.8", 1),
		p("WIF_USDT", 3, 2, "2", 1),
		p("BONK_USDT", 8, 0, "0.00002", 1),
		p("FLOKI_USDT", 8, 0, "0.00014", 1),
		p("FET_USDT", 4, 1, "1.3", 1),
		p("RENDER_USDT", 3, 2, "6.5", 1),
		p("GALA_USDT", 5, 0, "0.024", 1),
		p("ENS_USDT", 2, 2, "22", 1),
		p("EGLD_USDT", 2, 2, "32", 1),
		p("ZEC_USDT", 2, 3, "28", 1),
		p("DASH_USDT", 2, 3, "26", 1),
		p("NEO_USDT", 3, 2, "11", 1),
		p("IOTA_USDT", 4, 0, "0.15", 1),
		p("CHZ_USDT", 5, 0, "0.07", 1),
		p("BAT_USDT", 4, 0, "0.2", 1),
		p("CAKE_USDT", 3, 2, "2", 1),
		p("KSM_USDT", 2, 3, "22", 1),
		p("QTUM_USDT", 3, 1, "2.6", 1),
		p("FDUSD_USDT", 4, 0, "1", 1),
		p("TUSD_USDT", 4, 0, "1", 1),
		p("BTC_FDUSD", 2, 5, "65000", 1),
		p("ETH_FDUSD", 2, 4, "3400", 1),
		p("DOGE_USDC", 5, 0, "0.12", 1),
		p("ADA_USDC", 4, 1, "0.45", 1),
		p("ADA_ETH", 7, 1, "0.0001324", 1),
		p("SOL_ETH", 5, 3, "0.04412", 1),
		p("SOL_BNB", 4, 3, "0.2586", 1),
		p("XRP_BNB", 7, 1, "0.0008966", 1),
		p("DOGE_EUR", 5, 0, "0.11077", 1),
	}
}
