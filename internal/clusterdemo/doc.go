// Package clusterdemo runs a whole cluster on this machine to show it: three servers of a stream in this process, and a
// writer, a standby and two replicas as processes of their own, which keys kill and start again.
//
// Owner: Run's goroutine has everything; a goroutine for each process and one for the keys send to it.
//
// Invariants:
//
//  1. When Run returns, every process that it started has ended, and the directory is removed.
//  2. Addresses are of this machine and are kept over a restart of what they belong to.
//
// It does not take part in the cluster: the processes are the program's own commands.
package clusterdemo
