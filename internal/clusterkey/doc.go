// Package clusterkey lets the nodes of a cluster prove to each other that they are its nodes
// (docs/contract/cluster.md#cluster-key).
//
//	file, one key a line --> Ring --> proofs:  Prove, Proves; Client signs requests, Gate admits each of them once
//	                              --> secrets: Derive, one purpose each
//	                              --> TLS:     ServerTLS serves a certificate of the key, Client accepts no other
//
// Owner: a Ring never changes; any goroutine may use it. A Gate has a lock of its own.
//
// Invariants:
//
//  1. The first key of a ring signs and serves; each of them verifies. So a key is changed node by node: the new one
//     goes behind the old one on all nodes, then in front of it, then the old one goes.
//  2. No key, and nothing from which a key can be computed, is in an error, a text or on a wire. The ID is public.
//  3. Client sends nothing to a machine that has not proved to have a key of the ring, and plain text to this machine
//     alone.
//  4. A Gate admits a proof for one method, one target and one address, within 30 s, once.
//
// It does not keep files, and it does not decide which requests a proof admits.
package clusterkey
