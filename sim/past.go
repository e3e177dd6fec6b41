package sim

import (
	"math/bits"
	"slices"
	"time"

	"github.com/tickhive/tickhive/engine"
)

// MaxPast limits the time of which Past makes candles: a leap year.
const MaxPast = 366 * 24 * time.Hour

// Up to pastFinePairs pairs the past is fine, up to pastCoarsePairs coarse, beyond daily, so that the candles of all
// pairs together take about 14 MB (docs/contract/market-data.md#past).
const (
	pastFinePairs   = 16
	pastCoarsePairs = 128
)

const daySec = int64(86_400)

// pastPart is a part of the past: its candles begin days before the day of the opening and have one length.
type pastPart struct{ days, length int64 }

// pastParts returns the parts of the past, the oldest first, for a number of pairs. The oldest begins where the past
// begins.
func pastParts(pairs int) []pastPart {
	switch {
	case pairs <= pastFinePairs:
		return []pastPart{{0, 14_400}, {90, 3600}, {14, 900}, {1, 60}}
	case pairs <= pastCoarsePairs:
		return []pastPart{{0, 86_400}, {30, 14_400}, {7, 3600}, {1, 900}}
	default:
		return []pastPart{{0, 86_400}, {1, 3600}}
	}
}

// pastSpan is the time of a candle.
type pastSpan struct{ start, length int64 }

// pastSpans returns the times of the candles that end at a second and begin at the day that is span seconds before it,
// the newest first. Candles of another length begin with a day.
func pastSpans(parts []pastPart, span, end int64) (spans []pastSpan) {
	begin := end - span
	begin -= begin % daySec
	today := end - end%daySec
	for i, part := range slices.Backward(parts) {
		from := max(begin, today-part.days*daySec)
		if i == 0 {
			from = begin
		}
		for at := end - 1 - (end-1)%part.length; at >= from && at < end; at -= part.length {
			spans = append(spans, pastSpan{at, part.length})
			end = at
		}
	}
	return spans
}

// pastStep is the time between two changes of the values within a candle of a length: seconds, and the root of it in
// units of 2^-8, by which a typical move of one second grows.
func pastStep(length int64) (seconds, root int64) {
	switch length {
	case 60:
		return 15, 992
	case 900:
		return 100, 10 << 8
	case 3600:
		return 400, 20 << 8
	case 14_400:
		return 1600, 40 << 8
	}
	return 3600, 60 << 8
}

// Past returns, for each of the market's pairs, candles of the time span before the market's present. No book matches
// them: the world walks backwards from its present values, in longer steps, so that the newest candle ends at the price
// at which the pair opens, and the pairs agree with each other at every time. The candles of each pair come in the
// order of time without a hole, each opens at the close before it, and the nearer ones are shorter. The same seed and
// the same present give the same past. instrument returns a pair as the engine will have it, nil: without a past.
func (m *Market) Past(
	span time.Duration, instrument func(code string) *engine.Instrument,
) map[string][]engine.PastCandle {
	w := m.pastWalk(instrument)
	end := w.ns / secondNs
	spans := pastSpans(pastParts(len(m.pairs)), int64(min(span, MaxPast)/time.Second), end)
	for i := range w.pairs {
		w.pairs[i].candles = make([]engine.PastCandle, 0, len(spans))
	}
	for _, s := range spans {
		w.candle(s.start, end, s.length)
		end = s.start
	}
	all := make(map[string][]engine.PastCandle, len(w.pairs))
	for i := range w.pairs {
		slices.Reverse(w.pairs[i].candles)
		all[w.pairs[i].Code] = w.pairs[i].candles
	}
	return all
}

// pastWalk is a copy of the world that walks backwards.
type pastWalk struct {
	world
	m     *Market
	pairs []pastPair
}

// pastPair is a pair of a pastWalk.
type pastPair struct {
	*agents
	rng       rng
	price     int64 // ticks, at the time of the walk
	high, low int64
	candles   []engine.PastCandle // the newest first
}

func (m *Market) pastWalk(instrument func(code string) *engine.Instrument) *pastWalk {
	w := &pastWalk{world: m.world, m: m}
	w.ns -= w.ns % secondNs
	w.rng = newRNG(m.seed, "past world")
	w.assets = slices.Clone(m.world.assets)
	for i := range w.assets {
		w.assets[i].rng = newRNG(m.seed, "past asset "+w.assets[i].symbol)
	}
	for _, a := range m.pairs {
		ins := instrument(a.Code)
		if ins == nil {
			continue
		}
		own := *a
		own.measure(ins)
		p := pastPair{agents: &own, rng: newRNG(m.seed, "past pair "+a.Code)}
		p.price = max(1, own.fair(&w.world)>>8)
		w.pairs = append(w.pairs, p)
	}
	return w
}

