// Package clock is the one clock of a process: real or virtual, in int64 Unix
// nanoseconds. It is the only package that reads the machine's time for the market
// (docs/contract/market-data.md#times); what the engine and the folds need is passed to them.
//
// Owner: a virtual clock (Manual) is set by the engine's loop alone; anyone may read it.
//
// Invariants:
//
//  1. Time never goes back: the loop stamps commands with the later of the clock and the
//     last stamp.
//  2. Rate limits, timeouts and pings use MachineNs, whatever clock the market runs on.
//  3. A wall clock that is set does not move the market by more than FollowedStep, unless an
//     operator accepts it.
//
// It does not wait and starts no timers.
package clock
