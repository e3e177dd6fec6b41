// Package load asks HTTP servers, as fast as they answer or by a schedule.
//
// It is a raw HTTP/1.1 client over prebuilt request bytes (Conn) and one loop (Loop). With a schedule the loop is open:
// the time at which request i is meant to be sent is a pure function of i, any worker without a request under way sends
// it, and latency counts from that time, so that a stalled server is charged for every request that had to wait.
// Without a schedule the loop is closed: each worker sends its next request when it has the answer, which measures the
// CPU per answer.
//
// Owner: a Conn belongs to one goroutine. Each worker of a loop has its own histogram; they are merged when all have
// ended. The number of the next request passes from worker to worker.
//
// Invariants:
//
//  1. Only loopback addresses are asked, except by Loop.Dial.
//  2. Nothing is allocated per answer once buffers have grown to their size.
//  3. A request whose time came counts: answered, failed, or missed (never sent before the run ended), and a missed one
//     is in the histogram with the time it had waited.
//
// It knows no route and makes no report.
package load
