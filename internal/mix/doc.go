// Package mix makes one word out of several, for running sums of a state.
//
// It finds accidents, and not what somebody has made on purpose: who knows the constants can make two states with one
// sum. The values are the same in every process and on every machine.
package mix
