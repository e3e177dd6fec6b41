// Package config reads the configuration of an exchange and turns it into the options of internal/exchange, for
// cmd/tickhive and for tickhivetest.
//
// The configuration goes one way. Config has a section for each package that is configured, as that package declares
// it (internal/setting). Load fills Config from the tags, a file, the environment and the command line; validate
// checks the limits in the tags, each section by its method Check, and the rules that involve several sections.
// Options passes the sections on unchanged. It converts a section whose text means something else (clock, launchpad,
// hive, referral, faults, assets, pairs), and opens certificates and the stream. exchange.Open takes the result.
//
// Owner: the goroutine that loads a Config. Processes and tests may load any number of them.
//
// Invariants:
//
//  1. An unknown key in any source is refused, with the nearest known one.
//  2. A setting without effect is refused where it would mislead.
//
// It starts no exchange, and reads no environment but what its caller passes.
package config
