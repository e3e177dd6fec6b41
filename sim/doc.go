// Package sim is a simulated market: seeded agents that trade through order entry like
// anyone else. Package tickhive/sim/replay feeds recorded files instead (tickhive replay;
// its doc.go says how to call it), tickhive/sim/stats tells whether a market looks like one
// (tickhive stats).
//
// How to use it:
//
//	m := sim.New(sim.Options{Core: core, Seed: 1, StartNs: clk.NowNs(), Pairs: pairs})
//	// after a restart: m.DecodeState(state) over the restored core, then m.Fold(events, pos)
//	// for the journal's tail
//	loop := sequencer.NewLoop(sequencer.LoopOptions{..., Sources: []sequencer.Source{m}})
//
// The loop recognizes m as an sequencer.Observer: m needs not be among the sinks. One Market
// serves one loop at a time and may move to the next (a backfill on a virtual clock, then
// the process clock). m.AppendState(nil) belongs into the snapshot; it is called on the
// loop's goroutine (loop.Query). A backfill calls loop.AdvanceQuietly in steps: one
// publication per step instead of one per turn.
//
// What lives here: a world in which each currency's value moves every second, driven by a
// factor that all share and by volatility that comes in clusters; and per pair makers, who
// keep 64 to 88 quotes a side around the fair price, lean against their stock and refill
// what was taken; arbitrageurs, who take whatever is offered beyond the fair price;
// momentum and noise traders. Every pair has a turn, and in it a trade, every 1.5 to 7.5
// seconds.
//
// Owner: everything belongs to the loop's goroutine.
//
// Invariants:
//
//  1. Nothing decides but the seed, the clock's ticks, the events, and the touch of the
//     core at a turn: the same on any machine, with any GOMAXPROCS and number of loops. No
//     floating point.
//  2. The quotes of the makers are known from events alone (FlagAgent), so they survive
//     a restart that lost the agents' own state.
//  3. A pair has at most levelsMax quotes a side at the end of a turn, and after its first
//     turn at least 50.
//  4. Time that passed without the market (Skip) leaves no trade; the fair price goes on
//     from the last trade.
//
// Reading order: rng, exp2, world, ladder, pair, market, turn, see, state.
//
// It does not know funds (the agents trade for the built-in account), HTTP or files.
package sim
