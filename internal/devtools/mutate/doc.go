// Command mutate measures what the tests of a package notice: it changes the package in one
// small place at a time (a mutant) and runs the tests that reach the place.
//
// All mutants of a package are in one test binary, each behind a number that an environment
// variable chooses, so the package is compiled once. go build -overlay keeps the tree as it
// was. The binary also records which mutants a test reaches; a mutant is judged by those
// tests alone, the quickest first, in rounds over all mutants. A mutant is killed when a test fails, a timeout when the
// tests take three times their own CPU time or wait for ever, not covered when no test reaches
// it, and a survivor otherwise. Survivors without a row in accepted.txt, and
// rows without a survivor, fail the run.
//
// Owner: the process. Verdicts are appended to bin/mutants, so a stopped run goes on where it
// was. A kill is kept while the text of its function is unchanged and its test exists; every
// other verdict while no file of the package has changed. -fresh forgets both.
//
// Invariants:
//
//  1. Mutants and their order are functions of the package's text.
//  2. A mutant that is off changes nothing that a test can see but time and inlining. A test
//     that fails with all mutants off is reported and judges none.
//  3. A name (file, function, change, number) is free of line numbers, so that accepted.txt
//     outlives changes elsewhere.
//
// Tests of allocations (their names contain Alloc) judge nothing: the compiler inlines the
// changed code in another way.
//
// Not mutated: a check whose only consequence is a panic (no input makes it fail), the post
// statement of a loop (an endless loop says nothing), capacities, constants of an enumeration,
// texts.
//
// Reading order: main, walk, sites, exprs, stmts, consts, render, build, judge, watch, results, report,
// accepted.
package main
