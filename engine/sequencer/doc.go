// Package sequencer is the goroutine around the matching core: it takes commands from a
// bounded queue, stamps them with time and rules, journals them, applies them, hands the
// events to the folds, publishes and answers.
//
// One cycle of Loop.Run:
//
//	runDue      due sources act; sinks that time alone changes publish
//	take        the waiting batches become groups
//	  stamp     every command gets its time; a batch whose times go back is refused
//	  append    one write to the journal for the whole group
//	  apply     Core.Apply for each command, in order
//	  fold      every sink receives the events, then the batch's Collect
//	  publish   readers see the state, at most every BatchCommands commands
//	  answer    the submitters wake up
//
// Under sync always, apply runs at once; fold, publish and answer wait until the journal is
// durable (durable.go).
//
// Owner: the goroutine that runs Loop.Run owns core, journal, sinks and sources. Any
// goroutine may call Submit, Query, AdvanceTo and Stop.
//
// Invariants:
//
//  1. Time is read once for each group and never goes back.
//  2. A command is journaled before it is applied. A batch that the journal refuses changes
//     nothing.
//  3. Every accepted batch is answered before Run returns.
//  4. Sinks receive events in sequence, each once, with the journal position of their command.
//
// Reading order: batch, intake, journal, loop, durable, time, wal_journal, stats.
//
// It does not match orders (engine), decide what is published (marketdata) or know money
// (accounts).
package sequencer
