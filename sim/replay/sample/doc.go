// Package sample holds a recording that the program carries: an hour of the order book and the trades of a simulated
// market, in the form of Tardis' files. It is generated, not a market's: the exchange in its rows is
// "tickhive-generated".
//
//	go test ./sim/replay/sample -update writes the files again; without the flag the test compares them.
//
// Write unpacks them for a reader of files. The package owns nothing.
package sample
