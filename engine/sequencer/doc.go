// Package sequencer runs the goroutine around the matching core: it reads commands from a
// bounded queue, stamps them with the time, journals them, applies them, hands the
// events to the folds, publishes and answers.
//
// Loop.Run repeats two steps, which a scheduler may call itself instead: Loop.Step takes one
// group of commands through the cycle that loop.go outlines, and Backlog.Step shows and answers what has
// reached its mark: written, synced, or acknowledged by the stream. WALJournal.Step is the third stepper.
//
// Owner: the goroutine that calls Run, or the steps, owns core, sinks and sources, and writes to
// the journal. Any goroutine may call Submit, Offer, Query, AdvanceTo and Stop.
//
// Invariants:
//
//  1. Time is read once for each group and never goes back.
//  2. A command is journaled before it is applied. What the journal refuses changes nothing.
//  3. Readers see a command when its record has reached the mark that the process shows, and its batch is
//     answered after that, when the record has reached the batch's own mark.
//  4. Every accepted batch is answered before Run returns or Step returns Stopped.
//  5. The time that a sink publishes at is sealed: no command before it is folded later.
//  6. Sinks receive events in sequence, each once, with the journal position of their command.
//
// It does not match orders (engine), decide what is published (marketdata) or know money
// (accounts).
package sequencer
