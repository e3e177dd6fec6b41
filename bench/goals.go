package bench

import (
	"fmt"

	"github.com/tickhive/tickhive/bench/report"
)

// scenario is a named measurement: a function that measures, and the rows that it fills.
type scenario struct {
	name string
	run  func(*Run) error
	rows []row
}

// row is a figure of the table: what it is, what stands beside it in each round, and what it should be. A scenario
// names its figures as the table does (Run.rounds).
type row struct {
	goal      string // E1, H10, ...; empty: reported, and judged by nothing
	name      string // of the product's figure
	unit      string
	target    float64 // of a goal: of the ratio, or of the figure without a reference
	reference string  // name of the figure that stands beside it in each round; empty: none
	how       how
	with      string // the conditions: what is batched, warmed up and outstanding
}

// how says how a row is judged: costs by the best rounds, unless it has one of these.
type how uint8

const (
	best   how = 0
	higher how = 1 << iota // more is better: a rate
	worst                  // the worst round judges: pauses, stale answers
	median                 // the median of the rounds' ratios judges: for figures that depend on a disk
)

// measure returns the row without figures.
func (x row) measure() *report.Measure {
	return &report.Measure{
		Goal: x.goal, Name: x.name, Unit: x.unit, Target: x.target, RefName: x.reference, With: x.with,
		Higher: x.how&higher != 0, Worst: x.how&worst != 0, Median: x.how&median != 0,
	}
}

// scenarios returns all scenarios in the order in which they run. Their rows are the goals of
// docs/internals/performance.md, whose tables are written from here.
func scenarios() []scenario {
	return []scenario{
		{"engine", runEngine, engineRows()},
		{"recovery", runRecovery, recoveryRows()},
		{"restart", runRestart, restartRows()},
		{"replay", runReplay, replayRows()},
		{"http", runHTTP, httpRows()},
		{"fresh", runFresh, freshRows()},
		{"orders", runOrders, ordersRows()},
		{"signed", runSigned, signedRows()},
		{"worst", runWorst, worstRows()},
		{"poll", runPoll, nil},
		{"mixed", runMixed, mixedRows()},
		{"streams", runStreams, streamsRows()},
		{"replication", runReplication, replicationRows()},
		{"scale", runScale, scaleRows()},
	}
}

func engineRows() (rows []row) {
	for _, x := range []struct {
		name               string
		core, users, folds float64
	}{{"w1", 3.2, 1.8, 9}, {"w2", 0, 2.3, 16}, {"w3", 4, 2, 8}} {
		goal := "E1"
		if x.core == 0 {
			goal = "" // the floor overlaps the waits for memory, the core cannot
		}
		rows = append(rows,
			row{goal, x.name + " core", "ns/op", x.core, "floor", best, "Core.Apply, one account"},
			row{
				"E1a", x.name + " core, orders of users", "ns/op", x.users, "built-in account", best,
				fmt.Sprintf("%d accounts, cancel_taker, rates, client ids on half of the orders", users),
			},
			row{
				"E2", x.name + " allocations, growth included", "mallocs/op", 0.001, "", best,
				"place, cancel, replace and match",
			},
			row{
				"E5", x.name + " core + books, trades, candles, windows", "ns/op", x.folds, "floor", best,
				fmt.Sprintf("views published every %d commands", publishEvery),
			})
	}
	const all = "feed with everything on"
	return append(rows,
		row{"E3", "w2 memory of a resting order", "bytes", 120, "", best, "everything counted"},
		row{"E3", "w2 memory of a resting order with a client id", "bytes", 180, "", best, "everything counted"},
		row{"E4", "sweep of 5,000 orders", "us", 1.1, "one by one", best, "one taker against 5,000"},
		row{"E4", "mass cancel of 10,000, built-in account", "us", 1.1, "one by one", best, "one command in parts"},
		row{"E4", "mass cancel of 10,000, one account of two", "us", 1.1, "one by one", best, "one command in parts"},
		row{"E6", "loop, 4 x 64 outstanding, interval", "commands/s", 3e6, "", higher, all},
		row{"E6", "loop, 256 waiting, interval", "commands/s", 1.5e6, "", higher, all},
		row{"E6", "loop, 256 waiting, always", "commands/s", 0.25, "256 x S of bare fdatasync", higher | median, all},
		row{"", "loop, 4 x 64 outstanding, CPU", "ns/command", 0, "", best, "submitters included"},
		row{"", "loop, 256 waiting, CPU", "ns/command", 0, "", best, "submitters included"})
}

