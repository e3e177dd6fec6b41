// Package life lets the launchpad and the hive of a demo live: seeded residents spawn
// tokens, add liquidity, swap, transfer, boost and vote; workers, scouts and queens act,
// and proposals open, gather votes and close.
//
// How to use it: ask NextNs for the next slot, wait until then (or set a virtual clock),
// carry out the steps of Act in their order. A step that is refused is no harm: somebody
// changed their mind.
//
// Owner: nobody. A Life is immutable; its methods may be called from anywhere.
//
// Invariants:
//
//  1. What happens in a slot is a function of the seed, the slot's number since the
//     ledger's genesis, and the two views: there is no state, so nothing is to be
//     restored after a restart.
//  2. A slot has at most maxSteps steps; an hour has 120 slots, 40 or fewer of them count
//     in a history.
//  3. Nothing but commands that anyone could give: what is refused to others is refused
//     here.
//  4. Some tokens are forgotten by everyone half a day after their spawn, so that idle
//     workers exist.
//
// Reading order: options, rng, life, spawn, trade, swarm, vote, words.
//
// It does not know users (residents are addresses with a level), goroutines, stores or a
// clock.
package life
