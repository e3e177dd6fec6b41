// Package stats tells whether a market looks like one: how many minutes have trades, how
// wide the spread is, how heavy the tails of the returns are and whether lively minutes
// follow lively minutes. It computes the figures from minute candles and spreads, and
// reads both from the public HTTP API (tickhive stats).
//
// Owner: whoever calls; nothing is shared and nothing is kept.
//
// Invariants:
//
//  1. It decides nothing: this is the one place of the simulation where floating point
//     is allowed, because its figures are printed for people and not used.
//  2. What is counted is said: minutes and samples stand beside the figures.
//
// Reading order: figures, http, print.
//
// It does not know the engine, the simulated market or its seed.
package stats
