// Package vopr simulates a whole exchange on one goroutine, with faults (after TigerBeetle's VOPR).
//
//	seed ──> plan: sync policy, lives, faults of each
//	         │
//	world    life 1 ── fault ── life 2 ── fault ── ...      a life is one process, from Open to its end
//	         │
//	process  steps of loop, backlog, journal, snapshots, hub   (step.Driver)
//	         and requests to the handlers of both listeners, in an order that the seed chooses
//	         readers of the streams, which take what the hub has queued for them
//	         │
//	model    what the answers promised; compared with later answers after every restart
//
// Files are a vfstest.Mem, time is a simulated clock, randomness comes from the seed, so a seed repeats byte for byte.
//
// Owner: the goroutine that calls Run. Components and requests are coroutines: one runs at a time, until it waits.
//
// Invariants:
//
//  1. The model reads requests and answers, never a structure of the exchange. Beside it, states are compared by their
//     hashes: those of running processes with those that a replay of the log gives.
//  2. An answer that arrives after the end of its process counts as none: its outcome is unknown.
//  3. The same seed gives the same transcript (TestASeedRepeats).
//
// A cluster (RunCluster) is several such processes, each on a disk and a clock of its own, and a simulated stream
// between them (network). Its model knows what clients of any node were told: by answers, and by public and private
// streams, whose readers go from node to node (clusterReaders).
//
// It does not simulate sockets, threads or the Go scheduler: the race detector and the tests in test/cli and
// test/cluster do. In half of the seeds a cluster has two versions of the program, which differ in the version of the
// rules alone; TestAClusterIsUpgradedUnderLoad of test/cluster mixes two programs.
package vopr
