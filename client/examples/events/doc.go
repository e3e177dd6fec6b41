// Command events prints the events of one market from a stream of a replica (docs/contract/events.md), beginning with
// the oldest ones that the stream keeps. events.mjs and events.py do the same in other languages.
//
//	go run ./client/examples/events -server nats://127.0.0.1:4222 -nkey data/stream.nk -epoch EPOCH \
//		-pair BTC_USDT -count 10
package main