func recoveryRows() []row {
	load := fmt.Sprintf("%d commands every %s, 1 M resting orders, sync=interval", pauseSize, pauseEvery)
	return []row{
		{"E7", "w1 from the journal alone", "commands/s", 3e6, "", higher, "core and feed, nothing published"},
		{"", "w1 CPU of recovery", "ns/command", 0, "floor", best, ""},
		{
			"E7", "snapshot + tail, 1 M orders and 1 M trades", "s", 1, "", best,
			fmt.Sprintf("tail of %d commands; nothing published", 2*tailOps),
		},
		{"", "snapshot + tail, CPU", "s", 0, "", best, ""},
		{"E8", "longest pause during a snapshot, above the longest without", "ms", 2, "", best, load},
		{"", "longest pause during a snapshot", "ms", 0, "", worst, load},
		{"", "longest pause without a snapshot", "ms", 0, "", worst, load},
		{
			"", "longest time that the machine took from a busy thread", "ms", 0, "", worst,
			"a thread on each core that only reads the clock, for as long as the snapshot took",
		},
		{"", "time of a snapshot beside the load", "s", 0, "", best, load},
	}
}

func restartRows() []row {
	with := fmt.Sprintf("SIGKILL under batches of %d, at most %d commands/s, %d resting orders", batchSize, restartRate,
		restartOrders)
	return []row{
		{"R2", "start after a kill, until ready", "s", 1.2, "", worst, with},
		{"", "start after a kill, CPU of the program", "s", 0, "", worst, with},
		{"", "load before a kill", "commands/s", 0, "", higher, with},
	}
}

func replayRows() []row {
	with := fmt.Sprintf("%d trades of a CSV file through order entry, the whole program", replayTrades)
	const past = "12 simulated pairs, until ready"
	return []row{
		{"R1", "replay of trades", "trades/s", 700_000, "", higher, with},
		{"R1", "replay of trades, largest resident memory", "MiB", 200, "", best, with},
		{"", "replay of trades, CPU", "ns/trade", 0, "", best, with},
		{"R3", "backfill of 25h", "s", 0.8, "", best, past},
		{"", "backfill of 25h, CPU of the program", "s", 0, "", best, past},
		{"R3", "backfill of 720h", "s", 18, "", best, past},
		{"", "backfill of 720h, CPU of the program", "s", 0, "", best, past},
	}
}

func httpRows() (rows []row) {
	with := fmt.Sprintf("%d connections, keep-alive", httpConns)
	for _, d := range hotDocuments() {
		rows = append(rows, row{"H1", d.size + " CPU", "us", 1.1, "constant", best, with})
	}
	for _, d := range hotDocuments() {
		if d.gzip > 0 {
			rows = append(rows, row{
				"H8", d.size + " gzip against identity", "answers/s", d.gzip, "identity", higher,
				with,
			})
		}
	}
	for _, d := range changedDocuments() {
		rows = append(rows, row{
			"H4", "document after one change, " + d.name, "us", d.target, "", best,
			"in memory, allocation included; the change and the request for an unchanged document taken off",
		})
	}
	return rows
}

