// Package differ says for tests where two whole values differ.
//
// Owner: none; it holds nothing.
//
// Invariant: values differ when reflect.DeepEqual returns false: members that are not exported count, methods Equal do
// not. The text is go-cmp's, - for what was wanted and + for what came, or both values where go-cmp sees no difference.
package differ
