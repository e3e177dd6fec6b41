// Package forward sends requests from a replica to the writer, and proves to the writer which client sent them
// (docs/contract/cluster.md#forwarding).
//
//	client -- request --> replica: Forwarder, Name -- request, ClientHeader --> writer: Client
//
// Owner: any goroutine may use a Forwarder.
//
// Invariants:
//
//  1. A request is sent at most once, because a change without an answer may have been executed.
//  2. Method, target, body and credentials arrive as the client has sent them, so that signatures count.
//  3. A request that was forwarded is not forwarded again.
//
// It does not verify signatures, and it does not know which routes exist.
package forward
