// Package mix mixes several 64-bit words into one. Running sums of such words tell whether two states are equal.
//
// The sums find accidental differences, not forged ones: who knows the constants can make two states with one sum. The
// values are the same in every process and on every machine.
package mix
