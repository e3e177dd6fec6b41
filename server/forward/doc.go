// Package forward sends requests from a replica to the writer, and proves to the writer which client sent them
// (docs/contract/cluster.md#forwarding).
//
//	client -- request --> replica: Forwarder -- request, ClientHeader --> writer: Key.Client
//
// All nodes of a cluster have one Key. A request is sent at most once: the package repeats nothing, because a change
// without an answer may have been executed.
package forward
