package sim

import "time"

// worldStep is how often the world moves.
const worldStep = int64(time.Second)

// How volatility lives: its logarithm is the sum of one that all assets share and one of
// each asset's own, both pulled back to their mean and shaken every second. Their
// standard deviations make the heavy tails (kurtosis 3 exp(4 s^2) with s in natural
// logarithms), their memories the clusters.
const (
	volUnit       = int64(1) << 16 // an octave of volatility
	sharedMemory  = 3600           // seconds
	ownMemory     = 1500           // seconds
	sharedShake   = 1081           // 0.70 octaves x sqrt(2 / memory), in 2^-16 octaves
	ownShake      = 1675           // likewise
	volBound      = 3 * volUnit    // of the sum, either way
	shockOneIn    = 28_800         // seconds between news that wake everybody up
	shockSize     = 3 * volUnit / 2
	jumpOneIn     = 14_400      // seconds between jumps of an asset
	jumpLeast     = 20          // of a jump, in moves of a second; at most three times that
	priceMemory   = 40 * 86_400 // seconds in which a price forgets where it strayed to
	priceBound    = octave      // a price stays between half and twice its reference
	sharedPerCent = 65          // share of the common factor in an asset's moves, per cent
	ownPerCent    = 76          // sqrt(100^2 - 65^2): together the moves keep their size
)

// asset is the value of one currency: where it is, and how much it moves.
type asset struct {
	symbol string
	sigma  int64 // typical move in a second, octaves x 2^-32
	level  int64 // log2 of its value against its reference, octaves x 2^-32
	vol    int64 // its own part of log2 of volatility, octaves x 2^-16
	rng    rng
}

// world moves the values of all assets second by second, driven by one factor that they
// share. It is a function of seed and number of seconds alone, so every loop's copy of it
// agrees. It belongs to the Market.
type world struct {
	ns     int64 // up to which it has moved
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
	if v := a.rng.next(); v%jumpOneIn == 0 { // somebody knows something
		size := (jumpLeast + int64(v>>40)%jumpLeast*2) * gaussSigma
		move += size * (1 - 2*int64(v>>63))
	}
	sigma := scaleExp2(a.sigma, clamp(shared+a.vol, volBound)<<16)
	a.level += sigma*move/gaussSigma - a.level/priceMemory
	a.level = clamp(a.level, priceBound)
}

func clamp(v, bound int64) int64 { return min(max(v, -bound), bound) }

// find is the index of an asset; -1: unknown.
func (w *world) find(symbol string) int {
	for i := range w.assets {
		if w.assets[i].symbol == symbol {
			return i
		}
	}
	return -1
}

// sigmaOfDay turns a typical day's move in hundredths of a per cent into octaves x 2^-32
// a second: log2(1 + 0.0001) x 2^32 / sqrt(86400) = 2107.9.
func sigmaOfDay(basisPoints int64) int64 { return basisPoints * 2108 }

// dayMoves are typical days of known currencies in hundredths of a per cent, in calm
// times; volatility's tails make the average day about half as lively again. Money that
// is worth what it says moves a hundredth of that.
var dayMoves = map[string]int64{
	"BTC": 170, "ETH": 220, "BNB": 210, "SOL": 300, "XRP": 280, "ADA": 300, "DOGE": 340, "LTC": 260,
	"USDT": 1, "USDC": 1, "DAI": 1, "USD": 1, "USBI": 1, "EUR": 18, "GBP": 20, "JPY": 25, "CHF": 20,
}

// otherDayMove is that of all others.
const otherDayMove = 280

func newAsset(seed uint64, symbol string) asset {
	move, ok := dayMoves[symbol]
	if !ok {
		move = otherDayMove
	}
	return asset{symbol: symbol, sigma: sigmaOfDay(move), rng: newRNG(seed, "asset "+symbol)}
}
