// Package clusterdemo runs a whole cluster on this machine to show it: three servers of a stream in this process, and a
// writer, a standby and two replicas as processes of their own, which keys and a page kill and start again. A bot
// trades meanwhile, and says after each takeover how long it took and how many acknowledged orders are lost.
//
//	keys, page --press--> Run's goroutine --starts, kills--> processes
//	page <--view, one atomic store-- Run's goroutine <--figures-- bot --orders--> writer
//
// Owner: Run's goroutine has the cluster; a goroutine for each process and one for the keys send to it. bot.go and
// page.go say who owns theirs.
//
// Invariants:
//
//  1. When Run returns, every process that it started has ended, and the directory is removed.
//  2. Addresses are of this machine and are kept over a restart of what they belong to.
//  3. An order counts as acknowledged when the bot has read its answer, and as not lost when the new writer has its id
//     with the same figures.
//
// It does not take part in the cluster: the processes are the program's own commands, and the bot is a client.
package clusterdemo