func freshRows() []row {
	book := fmt.Sprintf("book 40x40, %d connections, each change published by itself, evenly spaced; CPU of the "+
		"changing thread taken off", httpConns)
	const stale = "that lack a change published before their request was sent"
	return []row{
		{"H5", "CPU an answer, 10000 changes/s against none", "us", 1.1, "no changes", best, book},
		{"H5", "CPU an answer, 100000 changes/s against none", "us", 1.25, "no changes", best, book},
		{
			"H5", "CPU an answer, 1,000 tickers, 10000 changes/s against none", "us", 1.1, "no changes", best,
			"made at most every 5 ms; CPU of the changing thread taken off",
		},
		{"", "changes made of 10000/s", "changes/s", 0, "", higher, book},
		{"", "changes made of 100000/s", "changes/s", 0, "", higher, book},
		{"H6", "stale answers, book, 1000 changes/s", "answers", 0, "", worst, stale},
		{"H6", "stale answers, book, 10000 changes/s", "answers", 0, "", worst, stale},
		{"H6", "stale answers, book, 100000 changes/s", "answers", 0, "", worst, stale},
		{"H6", "stale answers, 64 polls at once after idle", "answers", 0, "", worst, stale},
	}
}

func ordersRows() []row {
	one := fmt.Sprintf("%d connections, half of the orders trade", ordersConns)
	many := fmt.Sprintf("%d connections", batchConns)
	return []row{
		{"H10", "single order, sync=interval", "orders/s", 0.5, "constant", higher, one},
		{
			"", "single order, orders for a second of server CPU, sync=interval", "orders", 0, "constant, CPU", higher,
			one,
		},
		{"H10", "batches of 1,000, sync=interval", "orders/s", 600_000, "", higher, many},
		{"", "batches of 1,000, CPU, sync=interval", "us/order", 0, "", best, many},
	}
}

func signedRows() []row {
	with := fmt.Sprintf("%d connections, sync=interval", signedConns)
	return []row{
		{"O1", "signed order that rests, CPU", "us", 1.8, "ticker", best, with},
		{"O1", "signed order that trades, CPU", "us", 2, "ticker", best, with},
	}
}

func worstRows() []row {
	return []row{{
		"O2", longestStep, "ms", 2, "", worst,
		"CPU time of its thread, all sinks, 1 M resting orders of accounts with private streams",
	}}
}

func mixedRows() []row {
	with := fmt.Sprintf("%d pollers, gzip, conditional, beside %d orders/s", pollers, mixedOrders)
	return []row{
		{"H9", "p99 from the intended send time", "ms", 5, "", best, with},
		{"H9", "errors and requests never sent", "requests", 0, "", best, with},
		{"", "orders taken beside the poll", "orders/s", 0, "", higher, ""},
		{"", "p99 of a process that only wakes up", "ms", 0, "", best, fmt.Sprintf("every %s", wakeEvery)},
	}
}

func streamsRows() []row {
	const (
		with   = "connections in a process of their own; CPU of the orders themselves taken off"
		frames = "ready frames, one write each"
		memory = "resident memory of the server, 5,000 connections"
	)
	return []row{
		{"S1", "messages for a second of server CPU, one message a write", "messages", 0.95, frames, higher, with},
		{"S1", "messages for a second of server CPU, ten messages joined", "messages", 8, frames, higher, with},
		{
			"", "ready frames joined by ten, one write of them", "messages", 0, frames, higher,
			"the loop of the reference itself: the most that joining can gain",
		},
		{
			"S1", "p99 of readers beside those that stopped", "us", 1.25, "p99 without them", median,
			fmt.Sprintf("%d readers, %d of a book of %d levels whose sockets are full", quickReaders, stalledReaders,
				2*stalledLevels),
		},
		{"M2", "memory of a connection, one message a write", "bytes", 16_000, "", best, memory},
		{"", "memory of a connection, ten messages joined", "bytes", 0, "", best, memory},
		{
			"", "memory of a reader that stopped", "bytes", 0, "", best,
			"resident memory of the server; a queue holds 1 MiB and one snapshot at most",
		},
	}
}

