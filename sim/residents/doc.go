// Package residents simulates activity in the launchpad and the hive of a demo: seeded residents
// spawn tokens, add liquidity, swap, transfer, boost and vote; workers, scouts and queens act;
// and proposals open, gather votes and close.
//
// How to use it: read the next step from NextNs, wait until then (or set a virtual clock), and
// submit the actions of Act in their order. The caller ignores the refusal of an action: a resident
// has changed their mind.
//
// Owner: none. A Simulation is immutable; any goroutine may call its methods.
//
// Invariants:
//
//  1. The actions of a step are a function of the seed, the step's number since the ledger's
//     genesis, and the two views. There is no state, so a restart restores nothing.
//  2. A step has at most maxActions actions; an hour has 120 steps, 40 or fewer of them count
//     in a history.
//  3. Actions are commands that any client could submit: what the state refuses to others they
//     refuse to residents.
//  4. Residents forget some tokens half a day after their spawn, so that idle workers exist.
//
// The package does not know users (residents are addresses with a level), goroutines, logs or
// a clock.
package residents
