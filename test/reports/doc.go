// Package reports tries bug reports of other exchanges, engines and clients on this exchange.
//
// Each report is one test (TestReports), named for what is right here in the words of docs/contract, with its source
// and its input. What another program did is not told: the source has it. The list elsewhere has the reports whose test
// belongs to another package.
//
// Owner: the goroutine of the test that makes a value.
//
// Invariants:
//
//  1. A report is here once.
//  2. The tests know the exchange by its addresses alone, as a client does, and by tickhivetest, which starts it.
//  3. Only messages of streams come by the machine's clock.
//
// Not tried: reports about FIX, SBE and smart order routing, which the exchange does not have, and
// tradingview/lightweight-charts#585: the contract does not say how the page draws quiet minutes of a recording.
package reports
