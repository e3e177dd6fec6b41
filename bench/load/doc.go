// Package load asks HTTP servers, as fast as they answer or by a schedule.
//
// What it is: a raw HTTP/1.1 client over prebuilt request bytes (Conn), a closed loop for
// CPU per answer (Closed), and an open loop for latency (Open): the time at which request
// i is meant to be sent is a pure function of i, and latency counts from it, so that a
// stalled server is charged for every request that had to wait.
//
// Owner: a Conn belongs to one goroutine. Each worker of a run has its own histogram;
// they are merged when all have ended.
//
// Invariants:
//
//  1. Only loopback addresses are asked, except by Open.Dial.
//  2. Nothing is allocated per answer once buffers have grown to their size.
//  3. A request whose time came counts: answered, failed, or missed (never sent before the
//     run ended), and a missed one is in the histogram with the time it had waited.
//
// Reading order: conn.go, answer.go, request.go, closed.go, schedule.go, open.go, result.go, cpu.go.
//
// It knows no route and makes no report.
package load