func replicationRows() (rows []row) {
	const nats = "nats.go"
	for _, x := range []struct {
		name        string
		rate, order float64
	}{{"R1", 0.7, 1.8}, {"R3", 0.6, 1.25}} {
		rows = append(rows,
			row{
				"D1", "program, ack=quorum, " + x.name, "commands/s", x.rate, nats, higher | median,
				fmt.Sprintf("HTTP, %d connections, batches of %d; the reference has %d messages of as many bytes open",
					journalConns, journalGroup, journalWindow),
			},
			row{
				"D2", "order p50, one submitter, ack=quorum, " + x.name, "us", x.order, "append", median,
				"HTTP; the reference appends as many bytes and waits",
			})
	}
	for _, rate := range lagRates {
		with := fmt.Sprintf("%d commands/s, ack=local, %d marked orders a second; the replica's GET with X-Min-Seq "+
			"included", rate, lagProbes)
		rows = append(rows,
			row{
				"D3", fmt.Sprintf("replica lag p99 above a bare consumer's, %d commands/s", rate), "ms", 2, "", median,
				with,
			},
			row{"", fmt.Sprintf("replica lag p99, %d commands/s", rate), "ms", 0, "nats.go p99", median, with},
			row{"", fmt.Sprintf("replica lag p50, %d commands/s", rate), "ms", 0, "nats.go p50", median, with},
			row{"", fmt.Sprintf("commands/s of the lag at %d", rate), "commands/s", 0, "", higher, with})
	}
	rows = append(rows,
		row{
			"D4", "catch-up CPU", "ns/command", 1.3, "records from memory", best,
			"core and feed, a publication a message",
		},
		row{
			"", "catch-up CPU of a replica's process", "ns/command", 0, "records from memory", best,
			"with accounts and streams, without its start on an empty stream",
		},
		row{
			"D5", "writer killed, until an order is answered", "s", takeoverAfter + 0.3, "", median,
			fmt.Sprintf("SIGKILL, a standby with cluster.takeover_after = %g s, %d pairs", takeoverAfter, faultPairs),
		},
		row{
			"D6", "leader of the stream killed, until an order is answered", "s", 10, "", worst,
			"SIGKILL of one of three servers, ack=quorum",
		},
		row{"", "the same for nats.go alone", "s", 0, "", worst, "a stream with three copies that the same server led"})
	for _, target := range replicaReads() {
		rows = append(rows, row{
			"D7", "GET on a replica, CPU, " + target, "us", 1.05, "writer", best,
			fmt.Sprintf("%d connections, the market is still", httpConns),
		})
	}
	return append(rows,
		row{"D8", "order p50, ack=local", "us", 1.05, "no stream, p50", best, "HTTP, one submitter"},
		row{
			"D8", "CPU a command, ack=local", "us", 1.15, "no stream, CPU", best,
			fmt.Sprintf("%d commands/s in batches of %d", localCommands, journalGroup),
		})
}

func scaleRows() []row {
	return []row{
		{"M1", "memory of the built-in pairs, first start", "MB", 150, "", best, "a minute after it, 25 h of history"},
		{"M1", "memory of the built-in pairs, after a restart", "MB", 150, "", best, "a minute after it"},
		{"M1", "memory of an empty exchange", "MB", 40, "", best, "no pairs, a minute after its start"},
		{"M2", "memory of a pair", "bytes", 110_000, "", best, "2 levels a side, 1 trade, heap"},
		{"", "memory of a resting order", "bytes", 0, "", best, "over 10,000 levels, core alone"},
		{"M2", "memory of a kept trade", "bytes", 49, "", best, "heap of core and feed"},
		{"M2", "memory of a closed candle", "bytes", 81, "", best, "candles of all intervals, chunks as allocated"},
		{"M2", "memory of a connection", "bytes", 8000, "", best, "keep-alive, idle, resident memory of the server"},
	}
}
