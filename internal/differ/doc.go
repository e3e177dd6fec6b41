// Package differ says for tests where two whole values differ.
//
// Owner: none; it holds nothing.
//
// Invariant: values differ when reflect.DeepEqual says so, in members that are not exported too, and whatever their
// methods Equal say. The text is go-cmp's: - is what was wanted, + what came.
package differ
