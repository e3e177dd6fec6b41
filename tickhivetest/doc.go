// Package tickhivetest runs a whole exchange within a Go test: in its process, on free ports, on a virtual clock.
//
//	func TestBot(t *testing.T) {
//		x := tickhivetest.Start(t)
//		x.Sell("BTC_USDT", "0.5", "65000")
//		bot := NewBot(x.URL, x.User.PublicKey, x.User.PrivateKey)
//		...
//		x.Advance(time.Hour)
//	}
//
// Start returns when the exchange serves clients; it ends with the test. The exchange is the program's: the same
// assembly, configuration and routes as `tickhive serve --ephemeral`, with 12 pairs, empty order books, and a user who
// has money. Nothing is simulated unless Market asks for it. Each exchange has a directory of its own and shares
// nothing with others, so tests may be parallel.
//
// Methods that change the exchange return when every later read shows the change. Those that fail end the test with
// t.Fatal, so they belong to the goroutine of the test; Now and Client may be called by any.
//
// Owner: the test's goroutine.
//
// Invariants:
//
//  1. After the test no goroutine, socket or file of the exchange is left. A test whose process is killed leaves its
//     t.TempDir, as every Go test does.
//  2. A restart keeps the addresses.
//  3. The log is shown when the test has failed, or with Logs.
//
// It does not test the command line, and it does not simulate a power cut: what was written survives Kill.
package tickhivetest
