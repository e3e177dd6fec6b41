// Package reports tries bug reports of other exchanges, engines and clients on this exchange.
//
// Each report is one test (TestReports) with its source and its input. The name of a test says the right behaviour, in
// the words of docs/contract; the source says what the other program did. elsewhere_test.go lists the reports whose
// test belongs to another package.
//
// Owner: the goroutine of the test that makes a value.
//
// Invariants:
//
//  1. A report is here once.
//  2. The tests know the exchange by its addresses alone, as a client does, and by tickhivetest, which starts it.
//  3. A test waits for messages of streams alone. The exchange's clock is virtual.
//
// Not tried: reports about FIX, SBE and smart order routing, which the exchange does not have, and
// tradingview/lightweight-charts#585: the contract does not say how the page draws quiet minutes of a recording.
package reports
