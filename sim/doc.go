// Package sim is a simulated market: seeded agents that trade through order entry like any
// client. Package tickhive/sim/replay feeds recorded files instead (tickhive replay; its doc.go
// describes the call). Package tickhive/sim/stats checks whether a market's figures look like a
// real market's (tickhive stats), and package tickhive/sim/stats/realism
// compares them with recordings (tickhive stats --realism).
//
// How to use it:
//
//	m := sim.New(sim.Options{Core: core, Seed: 1, StartNs: clk.NowNs(), Pairs: pairs})
//	// after a restart: m.DecodeState(state) over the restored core, then m.Fold(events, pos)
//	// for the journal's tail
//	loop := sequencer.NewLoop(sequencer.LoopOptions{..., Sources: []sequencer.Source{m}})
//
// The loop recognizes m as a sequencer.Observer: m need not be among the sinks. One Market
// serves one loop at a time and may move to the next (a backfill on a virtual clock, then the
// process clock). m.AppendState(nil) belongs in the snapshot; the caller calls it on the loop's
// goroutine (loop.Query). A backfill calls loop.AdvanceQuietly in steps: one publication per
// step instead of one per agents' step.
//
// The package simulates a world in which each currency's value moves every second, driven by a
// factor that all currencies share and by volatility that clusters. Each pair has makers, which
// keep 64 to 88 quotes a side around the fair price, lean against their stock and refill filled
// quotes; arbitrageurs, which take all orders beyond the fair price; and momentum and noise
// traders. The major pairs, of weight 40 and more, quote one tick and 1,100 to 1,190 levels a
// side: their makers cancel most stale quotes before arbitrageurs take them, and most of their
// trades are parts of large orders, whose lengths have a heavy tail and which move the price for a
// while. Every pair has a step, and in it a trade, every 1.5 to 7.5 seconds.
//
// Owner: everything belongs to the loop's goroutine.
//
// Invariants:
//
//  1. The seed, the clock's ticks, the events, and the core's touch at a step determine every
//     decision: the result is the same on any machine, with any GOMAXPROCS and number of loops.
//     There is no floating point.
//  2. The quotes of the makers are known from events alone (FlagAgent), so they survive
//     a restart that lost the agents' own state.
//  3. A pair has at most levelsMax quotes a side at the end of a step, a major one about majorLevelsMax;
//     after its first step each has at least 50.
//  4. Time that passed without the market (Skip) leaves no trade; the fair price continues
//     from the last trade.
//
// Reading order: rng, exp2, world, scenario, ladder, pair, market, step, major, see, state.
//
// The package does not know funds (the agents trade for the built-in account), HTTP or files.
package sim