// candle walks back from end to start and adds the candle of this time to every pair.
func (w *pastWalk) candle(start, end, length int64) {
	for i := range w.pairs {
		p := &w.pairs[i]
		p.high, p.low = p.price, p.price
		p.candles = append(p.candles, engine.PastCandle{Start: start, Length: length, Close: p.price})
	}
	seconds, root := pastStep(length)
	open := int64(0) // seconds in which the agents were there
	for at := end; at > start; {
		took := min(seconds, at-start)
		at -= took
		w.back(took, root)
		if !w.scenario.halted(w.ns) {
			open += took
		}
		for i := range w.pairs {
			p := &w.pairs[i]
			p.price = max(1, p.fair(&w.world)>>8)
			p.high, p.low = max(p.high, p.price), min(p.low, p.price)
		}
	}
	for i := range w.pairs {
		p := &w.pairs[i]
		if c := &p.candles[len(p.candles)-1]; open == 0 {
			p.candles = p.candles[:len(p.candles)-1]
		} else {
			p.finish(c, w, open)
		}
	}
}

// back moves the values back by seconds. root is the root of a whole step.
func (w *pastWalk) back(seconds, root int64) {
	w.ns -= seconds * secondNs
	w.shared = relax(w.shared, w.rng.gauss(), seconds, sharedMemory)
	if w.rng.below(shockOneIn) < seconds {
		w.shared += shockSize
	}
	factor := w.rng.gauss()
	for i := range w.assets {
		a := &w.assets[i]
		a.vol = relax(a.vol, a.rng.gauss(), seconds, ownMemory)
		move := (factor*sharedPerCent + a.rng.gauss()*ownPerCent) / 100 * root >> 8
		if v := a.rng.next(); int64(v%jumpOneIn) < seconds {
			size := (jumpLeast + int64(v>>40)%jumpLeast*2) * gaussSigma
			move += size * (1 - 2*int64(v>>63))
		}
		sigma := scaleExp2(a.sigma, clamp(w.shared+a.vol, volBound)<<16)
		a.level = clamp(a.level+sigma*move/gaussSigma-a.level*seconds/priceMemory, priceBound)
	}
}

// volSpread is the standard deviation of either part of the volatility's logarithm: 0.70 octaves, in 2^-16.
const volSpread = 45_875

// relax returns a part of the volatility's logarithm some seconds later, or earlier: it forgets with its memory and
// takes in a shock, so that its spread stays volSpread.
func relax(v, gauss, seconds, memory int64) int64 {
	const unit = 1 << 16
	kept := scaleExp2(unit, -octave/10_000*14_427*seconds/memory) // e^(-seconds/memory)
	fresh := int64(root(uint64(unit*unit - kept*kept)))
	return v*kept/unit + gauss*volSpread/gaussSigma*fresh/unit
}

// root returns the whole root of v.
func root(v uint64) uint64 {
	if v == 0 {
		return 0
	}
	r := uint64(1) << ((bits.Len64(v) + 1) / 2)
	for next := (r + v/r) / 2; next < r; next = (r + v/r) / 2 {
		r = next
	}
	return r
}

// finish sets what is left of a candle in whose time the agents were there for so many seconds.
func (p *pastPair) finish(c *engine.PastCandle, w *pastWalk, seconds int64) {
	mood := p.mood(&w.world)
	reach := int64(1)
	if p.Weight < majorWeight {
		reach = max(1, p.half(p.price<<8, mood)>>8)
	}
	c.Open = p.price
	c.High, c.Low = p.high+p.rng.below(reach+1), max(1, p.low-p.rng.below(reach+1))
	c.Average = (c.Open + c.High + c.Low + c.Close) / 4
	steps := seconds * secondNs / 100 * p.tradesPerStep() / w.m.mean(p.agents, c.Start*secondNs)
	c.Trades = max(1, steps*(75+p.rng.below(51))/100)
	lots := p.perTrade(mood)
	lots = lots/2 + p.rng.below(lots+1)
	c.Volume = mulBound(max(lots, p.least), c.Trades)
	c.TakerVolume = c.Volume / 100 * (35 + p.rng.below(31))
}

// tradesPerStep returns the mean number of trades in a step, in hundredths. It was measured over simulated days, like
// perTrade (TestThePastResemblesWhatFollows).
func (p *pastPair) tradesPerStep() int64 {
	if p.Weight >= majorWeight {
		return 145
	}
	return 200
}

// perTrade returns the mean lots of a trade.
func (p *pastPair) perTrade(mood int64) int64 {
	if p.Weight >= majorWeight {
		return p.typical * mood * 10 / 4 >> 8
	}
	return p.typical * mood * 9 / 4 >> 8
}

// mulBound returns a x b, at most 2^62.
func mulBound(a, b int64) int64 {
	if hi, lo := bits.Mul64(uint64(a), uint64(b)); hi == 0 && lo < 1<<62 {
		return int64(lo)
	}
	return 1 << 62
}
