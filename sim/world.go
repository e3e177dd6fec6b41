package sim

import "time"

// worldStep is the time between two moves of the world.
const worldStep = int64(time.Second)

// Parameters of volatility. Its logarithm is the sum of a part that all assets share and each
// asset's own part; both revert to their mean and receive a random shock every second. Their
// standard deviations make the heavy tails (kurtosis 3 exp(4 s^2) with s in natural logarithms),
// their memories make the clusters.
const (
	volUnit       = int64(1) << 16 // an octave of volatility
	sharedMemory  = 3600           // seconds
	ownMemory     = 1500           // seconds
	sharedShake   = 1081           // 0.70 octaves x sqrt(2 / memory), in 2^-16 octaves
	ownShake      = 1675           // likewise
	volBound      = 3 * volUnit    // of the sum, either way
	shockOneIn    = 28_800         // seconds between news that raise the volatility of all assets
	shockSize     = 3 * volUnit / 2
	jumpOneIn     = 14_400      // seconds between jumps of an asset
	jumpLeast     = 20          // of a jump, in moves of a second; at most three times that
	priceMemory   = 40 * 86_400 // time constant in seconds of the price's reversion to its reference
	priceBound    = octave      // a price stays between half and twice its reference
	sharedPerCent = 65          // share of the common factor in an asset's moves, per cent
	ownPerCent    = 76          // sqrt(100^2 - 65^2): together the moves keep their size
)

// asset holds the value of one currency and its volatility.
type asset struct {
	symbol string
	sigma  int64 // typical move in a second, octaves x 2^-32
	level  int64 // log2 of its value against its reference, octaves x 2^-32
	vol    int64 // its own part of log2 of volatility, octaves x 2^-16
	rng    rng
}

// world moves the values of all assets second by second, driven by one shared factor. It is a
// function of the seed and the number of seconds alone: the copies of all loops agree. It
// belongs to the Market.
type world struct {
	ns     int64 // time up to which it has moved, Unix ns
	shared int64 // shared part of log2 of volatility
	rng    rng
	assets []asset // by symbol
}

// advance moves the world to nowNs.
func (w *world) advance(nowNs int64) {
	for ; w.ns+worldStep <= nowNs; w.ns += worldStep {
		w.step()
	}
}

func (w *world) step() {
	w.shared += w.rng.gauss()*sharedShake/gaussSigma - w.shared/sharedMemory
	if w.rng.below(shockOneIn) == 0 {
		w.shared += shockSize
	}
	factor := w.rng.gauss()
	for i := range w.assets {
		w.assets[i].step(w.shared, factor)
	}
}

func (a *asset) step(shared, factor int64) {
	a.vol += a.rng.gauss()*ownShake/gaussSigma - a.vol/ownMemory
	move := (factor*sharedPerCent + a.rng.gauss()*ownPerCent) / 100
	if v := a.rng.next(); v%jumpOneIn == 0 { // private news about the asset
		size := (jumpLeast + int64(v>>40)%jumpLeast*2) * gaussSigma
		move += size * (1 - 2*int64(v>>63))
	}
	sigma := scaleExp2(a.sigma, clamp(shared+a.vol, volBound)<<16)
	a.level += sigma*move/gaussSigma - a.level/priceMemory
	a.level = clamp(a.level, priceBound)
}

func clamp(v, bound int64) int64 { return min(max(v, -bound), bound) }

// find returns the index of an asset; -1: unknown.
func (w *world) find(symbol string) int {
	for i := range w.assets {
		if w.assets[i].symbol == symbol {
			return i
		}
	}
	return -1
}

// sigmaOfDay converts a typical day's move in hundredths of a per cent to octaves x 2^-32 a
// second: log2(1 + 0.0001) x 2^32 / sqrt(86400) = 2107.9.
func sigmaOfDay(basisPoints int64) int64 { return basisPoints * 2108 }

// dayMoves holds the typical daily move of known currencies in hundredths of a per cent, in calm
// times; the tails of volatility make the average day about half as large again. A stablecoin
// moves a hundredth of this.
var dayMoves = map[string]int64{
	"BTC": 170, "ETH": 220, "BNB": 210, "SOL": 300, "XRP": 280, "ADA": 300, "DOGE": 340, "LTC": 260,
	"USDT": 1, "USDC": 1, "DAI": 1, "USD": 1, "USBI": 1, "EUR": 18, "GBP": 20, "JPY": 25, "CHF": 20,
}

// otherDayMove is the typical daily move of all other currencies.
const otherDayMove = 280

func newAsset(seed uint64, symbol string) asset {
	move, ok := dayMoves[symbol]
	if !ok {
		move = otherDayMove
	}
	return asset{symbol: symbol, sigma: sigmaOfDay(move), rng: newRNG(seed, "asset "+symbol)}
}
