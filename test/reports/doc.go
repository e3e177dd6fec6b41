// Package reports tries bug reports of other exchanges, engines and clients on this exchange.
//
// Each report is one test (TestReports), named for what is right here in the words of docs/contract, with its source
// and its input. What another program did is not told: the source has it. The list elsewhere has the reports whose test
// belongs to another package, and the list untried those that cannot be tried here.
//
// Owner: the goroutine of the test that makes a value.
//
// Invariants:
//
//  1. A report is here once.
//  2. The tests know the exchange by its addresses alone, as a client does, and by tickhivetest, which starts it.
//  3. No test waits for the machine's clock but for a heartbeat of a stream.
package reports
