// Package bench measures the exchange: it runs the product and a reference in turns in one run and reports their
// figures side by side.
//
// The table (goals.go) says what is measured, against what, and what is judged. A scenario is a function of a Run: it
// starts what it needs, names turns, and lets Run.rounds give each round's figures to the rows of the table. The load
// generator is in load, processes in proc, the report and its comparison in report, the floor of the engine in
// limits/floor.
//
// Owner: one goroutine runs one scenario after the other. A scenario ends everything that it started before it returns.
//
// Invariants:
//
//  1. Product and reference take turns: A B A B, at least five rounds (three when quick).
//  2. Every reference is checked to do the same work: equal fills and hashes, equal bytes.
//  3. The product runs with the settings of serve. Where HTTP is measured, product and references are processes of
//     their own (Child), so that the CPU times of client and server are separate.
//  4. A row without a figure, and a figure without a row, are errors.
//  5. The bench connects to loopback only and writes only below Options.Dir.
package bench
