// Package life simulates activity in the launchpad and the hive of a demo: seeded residents
// spawn tokens, add liquidity, swap, transfer, boost and vote; workers, scouts and queens act;
// and proposals open, gather votes and close.
//
// How to use it: read the next slot from NextNs, wait until then (or set a virtual clock), and
// submit the steps of Act in their order. The caller ignores the refusal of a step: a resident
// has changed their mind.
//
// Owner: none. A Life is immutable; any goroutine may call its methods.
//
// Invariants:
//
//  1. The steps of a slot are a function of the seed, the slot's number since the ledger's
//     genesis, and the two views. There is no state, so a restart restores nothing.
//  2. A slot has at most maxSteps steps; an hour has 120 slots, 40 or fewer of them count
//     in a history.
//  3. Steps are commands that any client could submit: what the stores refuse to others they
//     refuse to residents.
//  4. Residents forget some tokens half a day after their spawn, so that idle workers exist.
//
// Reading order: options, rng, life, spawn, trade, swarm, vote, words.
//
// The package does not know users (residents are addresses with a level), goroutines, stores or
// a clock.
package life
