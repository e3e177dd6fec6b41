// Package loadtool loads one HTTP server at a rate and reports rates, errors and latencies.
//
// It is the tool behind `tickhive load`: a loop of bench/load with a line for each second (run.go), over one URL, over
// the requests of a listing site, over signed orders (orders.go) or over sockets (streams.go); thresholds, and the
// report as text, JSON and HTML (report.go).
//
// Owner: Run and the functions of Report belong to one goroutine.
//
// Invariants:
//
//  1. Latency counts from the time at which a request was meant to be sent, so a server that stalls pays for every
//     request that had to wait.
//  2. A request that was never sent counts as an error.
//  3. It uses no library for charts: the product links this package.
//
// It changes nothing on the server, except by the mix of orders, which cancels what it has placed.
package loadtool
